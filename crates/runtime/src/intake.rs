//! Submissions that others have handed in, in transactions of their own: each becomes one task [W7].
//!
//! Task, steps and the end of the row are one write. What cannot be a task ends as one that has failed, with the reason, an alert
//! and a reply. What cannot be taken now, since too much is open or a queue is full, stays where it is. Must never lose a row.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use steadfast_engine::Task;
use steadfast_store::{
    Arrival, ArrivalId, MAX_KEY, MAX_PAYLOAD, Payload, Store, Stored, Submission, SubmissionMore, Submitted,
    TaskId,
};

use crate::alert::{Alert, AlertKind, AlertState};
use crate::error::{Error, ErrorKind};
use crate::extra::Extra;
use crate::node::{New, Node, Start};
use crate::reply::{ReplyTo, Replying};
use crate::shared::Shared;
use crate::stats::count;
use crate::workflow::{NONE_TAKEN, Workflow};

/// The most that are taken at once: they share a commit.
const MOST_AT_ONCE: usize = 256;
/// How long it is waited after something could not be taken, or the store has failed.
const PAUSE: Duration = Duration::from_secs(1);
/// So far the clock of who hands in may be ahead.
const AHEAD: Duration = Duration::from_secs(24 * 3_600);
/// From so long on it is told that others have held the store.
const HELD_UP: Duration = Duration::from_secs(2);

/// Looks for what was handed in, for as long as the node lives.
pub(crate) async fn watch<S: Store>(shared: Arc<Shared<S>>) {
    if !shared.store.has_outsiders() {
        return;
    }
    let (mut seen, mut held_up) = (None, shared.store.held_up());
    loop {
        let pause = match look(&shared, seen).await {
            Ok((version, true)) => {
                seen = Some(version);
                shared.settings.intake_every
            }
            Ok((_, false)) => PAUSE,
            Err(error) => {
                shared.store_failed("what was handed in could not be looked for", &error);
                PAUSE
            }
        };
        held_up = tell_held_up(&shared, held_up);
        shared.clock.sleep(pause).await;
    }
}

/// Takes what is there, if somebody has written since; whether nothing was left.
async fn look<S: Store>(
    shared: &Arc<Shared<S>>,
    seen: Option<u64>,
) -> Result<(u64, bool), steadfast_store::Error> {
    let version = shared.store.version().await?;
    if seen == Some(version) {
        return Ok((version, true));
    }
    let (mut behind, mut left) = (None::<ArrivalId>, 0);
    loop {
        let arrivals = shared.store.arrivals(behind, MOST_AT_ONCE).await?;
        let Some(last) = arrivals.last() else { break };
        behind = Some(last.id);
        let taken = join_all(arrivals.into_iter().map(|arrival| take(shared, arrival))).await;
        left += taken.into_iter().filter(|taken| !taken).count();
    }
    if left > 0 {
        tracing::warn!(left, "what was handed in cannot be taken now, and waits in the inbox");
    }
    Ok((version, left == 0))
}

/// Makes a task of what was handed in; whether it was done with.
async fn take<S: Store>(shared: &Shared<S>, arrival: Arrival) -> bool {
    let fit = fit(shared, &arrival);
    let error = match fit {
        Ok((new, extra)) => {
            let start = arrival.start_at.map_or(Start::Now, Start::At);
            match shared.submit_with(new, start, extra).await {
                Ok(_) => {
                    count(&shared.counters.handed_in);
                    return true;
                }
                Err(error) => error,
            }
        }
        Err(why) => return refuse(shared, &arrival, &why).await,
    };
    match error.kind() {
        ErrorKind::TakenElsewhere => true,
        ErrorKind::OtherInput(_) | ErrorKind::BadReply(_) => {
            refuse(shared, &arrival, &error.to_string()).await
        }
        ErrorKind::Store { kind: steadfast_store::Kind::TooLarge, .. } => {
            refuse(shared, &arrival, &error.to_string()).await
        }
        ErrorKind::ShuttingDown => false,
        _ => {
            let (inbox, error) = (arrival.id.0, &error as &dyn std::error::Error);
            tracing::debug!(inbox, error, "what was handed in cannot be taken now, and waits in the inbox");
            false
        }
    }
}

/// What is to be submitted, or why it cannot be.
fn fit<S: Store>(shared: &Shared<S>, arrival: &Arrival) -> Result<(New, Extra), String> {
    let length = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
    let sizes = [
        ("the input", arrival.input.len(), MAX_PAYLOAD),
        ("the name of the workflow", arrival.workflow.len(), MAX_KEY),
        ("the key", length(&arrival.key), MAX_KEY),
        ("the namespace", arrival.namespace.len(), MAX_KEY),
        ("the correlation id", length(&arrival.correlation), MAX_KEY),
    ];
    if let Some((what, bytes, most)) = sizes.into_iter().find(|(_, bytes, most)| bytes > most) {
        return Err(format!("{what} has {bytes} bytes, at most {most} are allowed"));
    }
    if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(&arrival.input) {
        return Err(format!("the input is no JSON: {error}"));
    }
    let task = arrival.task.clone()?;
    if let Some(task) = task.filter(|task| is_of_the_future(shared, *task)) {
        return Err(format!("its id {task} does not begin with the time: use a UUID of version 7"));
    }
    let workflow = workflow(shared, arrival)?;
    let new = New {
        workflow,
        namespace: Arc::clone(&arrival.namespace),
        key: arrival.key.clone(),
        priority: arrival.priority,
        input: Arc::clone(&arrival.input),
    };
    let reply_to = address(arrival).transpose()?;
    let (correlation, arrival) = (arrival.correlation.clone(), Some(arrival.id));
    Ok((new, Extra { task, reply_to, correlation, arrival, ..Extra::default() }))
}

/// Tasks are listed and removed by the time that their ids begin with.
fn is_of_the_future<S: Store>(shared: &Shared<S>, task: TaskId) -> bool {
    task >= TaskId::first_at(shared.now() + AHEAD)
}

fn address(arrival: &Arrival) -> Option<Result<ReplyTo, String>> {
    arrival.reply_to.as_ref().map(|text| text.parse().map_err(|error| format!("{error}")))
}

fn workflow<S: Store>(shared: &Shared<S>, arrival: &Arrival) -> Result<Arc<Workflow>, String> {
    let name = &arrival.workflow;
    let workflows = shared.workflows.load();
    let of_name = workflows.all().filter(|workflow| workflow.name() == name);
    let fits =
        |workflow: &&Arc<Workflow>| arrival.version.is_none_or(|of| of == workflow.definition().version());
    let newest = of_name.filter(fits).max_by_key(|workflow| workflow.definition().version());
    newest.cloned().ok_or_else(|| {
        let version = arrival.version.map_or(String::new(), |version| format!(" version {version}"));
        format!("workflow `{name}`{version} is not registered here: give it to the engine's builder, and submit again")
    })
}

/// Stores it as a task that has failed, with the reason; whether that was done.
async fn refuse<S: Store>(shared: &Shared<S>, arrival: &Arrival, why: &str) -> bool {
    let chosen = arrival.task.clone().ok().flatten().filter(|task| !is_of_the_future(shared, *task));
    for task in chosen.into_iter().chain([shared.fresh_task()]) {
        match shared.store.submit(vec![refused(shared, arrival, task, why)]).await.as_deref() {
            // The id is another task's.
            Ok([Submitted::Again | Submitted::OtherInput(_)]) => {}
            Ok(_) => {
                count(&shared.counters.not_taken);
                shared.outbox.wake();
                shared.replies.changed();
                return true;
            }
            Err(error) => {
                shared.store_failed("what was handed in could not be refused", error);
                return false;
            }
        }
    }
    false
}

fn refused<S: Store>(shared: &Shared<S>, arrival: &Arrival, task: TaskId, why: &str) -> Submission {
    let short = |text: &Arc<str>| if text.len() <= MAX_KEY { Arc::clone(text) } else { Arc::from("") };
    let workflow = short(&arrival.workflow);
    let came_with = [("key", &arrival.key), ("correlation id", &arrival.correlation)];
    let came_with = came_with.iter().filter_map(|(what, value)| Some((what, short(value.as_ref()?))));
    let came_with = came_with.map(|(what, value)| format!("; its {what} was `{value}`"));
    let why = &came_with.fold(why.to_owned(), |why, more| why + &more);
    let words = format!("task {task} of `{workflow}` was handed in and could not be taken: {why}");
    let advice = "mend what is wrong, and submit it again: nothing of it was begun";
    let (now, node) = (shared.now(), shared.lease.node());
    let alert = Alert {
        task: Some(task),
        workflow: Some(Arc::clone(&workflow)),
        ..Alert::new(AlertKind::TaskFailed, AlertState::Raised, now, node, &words, advice)
    };
    let mut messages = vec![alert.message(None)];
    let known = address(arrival).and_then(Result::ok).filter(|to| shared.check_reply_to(to).is_ok());
    let reply = known.map(|to| {
        let mut replying = Replying::new(&to, arrival.correlation.as_ref().map(short));
        messages.push(replying.not_taken(task, &workflow, why));
        // It is told, however many wait: it is the last that is said of it.
        replying.place(u64::MAX)
    });
    let fits = arrival.input.len() <= MAX_PAYLOAD;
    Submission {
        id: task,
        namespace: short(&arrival.namespace),
        workflow,
        version: arrival.version.unwrap_or(0),
        shape: NONE_TAKEN,
        // The key stays free for a submission that makes sense.
        key: None,
        priority: arrival.priority,
        input: if fits { Arc::clone(&arrival.input) } else { Payload::default() },
        task: Task::not_taken(Arc::from(why.as_str())),
        owner: None,
        messages,
        outputs: Vec::new(),
        more: Some(Box::new(SubmissionMore { reply, arrival: Some(arrival.id), parent: None })),
    }
}

/// Tells that others have held the store for long, once they have let it go.
fn tell_held_up<S: Store>(shared: &Shared<S>, before: Duration) -> Duration {
    let held_up = shared.store.held_up();
    let waited = held_up.saturating_sub(before);
    if waited < HELD_UP {
        // Short ones add up only within one look.
        return held_up;
    }
    count(&shared.counters.held_up);
    let words = format!(
        "writes to the store waited for {:.1} s: a transaction of another program held its file; nothing was lost",
        waited.as_secs_f64()
    );
    let advice = "keep transactions on this file short: call nothing slow between BEGIN and COMMIT";
    let (now, node) = (shared.now(), shared.lease.node());
    let alert = Alert::new(AlertKind::StoreHeld, AlertState::Raised, now, node, &words, advice);
    shared.outbox.post(&shared.counters, &alert, None);
    held_up
}

/// How often it is looked for a task that was handed in.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// What waits for long is looked for less often.
const LEAST_OFTEN: Duration = Duration::from_secs(1);

impl<S: Store> Node<S> {
    /// Waits until what was handed in under this id is a task.
    ///
    /// # Errors
    /// The store's; nothing was handed in under this id, or its key was used before.
    pub async fn taken_up(&self, task: TaskId) -> Result<Stored, Error> {
        let mut pause = LOOK_AGAIN;
        loop {
            let waits = self.waits_in_inbox(task).await?;
            match self.read(task).await {
                Err(error) if matches!(error.kind(), ErrorKind::UnknownTask(_)) => {
                    if !waits {
                        return Err(ErrorKind::NotHandedIn(task).into());
                    }
                }
                read => return read,
            }
            self.shared.clock.sleep(pause).await;
            pause = (pause * 3 / 2).min(LEAST_OFTEN);
        }
    }

    async fn waits_in_inbox(&self, task: TaskId) -> Result<bool, Error> {
        let mut behind = None;
        loop {
            let arrivals = self.shared.store.arrivals(behind, MOST_AT_ONCE).await?;
            if arrivals.iter().any(|arrival| arrival.task == Ok(Some(task))) {
                return Ok(true);
            }
            let Some(last) = arrivals.last() else { return Ok(false) };
            behind = Some(last.id);
        }
    }
}

impl<S: Store> Shared<S> {
    /// Whether replies to this address can be delivered: a hook must be one of this program.
    pub(crate) fn check_reply_to(&self, to: &ReplyTo) -> Result<(), Error> {
        to.check().map_err(ErrorKind::from)?;
        let Some(name) = to.hook_name() else { return Ok(()) };
        let hooks = &self.settings.replies.hooks;
        match hooks.iter().any(|(known, _)| **known == *name) {
            true => Ok(()),
            false => {
                let words = format!(
                    "no hook `{name}` is registered here: give it to `Engine::builder(..).on_reply(..)`"
                );
                Err(ErrorKind::BadReply(words).into())
            }
        }
    }
}
