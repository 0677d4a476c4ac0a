//! The schema that is checked in is the one that the code makes, and it holds what the reader holds.

use super::*;
use crate::policy::json_schema;
use crate::policy::schema::{
    BREAKER, BUDGET, CLASSIFY, FACTS, LIMIT, OPERATION, RETRY, SERVICE, SLOW, Section,
};

const CHECKED_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.schema.json");

/// Writes it when asked: `STEADFAST_BLESS=1 cargo test -p steadfast-resilience --all-features schema`.
#[test]
fn the_schema_that_is_checked_in_is_made_of_the_code() {
    let made = json_schema();
    if std::env::var_os("STEADFAST_BLESS").is_some() {
        std::fs::write(CHECKED_IN, &made).unwrap();
    }
    let kept = std::fs::read_to_string(CHECKED_IN).unwrap();
    assert!(kept == made, "docs/policy.schema.json is not what the code makes: bless it, see this test");
}

#[test]
fn files_that_the_reader_takes_fit_the_schema_and_others_do_not() {
    let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let good = r#"{"default": {"attempt_timeout": "none"}, "retry": {"r": {"like": "background", "max_retries": "unlimited",
        "max_elapsed": "1m 30s", "jitter": 0.3, "kinds": {"conflict": 2}}}, "breaker": {"b": {"ratio": "none",
        "slow": {"over": "1s", "share": 0.5}, "trip_at_once": ["offline"]}}, "budget": {"c": {"share": 0.1}}, "limit": {"l": {"concurrent": 5, "rate": 0.5}},
        "service": {"s": {"retry": {"strategy": "schedule", "waits": ["0s", "3s"]}, "breaker": "b", "limit": "l",
        "classify": {"terminal": ["conflict", 409]}, "operation": {"o": {"idempotent": false}}}}}"#;
    for bad in [
        r#"{"services": {}}"#,
        r#"{"retry": {"r": {"max_retries": -1}}}"#,
        r#"{"retry": {"r": {"max_retries": "many"}}}"#,
        r#"{"breaker": {"b": {"ratio": 1.5}}}"#,
        r#"{"service": {"s": {"attempt_timeout": 5}}}"#,
        r#"{"service": {"s": {"retry": {"waits": "1s"}}}}"#,
        r#"{"service": {"s": {"operation": {"o": {"budget": "none"}}}}}"#,
        r#"{"service": {"s": {"server_timeout": "5"}}}"#,
        r#"{"limit": {"l": {"concurrent": 0}}}"#,
        r#"{"service": {"s": {"limit": {"rate": -1}}}}"#,
    ] {
        assert!(!validator.is_valid(&serde_json::from_str(bad).unwrap()), "{bad}");
        assert!(Policies::parse(bad, Format::Json, "bad").is_err(), "{bad}");
    }
    let instance = serde_json::from_str(good).unwrap();
    let errors: Vec<_> = validator.iter_errors(&instance).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let read = Policies::parse(good, Format::Json, "good");
    assert!(read.is_ok(), "{}", read.unwrap_err());
}

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/policy-files.md");
const ALL_KEYS: &str = "## All keys\n";

fn all_keys() -> String {
    let sections: [(&str, &Section); 9] = [
        ("`[service.NAME]` and `[default]`", &SERVICE),
        ("`[service.NAME.operation.NAME]`", &OPERATION),
        ("`[retry.NAME]`", &RETRY),
        ("`[breaker.NAME]`", &BREAKER),
        ("`slow` of a breaker", &SLOW),
        ("`[budget.NAME]`", &BUDGET),
        ("`[limit.NAME]`", &LIMIT),
        ("`classify`", &CLASSIFY),
        ("`facts`", &FACTS),
    ];
    ALL_KEYS.to_owned() + &steadfast_form::tables(&sections)
}

/// Writes them when asked: `STEADFAST_BLESS=1 cargo test -p steadfast-resilience --all-features schema`.
#[test]
fn the_guide_lists_every_key_with_what_it_takes_its_default_and_meaning() {
    let guide = std::fs::read_to_string(GUIDE).unwrap();
    let (before, kept) = guide.split_once(ALL_KEYS).unwrap();
    let made = all_keys();
    if std::env::var_os("STEADFAST_BLESS").is_some() {
        std::fs::write(GUIDE, format!("{before}{made}")).unwrap();
        return;
    }
    assert!(
        format!("{ALL_KEYS}{kept}") == made,
        "the keys in the guide are not those of the code: bless them, see this test"
    );
}
