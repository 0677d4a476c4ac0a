//! What an expression may name at its place in the file.

use super::node::Variable;

/// A step, as expressions know it.
#[derive(Clone, Debug)]
pub(crate) struct StepName {
    pub(crate) name: String,
    /// Whether it is made for each item of a list: its output is a list.
    pub(crate) is_each: bool,
}

/// What may be named, and which steps come before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    pub(crate) variables: &'a [Variable],
    /// All steps of the workflow, by their places.
    pub(crate) steps: &'a [StepName],
    /// By place: whether it comes before. Empty where outputs of steps are not known.
    pub(crate) before: &'a [bool],
    /// Whether it is about one item, which does not see what became of the items of other steps.
    pub(crate) of_item: bool,
    /// Whether `step.callback` is known: in the request of a step whose service may answer later.
    pub(crate) has_callback: bool,
    /// What has the expression, for messages: `step charge`.
    pub(crate) whose: &'a str,
}

/// What an expression reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    variables: u8,
    /// Steps, by their places.
    pub(crate) steps: std::collections::BTreeSet<usize>,
}

impl Reads {
    pub(crate) fn note(&mut self, variable: Variable) {
        self.variables |= bit(variable);
    }

    pub(crate) fn has(&self, variable: Variable) -> bool {
        self.variables & bit(variable) != 0
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.variables |= other.variables;
        self.steps.extend(&other.steps);
    }
}

fn bit(variable: Variable) -> u8 {
    1 << Variable::ALL.iter().position(|known| *known == variable).unwrap_or(7)
}
