//! Recurring work in virtual time.

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::common;

mod door;
mod faults;
mod missed;
mod overlap;
mod year;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::{Act, Books, Flow, always, known, quick, s, service, sleep, step};
use steadfast_engine::Time;
use steadfast_engine::schedule::rfc3339;
use steadfast_resilience::clock::Clock;
use steadfast_runtime::schedule::{Declaration, Declared, Missed, Overlap, Rules, Status, TimeZone};
use steadfast_runtime::{Node, Settings, Workflow};
use steadfast_store::{Memory, Payload, Store, Stored, TaskId, Tasks as _};

/// 2026-03-01T00:00:00Z, a Sunday.
const BEGIN: u64 = 1_772_323_200_000;

/// A store whose clock can be set, beside running with tokio's.
#[derive(Clone)]
struct World {
    store: Memory,
    /// Milliseconds by which the machine's clock was set ahead.
    set_ahead: Arc<AtomicU64>,
}

impl World {
    fn new() -> Self {
        Self::at(Time::from_millis(BEGIN))
    }

    fn at(begin: Time) -> Self {
        let (clock, set_ahead) = (Clock::tokio(), Arc::new(AtomicU64::new(0)));
        let (began, ahead) = (clock.now(), Arc::clone(&set_ahead));
        let store = Memory::new(move || {
            begin + clock.now().since(began) + Duration::from_millis(ahead.load(Ordering::SeqCst))
        });
        Self { store, set_ahead }
    }

    /// The keys of all tasks, with their tasks.
    async fn runs(&self) -> BTreeMap<String, Stored> {
        let ids: Vec<TaskId> = self.store.tasks();
        let tasks = self.store.read(ids).await.unwrap().into_iter().flatten();
        tasks.map(|stored| (stored.key.as_deref().unwrap_or("").to_owned(), stored)).collect()
    }

    /// The instants of all tasks, each of which must be there once.
    async fn instants(&self) -> Vec<String> {
        let runs = self.runs().await;
        assert_eq!(runs.len(), self.store.tasks().len(), "each instant has one task");
        runs.keys().map(|key| key.split_once('@').unwrap().1.to_owned()).collect()
    }
}

/// A workflow of one step that does this.
fn flow(act: Act) -> (Arc<Workflow>, Books) {
    Flow::new("report").step(step("write"), service("svc"), always(act)).build()
}

async fn start<T: Store>(store: T, workflow: &Arc<Workflow>) -> Node<T> {
    Node::start(store, known(&[workflow]), quick(), Clock::tokio()).await.unwrap()
}

/// In the morning of that day of March 2026.
fn at(day: u64, hour: u64, minute: u64) -> String {
    format!("2026-03-{day:02}T{hour:02}:{minute:02}:00Z")
}

fn declaration(workflow: &Arc<Workflow>, when: &str) -> Declaration {
    Declaration {
        workflow: Arc::clone(workflow),
        namespace: Arc::from(""),
        input: Payload::from(b"1".as_slice()),
        rules: Rules::new(when.parse().unwrap()),
        zone: TimeZone::utc(),
        overlap: Overlap::Allow,
    }
}

async fn declare<T: Store>(node: &Node<T>, workflow: &Arc<Workflow>, when: &str) -> Declared {
    node.declare_schedule("nightly", declaration(workflow, when)).await.unwrap()
}

async fn listed<T: Store>(node: &Node<T>) -> Status {
    node.schedules().await.unwrap().into_iter().next().unwrap()
}
