//! How a node lets go of its tasks: its lease is lost, or it is shut down. Answers that it has are not lost.

use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{Event, StepId};
use steadfast_store::{Message, NodeId, Store, TaskId};

use super::gate::Gate;
use super::owned::{Happening, Owned};
use super::{Inbox, Scheduler};
use crate::error::ErrorKind;
use crate::message::Request;
use crate::shared::Shared;
use crate::stats::count;

/// The pauses between two tries to pass an answer on.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl<S: Store> Scheduler<S> {
    /// The lease is lost: others may have the tasks by now. Nothing of them is written any more.
    pub(super) fn lapse(&mut self) {
        if self.owned.is_empty() && self.submitting.is_empty() && self.doubts.is_empty() {
            return;
        }
        tracing::warn!(tasks = self.owned.len(), "the lease was not renewed in time: all tasks are given up");
        count(&self.shared.counters.lapses);
        self.shared.watchers.hold_nothing();
        let mut left = Vec::new();
        for (id, mut owned) in std::mem::take(&mut self.owned) {
            self.give_places_back(id, &mut owned);
            let saving = owned.saving.take().map(|saving| saving.acts_on).unwrap_or_default();
            left.extend(saving.into_iter().chain(owned.waiting).map(|happening| (id, happening)));
        }
        for (id, doubt) in std::mem::take(&mut self.doubts) {
            left.extend(doubt.waiting.into_iter().map(|happening| (id, happening)));
        }
        for (id, submitting) in std::mem::take(&mut self.submitting) {
            if let Some((owned, folded)) = submitting.refuse(ErrorKind::LeaseLost.into()) {
                self.unsent(id, owned, folded);
            }
        }
        self.dirty.clear();
        self.timers.clear();
        self.out.clear();
        self.gates.values_mut().for_each(Gate::forget_line);
        let before = self.shared.lease.node();
        self.shared.lease.begin_anew();
        // Answers that were in hand are not lost, and whoever has the tasks next reads them first.
        self.pass_on(left, Some(before));
    }

    /// Passes answers on by mail, for tasks that are somebody else's by now; then a node leaves that is no more.
    pub(super) fn pass_on(&mut self, left: Vec<(TaskId, Happening)>, leaves: Option<NodeId>) {
        let (mut messages, mut answers) = (Vec::new(), Vec::new());
        for (task, happening) in left {
            let Event::Answered { step, attempt, answer } = &happening.event else { continue };
            let request = Request::answer(*step, *attempt, answer, happening.output.as_ref());
            messages.push(Message::new(task, request.pack()));
            self.posting.insert((task, *step), *attempt);
            answers.push((task, *step));
        }
        if messages.is_empty() && leaves.is_none() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            for message in messages {
                post(&shared, message).await;
            }
            if let Some(node) = leaves
                && let Err(error) = shared.store.leave(node).await
            {
                shared.store_failed("the lease that was lost was not given back", &error);
            }
            shared.tell(Inbox::Posted(answers));
            shared.tell(Inbox::Look);
        });
    }

    pub(super) fn posted(&mut self, answers: &[(TaskId, StepId)]) {
        for answer in answers {
            self.posting.remove(answer);
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        let saving = self.owned.values().any(Owned::is_saving);
        self.flight.is_empty() && !saving && self.submitting.is_empty() && self.doubts.is_empty()
    }

    /// What still runs is cut off, and that is written down: it is no death of the process.
    pub(super) fn cut_off(&mut self) {
        self.agents.abort_all();
        let runs = std::mem::take(&mut self.flight);
        self.cut_off = Some(runs.len());
        for ((task, step), attempt) in runs {
            self.happened(task, Happening::of(Event::CutOff { step, attempt }));
        }
    }

    pub(super) fn end(mut self) {
        self.agents.abort_all();
        let left = self.cut_off.unwrap_or(0) + self.flight.len();
        for told in self.stopping {
            let _ = told.send(left);
        }
    }
}

/// Posts one, trying again for as long as it may help. Each goes alone: one that is too large must not keep the others.
async fn post<S: Store>(shared: &Shared<S>, message: Message) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Err(error) = shared.store.post(vec![message.clone()]).await else { return };
        shared.store_failed("an answer could not be passed on", &error);
        if !error.is_transient() || pause > LONGEST_PAUSE {
            return;
        }
        shared.clock.sleep(pause).await;
        pause *= 2;
    }
}
