//! The supervisor: finds what is past its time, whoever owns it, and moves it on in one atomic write.
//!
//! It knows nothing of the business. Several may run at once: the guard of each write lets one win. What it cannot move on
//! does not stand in the way of the rest, and is looked at again the next time.

use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{Event, StepId, decide};
use steadfast_store::{Error, Guard, Hold, Overdued, Payload, PayloadKey, Store, Stored, Write, Written};

use crate::alert::of_task;
use crate::reply::{Replying, Telling};
use crate::scheduler::Inbox;
use crate::shared::Shared;
use crate::stats::count;
use crate::workflow::Workflow;

/// How many are moved on in one write.
const BATCH: usize = 64;
/// The pause after a batch: what fell due while nobody ran comes back gently.
const PAUSE: Duration = Duration::from_millis(100);

/// Looks again and again, for as long as the node lives.
pub(crate) async fn watch<S: Store>(shared: Arc<Shared<S>>) {
    loop {
        shared.clock.sleep(shared.settings.supervise_every).await;
        if let Err(error) = sweep(&shared).await {
            shared.store_failed("what is past its time could not be moved on", &error);
        }
    }
}

/// Moves everything on that is past its time; how many that were.
pub(crate) async fn sweep<S: Store>(shared: &Shared<S>) -> Result<usize, Error> {
    let (mut behind, mut moved) = (None, 0);
    loop {
        let overdue = shared.store.overdue(behind, BATCH).await?;
        let Some(last) = overdue.last().copied() else { return Ok(moved) };
        moved += recover(shared, &overdue).await?;
        if overdue.len() < BATCH {
            return Ok(moved);
        }
        behind = Some(last);
        shared.clock.sleep(PAUSE).await;
    }
}

async fn recover<S: Store>(shared: &Shared<S>, overdue: &[Overdued]) -> Result<usize, Error> {
    let read = shared.store.read(overdue.iter().map(|overdue| overdue.task).collect()).await?;
    let places =
        overdue.iter().map(|overdue| PayloadKey { task: overdue.task, step: Some(StepId::OF_REPLIES) });
    let replies = shared.store.payloads(places.collect()).await?;
    let mut writes = Vec::new();
    let mut tasks: Vec<(Arc<Workflow>, Stored)> = Vec::new();
    for ((overdue, stored), reply) in overdue.iter().zip(read).zip(replies) {
        let Some(mut stored) = stored else { continue };
        // Two attempts of one task: the second is moved on the next time.
        if tasks.iter().any(|(_, other)| other.id == stored.id) {
            continue;
        }
        let Some(workflow) = shared.workflow_of(&stored) else { continue };
        if let Some(write) = plan(shared, &workflow, &mut stored, overdue, reply.as_ref()) {
            writes.push(write);
            tasks.push((workflow, stored));
        }
    }
    let mut moved = 0;
    steadfast_store::failpoint!("supervisor.before_write");
    let done = shared.store.write(writes).await?;
    steadfast_store::failpoint!("supervisor.after_write");
    for ((workflow, stored), written) in tasks.iter().zip(done) {
        if let Written::Done(_) = written {
            moved += 1;
            count(&shared.counters.recovered);
            tracing::warn!(task = %stored.id, workflow = %stored.workflow, state = ?stored.task.state(),
                "past its time, moved on");
            shared.watchers.written(stored.id, workflow, (&stored.task, None), &[], true);
        }
    }
    if moved > 0 {
        shared.outbox.wake();
        shared.replies.changed();
        shared.tell(Inbox::Look);
    }
    Ok(moved)
}

/// The write that moves a task on; the task is as it will be then.
fn plan<S: Store>(
    shared: &Shared<S>,
    workflow: &Workflow,
    stored: &mut Stored,
    overdue: &Overdued,
    reply: Option<&Payload>,
) -> Option<Write> {
    let guard = Guard { epoch: stored.epoch, revision: stored.revision, mail: Some(stored.mail_last) };
    let take = Write {
        task: stored.id,
        guard,
        head: None,
        steps: Vec::new(),
        outputs: Vec::new(),
        mail_read: None,
        hold: Hold::Take,
        parked_on: None,
        messages: Vec::new(),
        audits: Vec::new(),
    };
    // Mail that came first wins: whoever claims the task reads it before anything else.
    if stored.mail_last > stored.mail_read {
        return Some(take);
    }
    let event = match overdue.attempt {
        Some((step, attempt)) => Event::TimedOut { step, attempt },
        None => Event::DeadlinePassed,
    };
    let now = shared.now().max(overdue.since);
    let plan = decide(workflow.definition(), &stored.task, &event, now);
    if plan.ignored().is_some() {
        return None;
    }
    let before = stored.task.state();
    stored.task.apply(&plan);
    let mut messages = of_task(shared, stored.id, workflow, &stored.task, plan.notices());
    let mut outputs = Vec::new();
    if let Some(mut replying) = reply.and_then(|kept| Replying::unpack(kept)) {
        let (task, rows, most) = (stored.id, &stored.task, shared.settings.replies.most_waiting);
        let telling = Telling { task, workflow, rows, now, most };
        let replies = replying.tell(&telling, (before != stored.task.state(), plan.notices()), &[]);
        if !replies.is_empty() {
            outputs.push((StepId::OF_REPLIES, replying.pack()));
        }
        messages.extend(replies);
    }
    Some(Write { hold: Hold::Take, messages, outputs, ..Write::of(&plan, stored.id, guard) })
}
