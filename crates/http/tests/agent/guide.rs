//! The guide's tables are what the code says.

use std::collections::BTreeMap;
use std::time::SystemTime;

use http::StatusCode;
use steadfast_http::{
    Code, DEFAULT_MAX_REQUEST, DEFAULT_MAX_RESPONSE, KEPT_HEADERS, MAX_BODY, MAX_KEPT_HEADERS,
    MAX_REQUEST_HEADERS, MAX_URL, MAX_VALUES, MIN_SECRET,
};
use steadfast_resilience::classify::http as classified;
use steadfast_resilience::{Class, Effect, Verdict};

const CHAPTER: &str = include_str!("../../../../docs/guide/calling-web-services.md");

/// A row of the table, without its statuses.
fn meaning(code: u16) -> String {
    let verdict = classified::status(code);
    let hinted =
        classified::reply(code, |name| (name == "retry-after").then_some("30"), SystemTime::UNIX_EPOCH);
    // A no for good is taken at its word (I24).
    let is_no = verdict.class() == Class::Terminal || verdict.effect() == Effect::None;
    let done = if is_no { "no" } else { "perhaps" };
    let again = |verdict: &Verdict| match verdict.class() {
        Class::Transient => "yes",
        Class::Throttled => "yes, later",
        _ => "no",
    };
    let with_hint = match hinted.hint() {
        Some(_) if again(&hinted) == again(&verdict) => "not before its time",
        Some(_) => "yes, not before its time",
        None => "no change",
    };
    format!("`{}` | {} | {done} | {with_hint} |", verdict.kind(), again(&verdict))
}

/// The table of statuses: those that have a name, by what they mean, and what all others mean.
fn table() -> String {
    let mut rows: BTreeMap<(bool, String), Vec<String>> = BTreeMap::new();
    let named = (400..=599).filter(|code| {
        // 529 has no name, and is in use.
        *code == 529 || StatusCode::from_u16(*code).is_ok_and(|status| status.canonical_reason().is_some())
    });
    let (other_4xx, other_5xx) = (meaning(499), meaning(599));
    for code in named {
        let meaning = meaning(code);
        if meaning != *(if code < 500 { &other_4xx } else { &other_5xx }) {
            rows.entry((code >= 500, meaning)).or_default().push(code.to_string());
        }
    }
    let mut lines: Vec<(String, String)> =
        rows.into_iter().map(|((_, meaning), codes)| (codes.join(", "), meaning)).collect();
    lines.sort();
    lines.push(("every other 4xx".to_owned(), other_4xx));
    lines.push(("every other 5xx".to_owned(), other_5xx));
    lines.into_iter().map(|(codes, meaning)| format!("| {codes} | {meaning}\n")).collect()
}

#[test]
fn the_chapter_has_the_table_of_the_classification() {
    let table = table();
    assert!(CHAPTER.contains(&table), "put this into docs/guide/calling-web-services.md:\n\n{table}");
}

#[test]
fn the_chapter_names_the_limits_that_hold() {
    let mib = |bytes: usize| format!("{} MiB", bytes / 1024 / 1024);
    let kib = |bytes: usize| format!("{} KiB", bytes / 1024);
    for (what, limit) in [
        (
            "| an answer's body | ",
            format!("{} (`max_response`, at most {})", mib(DEFAULT_MAX_RESPONSE), mib(MAX_BODY)),
        ),
        (
            "| a request's body | ",
            format!("{} (`max_request`, at most {})", mib(DEFAULT_MAX_REQUEST), mib(MAX_BODY)),
        ),
        ("| a request's headers | ", kib(MAX_REQUEST_HEADERS)),
        ("| a request's URL | ", format!("{MAX_URL} bytes")),
        ("| values in a JSON answer | ", MAX_VALUES.to_string()),
        ("| headers of an answer that a step sees | ", kib(MAX_KEPT_HEADERS)),
        ("| a secret | ", format!("{MIN_SECRET} bytes to 64 KiB")),
    ] {
        assert!(CHAPTER.contains(&format!("{what}{limit} |")), "{what}{limit}");
    }
    let kept = KEPT_HEADERS.map(|name| format!("`{name}`")).join(", ");
    assert!(CHAPTER.contains(&kept), "{kept}");
}

#[test]
fn the_chapter_links_every_code() {
    for code in Code::ALL {
        assert!(CHAPTER.contains(&format!("[{code}](../errors/{code}.md)")), "{code}");
    }
}
