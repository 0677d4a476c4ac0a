//! Recurring work as a program sees it.

use std::time::Duration;

use steadfast::resilience::clock::Clock;
use steadfast::resilience::{Pipeline, Retry};
use steadfast::{
    Code, Declared, Engine, Failure, Missed, Outcome, Overlap, Service, Time, What, Workflow, rfc3339,
};

const HOUR: Duration = Duration::from_secs(3600);

fn report() -> Workflow<String, usize> {
    let pipeline = Pipeline::builder("reports").clock(Clock::tokio()).retry(Retry::standard());
    let mut flow = Workflow::<String>::builder("report");
    let write = flow
        .step("write", &Service::new(pipeline.build().unwrap()), |cx| async move {
            Ok::<_, Failure>(cx.input.len())
        })
        .nothing_to_undo()
        .add();
    flow.returns(write).unwrap()
}

async fn virtual_engine(workflow: &Workflow<String, usize>) -> Engine {
    Engine::builder("memory:").clock(Clock::tokio()).workflow(workflow).start().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_schedule_is_declared_runs_and_is_listed() {
    let report = report();
    let engine = virtual_engine(&report).await;
    let input = "sales".to_owned();
    let declare = || {
        engine
            .schedule("nightly-report", &report, &input)
            .cron("30 2 * * *")
            .time_zone("Asia/Tokyo")
            .missed(Missed::RunOnce)
            .overlap(Overlap::Skip)
    };
    let preview = declare().preview(3).unwrap();
    assert_eq!(preview.len(), 3);
    assert_eq!(declare().await.unwrap(), Declared::New);
    assert_eq!(declare().await.unwrap(), Declared::Same);
    let listed = engine.schedules().await.unwrap();
    assert_eq!(listed.len(), 1);
    let status = &listed[0];
    assert_eq!((&*status.name, &*status.workflow, &*status.zone), ("nightly-report", "report", "Asia/Tokyo"));
    assert_eq!((status.next, status.upcoming(3)), (Some(preview[0]), preview.clone()));
    assert_eq!((status.last, status.runs), (None, 0));

    while engine.schedules().await.unwrap()[0].last.is_none() {
        Clock::tokio().sleep(HOUR).await;
    }
    let status = engine.schedules().await.unwrap().remove(0);
    assert_eq!((status.runs, status.next), (1, Some(preview[1])));
    let last = status.last.unwrap();
    assert_eq!(last.instant, preview[0]);
    let task = engine.task(&report, last.task).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(5));
    // The run's key is its schedule and instant: who submits it by hand gets the same task.
    let key = format!("nightly-report@{}", rfc3339(last.instant));
    assert_eq!(engine.submit(&report, &input).key(key).await.unwrap().id(), last.task);

    assert_eq!(declare().overlap(Overlap::Allow).await.unwrap(), Declared::Changed);
    assert!(engine.pause_schedule("nightly-report").await.unwrap());
    Clock::tokio().sleep(48 * HOUR).await;
    assert_eq!(engine.schedules().await.unwrap()[0].runs, 1);
    assert!(engine.resume_schedule("nightly-report").await.unwrap());
    Clock::tokio().sleep(HOUR).await;
    let status = engine.schedules().await.unwrap().remove(0);
    assert_eq!((status.runs, status.skipped_missed), (2, 1));
    engine.remove_schedule("nightly-report").await.unwrap();
    assert!(engine.schedules().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_makes_no_sense_is_refused_with_its_code() {
    let report = report();
    let engine = virtual_engine(&report).await;
    let input = String::new();
    let daily = || engine.schedule("daily", &report, &input).cron("@daily");
    let later = Time::from_millis(5);
    for (schedule, code, words) in [
        (engine.schedule("daily", &report, &input), Code::BadSchedule, "nobody says when"),
        (
            daily().cron("30 25 * * *"),
            Code::BadSchedule,
            "`30 25 * * *`, column 4: `25` is no hour: expected 0 to 23",
        ),
        (daily().cron("0 0 30 2 *"), Code::BadSchedule, "it would never come"),
        (daily().every(Duration::from_millis(20)), Code::BadSchedule, "at least a second"),
        (daily().starts_at(later).ends_at(later), Code::BadSchedule, "ends before it begins"),
        (daily().jitter(48 * HOUR), Code::BadSchedule, "more than a day"),
        (daily().time_zone("Europe/Berlinn"), Code::UnknownTimeZone, "`Europe/Berlinn` is no time zone"),
        (engine.schedule("a b", &report, &input).cron("@daily"), Code::BadSchedule, "`a b` is no name"),
        (daily().namespace(&"x".repeat(201)), Code::TooLarge, "the namespace has 201 bytes"),
        (
            engine.schedule("big", &report, &"x".repeat(70_000)).cron("@daily"),
            Code::TooLarge,
            "a schedule, with its input",
        ),
    ] {
        let error = schedule.await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    for error in [
        engine.pause_schedule("nobody").await.unwrap_err(),
        engine.resume_schedule("nobody").await.unwrap_err(),
        engine.remove_schedule("nobody").await.unwrap_err(),
    ] {
        assert_eq!(error.code(), Code::UnknownSchedule);
    }
    let stranger = {
        let mut flow = Workflow::<String>::builder("stranger");
        flow.step("a", &Service::standard("s"), |_| async { Ok::<_, Failure>(()) }).nothing_to_undo().add();
        flow.build().unwrap()
    };
    let error = engine.schedule("s", &stranger, &input).cron("@daily").await.unwrap_err();
    assert_eq!(error.code(), Code::UnknownWorkflow);
    assert!(engine.schedules().await.unwrap().is_empty());
    assert!(daily().time_zone("nowhere").preview(1).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_schedule_has_a_start_an_end_and_a_namespace() {
    let report = report();
    let engine = virtual_engine(&report).await;
    let input = "x".to_owned();
    let now = engine.schedule("s", &report, &input).every(HOUR).preview(1).unwrap()[0];
    let schedule = engine.schedule("s", &report, &input).every(HOUR).namespace("shop");
    let schedule = schedule.starts_at(now + 2 * HOUR).ends_at(now + 4 * HOUR);
    assert_eq!(schedule.preview(9).unwrap(), [now + 2 * HOUR, now + 3 * HOUR]);
    schedule.await.unwrap();
    Clock::tokio().sleep(9 * HOUR).await;
    let status = engine.schedules().await.unwrap().remove(0);
    assert_eq!((status.runs, status.next, &*status.namespace), (2, None, "shop"));
}

/// Over a real file and a restart, in real time.
#[tokio::test]
async fn a_schedule_outlives_its_engine() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("tasks.db").display());
    let report = report();
    let input = "x".to_owned();
    for declared in [Declared::New, Declared::Same] {
        let engine = Engine::builder(&address).workflow(&report).start().await.unwrap();
        let mut events = engine.events();
        let before = engine.schedules().await.unwrap().first().map_or(0, |status| status.runs);
        assert_eq!(before > 0, declared == Declared::Same);
        let said = engine.schedule("often", &report, &input).cron("every 1s").await.unwrap();
        assert_eq!(said, declared);
        while events.next().await.unwrap().what != What::Submitted {}
        // It is moved on right after the submission.
        while engine.schedules().await.unwrap()[0].runs == before {
            tokio::task::yield_now().await;
        }
        engine.shut_down().await.unwrap();
    }
}
