//! What a service in process answers with: a reply, or a fault that knows what it means.

use std::fmt;
use std::io;
use std::time::Duration;

use steadfast_resilience::{Class, Classify, Kind, Verdict};

use crate::script::{Answer, Behaviour, verdict_of};

/// The body of a plain answer.
pub(crate) const PLAIN_BODY: &[u8] = b"ok";

/// The answer to a call that worked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Reply {
    fn plain() -> Self {
        Self { status: 200, headers: Vec::new(), body: PLAIN_BODY.to_vec() }
    }

    /// The plain reply after these changes; a fault if the status says so, or the body is cut.
    fn changed(number: u64, answer: &Answer) -> Result<Self, Fault> {
        let status = answer.status.unwrap_or(200);
        let verdict = verdict_of(status);
        let body = answer.body_of(PLAIN_BODY);
        if !verdict.is_success() {
            return Err(Fault { number, verdict });
        }
        if answer.cut_after.is_some_and(|bytes| bytes < body.len()) {
            return Err(Fault { number, verdict: io::Error::from(io::ErrorKind::UnexpectedEof).classify() });
        }
        Ok(Self { status, headers: answer.plain_headers(), body })
    }

    /// The status; 200 unless the script says otherwise.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The first header of this name, in whatever case it is written.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.0.eq_ignore_ascii_case(name)).map(|header| header.1.as_str())
    }

    /// The body; `ok` unless the script says otherwise.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// A failed call: what a client's error would be, with class, kind and hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    number: u64,
    verdict: Verdict,
}

impl Fault {
    /// The connection was refused.
    pub(crate) fn refused(number: u64) -> Self {
        Self { number, verdict: io::Error::from(io::ErrorKind::ConnectionRefused).classify() }
    }

    /// The connection broke before an answer came.
    pub(crate) fn lost(number: u64) -> Self {
        Self { number, verdict: io::Error::from(io::ErrorKind::ConnectionReset).classify() }
    }

    /// The number of the call, as in the ledger.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The sort of failure.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.verdict.kind()
    }

    /// What it says about trying again.
    #[must_use]
    pub fn class(&self) -> Class {
        self.verdict.class()
    }

    /// How long the service asks to be left alone.
    #[must_use]
    pub fn hint(&self) -> Option<Duration> {
        self.verdict.hint()
    }
}

/// What a behaviour that answers gives to its caller. Those that never answer are no business of this function: they
/// count as a lost connection.
pub(crate) fn outcome(number: u64, behaviour: &Behaviour) -> Result<Reply, Fault> {
    match behaviour {
        Behaviour::Succeed => Ok(Reply::plain()),
        Behaviour::Fail(verdict) => Err(Fault { number, verdict: *verdict }),
        Behaviour::Answer(answer) => Reply::changed(number, answer),
        Behaviour::Refuse => Err(Fault::refused(number)),
        Behaviour::Hang | Behaviour::Drop | Behaviour::LoseAnswer => Err(Fault::lost(number)),
    }
}

impl Classify for Fault {
    fn classify(&self) -> Verdict {
        self.verdict
    }

    fn message(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {} failed as scripted: {}", self.number, self.verdict)?;
        self.verdict.hint().map_or(Ok(()), |hint| write!(f, ", retry after {hint:?}"))
    }
}

impl std::error::Error for Fault {}
