//! What a 3-step task costs in this store: one submission and four writes, alone and with many callers at once.
//!
//! ```text
//! cargo run --release -p steadfast-store-sqlite --example commits [FOLDER [CALLERS TASKS]...]
//! ```
//!
//! All plans are made before the time is taken, so that what is measured is the store and what wakes its callers.
//! Count the syncs from outside: `strace -f -c -e trace=fsync,fdatasync target/release/examples/commits /tmp 1 300`.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a measurement, not a part")]

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant, SystemTime};

use steadfast_engine::{Answer, Definition, Event, Step, StepId, Task, Time, decide};
use steadfast_store::{
    Guard, Hold, NodeId, Nodes as _, Payload, Submission, Submitted, TaskId, Tasks as _, Write, Written,
};
use steadfast_store_sqlite::Sqlite;

const NODE: NodeId = NodeId::from_u128(1);
const PAYLOAD: usize = 100;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let numbers: Vec<usize> = arguments.map(|number| number.parse().unwrap()).collect();
    let cases = if numbers.is_empty() { &[1, 300, 200, 20_000] } else { &numbers[..] };
    for case in cases.chunks_exact(2) {
        measure(&folder, case[0], case[1]);
    }
}

fn measure(folder: &Path, callers: usize, tasks: usize) {
    let path = folder.join(format!("steadfast-commits-{}-{callers}.db", std::process::id()));
    let store = Sqlite::open(&path, wall).unwrap();
    block_on(vec![Box::pin(async {
        let _ = store.renew(NODE, Duration::from_secs(3_600)).await.unwrap();
    })]);
    let mut work: Vec<Vec<Script>> = (0..callers).map(|_| Vec::new()).collect();
    for number in 0..tasks {
        work[number % callers].push(Script::new(number));
    }
    let before = (Instant::now(), cpu(""), cpu("steadfast-write"), store.commits());
    block_on(work.into_iter().map(|scripts| Box::pin(play(&store, scripts)) as Caller<'_>).collect());
    let (all, writer) = (cpu("") - before.1, cpu("steadfast-write") - before.2);
    let (took, commits) = (before.0.elapsed(), store.commits() - before.3);
    drop(store);
    let bytes = std::fs::metadata(&path).unwrap().len();
    for end in ["", "-wal", "-shm", ".owner"] {
        let _ = std::fs::remove_file(format!("{}{end}", path.display()));
    }
    let each = |total: f64| total / f64::from(u32::try_from(tasks).unwrap());
    println!(
        "{callers:>4} callers: {:>7.0} tasks/s, {:>5.2} commits, {:>6.1} us CPU (writer {:.1}), {:>5.0} bytes for each of {tasks} tasks",
        1.0 / each(took.as_secs_f64()),
        each(f64::from(u32::try_from(commits).unwrap())),
        each(all.as_secs_f64()) * 1e6,
        each(writer.as_secs_f64()) * 1e6,
        each(f64::from(u32::try_from(bytes).unwrap())),
    );
}

fn wall() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Time::from_millis(u64::try_from(since.as_millis()).unwrap())
}

/// Processor time of this process's threads whose name begins so, from the system's own books.
fn cpu(name: &str) -> Duration {
    let mut sum = 0;
    for thread in std::fs::read_dir("/proc/self/task").unwrap() {
        let path = thread.unwrap().path();
        if std::fs::read_to_string(path.join("comm")).unwrap().starts_with(name) {
            let stat = std::fs::read_to_string(path.join("schedstat")).unwrap();
            sum += stat.split_whitespace().next().unwrap().parse::<u64>().unwrap();
        }
    }
    Duration::from_nanos(sum)
}

/// Everything that is stored of one task, in its order.
struct Script {
    submission: Submission,
    writes: Vec<Write>,
}

impl Script {
    fn new(number: usize) -> Self {
        let step =
            |name: &str| Step::new(name, "shop").complete_within(Duration::from_secs(10)).nothing_to_undo();
        let definition = Definition::builder("order")
            .complete_within(Duration::from_secs(60))
            .step(step("reserve"))
            .step(step("charge").after(["reserve"]))
            .step(step("send").after(["charge"]))
            .build()
            .unwrap();
        let now = wall();
        // As version 7 has them: the time first, and then what nobody can guess.
        let noise = u128::try_from(number).unwrap().wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        let id = TaskId::from_u128((u128::from(now.as_millis()) << 80) | (noise >> 48));
        let mut task = Task::new(&definition, now);
        let submission = Submission {
            id,
            namespace: Arc::from(""),
            workflow: Arc::from("order"),
            version: 1,
            shape: definition.shape(),
            key: Some(Arc::from(format!("order-{number}"))),
            priority: 0,
            input: Payload::from([1; PAYLOAD]),
            task: task.clone(),
            owner: Some(NODE),
            messages: Vec::new(),
            outputs: Vec::new(),
            more: None,
        };
        let steps = [0, 1, 2].map(StepId::at);
        let granted = |place: usize| Event::granted(steps[place]);
        let answered =
            |place: usize| Event::Answered { step: steps[place], attempt: 1, answer: Answer::Completed };
        let events = [
            vec![Event::Claimed, granted(0)],
            vec![answered(0), granted(1)],
            vec![answered(1), granted(2)],
            vec![answered(2)],
        ];
        let writes = (0_u64..).zip(&events).map(|(revision, events)| {
            let (mut head, mut rows) = (None, BTreeMap::new());
            for event in events {
                let plan = decide(&definition, &task, event, now);
                assert!(plan.changes_anything(), "{event:?}");
                task.apply(&plan);
                head = plan.head().cloned().or(head);
                rows.extend(plan.steps().iter().cloned());
            }
            let outputs = match revision {
                0 => Vec::new(),
                done => vec![(StepId::at(u16::try_from(done - 1).unwrap()), Payload::from([2; PAYLOAD]))],
            };
            let guard = Guard { epoch: 1, revision, mail: None };
            Write {
                task: id,
                guard,
                head,
                steps: rows.into_iter().collect(),
                outputs,
                mail_read: None,
                hold: Hold::Keep,
                parked_on: None,
                messages: Vec::new(),
                audits: Vec::new(),
            }
        });
        let writes = writes.collect();
        assert!(task.state().is_at_rest());
        Self { submission, writes }
    }
}

async fn play(store: &Sqlite, scripts: Vec<Script>) {
    for Script { submission, writes } in scripts {
        assert_eq!(store.submit(vec![submission]).await.unwrap(), [Submitted::New]);
        for (revision, write) in (1..).zip(writes) {
            assert_eq!(store.write(vec![write]).await.unwrap(), [Written::Done(revision)]);
        }
    }
}

type Caller<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Who was woken, and the thread that polls them.
struct Awake {
    ready: Mutex<VecDeque<usize>>,
    thread: Thread,
}

struct Bell(usize, Arc<Awake>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.1.ready.lock().unwrap().push_back(self.0);
        self.1.thread.unpark();
    }
}

/// Runs all callers to their end on this thread.
fn block_on(callers: Vec<Caller<'_>>) {
    let ready = Mutex::new((0..callers.len()).collect());
    let awake = Arc::new(Awake { ready, thread: std::thread::current() });
    let wakers: Vec<_> =
        (0..callers.len()).map(|at| Waker::from(Arc::new(Bell(at, Arc::clone(&awake))))).collect();
    let mut callers: Vec<_> = callers.into_iter().map(Some).collect();
    let mut left = callers.len();
    while left > 0 {
        let woken = std::mem::take(&mut *awake.ready.lock().unwrap());
        if woken.is_empty() {
            std::thread::park();
        }
        for at in woken {
            let Some(caller) = &mut callers[at] else { continue };
            if caller.as_mut().poll(&mut Context::from_waker(&wakers[at])).is_ready() {
                callers[at] = None;
                left -= 1;
            }
        }
    }
}
