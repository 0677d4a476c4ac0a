//! A file as a tree of values that know their place, whatever its format: so that every complaint names line and
//! column, and all three formats mean the same.

mod json;
mod toml;
mod yaml;

use std::fmt;

/// The largest file that is read: a policy file of a thousand services takes some 200 KiB.
pub const MAX_BYTES: usize = 1 << 20;

/// The deepest nesting: policy files need five levels, workflow files ten and what a body nests.
pub const MAX_DEPTH: usize = 32;

/// The most values in a file, aliases in YAML counted as often as they are used: a bomb must not fill the memory.
pub const MAX_NODES: usize = 100_000;

/// A place in a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl Place {
    /// Where a file begins.
    pub const START: Self = Self { line: 1, column: 1 };
}

/// Finds places in a text, each in a few steps: a file of one long line must not be counted through for every value.
#[derive(Debug)]
pub struct Places<'a> {
    text: &'a str,
    /// Where each line begins.
    lines: Vec<usize>,
    /// Characters before each block of the text.
    chars: Vec<usize>,
}

/// Bytes between two marks of the character count.
const BLOCK: usize = 256;

impl<'a> Places<'a> {
    /// The places of a text.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let mut chars = vec![0];
        for block in text.as_bytes().chunks(BLOCK) {
            chars.push(chars.last().copied().unwrap_or(0) + begun(block));
        }
        Self { text, lines: std::iter::once(0).chain(breaks).collect(), chars }
    }

    /// The place of a byte.
    #[must_use]
    pub fn at(&self, byte: usize) -> Place {
        let byte = byte.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= byte);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        Place { line, column: self.chars_before(byte) - self.chars_before(start) + 1 }
    }

    /// Characters that begin before a byte; one that it lies in the middle of is not before it.
    fn chars_before(&self, byte: usize) -> usize {
        let mut byte = byte;
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let block = byte / BLOCK;
        self.chars[block] + begun(&self.text.as_bytes()[block * BLOCK..byte])
    }
}

/// Characters that begin in these bytes: all but the continuations of UTF-8.
fn begun(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub value: Value,
    /// Where it begins.
    pub at: Place,
}

/// What a file can say, whatever its format.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction, or one beyond the whole ones.
    Float(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A table, in the order of the file. No key is in it twice.
    Map(Vec<(Key, Node)>),
}

/// A key and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// What it is called.
    pub name: String,
    /// Where it begins.
    pub at: Place,
}

impl Value {
    /// What it is, for "expected a duration, found a list".
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Null => "nothing".to_owned(),
            Self::Bool(value) => format!("`{value}`"),
            Self::Int(value) => format!("the number {value}"),
            Self::Float(value) => format!("the number {value}"),
            Self::Text(text) => {
                let shown: String = text.chars().take(40).collect();
                let more = if shown.len() < text.len() { "..." } else { "" };
                format!("the text \"{}{more}\"", shown.escape_debug())
            }
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) => "a table".to_owned(),
        }
    }
}

/// Why a text is not a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syntax {
    /// Where.
    pub at: Place,
    /// What is wrong.
    pub message: String,
}

impl Syntax {
    fn new(at: Place, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// TOML.
    Toml,
    /// YAML, one document.
    Yaml,
    /// JSON.
    Json,
}

impl Format {
    /// By the end of a file's name.
    #[must_use]
    pub fn of(path: &std::path::Path) -> Option<Self> {
        match &*path.extension()?.to_str()?.to_ascii_lowercase() {
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// The tree of a text.
    ///
    /// # Errors
    /// It is not of this format, or larger or deeper than is read.
    pub fn parse(self, text: &str) -> Result<Node, Syntax> {
        if text.len() > MAX_BYTES {
            return Err(Syntax::new(
                Place::START,
                format!("the file has {} bytes, and at most {MAX_BYTES} are read", text.len()),
            ));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match self {
            Self::Toml => toml::parse(text),
            Self::Yaml => yaml::parse(text),
            Self::Json => json::parse(text),
        }
    }
}

/// Counts values and depth while a tree is built.
#[derive(Debug, Default)]
struct Limits {
    nodes: usize,
}

impl Limits {
    fn count(&mut self, at: Place, depth: usize) -> Result<(), Syntax> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(Syntax::new(at, format!("more than {MAX_NODES} values")));
        }
        if depth > MAX_DEPTH {
            return Err(Syntax::new(at, format!("nested more than {MAX_DEPTH} levels deep")));
        }
        Ok(())
    }
}

/// A table, once no key stands in it twice.
fn table(entries: Vec<(Key, Node)>) -> Result<Value, Syntax> {
    let mut seen = std::collections::HashSet::new();
    for (key, _) in &entries {
        if !seen.insert(key.name.as_str()) {
            return Err(Syntax::new(key.at, format!("`{}` stands here a second time", key.name)));
        }
    }
    Ok(Value::Map(entries))
}

#[cfg(test)]
mod tests;
