//! The service that all sides call: it answers at once, and counts.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use tokio::net::TcpListener;

use super::order::{Order, Receipt};
use super::process::{ready, until_closed};
use super::{one_thread, wire};

/// Serves until nobody listens to this process any more.
pub(super) fn run() -> Result<()> {
    one_thread()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        ready(listener.local_addr()?);
        let calls = Arc::new(AtomicU64::new(0));
        let service = service_fn(move |request| answer(request, Arc::clone(&calls)));
        tokio::select! {
            ended = wire::serve(listener, service) => ended,
            () = until_closed() => Ok(()),
        }
    })
}

/// `GET` tells how many calls there were; all else is a call, and gets a receipt.
async fn answer(
    request: Request<Incoming>,
    calls: Arc<AtomicU64>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() == Method::GET {
        return Ok(Response::new(calls.load(Ordering::SeqCst).to_string().into()));
    }
    let of = request.uri().path().trim_start_matches('/').to_owned();
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
    let order = body.ok().and_then(|body| serde_json::from_slice::<Order>(&body).ok());
    let receipt = order.and_then(|order| serde_json::to_vec(&Receipt { of, total: order.total }).ok());
    let mut response = Response::new(Full::default());
    match receipt {
        Some(receipt) => {
            calls.fetch_add(1, Ordering::SeqCst);
            response.headers_mut().insert("content-type", JSON);
            *response.body_mut() = receipt.into();
        }
        None => *response.status_mut() = hyper::StatusCode::UNPROCESSABLE_ENTITY,
    }
    Ok(response)
}

const JSON: hyper::header::HeaderValue = hyper::header::HeaderValue::from_static("application/json");
