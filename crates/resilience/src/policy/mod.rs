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
pub mod duration;
mod error;
mod live;
mod read;
mod schema;
mod service;
#[cfg(test)]
mod tests;
mod tree;
mod validate;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

pub use change::{Change, Changes};
pub use check::{Finding, Severity};
pub use error::{Complaint, Error};
pub use live::{Live, Watch};
pub use schema::json_schema;
pub use tree::{Format, Place};

use crate::Code;
use crate::pipeline::Builder;
use crate::retry::Builder as RetryBuilder;
use read::Reader;
use service::Entry;
use tree::{MAX_BYTES, Node, Places, Value};

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
        let name = validate::plain(&path.display().to_string());
        Self::of_text(&text_of(path, &name)?, path)
    }

    /// The text that a file has.
    fn of_text(text: &str, path: &Path) -> Result<Self, Error> {
        let name = validate::plain(&path.display().to_string());
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
        Self::of_tree(&root, name)
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

    fn of_tree(root: &Node, name: &str) -> Result<Self, Error> {
        let mut complaints = validate::validate(root, read::file());
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

    /// The settings of a pipeline for a service of the file, or for one that has the file's default and this retry policy:
    /// one of the file, or a preset.
    ///
    /// # Errors
    /// A name that stands for nothing, with the nearest one that does.
    pub fn named(&self, name: &str) -> Result<Builder, Error> {
        if let Some(entry) = self.inner.services.get(name) {
            return Ok(entry.builder(name));
        }
        let retry = self.inner.retries.get(name).cloned();
        let preset = || schema::RETRY.presets.contains(&name).then(|| read::preset(name));
        match retry.or_else(preset) {
            Some(retry) => Ok(self.inner.default.builder(name).retry(retry)),
            None => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> Error {
        let own = self.services().chain(self.inner.retries.keys().map(String::as_str));
        let known: Vec<_> = own.chain(schema::RETRY.presets.iter().copied()).collect();
        let hint = match validate::nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{}`?", validate::plain(near)),
            None => format!("there are {}", validate::listed(known.iter().copied())),
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
        if known { None } else { validate::nearest(name, self.services()) }
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
    let unreadable = |error: io::Error| {
        let message = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            io::ErrorKind::PermissionDenied => "it may not be read: check its permissions".to_owned(),
            io::ErrorKind::IsADirectory => "it is a directory: give a file".to_owned(),
            _ => format!("it cannot be read: {error}"),
        };
        Error::unreadable(name, message, Some(error))
    };
    // A pipe would be waited for, and a device has no end.
    let about = fs::metadata(path).map_err(unreadable)?;
    if about.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    if !about.is_file() {
        return Err(Error::unreadable(name, "it is a pipe or a device: give a file".to_owned(), None));
    }
    let file = fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large from one that just fits.
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MAX_BYTES {
        let message = format!("it has more than {MAX_BYTES} bytes");
        return Err(Error::unreadable(name, message, None));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid =
            String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]).into_owned();
        let at = Places::new(&valid).at(valid.len());
        let message = "this is not UTF-8: save the file as UTF-8".to_owned();
        Error::new(name, vec![Complaint { at, key: String::new(), code: Code::Syntax, message }])
    })
}
