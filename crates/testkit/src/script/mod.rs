//! Scripts: what a service does, call by call and as time goes by.
//!
//! A [`Script`] is a list of [`Part`]s. It decides with a pure function, [`Script::decide`]: state, time and random
//! number in, [`Behaviour`] out. Services, servers and proxies act on that.

mod answer;
mod behaviour;
mod mark;
mod part;
mod progress;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use steadfast_resilience::classify::http;
use steadfast_resilience::{Kind, Verdict};

pub use answer::Answer;
#[cfg(feature = "http")]
pub(crate) use answer::{Body, Header};
pub use behaviour::Behaviour;
pub(crate) use behaviour::verdict_of;
pub(crate) use mark::Mark;
pub use part::Part;
pub use progress::{Decision, Progress, Reach};

use crate::error::Error;
use crate::request::Request;

/// What a service does, call by call.
///
/// ```
/// use std::time::Duration;
/// use steadfast_testkit::Script;
///
/// // Fails twice, asks once to be left alone for 3 s, and works from then on.
/// let script = Script::fail().times(2).then(Script::throttle(Duration::from_secs(3))).then(Script::succeed());
///
/// // Down for 5 s of every 15 s, for marked requests only.
/// let flapping = Script::flap(Duration::from_secs(10), Duration::from_secs(5))?.only_marked("x-fault", "on");
/// # Ok::<(), steadfast_testkit::Error>(())
/// ```
///
/// Each part lasts for [a number of calls](Part::times) or [for a time](Part::lasting), for one call if nothing is said.
/// **When the list ends, the last part goes on for ever**, whatever its number or time, unless the script
/// [repeats](Self::repeating). Time counts from when a service begins to follow the script.
#[derive(Clone, Debug)]
#[must_use = "a script does nothing until a service follows it"]
pub struct Script {
    parts: Vec<Part>,
    repeats: bool,
    seed: u64,
    mark: Mark,
}

/// The parts that scripts are made of.
impl Script {
    /// It works: 200.
    pub const fn succeed() -> Part {
        Part::new(Behaviour::Succeed)
    }

    /// It fails with 500: a transient `server-error`.
    pub fn fail() -> Part {
        Self::status(500)
    }

    /// It fails this many times, and works from then on.
    pub fn fail_times(times: u64) -> Self {
        Self::fail().times(times).then(Self::succeed())
    }

    /// It fails with 500 at this rate; which calls do follows from the [seed](Self::seeded).
    ///
    /// # Errors
    /// [`Error::Rate`] unless the rate is a number from 0 to 1.
    pub fn fail_at_rate(rate: f64) -> Result<Part, Error> {
        Self::fail().at_rate(rate)
    }

    /// It never answers. The caller has to give up, or the service to be switched off.
    pub const fn hang() -> Part {
        Part::new(Behaviour::Hang)
    }

    /// It works, after this time.
    pub const fn slow(time: Duration) -> Part {
        Self::succeed().after(time)
    }

    /// It asks to be left alone for this time: 429 with `Retry-After`.
    ///
    /// `Retry-After` has whole seconds, rounded up. If that is not exact, `retry-after-ms` says it too.
    pub const fn throttle(retry_after: Duration) -> Part {
        Self::fault(Verdict::throttled(Kind::THROTTLED).with_code(429).with_hint(retry_after))
    }

    /// It has more work than it can do: 503 without a hint.
    pub fn overloaded() -> Part {
        Self::status(503)
    }

    /// The caller's mistake: 400.
    pub fn terminal() -> Part {
        Self::status(400)
    }

    /// It answers with this status, which means what
    /// [`classify::http`](steadfast_resilience::classify::http::status) says. A number that is no status of HTTP's is an
    /// unclassified failure, and 500 on the wire.
    pub fn status(status: u16) -> Part {
        let verdict = http::status(status);
        Part::new(match status {
            200..=399 => Behaviour::Answer(Arc::new(Answer::new().status(status))),
            _ if verdict.is_success() => Behaviour::Succeed,
            _ => Behaviour::Fail(verdict),
        })
    }

    /// It fails with this meaning: any kind, class, hint and code.
    pub const fn fault(verdict: Verdict) -> Part {
        Part::new(Behaviour::Fail(verdict))
    }

    /// Nobody is there: connections are refused. Over the wire a number of refused calls is a number of connections
    /// that are closed at once, because a server cannot count what it does not see.
    pub const fn switched_off() -> Part {
        Part::new(Behaviour::Refuse)
    }

    /// The connection is closed without an answer, and nothing was done.
    pub const fn dropped() -> Part {
        Part::new(Behaviour::Drop)
    }

    /// The request is carried out, and the connection closed without an answer. What idempotency keys are for.
    pub const fn answer_lost() -> Part {
        Part::new(Behaviour::LoseAnswer)
    }

    /// It works with another answer: status, headers, body.
    ///
    /// # Errors
    /// [`Error::Status`], [`Error::Header`] or [`Error::Framing`] for what cannot be sent.
    pub fn answer(answer: Answer) -> Result<Part, Error> {
        answer.check()?;
        Ok(Part::new(Behaviour::Answer(Arc::new(answer))))
    }

    /// Up for one time, switched off for another, and so on.
    ///
    /// # Errors
    /// [`Error::EmptyRound`] when both times are zero.
    pub fn flap(up: Duration, down: Duration) -> Result<Self, Error> {
        Self::succeed().lasting(up).then(Self::switched_off().lasting(down)).repeating()
    }

    /// A part for each behaviour, one call each.
    ///
    /// An empty list succeeds.
    pub fn sequence(parts: impl IntoIterator<Item = Part>) -> Self {
        Self::of(parts.into_iter().collect())
    }
}

/// Scripts as a whole.
impl Script {
    fn of(parts: Vec<Part>) -> Self {
        Self { parts, repeats: false, seed: 0, mark: Mark::Every }
    }

    /// Followed by another part or script, whose seed, mark and repetition do not count.
    pub fn then(mut self, next: impl Into<Self>) -> Self {
        self.parts.append(&mut next.into().parts);
        self
    }

    /// From the beginning again after the last part, for ever.
    ///
    /// # Errors
    /// [`Error::EmptyRound`] when a round has neither a call nor a time above zero.
    pub fn repeating(mut self) -> Result<Self, Error> {
        if self.round() == Some(0) {
            return Err(Error::EmptyRound);
        }
        self.repeats = true;
        Ok(self)
    }

    /// With another seed for parts with a rate. The same seed makes the same calls fail; 0 if nothing is said.
    pub const fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Only for requests with this header, such as `x-fault: on`; name and value in any case. The others are served as
    /// if there were no script, and do not count as calls of it.
    pub fn only_marked(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.mark = Mark::Header { name: name.into(), value: value.into() };
        self
    }

    /// Only for requests of which this is true; see [`only_marked`](Self::only_marked). It must not block.
    pub fn only_if(mut self, predicate: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Self {
        self.mark = Mark::Predicate(Arc::new(predicate));
        self
    }

    /// Whether the script is for this request.
    #[must_use]
    pub fn is_for(&self, request: &Request) -> bool {
        self.mark.is_on(request)
    }

    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn mark(&self) -> Mark {
        self.mark.clone()
    }
}

impl From<Part> for Script {
    fn from(part: Part) -> Self {
        Self::of(vec![part])
    }
}
