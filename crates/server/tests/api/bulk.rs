//! The whole story of a bulk.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use steadfast_client::wire::bulk::{Action, BulkState, NewBulk};
use steadfast_client::wire::filter::{Filter, Paging};
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::submit::Submit;

use crate::world::World;

const LONG: Duration = Duration::from_secs(30);

fn resume() -> NewBulk {
    NewBulk {
        filter: Filter {
            states: vec![TaskState::Failed],
            service: Some("bank".to_owned()),
            ..Filter::default()
        },
        action: Action::Resume,
        rate: Some(10_000.0),
        most: None,
        by: "ana@shop".to_owned(),
        because: "the account is open".to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_is_prepared_looked_at_begun_and_over() {
    let world = World::start().await;
    for number in 0..12 {
        world.client.submit_and_wait(&Submit::new("charge", json!(number)), LONG).await.unwrap();
    }
    let few = world.client.prepare_bulk(&NewBulk { most: Some(3), ..resume() }).await.unwrap();
    assert_eq!((few.bulk.tasks, few.first.len(), few.bulk.state), (3, 3, BulkState::Prepared));
    let prepared = world.client.prepare_bulk(&resume()).await.unwrap();
    let id = prepared.bulk.id.clone();
    assert_eq!((prepared.bulk.tasks, prepared.first.len(), prepared.bulk.asked), (12, 10, 0));
    assert!(prepared.bulk.looked_for.contains("service: bank"), "{}", prepared.bulk.looked_for);
    let page = world.client.bulk_tasks(&id, &Paging { limit: Some(7), cursor: None }).await.unwrap();
    let rest = world.client.bulk_tasks(&id, &Paging { limit: Some(7), cursor: page.cursor }).await.unwrap();
    assert_eq!((page.tasks.len(), rest.tasks.len(), rest.cursor), (7, 5, None));

    assert_eq!(world.client.stop_bulk(&id).await.unwrap().state, BulkState::Stopped);
    world.script.mended.store(true, Ordering::SeqCst);
    world.client.begin_bulk(&id).await.unwrap();
    // The engine says when it is over; the API says the same.
    world.engine.bulk(id.parse().unwrap()).ended().await.unwrap();
    let over = world.client.bulk(&id).await.unwrap();
    assert_eq!((over.state, over.asked, over.done), (BulkState::Over, 12, 12));
    let late = world.client.begin_bulk(&id).await.unwrap_err();
    assert_eq!((late.code(), late.problem().unwrap().status), (Some("SF414"), 409));
    let newest = world.client.bulks(Some(1)).await.unwrap().bulks;
    assert_eq!((newest.len(), &newest[0].id), (1, &id));
    assert_eq!(world.client.bulks(None).await.unwrap().bulks.len(), 2);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bulks_that_make_no_sense_are_refused_with_their_place() {
    let world = World::start().await;
    let table = [
        (NewBulk { rate: Some(0.0), ..resume() }, "body.rate"),
        (NewBulk { rate: Some(-1.0), ..resume() }, "body.rate"),
        (NewBulk { most: Some(0), ..resume() }, "body.most"),
        (NewBulk { by: String::new(), ..resume() }, "body.by"),
        (NewBulk { because: String::new(), ..resume() }, "body.because"),
        (
            NewBulk { action: Action::Deadline { at: Some("soon".to_owned()) }, ..resume() },
            "body.action.deadline.at",
        ),
        (
            NewBulk { filter: Filter { from: Some("soon".to_owned()), ..Filter::default() }, ..resume() },
            "body.filter.from",
        ),
        (
            NewBulk { filter: Filter { parent: Some("x".to_owned()), ..Filter::default() }, ..resume() },
            "body.filter.parent",
        ),
    ];
    for (bulk, place) in table {
        let refused = world.client.prepare_bulk(&bulk).await.unwrap_err();
        let problem = refused.problem().unwrap();
        assert_eq!((problem.status, problem.errors[0].place.as_str()), (422, place));
    }
    let unknown = "0192f3a0-5b1c-7d2e-8f00-0123456789ab";
    for error in [
        world.client.bulk(unknown).await.err(),
        world.client.begin_bulk(unknown).await.err(),
        world.client.stop_bulk(unknown).await.err(),
        world.client.bulk_tasks(unknown, &Paging::default()).await.err(),
    ] {
        let error = error.unwrap();
        assert_eq!((error.code(), error.problem().unwrap().status), (Some("SF416"), 404));
    }
    assert_eq!(world.client.bulks(None).await.unwrap().bulks.len(), 0, "nothing was stored");
    world.end().await;
}
