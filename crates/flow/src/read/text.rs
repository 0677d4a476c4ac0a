//! Texts, values and conditions with expressions in them.

use std::sync::Arc;

use serde_json::Value as Plain;
use steadfast_form::{Node, Value, join, text};

use super::Reader;
use crate::code::Code;
use crate::expression::limit::MAX_SOURCES;
use crate::expression::names::Names;
use crate::expression::{Expression, Wrong, scan, shown};
use crate::template::{Json, Origin, Part, SECRET, Test, Text};

impl Reader {
    pub(super) fn origin(&self, node: &Node, key: &str) -> Arc<Origin> {
        Arc::new(Origin { file: Arc::clone(&self.file), key: key.to_owned(), at: node.at })
    }

    /// Reads one expression.
    fn expression(&mut self, source: &str, node: &Node, key: &str, names: Names<'_>) -> Option<Expression> {
        let before = self.sources;
        self.sources += source.len();
        if self.sources > MAX_SOURCES {
            if before <= MAX_SOURCES {
                let message =
                    format!("the expressions of the file have more than {MAX_SOURCES} bytes up to here");
                self.complain(node.at, key, Code::LargeExpression, message);
            }
            return None;
        }
        match Expression::read(source, names) {
            Ok(expression) => Some(expression),
            Err(wrong) => {
                let (code, why) = match wrong {
                    Wrong::Bad(why) => (Code::BadExpression, why),
                    Wrong::Large(why) => (Code::LargeExpression, why),
                    Wrong::Step(why) => (Code::UnknownStep, why),
                };
                self.complain(node.at, key, code, format!("{}: {why}", shown(source)));
                None
            }
        }
    }

    /// A condition.
    pub(super) fn test(&mut self, node: &Node, key: &str, names: Names<'_>) -> Option<Test> {
        let source = text(node)?;
        // `${..}` around a condition is what one writes elsewhere, and means the same.
        let trimmed = source.trim();
        let inner =
            trimmed.strip_prefix("${").and_then(|inner| inner.strip_suffix('}').map(|bare| (inner, bare)));
        // The brace at the end has to be the one that closes it.
        let inner = inner.filter(|(inner, bare)| scan::end(inner) == Ok(bare.len()));
        let source = inner.map_or(source, |(_, bare)| bare);
        let expression = self.expression(source, node, key, names)?;
        Some(Test { expression, origin: self.origin(node, key) })
    }

    /// A text with expressions in it.
    pub(super) fn text(&mut self, node: &Node, key: &str, names: Names<'_>) -> Option<Text> {
        let parts = self.parts(text(node)?, node, key, names)?;
        Some(Text { parts, origin: self.origin(node, key) })
    }

    fn parts(&mut self, source: &str, node: &Node, key: &str, names: Names<'_>) -> Option<Vec<Part>> {
        let (mut parts, mut plain, mut rest, mut good) = (Vec::new(), String::new(), source, true);
        while let Some(at) = rest.find("${") {
            // `$${` stands for the signs themselves.
            if rest[..at].ends_with('$') {
                plain.push_str(&rest[..at - 1]);
                plain.push_str("${");
                rest = &rest[at + 2..];
                continue;
            }
            plain.push_str(&rest[..at]);
            rest = &rest[at + 2..];
            let end = match scan::end(rest) {
                Ok(end) => end,
                Err(why) => {
                    self.complain(node.at, key, Code::BadExpression, why);
                    return None;
                }
            };
            if !plain.is_empty() {
                good &= self.no_secret_named(&plain, node, key);
                parts.push(Part::Plain(std::mem::take(&mut plain)));
            }
            match self.expression(&rest[..end], node, key, names) {
                Some(expression) => parts.push(Part::Value(expression)),
                None => good = false,
            }
            rest = &rest[end + 1..];
        }
        plain.push_str(rest);
        if !plain.is_empty() || parts.is_empty() {
            parts.push(Part::Plain(plain));
        }
        good.then_some(parts)
    }

    /// A secret whose name goes on in an expression would be chosen by a value.
    fn no_secret_named(&mut self, plain: &str, node: &Node, key: &str) -> bool {
        let name = plain.to_ascii_lowercase().rfind(SECRET).map(|at| &plain[at + SECRET.len()..]);
        let is_open =
            |name: &str| name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./".contains(letter));
        let fine = !name.is_some_and(is_open);
        if !fine {
            let message =
                format!("the name behind `{SECRET}` must not come out of an expression: write it out");
            self.complain(node.at, key, Code::SecretMade, message);
        }
        fine
    }

    /// A value with expressions in it.
    pub(super) fn json(&mut self, node: &Node, key: &str, names: Names<'_>) -> Option<Json> {
        Some(match &node.value {
            Value::Text(source) if !source.contains("${") => Json::Plain(Plain::from(source.as_str())),
            Value::Text(_) => Json::Text(self.text(node, key, names)?),
            Value::List(items) => {
                let items: Vec<_> = items.iter().map(|item| self.json(item, key, names)).collect();
                Json::List(items.into_iter().collect::<Option<_>>()?)
            }
            Value::Map(entries) => {
                let mut table = Vec::with_capacity(entries.len());
                let mut good = true;
                for (name, value) in entries {
                    let path = join(key, &name.name);
                    if name.name.contains("${") {
                        let message = "a key has no expressions: make the whole table by one";
                        self.complain(name.at, &path, Code::BadExpression, message);
                        good = false;
                    }
                    match self.json(value, &path, names) {
                        Some(value) => table.push((name.name.clone(), value)),
                        None => good = false,
                    }
                }
                if !good {
                    return None;
                }
                Json::Map(table)
            }
            _ => match crate::json::of_node(node) {
                Ok(value) => Json::Plain(value),
                Err((at, message)) => {
                    self.complain(at, key, Code::WrongValue, message);
                    return None;
                }
            },
        })
    }
}
