//! What a service is called with: enough to script faults by, and to be written into the ledger.

use steadfast_resilience::{Attempt, IdempotencyKey};

/// The header that carries the idempotency key on the wire.
pub const KEY_HEADER: &str = "idempotency-key";
/// The header that may carry the attempt's number on the wire, counted from 0.
pub const ATTEMPT_HEADER: &str = "x-attempt";

/// How much of a body a ledger keeps, in bytes: enough to read what was asked, and 10 000 of them still fit into memory.
/// The body's whole size is always told.
pub const KEPT_BODY: usize = 16 * 1024;

/// One request, as a script and the ledger see it.
///
/// An [`Attempt`] of a pipeline turns into one, with its key and number:
///
/// ```
/// # use steadfast_testkit::Request;
/// let request = Request::new("POST", "/charges").with_header("X-Fault", "on");
/// assert_eq!(request.header("x-fault"), Some("on"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    key: Option<String>,
    attempt: Option<u32>,
    body: Vec<u8>,
    body_size: u64,
}

impl Request {
    /// A request with nothing but a method and a path.
    #[must_use]
    pub fn new(method: impl Into<String>, path: impl Into<String>) -> Self {
        Self { method: method.into(), path: path.into(), ..Self::default() }
    }

    /// With one more header. [`KEY_HEADER`] and [`ATTEMPT_HEADER`] are understood.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        if name.eq_ignore_ascii_case(KEY_HEADER) {
            // By the standard's draft it is a string in quotes; most clients send it bare.
            self.key = Some(value.trim_matches('"').to_owned());
        } else if name.eq_ignore_ascii_case(ATTEMPT_HEADER) {
            self.attempt = value.parse().ok();
        }
        self.headers.push((name, value));
        self
    }

    /// With an idempotency key.
    #[must_use]
    pub fn with_key(mut self, key: IdempotencyKey) -> Self {
        self.key = Some(key.to_string());
        self
    }

    /// With the key and the number of a pipeline's attempt.
    #[must_use]
    pub fn with_attempt(self, attempt: &Attempt) -> Self {
        let mut request = self.with_key(attempt.key());
        request.attempt = Some(attempt.number());
        request
    }

    /// With a body.
    #[must_use]
    pub fn with_body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.take(body.as_ref());
        self
    }

    /// `GET`, `POST`, ...; `CALL` for a request that was made of an attempt alone.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The path, with its query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The first header of this name, in whatever case it is written.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.0.eq_ignore_ascii_case(name)).map(|header| header.1.as_str())
    }

    /// All headers, in their order. Bytes that are no UTF-8 are shown as `\u{FFFD}`.
    #[must_use]
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// The idempotency key, without quotes.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The attempt's number, counted from 0.
    #[must_use]
    pub fn attempt(&self) -> Option<u32> {
        self.attempt
    }

    /// The body's beginning, up to [`KEPT_BODY`] bytes. Scripts decide before the body has been read: for them it is
    /// empty on the wire.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The size of the whole body, as far as it was read.
    #[must_use]
    pub fn body_size(&self) -> u64 {
        self.body_size
    }

    /// Adds what came in of the body.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.body_size = self.body_size.saturating_add(bytes.len() as u64);
        let room = KEPT_BODY.saturating_sub(self.body.len()).min(bytes.len());
        self.body.extend_from_slice(&bytes[..room]);
    }
}

impl From<&Attempt> for Request {
    fn from(attempt: &Attempt) -> Self {
        Self::new("CALL", "/").with_attempt(attempt)
    }
}

impl From<Attempt> for Request {
    fn from(attempt: Attempt) -> Self {
        Self::from(&attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_kept_up_to_its_limit_and_counted_whole() {
        let mut request = Request::new("PUT", "/").with_body(vec![1; KEPT_BODY - 1]);
        request.take(&[2, 3, 4]);
        request.take(&[5]);
        assert_eq!(request.body().len(), KEPT_BODY);
        assert_eq!(request.body().last(), Some(&2));
        assert_eq!(request.body_size(), KEPT_BODY as u64 + 3);
    }

    #[test]
    fn the_key_is_read_with_and_without_quotes_in_any_case() {
        for (name, value) in [("idempotency-key", "k1"), ("Idempotency-Key", "\"k1\"")] {
            assert_eq!(Request::new("POST", "/").with_header(name, value).key(), Some("k1"));
        }
        assert_eq!(Request::new("POST", "/").with_header("X-Attempt", "2").attempt(), Some(2));
        assert_eq!(Request::new("POST", "/").with_header("X-Attempt", "two").attempt(), None);
    }
}
