//! An attempt to make: what of it is known, and what has to be read before it is made.

use std::sync::Arc;

use steadfast_engine::{Answer, Dispatch, Effect, Failure, Fan, StepId, Token};
use steadfast_resilience::IdempotencyKey;
use steadfast_store::{Error as StoreError, Kind, Store, TaskId};

use crate::agent::shortened;
use crate::callback::CallbackId;
use crate::child::{Parent, Tasks, child_id};
use crate::error::Error;
use crate::handler::{Item, Work};
use crate::judge::item_of;
use crate::pulse::{Hears, Pulse};
use crate::scheduler::Turn;
use crate::shared::Shared;
use crate::trace::Trace;
use crate::workflow::{Known, Workflow};

/// An attempt to make.
pub(crate) struct Order {
    pub(crate) task: TaskId,
    pub(crate) workflow: Arc<Workflow>,
    pub(crate) dispatch: Dispatch,
    /// Calls that were made in attempts before.
    pub(crate) calls_used: u32,
    /// What is in memory of what the handler may read.
    pub(crate) known: Known,
    /// What of the rest has to be read: the input (`None`) and the outputs of steps.
    pub(crate) missing: Vec<Option<StepId>>,
    /// The list of the item that it is for, if it is for one.
    pub(crate) item: Option<Fan>,
    /// Whether the step has an input of its own.
    pub(crate) edited: bool,
    /// Steps that an operator has begun anew, under other keys.
    pub(crate) series: Vec<(StepId, u32)>,
    /// When it may call; `None` for at once.
    pub(crate) turn: Option<Turn>,
    /// Whether it finds out for all others if the service is back.
    pub(crate) probes: bool,
    /// Set for a step that asks for another task: that one's namespace and priority, and whether it is sure that it was done.
    pub(crate) asks: Option<(Arc<str>, i8, bool)>,
    /// Set for a step whose service may answer later: what that one's URL is known by.
    pub(crate) callback: Option<Token>,
    /// The trace that the task belongs to, if that is known; otherwise it is among what is missing.
    pub(crate) trace: Option<Arc<Trace>>,
}

impl Order {
    /// The step that is made, for an item or not.
    pub(crate) fn step(&self) -> StepId {
        self.item.map_or(self.dispatch.step, |fan| fan.step)
    }

    /// What is needed to make it, once all of it is in memory.
    fn ready<S: Store>(self, shared: &Arc<Shared<S>>) -> Result<Ready, Answer> {
        let id = self.step();
        let Self {
            task,
            workflow,
            dispatch,
            calls_used,
            mut known,
            missing: _,
            item,
            edited,
            series,
            turn,
            probes,
            asks,
            callback,
            trace,
        } = self;
        let trace = trace.or_else(|| Some(Arc::new(Trace::unpack(&known.kept(StepId::OF_TRACE)?)?)));
        if edited {
            known.input = known.kept(StepId::of_input(id));
        }
        let item = match item
            .and_then(|fan| fan.place_of(dispatch.step))
            .map(|place| item_at(&mut known, &dispatch, place))
        {
            Some(Err(why)) => return Err(bad_item(&why)),
            Some(Ok(item)) => Some(item),
            None => None,
        };
        let step = workflow.definition().step(id);
        let hears: Arc<dyn Hears> = Arc::<Shared<S>>::clone(shared);
        let parent = asks.map(|(namespace, priority, sure)| {
            let key = step_key(task, step.name(), dispatch.series);
            let child = child_id(task, item.as_ref().map_or(key, |item| item_key(key, item.place)));
            let tasks: Arc<dyn Tasks> = Arc::<Shared<S>>::clone(shared);
            Box::new(Parent { tasks, task, step: dispatch.step, child, namespace, priority, sure })
        });
        let work = Arc::new(Work {
            task,
            step: dispatch.step,
            undo: dispatch.undo,
            number: dispatch.attempt,
            round: dispatch.round,
            key: key_of(task, step.name(), &dispatch, item.as_ref()),
            series: series.into_iter().map(|(step, series)| (step_name(&workflow, step), series)).collect(),
            known,
            item,
            pulse: Pulse::new(hears, shared.clock.clone(), (task, dispatch.step, dispatch.attempt)),
            parent,
            callback: callback.map(|token| CallbackId::new(task, dispatch.step, token)),
            trace,
        });
        Ok(Ready { workflow, dispatch, step: id, calls_used, work, turn, probes })
    }
}

/// The attempt that a service answers later, as it was made: for what its answer becomes.
pub(crate) async fn work_of<S: Store>(
    shared: &Arc<Shared<S>>,
    order: Box<Order>,
) -> Result<Arc<Work>, Error> {
    let unread = || StoreError::new(Kind::Unavailable, "what the step reads could not be read");
    match prepare(shared, order).await {
        Some(Ok(ready)) => Ok(ready.work),
        Some(Err(_)) | None => Err(unread().into()),
    }
}

/// What is needed to make an attempt.
pub(crate) struct Ready {
    pub(crate) workflow: Arc<Workflow>,
    pub(crate) dispatch: Dispatch,
    pub(crate) step: StepId,
    pub(crate) calls_used: u32,
    pub(crate) work: Arc<Work>,
    pub(crate) turn: Option<Turn>,
    pub(crate) probes: bool,
}

/// Reads what an attempt needs; an answer if it cannot be made, `None` for silence.
pub(crate) async fn prepare<S: Store>(
    shared: &Arc<Shared<S>>,
    mut order: Box<Order>,
) -> Option<Result<Ready, Answer>> {
    if !order.missing.is_empty() {
        let missing = std::mem::take(&mut order.missing);
        order.known.read(shared, order.task, missing, order.dispatch.complete_by).await?;
    }
    Some(order.ready(shared))
}

/// The item that an attempt is about. Its part of the list is not needed any more.
fn item_at(known: &mut Known, dispatch: &Dispatch, place: u16) -> Result<Item, String> {
    let part = StepId::of_list(dispatch.step.item().unwrap_or_default());
    let list = known.kept(part).ok_or("its part of the list is not there")?;
    known.outputs.retain(|(at, _)| *at != part);
    Ok(Item { place, value: item_of(&list, place)? })
}

/// What an attempt was to be made for could not be read: nothing was called.
fn bad_item(why: &str) -> Answer {
    let kind = Arc::from(shortened(format!("bad-item: {why}")));
    Answer::Failed(Failure { kind, calls: 0, effect: Effect::None, again: None })
}

/// The key of a step, of its undo, of one of its rounds or items: the same for each attempt, everywhere and always.
fn key_of(task: TaskId, step: &str, dispatch: &Dispatch, item: Option<&Item>) -> IdempotencyKey {
    let key = step_key(task, step, dispatch.series);
    let key = item.map_or(key, |item| item_key(key, item.place));
    match (dispatch.undo, dispatch.round) {
        (true, _) => key.member("undo"),
        (false, 0) => key,
        (false, round) => key.member(&format!("round {round}")),
    }
}

pub(crate) fn item_key(step: IdempotencyKey, place: u16) -> IdempotencyKey {
    step.member(&format!("item {place}"))
}

/// The key of a step in its series: one that an operator has begun anew has another.
pub(crate) fn step_key(task: TaskId, step: &str, series: u32) -> IdempotencyKey {
    let key = IdempotencyKey::from_u128(task.as_u128()).member(step);
    if series == 0 { key } else { key.member(&format!("series {series}")) }
}

fn step_name(workflow: &Workflow, step: StepId) -> Arc<str> {
    Arc::from(workflow.definition().step(step).name())
}
