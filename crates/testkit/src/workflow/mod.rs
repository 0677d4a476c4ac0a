//! Whether a workflow holds what it promises when everything goes wrong, one thing after the other, in virtual time.

mod fault;
mod gate;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use steadfast_engine::{StepId, TaskState, Time};
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{BAD_PAYLOAD, New, Node, Settings, Typed, Workflow, Workflows};
use steadfast_store::{Memory, Payload, Stored, TaskId};

use fault::{LATE, Wrong, wrong};
use gate::Gate;

/// The longest that a task may take, in virtual time.
const LONGEST: Duration = Duration::from_secs(2 * 24 * 3600);
/// The most commits after which a crash is tried.
const MOST_COMMITS: u64 = 200;

/// What a check has found.
#[derive(Clone, Debug)]
#[must_use = "`assert_holds` fails the test if something broke"]
pub struct Checked {
    /// How many stories were lived through.
    pub stories: usize,
    /// What broke, each in words.
    pub broken: Vec<String>,
}

impl Checked {
    /// Fails the test if something broke.
    ///
    /// # Panics
    /// With everything that broke.
    #[expect(clippy::panic, reason = "it fails a test")]
    pub fn assert_holds(&self) {
        if !self.broken.is_empty() {
            panic!("{self}");
        }
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} stories broke", self.broken.len(), self.stories)?;
        self.broken.iter().try_for_each(|broken| write!(f, "\n  - {broken}"))
    }
}

/// Lives through everything that can go wrong with a workflow, each in a world of its own and in virtual time: every step and
/// every undo made twice, failing before and after it was done, refused, hanging, done after its own undo; and a crash
/// after every commit, on the way forward and on the way back.
///
/// `make` makes a fresh world: the workflow, over services of the test's own. A payload that does not fit its type breaks
/// every story: nothing was tested then. `holds` looks at that world when the task has
/// come to its end, and says in words what is wrong: for instance that a task is undone, and something is still reserved.
///
/// Give the services' pipelines [`Clock::tokio`], and let the code of the steps wait by that clock alone.
///
/// ```
/// use std::collections::BTreeSet;
/// use std::sync::{Arc, Mutex};
/// use steadfast::{Failure, Service, TaskState, Workflow};
/// use steadfast::resilience::{Pipeline, clock::Clock};
///
/// /// A shelf that knows requests by their keys, and remembers what was taken back before it came.
/// #[derive(Default)]
/// struct Shelf {
///     reserved: BTreeSet<String>,
///     gone: BTreeSet<String>,
/// }
///
/// let make = || {
///     let shelf = Arc::new(Mutex::new(Shelf::default()));
///     let service = Service::new(Pipeline::builder("shelf").clock(Clock::tokio()).build().unwrap());
///     let (put, take) = (Arc::clone(&shelf), Arc::clone(&shelf));
///     let mut flow = Workflow::<u32>::builder("reserve");
///     flow.step("reserve", &service, move |cx| {
///         let mut shelf = put.lock().unwrap();
///         let key = cx.key().to_string();
///         if !shelf.gone.contains(&key) {
///             shelf.reserved.insert(key);
///         }
///         async { Ok::<_, Failure>(()) }
///     })
///     .undo(move |cx| {
///         let mut shelf = take.lock().unwrap();
///         let key = cx.step_key("reserve").to_string();
///         shelf.reserved.remove(&key);
///         shelf.gone.insert(key);
///         async { Ok::<_, Failure>(()) }
///     })
///     .undo_when_unknown()
///     .add();
///     (flow.build().unwrap(), shelf)
/// };
/// let holds = |shelf: &Arc<Mutex<Shelf>>, end: TaskState| {
///     match (end, shelf.lock().unwrap().reserved.len()) {
///         (TaskState::Completed, 1) | (TaskState::Undone, 0) | (TaskState::Failed, _) => Ok(()),
///         (end, reserved) => Err(format!("it is {end:?}, and {reserved} are reserved")),
///     }
/// };
/// steadfast_testkit::check_workflow(&7, make, holds).assert_holds();
/// ```
pub fn check_workflow<F: Typed<Input: Serialize>, W>(
    input: &F::Input,
    make: impl Fn() -> (F, W),
    holds: impl Fn(&W, TaskState) -> Result<(), String>,
) -> Checked {
    let mut checked = Checked { stories: 0, broken: Vec::new() };
    let input = match serde_json::to_vec(input) {
        Ok(input) => Payload::from(input),
        Err(error) => {
            checked.broken.push(format!("the input cannot be written as JSON: {error}"));
            return checked;
        }
    };
    let stories = stories(make().0.untyped());
    for story in stories {
        let crashes = if story.wrong.is_none() { MOST_COMMITS } else { 0 };
        // Without a crash first, then after each commit, for as long as there are commits.
        for commits in std::iter::once(u64::MAX).chain(1..=crashes) {
            let (workflow, world) = make();
            let workflow = workflow.untyped();
            let (lived, crashed) = live(&story, workflow, &input, commits);
            if commits != u64::MAX && !crashed {
                break;
            }
            checked.stories += 1;
            let broken = match lived {
                Ok(end) => holds(&world, end).err(),
                Err(words) => Some(words),
            };
            if let Some(words) = broken {
                let crash = match commits {
                    u64::MAX => String::new(),
                    commits => format!(", and the process dies after {commits} commits"),
                };
                checked.broken.push(format!("{}{crash}: {words}", story.words(workflow)));
            }
        }
    }
    checked
}

/// One thing that goes wrong, on the way forward or back.
struct Story {
    wrong: Option<(StepId, bool, Wrong, u32)>,
    /// Whether the task is to be undone once it is complete.
    back: bool,
}

impl Story {
    fn words(&self, workflow: &Workflow) -> String {
        let way = if self.back { ", and the task is undone in the end" } else { "" };
        match self.wrong {
            None => format!("nothing goes wrong{way}"),
            Some((step, undo, wrong, times)) => {
                let name = workflow.definition().step(step).name();
                let what = if undo { format!("the undo of `{name}`") } else { format!("`{name}`") };
                let often = if times == 1 { "once" } else { "each time" };
                format!("{what} {}, {often}{way}", wrong.words())
            }
        }
    }
}

fn stories(workflow: &Workflow) -> Vec<Story> {
    const EACH_TIME: u32 = u32::MAX;
    let mut stories = vec![Story { wrong: None, back: false }, Story { wrong: None, back: true }];
    let once =
        [Wrong::Repeated, Wrong::FailsBefore, Wrong::AnswerLost, Wrong::HangsBefore, Wrong::HangsAfter];
    for step in workflow.definition().ids() {
        let forward = once.iter().map(|wrong| (*wrong, 1)).chain([
            (Wrong::SaysNo, EACH_TIME),
            (Wrong::AnswerLost, EACH_TIME),
            (Wrong::HangsAfter, EACH_TIME),
            (Wrong::LandsLate, EACH_TIME),
        ]);
        stories.extend(
            forward.map(|(wrong, times)| Story { wrong: Some((step, false, wrong, times)), back: false }),
        );
        if workflow.definition().step(step).undo_settings().is_some() {
            let back = once.iter().map(|wrong| (*wrong, 1)).chain([(Wrong::SaysNo, EACH_TIME)]);
            stories.extend(
                back.map(|(wrong, times)| Story { wrong: Some((step, true, wrong, times)), back: true }),
            );
        }
    }
    stories
}

/// Lives through a story; how the task ended, and whether the process died on the way.
fn live(
    story: &Story,
    workflow: &Arc<Workflow>,
    input: &Payload,
    commits: u64,
) -> (Result<TaskState, String>, bool) {
    let workflow = match story.wrong {
        None => Arc::clone(workflow),
        Some((step, undo, fault, times)) => Arc::new(workflow.with_handlers(|of, of_undo, handler| {
            if (of, of_undo) == (step, undo) { wrong(handler, fault, times) } else { handler }
        })),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    match runtime {
        Ok(runtime) => runtime.block_on(run(story, &workflow, input, commits)),
        Err(error) => (Err(format!("no runtime could be made: {error}")), false),
    }
}

async fn run(
    story: &Story,
    workflow: &Arc<Workflow>,
    input: &Payload,
    commits: u64,
) -> (Result<TaskState, String>, bool) {
    let (clock, began) = (Clock::tokio(), Clock::tokio().now());
    let store = Memory::new(move || Time::from_millis(0) + clock.now().since(began));
    let gate = Gate::new(store.clone(), commits);
    let lived = first_life(story, workflow, input, &gate).await;
    let task = match lived {
        Some(Ok(ended)) => {
            Clock::tokio().sleep(LATE + Duration::from_secs(60)).await;
            return (Ok(ended), false);
        }
        Some(Err(words)) if !gate.is_closed() => return (Err(words), false),
        _ => store.tasks().first().copied(),
    };
    // The process has died; another one goes on with what is stored. A submission that was not stored was not acknowledged.
    let ended = match task {
        Some(task) => second_life(story, workflow, &store, task).await,
        None => Err("the submission was acknowledged, and is lost".to_owned()),
    };
    Clock::tokio().sleep(LATE + Duration::from_secs(60)).await;
    (ended, true)
}

/// Runs the task to its end, unless the store stands still first.
async fn first_life(
    story: &Story,
    workflow: &Arc<Workflow>,
    input: &Payload,
    gate: &Gate,
) -> Option<Result<TaskState, String>> {
    let whole = async {
        let node = start(gate.clone(), workflow).await?;
        let new = New {
            workflow: Arc::clone(workflow),
            namespace: Arc::from(""),
            key: None,
            input: Arc::clone(input),
        };
        let task = node.submit(new).await.map_err(|error| error.to_string())?.task;
        to_the_end(story, &node, task).await
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

async fn second_life(
    story: &Story,
    workflow: &Arc<Workflow>,
    store: &Memory,
    task: TaskId,
) -> Result<TaskState, String> {
    let node = start(store.clone(), workflow).await?;
    tokio::select! {
        ended = to_the_end(story, &node, task) => ended,
        () = Clock::tokio().sleep(LONGEST) => Err("it does not come to an end".to_owned()),
    }
}

async fn to_the_end<S: steadfast_store::Store>(
    story: &Story,
    node: &Node<S>,
    task: TaskId,
) -> Result<TaskState, String> {
    let ended = node.at_rest(task).await.map_err(|error| error.to_string())?;
    if !story.back || ended.task.state() != TaskState::Completed || ended.task.head().no_return {
        return fitting(&ended);
    }
    node.undo(task, "the test kit", "to see").await.map_err(|error| error.to_string())?;
    fitting(&node.at_rest(task).await.map_err(|error| error.to_string())?)
}

/// How a task ended, unless a payload did not fit its type: the kit lets nothing fail in that way.
fn fitting(ended: &Stored) -> Result<TaskState, String> {
    let failures = ended.task.rows().filter_map(|(_, record)| record.last_failure.as_deref());
    match failures.into_iter().find(|failure| failure.starts_with(BAD_PAYLOAD.as_str())) {
        Some(words) => Err(words.to_owned()),
        None => Ok(ended.task.state()),
    }
}

async fn start<S: steadfast_store::Store>(store: S, workflow: &Arc<Workflow>) -> Result<Node<S>, String> {
    let mut workflows = Workflows::default();
    workflows.add(Arc::clone(workflow))?;
    Node::start(store, workflows, Settings::default(), Clock::tokio())
        .await
        .map_err(|error| error.to_string())
}
