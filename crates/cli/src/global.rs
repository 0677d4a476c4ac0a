//! What every command takes: where the server is, who asks, how answers are shown.

use std::io::IsTerminal as _;
use std::time::Duration;

use steadfast_form::duration;

/// The address that a server has where nothing is said.
const SERVER: &str = "http://127.0.0.1:7171";

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Global {
    /// Where the server is
    #[arg(long, global = true, value_name = "URL", env = "STEADFAST_SERVER", hide_env_values = true)]
    #[arg(default_value = SERVER)]
    pub(crate) server: String,
    /// JSON on stdout, for programs: one document, or a line for each event
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Who asks, for the audit log (you@this-machine where nothing is said)
    #[arg(long, global = true, value_name = "WHO", env = "STEADFAST_BY", hide_env_values = true)]
    pub(crate) by: Option<String>,
    /// No colours; the variable `NO_COLOR` says the same
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
    /// How long the server may take for an answer [default: 30s]
    #[arg(long, global = true, value_name = "TIME", value_parser = duration::parse_long)]
    pub(crate) timeout: Option<Duration>,
}

impl Global {
    /// Who asks: as it was said, or who is logged in here.
    pub(crate) fn who(&self) -> String {
        let said = self.by.as_deref().map(str::trim).filter(|by| !by.is_empty());
        said.map_or_else(logged_in, str::to_owned)
    }

    /// Whether what goes to stdout has colours.
    pub(crate) fn has_colour(&self) -> bool {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        !self.no_color && !self.json && !unwanted && std::io::stdout().is_terminal()
    }
}

fn logged_in() -> String {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let user = variable("USER").or_else(|| variable("LOGNAME")).unwrap_or_else(|| "somebody".to_owned());
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy();
    if host.is_empty() { user } else { format!("{user}@{host}") }
}
