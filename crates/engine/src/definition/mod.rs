//! Workflows: their steps, what follows what, and what happens when a step fails.
//!
//! A definition that exists is sound: it was checked when it was built, and it cannot change.

mod builder;
mod callback;
mod check;
mod child;
mod each;
mod step;
#[cfg(test)]
mod tests;
mod wait;

use std::fmt;
use std::time::Duration;

pub use builder::Builder;
pub(crate) use check::bad_name;
pub use check::{Invalid, Problem};
pub use child::{CHILD_GONE, CHILD_UNFIT, CHILDREN};
pub use each::{CHUNK, Each, MAX_AT_A_TIME, MAX_ITEMS};
pub use step::{OnFailure, Recovery, Step, Undo};
pub use wait::{Repeat, Wait};

/// The most steps of a workflow: all of a task's rows are written in one transaction and held in memory together.
pub const MAX_STEPS: usize = 1_000;
/// The longest name in bytes: names are keys in every row.
pub const MAX_NAME: usize = 100;

/// The first place that is no step's.
#[expect(clippy::cast_possible_truncation, reason = "it fits")]
const BEYOND: u16 = MAX_STEPS as u16;

/// A step by its place in the workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StepId(pub(crate) u16);

impl StepId {
    /// The step at this place, from 0.
    #[must_use]
    pub const fn at(place: u16) -> Self {
        Self(place)
    }

    /// The place, from 0.
    #[must_use]
    pub const fn ordinal(self) -> usize {
        self.0 as usize
    }

    /// A place beyond all steps, where what a kept signal says is stored until its wait begins.
    #[must_use]
    pub const fn of_signal(slot: u16) -> Self {
        Self(BEYOND.saturating_add(slot))
    }

    /// A place beyond all steps, where the progress of a step or an item is stored.
    #[must_use]
    pub const fn of_progress(step: Self) -> Self {
        match step.item() {
            Some(item) => Self::of_items_progress(item),
            None => Self((2 * BEYOND).saturating_add(step.0)),
        }
    }

    /// The place beyond all steps where it is stored to whom a task replies, and how much it has told.
    pub const OF_REPLIES: Self = Self(60_000);

    /// The place beyond all steps where a task's labels are stored.
    pub const OF_LABELS: Self = Self(60_001);

    /// The place beyond all steps where it is stored to which trace a task belongs, if it does to one.
    pub const OF_TRACE: Self = Self(60_002);

    /// A place beyond all steps, where the input is stored that a step has in the place of the task's.
    #[must_use]
    pub const fn of_input(step: Self) -> Self {
        Self((3 * BEYOND).saturating_add(step.0))
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}", self.0)
    }
}

/// A workflow that makes sense.
#[derive(Clone, Debug)]
pub struct Definition {
    name: String,
    version: u32,
    complete_within: Option<Duration>,
    steps: Vec<Step>,
    /// By step: what it comes after, and what comes after it.
    before: Vec<Vec<StepId>>,
    dependents: Vec<Vec<StepId>>,
}

impl Definition {
    /// Begins a workflow of this name.
    pub fn builder(name: impl Into<String>) -> Builder {
        Builder::new(name.into())
    }

    /// What a task is of that was not taken: it has no steps, and can only be closed.
    #[must_use]
    pub fn of_none_taken(name: &str, version: u32) -> Self {
        let name = name.to_owned();
        Self { name, version, complete_within: None, steps: vec![], before: vec![], dependents: vec![] }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version: a task stays on the one that it began with.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// How long a task may take.
    #[must_use]
    pub fn complete_within(&self) -> Option<Duration> {
        self.complete_within
    }

    /// All steps, by their places.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// All places.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = StepId> + use<> {
        (0..u16::try_from(self.steps.len()).unwrap_or(u16::MAX)).map(StepId)
    }

    /// A step.
    pub fn step(&self, id: StepId) -> &Step {
        &self.steps[id.ordinal()]
    }

    /// The place of the step of this name.
    #[must_use]
    pub fn step_named(&self, name: &str) -> Option<StepId> {
        self.ids().find(|id| self.step(*id).name() == name)
    }

    /// The steps that must have ended before this one begins.
    #[must_use]
    pub fn before(&self, id: StepId) -> &[StepId] {
        &self.before[id.ordinal()]
    }

    /// The steps that wait for this one.
    #[must_use]
    pub fn dependents(&self, id: StepId) -> &[StepId] {
        &self.dependents[id.ordinal()]
    }

    /// A number that tells whether two workflows have the same shape: the same steps at the same places, in the same
    /// order, with the same services, conditions and undos. Times are not part of it. It never changes over versions of
    /// this library: rows of one shape make no sense to another.
    #[must_use]
    pub fn shape(&self) -> u64 {
        // FNV-1a.
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        let mut mix = |bytes: &[u8]| {
            for byte in bytes.iter().chain(&[0xFF]) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
            }
        };
        for (step, before) in self.steps.iter().zip(&self.before) {
            mix(step.name().as_bytes());
            mix(step.service().as_bytes());
            mix(&[u8::from(step.is_conditional()), u8::from(step.undo_settings().is_some())]);
            before.iter().for_each(|earlier| mix(&earlier.0.to_le_bytes()));
            // What calls a service once has no more to it, and the number that it always had.
            match step.wait() {
                Some(Wait::Time(_)) => mix(b"time"),
                Some(Wait::Signal { signal, .. }) => mix(format!("signal {signal}").as_bytes()),
                None if step.repeats().is_some() => mix(b"repeat"),
                None if step.fans_out().is_some() => mix(b"each"),
                None => {}
            }
            if let Some(workflow) = step.asks_for() {
                mix(format!("child {workflow}").as_bytes());
            }
            if step.callback_within().is_some() {
                mix(b"callback");
            }
        }
        hash
    }

    /// The steps that wait for this signal.
    pub fn waits_for(&self, signal: &str) -> impl Iterator<Item = StepId> {
        self.ids().filter(move |id| self.step(*id).signal_name() == Some(signal))
    }

    /// The services that it calls, each once.
    #[must_use]
    pub fn services(&self) -> Vec<&str> {
        let mut services: Vec<_> =
            self.steps.iter().filter(|step| step.wait().is_none()).map(Step::service).collect();
        services.sort_unstable();
        services.dedup();
        services
    }
}
