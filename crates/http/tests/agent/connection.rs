//! Connections: reused, spoken to in HTTP/2, and closed when nobody waits any more.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use steadfast_http::{Agent as _, Target};
use steadfast_testkit::http::Server;
use steadfast_testkit::{Ending, Script};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Barrier;

use crate::support::{Raw, agent, answer, call, read_request};

/// Keeps its connections open.
async fn patient() -> Raw {
    Raw::start(|mut stream| async move {
        while !read_request(&mut stream).await.is_empty() {
            stream.write_all(answer(200, "", "ok").as_bytes()).await.unwrap();
        }
    })
    .await
}

#[tokio::test]
async fn calls_one_after_another_use_one_connection() {
    let service = patient().await;
    let agent = agent(Target::new(service.url()));
    for _ in 0..30 {
        agent.call(call("POST", "/charges")).await.unwrap();
    }
    assert_eq!(service.connections(), 1);
}

/// A commit makes the next steps of hundreds of tasks durable, and all of them are sent then.
#[tokio::test]
async fn calls_that_begin_together_find_the_connections_of_those_before() {
    const AT_ONCE: usize = 200;
    // It answers none before all are there, so that each has a connection.
    let barrier = Arc::new(Barrier::new(AT_ONCE));
    let service = Raw::start(move |mut stream| {
        let barrier = Arc::clone(&barrier);
        async move {
            while !read_request(&mut stream).await.is_empty() {
                barrier.wait().await;
                stream.write_all(answer(200, "", "ok").as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    let agent = agent(Target::new(service.url()));
    for _ in 0..3 {
        let calls: Vec<_> = (0..AT_ONCE).map(|_| tokio::spawn(agent.call(call("POST", "/")))).collect();
        for call in calls {
            call.await.unwrap().unwrap();
        }
    }
    // A call may begin a connection while another is about to come back.
    let made = service.connections();
    assert!((AT_ONCE..AT_ONCE * 5 / 4).contains(&made), "{made} connections for {AT_ONCE} calls at a time");
}

#[tokio::test]
async fn new_settings_keep_the_connections_unless_they_are_about_them() {
    let service = patient().await;
    let agent = agent(Target::new(service.url()));
    let target = || Target::new(service.url()).header("x-tenant", "7").max_response(1_000);
    for _ in 0..3 {
        agent.call(call("GET", "/")).await.unwrap();
        agent.set([("pay".to_owned(), target())]).unwrap();
    }
    assert_eq!(service.connections(), 1);
    agent.set([("pay".to_owned(), target().idle_for(Duration::from_secs(9)))]).unwrap();
    agent.call(call("GET", "/")).await.unwrap();
    assert_eq!(service.connections(), 2);
}

#[tokio::test]
async fn without_idle_connections_each_call_has_its_own() {
    let service = patient().await;
    let agent = agent(Target::new(service.url()).idle_connections(0));
    for _ in 0..3 {
        agent.call(call("GET", "/")).await.unwrap();
    }
    assert_eq!(service.connections(), 3);
}

#[tokio::test]
async fn a_failure_that_was_read_whole_keeps_its_connection() {
    let service = Raw::start(|mut stream| async move {
        while !read_request(&mut stream).await.is_empty() {
            stream.write_all(answer(503, "retry-after: 1\r\n", "busy").as_bytes()).await.unwrap();
        }
    })
    .await;
    let agent = agent(Target::new(service.url()));
    for _ in 0..5 {
        agent.call(call("GET", "/")).await.unwrap_err();
    }
    assert_eq!(service.connections(), 1);
}

/// Answers when so many requests are there, and tells the version that it was spoken to in.
pub(crate) async fn together(
    barrier: Arc<Barrier>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    barrier.wait().await;
    let key = request.headers().get("idempotency-key").is_some();
    let body = json!({ "version": format!("{:?}", request.version()), "key": key }).to_string();
    let response = Response::builder().header("content-type", "application/json").body(Full::from(body));
    Ok(response.unwrap())
}

#[tokio::test]
async fn http_2_has_many_calls_in_one_connection() {
    const AT_ONCE: usize = 20;
    // It answers none before all are there: one after another would never end.
    let barrier = Arc::new(Barrier::new(AT_ONCE));
    let service = Raw::start(move |stream| {
        let barrier = Arc::clone(&barrier);
        async move {
            let answers = service_fn(move |request| together(Arc::clone(&barrier), request));
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            let _ = server.serve_connection(TokioIo::new(stream), answers).await;
        }
    })
    .await;
    let agent = agent(Target::new(service.url()).http2_prior_knowledge());
    let calls: Vec<_> = (0..AT_ONCE).map(|_| tokio::spawn(agent.call(call("POST", "/charges")))).collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().body, json!({ "version": "HTTP/2.0", "key": true }));
    }
    assert_eq!(service.connections(), 1);
}

#[tokio::test]
async fn a_call_that_is_dropped_closes_its_connection() {
    let service = Server::start(Script::hang()).unwrap();
    let agent = agent(Target::new(service.url()));
    let calling = tokio::spawn(agent.call(call("POST", "/charges")));
    service.ledger_when(|ledger| ledger.endings() == [Ending::UnderWay]).await;
    calling.abort();
    service.ledger_when(|ledger| ledger.endings() == [Ending::CallerLeft]).await;
}

#[tokio::test]
async fn a_call_that_is_dropped_in_its_answer_closes_its_connection() {
    let (left, mut has_left) = tokio::sync::mpsc::unbounded_channel();
    let service = Raw::start(move |mut stream| {
        let left = left.clone();
        async move {
            read_request(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nso far").await.unwrap();
            left.send("answering").unwrap();
            // Empty: the other side is gone.
            assert_eq!(read_request(&mut stream).await, "");
            left.send("left").unwrap();
        }
    })
    .await;
    let calling = tokio::spawn(agent(Target::new(service.url())).call(call("GET", "/")));
    assert_eq!(has_left.recv().await, Some("answering"));
    calling.abort();
    assert_eq!(has_left.recv().await, Some("left"));
}
