//! The whole story in a short form, in real time, and with faults planted into it that it has to find.

#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::Shopping;
use steadfast::{ReplyId, TaskId};
use steadfast_shop::{
    Beat, Error, FailedTask, Later, Local, Repair, ReplySeen, Report, SHORTEST, Shop, Status, Story, World,
};

/// A short story: the times of circuits and ramps are those of a long one.
const SHORT: Duration = Duration::from_secs(12);

async fn told(world: &World, lasts: Duration, grace: Duration) -> (Report, Vec<String>) {
    let mut beats = Vec::new();
    let story = Story::default().seed(7).orders_per_second(30).grace(grace);
    let report =
        story.run(world, lasts, |beat: Beat| beats.push(format!("{} ms: {}", beat.at_ms, beat.words)));
    let report = report.await.unwrap();
    println!("{}\n{report}", beats.join("\n"));
    (report, beats)
}

/// X1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_story_is_well() {
    let shopping = Shopping::open().await;
    let (report, beats) = told(&shopping.world, SHORT, Duration::from_secs(60)).await;
    assert_eq!(report.failed, Vec::<String>::new());
    assert!(report.ok);
    assert_eq!((report.effects.lost, report.effects.doubled), (0, 0));
    assert_eq!((report.orders.undone, report.orders.repaired, report.orders.not_ended), (3, 1, 0));
    assert!(report.outage.waiting >= 10, "{report}");
    for words in
        ["inventory is slow", "payments is away", "payments is back", "is with the operator", "another lamp"]
    {
        assert!(beats.iter().any(|beat| beat.contains(words)), "{words}: {beats:#?}");
    }
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!((&json["ok"], &json["effects"]["doubled"]), (&true.into(), &0.into()));
    shopping.close().await;
}

/// X1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_ignores_keys_is_found() {
    let shopping = Shopping::open().await;
    shopping.town.payments.ignore_keys(true);
    let (report, _) = told(&shopping.world, SHORTEST, Duration::from_secs(60)).await;
    assert!(!report.ok && report.effects.doubled > 0, "{report}");
    let twice = "have something twice at payments";
    assert!(report.failed.iter().any(|words| words.contains(twice)), "{:#?}", report.failed);
    shopping.close().await;
}

/// A shop that loses every tenth reply of an end.
struct Forgetful(Arc<Local>);

impl Shop for Forgetful {
    fn database(&self) -> &Path {
        self.0.database()
    }

    fn replies(&self, most: usize) -> Later<'_, Vec<ReplySeen>> {
        Box::pin(async move {
            let mut replies = self.0.replies(most).await?;
            for reply in &mut replies {
                let is_tenth = reply.correlation.parse::<i64>().is_ok_and(|order| order % 10 == 0);
                reply.says = reply.says.filter(|says| !(is_tenth && *says == Status::Completed));
            }
            Ok(replies)
        })
    }

    fn acknowledge(&self, replies: Vec<ReplyId>) -> Later<'_, ()> {
        self.0.acknowledge(replies)
    }

    fn failed(&self) -> Later<'_, Vec<FailedTask>> {
        self.0.failed()
    }

    fn why(&self, task: TaskId) -> Later<'_, String> {
        self.0.why(task)
    }

    fn repair(&self, _: Repair) -> Later<'_, ()> {
        Box::pin(async { Err(Error::engine("repair a task", "nobody is there")) })
    }
}

/// X1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shop_that_drops_replies_and_repairs_nothing_is_found() {
    let shopping = Shopping::open().await;
    // Two readers of one queue share its replies: the first one leaves.
    let Shopping { world, engine, town, folder } = shopping;
    drop(world);
    let world = World::open(Arc::clone(&town), Arc::new(Forgetful(Arc::clone(&engine)))).await.unwrap();
    let (report, _) = told(&world, SHORTEST, Duration::from_secs(5)).await;
    assert!(!report.ok && report.orders.not_ended >= 10, "{report}");
    let has = |words: &str| report.failed.iter().any(|failed| failed.contains(words));
    assert!(has("orders have not ended"), "{:#?}", report.failed);
    assert!(
        has("0 repaired by the operator (cannot repair a task: nobody is there)"),
        "{:#?}",
        report.failed
    );
    drop(world);
    engine.shut_down().await.unwrap();
    drop(folder);
}

/// X1
#[tokio::test]
async fn a_story_that_is_too_short_is_refused() {
    let shopping = Shopping::open().await;
    let told = Story::default().run(&shopping.world, Duration::from_secs(3), |_| {}).await;
    assert_eq!(told.unwrap_err().to_string(), "the story needs at least 10 s, and 3 s were given");
    assert!(shopping.world.orders().all().await.unwrap().is_empty());
    shopping.close().await;
}
