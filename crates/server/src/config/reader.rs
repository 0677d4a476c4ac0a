//! The settings of a tree: what it says, and what is wrong with it that its types alone could not show.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use http::Uri;
use steadfast_form::tree::{Node, Place, Value};
use steadfast_form::{Complaint, Kind, Table};
use steadfast_resilience::policy::Policies;

use super::policies::policies_of;
use super::{Config, Limits, Log, ServiceConfig, env, size};
use crate::origin::host_in;

/// Where it listens when nothing is said.
const LISTEN: &str = "127.0.0.1:7171";

/// Reads a tree, and notes what its types alone could not show.
pub(super) struct Reader<'s> {
    pub(super) folder: &'s Path,
    pub(super) set: &'s [env::Set],
    pub(super) complaints: Vec<Complaint>,
}

impl Reader<'_> {
    pub(super) fn config(mut self, root: &Node, name: &str) -> (Option<Config>, Vec<Complaint>) {
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

    pub(super) fn complain(&mut self, at: Place, key: impl Into<String>, message: impl Into<String>) {
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
    pub(super) fn certificates(&mut self, table: &Table<'_>, of: &str) -> Option<String> {
        let key = format!("{of}.root_certificates");
        let file = table.word("root_certificates")?;
        if file.is_empty() {
            let message = "it is empty: name a file, or take this out";
            self.complain(table.place("root_certificates"), key, message);
            return None;
        }
        let path = self.starting(&key).join(file);
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
pub(super) fn headers_of(table: &Table<'_>) -> Vec<(String, String)> {
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
