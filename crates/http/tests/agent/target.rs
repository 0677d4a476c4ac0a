//! Services can be changed while calls are under way.

use std::sync::Arc;

use serde_json::json;
use steadfast_http::{Agent as _, Code, HttpAgent, Target};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Notify;

use crate::support::{Raw, agent, answer, call, get, read_request, why};

#[tokio::test]
async fn a_call_under_way_ends_with_what_it_began_with() {
    let (asked, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, wait) = (Arc::clone(&asked), Arc::clone(&go_on));
    let old = Raw::start(move |mut stream| {
        let (told, wait) = (Arc::clone(&told), Arc::clone(&wait));
        async move {
            read_request(&mut stream).await;
            told.notify_one();
            wait.notified().await;
            stream.write_all(answer(200, "", "the old one").as_bytes()).await.unwrap();
        }
    })
    .await;
    let new = Raw::answering(answer(200, "", "new")).await;
    let agent = agent(Target::new(old.url()).max_response(11));
    let calling = tokio::spawn(agent.call(call("GET", "/")));
    asked.notified().await;
    agent.set([("pay".to_owned(), Target::new(new.url()).max_response(3))]).unwrap();
    assert_eq!(agent.call(call("GET", "/")).await.unwrap().body, json!("new"));
    go_on.notify_one();
    assert_eq!(calling.await.unwrap().unwrap().body, json!("the old one"));
}

#[tokio::test]
async fn services_that_make_no_sense_change_nothing() {
    let service = Raw::answering(answer(200, "", "here")).await;
    let agent = agent(Target::new(service.url()));
    let bad =
        [("pay", "http://127.0.0.1:1"), ("a", "nowhere"), ("b", "ftp://x"), ("pay", "http://127.0.0.1:2")];
    let error = agent.set(bad.map(|(name, url)| (name.to_owned(), Target::new(url)))).unwrap_err();
    let found: Vec<_> = error.problems().iter().map(|found| (&*found.service, found.setting)).collect();
    assert_eq!(found, [("a", "base_url"), ("b", "base_url"), ("pay", "name")]);
    assert_eq!(error.to_string().lines().count(), 3);
    assert_eq!(agent.services(), ["pay"]);
    assert_eq!(agent.call(call("GET", "/")).await.unwrap().body, json!("here"));
}

#[tokio::test]
async fn a_service_that_was_taken_out_is_unknown() {
    let service = Raw::answering(answer(200, "", "here")).await;
    let agent = agent(Target::new(service.url()));
    agent.set([]).unwrap();
    let (.., words) = why(agent.call(call("GET", "/")).await);
    assert_eq!(words, format!("there is no service `pay`: there are none [{}]", Code::UnknownService));
    assert!(get(&service.url()).await.is_ok());
}

#[test]
fn neither_agent_nor_builder_shows_what_is_in_headers() {
    let builder = HttpAgent::builder().target("pay", Target::new("http://pay").header("X-Key", "hunter22"));
    assert!(!format!("{builder:?}").contains("hunter22"));
    assert_eq!(format!("{:?}", builder.build().unwrap()), "HttpAgent { services: [\"pay\"], .. }");
}
