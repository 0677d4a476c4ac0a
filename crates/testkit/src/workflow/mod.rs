//! Whether a workflow holds what it promises when everything goes wrong, one thing after the other, in virtual time.

mod fault;
mod gate;
mod life;
mod story;

use std::fmt;

use serde::Serialize;
use steadfast_engine::{Cause, TaskState};
use steadfast_runtime::Typed;
use steadfast_store::Payload;

use life::{Life, live};
use story::stories;
pub use story::{Story, Trouble, Wrong};

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

/// How a task has ended, and after which story.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ended {
    /// Completed, undone or failed.
    pub state: TaskState,
    /// Why it has not completed.
    pub reason: Option<Cause>,
    /// What happened to it.
    pub story: Story,
}

/// Lives through everything that can go wrong with a workflow, each in a world of its own and in virtual time: every step and
/// every undo made twice, failing before and after it was done, refused, hanging, done after its own undo; the task
/// cancelled, its deadline passing, or a step beside it refused, while a step runs; and a crash after every commit, on the
/// way forward and on the way back.
///
/// `make` makes a fresh world: the workflow, over services of the test's own. A payload that does not fit its type breaks
/// every story: nothing was tested then.
/// `holds` looks at that world when the task has come to its end, and says in words what is wrong: for instance that a task
/// is undone, and something is still reserved. It knows how the task [`Ended`] and after which [`Story`], so that it can
/// demand more of some: an operator should be needed only where nothing else can help.
///
/// Give the services' pipelines [`Clock::tokio`](crate::Clock::tokio), and let the code of the steps wait by that clock alone.
///
/// ```
/// use std::collections::BTreeSet;
/// use std::sync::{Arc, Mutex};
/// use steadfast::{Failure, Service, TaskState, Workflow};
/// use steadfast::resilience::{Pipeline, clock::Clock};
/// use steadfast_testkit::{Ended, check_workflow};
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
/// let holds = |shelf: &Arc<Mutex<Shelf>>, ended: &Ended| {
///     match (ended.state, shelf.lock().unwrap().reserved.len()) {
///         (TaskState::Completed, 1) | (TaskState::Undone, 0) => Ok(()),
///         // Somebody has to look only if the shelf does not take anything back.
///         (TaskState::Failed, _) if ended.story.refuses_undo() => Ok(()),
///         (end, reserved) => Err(format!("it is {end:?}, and {reserved} are reserved")),
///     }
/// };
/// check_workflow(&7, make, holds).assert_holds();
/// ```
pub fn check_workflow<F: Typed<Input: Serialize>, W>(
    input: &F::Input,
    make: impl Fn() -> (F, W),
    holds: impl Fn(&W, &Ended) -> Result<(), String>,
) -> Checked {
    let mut checked = Checked { stories: 0, broken: Vec::new() };
    let input = match serde_json::to_vec(input) {
        Ok(input) => Payload::from(input),
        Err(error) => {
            checked.broken.push(format!("the input cannot be written as JSON: {error}"));
            return checked;
        }
    };
    let mut tell = |story: Story| {
        let (workflow, world) = make();
        let Life { ended, died, begins } = live(&story, workflow.untyped(), &input);
        // A process that was to die after more commits than there are has not lived through a story of its own.
        if story.dies_after.is_none() || died {
            checked.stories += 1;
            let held = ended.and_then(|ended| holds(&world, &ended));
            checked.broken.extend(held.err().map(|words| format!("{story}: {words}")));
        }
        (died, begins)
    };
    let (_, begins) = tell(Story::plain(false));
    for undone_after in [false, true] {
        if undone_after {
            tell(Story::plain(undone_after));
        }
        let dying = |commits| Story { dies_after: Some(commits), ..Story::plain(undone_after) };
        let _ = (1..=MOST_COMMITS).map(dying).find(|story| !tell(story.clone()).0);
    }
    for story in stories(make().0.untyped(), |step| begins.of(step)) {
        tell(story);
    }
    checked
}
