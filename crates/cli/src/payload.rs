//! JSON that is given on the command line: as it is, from a file, or from stdin; and names with values.

use std::fs::File;
use std::io::{Read, stdin};
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The most bytes that are read from a file or stdin: more than any server takes, and little enough for memory.
const MOST: u64 = 64 << 20;

/// JSON, or where it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Payload {
    Said(Value),
    File(PathBuf),
    Stdin,
}

impl FromStr for Payload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix('@') {
            Some("") => Err("a file has to be named behind the `@`".to_owned()),
            Some(path) => Ok(Self::File(PathBuf::from(path))),
            None if text == "-" => Ok(Self::Stdin),
            None => serde_json::from_str(text).map(Self::Said).map_err(|error| {
                format!(
                    "that is no JSON: {error}; a text has quotes of its own, as in '\"a chair\"'; @FILE reads a file, - reads stdin"
                )
            }),
        }
    }
}

impl Payload {
    /// The JSON, read from where it is.
    pub(crate) async fn read(&self) -> Result<Value> {
        match self {
            Self::Said(value) => Ok(value.clone()),
            Self::File(path) => {
                let name = path.display().to_string();
                let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
                from(file, &name)
            }
            // Apart, so that Ctrl-C is heard meanwhile.
            Self::Stdin => tokio::task::spawn_blocking(|| from(stdin().lock(), "stdin")).await?,
        }
    }

    /// The JSON, or `null` where nothing was said.
    pub(crate) async fn read_or_null(payload: Option<&Self>) -> Result<Value> {
        match payload {
            Some(payload) => payload.read().await,
            None => Ok(Value::Null),
        }
    }

    /// The JSON, if something was said.
    pub(crate) async fn read_some(payload: Option<&Self>) -> Result<Option<Value>> {
        match payload {
            Some(payload) => payload.read().await.map(Some),
            None => Ok(None),
        }
    }
}

fn from(source: impl Read, name: &str) -> Result<Value> {
    let mut bytes = Vec::new();
    source.take(MOST + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {name}"))?;
    if bytes.len() as u64 > MOST {
        bail!("{name} has more than {MOST} bytes");
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        anyhow::anyhow!("{name}:{}:{}: this is no JSON: {error}", error.line(), error.column())
    })
}

/// Reads `NAME=VALUE`.
pub(crate) fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE, such as team=shop".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_payload_is_json_a_file_or_stdin() {
        assert_eq!("{\"a\": 1}".parse(), Ok(Payload::Said(json!({ "a": 1 }))));
        assert_eq!("@order.json".parse(), Ok(Payload::File(PathBuf::from("order.json"))));
        assert_eq!("-".parse(), Ok(Payload::Stdin));
        assert_eq!("-1".parse(), Ok(Payload::Said(json!(-1))));
        let why = "chair".parse::<Payload>().unwrap_err();
        assert!(why.contains("quotes of its own") && why.contains("@FILE"), "{why}");
        assert!("@".parse::<Payload>().is_err());
    }

    #[test]
    fn bad_json_is_told_with_its_place() {
        let why = from(&b"{\n  \"a\": x\n}"[..], "order.json").unwrap_err().to_string();
        assert!(why.starts_with("order.json:2:8: this is no JSON"), "{why}");
    }

    #[test]
    fn a_label_has_a_name_and_a_value() {
        assert_eq!(label("team=shop"), Ok(("team".to_owned(), "shop".to_owned())));
        assert_eq!(label("note=a=b"), Ok(("note".to_owned(), "a=b".to_owned())));
        assert!(label("team").is_err() && label("=x").is_err());
    }
}
