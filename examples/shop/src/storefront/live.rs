//! News of orders as server-sent events: which order, and how far it has come. The page then asks for its list again.

use std::convert::Infallible;
use std::time::Duration;

use futures_util::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::Response;
use hyper::body::{Bytes, Frame};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use steadfast_resilience::clock::Clock;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::orders::News;
use crate::wire::Body;

/// How often something is sent when nothing happens: so it is noticed that a reader has left.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A stream of news that ends when the reader leaves.
pub(super) fn events(news: Receiver<News>) -> Response<Body> {
    let lines = stream::unfold((news, true), |(mut news, is_first)| async move {
        let line = if is_first { Some("retry: 1000\n\n".to_owned()) } else { next(&mut news).await };
        let frame = Frame::data(Bytes::from(line?));
        Some((Ok::<_, Infallible>(frame), (news, false)))
    });
    let mut response = Response::new(StreamBody::new(lines).boxed_unsync());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

async fn next(news: &mut Receiver<News>) -> Option<String> {
    tokio::select! {
        came = news.recv() => match came {
            Ok(News { number, status }) => {
                Some(format!("data: {{\"order\":{number},\"status\":\"{}\"}}\n\n", status.name()))
            }
            // It is behind: the list has it all.
            Err(RecvError::Lagged(_)) => Some("data: {}\n\n".to_owned()),
            Err(RecvError::Closed) => None,
        },
        () = Clock::tokio().sleep(HEARTBEAT) => Some(": nothing new\n\n".to_owned()),
    }
}
