//! Policies in one place: a file that names retry, breaker and budget settings, and which service uses what (feature
//! `policy`).
//!
//! TOML, YAML and JSON mean the same; every value has a default, and so has a program without any file. A file is taken
//! as a whole or refused as a whole, with file, line, column, key and what was expected. [`Live`] takes a changed file
//! over while calls go on: state outlives configuration, and names are identity.
//!
//! ```
//! use steadfast_resilience::policy::{Format, Policies};
//!
//! let policies = Policies::parse(
//!     r#"
//!     [retry.patient]
//!     like = "background"
//!     max_retries = 12
//!
//!     [service.payments]
//!     retry = "patient"
//!     attempt_timeout = "2s"
//!     breaker = { ratio = 0.5, open_for = "5s" }
//!
//!     [service.payments.operation.refund]
//!     idempotent = false
//!     "#,
//!     Format::Toml,
//!     "policies.toml",
//! )?;
//! let payments = policies.pipeline("payments").build()?;
//! assert_eq!(payments.retry().unwrap().max_retries(), Some(12));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod change;
mod check;
mod error;
mod live;
mod read;
mod schema;
mod service;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub use change::{Change, Changes};
pub use check::{Finding, Severity};
pub use error::{Complaint, Error};
pub use live::{Live, Watch};
pub use schema::{FILE_FIELDS, SERVICE_FIELDS, json_schema};
pub use steadfast_form::{Format, Place, duration};

use crate::Code;
use crate::pipeline::Builder;
use crate::retry::Builder as RetryBuilder;
use read::Reader;
use service::Entry;
use steadfast_form::{Node, Value, listed, nearest, plain};

/// The policies of one file, checked. Clones are cheap.
#[derive(Clone, Debug)]
pub struct Policies {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: String,
    default: Entry,
    services: BTreeMap<String, Entry>,
    /// The retry settings that the file names.
    retries: BTreeMap<String, RetryBuilder>,
    warnings: Vec<Complaint>,
    /// Every value of the file by its whole key.
    flat: BTreeMap<String, String>,
}

impl Policies {
    /// Reads a file; its name's end says how it is written: `.toml`, `.yaml`, `.yml` or `.json`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let name = plain(&path.display().to_string());
        Self::of_text(&text_of(path, &name)?, path)
    }

    /// The text that a file has.
    fn of_text(text: &str, path: &Path) -> Result<Self, Error> {
        let name = plain(&path.display().to_string());
        let Some(format) = Format::of(path) else {
            let message = "its name must end in .toml, .yaml, .yml or .json".to_owned();
            return Err(Error::unreadable(&name, message, None));
        };
        Self::parse(text, format, &name)
    }

    /// Reads a text. `name` stands for the file in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, format: Format, name: &str) -> Result<Self, Error> {
        let root = format.parse(text).map_err(|syntax| {
            let key = String::new();
            let complaint = Complaint { at: syntax.at, key, code: Code::Syntax, message: syntax.message };
            Error::new(name, vec![complaint])
        })?;
        Self::from_tree(&root, name)
    }

    /// The built-in policies, for a program without a file.
    #[must_use]
    pub fn standard() -> Self {
        let empty = Node { value: Value::Null, at: Place::START };
        let mut reader = Reader::new(&empty);
        let (default, _) = reader.services();
        Self {
            inner: Arc::new(Inner {
                file: "the built-in policies".to_owned(),
                default,
                services: BTreeMap::new(),
                retries: BTreeMap::new(),
                warnings: Vec::new(),
                flat: BTreeMap::new(),
            }),
        }
    }

    /// Policies that are a part of another file, as the tree that it was read into: see [`FILE_FIELDS`]. `name` stands for the file
    /// in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn from_tree(root: &Node, name: &str) -> Result<Self, Error> {
        let mut complaints = error::of_form(steadfast_form::validate(root, read::file()));
        let mut reader = Reader::new(root);
        let (default, services) = reader.services();
        let retries = reader.retries();
        if !complaints.is_empty() {
            // Of what does not fit, only the names can be judged any further.
            let names = reader.complaints.into_iter();
            complaints.extend(names.filter(|of| matches!(of.code, Code::UnknownName | Code::Circle)));
            complaints.sort_by(|one, other| (one.at, &one.key).cmp(&(other.at, &other.key)));
            complaints.truncate(error::MAX_COMPLAINTS);
            return Err(Error::new(name, complaints));
        }
        if !reader.complaints.is_empty() {
            return Err(Error::new(name, reader.complaints));
        }
        Ok(Self {
            inner: Arc::new(Inner {
                file: name.to_owned(),
                default,
                services: services.into_iter().collect(),
                retries: retries.into_iter().collect(),
                warnings: reader.warnings,
                flat: read::flatten(root),
            }),
        })
    }

    /// The file's name.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.inner.file
    }

    /// The services that the file names.
    pub fn services(&self) -> impl Iterator<Item = &str> {
        self.inner.services.keys().map(String::as_str)
    }

    /// Everything that the file says, each value by its whole key: `service.payments.attempt_timeout` is `2s`.
    pub fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.inner.flat.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Settings that can never take effect, or that hurt, with their places.
    #[must_use]
    pub fn warnings(&self) -> &[Complaint] {
        &self.inner.warnings
    }

    /// The settings of a pipeline for this service, with the file's default for one that it does not name. What is built
    /// does not follow later changes of the file: see [`Live::pipeline`] for one that does.
    pub fn pipeline(&self, service: &str) -> Builder {
        self.service(service).builder(service)
    }

    /// The retry settings of this name: of the file, or a preset.
    #[must_use]
    pub fn retry(&self, name: &str) -> Option<RetryBuilder> {
        let preset = || schema::RETRY.presets.contains(&name).then(|| read::preset(name));
        self.inner.retries.get(name).cloned().or_else(preset)
    }

    /// The names of all retry settings: of the file, and the presets.
    #[must_use]
    pub fn retries(&self) -> Vec<&str> {
        let presets = schema::RETRY.presets.iter().copied();
        let mut names: Vec<_> = self.inner.retries.keys().map(String::as_str).chain(presets).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The settings of a pipeline for a service of the file, or for one that has the file's default and this retry policy:
    /// one of the file, or a preset.
    ///
    /// # Errors
    /// A name that stands for nothing, with the nearest one that does.
    pub fn named(&self, name: &str) -> Result<Builder, Error> {
        if let Some(entry) = self.inner.services.get(name) {
            return Ok(entry.builder(name));
        }
        match self.retry(name) {
            Some(retry) => Ok(self.inner.default.builder(name).retry(retry)),
            None => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> Error {
        let own = self.services().chain(self.inner.retries.keys().map(String::as_str));
        let known: Vec<_> = own.chain(schema::RETRY.presets.iter().copied()).collect();
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{}`?", plain(near)),
            None => format!("there are {}", listed(known.iter().copied())),
        };
        let name = name.escape_debug();
        Error::unknown_name(
            self.file(),
            format!("there is no service or retry policy named `{name}`: {hint}"),
        )
    }

    /// The service that was probably meant by a name that the file does not have.
    fn nearest_service(&self, name: &str) -> Option<&str> {
        let known = self.inner.services.contains_key(name);
        if known { None } else { nearest(name, self.services()) }
    }

    fn service(&self, name: &str) -> &Entry {
        self.inner.services.get(name).unwrap_or(&self.inner.default)
    }

    /// What differs from an earlier version.
    #[must_use]
    pub fn changes_since(&self, earlier: &Self) -> Changes {
        Changes::between(&earlier.inner.flat, &self.inner.flat)
    }
}

impl Default for Policies {
    fn default() -> Self {
        Self::standard()
    }
}

/// The whole text of a file, if it is one, is not too large and is UTF-8.
fn text_of(path: &Path, name: &str) -> Result<String, Error> {
    steadfast_form::read(path).map_err(|unread| match unread.at {
        None => Error::unreadable(name, unread.message, unread.source),
        Some(at) => {
            let (key, code, message) = (String::new(), Code::Syntax, unread.message);
            Error::new(name, vec![Complaint { at, key, code, message }])
        }
    })
}
