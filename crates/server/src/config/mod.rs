//! `steadfast.toml`: everything that a server is told. Read as a whole or refused as a whole, with line, column, key and the
//! nearest name; `STEADFAST_*` variables win over it.
//!
//! The keys are data (`section.rs`): the reference and the JSON Schema are made of the same table. Must never start anything.

mod alerts;
mod env;
mod section;
mod size;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Uri;
use steadfast_form::tree::{Key, Node, Place, Value};
use steadfast_form::{Complaint, Format, Kind, Table, entries, validate};
use steadfast_resilience::policy::{FILE_FIELDS, Policies, SERVICE_FIELDS};

use crate::origin::host_in;
pub use alerts::{AlertsConfig, WebhookConfig};
use section::{CONFIG, SERVICE_OWN};

/// The variables of the environment; what is no text is nobody's setting.
#[must_use]
pub fn variables() -> Vec<(String, String)> {
    let all = std::env::vars_os();
    all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect()
}

/// Where it listens when nothing is said.
const LISTEN: &str = "127.0.0.1:7171";
/// The retries of a service that says nothing: more than the failures in a row that open its breaker, so that a step that is
/// alone waits for a service that is away.
const RETRIES: i64 = 12;

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

/// Reads a tree, and notes what its types alone could not show.
struct Reader<'s> {
    folder: &'s Path,
    set: &'s [env::Set],
    complaints: Vec<Complaint>,
}

impl Reader<'_> {
    fn config(mut self, root: &Node, name: &str) -> (Option<Config>, Vec<Complaint>) {
        let table = Table::of(root);
        let inner = |key: &str| table.get(key).map_or(Table::EMPTY, Table::of);
        let path = |key: &str| table.word(key).map(|path| self.starting(key).join(path));
        let data = path("data").unwrap_or_else(|| self.folder.join("steadfast-data"));
        let (workflows, secrets) = (path("workflows"), path("secrets"));
        let listen = self.listen(&table);
        let callback_url = self.callback_url(&table);
        let hosts = self.hosts(&table);
        let store = self.store(&table, &data);
        let retention = inner("retention");
        let limits = self.limits(&inner("limits"));
        let log = inner("log");
        let telemetry = inner("telemetry");
        let otlp = self.otlp(&telemetry);
        let alerts = self.alerts(&inner("alerts"));
        let services: BTreeMap<_, _> = table
            .named("service")
            .iter()
            .map(|(key, node)| (key.name.clone(), self.service(&key.name, &Table::of(node))))
            .collect();
        let policies = match Policies::from_tree(&policies_of(root), name) {
            Ok(policies) => Some(policies),
            Err(error) => {
                self.complaints.extend(error.complaints().iter().map(|complaint| {
                    Complaint::new(
                        complaint.at,
                        complaint.key.clone(),
                        Kind::WrongValue,
                        complaint.message.clone(),
                    )
                }));
                None
            }
        };
        let config = policies.zip(listen).map(|(policies, listen)| Config {
            file: None,
            text: None,
            listen,
            callback_url,
            hosts,
            data,
            store,
            workflows,
            secrets,
            grace: table.duration("grace").unwrap_or(Duration::from_secs(30)),
            keep: kept(&retention, "keep"),
            keep_keys: kept(&retention, "keep_keys"),
            limits,
            log: Log {
                json: log.word("format") == Some("json"),
                level: log.word("level").unwrap_or("info").to_owned(),
            },
            otlp,
            alerts,
            services,
            policies,
        });
        (config, self.complaints)
    }

    /// The store's address: of a kind that there is.
    fn store(&mut self, table: &Table<'_>, data: &Path) -> String {
        let Some(address) = table.word("store") else {
            return format!("sqlite:{}", data.join("steadfast.db").display());
        };
        if !address.starts_with("sqlite:") && address != "memory:" {
            let message = "expected a store that this version has, such as \"sqlite:/var/lib/steadfast.db\" or \"memory:\"";
            self.complain(table.place("store"), "store", message);
        }
        address.to_owned()
    }

    /// Where the path of a key starts.
    fn starting(&self, key: &str) -> &Path {
        if self.set.iter().any(|set| set.key == key) { Path::new("") } else { self.folder }
    }

    fn complain(&mut self, at: Place, key: impl Into<String>, message: impl Into<String>) {
        self.complaints.push(Complaint::new(at, key, Kind::WrongValue, message));
    }

    /// Where it listens: on this machine only, since nobody is asked who they are yet.
    fn listen(&mut self, table: &Table<'_>) -> Option<SocketAddr> {
        let text = table.word("listen").unwrap_or(LISTEN);
        let at = table.place("listen");
        match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Some(address),
            Ok(address) => {
                self.complain(
                    at,
                    "listen",
                    format!(
                        "{address} can be reached from other machines, and there is no authentication yet: use 127.0.0.1 or [::1]"
                    ),
                );
                None
            }
            Err(_) => {
                self.complain(
                    at,
                    "listen",
                    format!("expected an address with a port, such as \"{LISTEN}\", found \"{text}\""),
                );
                None
            }
        }
    }

    /// Where the collector is, and what the server calls itself there.
    fn otlp(&mut self, table: &Table<'_>) -> Option<(String, String)> {
        let url = table.word("otlp")?;
        let wrong = match url.strip_prefix("http://") {
            _ if cfg!(not(feature = "otel")) => Some(
                "this program was built without OpenTelemetry: build it with `--features otel`, or take this out; \
                 what is measured is at `/metrics` too",
            ),
            None | Some("") => Some(
                "it is no address to send to: write one such as \"http://127.0.0.1:4318\" (TLS is left to a collector beside the server)",
            ),
            Some(_) => None,
        };
        if let Some(message) = wrong {
            self.complain(table.place("otlp"), "telemetry.otlp", message);
        }
        Some((url.to_owned(), table.word("name").unwrap_or("steadfast").to_owned()))
    }

    /// Where services call back: a URL behind which the API's own path comes.
    fn callback_url(&mut self, table: &Table<'_>) -> Option<String> {
        let text = table.word("callback_url")?;
        let uri = text.parse::<Uri>().ok().filter(|uri| {
            let web = matches!(uri.scheme_str(), Some("http" | "https"));
            let user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
            web && !user && uri.host().is_some_and(|host| !host.is_empty()) && uri.query().is_none()
        });
        if uri.is_none() || text.contains('#') {
            let found = text.chars().take(100).collect::<String>();
            let message = format!(
                "expected a URL such as \"https://steadfast.example\", without user, `?` or `#`, found \"{found}\""
            );
            self.complain(table.place("callback_url"), "callback_url", message);
            return None;
        }
        Some(text.trim_end_matches('/').to_owned())
    }

    /// Names without a port: those that come are compared without theirs.
    fn hosts(&mut self, table: &Table<'_>) -> Vec<String> {
        let mut hosts = Vec::new();
        for node in table.list("hosts") {
            let Some(text) = steadfast_form::text(node) else { continue };
            let name = text.to_ascii_lowercase();
            match host_in(&format!("http://{name}/")) {
                Some(host) if host == name => hosts.push(host),
                _ => {
                    let found = text.chars().take(100).collect::<String>();
                    let message = format!(
                        "expected a name such as \"steadfast.example\", without scheme and port, found \"{found}\""
                    );
                    self.complain(node.at, "hosts", message);
                }
            }
        }
        hosts
    }

    fn limits(&mut self, table: &Table<'_>) -> Limits {
        let count = |key: &str, default: u32| table.count(key).unwrap_or(default);
        Limits {
            open_tasks: u64::from(count("open_tasks", 1_000_000)),
            owned_tasks: count("owned_tasks", 10_000) as usize,
            requests: count("requests", 1_024) as usize,
            body: self
                .size(table, "limits", "body")
                .and_then(|size| usize::try_from(size).ok())
                .unwrap_or(1 << 20),
            streams: count("streams", 10_000) as usize,
        }
    }

    fn service(&mut self, name: &str, table: &Table<'_>) -> ServiceConfig {
        let of = format!("service.{name}");
        ServiceConfig {
            url: table.word("url").unwrap_or_default().to_owned(),
            headers: headers_of(table),
            secrets: table
                .list("secrets")
                .iter()
                .filter_map(|node| Some(steadfast_form::text(node)?.to_owned()))
                .collect(),
            most_running: table.count("most_running").map(|count| count as usize),
            most_per_second: table.number("most_per_second"),
            ramp: table.flag("ramp").unwrap_or(true),
            max_request: self.size(table, &of, "max_request"),
            max_response: self.size(table, &of, "max_response"),
            connect_timeout: table.duration("connect_timeout"),
            http2: table.flag("http2").unwrap_or(false),
            root_certificates: self.certificates(table, &of),
        }
    }

    /// What the file of certificates has that a table names.
    fn certificates(&mut self, table: &Table<'_>, of: &str) -> Option<String> {
        let key = format!("{of}.root_certificates");
        let path = self.starting(&key).join(table.word("root_certificates")?);
        let unread = match steadfast_form::read(&path) {
            Ok(pem) if pem.trim().is_empty() => "it is empty".to_owned(),
            Ok(pem) => return Some(pem),
            Err(unread) => unread.message,
        };
        self.complain(table.place("root_certificates"), key, format!("{}: {unread}", path.display()));
        None
    }

    /// A size, as a number or with a unit.
    fn size(&mut self, table: &Table<'_>, of: &str, key: &str) -> Option<u64> {
        let node = table.get(key)?;
        match &node.value {
            Value::Int(bytes) => u64::try_from(*bytes).ok(),
            Value::Text(text) => match size::parse(text) {
                Ok(bytes) => Some(bytes),
                Err(words) => {
                    self.complain(node.at, format!("{of}.{key}"), words);
                    None
                }
            },
            _ => None,
        }
    }
}

/// The headers that a table has.
fn headers_of(table: &Table<'_>) -> Vec<(String, String)> {
    let headers = table.named("headers").iter();
    headers
        .filter_map(|(key, node)| Some((key.name.clone(), steadfast_form::text(node)?.to_owned())))
        .collect()
}

fn kept(table: &Table<'_>, key: &str) -> Duration {
    match table.word(key) {
        Some("forever") => Duration::MAX,
        _ => table.duration(key).unwrap_or(Duration::from_secs(30 * 24 * 3_600)),
    }
}

/// The part of the file that a policy file would have, at the same places, with the server's own default.
fn policies_of(root: &Node) -> Node {
    let known = |key: &Key| FILE_FIELDS.iter().any(|field| field.key == key.name);
    let mut kept: Vec<_> = entries(root).iter().filter(|(key, _)| known(key)).cloned().collect();
    for (key, node) in &mut kept {
        if key.name == "service"
            && let Value::Map(services) = &mut node.value
        {
            services.iter_mut().for_each(|(_, service)| without_own(service));
        }
    }
    patient(&mut kept);
    Node { value: Value::Map(kept), at: root.at }
}

/// A service without what only the server reads.
fn without_own(service: &mut Node) {
    if let Value::Map(entries) = &mut service.value {
        let own = |key: &Key| SERVICE_OWN.iter().any(|field| field.key == key.name);
        let shared = |key: &Key| SERVICE_FIELDS.iter().any(|field| field.key == key.name);
        entries.retain(|(key, _)| !own(key) || shared(key));
    }
}

/// Steps are retried for longer than single calls, unless the file says otherwise.
fn patient(kept: &mut Vec<(Key, Node)>) {
    let node = |value| Node { value, at: Place::START };
    let key = |name: &str| Key { name: name.to_owned(), at: Place::START };
    if !kept.iter().any(|(key, _)| key.name == "default") {
        kept.push((key("default"), node(Value::Map(Vec::new()))));
    }
    let default = kept.iter_mut().find(|(key, _)| key.name == "default");
    if let Some((_, Node { value: Value::Map(default), .. })) = default
        && !default.iter().any(|(key, _)| key.name == "retry")
    {
        let like = (key("like"), node(Value::Text("standard".to_owned())));
        let retries = (key("max_retries"), node(Value::Int(RETRIES)));
        default.push((key("retry"), node(Value::Map(vec![like, retries]))));
    }
}
