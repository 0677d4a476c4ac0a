//! The page: placing orders, watching them, and what is refused.

#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use std::sync::Arc;

use common::Shopping;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};
use steadfast_shop::{Kind, Mood, Status, Storefront};

const FORM: &str = "application/x-www-form-urlencoded";

async fn open(shopping: &Shopping) -> (Storefront, Client) {
    let storefront = Storefront::open(Arc::clone(&shopping.world), 0).await.unwrap();
    (storefront, Client::builder().no_proxy().redirect(Policy::none()).build().unwrap())
}

async fn sent(request: RequestBuilder) -> (u16, String) {
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

fn post(client: &Client, storefront: &Storefront, path: &str, body: &'static str) -> RequestBuilder {
    client.post(format!("{}{path}", storefront.url())).header("content-type", FORM).body(body)
}

/// X1
#[tokio::test]
async fn an_order_is_placed_and_shown_without_javascript() {
    let shopping = Shopping::open().await;
    let (storefront, client) = open(&shopping).await;
    let (status, page) = sent(client.get(storefront.url())).await;
    assert_eq!(status, 200);
    for part in [
        "<form method=\"post\" action=\"/orders\">",
        "cursed-lamp, 29.90",
        "0 completed",
        "<noscript>",
        "/ledger",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let placed = post(&client, &storefront, "orders", "sku=rug&quantity=2&card=good").send().await.unwrap();
    assert_eq!((placed.status().as_u16(), placed.headers()["location"].to_str().unwrap()), (303, "/"));
    shopping.until(1, Status::Completed).await;
    let (_, page) = sent(client.get(storefront.url())).await;
    for part in ["2 rug", "258.00", "1 completed", "id=\"order-1\""] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(post(&client, &storefront, "burst", "").send().await.unwrap().status(), 303);
    shopping.until(26, Status::Completed).await;
    let (_, list) = sent(client.get(format!("{}list", storefront.url()))).await;
    assert_eq!(list.matches("<tr id=").count(), 26);
    assert!(!list.contains("<html"), "only the list");
    drop(storefront);
    shopping.close().await;
}

/// X1
#[tokio::test]
async fn bad_forms_are_refused_with_words_and_change_nothing() {
    let shopping = Shopping::open().await;
    let (storefront, client) = open(&shopping).await;
    for (path, body, words) in [
        ("orders", "sku=%3Cscript%3E&quantity=1&card=good", "there is no `<script>` in the shop"),
        ("orders", "sku=rug&quantity=1000&card=good", "it is from 1 to 99"),
        ("orders", "sku=rug&quantity=-1&card=good", "the quantity is no number"),
        ("orders", "", "the quantity is no number"),
        ("moods", "service=bank&mood=down", "give a service (inventory, payments, shipping)"),
    ] {
        let response = post(&client, &storefront, path, body).send().await.unwrap();
        // As plain text: what was typed is nobody's markup.
        assert_eq!(response.headers()["content-type"].to_str().unwrap(), "text/plain; charset=utf-8");
        assert_eq!(response.headers()["x-content-type-options"].to_str().unwrap(), "nosniff");
        let (status, told) = (response.status().as_u16(), response.text().await.unwrap());
        assert!(status == 422 && told.contains(words), "{status}: {told}");
    }
    assert_eq!(sent(client.get(format!("{}nowhere", storefront.url()))).await.0, 404);
    assert_eq!(sent(client.get(format!("{}orders", storefront.url()))).await.0, 405);
    assert!(shopping.world.orders().all().await.unwrap().is_empty());
    shopping.close().await;
}

/// X1
#[tokio::test]
async fn other_sites_cannot_order_here() {
    let shopping = Shopping::open().await;
    let (storefront, client) = open(&shopping).await;
    let order = || post(&client, &storefront, "orders", "sku=rug&quantity=1&card=good");
    let own = storefront.url().trim_end_matches('/').to_owned();
    assert_eq!(sent(order().header("origin", "http://evil.example")).await.0, 403);
    assert_eq!(sent(order().header("origin", "null")).await.0, 403);
    assert_eq!(sent(order().header("host", "evil.example")).await.0, 421);
    assert_eq!(sent(client.get(storefront.url()).header("host", "evil.example")).await.0, 421);
    assert!(shopping.world.orders().all().await.unwrap().is_empty());
    assert_eq!(sent(order().header("origin", own)).await.0, 303);
    let page = client.get(storefront.url()).send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
    shopping.until(1, Status::Completed).await;
    shopping.close().await;
}

/// X1
#[tokio::test]
async fn moods_are_switched_from_the_page() {
    let shopping = Shopping::open().await;
    let (storefront, client) = open(&shopping).await;
    assert_eq!(sent(post(&client, &storefront, "moods", "service=payments&mood=down")).await.0, 303);
    assert_eq!(shopping.town.service(Kind::Payments).mood(), Mood::Down);
    assert!(sent(client.get(storefront.url())).await.1.contains("class=\"mood down\">down"));
    shopping.close().await;
}

/// Reads a stream of events until it has this in it.
async fn until(response: &mut Response, wanted: &str) -> String {
    let mut text = String::new();
    while !text.contains(wanted) {
        let chunk = response.chunk().await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    text
}

/// X1
#[tokio::test]
async fn news_come_as_they_happen() {
    let shopping = Shopping::open().await;
    let (storefront, client) = open(&shopping).await;
    let mut events = client.get(format!("{}events", storefront.url())).send().await.unwrap();
    assert_eq!(events.headers()["content-type"].to_str().unwrap(), "text/event-stream");
    until(&mut events, "retry: 1000\n\n").await;
    sent(post(&client, &storefront, "orders", "sku=rug&quantity=1&card=good")).await;
    let told = until(&mut events, "data: {\"order\":1,\"status\":\"completed\"}\n\n").await;
    let places = ["placed", "received", "completed"].map(|status| told.find(status));
    assert!(places.is_sorted() && places[0].is_some(), "{told}");
    drop(storefront);
    assert!(events.chunk().await.is_err(), "the stream ends with the storefront");
    shopping.close().await;
}
