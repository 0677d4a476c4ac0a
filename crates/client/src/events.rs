//! What happens to a task, as it happens. A stream that breaks is taken up again where it was: nothing is missed, nothing comes twice.

use std::fmt;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use reqwest::{Response, StatusCode};
use serde::de::DeserializeOwned;

use crate::client::Client;
use crate::error::{Error, Kind};
use crate::sse::{Block, Parser};
use crate::wire::event::{CHANGE, END, Event};

/// How often a stream is taken up again without anything coming of it, before somebody has to be told.
const FRUITLESS: u32 = 8;
/// The wait before a stream is taken up again; it doubles with each time that nothing came of it.
const AGAIN_AFTER: Duration = Duration::from_millis(250);
/// Where a stream goes on.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What happens to a task, one after the other.
pub struct Events {
    client: Client,
    id: String,
    /// The place of the last event that came.
    after: Option<u64>,
    response: Option<Response>,
    parser: Parser,
    fruitless: u32,
    /// Whether there was a stream before.
    connected: bool,
    ended: bool,
}

impl Events {
    pub(crate) fn new(client: Client, id: &str, after: Option<u64>) -> Self {
        let parser = Parser::default();
        Self {
            client,
            id: id.to_owned(),
            after,
            response: None,
            parser,
            fruitless: 0,
            connected: false,
            ended: false,
        }
    }

    /// The place of the last event that came: whoever begins there again misses nothing.
    #[must_use]
    pub fn place(&self) -> Option<u64> {
        self.after
    }

    /// The next event; `None` once the task has come to rest and that was told.
    ///
    /// # Errors
    /// What the server says, such as that there is no such task; no connection, after several tries. It can be asked again, and goes
    /// on from where it was.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        while !self.ended {
            while let Some(block) = self.parser.next() {
                if let Some(event) = self.read(&block)? {
                    return Ok(Some(event));
                }
            }
            self.more().await?;
        }
        Ok(None)
    }

    /// Waits for more bytes, or takes the stream up again.
    async fn more(&mut self) -> Result<(), Error> {
        let broke = match &mut self.response {
            None => match self.connect().await {
                // The server that was there is likely to be started again.
                Err(error) if self.connected && error.kind() == Kind::Unreachable => error,
                told => return told,
            },
            Some(response) => match response.chunk().await {
                Ok(Some(bytes)) => match self.parser.push(&bytes) {
                    Ok(()) => {
                        // It says that it lives, if no more: a quiet task is no fault.
                        self.fruitless = 0;
                        return Ok(());
                    }
                    Err(_) => Error::new(Kind::BadAnswer, "an event of the stream has no end"),
                },
                Ok(None) => Error::new(Kind::Unreachable, "the stream broke off"),
                Err(error) => Error::lost(self.client.base(), error),
            },
        };
        self.response = None;
        self.parser = Parser::default();
        self.fruitless += 1;
        if self.fruitless > FRUITLESS {
            self.fruitless = 0;
            return Err(broke);
        }
        let wait = AGAIN_AFTER * 2_u32.pow(self.fruitless - 1);
        self.client.inner.clock.sleep(wait).await;
        Ok(())
    }

    async fn connect(&mut self) -> Result<(), Error> {
        let request = self.client.get(&["tasks", &self.id, "events"]).header(ACCEPT, "text/event-stream");
        let request = match self.after {
            Some(after) => request.header(LAST_EVENT_ID, &after.to_string()),
            None => request,
        };
        let response = request.stream().await?;
        match response.status() {
            // It is at rest, and all of it was told.
            StatusCode::NO_CONTENT => self.ended = true,
            _ if !is_stream(&response) => {
                return Err(Error::new(Kind::BadAnswer, "what came is no stream of events"));
            }
            _ => (self.response, self.connected) = (Some(response), true),
        }
        Ok(())
    }

    /// What an event says; `None` for one that this version does not know.
    fn read(&mut self, block: &Block) -> Result<Option<Event>, Error> {
        let event = match block.event.as_deref() {
            Some(CHANGE) => Event::Changed(from_json(block)?),
            Some(END) => Event::Ended(from_json(block)?),
            _ => return Ok(None),
        };
        self.fruitless = 0;
        if let Some(place) = block.id.as_deref().and_then(|id| id.parse().ok()) {
            self.after = Some(place);
        }
        if let Event::Ended(_) = event {
            (self.ended, self.response) = (true, None);
        }
        Ok(Some(event))
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

fn from_json<T: DeserializeOwned>(block: &Block) -> Result<T, Error> {
    serde_json::from_str(&block.data).map_err(|error| {
        let event = block.event.as_deref().unwrap_or_default();
        Error::new(Kind::BadAnswer, format!("an event `{event}` of the stream cannot be read: {error}"))
    })
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("task", &self.id).field("after", &self.after).finish_non_exhaustive()
    }
}
