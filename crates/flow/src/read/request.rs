//! Requests.

use std::ops::RangeInclusive;

use steadfast_form::{Node, Place, Table, Value, count, join, plain, text};

use super::Reader;
use crate::call::Expect;
use crate::code::Code;
use crate::expression::names::{Names, Reads};
use crate::request::{Request, dot_segment, is_header_value, is_json_kind};
use crate::template::{Part, SECRET, Text};

/// Headers that the agent sends, and no file.
const RESERVED: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "idempotency-key",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl Reader {
    pub(super) fn request(&mut self, node: &Node, key: &str, names: Names<'_>) -> Option<Request> {
        let table = Table::of(node);
        let path = table.get("path").and_then(|node| self.path(node, &join(key, "path"), names));
        let mut query = Vec::new();
        for (name, node) in table.named("query") {
            let key = join(&join(key, "query"), &name.name);
            if let Some(value) = self.json(node, &key, names) {
                self.no_secret(node, &key);
                query.push((name.name.clone(), value, self.origin(node, &key)));
            }
        }
        let mut headers = Vec::new();
        for (name, node) in table.named("headers") {
            let key = join(&join(key, "headers"), &name.name);
            self.header(&name.name, name.at, &key);
            if let Some(value) = self.text(node, &key, names) {
                self.plain_header(&name.name, &value, node.at, &key);
                headers.push((name.name.clone(), value));
            }
        }
        let body = table.get("body");
        let body = match body {
            Some(node) => Some(self.json(node, &join(key, "body"), names)?),
            None => None,
        };
        let mut request = Request {
            method: table.word("method").unwrap_or_default().to_owned(),
            path: path?,
            query,
            headers,
            body,
            expect: table.get("expect").map(expect).unwrap_or_default(),
            reads: Reads::default(),
        };
        request.note_reads();
        Some(request)
    }

    fn path(&mut self, node: &Node, key: &str, names: Names<'_>) -> Option<Text> {
        let path = self.text(node, key, names)?;
        let begins = matches!(path.parts.first(), Some(Part::Plain(plain)) if plain.starts_with('/'));
        let plain: String = path
            .parts
            .iter()
            .map(|part| match part {
                Part::Plain(plain) => plain.as_str(),
                // Anything that is no dot and no slash.
                Part::Value(_) => "x",
            })
            .collect();
        let odd = |letter: char| !letter.is_ascii_graphic() || "?#\\\"<>^`{|}".contains(letter);
        let message = if !begins {
            "a path begins with `/`, behind the service's address".to_owned()
        } else if plain.starts_with("//") {
            "a path that begins with `//` names another host".to_owned()
        } else if let Some(letter) = plain.chars().find(|letter| *letter == '?') {
            format!("`{letter}` begins a query: write that under `query`")
        } else if let Some(letter) = plain.chars().find(|letter| odd(*letter)) {
            format!("`{}` cannot stand in a path: write it as `%XX`", letter.escape_default())
        } else if let Some(segment) = dot_segment(&plain) {
            format!("`{segment}` in a path leads elsewhere: write where")
        } else {
            self.no_secret(node, key);
            return Some(path);
        };
        self.complain(node.at, key, Code::BadRequest, message);
        None
    }

    /// Paths and queries are in everybody's logs.
    fn no_secret(&mut self, node: &Node, key: &str) {
        if let Some(text) = text(node)
            && text.to_ascii_lowercase().contains(SECRET)
        {
            let message =
                "a secret does not belong into a path or a query, which are logged: send it in a header";
            self.complain(node.at, key, Code::BadRequest, message);
        }
    }

    fn header(&mut self, name: &str, at: Place, key: &str) {
        let is_token = |letter: char| letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter);
        let lower = name.to_ascii_lowercase();
        let message = if name.is_empty() || !name.chars().all(is_token) {
            format!("`{}` is no name of a header", plain(name))
        } else if RESERVED.contains(&&*lower) || lower.starts_with("steadfast-") {
            format!("`{lower}` is sent by the agent: remove it")
        } else {
            return;
        };
        self.complain(at, key, Code::BadRequest, message);
    }

    /// What can be told of a value before its expressions have theirs.
    fn plain_header(&mut self, name: &str, value: &Text, at: Place, key: &str) {
        let bad = |part: &Part| matches!(part, Part::Plain(plain) if !is_header_value(plain));
        if value.parts.iter().any(bad) {
            let message = "a header's value has no line breaks or other control characters";
            self.complain(at, key, Code::BadRequest, message);
        }
        if let [Part::Plain(kind)] = &*value.parts
            && name.eq_ignore_ascii_case("content-type")
            && !is_json_kind(kind)
        {
            let message = "bodies are JSON: write `application/json`, or what ends with `+json`";
            self.complain(at, key, Code::BadRequest, message);
        }
    }
}

impl Request {
    fn note_reads(&mut self) {
        let mut reads = Reads::default();
        self.path.reads(&mut reads);
        self.query.iter().for_each(|(_, value, _)| value.reads(&mut reads));
        self.headers.iter().for_each(|(_, value)| value.reads(&mut reads));
        self.body.iter().for_each(|body| body.reads(&mut reads));
        self.reads = reads;
    }
}

/// Statuses, one or several.
pub(super) fn expect(node: &Node) -> Expect {
    let items = match &node.value {
        Value::List(items) => items.iter().collect(),
        _ => vec![node],
    };
    Expect::of(items.into_iter().filter_map(statuses))
}

/// `201`, or `2xx`.
fn statuses(node: &Node) -> Option<RangeInclusive<u16>> {
    if let Some(status) = count(node) {
        let status = u16::try_from(status).ok()?;
        return Some(status..=status);
    }
    let class = text(node)?.strip_suffix("xx")?.parse::<u16>().ok()?;
    Some(class * 100..=class * 100 + 99)
}
