//! Groups of steps: what comes before one of them, and whether it is made at all, is said once for all of its steps.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use steadfast_engine::Step;
use steadfast_runtime::{Code, Condition, Known};

use crate::context::Seen;
use crate::place::{FlowId, Place};
use crate::step::{condition, names};
use crate::steps::{Named, Steps, sealed::Sealed};
use crate::workflow::Builder;

/// Steps that belong together, by which others come after all of them.
#[derive(Clone, Debug)]
pub struct GroupRef {
    steps: Vec<String>,
    flow: FlowId,
}

impl Sealed for GroupRef {
    fn put_into(self, names: &mut Vec<Named>) {
        let flow = Some(self.flow);
        names.extend(self.steps.into_iter().map(|name| Named { name, flow }));
    }
}

/// A group that is being described. Its steps are added in [`steps`](Self::steps).
#[must_use = "a group has no steps until `steps`"]
pub struct GroupBuilder<'f, In> {
    flow: &'f mut Builder<In>,
    after: Vec<String>,
    condition: Option<Judge<In>>,
}

type Judge<In> = Arc<dyn Fn(&Seen<In>) -> bool + Send + Sync>;

/// A group whose steps are being added.
pub(crate) struct Scope<In> {
    /// How many steps there were before it.
    from: usize,
    after: Vec<String>,
    condition: Option<Judge<In>>,
}

impl<In: DeserializeOwned + Send + Sync + 'static> Builder<In> {
    /// Steps that belong together: all of them come after what the group comes after, and if the group is not made, none of
    /// them is. Within a group they follow each other as they say, and a group may have groups in it.
    ///
    /// ```
    /// use steadfast::{Failure, Service, Workflow};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let desk = Service::standard("desk");
    /// let mut flow = Workflow::<u32>::builder("trip");
    /// let paid = flow.step("pay", &desk, |_| async { Ok::<_, Failure>(()) }).nothing_to_undo().add();
    /// let (travel, (flight, _hotel)) = flow.group().after(paid).when(|seen| seen.input > 0).steps(|flow| {
    ///     let flight = flow.step("flight", &desk, |_| async { Ok::<_, Failure>(7_u32) });
    ///     let flight = flight.nothing_to_undo().add();
    ///     let hotel = flow.step("hotel", &desk, |_| async { Ok::<_, Failure>(()) }).nothing_to_undo().add();
    ///     (flight, hotel)
    /// });
    /// let told = flow.step("tell", &desk, move |cx| async move { cx.output(flight) });
    /// told.after(travel).nothing_to_undo().add();
    /// let trip = flow.build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn group(&mut self) -> GroupBuilder<'_, In> {
        GroupBuilder { flow: self, after: Vec::new(), condition: None }
    }

    /// A step as its groups have it: made only if they are. The first ones of a group come after what that comes after.
    pub(crate) fn in_groups(&self, mut step: Step, mut code: Code, at: &Place) -> (Step, Code) {
        let mut first = true;
        for scope in self.scopes.iter().rev() {
            let own = &self.steps()[scope.from..];
            first &= !own.iter().any(|other| step.comes_after().iter().any(|name| name == other.name()));
            let more = scope.after.iter().filter(|name| first && !step.comes_after().contains(name));
            let more: Vec<_> = more.cloned().collect();
            step = step.after(more);
            // Each of them is asked: what comes before it outside of the group does not make it run.
            if let Some(judge) = scope.condition.clone() {
                step = step.conditional();
                code.condition = Some(both(condition(at, move |seen| judge(seen)), code.condition));
            }
        }
        (step, code)
    }
}

/// A group's condition, and then the step's own.
fn both(group: Condition, own: Option<Condition>) -> Condition {
    match own {
        None => group,
        Some(own) => Arc::new(move |known: &Known| Ok(group(known)? && own(known)?)),
    }
}

impl<In: DeserializeOwned + Send + Sync + 'static> GroupBuilder<'_, In> {
    /// Its steps begin once these have ended. Without it: as the group that it is in, or at once.
    pub fn after(mut self, steps: impl Steps) -> Self {
        let place = self.flow.next("group");
        self.after.extend(names(self.flow, &place, steps));
        self
    }

    /// Its steps are made only if this holds, and are skipped otherwise. It is asked for each of them when its turn comes.
    pub fn when(mut self, condition: impl Fn(&Seen<In>) -> bool + Send + Sync + 'static) -> Self {
        self.condition = Some(Arc::new(condition));
        self
    }

    /// Adds its steps. What the function returns is returned with the group.
    pub fn steps<R>(self, add: impl FnOnce(&mut Builder<In>) -> R) -> (GroupRef, R) {
        let Self { flow, after, condition } = self;
        let from = flow.steps().len();
        flow.scopes.push(Scope { from, after, condition });
        let given = add(flow);
        flow.scopes.pop();
        let steps: Vec<_> = flow.steps()[from..].iter().map(|step| step.name().to_owned()).collect();
        if steps.is_empty() {
            flow.mistakes.push("group: it has no steps: add one, or leave it out".to_owned());
        }
        (GroupRef { steps, flow: flow.next("group").flow.id }, given)
    }
}

impl<In> fmt::Debug for GroupBuilder<'_, In> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupBuilder").field("after", &self.after).finish_non_exhaustive()
    }
}
