//! A task's life through one story, in a world and a time of its own.

use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{TaskState, Time};
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{BAD_PAYLOAD, New, Node, Request, Settings, Workflow, Workflows};
use steadfast_store::{Memory, Payload, Store, Stored, TaskId, Tasks as _};

use super::fault::{Begins, LATE, Meeting, troubled};
use super::gate::Gate;
use super::{Ended, Story, Wrong};

/// The longest that a task may take, in virtual time.
const LONGEST: Duration = Duration::from_secs(2 * 24 * 3600);

/// What became of a task.
pub(super) struct Life {
    /// How it ended, or what broke.
    pub(super) ended: Result<Ended, String>,
    /// Whether the process died on the way.
    pub(super) died: bool,
    /// When its steps began.
    pub(super) begins: Begins,
}

/// A task that is to live through a story.
struct Lived<'a> {
    story: &'a Story,
    workflow: Arc<Workflow>,
    input: &'a Payload,
    meeting: Arc<Meeting>,
}

/// Lives through a story.
pub(super) fn live(story: &Story, workflow: &Workflow, input: &Payload) -> Life {
    let (begins, meeting) = (Begins::default(), Arc::<Meeting>::default());
    let kept = begins.kept(workflow);
    let troubled = match &story.trouble {
        Some(trouble) => troubled(&kept, trouble, &meeting),
        None => Ok(kept),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|error| format!("no runtime could be made: {error}"));
    let lived = troubled.and_then(|workflow| {
        let lived = Lived { story, workflow: Arc::new(workflow), input, meeting };
        Ok(runtime?.block_on(run(&lived)))
    });
    let (ended, died) = lived.unwrap_or_else(|words| (Err(words), false));
    Life { ended, died, begins }
}

async fn run(lived: &Lived<'_>) -> (Result<Ended, String>, bool) {
    let (clock, began) = (Clock::tokio(), Clock::tokio().now());
    let store = Memory::new(move || Time::from_millis(0) + clock.now().since(began));
    let gate = Gate::new(store.clone(), lived.story.dies_after.unwrap_or(u64::MAX));
    let first = first_life(lived, &gate).await;
    let task = match first {
        Some(Ok(ended)) => {
            Clock::tokio().sleep(LATE + Duration::from_secs(60)).await;
            return (Ok(ended), false);
        }
        Some(Err(words)) if !gate.is_closed() => return (Err(words), false),
        _ => own(lived, &store).await,
    };
    // The process has died; another one goes on with what is stored. A submission that was not stored was not acknowledged.
    let ended = match task {
        Some(task) => second_life(lived, &store, task).await,
        None => Err("the submission was acknowledged, and is lost".to_owned()),
    };
    Clock::tokio().sleep(LATE + Duration::from_secs(60)).await;
    (ended, true)
}

/// The task that lives through the story, and not one that it has asked for.
async fn own(lived: &Lived<'_>, store: &Memory) -> Option<TaskId> {
    let stored = store.read(store.tasks()).await.unwrap_or_default();
    let name = lived.workflow.definition().name();
    stored.into_iter().flatten().find(|stored| *stored.workflow == *name).map(|stored| stored.id)
}

/// Runs the task to its end, unless the store stands still first.
async fn first_life(lived: &Lived<'_>, gate: &Gate) -> Option<Result<Ended, String>> {
    let whole = async {
        let node = start(gate.clone(), &lived.workflow).await?;
        let new = New {
            workflow: Arc::clone(&lived.workflow),
            namespace: Arc::from(""),
            key: None,
            priority: 0,
            input: Arc::clone(lived.input),
        };
        let task = node.submit(new).await.map_err(|error| error.to_string())?.task;
        tokio::select! {
            ended = to_the_end(lived, &node, task) => ended,
            Err(words) = cancel(lived, &node, task) => Err(words),
        }
    };
    let stands_still = async {
        while !gate.is_closed() {
            Clock::tokio().sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        ended = whole => Some(ended),
        () = stands_still => None,
        () = Clock::tokio().sleep(LONGEST) => Some(Err("it does not come to an end".to_owned())),
    }
}

async fn second_life(lived: &Lived<'_>, store: &Memory, task: TaskId) -> Result<Ended, String> {
    let node = start(store.clone(), &lived.workflow).await?;
    tokio::select! {
        ended = to_the_end(lived, &node, task) => ended,
        () = Clock::tokio().sleep(LONGEST) => Err("it does not come to an end".to_owned()),
    }
}

/// Cancels the task while its step runs, if the story says so.
async fn cancel<S: Store>(lived: &Lived<'_>, node: &Node<S>, task: TaskId) -> Result<(), String> {
    if lived.story.trouble.as_ref().is_none_or(|trouble| trouble.wrong != Wrong::Cancelled) {
        return Ok(());
    }
    lived.meeting.begun().await;
    let request = Request::Cancel { by: Arc::from("the test kit"), why: Arc::from("to see") };
    node.ask(task, &request).await.map_err(|error| error.to_string())?;
    lived.meeting.happened();
    Ok(())
}

async fn to_the_end<S: Store>(lived: &Lived<'_>, node: &Node<S>, task: TaskId) -> Result<Ended, String> {
    let ended = node.at_rest(task).await.map_err(|error| error.to_string())?;
    let story = lived.story;
    if !story.undone_after || ended.task.state() != TaskState::Completed || ended.task.head().no_return {
        return fitting(&ended, story);
    }
    node.undo(task, "the test kit", "to see").await.map_err(|error| error.to_string())?;
    fitting(&node.at_rest(task).await.map_err(|error| error.to_string())?, story)
}

/// How a task ended, unless a payload did not fit its type: the kit lets nothing fail in that way.
fn fitting(stored: &Stored, story: &Story) -> Result<Ended, String> {
    let task = &stored.task;
    let mut failures = task.rows().filter_map(|(_, record)| record.last_failure.as_deref());
    match failures.find(|failure| failure.starts_with(BAD_PAYLOAD.as_str())) {
        Some(words) => Err(words.to_owned()),
        None => {
            let reason = task.head().ending.as_ref().map(|ending| ending.cause.clone());
            Ok(Ended { state: task.state(), reason, story: story.clone() })
        }
    }
}

async fn start<S: Store>(store: S, workflow: &Arc<Workflow>) -> Result<Node<S>, String> {
    let mut workflows = Workflows::default();
    workflows.add(Arc::clone(workflow))?;
    Node::start(store, workflows, Settings::default(), Clock::tokio())
        .await
        .map_err(|error| error.to_string())
}
