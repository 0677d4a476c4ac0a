//! Steps that are made once for each item of a list.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use steadfast_engine::{Each, StepId};
use steadfast_resilience::{Attempt, Classify};
use steadfast_runtime::{BAD_PAYLOAD, Fault, Known, Service, Work};
use steadfast_store::Payload;

use crate::context::{Context, Seen, bad};
use crate::failure::Failure;
use crate::place::{FlowId, Place};
use crate::step::{Added, StepBuilder, failed, with_context};
use crate::steps::{Named, sealed::Sealed};
use crate::workflow::Builder;

/// How many items are under way at a time where nothing is said.
const AT_A_TIME: u16 = 10;

/// A step that is made for each item of a list, by which others read what became of the items: [`Seen::results`].
pub struct ItemsRef<Out> {
    id: StepId,
    name: &'static str,
    flow: FlowId,
    output: PhantomData<fn() -> Out>,
}

impl<Out> ItemsRef<Out> {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }
}

impl<Out> Added for ItemsRef<Out> {
    fn of(place: &Place) -> Self {
        Self { id: place.id, name: place.name, flow: place.flow.id, output: PhantomData }
    }
}

impl<Out> Clone for ItemsRef<Out> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Out> Copy for ItemsRef<Out> {}

impl<Out> fmt::Debug for ItemsRef<Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ItemsRef").field(&self.name).finish()
    }
}

impl<Out> Sealed for ItemsRef<Out> {
    fn put_into(self, names: &mut Vec<Named>) {
        names.push(Named { name: self.name.to_owned(), flow: Some(self.flow) });
    }
}

/// A step that is made for each item of a list, and is being described.
pub type EachBuilder<'f, In, Out> = StepBuilder<'f, In, Out, ItemsRef<Out>>;

impl<In: DeserializeOwned + Send + Sync + 'static> Builder<In> {
    /// A step that is made once for each item of a list. The list is made when its turn comes, from the input and the outputs of
    /// the steps before it, and stored; then the code is called for each item, [so many](EachBuilder::at_a_time) at a time.
    ///
    /// Each item goes its own way, as a step does: it has a key of its own, its retries, its place at the service and its undo,
    /// and a crash in the middle is a crash of those that ran. When an item fails for good, the step fails, unless it
    /// [tolerates](EachBuilder::tolerate) that; items that were done are then undone as the steps before it are.
    ///
    /// The code sees its item, the task's input and the outputs of plain steps. What became of all items is for the steps
    /// after it: [`Seen::results`].
    ///
    /// ```
    /// use steadfast::resilience::Pipeline;
    /// use steadfast::{Failure, Service, Workflow};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mail = Service::new(Pipeline::builder("mail").build()?);
    /// let mut flow = Workflow::<Vec<String>>::builder("invite");
    /// let sent = flow
    ///     .each("send", &mail, |seen| seen.input.clone(), |_cx, to: String| async move {
    ///         Ok::<_, Failure>(to.len())
    ///     })
    ///     .at_a_time(20)
    ///     .tolerate(3)
    ///     .nothing_to_undo()
    ///     .add();
    /// let count = flow.step("count", &mail, move |cx| async move {
    ///     Ok::<_, Failure>(cx.results(sent)?.into_iter().flatten().count())
    /// });
    /// let count = count.after(sent).nothing_to_undo().add();
    /// let invite = flow.returns(count)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn each<T, L, Out, F, Fut, E>(
        &mut self,
        name: &'static str,
        service: &Service,
        list: L,
        run: F,
    ) -> EachBuilder<'_, In, Out>
    where
        T: Serialize + DeserializeOwned,
        L: Fn(&Seen<In>) -> Vec<T> + Send + Sync + 'static,
        F: Fn(Context<In>, T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, E>> + Send + 'static,
        Out: Serialize + DeserializeOwned + Send + 'static,
        E: Classify + fmt::Display + 'static,
    {
        let (place, of, at) = (self.next(name), self.next(name), self.next(name));
        let handler = move |work: &Arc<Work>, attempt: Attempt| match item(work) {
            Ok(item) => with_context(work, attempt, &of, |cx| run(cx, item)),
            Err(fault) => failed(fault),
        };
        let step = StepBuilder::new(self, place, service, Arc::new(handler));
        step.with_list(move |known| made(&list, known, &at))
    }
}

/// The items of a list, as they are stored.
pub(crate) fn made<In: DeserializeOwned, T: Serialize>(
    list: impl Fn(&Seen<In>) -> Vec<T>,
    known: &Known,
    at: &Place,
) -> Result<Vec<Payload>, String> {
    let seen = Seen::new(known.clone(), at).map_err(|fault| fault.message)?;
    let packed = |item: &T| serde_json::to_vec(item).map(Payload::from);
    let items = list(&seen).iter().map(packed).collect::<Result<Vec<_>, _>>();
    items.map_err(|error| format!("an item cannot be written as JSON: {error}"))
}

impl<In, Out> EachBuilder<'_, In, Out>
where
    In: DeserializeOwned + Send + Sync + 'static,
    Out: Serialize + DeserializeOwned + Send + 'static,
{
    /// How many items may be under way at a time, and how many undos; at most 1 000. Default: 10. The service's own limit holds
    /// for all tasks together, and is the place to protect the service; this one keeps a task with a long list from standing in
    /// the way of others.
    pub fn at_a_time(self, items: u16) -> Self {
        self.with_each(|each| Each { at_a_time: items, ..each })
    }

    /// With how many failed items it still completes. Default: none. The results of those are `None`.
    pub fn tolerate(self, failed: u16) -> Self {
        self.with_each(|each| Each { tolerates: failed, ..each })
    }

    /// It is made for each item of this list.
    pub(crate) fn with_list(
        mut self,
        list: impl Fn(&Known) -> Result<Vec<Payload>, String> + Send + Sync + 'static,
    ) -> Self {
        self.list = Some(Arc::new(list));
        self.with_step(|step| step.each(Each { at_a_time: AT_A_TIME, tolerates: 0 }))
    }

    fn with_each(self, change: impl FnOnce(Each) -> Each) -> Self {
        let each = self.said().fans_out().unwrap_or(Each { at_a_time: AT_A_TIME, tolerates: 0 });
        self.with_step(|step| step.each(change(each)))
    }
}

/// The item that an attempt is about.
pub(crate) fn item<T: DeserializeOwned>(work: &Work) -> Result<T, Fault> {
    let value = work.item.as_ref().map(|item| &*item.value).unwrap_or_default();
    serde_json::from_slice(value).map_err(|error| bad("the item", &error))
}

impl<In> Context<In> {
    /// The item that this try is about, of a step that is made for each item of a list ([`Builder::each`]): for its undo, which
    /// is not given it.
    ///
    /// # Errors
    /// It is not about an item, or the item does not fit the type.
    pub fn item<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        item(self.work()).map_err(|fault| unfit(&fault))
    }

    /// The place of the item in its list, from 0; `None` if this try is not about an item.
    #[must_use]
    pub fn place(&self) -> Option<usize> {
        self.work().item.as_ref().map(|item| usize::from(item.place))
    }
}

impl<In> Seen<In> {
    /// What became of the items of a step that comes before this one, in the order of its list: `None` for those that have
    /// failed and were tolerated. Not for the code of items: there may be thousands of them.
    ///
    /// # Errors
    /// It was skipped, does not come before this one, or is a step of another workflow; an output does not fit its type.
    pub fn results<T: DeserializeOwned>(&self, items: ItemsRef<T>) -> Result<Vec<Option<T>>, Failure> {
        self.must_be_own(items.flow, items.name)?;
        let what = || format!("a result of `{}`", items.name);
        let read = |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|error| unfit(&bad(&what(), &error)));
        // An operator has given them all.
        if let Some(all) = self.known().output(items.id) {
            return serde_json::from_slice(all).map_err(|error| unfit(&bad(&what(), &error)));
        }
        if !self.may_read(items.id) {
            return Err(self.missing(items.id, items.name));
        }
        let none = || {
            let words = format!(
                "step `{}` has no results here: it was skipped, or this is the code of an item, which does not see those",
                items.name
            );
            Failure::terminal("missing-output", words)
        };
        let results = self.known().results(items.id).ok_or_else(none)?;
        results.into_iter().map(|result| result.map(read).transpose()).collect()
    }
}

fn unfit(fault: &Fault) -> Failure {
    Failure::terminal(BAD_PAYLOAD.as_str(), &fault.message).with_verdict(fault.verdict)
}
