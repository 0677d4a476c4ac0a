//! What errors and responses of the `reqwest` crate mean.

use std::error::Error as StdError;

use reqwest::{Error, Response};

use super::chain::causes;
use super::{Class, Classify, Kind, Verdict, chain, http};

/// By its status where it has one; otherwise by how far the request came. Without a connection nothing can have taken
/// effect; after that an effect is possible.
impl Classify for Error {
    fn classify(&self) -> Verdict {
        if let Some(status) = self.status() {
            return http::status(status.as_u16());
        }
        if self.is_builder() {
            // The request could not be made: it never left.
            return Verdict::terminal(Kind::BAD_REQUEST).without_effect();
        }
        if self.is_redirect() {
            // In a ring, or too long a way: a fault in the service's set-up, the same for every try.
            return Verdict::terminal(Kind::SERVER_ERROR);
        }
        if self.is_connect() {
            return not_connected(self).without_effect();
        }
        if self.is_timeout() {
            return Verdict::transient(Kind::TIMEOUT);
        }
        if self.is_decode() && malformed(self) {
            // As for malformed data of `std::io`: the other side's fault, and the same for every try.
            return Verdict::terminal(Kind::SERVER_ERROR);
        }
        broken_off(self)
    }

    /// The causes, without the URL: its query may hold what must not be logged.
    fn message(&self) -> Option<String> {
        let words: Vec<_> = causes(self).skip(1).map(ToString::to_string).collect();
        Some(if words.is_empty() { self.to_string() } else { words.join(": ") })
    }
}

/// Refused, unreachable, or no such name; or a handshake that failed, which the system's error under it may explain.
fn not_connected(error: &Error) -> Verdict {
    if error.is_timeout() {
        return Verdict::transient(Kind::TIMEOUT);
    }
    let known = chain(error);
    match known.class() {
        Class::Unclassified => Verdict::transient(Kind::UNREACHABLE),
        _ => known,
    }
}

/// There was a connection. What the system says about its end, or plainly that it broke.
fn broken_off(error: &Error) -> Verdict {
    let known = chain(error);
    match known.class() {
        Class::Unclassified if error.is_request() || error.is_body() || error.is_decode() => {
            Verdict::transient(Kind::CONNECTION_LOST)
        }
        _ => known,
    }
}

/// Whether the whole answer came, and was not what it should be. A body that broke off is a decode error too.
fn malformed(error: &Error) -> bool {
    error.source().and_then(|cause| cause.downcast_ref::<serde_json::Error>()).is_some()
}

/// By its status and headers: see [`http::reply`].
impl Classify for Response {
    fn classify(&self) -> Verdict {
        let plain = self.status().classify();
        // Most replies are successes: they need neither the clock nor a header.
        if plain.is_success() {
            plain
        } else {
            http::with_headers(self.status(), self.headers(), crate::clock::wall())
        }
    }

    fn message(&self) -> Option<String> {
        Some(format!("it answered {}", self.status()))
    }
}
