//! Services that answer later: they call a URL back that was given to them with the call.
//!
//! What they say is mail to the task, with the time at which it came; its owner acts on it. Whoever calls back is told what became of
//! it: an answer that was acknowledged counts, and one that does not count was not acknowledged.

mod said;
mod url;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steadfast_engine::{Event, NotCounted, StepState, Time};
use steadfast_store::{Kind, MAX_PAYLOAD, MailId, Message, Posted, Store, Stored, TaskId};
use tokio::sync::oneshot;

pub use said::CallbackSays;
pub use url::{BadCallbackId, CallbackId};

use crate::error::{Error, ErrorKind};
use crate::message::Request;
use crate::node::Node;
use crate::order::work_of;
use crate::scheduler::{Happening, Inbox, Owned};
use crate::workflow::Workflow;

/// How often it is looked what became of it, where another node has the task.
const LOOK: Duration = Duration::from_secs(1);
/// How long that is waited for.
const LONGEST: Duration = Duration::from_secs(10);
/// When to call again where it is not known yet whether another attempt follows: the supervisor looks about as often.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// What became of an answer by callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalledBack {
    /// It counts: it is stored, and the step has gone on by it.
    Taken,
    /// It came before, and has counted then.
    Doubled,
    /// It is stored, and nobody has acted on it yet: it counts if nothing else has ended the attempt by the time that it came.
    Stored,
}

/// Who waits for what becomes of an answer by callback.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    waiting: Mutex<HashMap<(TaskId, MailId), oneshot::Sender<()>>>,
}

impl Callers {
    fn waiting(&self) -> MutexGuard<'_, HashMap<(TaskId, MailId), oneshot::Sender<()>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was acted on is durable.
    pub(crate) fn told(&self, task: TaskId, acted_on: &[Happening]) {
        for happening in acted_on.iter().filter(|it| matches!(it.event, Event::CalledBack { .. })) {
            let waits = happening.mail.and_then(|mail| self.waiting().remove(&(task, mail)));
            let _ = waits.map(|waits| waits.send(()));
        }
    }
}

/// Somebody who waits. One who does not any more is forgotten.
struct Waiting<'c> {
    callers: &'c Callers,
    place: (TaskId, MailId),
    told: oneshot::Receiver<()>,
}

impl<'c> Waiting<'c> {
    fn new(callers: &'c Callers, place: (TaskId, MailId)) -> Self {
        let (tell, told) = oneshot::channel();
        callers.waiting().insert(place, tell);
        Self { callers, place, told }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.callers.waiting().remove(&self.place);
    }
}

impl<S: Store> Node<S> {
    /// A service answers that had taken work on. When this returns, what it said is durable; and whether it counts is known, unless
    /// nobody has acted on it for ten seconds.
    ///
    /// # Errors
    /// No such URL was given to anybody; another answer was taken there; the step is over, or between two attempts; what is said is
    /// too large; the store's.
    pub async fn call_back(&self, id: CallbackId, says: CallbackSays) -> Result<CalledBack, Error> {
        let shared = self.shared();
        if says.bytes() > MAX_PAYLOAD {
            let message =
                format!("what was said has {} bytes, at most {MAX_PAYLOAD} are allowed", says.bytes());
            return Err(steadfast_store::Error::new(Kind::TooLarge, message).into());
        }
        let at = shared.now();
        let (stored, workflow) = self.called(id).await?;
        let said = says.digest();
        let counts = |stored: &Stored, workflow: &Workflow| {
            stored.task.takes_callback(workflow.definition(), id.step, (id.token, said), at)
        };
        match counts(&stored, &workflow) {
            Ok(()) => {}
            Err(NotCounted::Doubled) => return Ok(CalledBack::Doubled),
            Err(not) => return Err(refused(id, &stored, not, at)),
        }
        let task = stored.task.clone();
        let owned = Owned::new(Arc::clone(&workflow), stored);
        let work =
            work_of(&self.shared, Box::new(owned.order_of_callback(id.task, id.step, at + LONGEST))).await?;
        let (answer, output) = said::meaning(&says, &workflow, &task, &work, at);
        let request = Request::called_back((id.step, id.token), said, at, &answer, output.as_ref());
        steadfast_store::failpoint!("callback.before_post");
        let posted = shared.store.post(vec![Message::new(id.task, request.pack())]).await?;
        steadfast_store::failpoint!("callback.after_post");
        let mail = match posted.first() {
            Some(Posted::Done(mail)) => Some(*mail),
            Some(Posted::AtRest | Posted::Again) => None,
            Some(Posted::Unknown) | None => return Err(ErrorKind::UnknownCallback.into()),
        };
        let mut waiting = mail.map(|mail| Waiting::new(&shared.callers, (id.task, mail)));
        shared.tell(Inbox::Look);
        let until = shared.clock.now() + LONGEST;
        loop {
            let (stored, workflow) = self.called(id).await?;
            if mail.is_none_or(|mail| stored.mail_read >= mail) {
                return match counts(&stored, &workflow) {
                    Err(NotCounted::Doubled) => Ok(CalledBack::Taken),
                    // Since it was stored so much has happened that nobody can tell any more.
                    Err(NotCounted::Unknown) => Ok(CalledBack::Stored),
                    Err(not) => Err(refused(id, &stored, not, at)),
                    // It came between two attempts, and the next one is under way: that one has been told nothing.
                    Ok(()) => Err(refused(id, &stored, NotCounted::Between, at)),
                };
            }
            if shared.clock.now() >= until {
                return Ok(CalledBack::Stored);
            }
            let told = async {
                match &mut waiting {
                    Some(waiting) => drop((&mut waiting.told).await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = told => waiting = None,
                () = shared.clock.sleep(LOOK) => {}
            }
        }
    }

    /// The task that a URL is of, with its workflow.
    async fn called(&self, id: CallbackId) -> Result<(Stored, Arc<Workflow>), Error> {
        let read = self.shared().store.read(vec![id.task]).await?.pop().flatten();
        let stored = read.ok_or(ErrorKind::UnknownCallback)?;
        let workflow = self.workflow_of(&stored)?;
        Ok((stored, workflow))
    }
}

/// Why it does not count.
fn refused(id: CallbackId, stored: &Stored, not: NotCounted, now: Time) -> Error {
    let task = id.task;
    let kind = match not {
        NotCounted::Used => ErrorKind::CallbackUsed(task),
        NotCounted::Over => {
            let ended = matches!(stored.task.step(id.step).state, StepState::Completed | StepState::Skipped);
            let why = match (ended, stored.task.state().is_at_rest()) {
                (true, _) => "the step is done without it",
                (false, true) => "the task has ended",
                (false, false) => "its time is over, and the step was given up or goes on anew",
            };
            ErrorKind::CallbackOver { task, why: why.to_owned() }
        }
        NotCounted::Between => {
            let next = stored.task.step(id.step).not_before.map(|at| at.since(now));
            ErrorKind::CallbackEarly { task, again_in: next.unwrap_or_default().max(ASK_AGAIN) }
        }
        _ => ErrorKind::UnknownCallback,
    };
    kind.into()
}
