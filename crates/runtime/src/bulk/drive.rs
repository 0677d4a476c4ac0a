//! The loop that asks the tasks of a bulk.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use steadfast_resilience::clock::Moment;
use steadfast_resilience::ramp::Ramp;
use steadfast_store::{Audit, AuditId, Bulk, Error, Message, Payload, Posted, PutBulk, Store, TaskId};

use super::record::{BulkRecord, BulkState};
use crate::message::{Operation, Request};
use crate::operate::Waiting;
use crate::scheduler::Inbox;
use crate::shared::Shared;

/// How often it is looked for bulks that another node has begun, or has left.
const LOOKS_EVERY: Duration = Duration::from_secs(60);
/// How many of them are looked at, and how many one node drives at a time.
const LOOKED_AT: usize = 1_000;
const AT_A_TIME: usize = 16;
/// How often it is written down how far one has come, and how long its node is taken to be at it.
const SAVES_EVERY: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(15);
/// The most tasks that are asked at once, and that have not answered.
const AT_ONCE: usize = 256;
const UNANSWERED: usize = 2_048;
/// How soon it is looked again for turns and answers.
const SOON: Duration = Duration::from_millis(20);
/// After so long it is looked whether nobody answers since nobody knows the workflow.
const NOBODY_ANSWERS: Duration = Duration::from_secs(30);
/// How often the log is asked for an answer that may come from another node.
const ASKS_AGAIN: Duration = Duration::from_secs(1);
/// After a store that failed.
const PAUSE: Duration = Duration::from_secs(1);

/// Drives bulks until it is dropped, several at a time: a slow one holds nobody up.
pub(crate) async fn watch<S: Store>(shared: Arc<Shared<S>>) {
    let (mut at_work, mut drivers) = (HashSet::new(), FuturesUnordered::new());
    loop {
        let mut rest = LOOKS_EVERY;
        match shared.store.bulks_under_way(LOOKED_AT).await {
            Ok(bulks) => {
                for bulk in bulks.into_iter().filter(|bulk| !at_work.contains(&bulk.id)).collect::<Vec<_>>() {
                    // Whoever is at it may die over it.
                    let held = BulkRecord::unpack(&bulk.body).and_then(|record| record.held_until());
                    rest = held.map_or(rest, |until| rest.min(until.since(shared.now()).max(SAVES_EVERY)));
                    let id = bulk.id;
                    if at_work.len() < AT_A_TIME
                        && let Some(driver) = Driver::new(&shared, bulk)
                    {
                        at_work.insert(id);
                        drivers.push(async move {
                            driver.run().await;
                            id
                        });
                    }
                }
            }
            Err(error) => shared.store_failed("bulks could not be read", &error),
        }
        tokio::select! {
            Some(over) = drivers.next() => {
                at_work.remove(&over);
            }
            () = shared.bulks.notified() => {}
            () = shared.clock.sleep(rest) => {}
        }
    }
}

/// A task that was asked.
struct Asked<'s> {
    id: AuditId,
    task: TaskId,
    waiting: Option<Waiting<'s>>,
    /// When the log is asked what became of it.
    look_at: Moment,
    /// When it is looked whether anybody can answer.
    doubt_at: Moment,
    /// Why it was refused, or that it was not.
    became: Option<Option<String>>,
}

struct Driver<'s, S> {
    shared: &'s Arc<Shared<S>>,
    bulk: Bulk,
    record: BulkRecord,
    /// Those that were asked and are not counted, from `record.next` on.
    asked: VecDeque<Asked<'s>>,
    /// Those that come after them.
    coming: VecDeque<TaskId>,
}

impl<'s, S: Store> Driver<'s, S> {
    /// One for a bulk that is under way and that no other node is at.
    fn new(shared: &'s Arc<Shared<S>>, bulk: Bulk) -> Option<Self> {
        let record = BulkRecord::unpack(&bulk.body)?;
        let free = !record.is_held(shared.lease.node(), shared.now());
        let own = free && record.state == BulkState::Running;
        own.then(|| Self { shared, bulk, record, asked: VecDeque::new(), coming: VecDeque::new() })
    }

    async fn run(mut self) {
        let clock = self.shared.clock.clone();
        let mut ramp = Ramp::up_to(self.record.rate, clock.now(), clock.now().as_nanos());
        // Whoever is second finds another version.
        if !self.saved().await {
            return;
        }
        let mut saves = clock.now() + SAVES_EVERY;
        while self.record.next < self.bulk.tasks {
            if let Err(error) = self.go_on(&mut ramp).await {
                self.shared.store_failed("a bulk cannot go on, and tries again", &error);
                clock.sleep(PAUSE).await;
            }
            if clock.now() >= saves {
                if !self.saved().await {
                    return;
                }
                saves = clock.now() + SAVES_EVERY;
            }
            clock.sleep(SOON).await;
        }
        self.end().await;
    }

    async fn go_on(&mut self, ramp: &mut Ramp) -> Result<(), Error> {
        self.fetch().await?;
        let room = UNANSWERED.saturating_sub(self.asked.len()).min(AT_ONCE).min(self.coming.len());
        let now = self.shared.clock.now();
        let turns = (0..room).take_while(|_| ramp.turn(now).is_some()).count();
        self.ask(turns).await?;
        self.hear(ramp).await
    }

    /// Reads which tasks come next.
    async fn fetch(&mut self) -> Result<(), Error> {
        if self.coming.len() >= AT_ONCE {
            return Ok(());
        }
        let here = self.asked.len() + self.coming.len();
        let from = self.record.next + u64::try_from(here).unwrap_or(u64::MAX);
        if from < self.bulk.tasks {
            let more = self.shared.store.bulk_tasks(self.bulk.id, from, 4 * AT_ONCE).await?;
            self.coming.extend(more);
        }
        Ok(())
    }

    /// Asks the next ones. Nobody knows after an error: they are asked again, under the same ids.
    async fn ask(&mut self, count: usize) -> Result<(), Error> {
        if count == 0 {
            return Ok(());
        }
        let tasks: Vec<_> = self.coming.iter().take(count).copied().collect();
        let first = self.record.next + u64::try_from(self.asked.len()).unwrap_or(u64::MAX);
        let orders = self.orders(&tasks).await?;
        let (mut asked, mut messages) = (Vec::new(), Vec::new());
        for ((place, task), order) in (first..).zip(&tasks).zip(orders) {
            let id = AuditId::from_u128(self.bulk.id.as_u128().wrapping_add(u128::from(place) + 1));
            let waiting = order.is_ok().then(|| self.shared.operators.wait_for(id));
            let now = self.shared.clock.now();
            let (look_at, doubt_at) = (now + ASKS_AGAIN, now + NOBODY_ANSWERS);
            let new = Asked { id, task: *task, waiting, look_at, doubt_at, became: None };
            match order {
                Ok(operation) => {
                    let body = Request::Operate(operation.under(id)).pack();
                    messages.push(Message { asked: Some(id), ..Message::new(*task, body) });
                    asked.push(new);
                }
                Err(why) => asked.push(Asked { became: Some(Some(why)), ..new }),
            }
        }
        let posted = self.shared.store.post(messages).await?;
        self.shared.tell(Inbox::Look);
        let now = self.shared.clock.now();
        for (asked, posted) in asked.iter_mut().filter(|asked| asked.waiting.is_some()).zip(posted) {
            match posted {
                Posted::Done(_) => {}
                // It was asked before a crash, and may be done long since.
                Posted::Again => asked.look_at = now,
                Posted::AtRest | Posted::Unknown => {
                    asked.became = Some(Some("there is no such task".to_owned()));
                }
            }
        }
        self.coming.drain(..count);
        self.asked.extend(asked);
        Ok(())
    }

    /// What is asked of each of these, or why nothing is.
    async fn orders(&self, tasks: &[TaskId]) -> Result<Vec<Result<Operation, String>>, Error> {
        let BulkRecord { wanted, by, why, .. } = &self.record;
        let order = |action| Operation::new(action, by, why);
        let Some(step) = wanted.step() else {
            let whole = match wanted {
                super::Wanted::Whole(action) => Ok(order(*action)),
                _ => Err("nothing is asked".to_owned()),
            };
            return Ok(vec![whole; tasks.len()]);
        };
        let read = self.shared.store.read(tasks.to_vec()).await?;
        let of = |stored: Option<steadfast_store::Stored>| {
            let stored = stored.ok_or_else(|| "there is no such task".to_owned())?;
            if stored.task.steps().is_empty() {
                return Err(steadfast_engine::Ignored::NotTaken.to_string());
            }
            let workflow = self.shared.workflow_of(&stored);
            let workflow =
                workflow.ok_or_else(|| format!("workflow `{}` is not known here", stored.workflow))?;
            let action = wanted.of(workflow.definition());
            action.map(order).ok_or_else(|| format!("workflow `{}` has no step `{step}`", stored.workflow))
        };
        Ok(read.into_iter().map(of).collect())
    }

    /// Hears what became of those that were asked, and counts them in their order.
    async fn hear(&mut self, ramp: &mut Ramp) -> Result<(), Error> {
        let now = self.shared.clock.now();
        for asked in self.asked.iter_mut().filter(|asked| asked.became.is_none()) {
            let told = asked.waiting.as_mut().and_then(Waiting::told);
            if let Some(audit) = told {
                asked.became = Some(audit.refused.as_deref().map(str::to_owned));
            } else if now >= asked.look_at {
                asked.look_at = now + ASKS_AGAIN;
                let audited = self.shared.store.audited(asked.id).await?;
                asked.became = audited.map(|entry| entry.audit.refused.as_deref().map(str::to_owned));
                if asked.became.is_none() && now >= asked.doubt_at {
                    asked.doubt_at = now + NOBODY_ANSWERS;
                    asked.became = self.shared.nobody_knows(asked.task).await?.map(Some);
                }
            }
        }
        while self.asked.front().is_some_and(|asked| asked.became.is_some()) {
            if let Some(refused) = self.asked.pop_front().and_then(|asked| asked.became) {
                self.record.count(refused);
                ramp.did_well(now);
            }
        }
        Ok(())
    }

    /// Writes down how far it has come. `false` if somebody has stopped it, or another node is at it.
    async fn saved(&mut self) -> bool {
        self.record.driver = Some((self.shared.lease.node().as_u128(), self.shared.now() + LEASE));
        self.put().await
    }

    async fn put(&mut self) -> bool {
        loop {
            let bulk = self.record.written_to(&self.bulk);
            match self.shared.store.put_bulk(bulk, Vec::new()).await {
                Ok(PutBulk::Done(version)) => {
                    self.bulk.version = version;
                    return true;
                }
                Ok(PutBulk::Other(stands)) => return self.gives_way(stands).await,
                Err(error) => {
                    self.shared.store_failed("how far a bulk has come could not be written", &error);
                    self.shared.clock.sleep(PAUSE).await;
                    // It may have been written: what stands is this one's own then.
                    match self.shared.store.bulk(self.bulk.id).await {
                        Ok(Some(stands)) if stands.body == self.record.pack() => {
                            self.bulk.version = stands.version;
                            return true;
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// Somebody else has written it. One that was stopped keeps how far it has come.
    async fn gives_way(&mut self, stands: Option<Bulk>) -> bool {
        let Some((bulk, record)) =
            stands.and_then(|bulk| Some((bulk.clone(), BulkRecord::unpack(&bulk.body)?)))
        else {
            return false;
        };
        let node = self.shared.lease.node();
        let own = record.driver.is_none_or(|(driver, _)| driver == node.as_u128());
        if own && record.state == BulkState::Stopped {
            (self.record.state, self.record.driver) = (BulkState::Stopped, None);
            let stopped = self.record.written_to(&bulk);
            if let Err(error) = self.shared.store.put_bulk(stopped, Vec::new()).await {
                self.shared.store_failed("how far a bulk has come could not be written", &error);
            }
        }
        false
    }

    /// All were asked: it is in the audit log, with what was looked for and the counts.
    async fn end(mut self) {
        let BulkRecord { wanted, by, why, looked_for, done, refused, .. } = &self.record;
        let detail = json!({
            "looked_for": looked_for,
            "tasks": self.bulk.tasks,
            "done": done,
            "refused": refused,
        });
        let audit = Audit {
            id: self.bulk.id,
            task: None,
            by: Arc::from(&**by),
            why: Arc::from(&**why),
            action: Arc::from(format!("bulk {}", wanted.name())),
            refused: None,
            detail: Payload::from(detail.to_string().into_bytes()),
        };
        loop {
            match self.shared.store.log(vec![audit.clone()]).await {
                Ok(()) => break,
                Err(error) => self.shared.store_failed("a bulk could not be logged", &error),
            }
            self.shared.clock.sleep(PAUSE).await;
        }
        (self.record.state, self.record.driver) = (BulkState::Over, None);
        self.put().await;
    }
}

impl<S: Store> Shared<S> {
    /// Why a task answers to nobody: it is not there any more, or nobody has known its workflow for long.
    async fn nobody_knows(&self, task: TaskId) -> Result<Option<String>, Error> {
        Ok(match self.store.read(vec![task]).await?.pop().flatten() {
            None => Some("there is no such task".to_owned()),
            Some(stored) if self.worked_on_by(&stored).is_none() => Some(format!(
                "it is stored and will be acted on, but no program that runs knows workflow `{}` version {}",
                stored.workflow, stored.version
            )),
            Some(_) => None,
        })
    }
}
