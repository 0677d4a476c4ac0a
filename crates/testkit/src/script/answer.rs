//! How an answer differs from the plain one: status, headers, body. What cannot be sent is found when the script is
//! built, not on the wire.

use std::fmt;
use std::sync::Arc;

use crate::error::Error;

type BodyChange = Arc<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

/// Changes to an answer: to the plain one of a service (200, `ok`), or to the upstream's behind a proxy.
///
/// ```
/// # use steadfast_testkit::{Answer, Script};
/// let stale = Answer::new().status(203).header("warning", "110").without_header("etag").body("{}");
/// let script = Script::answer(stale)?;
/// # Ok::<(), steadfast_testkit::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Answer {
    pub(crate) status: Option<u16>,
    pub(crate) headers: Vec<(String, Header)>,
    pub(crate) body: Body,
    pub(crate) cut_after: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// In place of all of this name.
    Set(String),
    /// Beside those of this name.
    Add(String),
    Remove,
}

#[derive(Clone, Default)]
pub(crate) enum Body {
    #[default]
    Same,
    Replaced(Vec<u8>),
    Changed(BodyChange),
}

impl Answer {
    /// No change yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Another status, from 200 to 599.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// A header, in place of all of its name.
    #[must_use]
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.with(name, Header::Set(value.into()))
    }

    /// A header beside those of its name.
    #[must_use]
    pub fn add_header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.with(name, Header::Add(value.into()))
    }

    /// Without any header of this name.
    #[must_use]
    pub fn without_header(self, name: impl Into<String>) -> Self {
        self.with(name, Header::Remove)
    }

    /// Another body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Body::Replaced(body.into());
        self
    }

    /// The body as this function makes it of the plain one. A proxy holds the upstream's body in memory for that, up to
    /// `http::MAX_BODY`, and answers 502 to a larger one.
    #[must_use]
    pub fn change_body(mut self, change: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) -> Self {
        self.body = Body::Changed(Arc::new(change));
        self
    }

    /// Promises the whole body, sends this many bytes of it and breaks the connection. A body that is not longer is
    /// sent whole.
    #[must_use]
    pub fn cut_body_after(mut self, bytes: usize) -> Self {
        self.cut_after = Some(bytes);
        self
    }

    fn with(mut self, name: impl Into<String>, header: Header) -> Self {
        self.headers.push((name.into(), header));
        self
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Some(status) = self.status.filter(|status| !(200..=599).contains(status)) {
            return Err(Error::Status(status));
        }
        let bad = |(name, header): &&(String, Header)| {
            let value = match header {
                Header::Set(value) | Header::Add(value) => value,
                Header::Remove => "",
            };
            !is_name(name) || !is_value(value)
        };
        if let Some((name, _)) = self.headers.iter().find(bad) {
            return Err(Error::Header(name.clone()));
        }
        let frames = |name: &str| {
            ["content-length", "transfer-encoding"].iter().any(|own| name.eq_ignore_ascii_case(own))
        };
        match self.headers.iter().find(|(name, _)| frames(name)) {
            Some((name, _)) => Err(Error::Framing(name.clone())),
            None => Ok(()),
        }
    }

    /// The headers of an answer that had none.
    pub(crate) fn plain_headers(&self) -> Vec<(String, String)> {
        let mut headers: Vec<(String, String)> = Vec::new();
        for (name, change) in &self.headers {
            if !matches!(change, Header::Add(_)) {
                headers.retain(|header| !header.0.eq_ignore_ascii_case(name));
            }
            if let Header::Set(value) | Header::Add(value) = change {
                headers.push((name.clone(), value.clone()));
            }
        }
        headers
    }

    /// The plain body after these changes.
    pub(crate) fn body_of(&self, plain: &[u8]) -> Vec<u8> {
        match &self.body {
            Body::Same => plain.to_vec(),
            Body::Replaced(body) => body.clone(),
            Body::Changed(change) => change(plain),
        }
    }
}

/// A token by RFC 9110, section 5.6.2.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn is_value(value: &str) -> bool {
    value.bytes().all(|b| b == b'\t' || (b' '..=b'~').contains(&b))
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .field("cut_after", &self.cut_after)
            .finish_non_exhaustive()
    }
}
