//! A workflow file that was read: what is built of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::Step;
use steadfast_form::Place;

use crate::call::Expect;
use crate::expression::names::Reads;
use crate::request::Request;
use crate::template::{Json, Test};

/// A workflow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) name: String,
    pub(crate) at: Place,
    pub(crate) version: Option<u32>,
    pub(crate) complete_within: Option<Duration>,
    pub(crate) schema: Option<Schema>,
    /// The place of the step whose output is the task's.
    pub(crate) returns: Option<usize>,
    pub(crate) steps: Vec<Plan>,
    /// By step: whether it is made for each item of a list.
    pub(crate) is_each: Arc<[bool]>,
}

/// The schema of the input, read.
#[derive(Clone)]
pub(crate) struct Schema(pub(crate) Arc<jsonschema::Validator>);

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schema")
    }
}

/// One step.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Its name.
    pub(crate) name: Arc<str>,
    pub(crate) at: Place,
    /// Its key in the file.
    pub(crate) key: String,
    /// As the engine sees it.
    pub(crate) step: Step,
    /// When it is made: what its groups say, the outermost first, and then itself.
    pub(crate) when: Arc<[Test]>,
    pub(crate) does: Does,
}

/// What a step does.
#[derive(Debug)]
pub(crate) enum Does {
    /// It waits for a time or a signal that its step has.
    Waits,
    /// It waits until a time.
    Until(Arc<Json>, Reads),
    Calls(Arc<Calls>),
    Asks(Arc<Asks>),
}

/// A step that calls a service.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) service: Named,
    pub(crate) retry: Option<Named>,
    pub(crate) request: Request,
    /// By which statuses its service says that it will call back, if it may.
    pub(crate) accepted: Option<Expect>,
    /// `None`: the body.
    pub(crate) output: Option<(Json, Reads)>,
    pub(crate) undo: Option<Request>,
    pub(crate) until: Option<Test>,
    pub(crate) each: Option<List>,
}

/// A step that asks for another task.
#[derive(Debug)]
pub(crate) struct Asks {
    pub(crate) workflow: Named,
    /// `None`: the item, or the task's own input.
    pub(crate) input: Option<(Json, Reads)>,
    pub(crate) each: Option<List>,
}

/// The list of which a step is made for each item.
#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) items: Arc<Json>,
    pub(crate) reads: Reads,
    pub(crate) origin: Arc<crate::template::Origin>,
}

/// A name that stands for something outside of the file.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) at: Place,
    pub(crate) key: String,
}
