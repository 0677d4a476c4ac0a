//! The floor: a server that makes the three calls of a task and answers, with no engine and no store. Router and threads are those of
//! the real server, and the calls have the headers that its calls have. They are made with `reqwest` and the system's allocator, as a
//! program without an engine would make them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use hyper_util::service::TowerToHyperService;
use reqwest::{Client, redirect, retry};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use super::order::{Order, Receipt, STEPS};
use super::process::{ready, until_closed};
use super::wire;

/// How long a call may take: what the server gives an attempt.
const ATTEMPT: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct Hop {
    client: Client,
    urls: Arc<[String]>,
    next: Arc<AtomicU64>,
}

/// Serves until nobody listens to this process any more.
pub(super) fn run(service: SocketAddr) -> Result<()> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        ready(listener.local_addr()?);
        let urls = STEPS.map(|step| format!("http://{service}/{step}"));
        let hop = Hop { client: client()?, urls: Arc::from(urls), next: Arc::default() };
        let router = Router::new().route("/order/run", post(order)).with_state(hop);
        tokio::select! {
            ended = wire::serve(listener, TowerToHyperService::new(router)) => ended,
            () = until_closed() => Ok(()),
        }
    })
}

/// As the HTTP agent makes its own, but for the connections that are kept: as many as there are callers, so that the floor never
/// makes one anew.
fn client() -> Result<Client> {
    let builder =
        Client::builder().user_agent("steadfast/hop").redirect(redirect::Policy::none()).referer(false);
    let builder = builder.retry(retry::never()).no_proxy().connect_timeout(Duration::from_secs(5));
    Ok(builder.pool_max_idle_per_host(1_024).pool_idle_timeout(Duration::from_secs(30)).build()?)
}

async fn order(State(hop): State<Hop>, body: Bytes) -> Response {
    match hop.calls(&body).await {
        Ok(receipt) => axum::Json(receipt).into_response(),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

impl Hop {
    async fn calls(&self, body: &[u8]) -> Result<Receipt> {
        let order: Order = serde_json::from_slice(body)?;
        let task = self.next.fetch_add(1, Ordering::Relaxed);
        let mut receipt = None;
        for (step, url) in STEPS.iter().zip(&*self.urls) {
            let request = self.client.post(url).timeout(ATTEMPT);
            let request = request.header("content-type", "application/json");
            let request = request.header("accept", "application/json");
            let request = request.header("idempotency-key", format!("{:016x}-{task:019x}", url.len()));
            let request = request.header("steadfast-task", format!("{task:036x}"));
            let request = request.header("steadfast-step", *step);
            let request = request.header("steadfast-attempt", "1");
            let request = request.header("steadfast-time-left", ATTEMPT.as_millis().to_string());
            let response = request.body(serde_json::to_vec(&order)?).send().await?;
            ensure!(response.status().is_success(), "the service answered {}", response.status());
            receipt = Some(serde_json::from_slice::<Receipt>(&response.bytes().await?)?);
        }
        receipt.ok_or_else(|| anyhow::anyhow!("there are no steps"))
    }
}
