//! What went wrong, as in RFC 9457, with whether the same may work later and after how long.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The media type of a [`Problem`].
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Where the pages of the codes are.
pub const PAGES: &str = "https://github.com/steadfast-rs/steadfast/blob/main/docs/errors";

/// Something that could not be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({
    "type": "https://github.com/steadfast-rs/steadfast/blob/main/docs/errors/SF408.md",
    "title": "There is no such task",
    "status": 404,
    "detail": "there is no task 0192f3a0-5b1c-7d2e-8f00-0123456789ab",
    "code": "SF408",
    "transient": false
})))]
pub struct Problem {
    /// The page that says what to do.
    #[serde(rename = "type", default)]
    pub page: String,
    /// Which sort of problem, in a few words that are always the same.
    #[serde(default)]
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened here, and what to do next.
    #[serde(default)]
    pub detail: String,
    /// Identifies the sort of problem; `docs/errors/CODE.md` explains it.
    #[serde(default)]
    pub code: String,
    /// Whether the same may work later without anybody doing anything.
    #[serde(default)]
    pub transient: bool,
    /// Not before this long. It is in the header `Retry-After` as well, in whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What of the request is wrong, each with its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Wrong>,
}

/// Something in a request that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Wrong {
    /// Where: `body.tasks[3].workflow`, `query.limit`, `header.idempotency-key`, `path.id`; of a file its line and column too.
    pub place: String,
    /// What was expected there.
    pub message: String,
}

impl Problem {
    /// A problem of this code, with the page of that code.
    #[must_use]
    pub fn new(status: u16, code: &str, title: &str, detail: impl Into<String>) -> Self {
        Self {
            page: format!("{PAGES}/{code}.md"),
            title: title.to_owned(),
            status,
            detail: detail.into(),
            code: code.to_owned(),
            transient: false,
            retry_after_ms: None,
            errors: Vec::new(),
        }
    }

    /// The same may work after this long.
    #[must_use]
    pub fn transient(mut self, after: Duration) -> Self {
        self.transient = true;
        self.retry_after_ms = Some(u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// With this as well: what is wrong at a place of the request.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>, message: impl Into<String>) -> Self {
        self.errors.push(Wrong { place: place.into(), message: message.into() });
        self
    }

    /// How long to leave it alone, if that was said.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after_ms.map(Duration::from_millis)
    }
}

/// In words, for people: what happened, each wrong place in a line of its own, and the code.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = if self.detail.is_empty() { &self.title } else { &self.detail };
        f.write_str(told)?;
        if !self.code.is_empty() {
            write!(f, " [{}]", self.code)?;
        }
        self.errors.iter().try_for_each(|Wrong { place, message }| write!(f, "\n  {place}: {message}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_what_when_and_where() {
        let problem = Problem::new(422, "SF540", "The body makes no sense", "the body makes no sense")
            .at("body.priority", "expected a number from -128 to 127");
        let json = serde_json::to_value(&problem).unwrap();
        assert_eq!(json["type"], format!("{PAGES}/SF540.md"));
        assert_eq!(json["transient"], false);
        assert!(json.get("retry_after_ms").is_none());
        assert_eq!(
            problem.to_string(),
            "the body makes no sense [SF540]\n  body.priority: expected a number from -128 to 127"
        );
        let later = problem.transient(Duration::from_millis(1_500));
        assert_eq!((later.transient, later.retry_after()), (true, Some(Duration::from_millis(1_500))));
    }

    #[test]
    fn what_a_proxy_says_is_a_problem_too() {
        let bare: Problem = serde_json::from_str(r#"{"status": 502, "something": "else"}"#).unwrap();
        assert_eq!((bare.status, bare.transient, bare.code.as_str()), (502, false, ""));
    }
}
