//! Replies by a queue in a real file: a reader that is killed loses nothing [N1, N2].

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use steadfast::resilience::clock::Clock;
use steadfast::{Engine, Failure, Outcome, Replies, ReplyTo, Service, Workflow};

/// The process that the test starts again: the folder that it works in.
const CHILD: &str = "STEADFAST_REPLIES_CHILD";
/// After so many messages it is killed: between what it has noted and its acknowledgement.
const UNTIL: &str = "STEADFAST_REPLIES_UNTIL";
/// What it says then.
const NOTED: &str = "noted, and not acknowledged";
/// How many messages; a slice by default.
const MESSAGES: &str = "STEADFAST_REPLIES";

fn workflow() -> Workflow<u32, u32> {
    let mut flow = Workflow::<u32>::builder("twice");
    let twice = flow
        .step("twice", &Service::standard("svc"), |cx| async move { Ok::<_, Failure>(cx.input * 2) })
        .nothing_to_undo()
        .add();
    flow.returns(twice).unwrap()
}

fn tasks() -> u32 {
    std::env::var(MESSAGES).ok().and_then(|text| text.parse::<u32>().ok()).unwrap_or(1_000) / 2
}

async fn start(folder: &Path) -> Engine {
    let address = format!("sqlite:{}", folder.join("tasks.db").display());
    Engine::builder(address).workflow(&workflow()).start().await.unwrap()
}

/// What was noted, in its order. The last line may be of one that was killed over it.
fn noted(folder: &Path) -> impl Iterator<Item = String> {
    let book = std::fs::read_to_string(folder.join("book")).unwrap_or_default();
    let whole = book.rfind('\n').map_or(0, |end| end + 1);
    book[..whole].lines().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// Submits what was not submitted, and reads replies until it is killed: each is noted in the book before it is acknowledged. One
/// of its readers is slow, and lets its lease end.
async fn read_until_killed(folder: &Path) {
    let engine = start(folder).await;
    let submitting = {
        let engine = engine.clone();
        tokio::spawn(async move {
            let workflow = workflow();
            for from in (0..tasks()).step_by(200) {
                let mut some = tokio::task::JoinSet::new();
                for number in from..tasks().min(from + 200) {
                    let (engine, workflow) = (engine.clone(), workflow.clone());
                    some.spawn(async move {
                        let submit = engine.submit(&workflow, &number).key(number);
                        submit.reply_to(ReplyTo::queue("all")).correlation(number).await.unwrap();
                    });
                }
                some.join_all().await;
            }
        })
    };
    let mut seen: BTreeSet<String> = noted(folder).collect();
    let mut book = OpenOptions::new().append(true).create(true).open(folder.join("book")).unwrap();
    let slow = engine.replies("all").lease(Duration::from_millis(50));
    let quick = engine.replies("all");
    let (mut read, until) = (0, std::env::var(UNTIL).ok().and_then(|text| text.parse::<usize>().ok()));
    for turn in 0_u64.. {
        // What the slow one takes and does not acknowledge comes again.
        if turn % 16 == 0 {
            drop(slow.take(20).await.unwrap());
        }
        if seen.len() >= usize::try_from(tasks() * 2).unwrap() {
            break;
        }
        let taken = quick.wait(500).await.unwrap();
        let mut lines = String::new();
        for reply in &taken {
            let correlation = reply.correlation.as_deref().unwrap();
            let line = format!("{correlation} {} {:?}", reply.id, Replies::result::<u32>(reply).unwrap());
            lines.push_str(&line);
            lines.push('\n');
            seen.insert(line);
        }
        book.write_all(lines.as_bytes()).unwrap();
        read += taken.len();
        if until.is_some_and(|until| read >= until) {
            // Tasks are at rest: a step under which the process dies again and again would be taken for the killer, and run apart.
            while !submitting.is_finished() || engine.stats().owned > 0 {
                Clock::system().sleep(Duration::from_millis(5)).await;
            }
            println!("{NOTED}");
            std::io::stdout().flush().unwrap();
            std::future::pending::<()>().await;
        }
        quick.acknowledge(taken.iter().map(|reply| reply.id)).await.unwrap();
    }
    submitting.await.unwrap();
    engine.shut_down().await.unwrap();
}

#[test]
fn child_of_the_test_below() {
    let Ok(folder) = std::env::var(CHILD) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(read_until_killed(&PathBuf::from(folder)));
}

/// How often it is killed.
const KILLS: u32 = 5;

fn child(folder: &Path, until: Option<u32>) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .envs(until.map(|until| (UNTIL, until.to_string())))
        .args(["--exact", "replies::child_of_the_test_below", "--nocapture"])
        .env(CHILD, folder)
        .stdout(if until.is_some() { Stdio::piped() } else { Stdio::null() })
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Killed and restarted five times, with a slow reader beside: each message at least once, in order for its task, none lost.
#[test]
fn a_reader_that_is_killed_again_and_again_has_each_reply_at_least_once_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..KILLS {
        let mut reader = child(folder.path(), Some(tasks() * 2 / (KILLS + 1)));
        let mut lines = BufReader::new(reader.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.ends_with(NOTED)), "it ended before it was killed");
        reader.kill().unwrap();
        reader.wait().unwrap();
    }
    assert!(child(folder.path(), None).wait().unwrap().success());
    let mut seen = BTreeMap::<u32, Vec<String>>::new();
    for line in noted(folder.path()) {
        let (correlation, rest) = line.split_once(' ').unwrap();
        seen.entry(correlation.parse().unwrap()).or_default().push(rest.to_owned());
    }
    assert_eq!(seen.len(), usize::try_from(tasks()).unwrap(), "none is lost");
    let mut again = 0;
    for (number, lines) in seen {
        let mut firsts = lines.clone();
        firsts.dedup();
        again += lines.len() - firsts.len();
        assert_eq!(firsts.len(), 2, "task {number}: {lines:?}");
        assert!(firsts[0].ends_with(".1 None"), "task {number}: {lines:?}");
        assert!(firsts[1].ends_with(&format!(".2 Some({})", number * 2)), "task {number}: {lines:?}");
    }
    assert!(
        again >= usize::try_from(KILLS).unwrap(),
        "what was noted before it was killed comes again: {again}"
    );
    eprintln!("{} messages, {again} of them more than once", tasks() * 2);
}

#[tokio::test]
async fn a_hook_is_told_what_becomes_of_a_task() {
    let folder = tempfile::tempdir().unwrap();
    let (told, mut replies) = tokio::sync::mpsc::unbounded_channel();
    let address = format!("sqlite:{}", folder.path().join("tasks.db").display());
    let workflow = workflow();
    let engine = Engine::builder(address)
        .workflow(&workflow)
        .on_reply("me", move |reply| {
            let told = told.clone();
            async move { Ok(told.send(reply)?) }
        })
        .start()
        .await
        .unwrap();
    let task = engine.submit(&workflow, &4).reply_to(ReplyTo::hook("me")).correlation("four").await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(8));
    let (received, completed) = (replies.recv().await.unwrap(), replies.recv().await.unwrap());
    assert_eq!((received.number(), completed.number(), completed.task()), (1, 2, task.id()));
    assert_eq!(Replies::result::<u32>(&completed).unwrap(), Some(8));
    engine.shut_down().await.unwrap();
}
