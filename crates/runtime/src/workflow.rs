//! Workflows with the code of their steps.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{Builder, Definition, Fan, StepId, Time};
use steadfast_resilience::Kind;
use steadfast_store::{Payload, PayloadKey, Store, TaskId};

use crate::handler::{Answered, Fault, Handler, Work};
use crate::service::Service;
use crate::shared::Shared;

/// Whether a step is to run, from what is known.
pub type Condition = Arc<dyn Fn(&Known) -> Result<bool, String> + Send + Sync>;

/// Until when a step waits, from what is known.
pub type Until = Arc<dyn Fn(&Known) -> Result<Time, String> + Send + Sync>;

/// For which items a step is made, each as JSON, from what is known.
pub type List = Arc<dyn Fn(&Known) -> Result<Vec<Payload>, String> + Send + Sync>;

/// Whether a step that is repeated is done, from its output.
pub type Done = Arc<dyn Fn(&[u8]) -> Result<bool, String> + Send + Sync>;

/// Whether JSON that somebody gives in the place of a value fits its type; if not, why.
pub type Fits = Arc<dyn Fn(&[u8]) -> Result<(), String> + Send + Sync>;

/// What a step gives, as JSON, from what its service said that has called back; if it cannot be made, why.
pub type Later = Arc<dyn Fn(&Arc<Work>, &Payload) -> Result<Payload, String> + Send + Sync>;

/// The code of one step.
#[derive(Clone)]
pub struct Code {
    /// Whether it is to run; `None` for always.
    pub condition: Option<Condition>,
    /// What it does.
    pub run: Arc<dyn Handler>,
    /// What undoes it.
    pub undo: Option<Arc<dyn Handler>>,
    /// Until when it waits, if that is computed.
    pub until: Option<Until>,
    /// Whether it is done, if it is repeated.
    pub done: Option<Done>,
    /// For which items it is made, if it is made for each of a list.
    pub list: Option<List>,
    /// The workflow of the task that it asks for, if it asks for one.
    pub child: Option<Arc<Workflow>>,
    /// Whether an output that an operator gives in its place fits; `None` for any.
    pub output: Option<Fits>,
    /// What it gives when its service has called back; `None` for all that it said.
    pub later: Option<Later>,
}

impl Code {
    /// The code of a step that always runs, once, and has no undo.
    #[must_use]
    pub fn new(run: Arc<dyn Handler>) -> Self {
        let (condition, until, done, list) = (None, None, None, None);
        Self { condition, run, undo: None, until, done, list, child: None, output: None, later: None }
    }

    /// The code of a step that waits and calls nothing.
    #[must_use]
    pub fn waits() -> Self {
        let run = |_: &Arc<Work>, _| -> Answered {
            let fault = Fault::terminal(Kind::named("waits"), "a step that waits calls nothing");
            Box::pin(std::future::ready(Err(fault)))
        };
        Self::new(Arc::new(run))
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (condition, undo) = (self.condition.is_some(), self.undo.is_some());
        f.debug_struct("Code").field("condition", &condition).field("undo", &undo).finish_non_exhaustive()
    }
}

/// The shape of a task that was not taken. No workflow has it: nobody takes such a task for one of theirs.
pub(crate) const NONE_TAKEN: u64 = 0;

/// A workflow with the code of its steps.
pub struct Workflow {
    definition: Definition,
    name: Arc<str>,
    shape: u64,
    steps: Vec<Code>,
    services: Vec<Service>,
    /// By step: all steps before it, at whatever distance.
    ancestors: Vec<Vec<StepId>>,
    /// The step whose output is the task's.
    result: Option<StepId>,
    /// Whether an input fits; `None` for any.
    input: Option<Fits>,
}

impl fmt::Debug for Workflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workflow").field("definition", &self.definition).finish_non_exhaustive()
    }
}

impl Workflow {
    /// A workflow, with the code and the service of each step in their order.
    ///
    /// # Errors
    /// What does not fit together, in words.
    pub fn new(definition: Definition, steps: Vec<Code>, services: Vec<Service>) -> Result<Self, String> {
        if steps.len() != definition.steps().len() || services.len() != steps.len() {
            return Err(format!("{} steps have {} handlers", definition.steps().len(), steps.len()));
        }
        for ((step, code), service) in definition.steps().iter().zip(&steps).zip(&services) {
            let name = step.name();
            if step.wait().is_none() && step.service() != service.name() {
                return Err(format!("step `{name}` calls `{}`, not `{}`", step.service(), service.name()));
            }
            if step.asks_for() != code.child.as_ref().map(|child| &*child.name) {
                return Err(format!(
                    "step `{name}`: a step that asks for a task needs its workflow, and only that"
                ));
            }
            // Behind a point of no return the task that it asks for is not undone.
            let undo = code.undo.is_some() && (code.child.is_none() || step.undo_settings().is_some());
            if step.undo_settings().is_some() != undo {
                return Err(format!("step `{name}`: an undo needs a handler, and a handler an undo"));
            }
            if step.is_conditional() != code.condition.is_some() {
                return Err(format!(
                    "step `{name}`: a conditional step needs a condition, and only that one"
                ));
            }
            if step.is_computed() != code.until.is_some() {
                return Err(format!(
                    "step `{name}`: a time that is computed needs a function, and only that"
                ));
            }
            if step.repeats().is_some() != code.done.is_some() {
                return Err(format!(
                    "step `{name}`: a step that is repeated needs a condition, and only that"
                ));
            }
            if step.fans_out().is_some() != code.list.is_some() {
                return Err(format!(
                    "step `{name}`: a step that is made for each item needs a list, and only that"
                ));
            }
        }
        let ancestors = definition.ids().map(|id| ancestors(&definition, id)).collect();
        let (name, shape) = (Arc::from(definition.name()), definition.shape());
        Ok(Self { definition, name, shape, steps, services, ancestors, result: None, input: None })
    }

    /// What a task is of that was not taken.
    pub(crate) fn of_none_taken(name: &str, version: u32) -> Self {
        let definition = Definition::of_none_taken(name, version);
        let (steps, services, ancestors) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            definition,
            name: Arc::from(name),
            shape: NONE_TAKEN,
            steps,
            services,
            ancestors,
            result: None,
            input: None,
        }
    }

    /// The step whose output is the task's.
    #[must_use]
    pub fn returning(self, result: Option<StepId>) -> Self {
        Self { result, ..self }
    }

    /// Takes inputs that fit.
    #[must_use]
    pub fn taking(self, input: Fits) -> Self {
        Self { input: Some(input), ..self }
    }

    /// Whether an input fits; if not, why.
    ///
    /// # Errors
    /// Why it does not, in words.
    pub fn check_input(&self, input: &[u8]) -> Result<(), String> {
        self.input.as_ref().map_or(Ok(()), |fits| fits(input))
    }

    /// Whether what an operator gives fits, as the input or the output of a step; if not, why.
    pub(crate) fn fits(&self, step: StepId, as_input: bool, given: &[u8]) -> Result<(), String> {
        let Some(code) = self.steps.get(step.ordinal()) else { return Ok(()) };
        let (what, fits) = if as_input { ("input", &self.input) } else { ("output", &code.output) };
        fits.as_ref().map_or(Ok(()), |fits| fits(given)).map_err(|why| {
            let name = self.definition.step(step).name();
            format!("what was given as the {what} of `{name}` does not fit its type: {why}")
        })
    }

    /// Whether a step that was done by other means can be undone though nobody says what it gave.
    pub(crate) fn can_be_undone_without_output(&self, step: StepId) -> Result<(), String> {
        let step = self.definition.steps().get(step.ordinal());
        match step.filter(|step| step.undo_settings().is_some_and(steadfast_engine::Undo::reads_output)) {
            Some(step) => Err(format!("the undo of `{}` reads its output: say what it gave", step.name())),
            None => Ok(()),
        }
    }

    /// The step whose output is the task's, if one is.
    #[must_use]
    pub fn result(&self) -> Option<StepId> {
        self.result
    }

    /// The same workflow with other code, made from its own: for tests that let steps fail. `true` is an undo. The code of
    /// steps that wait is never called.
    #[must_use]
    pub fn with_handlers(
        &self,
        mut change: impl FnMut(StepId, bool, Arc<dyn Handler>) -> Arc<dyn Handler>,
    ) -> Self {
        let steps = self.definition.ids().zip(&self.steps);
        let steps = steps.map(|(id, code)| Code {
            condition: code.condition.clone(),
            run: change(id, false, Arc::clone(&code.run)),
            undo: code.undo.as_ref().map(|undo| change(id, true, Arc::clone(undo))),
            until: code.until.clone(),
            done: code.done.clone(),
            list: code.list.clone(),
            child: code.child.clone(),
            output: code.output.clone(),
            later: code.later.clone(),
        });
        Self {
            definition: self.definition.clone(),
            name: Arc::clone(&self.name),
            shape: self.shape,
            steps: steps.collect(),
            services: self.services.clone(),
            ancestors: self.ancestors.clone(),
            result: self.result,
            input: self.input.clone(),
        }
    }

    /// The same workflow with another deadline for its tasks: for tests.
    ///
    /// # Errors
    /// A time that makes no sense, in words.
    pub fn completing_within(self, time: Duration) -> Result<Self, String> {
        let old = &self.definition;
        let builder = Definition::builder(old.name()).version(old.version()).complete_within(time);
        let definition = old.steps().iter().cloned().fold(builder, Builder::step).build();
        Ok(Self { definition: definition.map_err(|invalid| invalid.to_string())?, ..self })
    }

    /// All steps before this one, at whatever distance.
    #[must_use]
    pub fn before(&self, step: StepId) -> &[StepId] {
        &self.ancestors[step.ordinal()]
    }

    /// What it says.
    #[must_use]
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn shape(&self) -> u64 {
        self.shape
    }

    pub(crate) fn handler(&self, step: StepId, undo: bool) -> &Arc<dyn Handler> {
        let code = &self.steps[step.ordinal()];
        match &code.undo {
            Some(handler) if undo => handler,
            _ => &code.run,
        }
    }

    pub(crate) fn condition(&self, step: StepId) -> Option<&Condition> {
        self.steps[step.ordinal()].condition.as_ref()
    }

    pub(crate) fn until(&self, step: StepId) -> Option<&Until> {
        self.steps[step.ordinal()].until.as_ref()
    }

    pub(crate) fn done(&self, step: StepId) -> Option<&Done> {
        self.steps[step.ordinal()].done.as_ref()
    }

    pub(crate) fn later(&self, step: StepId) -> Option<&Later> {
        self.steps[step.ordinal()].later.as_ref()
    }

    pub(crate) fn list(&self, step: StepId) -> Option<&List> {
        self.steps[step.ordinal()].list.as_ref()
    }

    pub(crate) fn service(&self, step: StepId) -> &Service {
        &self.services[step.ordinal()]
    }
}

/// A workflow that knows the type of its input: for test kits, which make the tasks themselves.
pub trait Typed {
    /// What its tasks are submitted with.
    type Input;

    /// As the loops see it.
    fn untyped(&self) -> &Arc<Workflow>;
}

fn ancestors(definition: &Definition, step: StepId) -> Vec<StepId> {
    let mut seen = vec![false; definition.steps().len()];
    let mut next = vec![step];
    while let Some(id) = next.pop() {
        for before in definition.before(id) {
            if !std::mem::replace(&mut seen[before.ordinal()], true) {
                next.push(*before);
            }
        }
    }
    definition.ids().filter(|id| seen[id.ordinal()]).collect()
}

/// All workflows that a program knows, by name and version.
#[derive(Clone, Debug, Default)]
pub struct Workflows {
    by_name: HashMap<Arc<str>, Vec<Arc<Workflow>>>,
}

impl Workflows {
    /// Adds one, and those of the tasks that its steps ask for.
    ///
    /// # Errors
    /// Another one of the same name and version was added before.
    pub fn add(&mut self, workflow: Arc<Workflow>) -> Result<(), String> {
        let version = workflow.definition.version();
        let versions = self.by_name.entry(Arc::clone(&workflow.name)).or_default();
        match versions.iter().find(|known| known.definition.version() == version) {
            Some(known) if Arc::ptr_eq(known, &workflow) => return Ok(()),
            Some(_) => return Err(format!("workflow `{}` version {version} is there twice", workflow.name)),
            None => {}
        }
        let children: Vec<_> = workflow.steps.iter().filter_map(|code| code.child.clone()).collect();
        versions.push(workflow);
        children.into_iter().try_for_each(|child| self.add(child))
    }

    /// The one of this name and version.
    #[must_use]
    pub fn get(&self, name: &str, version: u32) -> Option<&Arc<Workflow>> {
        self.by_name.get(name)?.iter().find(|known| known.definition.version() == version)
    }

    /// What of them does not fit together, in words.
    ///
    /// # Errors
    /// Two services of one name that differ: which of them held would be chance.
    pub fn check(&self) -> Result<(), String> {
        let mut limits = HashMap::new();
        let services = self.all().flat_map(|workflow| &workflow.services);
        for service in services.filter(|service| !service.is_none()) {
            let own = service.limits();
            let first = limits.entry(service.name()).or_insert_with(|| own.clone());
            if *first != own {
                return Err(format!(
                    "two services are named `{}`, one with {first}, the other with {own}: make it once, and clone it",
                    service.name()
                ));
            }
        }
        Ok(())
    }

    /// The services of all steps that call one, each once.
    pub(crate) fn services(&self) -> Vec<&Service> {
        let mut seen = std::collections::BTreeMap::new();
        let services = self.all().flat_map(|workflow| &workflow.services);
        for service in services.filter(|service| !service.is_none()) {
            seen.entry(service.name()).or_insert(service);
        }
        seen.into_values().collect()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Workflow>> {
        self.by_name.values().flatten()
    }
}

/// A task's input, and outputs of its steps.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pub(crate) input: Option<Payload>,
    pub(crate) outputs: Vec<(StepId, Payload)>,
    /// The steps that were made for each item of a list.
    pub(crate) fans: Vec<Fan>,
}

impl Known {
    /// The task's input.
    #[must_use]
    pub fn input(&self) -> &[u8] {
        self.input.as_deref().unwrap_or_default()
    }

    /// A step's output; `None` when it has none, such as one that was skipped.
    #[must_use]
    pub fn output(&self, step: StepId) -> Option<&[u8]> {
        self.outputs.iter().find(|(of, _)| *of == step).map(|(_, output)| &**output)
    }
}

impl Known {
    /// The outputs of a step's items, in the order of its list: `None` for those that have none. `None` if it has no items.
    #[must_use]
    pub fn results(&self, step: StepId) -> Option<Vec<Option<&[u8]>>> {
        let fan = self.fans.iter().find(|fan| fan.step == step)?;
        let mut results = vec![None; usize::from(fan.count)];
        for (of, output) in &self.outputs {
            if let Some(place) = fan.place_of(*of) {
                results[usize::from(place)] = Some(&**output);
            }
        }
        Some(results)
    }
}

impl Known {
    /// What is known at a place beyond the steps.
    pub(crate) fn kept(&self, at: StepId) -> Option<Payload> {
        self.outputs.iter().find(|(of, _)| *of == at).map(|(_, output)| Arc::clone(output))
    }

    /// Reads what is missing, trying again until there is no time left; `None` then.
    pub(crate) async fn read<S: Store>(
        &mut self,
        shared: &Shared<S>,
        task: TaskId,
        missing: Vec<Option<StepId>>,
        until: Time,
    ) -> Option<()> {
        if missing.is_empty() {
            return Some(());
        }
        let keys: Vec<_> = missing.iter().map(|step| PayloadKey { task, step: *step }).collect();
        let mut pause = FIRST_PAUSE;
        let found = loop {
            match shared.store.payloads(keys.clone()).await {
                Ok(found) => break found,
                Err(error) => shared.store_failed("what a step needs could not be read", &error),
            }
            if shared.now() + pause >= until {
                return None;
            }
            shared.clock.sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        };
        for (step, payload) in missing.into_iter().zip(found) {
            match (step, payload) {
                (None, payload) => self.input = payload,
                (Some(step), Some(payload)) => self.outputs.push((step, payload)),
                (Some(_), None) => {}
            }
        }
        Some(())
    }
}

/// The pauses between two tries to read.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
