//! Replies: whoever submitted is told what becomes of the task, at least once and in order [N1, N2].

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::flaky::Flaky;
use common::told::Told;
use common::*;
use steadfast_engine::{Action, OnFailure, StepId};
use steadfast_resilience::Attempt;
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{
    AlertKind, AlertState, Answered, Code, ErrorKind, Extra, Node, Operation, QueueLevel, Reply, ReplyTo,
    Says, Start, Work, Workflow,
};
use steadfast_store::{PayloadKey, Replies as _, ReplyId, Store, TaskId, Tasks as _};

fn orders() -> ReplyTo {
    ReplyTo::queue("orders")
}

fn replying() -> Extra {
    Extra { reply_to: Some(orders()), correlation: Some(Arc::from("order-7")), ..Extra::default() }
}

async fn submit_to<T: Store>(node: &Node<T>, workflow: &Arc<Workflow>, extra: Extra) -> TaskId {
    node.submit_with(new(workflow), Start::Now, extra).await.unwrap().task
}

/// Takes all that is there, acknowledging one after the other.
async fn drain<T: Store>(node: &Node<T>) -> Vec<Reply> {
    let mut all = Vec::new();
    loop {
        let taken = node.take_replies(&orders(), 3, s(30)).await.unwrap();
        if taken.is_empty() {
            return all;
        }
        let acknowledged = node.acknowledge(taken.iter().map(|reply| reply.id)).await.unwrap();
        assert_eq!(acknowledged, taken.len());
        all.extend(taken);
    }
}

fn words(replies: &[Reply]) -> Vec<String> {
    let word = |reply: &Reply| match &reply.says {
        Says::Progress { step, progress } => format!("{step} {}", String::from_utf8_lossy(progress)),
        Says::Completed { result } => format!("completed {}", String::from_utf8_lossy(result)),
        Says::Undone { reason } | Says::Failed { reason } => reason.clone(),
        other => format!("{other:?}").to_lowercase(),
    };
    replies.iter().map(word).collect()
}

#[tokio::test(start_paused = true)]
async fn a_task_tells_that_it_was_received_and_that_it_has_completed_with_its_result() {
    let (workflow, _) = saga(fine(), fine());
    let workflow = Arc::new(Arc::into_inner(workflow).unwrap().returning(Some(StepId::at(1))));
    let node = node(memory(), &workflow).await;
    let task = submit_to(&node, &workflow, replying()).await;
    node.at_rest(task).await.unwrap();
    let replies = drain(&node).await;
    assert_eq!(words(&replies), ["received", "completed \"b\""]);
    let ids: Vec<_> = replies.iter().map(|reply| reply.id).collect();
    assert_eq!(ids, [1, 2].map(|number| ReplyId { task, number }));
    for reply in &replies {
        assert_eq!(
            (reply.correlation.as_deref(), &*reply.workflow, reply.tries),
            (Some("order-7"), "saga", 1)
        );
    }
    assert_eq!(node.reply_queues().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_replies_to_nobody_stores_nothing_for_that() {
    let (workflow, _) = saga(fine(), fine());
    let store = memory();
    let node = node(store.clone(), &workflow).await;
    let ended = run(&node, &workflow).await;
    let place = PayloadKey { task: ended.id, step: Some(StepId::OF_REPLIES) };
    assert_eq!(store.payloads(vec![place]).await.unwrap(), [None]);
    assert_eq!(store.reply_queues().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_fails_and_is_repaired_tells_both() {
    let (workflow, _) = Flow::new("repaired")
        .step(step("a").on_failure(OnFailure::Error), service("svc"), first(vec![NO]))
        .build();
    let node = node(memory(), &workflow).await;
    let task = submit_to(&node, &workflow, replying()).await;
    node.at_rest(task).await.unwrap();
    let retry = Action::Retry { step: StepId::at(0), edited: false, did_not_happen: false };
    node.operate(task, Operation::new(retry, "ana", "mended")).await.unwrap();
    node.at_rest(task).await.unwrap();
    let failed = "failed: an operator decides; step `a` failed: bad-request: scripted";
    let told = words(&drain(&node).await);
    assert_eq!((told.len(), &*told[0], &*told[2]), (3, "received", "completed null"));
    assert!(told[1].contains("step `a` failed: bad-request: scripted"), "{} is not {failed}", told[1]);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_undone_tells_why() {
    let [a, b, _] = fine();
    let (workflow, books) = saga([a, b, always(NO)], fine());
    let node = node(memory(), &workflow).await;
    let task = submit_to(&node, &workflow, replying()).await;
    node.at_rest(task).await.unwrap();
    let told = words(&drain(&node).await);
    assert_eq!((told.len(), books.calls("undo a")), (2, 1));
    assert!(told[1].contains("step `c` failed: bad-request: scripted"), "{}", told[1]);
    // And once more when somebody has it undone that had completed.
    let (workflow, _) = saga(fine(), fine());
    let node = common::node(memory(), &workflow).await;
    let task = submit_to(&node, &workflow, replying()).await;
    node.at_rest(task).await.unwrap();
    node.undo(task, "ana", "the customer has gone").await.unwrap();
    node.at_rest(task).await.unwrap();
    let told = words(&drain(&node).await);
    assert_eq!((told.len(), &*told[1]), (3, "completed null"));
    assert!(told[2].contains("the customer has gone"), "{}", told[2]);
}

/// A step that tells how far it is, so often, and then ends.
fn telling(parts: u32, pause: Duration) -> Arc<Workflow> {
    let run = move |work: &Arc<Work>, _: Attempt| -> Answered {
        let work = Arc::clone(work);
        Box::pin(async move {
            for part in 1..=parts {
                work.pulse.progress(part.to_string().into_bytes().into()).unwrap();
                sleep(pause).await;
            }
            Ok(b"\"done\"".as_slice().into())
        })
    };
    let long = step("long").complete_within(s(3_600)).nothing_to_undo();
    Flow::new("telling").coded(long, service("svc"), Code::new(Arc::new(run))).build().0
}

#[tokio::test(start_paused = true)]
async fn of_progress_that_nobody_reads_only_the_last_is_kept() {
    let workflow = telling(10, s(2));
    let node = node(memory(), &workflow).await;
    let task = submit_to(&node, &workflow, replying()).await;
    sleep(s(11)).await;
    let replies = drain(&node).await;
    assert_eq!(words(&replies), ["received", "long 6"]);
    assert!(replies[1].number() > 2, "those before it were replaced: {:?}", replies[1].id);
    node.at_rest(task).await.unwrap();
    assert_eq!(words(&drain(&node).await), ["long 10", "completed null"]);
    assert!(node.history(task).await.unwrap().len() < 6, "progress is no history");
}

/// Hooks: noted with the number of the try, failing as a script says.
type Noted = Arc<Mutex<Vec<(ReplyId, u32)>>>;

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_is_told_again_with_the_same_id_and_those_behind_wait() {
    let (workflow, _) = saga(fine(), fine());
    let (noted, calls) = (Noted::default(), Arc::new(AtomicU32::new(0)));
    let mut settings = quick();
    let book = Arc::clone(&noted);
    settings.replies.on_reply("mail", move |reply| {
        book.lock().unwrap().push((reply.id, reply.tries));
        let nth = calls.fetch_add(1, Ordering::SeqCst);
        async move {
            match nth {
                0 => Err("the mail server is away".into()),
                1 => std::panic::resume_unwind(Box::new("scripted")),
                2 => std::future::pending().await,
                _ => Ok(()),
            }
        }
    });
    let node = node_with(memory(), &workflow, settings).await;
    let extra = Extra { reply_to: Some(ReplyTo::hook("mail")), ..Extra::default() };
    let task = submit_to(&node, &workflow, extra).await;
    sleep(s(60)).await;
    let id = |number| ReplyId { task, number };
    let expected = [(id(1), 1), (id(1), 2), (id(1), 3), (id(1), 4), (id(2), 1)];
    assert_eq!(*noted.lock().unwrap(), expected);
    assert_eq!((node.stats().replied, node.reply_queues().await.unwrap()), (2, vec![]));
    let unknown = Extra { reply_to: Some(ReplyTo::hook("fax")), ..Extra::default() };
    let error = node.submit_with(new(&workflow), Start::Now, unknown).await.unwrap_err();
    assert!(error.to_string().starts_with("no hook `fax` is registered here"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_unread_queue_is_bounded_and_says_so() {
    let (workflow, _) = saga(fine(), fine());
    let told = Told::default();
    let mut settings = told.settings();
    settings.replies.most_waiting = 10;
    let store = memory();
    let node = node_with(store.clone(), &workflow, settings).await;
    let mut refused = None;
    let mut taken = 0;
    while refused.is_none() {
        match node.submit_with(new(&workflow), Start::Now, replying()).await {
            Ok(_) => taken += 1,
            Err(error) => refused = Some(error),
        }
        sleep(s(6)).await;
    }
    let error = refused.unwrap();
    assert!(matches!(error.kind(), ErrorKind::QueueFull { waiting: 10, .. }), "{error}");
    assert!(error.is_transient());
    assert_eq!(taken, 5, "each tells twice");
    let [queue] = &node.reply_queues().await.unwrap()[..] else { panic!("one queue") };
    assert_eq!((queue.waiting, queue.most, queue.level), (10, 10, QueueLevel::Full));
    let alerts: Vec<_> =
        told.taken().iter().map(|alert| (alert.kind, alert.state, alert.words.clone())).collect();
    assert!(alerts[0].2.ends_with("it is nearly full"), "{alerts:?}");
    assert!(alerts[1].2.contains("it is full: submissions that name it are refused"), "{alerts:?}");
    // Others are taken as ever.
    node.submit(new(&workflow)).await.unwrap();
    assert_eq!(drain(&node).await.len(), 10, "nothing was lost");
    sleep(s(10)).await;
    let last = told.taken().last().cloned().unwrap();
    assert_eq!((last.kind, last.state), (AlertKind::ReplyQueue, AlertState::Cleared));
    submit_to(&node, &workflow, replying()).await;
}

/// A reader that is away keeps no task from its end: the bound is what open tasks have still to tell.
#[tokio::test(start_paused = true)]
async fn tasks_under_way_end_while_the_queue_is_full() {
    let workflow = telling(5, s(2));
    let mut settings = quick();
    settings.replies.most_waiting = 5;
    let node = node_with(memory(), &workflow, settings).await;
    let mut tasks = Vec::new();
    for _ in 0..3 {
        tasks.push(submit_to(&node, &workflow, replying()).await);
        // Its first words are stored.
        sleep(Duration::from_millis(10)).await;
    }
    assert!(node.submit_with(new(&workflow), Start::Now, replying()).await.is_err());
    for task in tasks {
        node.at_rest(task).await.unwrap();
    }
    let told = words(&drain(&node).await);
    let ends = told.iter().filter(|words| **words == "completed null").count();
    assert_eq!((ends, told.len()), (3, 8), "progress was left out first: {told:?}");
}

/// A node, over a store that may not let it begin at first.
async fn begin(store: &Flaky, workflow: &Arc<Workflow>) -> Node<Flaky> {
    loop {
        match Node::start(store.clone(), known(&[workflow]), quick(), Clock::tokio()).await {
            Ok(node) => return node,
            Err(_) => sleep(s(1)).await,
        }
    }
}

/// N2 over a store that fails before and after its work, nodes that die, and a reader that dies over what it has.
#[tokio::test(start_paused = true)]
async fn over_crashes_each_reply_comes_at_least_once_and_in_its_order() {
    let mut again = 0;
    for seed in 0..30 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let no = always(NO);
        let last = if seed % 3 == 0 { no } else { always(Act::Take(s(1))) };
        let [a, b, _] = fine();
        let (workflow, _) = saga([a, b, last], fine());
        let store = Flaky::new(memory(), seed, 60);
        let mut node = begin(&store, &workflow).await;
        let (mut tasks, mut seen) = (BTreeSet::new(), BTreeMap::<TaskId, Vec<u64>>::new());
        for _ in 0..200 {
            if tasks.len() < 20
                && let Ok(new) = node.submit_with(new(&workflow), Start::Now, replying()).await
            {
                tasks.insert(new.task);
            }
            let taken = node.take_replies(&orders(), rng.usize(1..9), s(5)).await.unwrap_or_default();
            for reply in &taken {
                again += u32::from(reply.tries > 1);
                seen.entry(reply.task()).or_default().push(reply.number());
            }
            // It dies over some of them.
            let done = taken.iter().filter(|_| rng.u8(0..4) > 0).map(|reply| reply.id);
            let _ = node.acknowledge(done.collect::<Vec<_>>()).await;
            if rng.u8(0..20) == 0 {
                drop(node);
                node = begin(&store, &workflow).await;
            }
            sleep(Duration::from_millis(rng.u64(0..2_000))).await;
        }
        store.mend();
        sleep(s(120)).await;
        for reply in drain(&node).await {
            seen.entry(reply.task()).or_default().push(reply.number());
        }
        for task in &tasks {
            let numbers = &seen[task];
            let mut firsts = numbers.clone();
            firsts.dedup();
            assert_eq!(firsts, [1, 2], "seed {seed}, task {task}: {numbers:?}");
        }
        assert_eq!(store.reply_queues().await.unwrap(), [], "seed {seed}");
    }
    assert!(again > 50, "{again} came again");
}
