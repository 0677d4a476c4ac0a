//! Replies of the queue [`QUEUE`], as the shop sees them: read from the engine that has the store open.

use std::time::Duration;

use steadfast::{Engine, Reply, ReplyId, Says};

use crate::error::Error;
use crate::order::Status;
use crate::shop::{QUEUE, ReplySeen};

/// How long replies that were handed out are nobody else's: many times as long as writing them takes, and short enough for
/// those to see them again who began anew.
const LEASE: Duration = Duration::from_secs(5);

/// Replies, at most so many, once there are any.
pub(crate) async fn read(engine: &Engine, most: usize) -> Result<Vec<ReplySeen>, Error> {
    let replies = engine.replies(QUEUE).lease(LEASE).wait(most).await;
    let replies = replies.map_err(|error| Error::engine("read replies", error))?;
    Ok(replies.into_iter().map(seen).collect())
}

/// They need not come again.
pub(crate) async fn acknowledge(engine: &Engine, replies: Vec<ReplyId>) -> Result<(), Error> {
    let done = engine.replies(QUEUE).acknowledge(replies).await;
    done.map(drop).map_err(|error| Error::engine("acknowledge replies", error))
}

fn seen(reply: Reply) -> ReplySeen {
    let (says, words) = match reply.says {
        Says::Received => (Some(Status::Received), String::new()),
        Says::Completed { .. } => (Some(Status::Completed), String::new()),
        Says::Undone { reason } => (Some(Status::Undone), reason),
        Says::Failed { reason } => (Some(Status::Failed), reason),
        _ => (None, String::new()),
    };
    let correlation = reply.correlation.as_deref().unwrap_or_default().to_owned();
    ReplySeen { id: reply.id, correlation, says, words }
}
