//! `steadfast config`: settings looked at before they are used.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use crate::global::Global;
use crate::serve;
use crate::show::Out;

/// Look at settings before they are used
#[derive(clap::Subcommand)]
pub(crate) enum Config {
    /// Say everything that is wrong with settings, with line, column and the nearest name
    ///
    /// The workflow files of their folder are checked as well. Nothing is started.
    ///
    /// Examples:
    ///   steadfast config check
    ///   steadfast config check /etc/steadfast/steadfast.toml
    #[command(verbatim_doc_comment)]
    Check {
        /// The settings [default: what `STEADFAST_CONFIG` says, or steadfast.toml]
        file: Option<PathBuf>,
        /// The same, as `serve` has it
        #[arg(long, short, value_name = "FILE", conflicts_with = "file")]
        config: Option<PathBuf>,
    },
    /// Print the JSON Schema of the settings, for editors
    ///
    /// Examples:
    ///   steadfast config schema > steadfast.schema.json
    #[command(verbatim_doc_comment)]
    Schema,
}

pub(crate) fn run(command: Config, global: &Global) -> Result<ExitCode> {
    let out = Out::new(global);
    match command {
        Config::Check { file, config } => {
            let said = || std::env::var_os("STEADFAST_CONFIG").map(PathBuf::from);
            let file = file.or(config).or_else(said).unwrap_or_else(|| PathBuf::from(serve::FILE));
            let config = serve::read(Some(&file), Vec::new())?;
            let workflows = steadfast_server::check(config).map_err(|words| anyhow::anyhow!("{words}"))?;
            let answer = json!({ "file": file, "ok": true, "workflows": workflows });
            out.show(&answer, || format!("{}: ok, with {workflows} workflow files", file.display()))?;
        }
        Config::Schema => out.print(steadfast_server::Config::json_schema().trim_end())?,
    }
    Ok(ExitCode::SUCCESS)
}
