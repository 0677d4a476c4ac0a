//! Durable multi-step work across services that fail. Every task completes as a whole, is undone as a whole, or lands in an
//! operator's hands with the reason; nothing that was acknowledged is lost. One dependency, one file, no server.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use steadfast::{Engine, Failure, Outcome, Service, Workflow};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Order {
//!     sku: String,
//!     total: u32,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (inventory, payments) = (Service::standard("inventory"), Service::standard("payments"));
//!
//! let mut flow = Workflow::<Order>::builder("place-order");
//! let reserve = flow
//!     .step("reserve", &inventory, |cx| async move { Ok::<_, Failure>(format!("{} is yours", cx.input.sku)) })
//!     .undo(|_| async { Ok::<_, Failure>(()) })
//!     .add();
//! let charge = flow
//!     .step("charge", &payments, move |cx| async move {
//!         let reservation: String = cx.output(reserve)?;
//!         Ok::<_, Failure>(format!("{reservation} for {}", cx.input.total))
//!     })
//!     .after(reserve)
//!     .nothing_to_undo()
//!     .add();
//! let place_order = flow.returns(charge)?;
//!
//! let engine = Engine::builder("memory:").workflow(&place_order).start().await?;
//! let order = Order { sku: "a chair".to_owned(), total: 70 };
//! let task = engine.submit(&place_order, &order).key("order-7").await?;
//! match task.outcome().await? {
//!     Outcome::Completed(receipt) => assert_eq!(receipt, "a chair is yours for 70"),
//!     Outcome::Undone(why) | Outcome::Failed(why) => panic!("{why}"),
//! }
//! engine.shut_down().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A *step* calls a *service* through its pipeline of [`steadfast_resilience`]: retry, breaker, time limits. Its output is
//! stored before the next step begins. When a step fails for good, what was done before is undone in reverse order. When the
//! process dies, the next one goes on from where it was: state is rows, and no code is run again to find out.
//!
//! Everything that the calls of this crate return can be named from here, such as what is in a task's history:
//!
//! ```
//! use steadfast::{Cause, Entry, Head, Record, StepId, Task, Time, Workflow};
//!
//! /// Who is to blame for the end of a task, and since when.
//! async fn blamed(task: &Task<()>, workflow: &Workflow<u32>) -> Result<Option<(String, Time)>, steadfast::Error> {
//!     let history: Vec<Entry> = task.history().await?;
//!     let ended = history.iter().find_map(|entry: &Entry| {
//!         let head: &Head = entry.head.as_ref()?;
//!         Some((head.ending.as_ref()?.cause.clone(), entry.at))
//!     });
//!     let failures: Vec<&(StepId, Record)> = history.iter().flat_map(|entry| &entry.steps).collect();
//!     Ok(ended.map(|(cause, at)| match cause {
//!         Cause::StepFailed(step) => {
//!             let times = failures.iter().filter(|(of, record)| *of == step && record.failures > 0).count();
//!             (format!("{}, written {times} times", workflow.step_name(step).unwrap_or("nobody")), at)
//!         }
//!         other => (format!("{other:?}"), at),
//!     }))
//! }
//! ```

mod any_store;
mod bulk;
mod callback;
mod child;
mod context;
mod deed;
mod each;
mod engine;
mod error;
mod failure;
mod group;
mod house;
mod operator;
mod place;
mod reply;
mod schedule;
mod signal;
mod step;
mod steps;
mod submit;
mod submit_in;
mod task;
mod tasks;
mod wait;
mod workflow;

pub use bulk::{Bulk, BulkAsk, BulkAsked, BulkOf};
pub use child::{ChildBuilder, ChildrenBuilder};
pub use context::{Context, Seen};
pub use each::{EachBuilder, ItemsRef};
pub use engine::{Builder as EngineBuilder, Engine, Events, Opened};
pub use error::{Code, Error};
pub use failure::Failure;
pub use group::{GroupBuilder, GroupRef};
pub use house::verify_file;
pub use operator::{Ask, Asked, Operator, Plain, Retry, RetryUndo, Skip};
pub use reply::Replies;
pub use schedule::Schedule;
pub use signal::Signal;
pub use steadfast_engine::schedule::rfc3339;
pub use steadfast_engine::{
    Action, Block, Builder as DefinitionBuilder, Cause, Change, Circuit, CircuitState, Definition, End,
    Ending, Fan, Head, HeadMore, Held, Invalid, Kept, On, OnFailure, Paused, Problem, Record, RecordMore,
    Recovery, Repeat, Step, StepId, StepState, TaskState, Time, Undo, UndoState, Wait, Why,
};
pub use steadfast_resilience as resilience;
pub use steadfast_runtime::schedule::{
    Declared, LastError, LastRun, Missed, Overlap, Status as ScheduleStatus,
};
pub use steadfast_runtime::{
    Alert, AlertError, AlertId, AlertKind, AlertSettings, AlertState, BadCallbackId, BadLine, BulkRecord,
    BulkState, BulkStatus, CallbackId, CallbackSays, CalledBack, CircuitRecord, CleanedUp, Deed, Imported,
    Past, QueueLevel, QueueStatus, Reply, ReplyError, ReplySettings, ReplyTo, Says, Service, Settings, Spans,
    Stats, Told, Trace, VerifyReport, Wanted, What,
};
pub use steadfast_store::{
    Audit, AuditId, Audited, BackedUp, BadId, Entry, Finding, FindingKind, Labels, MAX_LABEL, MAX_LABELS,
    PutText, ReplyId, TaskId, WorkflowText,
};
/// For programs without an engine that hand submissions in, and the version of `rusqlite` that their connections must be of.
pub use steadfast_store_sqlite::{HandIn, rusqlite};
pub use step::{StepBuilder, StepRef};
pub use steps::Steps;
pub use submit::Submit;
pub use submit_in::SubmitIn;
pub use task::{Outcome, Reason, Status, StepStatus, Task};
pub use tasks::{Page, Summary, Tasks};
pub use wait::{ForSignal, ForTime, SignalBuilder, WaitBuilder};
pub use workflow::{Builder as WorkflowBuilder, Workflow};

/// The guide's examples, run as tests.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../docs/guide/first-workflow.md")]
    struct FirstWorkflow;
    #[doc = include_str!("../../../docs/guide/undo.md")]
    struct Undo;
    #[doc = include_str!("../../../docs/guide/deadlines-and-recovery.md")]
    struct DeadlinesAndRecovery;
    #[doc = include_str!("../../../docs/guide/waiting-signals-schedules.md")]
    struct WaitingSignalsSchedules;
    #[doc = include_str!("../../../docs/guide/fan-out.md")]
    struct FanOut;
    #[doc = include_str!("../../../docs/guide/telling-the-submitter.md")]
    struct TellingTheSubmitter;
    #[doc = include_str!("../../../docs/guide/operating.md")]
    struct Operating;
    #[doc = include_str!("../../../docs/guide/alerts.md")]
    struct Alerts;
    #[doc = include_str!("../../../docs/guide/limits-and-fairness.md")]
    struct LimitsAndFairness;
    #[doc = include_str!("../../../docs/guide/when-a-service-is-down.md")]
    struct WhenAServiceIsDown;
    #[doc = include_str!("../../../docs/guide/backup-and-retention.md")]
    struct BackupAndRetention;
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../../../README.md")]
    struct WholeReadme;
}
