//! Tasks that somebody looks for: by what the store knows of them, and by what their workflows say.

use std::fmt;
use std::sync::Arc;

use steadfast_engine::schedule::rfc3339;
use steadfast_engine::{Cause, Definition, StepId, Task, TaskState, Time, UndoState};
use steadfast_store::{Filter, PayloadKey, Store, Stored, TaskId};

use crate::error::Error;
use crate::node::Node;

/// How many tasks are read at a time.
const PAGE: usize = 256;

/// Which tasks are looked for. What is not said does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Find {
    /// What the store can tell.
    pub filter: Filter,
    /// With a step, or an undo, at this service that has not ended.
    pub service: Option<String>,
    /// With this in the reason why they do not complete, or in how an attempt of an open step failed last. Letters may be large
    /// or small.
    pub reason: Option<String>,
    /// With this in the id, the key, the reason or the input.
    pub text: Option<String>,
    /// The most of them, for those who take all: a bulk, an export.
    pub most: Option<usize>,
}

/// Some of the tasks that are looked for.
#[derive(Clone, Debug, Default)]
pub struct FoundTasks {
    /// They, newest first.
    pub tasks: Vec<Stored>,
    /// Behind which to look on; `None` if all were looked at.
    pub behind: Option<TaskId>,
}

/// In words, for those who read later what was looked for.
impl fmt::Display for Find {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Filter { states, namespace, workflow, key, parked_on, from, before, parent, labels } =
            &self.filter;
        let label = |(name, value): &(Arc<str>, Arc<str>)| format!("{name}={value}");
        let labels = (!labels.is_empty()).then(|| labels.iter().map(label).collect::<Vec<_>>().join(" and "));
        let state = (!states.is_empty()).then(|| {
            states.iter().map(|state| format!("{state:?}").to_lowercase()).collect::<Vec<_>>().join(" or ")
        });
        let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
        let time = |time: &Option<Time>| time.map(rfc3339);
        let said = [
            ("state", state),
            ("namespace", text(namespace)),
            ("workflow", text(workflow)),
            ("key", text(key)),
            ("parked on", text(parked_on)),
            ("submitted from", time(from)),
            ("submitted before", time(before)),
            ("asked for by", parent.map(|parent| parent.to_string())),
            ("label", labels),
            ("service", self.service.clone()),
            ("reason", self.reason.clone()),
            ("text", self.text.clone()),
            ("at most", self.most.map(|most| most.to_string())),
        ];
        let said: Vec<_> =
            said.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", value?))).collect();
        f.write_str(if said.is_empty() { "all tasks" } else { "" })?;
        f.write_str(&said.join("; "))
    }
}

impl<S: Store> Node<S> {
    /// Tasks that match, newest first, at most so many, behind the given one. It looks through all tasks that the filter does not
    /// leave out: give it a state or a time where there are many.
    ///
    /// # Errors
    /// The store's.
    pub async fn find(&self, find: &Find, behind: Option<TaskId>, most: usize) -> Result<FoundTasks, Error> {
        let mut found = FoundTasks { tasks: Vec::new(), behind };
        loop {
            let listed = self.shared().store.list(find.filter.clone(), found.behind, PAGE).await?;
            for stored in listed.tasks {
                found.behind = Some(stored.id);
                if self.is_found(find, &stored).await? {
                    found.tasks.push(stored);
                }
                if found.tasks.len() >= most {
                    return Ok(found);
                }
            }
            found.behind = listed.behind;
            if found.behind.is_none() {
                return Ok(found);
            }
            // Whoever else wants to read has a turn.
            tokio::task::yield_now().await;
        }
    }

    async fn is_found(&self, find: &Find, stored: &Stored) -> Result<bool, Error> {
        let workflow = self.shared().workflow_of(stored);
        let workflow = workflow.as_ref().map(|workflow| workflow.definition());
        if let Some(service) = &find.service
            && !workflow.is_some_and(|definition| calls(definition, &stored.task, service))
        {
            return Ok(false);
        }
        let reasons = || reasons(workflow, &stored.task);
        if let Some(reason) = &find.reason
            && !reasons().iter().any(|own| has(own, reason))
        {
            return Ok(false);
        }
        let Some(text) = &find.text else { return Ok(true) };
        let names = [stored.id.to_string(), stored.key.as_deref().unwrap_or_default().to_owned()];
        if names.iter().chain(&reasons()).any(|own| has(own, text)) {
            return Ok(true);
        }
        let input = self.payload(PayloadKey { task: stored.id, step: None }).await?;
        Ok(input.is_some_and(|input| has(&String::from_utf8_lossy(&input), text)))
    }
}

/// Whether a step at this service has not ended, or has failed, or its undo has to be made.
fn calls(definition: &Definition, task: &Task, service: &str) -> bool {
    let at_rest = matches!(task.state(), TaskState::Completed | TaskState::Undone);
    let open = |id: &StepId| match task.step(*id).undo {
        UndoState::None => !task.is_settled(definition, *id),
        undo => undo != UndoState::Done,
    };
    !at_rest && definition.ids().filter(|id| definition.step(*id).service() == service).any(|id| open(&id))
}

/// Why it does not complete, and how attempts of its open steps failed last.
fn reasons(definition: Option<&Definition>, task: &Task) -> Vec<String> {
    let open = |id: StepId| definition.is_none_or(|definition| !task.is_settled(definition, id));
    let failures = task.rows().filter(|(id, record)| record.is_undoing() || open(*id));
    let failures = failures.filter_map(|(_, record)| Some(record.last_failure.as_ref()?.to_string()));
    let cause = task.head().ending.as_ref().and_then(|ending| match &ending.cause {
        Cause::NotTaken { why } => Some(why.to_string()),
        _ => definition.map(|definition| task.cause_in_words(definition)),
    });
    cause.into_iter().chain(failures).collect()
}

fn has(own: &str, text: &str) -> bool {
    own.to_lowercase().contains(&text.to_lowercase())
}
