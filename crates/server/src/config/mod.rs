//! `steadfast.toml`: everything that a server is told. Read as a whole or refused as a whole, with line, column, key and the
//! nearest name; `STEADFAST_*` variables win over it.
//!
//! The keys are data (`section.rs`): the reference and the JSON Schema are made of the same table. Must never start anything.

mod alerts;
mod env;
mod policies;
mod reader;
mod section;
mod size;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use steadfast_form::tree::{Place, Value};
use steadfast_form::{Complaint, Format, validate};
use steadfast_resilience::policy::Policies;

pub use alerts::{AlertsConfig, WebhookConfig};
use reader::Reader;
use section::CONFIG;

/// The variables of the environment; what is no text is nobody's setting.
#[must_use]
pub fn variables() -> Vec<(String, String)> {
    let all = std::env::vars_os();
    all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect()
}

/// Everything that a server is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The file that it came from, if there was one.
    pub file: Option<PathBuf>,
    /// What stood in it.
    pub(crate) text: Option<String>,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where services reach it that answer later, without a slash at its end; `None` for where it listens.
    pub callback_url: Option<String>,
    /// Names by which it is asked beside those of this machine itself, in small letters.
    pub hosts: Vec<String>,
    /// The folder that it keeps its store in.
    pub data: PathBuf,
    /// The store's address.
    pub store: String,
    /// A folder with workflow files.
    pub workflows: Option<PathBuf>,
    /// A folder with secrets.
    pub secrets: Option<PathBuf>,
    /// How long what runs may go on when it is told to stop.
    pub grace: Duration,
    /// How long what is over is kept; `Duration::MAX` for ever.
    pub keep: Duration,
    /// How long a task with a key is kept at least.
    pub keep_keys: Duration,
    /// How much it takes at once.
    pub limits: Limits,
    /// What it writes to stderr.
    pub log: Log,
    /// Where the collector of spans and metrics is, and what the server calls itself there.
    pub otlp: Option<(String, String)>,
    /// Who is told of what goes wrong.
    pub alerts: AlertsConfig,
    /// Services by name.
    pub services: BTreeMap<String, ServiceConfig>,
    /// How they are called.
    pub policies: Policies,
}

/// How much a server takes at once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most tasks that may be open.
    pub open_tasks: u64,
    /// The most tasks that are held in memory.
    pub owned_tasks: usize,
    /// The most requests that are worked on at a time.
    pub requests: usize,
    /// The largest body of a request, in bytes.
    pub body: usize,
    /// The most event streams at a time.
    pub streams: usize,
}

/// What a server writes to stderr.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Log {
    /// Whether each line is a JSON object.
    pub json: bool,
    /// What is written, as `RUST_LOG` has it.
    pub level: String,
}

/// Where a service is, and what goes to it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServiceConfig {
    /// Where it is.
    pub url: String,
    /// Headers of each request.
    pub headers: Vec<(String, String)>,
    /// Secrets that steps may send to it.
    pub secrets: Vec<String>,
    /// How many attempts may run at a time.
    pub most_running: Option<usize>,
    /// How many attempts may begin in a second.
    pub most_per_second: Option<f64>,
    /// Whether work that waited for it comes back in growing steps.
    pub ramp: bool,
    /// The largest body that is sent, in bytes.
    pub max_request: Option<u64>,
    /// The largest body that is read, in bytes.
    pub max_response: Option<u64>,
    /// How long it may take to reach it.
    pub connect_timeout: Option<Duration>,
    /// Whether it is spoken to in HTTP/2 without TLS.
    pub http2: bool,
    /// Certificates that are trusted beside the system's, as PEM.
    pub root_certificates: Option<String>,
}

/// What is wrong with the settings: all of it.
#[derive(Debug)]
pub struct ConfigError {
    file: String,
    complaints: Vec<(Option<Place>, String)>,
}

impl ConfigError {
    fn whole(file: &str, message: String) -> Self {
        Self { file: file.to_owned(), complaints: vec![(None, message)] }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, (at, message)) in self.complaints.iter().enumerate() {
            let newline = if nth == 0 { "" } else { "\n" };
            match at {
                Some(at) => write!(f, "{newline}{}:{at}: {message}", self.file)?,
                None => write!(f, "{newline}{}: {message}", self.file)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Reads a file, or takes what is built in where there is none; these variables win over it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(
        path: Option<&Path>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let Some(path) = path else { return Self::parse("", Format::Toml, "the settings", variables) };
        let name = path.display().to_string();
        let format = Format::of(path).ok_or_else(|| {
            ConfigError::whole(&name, "its name must end in .toml, .yaml, .yml or .json".to_owned())
        })?;
        let text = steadfast_form::read(path).map_err(|unread| ConfigError {
            file: name.clone(),
            complaints: vec![(unread.at, unread.message)],
        })?;
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let mut config = Self::parse_in(folder, &text, format, &name, variables)?;
        config.file = Some(path.to_owned());
        config.text = Some(text);
        Ok(config)
    }

    /// Reads a text. `name` stands for the file in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(
        text: &str,
        format: Format,
        name: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        Self::parse_in(Path::new(""), text, format, name, variables)
    }

    /// The same for a file in this folder, which its paths start from. Those of variables start from where the program runs.
    fn parse_in(
        folder: &Path,
        text: &str,
        format: Format,
        name: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut root = format.parse(text).map_err(|syntax| ConfigError {
            file: name.to_owned(),
            complaints: vec![(Some(syntax.at), syntax.message)],
        })?;
        if root.value == Value::Null {
            root.value = Value::Map(Vec::new());
        }
        let set = env::overlay(&mut root, variables);
        let mut complaints = validate(&root, &CONFIG);
        let reader = Reader { folder, set: &set, complaints: Vec::new() };
        let (config, more) = reader.config(&root, name);
        complaints.extend(more);
        complaints.sort_by(|one, other| (one.at, &one.key).cmp(&(other.at, &other.key)));
        complaints.dedup();
        match config.filter(|_| complaints.is_empty()) {
            Some(config) => Ok(config),
            None => Err(told(name, &complaints, &set)),
        }
    }

    /// The JSON Schema of the file, for editors.
    #[must_use]
    pub fn json_schema() -> String {
        steadfast_form::json_schema("Settings of a Steadfast server", &CONFIG)
    }

    /// All keys, for people.
    #[must_use]
    pub fn reference() -> String {
        steadfast_form::reference(&CONFIG)
    }
}

/// What is wrong, with the variable where it came from one.
fn told(name: &str, complaints: &[Complaint], set: &[env::Set]) -> ConfigError {
    let told = complaints.iter().map(|complaint| {
        let of = set.iter().find(|set| set.key == complaint.key);
        let key = if complaint.key.is_empty() { String::new() } else { format!("{}: ", complaint.key) };
        match of {
            Some(set) => (None, format!("{} ({}): {}", complaint.key, set.variable, complaint.message)),
            None => (Some(complaint.at), format!("{key}{}", complaint.message)),
        }
    });
    ConfigError { file: name.to_owned(), complaints: told.collect() }
}
