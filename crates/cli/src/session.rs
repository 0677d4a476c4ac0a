//! A session with a server: the client, who asks, and how answers are shown.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use steadfast_client::wire::filter::{Filter, Paging};
use steadfast_client::{Client, Error};
use steadfast_resilience::clock::Clock;
use uuid::Uuid;

use crate::exit::{self, BadLine, Unanswered};
use crate::global::Global;
use crate::show::Out;
use crate::talk;

/// How long the server may take for an answer where nothing is said. People wait for no longer before they look elsewhere.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// How often a request is made again that failed in passing: somebody sits before it, and a refused connection is told within a
/// second or two.
const RETRIES: u32 = 2;
/// The fewest characters of an id that are looked up: fewer mean thousands of tasks.
const LEAST_OF_AN_ID: usize = 4;
/// The most pages that are looked through for an id: the text is also looked for in inputs, and may be in many of those.
const PAGES_FOR_AN_ID: usize = 10;
/// How many ids are shown when a part of one means several.
const SHOWN_OF_SEVERAL: usize = 5;

/// A session with a server.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    /// Who asks.
    pub(crate) by: String,
    pub(crate) out: Out,
    pub(crate) clock: Clock,
    /// How long an answer may take, if that was said.
    timeout: Option<Duration>,
}

/// Does something with a server. Ctrl-C ends it.
pub(crate) fn with_server<F>(global: &Global, ask: F) -> Result<ExitCode>
where
    F: AsyncFnOnce(&Session) -> Result<ExitCode>,
{
    let session = Session::new(global)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start what this needs")?;
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = ask(&session) => ended,
            pressed = tokio::signal::ctrl_c() => {
                pressed.context("cannot listen for Ctrl-C")?;
                talk::line("\nStopped by Ctrl-C. What was asked of the server before goes on there.");
                Ok(ExitCode::from(exit::INTERRUPTED))
            }
        }
    });
    // A thread may still wait for a line of stdin that never comes.
    runtime.shutdown_background();
    ended
}

impl Session {
    fn new(global: &Global) -> Result<Self> {
        let clock = Clock::system();
        let client = Client::builder(&global.server).retries(RETRIES).clock(clock.clone()).build();
        let client = client.map_err(|error| BadLine(error.to_string()))?;
        Ok(Self { client, by: global.who(), out: Out::new(global), clock, timeout: global.timeout })
    }

    /// The answer of the server, if it comes in time.
    pub(crate) async fn answer<T>(&self, asked: impl Future<Output = Result<T, Error>>) -> Result<T> {
        self.answer_within(self.timeout.unwrap_or(ANSWER_WITHIN), asked).await
    }

    /// The answer of the server to something that takes long: it is waited for unless somebody has said for how long.
    pub(crate) async fn answer_slowly<T>(&self, asked: impl Future<Output = Result<T, Error>>) -> Result<T> {
        match self.timeout {
            Some(timeout) => self.answer_within(timeout, asked).await,
            None => Ok(asked.await?),
        }
    }

    async fn answer_within<T>(
        &self,
        within: Duration,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> Result<T> {
        tokio::select! {
            answer = asked => Ok(answer?),
            () = self.clock.sleep(within) => {
                Err(Unanswered { server: self.client.base().to_owned(), after: within }.into())
            }
        }
    }

    /// The whole id of a task of which the first characters were written.
    pub(crate) async fn task_id(&self, text: &str) -> Result<String> {
        let part = text.trim().trim_matches('-').to_ascii_lowercase();
        if Uuid::parse_str(&part).is_ok() {
            return Ok(part);
        }
        let is_part = part.len() >= LEAST_OF_AN_ID
            && part.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-');
        if !is_part {
            let words = format!(
                "`{text}` is no id of a task: give the whole id, or at least {LEAST_OF_AN_ID} characters of its beginning or end"
            );
            return Err(BadLine(words).into());
        }
        let found = self.ids_with(&part).await?;
        match &found[..] {
            [id] => Ok(id.clone()),
            [] => bail!(
                "there is no task whose id begins or ends with `{part}`: `steadfast task list` shows ids"
            ),
            several => {
                let shown: Vec<_> = several.iter().take(SHOWN_OF_SEVERAL).map(String::as_str).collect();
                let more = if several.len() > shown.len() { " and others" } else { "" };
                bail!(
                    "several tasks have an id that begins or ends with `{part}`: {}{more}",
                    shown.join(", ")
                )
            }
        }
    }

    /// Ids that begin or end with it. Tasks that are submitted within a minute begin alike, and end each in its own way.
    async fn ids_with(&self, part: &str) -> Result<Vec<String>> {
        let filter = Filter { text: Some(part.to_owned()), ..Filter::default() };
        let (mut paging, mut found) = (Paging::default(), Vec::new());
        for _ in 0..PAGES_FOR_AN_ID {
            let page = self.answer(self.client.tasks(&filter, &paging)).await?;
            let ids = page.tasks.into_iter().map(|task| task.id);
            found.extend(ids.filter(|id| id.starts_with(part) || id.ends_with(part)));
            match page.cursor {
                Some(cursor) if found.len() <= SHOWN_OF_SEVERAL => paging.cursor = Some(cursor),
                _ => return Ok(found),
            }
        }
        bail!(
            "too many tasks have `{part}` somewhere in them to find the one by its id: write more of the id"
        )
    }
}
