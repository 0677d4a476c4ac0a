//! A request as the file has it, and the call that is made of it.

use std::sync::Arc;

use serde_json::Value;

use crate::call::Expect;
use crate::code::Code;
use crate::expression::names::Reads;
use crate::expression::{Budget, Variables, name, text_of};
use crate::template::{Goes, Json, Origin, Text};

/// A request with expressions in it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: Text,
    pub(crate) query: Vec<(String, Json, Arc<Origin>)>,
    pub(crate) headers: Vec<(String, Text)>,
    pub(crate) body: Option<Json>,
    pub(crate) expect: Expect,
    pub(crate) reads: Reads,
}

/// A request whose expressions have values.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

impl Request {
    pub(crate) fn render(&self, variables: &Variables) -> Result<Rendered, String> {
        // One budget for all of it: a body of many expressions is no way around.
        let budget = Budget::new();
        let body = match &self.body {
            Some(body) => {
                let body = body.value(variables, &budget, Goes::Out)?;
                let bytes =
                    serde_json::to_vec(&body).map_err(|error| format!("the body is no JSON: {error}"))?;
                Some(bytes)
            }
            None => None,
        };
        Ok(Rendered {
            path: self.path(variables, &budget)?,
            query: self.query(variables, &budget)?,
            headers: self.headers(variables, &budget)?,
            body,
        })
    }

    fn path(&self, variables: &Variables, budget: &Budget) -> Result<String, String> {
        let encoded = |value: &str| match value.is_empty() {
            // `DELETE /orders/` would be of all of them.
            true => Err("it is empty, and a path with nothing there is another path".to_owned()),
            false => Ok(encode(value)),
        };
        let path = self.path.text_checked(variables, budget, Goes::Out, encoded)?;
        match dot_segment(&path) {
            None => Ok(path),
            Some(segment) => {
                let why = format!("a value makes `{segment}` of a part of the path, which leads elsewhere");
                Err(self.path.origin.failed(Code::FailedExpression, &why))
            }
        }
    }

    /// Nothing (null) is left out, and a list is the name again and again.
    fn query(&self, variables: &Variables, budget: &Budget) -> Result<Vec<(String, String)>, String> {
        let mut query = Vec::new();
        for (key, value, origin) in &self.query {
            let values = match value.value(variables, budget, Goes::Out)? {
                Value::Null => continue,
                Value::Array(values) => values,
                value => vec![value],
            };
            for value in values {
                let text = text_of(&value).ok_or_else(|| {
                    let why = format!("{} cannot be put into a query", name(&value));
                    origin.failed(Code::FailedExpression, &why)
                })?;
                query.push((key.clone(), text));
            }
        }
        Ok(query)
    }

    fn headers(&self, variables: &Variables, budget: &Budget) -> Result<Vec<(String, String)>, String> {
        let header = |(name, value): &(String, Text)| {
            let plain = |value: &str| match is_header_value(value) {
                true => Ok(value.to_owned()),
                false => Err("it has a line break or another control character in it".to_owned()),
            };
            Ok((name.clone(), value.text_checked(variables, budget, Goes::Out, plain)?))
        };
        self.headers.iter().map(header).collect()
    }
}

/// Whether a content type is JSON, or says that it is written in it: `application/problem+json`.
#[must_use]
pub fn is_json_kind(kind: &str) -> bool {
    const BEHIND: &str = "+json";
    let kind = kind.split(';').next().unwrap_or_default().trim().as_bytes();
    let ends = kind.contains(&b'/')
        && kind.len() >= BEHIND.len()
        && kind[kind.len() - BEHIND.len()..].eq_ignore_ascii_case(BEHIND.as_bytes());
    ends || [&b"application/json"[..], b"text/json"].iter().any(|known| kind.eq_ignore_ascii_case(known))
}

/// Whether a text may be the value of a header: no control characters, so that no value adds a header.
pub(crate) fn is_header_value(value: &str) -> bool {
    !value.chars().any(|letter| letter.is_control() && letter != '\t')
}

/// A value as a part of a path: everything but letters, digits, `-`, `_`, `~` and `.` is written as `%XX`.
pub(crate) fn encode(value: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' | b'.' => {
                encoded.push(char::from(byte));
            }
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

/// A part of a path that leads up or nowhere, also where its dots are encoded: clients take those for dots.
pub(crate) fn dot_segment(path: &str) -> Option<&str> {
    let is_dots = |segment: &&str| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    };
    path.split('/').find(is_dots)
}
