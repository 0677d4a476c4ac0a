//! Bad input gets a clear error, and never a panic or a hang.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::Code;

/// Every complaint as `line:column key code`.
fn complaints(result: Result<Policies, Error>) -> Vec<String> {
    let Err(error) = result else { return Vec::new() };
    error.complaints().iter().map(|c| format!("{} {} {}", c.at, c.key, c.code)).collect()
}

#[test]
fn a_wrong_key_or_value_is_named_with_its_place_and_what_was_expected() {
    for (text, expected) in [
        (
            "[service.a]\natempt_timeout = \"1s\"",
            "policies.toml:2:1: service.a.atempt_timeout: unknown key: did you mean `attempt_timeout`? (SF113)",
        ),
        ("[services.a]\n", "policies.toml:1:2: services: unknown key: did you mean `service`? (SF113)"),
        (
            "[service.a]\nattempt_timeout = 5",
            "policies.toml:2:19: service.a.attempt_timeout: expected a time such as \"500ms\", \"2s\" or \"1m 30s\", or \"none\", found the number 5 (SF114)",
        ),
        (
            "[service.a]\nserver_timeout = \"5\"",
            "policies.toml:2:18: service.a.server_timeout: expected a time such as \"500ms\", \"2s\" or \"1m 30s\", or \"none\" (it needs a unit), found the text \"5\" (SF114)",
        ),
        (
            "[service.a]\nserver_timeout = \"-5s\"",
            "policies.toml:2:18: service.a.server_timeout: expected a time such as \"500ms\", \"2s\" or \"1m 30s\", or \"none\" (it must not be negative), found the text \"-5s\" (SF114)",
        ),
        (
            "[service.a]\nserver_timeout = \"0s\"",
            "policies.toml:2:18: service.a.server_timeout: expected a time above zero, found the text \"0s\" (SF114)",
        ),
        (
            "[breaker.b]\nratio = 1.5",
            "policies.toml:2:9: breaker.b.ratio: expected a number above 0 and up to 1, or \"none\", found the number 1.5 (SF114)",
        ),
        (
            "[breaker.b]\nmin_calls = -1",
            "policies.toml:2:13: breaker.b.min_calls: expected a whole number from 1 to 1000000, found the number -1 (SF114)",
        ),
        (
            "[retry.r]\nstrategy = \"exponental\"",
            "policies.toml:2:12: retry.r.strategy: unknown word \"exponental\": did you mean \"exponential\"? (SF114)",
        ),
        (
            "[retry.r]\nfast_first = \"yes\"",
            "policies.toml:2:14: retry.r.fast_first: expected true or false, found the text \"yes\" (SF114)",
        ),
        (
            "[retry.r]\nwaits = \"1s\"",
            "policies.toml:2:9: retry.r.waits: expected a list, each a time such as \"500ms\", \"2s\" or \"0s\", found the text \"1s\" (SF114)",
        ),
        ("retry = 3", "policies.toml:1:9: retry: expected a table, found the number 3 (SF114)"),
        (
            "[retry.r]\nmin_backoff = \"9s\"\nmax_backoff = \"1s\"",
            "policies.toml:3:1: retry.r.max_backoff: max_backoff 1s is below min_backoff 9s: raise one or lower the other (SF103)",
        ),
        ("[retry.r]\nstrategy = \"fixed\"", "policies.toml:2:1: retry.r.wait: `fixed` needs `wait` (SF107)"),
        (
            "[retry.r]\nwait = \"1s\"",
            "policies.toml:2:1: retry.r.wait: it belongs to `strategy = \"fixed\"`: add that, or remove it (SF103)",
        ),
        (
            "[retry.r]\nstrategy = \"fixed\"\nwait = \"1s\"\nmax_backoff = \"1s\"",
            "policies.toml:4:1: retry.r.max_backoff: min_backoff, delta_backoff and max_backoff belong to the exponential strategy: choose that one, or remove them (SF103)",
        ),
        (
            "[service.a]\nretry = \"patent\"\n[retry.patient]\n",
            "policies.toml:2:9: service.a.retry: there is no retry named `patent`: did you mean `patient`? (SF115)",
        ),
        (
            "[service.a]\nbreaker = \"zebra\"",
            "policies.toml:2:11: service.a.breaker: there is no breaker named `zebra`: there are `standard`, `none` (SF115)",
        ),
        (
            "[retry.a]\nlike = \"b\"\n[retry.b]\nlike = \"a\"",
            "the names lead back to where they began: a -> b -> a (SF116)",
        ),
        (
            "[retry.a]\nlike = \"a\"",
            "policies.toml:2:8: retry.a.like: the names lead back to where they began: a -> a (SF116)",
        ),
        ("[service.a]\nretry = { max_retries = \"unlimited\" }", "retries without a limit need another end"),
        ("[retry.\" \"]", "a name must not be blank"),
        ("[service.a", "policies.toml:1:11: unclosed table"),
        ("a = 1\na = 2", "policies.toml:2:1: duplicate key"),
        ("[breaker.b]\nratio = nan", "found the number NaN"),
        ("[retry.r]\nmax_retries = 99999999999999999999", "the number is too large"),
    ] {
        let error = toml(text).map(|_| ()).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}\n{error}\nexpected {expected}");
    }
}

#[test]
fn all_problems_of_a_file_are_told_at_once_in_their_order() {
    let told = complaints(toml("[retry.r]\nfoo = 1\nmax_retries = \"x\"\n[breaker.b]\nratio = 2\n"));
    assert_eq!(
        told,
        ["2:1 retry.r.foo SF113", "3:15 retry.r.max_retries SF114", "5:9 breaker.b.ratio SF114"]
    );
    let told = complaints(toml("[service.a]\nretry = \"x\"\nbreaker = \"y\"\nbudget = \"z\""));
    assert_eq!(told.len(), 3, "{told:?}");
}

#[test]
fn yaml_and_json_have_their_places_too() {
    let yaml = Policies::parse("service:\n  a:\n    retry:\n      max_retires: 3\n", Format::Yaml, "p.yaml");
    assert_eq!(complaints(yaml), ["4:7 service.a.retry.max_retires SF113"]);
    let json =
        Policies::parse("{\n  \"service\": {\"a\": {\"attempt_timeout\": true}}\n}", Format::Json, "p.json");
    assert_eq!(complaints(json), ["2:40 service.a.attempt_timeout SF114"]);
    for (text, format, at) in [
        ("a: b: c", Format::Yaml, "1:"),
        ("a: [1, 2", Format::Yaml, "2:"), // the parser sees the end of the file there
        ("a: 1\n---\nb: 2", Format::Yaml, "3:1"),
        ("a: !!str 1", Format::Yaml, "1:"),
        ("? [a]\n: 1", Format::Yaml, "1:"),
        ("a: 1\na: 2", Format::Yaml, "2:1"),
        ("{\"a\": 1,}", Format::Json, "1:"),
        ("{\"a\": 1} // x", Format::Json, "1:"),
        ("{\"a\": 1, \"a\": 2}", Format::Json, "1:10"),
        ("[1", Format::Json, "1:"),
    ] {
        let told = complaints(Policies::parse(text, format, "p"));
        assert!(told[0].starts_with(at) && told[0].ends_with("SF112"), "{text}: {told:?}");
    }
}

#[test]
fn a_bomb_ends_at_the_limit() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let below = level - 1;
        let aliases = vec![format!("*a{below}"); 10].join(", ");
        let _ = writeln!(bomb, "a{level}: &a{level} [{aliases}]");
    }
    let told = complaints(Policies::parse(&bomb, Format::Yaml, "bomb.yaml"));
    assert!(told[0].ends_with("SF112"), "{told:?}");
    let itself = complaints(Policies::parse("a: &a [*a]", Format::Yaml, "ring.yaml"));
    assert!(itself[0].ends_with("SF112"), "{itself:?}");
    for (open, close, format) in
        [("[", "]", Format::Yaml), ("[", "]", Format::Json), ("{\"a\":", "}", Format::Json)]
    {
        for depth in [40, 100_000] {
            let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let told = complaints(Policies::parse(&deep, format, "deep"));
            assert!(told[0].ends_with("SF112"), "{format:?} {depth}: {told:?}");
        }
    }
    let deep = format!("a = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(toml(&deep).is_err());
    let deep = format!("[{}]\nb = 1", vec!["a"; 50_000].join("."));
    assert!(toml(&deep).is_err());
}

#[test]
fn an_alias_may_be_used_where_it_is_no_bomb() {
    let text = "retry:\n  a: &base {max_retries: 7}\n  b: *base\nservice:\n  x: {retry: b}\n";
    let policies = Policies::parse(text, Format::Yaml, "p.yaml").unwrap();
    assert_eq!(policies.pipeline("x").build().unwrap().retry().unwrap().max_retries(), Some(7));
}

#[test]
fn what_is_no_readable_file_is_told_apart() {
    let folder = Folder::new();
    let unreadable = |path: PathBuf, words: &str| {
        let error = Policies::read(&path).expect_err(words);
        assert_eq!(error.complaints()[0].code, Code::Unreadable, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    };
    unreadable(folder.0.join("none.toml"), "there is no such file");
    unreadable(folder.0.clone(), "it is a directory");
    unreadable(folder.file("policies.ini", ""), "must end in .toml");
    unreadable(folder.file("large.toml", "# x\n".repeat(3_000_000)), "more than");
    let invalid = Policies::read(folder.file("latin.toml", b"# ok\n# caf\xe9 = 1")).unwrap_err();
    assert_eq!((invalid.complaints()[0].at.line, invalid.complaints()[0].at.column), (2, 6), "{invalid}");
    assert!(Policies::read(folder.file("bom.toml", "\u{feff}[service.a]")).is_ok());
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_says_so() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let path = folder.file("secret.toml", "");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read everything: then there is nothing to refuse.
    if std::fs::File::open(&path).is_err() {
        let error = Policies::read(&path).unwrap_err();
        assert!(error.to_string().contains("check its permissions"), "{error}");
    }
}

fn any_format() -> impl Strategy<Value = Format> {
    prop_oneof![Just(Format::Toml), Just(Format::Yaml), Just(Format::Json)]
}

/// Pieces that a file is made of, and some that it is not.
fn piece() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "[service.a]",
        "[retry.r]",
        "[breaker.b]",
        "retry",
        "like",
        "=",
        ":",
        "\"r\"",
        "\n",
        "\n  ",
        "  ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "1",
        "-1",
        "1e999",
        "\"1s\"",
        "nan",
        "*a",
        "&a ",
        "!t ",
        "- ",
        "? ",
        "---\n",
        "'",
        "\"",
        "|\n",
        "true",
        "null",
        "attempt_timeout",
        "ratio",
        "kinds",
        "strategy",
        "\"fixed\"",
        "\\u12",
        "\u{feff}",
        "\0",
        "é",
    ];
    prop_oneof![4 => proptest::sample::select(KNOWN).prop_map(str::to_owned), 1 => ".{0,6}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_a_reader_panic(pieces in proptest::collection::vec(piece(), 0..30), format in any_format()) {
        let text = pieces.concat();
        if let Err(error) = Policies::parse(&text, format, "any") {
            prop_assert!(!error.complaints().is_empty());
            prop_assert!(!error.to_string().is_empty());
            for complaint in error.complaints() {
                prop_assert!(complaint.at.line >= 1 && complaint.at.line <= text.matches(['\n', '\r']).count() + 2, "{error}");
            }
        }
    }

    #[test]
    fn a_good_file_with_one_piece_changed_is_read_or_refused(
        at in any::<proptest::sample::Index>(),
        cut in 0usize..8,
        piece in piece(),
        format in any_format(),
    ) {
        let good = match format {
            Format::Json => r#"{"retry": {"r": {"strategy": "fixed", "wait": "1s"}}, "service": {"a": {"retry": "r"}}}"#,
            Format::Yaml => "retry:\n  r: {strategy: fixed, wait: 1s}\nservice:\n  a:\n    retry: r\n",
            _ => "[retry.r]\nstrategy = \"fixed\"\nwait = \"1s\"\n[service.a]\nretry = \"r\"\n",
        };
        let chars: Vec<char> = good.chars().collect();
        let at = at.index(chars.len());
        let end = (at + cut).min(chars.len());
        let text: String = chars[..at].iter().collect::<String>() + &piece + &chars[end..].iter().collect::<String>();
        let _ = Policies::parse(&text, format, "changed");
    }
}

#[test]
fn names_are_looked_up_although_other_keys_are_wrong() {
    let text = "[service.a]\natempt_timeout = \"2s\"\nretry = \"patent\"\nbreaker = { ratio = 25 }\n[retry.patient]\n";
    let error = toml(text).unwrap_err();
    let told: Vec<_> =
        error.complaints().iter().map(|complaint| (complaint.at.line, complaint.code)).collect();
    assert_eq!(told, [(2, Code::UnknownKey), (3, Code::UnknownName), (4, Code::WrongValue)], "{error}");
}

#[test]
fn the_same_mistake_in_two_services_is_told_twice() {
    let twice = "[service.a]\nattempt_timeout = \"20s\"\ncomplete_within = \"15s\"\n\
                 [service.b]\nattempt_timeout = \"20s\"\ncomplete_within = \"15s\"\n";
    let keys: Vec<_> = toml(twice).unwrap().warnings().iter().map(|warning| warning.key.clone()).collect();
    assert_eq!(keys, ["service.a.attempt_timeout", "service.b.attempt_timeout"]);
    let endless = "[service.a]\nretry = { max_retries = \"unlimited\" }\n[service.b]\nretry = { max_retries = \"unlimited\" }";
    assert_eq!(complaints(toml(endless)).len(), 2);
}

#[test]
fn what_is_said_of_a_service_is_not_said_again_of_its_operations() {
    let text = "[service.a]\nattempt_timeout = \"20s\"\ncomplete_within = \"15s\"\n\
                [service.a.operation.x]\nidempotent = false\n[service.a.operation.y]\ncomplete_within = \"10s\"\n";
    let policies = toml(text).unwrap();
    assert_eq!(policies.warnings().len(), 1, "{:?}", policies.warnings());
}

#[test]
fn files_as_large_as_they_may_be_are_read_or_refused_at_once() {
    // Each of these took half a minute, or ended the program, when something in the reader grew with the square.
    let list = format!("[retry.r]\nstrategy = \"schedule\"\nwaits = [{}]", vec!["\"1s\""; 99_000].join(","));
    assert!(toml(&list).is_ok());
    let json = format!(
        "{{\"retry\": {{\"r\": {{\"strategy\": \"schedule\", \"waits\": [{}]}}}}}}",
        vec!["\"1s\""; 99_000].join(",")
    );
    assert!(Policies::parse(&json, Format::Json, "list.json").is_ok());
    let many = |line: fn(usize) -> String| (0..20_000).map(line).collect::<String>();
    assert_eq!(
        toml(&many(|n| format!("[service.s{n}]\nretry={{jitter=\"none\"}}\n"))).unwrap().check().len(),
        20_000
    );
    assert!(toml(&many(|n| format!("[service.a.operation.o{n}]\nidempotent=false\n"))).is_ok());
    assert_eq!(
        complaints(toml(&many(|n| format!("[service.s{n}]\nretri=1\n")))).len(),
        100,
        "more help nobody"
    );
    let chain = complaints(toml(&many(|n| format!("[retry.r{n}]\nlike=\"r{}\"\n", (n + 1) % 20_000))));
    assert!((1..=101).contains(&chain.len()) && chain[0].ends_with("SF116"), "{:?}", chain.first());
}

#[test]
fn a_number_far_out_of_range_is_refused_before_anything_is_made_of_it() {
    for calls in ["4294967295", "1000000000"] {
        let error = toml(&format!("[service.a]\nbreaker = {{ last_calls = {calls} }}")).unwrap_err();
        assert!(error.to_string().contains("a whole number from 1 to 10000"), "{error}");
    }
    assert!(crate::Breaker::standard().last_calls(usize::MAX).build("x").is_err());
}

#[test]
fn a_pipe_is_no_file_and_is_not_waited_for() {
    let folder = Folder::new();
    let path = folder.path("pipe.toml");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let error = Policies::read(&path).unwrap_err();
    assert!(error.to_string().contains("it is a pipe or a device: give a file"), "{error}");
    let error = Policies::read("/dev/zero").unwrap_err();
    assert!(error.to_string().contains("give a file"), "{error}");
}

#[test]
fn names_of_strangers_do_not_reach_a_terminal_as_they_are() {
    let error = toml("[service.\"\\u001b[31mred\\u0007\\n\\u202e\"]\nretri = 1").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("service.\\u{1b}[31mred\\u{7}\\n\\u{202e}.retri"), "{text}");
    assert!(!text.contains(|letter: char| letter.is_control() || letter == '\u{202e}'), "{text:?}");
    let long = "x".repeat(900_000);
    let text = toml(&format!("[service.{long}]\nretri = 1")).unwrap_err().to_string();
    assert!(text.contains("a name must not be longer than 200 bytes") && text.len() < 500, "{}", text.len());
}
