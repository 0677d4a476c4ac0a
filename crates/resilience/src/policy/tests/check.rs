//! The rules of the check: one good and one bad file for each.

use super::*;
use crate::policy::Severity;

fn rules(text: &str) -> Vec<&'static str> {
    let policies = toml(text).unwrap_or_else(|error| panic!("{error}"));
    policies.check().iter().map(|finding| finding.rule).collect()
}

#[test]
fn each_rule_finds_its_bad_file_and_passes_its_good_one() {
    for (rule, bad, good) in [
        ("no-jitter", "retry = { jitter = \"none\" }", "retry = { jitter = \"full\" }"),
        (
            "many-fixed",
            "retry = { strategy = \"fixed\", wait = \"1s\", max_retries = 10 }",
            "retry = { strategy = \"fixed\", wait = \"1s\", max_retries = 5 }",
        ),
        (
            "wait-like-timeout",
            "attempt_timeout = \"2s\"\nretry = { strategy = \"fixed\", wait = \"2s\" }",
            "attempt_timeout = \"2s\"\nretry = { strategy = \"fixed\", wait = \"4s\" }",
        ),
        (
            "longer-than-deadline",
            "attempt_timeout = \"2s\"\ncomplete_within = \"5s\"",
            "attempt_timeout = \"1s\"\ncomplete_within = \"9s\"",
        ),
        // Attempts fit, waits do not.
        (
            "longer-than-deadline",
            "attempt_timeout = \"1s\"\nretry = { strategy = \"fixed\", wait = \"3s\", max_retries = 2 }\ncomplete_within = \"10s\"",
            "attempt_timeout = \"1s\"\nretry = { strategy = \"fixed\", wait = \"3s\", max_retries = 2 }\ncomplete_within = \"11s\"",
        ),
        // The first wait is none.
        (
            "longer-than-deadline",
            "attempt_timeout = \"1s\"\nretry = { strategy = \"fixed\", wait = \"3s\", max_retries = 2 }\ncomplete_within = \"7s\"",
            "attempt_timeout = \"1s\"\nretry = { strategy = \"fixed\", wait = \"3s\", max_retries = 2, fast_first = true }\ncomplete_within = \"7s\"",
        ),
        ("no-deadline", "retry = \"background\"", "retry = \"background\"\ncomplete_within = \"20m\""),
        (
            "nested-retries",
            "facts = { callers_retry = 3 }",
            "facts = { callers_retry = 3 }\nretry = \"none\"",
        ),
        ("nested-retries", "sdk_retries = 2\nretry_despite_sdk = true", "sdk_retries = 2"),
        ("no-budget", "budget = \"none\"", "budget = \"standard\""),
        ("wide-budget", "budget = { share = 0.6 }", "budget = { share = 0.2 }"),
        (
            "idle-budget",
            "budget = { reserve = 100 }\nfacts = { calls_per_second = 10 }",
            "budget = { reserve = 99 }\nfacts = { calls_per_second = 10 }",
        ),
        ("no-timeout", "attempt_timeout = \"none\"", "attempt_timeout = \"5s\""),
        (
            "short-timeout",
            "attempt_timeout = \"1s\"\nfacts = { slowest_good = \"2s\" }",
            "attempt_timeout = \"2s\"\nfacts = { slowest_good = \"2s\" }",
        ),
        (
            "short-timeout",
            "attempt_timeout = \"1s\"\nfacts = { typical = \"400ms\" }",
            "attempt_timeout = \"1s\"\nfacts = { typical = \"300ms\" }",
        ),
        (
            "never-trips",
            "breaker = { consecutive = \"none\" }\nfacts = { calls_per_second = 0.5 }",
            "breaker = { consecutive = \"none\" }\nfacts = { calls_per_second = 0.7 }",
        ),
        ("flapping", "breaker = { open_for = \"900ms\" }", "breaker = { open_for = \"1s\" }"),
        (
            "flapping",
            "breaker = { open_for = \"2s\" }\nfacts = { restart = \"30s\" }",
            "breaker = { open_for = \"3s\" }\nfacts = { restart = \"30s\" }",
        ),
        (
            "outlives-fault",
            "breaker = { open_for = \"6m\", growing_to = \"6m\" }",
            "breaker = { open_for = \"5m\", growing_to = \"6m\" }",
        ),
        ("quiet-breaker", "breaker = { consecutive = \"none\" }", "breaker = { min_calls = 20 }"),
        ("no-breaker", "breaker = \"none\"", "breaker = \"standard\""),
        (
            "repeats-effects",
            "idempotent = false\nretry = { repeat_effects = true }",
            "idempotent = true\nretry = { repeat_effects = true }",
        ),
        ("misspelt-kind", "retry = { kinds = { timeuot = 1 } }", "retry = { kinds = { no-stock = 1 } }"),
        ("misspelt-kind", "breaker = { ignore = [\"not_found\"] }", "breaker = { ignore = [\"not-found\"] }"),
        (
            "misspelt-kind",
            "classify = { terminal = [\"conflit\"] }",
            "classify = { terminal = [\"conflict\", 409] }",
        ),
        (
            "limit-below-traffic",
            "limit = { rate = 9 }\nfacts = { calls_per_second = 10 }",
            "limit = { rate = 10 }\nfacts = { calls_per_second = 10 }",
        ),
        (
            "limit-below-traffic",
            "limit = { concurrent = 4 }\nfacts = { calls_per_second = 10, typical = \"500ms\" }",
            "limit = { concurrent = 5 }\nfacts = { calls_per_second = 10, typical = \"500ms\" }",
        ),
        (
            "no-effect",
            "attempt_timeout = \"20s\"\ncomplete_within = \"15s\"\nretry = \"none\"",
            "attempt_timeout = \"15s\"\ncomplete_within = \"20s\"\nretry = \"none\"",
        ),
    ] {
        let service = |lines: &str| format!("[service.a]\n{lines}\n");
        assert!(rules(&service(bad)).contains(&rule), "{rule}: {bad} {:?}", rules(&service(bad)));
        assert!(!rules(&service(good)).contains(&rule), "{rule}: {good} {:?}", rules(&service(good)));
    }
}

#[test]
fn the_defaults_and_the_presets_are_clean() {
    assert_eq!(rules(""), Vec::<&str>::new());
    for preset in ["interactive", "standard", "non-critical"] {
        assert_eq!(rules(&format!("[service.a]\nretry = \"{preset}\"")), Vec::<&str>::new(), "{preset}");
    }
    for preset in ["background", "costly-undo"] {
        assert_eq!(rules(&format!("[service.a]\nretry = \"{preset}\"")), ["no-deadline"], "{preset}");
    }
}

#[test]
fn a_finding_says_where_what_why_and_what_to_do() {
    let policies = toml("[service.ok]\n[service.a]\nretry = { jitter = \"none\" }\n").unwrap();
    let findings = policies.check();
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].at.line, findings[0].severity), (3, Severity::Warning), "the line of the retry");
    let text = findings[0].to_string();
    assert!(
        text.starts_with("warning: service.a: the waits have no jitter [no-jitter]\n  why: callers"),
        "{text}"
    );
    assert!(text.contains("\n  do:  remove"), "{text}");
}

#[test]
fn an_operation_is_judged_with_what_it_has_from_its_service() {
    let text = "[service.a]\nfacts = { slowest_good = \"2s\" }\n[service.a.operation.quick]\nattempt_timeout = \"1s\"";
    let keys: Vec<_> = toml(text).unwrap().check().iter().map(|f| (f.rule, f.key.clone())).collect();
    assert_eq!(keys, [("short-timeout", "service.a.operation.quick".to_owned())]);
}

#[test]
fn what_the_default_does_wrong_is_told_once() {
    let text = "[default]\nbudget = \"none\"\n[service.a]\n[service.b]\n";
    let keys: Vec<_> = toml(text).unwrap().check().iter().map(|f| f.key.clone()).collect();
    assert_eq!(keys, ["default"]);
}

#[test]
fn the_guide_lists_every_rule() {
    let guide = include_str!("../../../../../docs/guide/policy-files.md");
    let code = [
        include_str!("../check/mod.rs"),
        include_str!("../check/rules/breaker.rs"),
        include_str!("../check/rules/kind.rs"),
        include_str!("../check/rules/limit.rs"),
        include_str!("../check/rules/retry.rs"),
        include_str!("../check/rules/time.rs"),
    ]
    .concat();
    let table = guide.split("## Check").nth(1).unwrap().split("## All keys").next().unwrap();
    let listed: Vec<_> =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    for rule in &listed {
        assert!(code.contains(&format!("\"{rule}\"")), "{rule} is in the guide and not in the code");
    }
    let told = code.split("(\"").filter_map(|text| text.split_once("\", \"").map(|(rule, _)| rule));
    for rule in told.filter(|rule| rule.contains('-')) {
        assert!(listed.contains(&rule), "{rule} is in the code and not in the guide");
    }
}

#[test]
fn a_problem_names_the_key_as_the_file_has_it() {
    for (text, key) in [
        ("[service.g]\nbreaker = { ratio = \"none\", consecutive = \"none\" }", "service.g.breaker"),
        (
            "[service.a]\nretry = { max_retries = \"unlimited\", max_elapsed = \"none\" }",
            "service.a.retry.max_retries",
        ),
        ("[service.a]\nserver_timeout = \"0s\"", "service.a.server_timeout"),
    ] {
        let error = toml(text).unwrap_err();
        assert_eq!(error.complaints()[0].key, key, "{error}");
        assert_eq!(error.complaints()[0].at.line, 2, "{error}");
    }
}

#[test]
fn retries_beside_those_of_the_sdk_are_nested_and_not_without_effect() {
    let policies = toml("[service.a]\nsdk_retries = 1\nretry_despite_sdk = true\n").unwrap();
    let findings = policies.check();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!((findings[0].rule, &*findings[0].key), ("nested-retries", "service.a.sdk_retries"));
    assert!(findings[0].hint.contains("one layer"), "{}", findings[0]);
}
