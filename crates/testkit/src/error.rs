//! What can be wrong with a script, or stop a server from starting. Every message says what to give instead.

use std::fmt;
use std::io;
use std::net::SocketAddr;

/// Why something could not be built or started.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A rate that is not a share of calls.
    Rate(f64),
    /// A script that repeats, and has neither a call nor a time in it.
    EmptyRound,
    /// A number that cannot be the status of an answer.
    Status(u16),
    /// A header that cannot be sent.
    Header(String),
    /// A header that says how long the body is, which the server says itself.
    Framing(String),
    /// A server that cannot listen.
    Listen {
        /// Where it was to listen.
        address: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
    /// A server whose thread cannot be started.
    Thread(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => {
                write!(f, "{rate} is not a rate: give a number from 0 (never) to 1 (always), such as 0.3")
            }
            Self::EmptyRound => f.write_str(
                "a script that repeats needs a part with a call or a time above zero, or it would turn for ever in no time",
            ),
            Self::Status(status) => {
                write!(f, "{status} is not the status of an answer: give a number from 200 to 599")
            }
            Self::Header(name) => write!(
                f,
                "`{name}` cannot be sent as a header: give a name of letters, digits and hyphens, and a value of \
                 visible ASCII without line breaks"
            ),
            Self::Framing(name) => write!(
                f,
                "`{name}` says how long the body is, and the server says that itself: leave it out; for a body that is \
                 shorter than promised there is `cut_body_after`"
            ),
            Self::Listen { address, .. } => {
                write!(f, "cannot listen on {address}: give port 0 for any free port, or one that nobody uses")
            }
            Self::Thread(_) => f.write_str("cannot start the server's thread: is the process at its limit of threads?"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen { source, .. } | Self::Thread(source) => Some(source),
            Self::Rate(_) | Self::EmptyRound | Self::Status(_) | Self::Header(_) | Self::Framing(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_says_what_to_give() {
        for (error, words) in [
            (Error::Rate(f64::NAN), "NaN is not a rate: give a number from 0"),
            (Error::EmptyRound, "needs a part with a call or a time above zero"),
            (Error::Status(7), "7 is not the status of an answer: give a number from 200 to 599"),
            (Error::Framing("content-length".to_owned()), "`content-length` says how long the body is"),
            (Error::Header("a b".to_owned()), "`a b` cannot be sent as a header: give a name of letters"),
        ] {
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
