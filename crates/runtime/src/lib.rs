//! The loops that carry decisions out. A [`Node`] is one process at work on one store.
//!
//! - The **scheduler** holds the tasks that this node owns. Events go in, `decide` says what follows, the rows are written,
//!   and only when they are durable is anything dispatched.
//! - An **agent** makes one attempt: it calls the handler through its service's pipeline until the complete-by, and answers
//!   once or falls silent.
//! - The **supervisor** looks for what is past its time, whoever owns it, and moves it on in one atomic write.
//! - The **outbox** delivers what somebody has to be told: alerts, to the program's hooks and into the log.
//! - **Replies** tell those who submitted what became of their tasks: by queues that they poll, and by hooks.
//! - The **intake** makes tasks of what others have handed in, in transactions of their own.
//! - **Schedules** begin recurring work: each run is a submission under a key of its own.
//! - **Retention** removes tasks whose time is over, a few at a time; others copy and check the store when somebody asks.
//! - The **lease** says that this node lives. A node that cannot renew it stops by its own clock before others begin.

mod agent;
mod alert;
mod audit;
mod bulk;
mod callback;
mod child;
mod circuits;
mod clock;
mod deed;
mod error;
mod extra;
mod find;
mod handler;
mod house;
mod intake;
mod judge;
mod lease;
mod message;
mod node;
mod operate;
mod order;
mod outbox;
mod pulse;
mod register;
mod reply;
pub mod schedule;
mod scheduler;
mod service;
mod settings;
mod shared;
mod span;
mod stats;
mod supervisor;
mod trace;
mod watch;
mod why;
mod workflow;

pub use alert::{Alert, AlertError, AlertId, AlertKind, AlertSettings, AlertState, circuit};
pub use bulk::{BulkRecord, BulkState, BulkStatus, NewBulk, Wanted};
pub use callback::{BadCallbackId, CallbackId, CallbackSays, CalledBack};
pub use child::{ChildInput, Parent, child, children};
pub use circuits::{CircuitRecord, Past};
pub use deed::Deed;
pub use error::{Error, ErrorKind};
pub use extra::Extra;
pub use find::{Find, FoundTasks};
pub use handler::{Answered, BAD_PAYLOAD, Fault, Handler, Item, Work, blocking};
pub use house::{BadLine, CleanedUp, Imported, VerifyReport};
pub use message::{Operation, Request};
pub use node::{New, Node, Start, Submitted};
pub use pulse::{MAX_PROGRESS, Pulse};
pub use reply::{BadAddress, QueueLevel, QueueStatus, Reply, ReplyError, ReplySettings, ReplyTo, Says};
pub use service::Service;
pub use settings::Settings;
pub use span::Spans;
pub use stats::Stats;
pub use trace::Trace;
pub use watch::{Rested, Told, What};
pub use workflow::{Code, Condition, Done, Fits, Known, Later, List, Typed, Until, Workflow, Workflows};
