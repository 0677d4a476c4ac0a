//! The services over a real wire: what they do once, and how they misbehave.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use serde_json::{Value, json};
use steadfast_resilience::clock::Clock;
use steadfast_shop::{Kind, Mood, Script, Service, Town};

struct Told {
    status: u16,
    retry_after: Option<String>,
    body: Value,
}

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

async fn ask(
    service: &Service,
    method: &str,
    path: &str,
    key: &str,
    body: &Value,
) -> Result<Told, reqwest::Error> {
    let request = client().request(method.parse().unwrap(), format!("{}{path}", service.url()));
    let response = request.header("idempotency-key", key).body(body.to_string()).send().await?;
    let retry_after = response.headers().get("retry-after").map(|wait| wait.to_str().unwrap().to_owned());
    let status = response.status().as_u16();
    Ok(Told { status, retry_after, body: serde_json::from_slice(&response.bytes().await?).unwrap() })
}

fn reservation(order: i64) -> Value {
    json!({ "order": order, "sku": "lamp", "quantity": 2 })
}

/// X1
#[tokio::test]
async fn every_service_does_a_thing_once_for_a_key_and_takes_it_back_once() {
    let town = Town::start().await.unwrap();
    let charge = json!({ "order": 7, "amount_cents": 5_980, "card": "good" });
    for (service, path, body) in [
        (&town.inventory, "/reservations", reservation(7)),
        (&town.payments, "/charges", charge),
        (&town.shipping, "/shipments", reservation(7)),
    ] {
        let first = ask(service, "POST", path, "k-1", &body).await.unwrap();
        let again = ask(service, "POST", path, "k-1", &body).await.unwrap();
        assert_eq!((first.status, again.status), (201, 201));
        assert_eq!(first.body, again.body);
        assert_eq!((service.entries().len(), service.repeats()), (1, 1));
        let id = first.body["id"].as_str().unwrap();
        for _ in 0..2 {
            let back = match service.kind() {
                Kind::Payments => ask(service, "POST", "/refunds", "k-2", &json!({ "key": "k-1" })).await,
                _ => ask(service, "DELETE", &format!("{path}/{id}"), "k-2", &Value::Null).await,
            };
            assert_eq!(back.unwrap().status, 200);
        }
        let entries = service.entries();
        assert!(entries.len() == 1 && entries[0].taken_back && entries[0].key == "k-1", "{entries:?}");
    }
}

/// X1
#[tokio::test]
async fn what_is_refused_for_good_leaves_nothing() {
    let town = Town::start().await.unwrap();
    let declined = json!({ "order": 7, "amount_cents": 1, "card": "declined" });
    let cursed = json!({ "order": 7, "sku": "cursed-lamp", "quantity": 1 });
    for (service, path, body, status) in [
        (&town.payments, "/charges", declined, 402),
        (&town.shipping, "/shipments", cursed, 422),
        (&town.inventory, "/reservations", json!({ "order": 7 }), 400),
        (&town.inventory, "/reservations", json!({ "order": 7, "sku": "a", "quantity": 1, "odd": 1 }), 400),
        (&town.inventory, "/nowhere", Value::Null, 404),
    ] {
        let told = ask(service, "POST", path, "k-1", &body).await.unwrap();
        assert_eq!(told.status, status, "{}", told.body);
        assert!(told.body["error"].is_string());
        assert!(service.entries().is_empty());
    }
    let without_key = client().post(format!("{}/reservations", town.inventory.url())).send().await.unwrap();
    assert_eq!(without_key.status(), 400);
    let too_large = client().post(format!("{}/reservations", town.inventory.url())).body("x".repeat(20_000));
    assert_eq!(too_large.send().await.unwrap().status(), 413);
}

/// X1
#[tokio::test]
async fn a_mute_service_does_it_and_does_not_say_so() {
    let service = Service::start(Kind::Inventory, 0).await.unwrap();
    service.set(Mood::Mute);
    ask(&service, "POST", "/reservations", "k-1", &reservation(7)).await.err().unwrap();
    assert_eq!(service.entries().len(), 1);
    service.set(Mood::Well);
    assert_eq!(ask(&service, "POST", "/reservations", "k-1", &reservation(7)).await.unwrap().status, 201);
    assert_eq!((service.entries().len(), service.repeats(), service.calls().len()), (1, 1, 2));
}

/// X1
#[tokio::test]
async fn a_service_that_is_down_or_busy_does_nothing() {
    let service = Service::start(Kind::Inventory, 0).await.unwrap();
    service.set(Mood::Down);
    ask(&service, "POST", "/reservations", "k-1", &reservation(7)).await.err().unwrap();
    service.set(Mood::Busy(Duration::from_millis(1_500)));
    let told = ask(&service, "POST", "/reservations", "k-1", &reservation(7)).await.unwrap();
    assert_eq!((told.status, told.retry_after.as_deref()), (503, Some("2")));
    assert!(service.entries().is_empty());
    assert_eq!(service.calls().len(), 2, "calls count, answered or not");
    // For people it answers all the same.
    let shown = client().get(format!("{}/ledger", service.url())).send().await.unwrap();
    let shown: Value = serde_json::from_slice(&shown.bytes().await.unwrap()).unwrap();
    assert_eq!((&shown["mood"], &shown["made"]), (&json!("busy"), &json!(0)));
}

/// X1
#[tokio::test]
async fn a_hanging_service_never_answers_and_a_slow_one_does_later() {
    let service = Service::start(Kind::Inventory, 0).await.unwrap();
    service.set(Mood::Hanging);
    let hanging = tokio::spawn({
        let url = service.url();
        async move { client().post(url).header("idempotency-key", "k-1").send().await }
    });
    while service.calls().is_empty() {
        tokio::task::yield_now().await;
    }
    let slow = Duration::from_millis(80);
    service.set(Mood::Slow(slow));
    let began = Clock::tokio().now();
    assert_eq!(ask(&service, "POST", "/reservations", "k-2", &reservation(7)).await.unwrap().status, 201);
    assert!(Clock::tokio().now().since(began) >= slow);
    assert!(!hanging.is_finished());
    // The hanging connection ends with the service.
    drop(service);
    hanging.await.unwrap().err().unwrap();
}

/// X1
#[tokio::test]
async fn a_service_follows_a_script_by_time() {
    let service = Service::start(Kind::Payments, 0).await.unwrap();
    let (now, second) = (Clock::tokio().now(), Duration::from_secs(1_000));
    let script = Script::always(Mood::Down).until(second, Mood::Well);
    service.follow(script.clone(), now);
    assert_eq!(service.mood(), Mood::Down);
    // A moment of long ago: it is over.
    let tokio_began = steadfast_resilience::clock::Moment::ZERO;
    service.follow(Script::always(Mood::Down).until(Duration::ZERO, Mood::Hanging), tokio_began);
    assert_eq!(service.mood(), Mood::Hanging);
}
