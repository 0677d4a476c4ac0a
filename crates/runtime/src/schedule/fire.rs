//! One schedule's turn: what is due is submitted, and then it is moved on.

use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::Time;
use steadfast_engine::schedule::{Due, LATE, Overlap, Rules, key};
use steadfast_store::{Kind, Message, Put, Schedule, Store, TaskId};

use super::record::{Body, Fired, Refused, Stated};
use super::zone::TimeZone;
use crate::error::{Error, ErrorKind};
use crate::message::Request;
use crate::node::{New, Start};
use crate::scheduler::Inbox;
use crate::shared::Shared;

/// After so long what the store refused is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// After so long somebody looks whether a task has ended that works on another node, and at what nobody here understands.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// What is to be done about a schedule after its turn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Turn {
    /// It is moved on, here or by somebody else: the store knows when it is next.
    Done,
    /// Not now: it is looked at again after this long.
    Later(Duration),
    /// It waits for the end of a task, and is looked at after this long if nobody tells.
    Waits(TaskId, Duration),
}

/// A schedule in its turn.
struct Firing<'a, S> {
    shared: &'a Shared<S>,
    name: &'a Arc<str>,
    rules: Rules,
    zone: TimeZone,
    body: Body,
    now: Time,
    /// The last run that this turn has begun.
    fired: Option<Fired>,
}

/// Fires what is due of one schedule.
pub(super) async fn turn<S: Store>(shared: &Shared<S>, schedule: &Schedule, now: Time) -> Turn {
    let unknown = || "it has a form that this version does not know".to_owned();
    let understood = Body::unpack(&schedule.body).ok_or_else(unknown).and_then(|body| {
        let (rules, zone) = body.stated.meaning()?;
        Ok((body, rules, zone))
    });
    let (body, rules, zone) = match understood {
        Ok(understood) => understood,
        Err(words) => {
            // Another node may understand it: it is left as it is.
            tracing::error!(schedule = %schedule.name, "nobody here can fire it: {words}");
            return Turn::Later(LOOK_AGAIN);
        }
    };
    let mut firing = Firing { shared, name: &schedule.name, rules, zone, body, now, fired: None };
    match firing.go(schedule).await {
        Ok(turn) => turn,
        Err(error) if *error.kind() == ErrorKind::ShuttingDown => Turn::Later(LOOK_AGAIN),
        Err(error) => {
            tracing::warn!(schedule = %schedule.name, error = &error as &dyn std::error::Error,
                "its run could not be begun, and is tried again");
            Turn::Later(AGAIN)
        }
    }
}

impl<S: Store> Firing<'_, S> {
    async fn go(&mut self, schedule: &Schedule) -> Result<Turn, Error> {
        let due = match self.body.progress.next {
            Some(next) => self.rules.due(&self.zone, self.name, next, self.now),
            None => Due { fire: Vec::new(), missed: 0, next: None },
        };
        if due.missed > 0 {
            tracing::warn!(schedule = %self.name, missed = due.missed, "runs were missed and are not made up for");
        }
        self.body.progress.missed += due.missed;
        self.body.progress.next = due.next;
        let queued = self.body.progress.queued.take();
        for instant in queued.into_iter().chain(due.fire) {
            if self.may_run(instant).await? {
                match self.workflow_is_late(instant) {
                    Some(wait) => return Ok(Turn::Later(wait)),
                    None => self.fire(instant).await?,
                }
            }
        }
        let record = self.body.record(self.name, schedule.version, &self.rules, &self.zone);
        let same = record == *schedule;
        if !same {
            self.move_on(record).await?;
        }
        let progress = &self.body.progress;
        Ok(match (progress.queued, progress.last) {
            (Some(_), Some(last)) => {
                let begins = progress.next.map(|next| self.rules.begins_at(&self.zone, self.name, next));
                let until = begins.map_or(LOOK_AGAIN, |begins| begins.since(self.now));
                Turn::Waits(last.task(), until.clamp(AGAIN, LOOK_AGAIN))
            }
            // It was not due after all: nothing is asked again and again.
            _ if same => Turn::Later(AGAIN),
            _ => Turn::Done,
        })
    }

    fn stated(&self) -> &Stated {
        &self.body.stated
    }

    /// Whether the run of an instant may begin, by the rule for the one before it. If not, it is noted.
    async fn may_run(&mut self, instant: Time) -> Result<bool, Error> {
        let overlap = self.stated().overlap;
        let Some(last) = self.body.progress.last.filter(|_| overlap != Overlap::Allow) else {
            return Ok(true);
        };
        let read = self.shared.store.read(vec![last.task()]).await?.pop().flatten();
        if read.is_none_or(|stored| stored.task.state().is_at_rest()) {
            return Ok(true);
        }
        let progress = &mut self.body.progress;
        match overlap {
            Overlap::Allow => {}
            Overlap::Skip => progress.overlapped += 1,
            Overlap::QueueOne => progress.overlapped += u64::from(progress.queued.replace(instant).is_some()),
            Overlap::CancelPrevious => {
                let by = Arc::from(format!("schedule {}", self.name));
                let request = Request::Cancel { by, why: Arc::from("its next run begins") };
                // One that has ended just now, or can only go forward, goes on; the new one begins all the same.
                self.shared.store.post(vec![Message::new(last.task(), request.pack())]).await?;
                self.shared.tell(Inbox::Look);
            }
        }
        Ok(matches!(overlap, Overlap::Allow | Overlap::CancelPrevious))
    }

    /// How long to leave an instant to other nodes, if this one does not know its workflow: while versions change hands,
    /// another one may.
    fn workflow_is_late(&self, instant: Time) -> Option<Duration> {
        let Stated { workflow, version, .. } = self.stated();
        if self.shared.workflow(workflow, *version).is_some() {
            return None;
        }
        let until = self.rules.begins_at(&self.zone, self.name, instant) + LATE;
        (until > self.now).then(|| until.since(self.now))
    }

    /// Submits the run of an instant. What can never be submitted is noted, and the next instant's turn comes.
    async fn fire(&mut self, instant: Time) -> Result<(), Error> {
        steadfast_store::failpoint!("schedule.before_submit");
        let submitted = self.submit(instant).await;
        steadfast_store::failpoint!("schedule.after_submit");
        let task = match submitted {
            Ok(task) => task,
            Err(error) => match error.kind() {
                // It was begun before the declaration changed.
                ErrorKind::OtherInput(task) => *task,
                ErrorKind::UnknownWorkflow { .. } | ErrorKind::Store { kind: Kind::TooLarge, .. } => {
                    tracing::error!(schedule = %self.name, instant = %steadfast_engine::schedule::rfc3339(instant),
                        error = &error as &dyn std::error::Error, "its run is refused");
                    self.body.progress.refused = Some(Refused { instant, words: error.to_string() });
                    return Ok(());
                }
                _ => return Err(error),
            },
        };
        let fired = Fired { instant, task: task.as_u128(), at: self.now };
        let progress = &mut self.body.progress;
        (progress.last, progress.refused, self.fired) = (Some(fired), None, Some(fired));
        progress.runs += 1;
        Ok(())
    }

    async fn submit(&self, instant: Time) -> Result<TaskId, Error> {
        let Stated { workflow, version, namespace, input, .. } = self.stated();
        let unknown = || ErrorKind::UnknownWorkflow { name: workflow.to_string(), version: *version };
        let workflow = self.shared.workflow(workflow, *version).ok_or_else(unknown)?;
        let new = New {
            workflow,
            namespace: Arc::clone(namespace),
            key: Some(Arc::from(key(self.name, instant))),
            priority: 0,
            input: Arc::clone(input),
        };
        self.shared.submit(new, Start::Now).await.map(|submitted| submitted.task)
    }

    /// Writes how far it has come. If somebody else was first, what stands holds; but it must know the last run, since the
    /// next one may have to wait for its end.
    async fn move_on(&mut self, mut record: Schedule) -> Result<(), Error> {
        loop {
            steadfast_store::failpoint!("schedule.before_advance");
            let put = self.shared.store.put(vec![record]).await?;
            steadfast_store::failpoint!("schedule.after_advance");
            let Some(Put::Other(Some(stands))) = put.into_iter().next() else { return Ok(()) };
            let (Some(fired), Some(mut body)) = (self.fired, Body::unpack(&stands.body)) else {
                return Ok(());
            };
            let Ok((rules, zone)) = body.stated.meaning() else { return Ok(()) };
            if body.progress.last.is_some_and(|last| last.instant >= fired.instant) {
                return Ok(());
            }
            let progress = &mut body.progress;
            (progress.last, progress.runs) = (Some(fired), progress.runs + 1);
            if progress.next.is_some_and(|next| next <= fired.instant) {
                progress.next = rules.first_after(&zone, fired.instant);
            }
            record = body.record(self.name, stands.version, &rules, &zone);
            (self.body, self.rules, self.zone) = (body, rules, zone);
        }
    }
}
