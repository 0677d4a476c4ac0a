//! The rules of durable tasks: what a workflow may say, which states tasks and steps have, and what follows from an event.
//!
//! Everything here is pure. There is no clock, no randomness, no I/O and no async: time, retry decisions and evaluated
//! conditions come in with the event, and what is to be done comes out as a [`Plan`]. [`decide`] is the one place where
//! states change.
//!
//! ```
//! use std::time::Duration;
//! use steadfast_engine::{Ask, Definition, Event, Step, Task, Time, decide};
//!
//! let order = Definition::builder("place-order")
//!     .step(Step::new("reserve", "inventory").undo(Duration::from_secs(30)))
//!     .step(Step::new("charge", "payments").after(["reserve"]).nothing_to_undo())
//!     .build()?;
//! let mut task = Task::new(&order, Time::from_millis(0));
//!
//! // A scheduler has claimed it: the first step wants to run.
//! let plan = decide(&order, &task, &Event::Claimed, Time::from_millis(1));
//! let reserve = order.step_named("reserve").unwrap();
//! assert_eq!(plan.asks(), [Ask::Permit(reserve)]);
//! task.apply(&plan);
//! # Ok::<(), steadfast_engine::Invalid>(())
//! ```

mod action;
mod decide;
mod definition;
mod event;
mod plan;
pub mod schedule;
mod task;
mod time;

pub use action::Action;
pub use decide::decide;
pub use definition::{
    Builder, CHILD_GONE, CHILD_UNFIT, CHILDREN, CHUNK, Definition, Each, Invalid, MAX_AT_A_TIME, MAX_ITEMS,
    MAX_NAME, MAX_STEPS, OnFailure, Problem, Recovery, Repeat, Step, StepId, Undo, Wait,
};
pub use event::{Answer, Block, Effect, Event, Failure};
pub use plan::{Ask, Dispatch, Ignored, Notice, Plan};
pub use task::{
    Callback, Cause, Change, Circuit, CircuitState, End, Ending, Fan, Head, HeadMore, Held, Kept, NotCounted,
    NotTaken, On, Paused, Record, RecordMore, Since, Spent, StepState, Task, TaskState, Token, UndoState,
    Why,
};
pub use time::Time;
