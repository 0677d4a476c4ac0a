//! A workflow file.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use steadfast_form::{Format, MAX_COMPLAINTS, Place, Value as Tree, plain, validate};
use steadfast_runtime::Workflow;

use crate::call::Agent;
use crate::code::Code;
use crate::error::{Complaint, Error};
use crate::expression::on_large_stack;
use crate::model::{Does, Flow};
use crate::schema::FILE;
use crate::world::World;
use crate::{build, json, read};

/// How many mistakes of an input are told at once.
const MOST_MISTAKES: usize = 10;

/// A workflow file that was read and checked, as far as it can be alone. Clones are one and the same.
#[derive(Clone)]
pub struct FlowFile {
    inner: Arc<Inner>,
}

struct Inner {
    file: String,
    text: String,
    format: Format,
    flow: Flow,
    json: Value,
    digest: String,
}

impl FlowFile {
    /// Reads a text. `file` stands for it in messages. That takes milliseconds, and for a file with as many expressions as it may
    /// have a second: not on a thread that others wait for.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn parse(text: &str, format: Format, file: &str) -> Result<Self, Error> {
        let file = plain(file);
        if format == Format::Toml {
            return Err(Error::unreadable(&file, "a workflow is written in YAML or JSON", None));
        }
        let root = format.parse(text).map_err(|syntax| {
            Error::new(&file, vec![Complaint::new(syntax.at, "", Code::Syntax, plain(&syntax.message))])
        })?;
        let misfits = match root.value {
            Tree::Null => vec![Complaint::new(
                Place::START,
                "",
                Code::Missing,
                "the file is empty: name a `workflow` and its `steps`",
            )],
            _ => validate(&root, &FILE).into_iter().map(Complaint::of_form).take(MAX_COMPLAINTS).collect(),
        };
        // The parser of expressions needs a stack that only a thread of its own has for sure.
        let flow = on_large_stack(|| read::read(&root, &file)).unwrap_or_else(|| {
            let message = "its expressions could not be read: the parser has failed";
            Err(vec![Complaint::new(Place::START, "", Code::LargeExpression, message)])
        });
        if !misfits.is_empty() {
            // Of what does not fit, only names, expressions and requests can be judged any further.
            let more = flow.err().unwrap_or_default().into_iter().filter(|more| !more.is_of_shape());
            return Err(Error::new(&file, misfits.into_iter().chain(more).collect()));
        }
        let flow = flow.map_err(|complaints| Error::new(&file, complaints))?;
        let (json, digest) = (json::of_file(&root), json::digest(&json::meaning(&root)));
        Ok(Self { inner: Arc::new(Inner { file, text: text.to_owned(), format, flow, json, digest }) })
    }

    /// Reads a file; its name's end says how it is written: `.yaml`, `.yml` or `.json`.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let name = plain(&path.display().to_string());
        let text = steadfast_form::read(path).map_err(|unread| match unread.at {
            None => Error::unreadable(&name, unread.message, unread.source),
            Some(at) => Error::new(&name, vec![Complaint::new(at, "", Code::Syntax, unread.message)]),
        })?;
        match Format::of(path) {
            Some(format @ (Format::Yaml | Format::Json)) => Self::parse(&text, format, &name),
            _ => Err(Error::unreadable(&name, "its name must end in .yaml, .yml or .json", None)),
        }
    }

    /// The workflow's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.flow.name
    }

    /// The version that the file says, if it says one.
    #[must_use]
    pub fn version(&self) -> Option<u32> {
        self.inner.flow.version
    }

    /// The file's name.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.inner.file
    }

    /// The text that it was read from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// How the text is written.
    #[must_use]
    pub fn format(&self) -> Format {
        self.inner.format
    }

    /// The services that it calls, each once, in alphabetical order.
    #[must_use]
    pub fn services(&self) -> Vec<&str> {
        self.names(|does| match does {
            Does::Calls(calls) => Some(&calls.service.name),
            _ => None,
        })
    }

    /// The retry policies that its steps name, each once, in alphabetical order.
    #[must_use]
    pub fn retries(&self) -> Vec<&str> {
        self.names(|does| match does {
            Does::Calls(calls) => calls.retry.as_ref().map(|retry| &retry.name),
            _ => None,
        })
    }

    /// The workflows whose tasks it asks for, each once, in alphabetical order.
    #[must_use]
    pub fn children(&self) -> Vec<&str> {
        self.names(|does| match does {
            Does::Asks(asks) => Some(&asks.workflow.name),
            _ => None,
        })
    }

    fn names<'a>(&'a self, name: impl Fn(&'a Does) -> Option<&'a String>) -> Vec<&'a str> {
        let mut names: Vec<_> =
            self.inner.flow.steps.iter().filter_map(|step| name(&step.does)).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A digest of what it means: formatting, comments, descriptions and the version do not count. Whoever stores versions
    /// compares it.
    #[must_use]
    pub fn digest(&self) -> String {
        self.inner.digest.clone()
    }

    /// The same workflow as JSON, which reads as an equal one.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.inner.json.clone()
    }

    /// Whether an input fits the file's schema; one without a schema takes any. Whoever submits asks before.
    ///
    /// # Errors
    /// What does not fit, each with its place in the input.
    pub fn check_input(&self, input: &Value) -> Result<(), Error> {
        let Some(schema) = &self.inner.flow.schema else { return Ok(()) };
        let complaints: Vec<_> = misfits(&schema.0, input)
            .map(|(key, message)| Complaint::new(Place::START, key, Code::BadInput, message))
            .collect();
        if complaints.is_empty() { Ok(()) } else { Err(Error::new(&self.inner.file, complaints)) }
    }

    /// Builds it. `world` gives the services and workflows that it names, `agent` makes the calls.
    ///
    /// # Errors
    /// What the world does not have, with its place and the nearest name.
    pub fn build(&self, version: u32, world: &dyn World, agent: Arc<dyn Agent>) -> Result<Workflow, Error> {
        let built = build::build(&self.inner.flow, version, world, agent);
        built.map_err(|complaints| Error::new(&self.inner.file, complaints))
    }
}

/// What of an input does not fit: where, and why.
pub(crate) fn misfits(
    schema: &jsonschema::Validator,
    input: &Value,
) -> impl Iterator<Item = (String, String)> {
    let errors: Vec<_> = schema
        .iter_errors(input)
        .take(MOST_MISTAKES)
        .map(|error| {
            let path = error.instance_path().to_string();
            (format!("input{}", plain(&path.replace('/', "."))), plain(&error.to_string()))
        })
        .collect();
    errors.into_iter()
}

impl fmt::Debug for FlowFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowFile")
            .field("name", &self.name())
            .field("version", &self.version())
            .field("file", &self.inner.file)
            .finish_non_exhaustive()
    }
}
