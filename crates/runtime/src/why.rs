//! Why a task does not move: what its rows, its history and the circuits in the store say together.

use std::sync::Arc;

use steadfast_engine::{Circuit, CircuitState, Definition, Held, On, Since, StepId, Time, Why};
use steadfast_store::{Entry, Store, Stored, TaskId};

use crate::child::child_id;
use crate::circuits::{CircuitRecord, Past};
use crate::error::Error;
use crate::node::Node;
use crate::order::{item_key, step_key};

impl<S: Store> Node<S> {
    /// Why a task does not move, or how it has ended: what each open step does or waits for, since when, until when, and what
    /// would change it. It is put together when asked: the task's history is read for it.
    ///
    /// # Errors
    /// The store's, a task that does not exist.
    pub async fn why(&self, task: TaskId) -> Result<Why, Error> {
        let stored = self.read(task).await?;
        self.why_of(&stored).await
    }

    /// The same for a task as it was read, also if it has moved since.
    ///
    /// # Errors
    /// The store's.
    pub async fn why_of(&self, stored: &Stored) -> Result<Why, Error> {
        let mut history = self.history(stored.id).await?;
        history.retain(|entry| entry.revision <= stored.revision);
        let mut why = self.put_together(stored, &history);
        if why.waits_for_circuits() {
            let circuits = self.circuits().await?;
            let of = |service: &str| circuits.iter().find(|circuit| &*circuit.service == service).map(seen);
            why.know_circuits(of);
        }
        self.know_children(stored, &mut why).await?;
        Ok(why)
    }

    /// Fills in the tasks that steps have asked for.
    async fn know_children(&self, stored: &Stored, why: &mut Why) -> Result<(), Error> {
        let waits = |held: &Held| matches!(held.on, On::Child { .. }).then_some(held.step).flatten();
        let steps: Vec<_> = why.held.iter().filter_map(waits).take(MOST_CHILDREN).collect();
        let Some(workflow) = self.shared.workflow_of(stored).filter(|_| !steps.is_empty()) else {
            return Ok(());
        };
        let ids = steps.iter().map(|step| child_of(workflow.definition(), stored, *step)).collect();
        let found = self.shared.store.read(ids).await?;
        let known = |at: StepId| {
            let place = steps.iter().position(|step| *step == at)?;
            let child = found.get(place)?.as_ref()?;
            Some((Arc::from(child.id.to_string()), child.task.state()))
        };
        why.know_children(known);
        Ok(())
    }

    fn put_together(&self, stored: &Stored, history: &[Entry]) -> Why {
        let (task, submitted_at) = (&stored.task, stored.submitted_at);
        // This node's clock may be behind the one of the store.
        let last = history.last().map_or(submitted_at, |entry| entry.at);
        let now = self.now().max(last);
        let entries = history.iter().map(|entry| (entry.at, entry.head.as_ref(), &entry.steps[..]));
        let since = Since::of(task, submitted_at, entries);
        let Some(workflow) = self.shared.workflow_of(stored) else {
            return task.why_unknown(&stored.workflow, stored.version, now, &since);
        };
        let mut why = task.why(workflow.definition(), now, &since);
        if stored.owner.is_none() {
            why.nobody_works();
        }
        why
    }
}

/// Of so many it is told which tasks they wait for: of a long list it is enough to see some.
const MOST_CHILDREN: usize = 100;

/// The id of the task that a step has asked for.
fn child_of(definition: &Definition, stored: &Stored, at: StepId) -> TaskId {
    let (task, step) = (&stored.task, stored.task.rules(definition, at));
    let key = step_key(stored.id, step.name(), task.step(at).series());
    let place = task.head().fan_of(at).and_then(|fan| fan.place_of(at));
    child_id(stored.id, place.map_or(key, |place| item_key(key, place)))
}

/// A circuit as a step sees it that waits for it.
fn seen(record: &CircuitRecord) -> Circuit {
    let last = Past { at: Time::default(), state: record.state.clone(), forced_by: None };
    let state = match (last.is_closed(), last.is_probing()) {
        (true, _) => CircuitState::Closed,
        (false, true) => CircuitState::Probing,
        (false, false) => CircuitState::Open,
    };
    let mut circuit = Circuit::new(state);
    let alike = |past: &&Past| (past.is_closed(), past.is_held()) == (last.is_closed(), last.is_held());
    circuit.since = record.history.iter().rev().take_while(alike).last().map(|past| past.at);
    if state == CircuitState::Open {
        circuit.probe_at = record.open_until;
        circuit.forced_by = record.forced_by.clone().filter(|_| last.is_held());
    }
    circuit
}
