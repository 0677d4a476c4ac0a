//! Gates at work: places given and given back, and tasks that are parked in the store until their service is back.

use std::sync::Arc;

use steadfast_engine::{Block, Event, Head, StepId, Time, Token};
use steadfast_resilience::clock::Moment;
use steadfast_store::{Claimed, Error, Store, TaskId};
use tokio::sync::oneshot;

use super::gate::{Gate, LONGEST_WAIT, Permit, Place, Rank};
use super::owned::{Happening, Owned};
use super::submit::Submitting;
use super::{Inbox, Scheduler};
use crate::service::Service;

impl<S: Store> Scheduler<S> {
    /// Looks at all gates: those that have just shut tell those that wait there, others are given what they want.
    pub(super) fn tend_gates(&mut self) {
        if self.is_stopping() {
            return;
        }
        let (now, time) = (self.shared.clock.now(), self.shared.now());
        let (mut shut, mut wanting) = (Vec::new(), Vec::new());
        for (service, gate) in &mut self.gates {
            shut.extend(gate.look(now, time));
            if let Some(release) = gate.news() {
                self.shared.board.put(service, release);
            }
            if let Some((wants, from)) = gate.wants() {
                wanting.push((Arc::clone(service), wants, from));
            }
            if gate.has_line() {
                self.to_serve.insert(Arc::clone(service));
            }
        }
        for place in shut {
            self.happened(place.task, Happening::of(refused(place.step)));
        }
        for (service, wants, from) in wanting {
            self.fetch(service, wants, from);
        }
    }

    pub(super) fn gates_wake_at(&self, now: Moment) -> Moment {
        // Nobody is let go any more: to look again would be in vain, and at once again.
        if self.is_stopping() {
            return Moment::FAR;
        }
        self.gates.values().filter_map(|gate| gate.wakes_at(now)).min().unwrap_or(Moment::FAR)
    }

    /// Takes tasks from the store that are parked on a service.
    fn fetch(&mut self, service: Arc<str>, wants: usize, from: Time) {
        let held = self.owned.len() + self.submitting.len();
        let most = wants.min(self.shared.settings.most_owned.saturating_sub(held));
        if most == 0 || self.claiming.in_doubt || !self.shared.lease.holds() {
            return;
        }
        if let Some(gate) = self.gates.get_mut(&service) {
            gate.fetches(most);
        }
        let (shared, of) = (Arc::clone(&self.shared), Arc::clone(&service));
        let asking = async move {
            steadfast_store::failpoint!("unpark.before");
            let claimed = shared.store.claim_parked(shared.lease.node(), of, from, most).await;
            steadfast_store::failpoint!("unpark.after");
            claimed
        };
        self.asked.ask(asking, move |claimed| Inbox::Unparked(service, claimed));
    }

    /// A round of circuits is over, or a breaker has changed.
    pub(super) fn circuits_were_heard_of(&mut self) {
        for (service, gate) in &mut self.gates {
            gate.others_may_have_parked(self.shared.board.steady(service));
        }
    }

    /// These services are called from now on: whatever the store knows of their circuits is known by now, and who is parked there is
    /// looked for every few seconds.
    pub(super) fn services_came(&mut self, services: &[Service], told: oneshot::Sender<()>) {
        let now = self.shared.clock.now();
        for service in services {
            let name: Arc<str> = Arc::from(service.name());
            let mut gate = Gate::new(service);
            if let Some(release) = self.shared.board.release(&name) {
                gate.resume(release, now, now + self.shared.settings.lease * 2);
            }
            self.gates.entry(name).or_insert(gate);
        }
        let _ = told.send(());
    }

    /// Tasks are parked on these services, by whichever node.
    pub(super) fn others_have_parked(&mut self, services: &[Arc<str>]) {
        let now = self.shared.clock.now();
        for service in services {
            if let Some(gate) = self.gates.get_mut(service) {
                gate.others_have_parked(self.shared.board.steady(service), now);
            }
        }
    }

    pub(super) fn unparked(&mut self, service: &str, claimed: Result<Vec<Claimed>, Error>) {
        if let Some(gate) = self.gates.get_mut(service) {
            let rank = |task: &Claimed| rank_of(task.stored.priority, task.stored.task.head());
            let ranked = |came: &Vec<Claimed>| came.iter().map(|task| (task.stored.id, rank(task))).collect();
            gate.fetched(claimed.as_ref().ok().map(ranked));
        }
        match claimed {
            Ok(claimed) => {
                for claimed in claimed {
                    self.adopt(claimed);
                }
            }
            Err(error) => {
                self.claiming.in_doubt = true;
                self.shared.store_failed("what was parked was not claimed, or nobody knows", &error);
            }
        }
    }

    // ---- places ----

    /// Asks for a place at a step's service, and says what came of it; `None` if it stands in line.
    pub(super) fn ask_for_place(&mut self, id: TaskId, owned: &Owned, step: StepId) -> Option<Event> {
        let now = self.shared.clock.now();
        let gate = self.gates.get_mut(owned.service(step).name())?;
        let place = place(gate, id, owned, step);
        match gate.ask(place, now) {
            Permit::Granted => Some(granted(owned, step)),
            Permit::Shut => Some(refused(step)),
            Permit::InLine => None,
        }
    }

    /// A place at a service is free again; those in line have it next.
    pub(super) fn free_place(&mut self, service: &str, task: TaskId, step: StepId) {
        self.free_place_beside(service);
        if let Some(gate) = self.gates.get_mut(service) {
            gate.forget(task, step);
        }
    }

    /// The place of an attempt is free, while another one of the same step has its own.
    pub(super) fn free_place_beside(&mut self, service: &str) {
        let Some((name, gate)) = self.gates.get_key_value(service) else { return };
        if gate.has_line() {
            self.to_serve.insert(Arc::clone(name));
        }
        if let Some(gate) = self.gates.get_mut(service) {
            gate.free();
        }
    }

    /// Gives places that are free to those who wait in line.
    pub(super) fn serve(&mut self, service: &Arc<str>) {
        if self.is_stopping() {
            return;
        }
        let (now, time) = (self.shared.clock.now(), self.shared.now());
        while let Some(Place { task, step, .. }) =
            self.gates.get_mut(service).and_then(|gate: &mut Gate| gate.next(now, time))
        {
            if let Some(mut owned) = self.owned.remove(&task) {
                let apart = self.must_run_apart(task, &owned, step);
                if apart {
                    self.free_place(service, task, step);
                }
                let granted = Happening::of(granted(&owned, step));
                owned.waiting.push_back(if apart { self.runs_later(task, step) } else { granted });
                self.owned.insert(task, owned);
                self.dirty.insert(task);
            } else if let Some(owned) = self.submitting.get_mut(&task).and_then(Submitting::owned) {
                let granted = Happening::of(granted(owned, step));
                owned.waiting.push_back(granted);
            } else if let Some(gate) = self.gates.get_mut(service) {
                // It has gone elsewhere meanwhile.
                gate.free();
                gate.forget(task, step);
            }
        }
    }

    // ---- tasks out of memory ----

    /// Where a task may be put that has nothing to do but to wait for services: the one that it waits for, if it is one, and until
    /// when. `None` while a gate is open for it: it stands in line there, and may be the next to probe.
    pub(super) fn waits_at_gate(&self, owned: &Owned) -> Option<(Option<Arc<str>>, Time)> {
        let mut services = owned.parked().map(|step| owned.service(step).name());
        let first = services.next()?;
        let (service, gate) = self.gates.get_key_value(first)?;
        // While others probe there is nothing to do either; but who may be the next to is kept as long as there is room.
        let is_crowded = self.owned.len() * 2 > self.shared.settings.most_owned;
        let is_closed = |gate: &Gate| gate.is_shut() || is_crowded && gate.is_closed_for_now();
        let is_shut = |name: &str| self.gates.get(name).is_some_and(is_closed);
        let mut others = services.filter(|other| *other != first).peekable();
        let is_alone = others.peek().is_none();
        if !is_closed(gate) || !others.all(is_shut) {
            return None;
        }
        let due = owned.next_due();
        if is_alone {
            return Some((Some(Arc::clone(service)), due.unwrap_or(Time::from_millis(u64::MAX))));
        }
        // It can be found by one service only: it looks for itself after a while.
        let again = self.shared.now() + LONGEST_WAIT;
        Some((None, due.map_or(again, |due| due.min(again))))
    }

    /// A task is out of memory: nobody waits for it in line, and its service's gate knows that it is parked.
    pub(super) fn leave_gates(&mut self, id: TaskId, owned: &Owned, parked: bool) {
        for step in owned.parked() {
            if let Some(gate) = self.gates.get_mut(owned.service(step).name()) {
                let place = place(gate, id, owned, step);
                gate.leave(place);
                if parked {
                    gate.has_parked();
                }
            }
        }
    }
}

fn place(gate: &mut Gate, id: TaskId, owned: &Owned, step: StepId) -> Place {
    let rank = rank_of(owned.priority, owned.task.head());
    gate.place(rank, (&owned.namespace, owned.workflow.name()), id, step)
}

/// A deadline is for the way forward: what is undone has none.
fn rank_of(priority: i8, head: &Head) -> Rank {
    Rank::new(priority, head.deadline.filter(|_| head.ending.is_none()))
}

/// A place is there. Whoever may call back has a URL that nobody can guess.
fn granted(owned: &Owned, step: StepId) -> Event {
    match owned.task.rules(owned.workflow.definition(), step).callback_within() {
        None => Event::granted(step),
        Some(_) => Event::Granted { step, token: Token::from_u128(uuid::Uuid::new_v4().as_u128()) },
    }
}

fn refused(step: StepId) -> Event {
    Event::Refused { step, block: Block::Breaker, until: None }
}
