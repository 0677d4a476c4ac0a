//! A year of a schedule, over both changes of the clocks.

use super::*;

/// The quickest settings for a node that has a year to live.
fn slow() -> Settings {
    let mut settings = Settings::default();
    let hours = s(6 * 3600);
    (settings.lease, settings.look_every, settings.supervise_every) = (3 * hours, hours, hours);
    // All runs are looked at in the end.
    settings.keep = Duration::MAX;
    settings
}

async fn year(when: &str, zone: &str, begin: &str) -> Vec<String> {
    let begin: jiff::Timestamp = begin.parse().unwrap();
    let world = World::at(Time::from_millis(u64::try_from(begin.as_millisecond()).unwrap()));
    let (workflow, books) = flow(Act::Succeed);
    let node = Node::start(world.store.clone(), known(&[&workflow]), slow(), Clock::tokio()).await.unwrap();
    let there = Declaration { zone: TimeZone::find(zone).unwrap(), ..declaration(&workflow, when) };
    node.declare_schedule("nightly", there).await.unwrap();
    sleep(s(365 * 86_400 + 1)).await;
    let instants = world.instants().await;
    assert_eq!(books.effects("write"), instants.len());
    assert_eq!(listed(&node).await.skipped_missed, 0);
    for (key, run) in world.runs().await {
        let late = rfc3339(run.submitted_at);
        assert_eq!(late[..19], key.split_once('@').unwrap().1[..19], "on time to the second");
    }
    instants
}

#[tokio::test(start_paused = true)]
async fn a_nightly_run_comes_once_a_night_for_a_year() {
    for (zone, when, begin, spring, autumn) in [
        (
            "Europe/Berlin",
            "30 2 * * *",
            "2026-01-01T00:00:00Z",
            "2026-03-29T01:00:00Z",
            "2026-10-25T00:30:00Z",
        ),
        (
            "America/New_York",
            "30 1 * * *",
            "2027-01-01T12:00:00Z",
            "2027-03-14T06:30:00Z",
            "2027-11-07T05:30:00Z",
        ),
        (
            "Australia/Lord_Howe",
            "45 1 * * *",
            "2026-01-01T00:00:00Z",
            "2026-10-03T15:15:00Z",
            "2026-04-04T14:45:00Z",
        ),
    ] {
        let instants = year(when, zone, begin).await;
        assert_eq!(instants.len(), 365, "{zone}");
        for change in [spring, autumn] {
            assert!(instants.iter().any(|instant| instant == change), "{zone}: {change}");
        }
        let unlike = instants.windows(2).filter(|pair| {
            let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
            (at(&pair[1]) - at(&pair[0])).total(jiff::Unit::Hour).unwrap() != 24.0
        });
        assert!(unlike.count() >= 2, "{zone}: the night is longer once and shorter once");
    }
}

#[tokio::test(start_paused = true)]
async fn an_hourly_run_comes_every_hour_for_a_year() {
    let instants = year("0 * * * *", "Europe/Berlin", "2026-01-01T00:00:00Z").await;
    assert_eq!(instants.len(), 365 * 24);
    let mut hour: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    for instant in instants {
        hour += jiff::SignedDuration::from_hours(1);
        assert_eq!(instant, hour.to_string());
    }
}
