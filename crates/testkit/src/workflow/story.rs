//! The stories that a workflow lives through: one thing goes wrong in each.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{Definition, StepId};
use steadfast_runtime::Workflow;

/// What happens to a task in one run of [`check_workflow`](crate::check_workflow). It is shown in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Story {
    /// What goes wrong with a call; `None` if nothing does.
    pub trouble: Option<Trouble>,
    /// Whether the task is to be undone once it is complete.
    pub undone_after: bool,
    /// After how many commits the process dies, if it does.
    pub dies_after: Option<u64>,
}

/// What goes wrong, and with which call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trouble {
    /// The step.
    pub step: Arc<str>,
    /// Whether it is the undo of that step.
    pub undo: bool,
    /// What goes wrong.
    pub wrong: Wrong,
    /// Whether it goes wrong each time; otherwise the first time only.
    pub each_time: bool,
    /// The step's place.
    pub(super) id: StepId,
}

/// What goes wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// It is made twice.
    Repeated,
    /// It fails, and nothing was done.
    FailsBefore,
    /// It is done, and the answer is lost.
    AnswerLost,
    /// The service says no, for good.
    SaysNo,
    /// It hangs, and nothing was done.
    HangsBefore,
    /// It is done, and hangs.
    HangsAfter,
    /// It hangs, and is done after everything else.
    LandsLate,
    /// The task is cancelled while it runs; then it is done.
    Cancelled,
    /// The task's deadline passes while it runs: it is done, and hangs.
    PastDeadline {
        /// The deadline of the task, so that it passes in this step.
        complete_within: Duration,
    },
    /// While it runs, this step beside it is refused for good; then it is done.
    SiblingRefused(Arc<str>),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Repeated => "is made twice",
            Self::FailsBefore => "fails without an effect",
            Self::AnswerLost => "is done, and its answer is lost",
            Self::SaysNo => "is refused for good",
            Self::HangsBefore => "hangs, and is not done",
            Self::HangsAfter => "is done, and hangs",
            Self::LandsLate => "hangs, and is done after everything else",
            Self::Cancelled => "is done after the task was cancelled",
            Self::PastDeadline { .. } => "is done, and hangs until the task's deadline has passed",
            Self::SiblingRefused(step) => return write!(f, "is done after `{step}` was refused for good"),
        })
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.undo { "the undo of " } else { "" };
        let often = if self.each_time { "each time" } else { "once" };
        write!(f, "{of}`{}` {}, {often}", self.step, self.wrong)
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.trouble {
            Some(trouble) => trouble.fmt(f)?,
            None => f.write_str("nothing goes wrong")?,
        }
        if self.undone_after {
            f.write_str(", and the task is undone in the end")?;
        }
        match self.dies_after {
            Some(commits) => write!(f, ", and the process dies after {commits} commits"),
            None => Ok(()),
        }
    }
}

impl Story {
    pub(super) fn plain(undone_after: bool) -> Self {
        Self { trouble: None, undone_after, dies_after: None }
    }

    /// Whether an undo is refused for good: the task cannot be undone then, and an operator has to look.
    #[must_use]
    pub fn refuses_undo(&self) -> bool {
        self.trouble.as_ref().is_some_and(|trouble| trouble.undo && trouble.wrong == Wrong::SaysNo)
    }
}

/// What goes wrong the first time with every call.
const ONCE: [Wrong; 5] =
    [Wrong::Repeated, Wrong::FailsBefore, Wrong::AnswerLost, Wrong::HangsBefore, Wrong::HangsAfter];
/// What goes wrong with every step each time.
const EACH_TIME: [Wrong; 4] = [Wrong::SaysNo, Wrong::AnswerLost, Wrong::HangsAfter, Wrong::LandsLate];

/// All stories of a workflow but the plain ones. `begins` says how long after its submission a task comes to a step, as far as
/// that is known; it is asked only where a task has a deadline.
pub(super) fn stories(workflow: &Workflow, begins: impl Fn(StepId) -> Option<Duration>) -> Vec<Story> {
    let definition = workflow.definition();
    let mut stories = Vec::new();
    // With a step that waits nothing can go wrong: it calls nothing.
    for id in definition.ids().filter(|id| definition.step(*id).wait().is_none()) {
        let step: Arc<str> = Arc::from(definition.step(id).name());
        let mut add = |undo: bool, each_time: bool, wrong: Wrong| {
            let trouble = Trouble { step: Arc::clone(&step), undo, wrong, each_time, id };
            stories.push(Story { trouble: Some(trouble), ..Story::plain(undo) });
        };
        ONCE.into_iter().for_each(|wrong| add(false, false, wrong));
        EACH_TIME.into_iter().for_each(|wrong| add(false, true, wrong));
        add(false, false, Wrong::Cancelled);
        past_deadline(definition, begins(id)).into_iter().for_each(|wrong| add(false, false, wrong));
        siblings(workflow, id).for_each(|wrong| add(false, false, wrong));
        if definition.step(id).undo_settings().is_some() {
            ONCE.into_iter().for_each(|wrong| add(true, false, wrong));
            add(true, true, Wrong::SaysNo);
        }
    }
    stories
}

/// How long after its beginning a step is when the deadline passes.
const INTO_THE_STEP: Duration = Duration::from_millis(200);

fn past_deadline(definition: &Definition, begins: Option<Duration>) -> Option<Wrong> {
    let complete_within = begins? + INTO_THE_STEP;
    definition.complete_within().map(|_| Wrong::PastDeadline { complete_within })
}

/// The steps that can run beside this one.
fn siblings(workflow: &Workflow, step: StepId) -> impl Iterator<Item = Wrong> {
    let definition = workflow.definition();
    let beside = definition.ids().filter(move |other| {
        let calls = *other != step && definition.step(*other).wait().is_none();
        calls && !workflow.before(step).contains(other) && !workflow.before(*other).contains(&step)
    });
    beside.map(|other| Wrong::SiblingRefused(Arc::from(definition.step(other).name())))
}
