//! What one call meets: the vocabulary of scripts. It says nothing of when.

use std::fmt;
use std::sync::Arc;

use steadfast_resilience::classify::http;
use steadfast_resilience::{Class, Verdict};

use super::Answer;

/// What a call meets at the service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Behaviour {
    /// It works: 200. A proxy passes the call on.
    Succeed,
    /// It fails with this meaning; see [`status`](Self::status) for what that is on the wire.
    Fail(Verdict),
    /// It is never answered.
    Hang,
    /// The connection is closed without an answer. A proxy does not pass the call on.
    Drop,
    /// It is carried out, and the answer is lost: the connection is closed without one. A proxy passes the call on.
    LoseAnswer,
    /// Nobody is there: the connection is refused.
    Refuse,
    /// It works, but the answer is changed.
    Answer(Arc<Answer>),
}

impl Behaviour {
    /// The status on the wire. A failure has its own code if that is one of HTTP, and else 429 when throttled, 400 when
    /// terminal, 503 when lasting and 500 otherwise. `None` where no answer comes, or the upstream says.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Succeed => Some(200),
            Self::Fail(verdict) => Some(status_of(verdict)),
            Self::Answer(answer) => answer.status,
            Self::Hang | Self::Drop | Self::LoseAnswer | Self::Refuse => None,
        }
    }
}

fn status_of(verdict: &Verdict) -> u16 {
    let own =
        verdict.code().and_then(|code| u16::try_from(code).ok()).filter(|code| (400..=599).contains(code));
    own.unwrap_or_else(|| match verdict.class() {
        Class::Throttled => 429,
        Class::Terminal => 400,
        Class::Lasting => 503,
        _ => 500,
    })
}

/// What a status means to those who are called back in process; the same as on the wire.
pub(crate) fn verdict_of(status: u16) -> Verdict {
    http::status(status)
}

/// In the words of the ledger.
impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Succeed => f.write_str("succeed"),
            Self::Fail(verdict) => {
                write!(f, "{} {verdict}", status_of(verdict))?;
                verdict.hint().map_or(Ok(()), |hint| write!(f, ", retry after {hint:?}"))
            }
            Self::Hang => f.write_str("hang"),
            Self::Drop => f.write_str("drop"),
            Self::LoseAnswer => f.write_str("lose the answer"),
            Self::Refuse => f.write_str("refuse"),
            Self::Answer(_) => f.write_str("changed answer"),
        }
    }
}
