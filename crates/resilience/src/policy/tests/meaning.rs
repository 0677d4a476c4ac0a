//! What a file means.

use super::*;
use crate::classify::{Class, Classify, Kind, Verdict};
use crate::clock::VirtualClock;
use crate::retry::Stop;
use crate::{Breaker, Pipeline, Retry};

#[derive(Debug, Clone)]
struct Fault(Verdict);

impl Classify for Fault {
    fn classify(&self) -> Verdict {
        self.0
    }
}

const IN_TOML: &str = r#"
[default]
attempt_timeout = "3s"

[retry.patient]
strategy = "exponential"
min_backoff = "1s"
delta_backoff = "10s"
max_backoff = "30s"
max_retries = 10
jitter = 0.2

[breaker.careful]
ratio = 0.25
min_calls = 10
open_for = "1m 30s"
growing_to = "5m"
trip_at_once = ["offline"]

[service.payments]
retry = "patient"
breaker = "careful"
budget = { share = 0.2, reserve = 5 }
complete_within = "5m"
"#;

const IN_YAML: &str = r#"
default:
  attempt_timeout: 3s
retry:
  patient: {strategy: exponential, min_backoff: 1s, delta_backoff: 10s, max_backoff: 30s, max_retries: 10, jitter: 0.2}
breaker:
  careful:
    ratio: 0.25
    min_calls: 10
    open_for: 1m 30s   # a comment
    growing_to: 5m
    trip_at_once:
      - offline
service:
  payments:
    retry: patient
    breaker: careful
    budget: {share: 0.2, reserve: 5}
    complete_within: 5m
"#;

const IN_JSON: &str = r#"{
  "default": {"attempt_timeout": "3s"},
  "retry": {"patient": {"strategy": "exponential", "min_backoff": "1s", "delta_backoff": "10s",
    "max_backoff": "30s", "max_retries": 10, "jitter": 0.2}},
  "breaker": {"careful": {"ratio": 0.25, "min_calls": 10, "open_for": "1m 30s", "growing_to": "5m",
    "trip_at_once": ["offline"]}},
  "service": {"payments": {"retry": "patient", "breaker": "careful", "budget": {"share": 0.2, "reserve": 5},
    "complete_within": "5m"}}
}"#;

#[test]
fn the_three_formats_mean_the_same_and_the_same_as_code() {
    let in_code = Pipeline::builder("payments")
        .attempt_timeout(s(3))
        .retry(
            Retry::exponential()
                .min_backoff(s(1))
                .delta_backoff(s(10))
                .max_backoff(s(30))
                .max_retries(10)
                .named("patient"),
        )
        .breaker(
            Breaker::ratio(0.25).min_calls(10).open_for(s(90)).growing_to(s(300)).trip_at_once(Kind::OFFLINE),
        )
        .budget(crate::retry::Budget::share(0.2).reserve(5))
        .complete_within(s(300));
    let in_code = in_code.build().unwrap();
    for (text, format) in [(IN_TOML, Format::Toml), (IN_YAML, Format::Yaml), (IN_JSON, Format::Json)] {
        let policies = Policies::parse(text, format, "file").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(policies.services().collect::<Vec<_>>(), ["payments"]);
        let in_file = policies.pipeline("payments").build().unwrap();
        assert_eq!(format!("{in_file:?}"), format!("{in_code:?}"), "{format:?}");
        let settings = |pipeline: &Pipeline| format!("{:?}", **pipeline.breaker().unwrap().core().settings());
        assert_eq!(settings(&in_file), settings(&in_code), "{format:?}");
        let limits = in_file.run_blocking(|attempt| Ok::<_, std::io::Error>(attempt.time_left())).unwrap();
        assert_eq!(limits, Some(s(3)), "from the default");
        let same = Policies::parse(IN_TOML, Format::Toml, "file").unwrap();
        assert!(policies.changes_since(&same).is_empty(), "{}", policies.changes_since(&same));
    }
}

#[test]
fn without_a_file_and_with_an_empty_one_everything_has_its_default() {
    let standard = format!("{:?}", Pipeline::standard("payments"));
    let pipelines = [
        Policies::standard().pipeline("payments"),
        Policies::default().pipeline("payments"),
        toml("").unwrap().pipeline("payments"),
        Policies::parse("", Format::Yaml, "empty").unwrap().pipeline("payments"),
        Policies::parse("{}", Format::Json, "empty").unwrap().pipeline("payments"),
        toml("[service.other]\nattempt_timeout = \"1s\"").unwrap().pipeline("payments"),
    ];
    for builder in pipelines {
        let pipeline = builder.build().unwrap();
        assert_eq!(format!("{pipeline:?}"), standard);
        assert_eq!(pipeline.run_blocking(|a| Ok::<_, Fault>(a.time_left())).unwrap(), Some(s(10)));
        assert!(pipeline.warnings().is_empty());
    }
}

#[test]
fn every_preset_has_a_name() {
    for (name, retry) in [
        ("interactive", Retry::interactive()),
        ("standard", Retry::standard()),
        ("background", Retry::background()),
        ("costly-undo", Retry::costly_undo()),
        ("non-critical", Retry::non_critical()),
        ("none", Retry::none()),
    ] {
        let policies = toml(&format!("[service.a]\nretry = \"{name}\"")).unwrap();
        let built = policies.pipeline("a").build().unwrap();
        assert_eq!(
            format!("{:?}", built.retry().unwrap()),
            format!("{:?}", retry.named(name).build().unwrap()),
            "{name}"
        );
    }
    let none =
        toml("[service.a]\nbreaker = \"none\"\nbudget = \"none\"").unwrap().pipeline("a").build().unwrap();
    assert!(none.breaker().is_none() && none.budget().is_none());
}

#[test]
fn every_strategy_and_jitter_can_be_written() {
    for (text, retry) in [
        ("strategy = \"fixed\"\nwait = \"1s\"\nmax_retries = 10", Retry::fixed(s(1)).max_retries(10)),
        (
            "strategy = \"incremental\"\nfirst = \"1s\"\nstep = \"2s\"\njitter = \"none\"",
            Retry::incremental(s(1), s(2)).no_jitter(),
        ),
        ("strategy = \"schedule\"\nwaits = [\"3s\", \"7s\"]", Retry::schedule([s(3), s(7)])),
        ("strategy = \"immediate\"", Retry::immediate()),
        ("strategy = \"none\"", Retry::none()),
        (
            "adaptive = true\njitter = \"full\"",
            Retry::adaptive(Retry::exponential()).jitter(crate::retry::Jitter::Full),
        ),
        (
            "fast_first = true\njitter = \"equal\"",
            Retry::exponential().fast_first().jitter(crate::retry::Jitter::Equal),
        ),
        (
            "max_retries = \"unlimited\"\nmax_elapsed = \"2m\"\nmax_hint = \"5s\"\nmin_throttled = \"0s\"",
            Retry::exponential()
                .unlimited_retries()
                .max_elapsed(s(120))
                .max_hint(s(5))
                .min_throttled(Duration::ZERO),
        ),
        (
            "repeat_effects = true\nwhen_nested = \"fail-fast\"\nkinds = { conflict = 2 }",
            Retry::exponential()
                .repeat_effects()
                .when_nested(crate::retry::Nested::FailFast)
                .kind_retries(Kind::CONFLICT, 2),
        ),
    ] {
        let policies =
            toml(&format!("[retry.r]\n{text}\n[service.a]\nretry = \"r\"")).unwrap_or_else(|e| panic!("{e}"));
        let built = policies.pipeline("a").build().unwrap();
        assert_eq!(
            format!("{:?}", built.retry().unwrap()),
            format!("{:?}", retry.named("r").build().unwrap()),
            "{text}"
        );
    }
}

#[test]
fn settings_can_be_like_others_and_a_preset_can_be_replaced() {
    let policies = toml(
        "[retry.base]\nmax_retries = 7\njitter = \"full\"\n[retry.more]\nlike = \"base\"\nmax_elapsed = \"9m\"\n\
         [retry.standard]\nlike = \"standard\"\nmax_retries = 5\n\
         [service.a]\nretry = \"more\"\n[service.b]\nretry = \"standard\"\n[service.c]\nretry = { like = \"more\", max_retries = 1 }",
    );
    let policies = policies.unwrap_or_else(|error| panic!("{error}"));
    let retries = |name: &str| policies.pipeline(name).build().unwrap().retry().unwrap().max_retries();
    assert_eq!([retries("a"), retries("b"), retries("c")], [Some(7), Some(5), Some(1)]);
}

#[test]
fn an_operation_differs_where_it_says_so_and_the_call_has_the_last_word() {
    let policies = toml(
        r#"
        [service.bank]
        retry = { strategy = "fixed", wait = "1s", max_retries = 3 }
        attempt_timeout = "8s"
        budget = "none"
        breaker = "none"
        [service.bank.operation.charge]
        idempotent = false
        attempt_timeout = "2s"
        server_timeout = "1s"
        complete_within = "20s"
        [service.bank.operation.read]
        retry = { strategy = "fixed", wait = "1s", max_retries = 1 }
        "#,
    );
    let clock = VirtualClock::new();
    let bank = policies.unwrap().pipeline("bank").clock(&clock).build().unwrap();
    let limits = |call: crate::pipeline::Call<'_>| {
        call.run_blocking(|attempt| Ok::<_, Fault>((attempt.time_left(), attempt.server_timeout()))).unwrap()
    };
    assert_eq!(limits(bank.call().named("charge")), (Some(s(2)), Some(s(1))));
    assert_eq!(limits(bank.call().named("other")), (Some(s(8)), None));
    assert_eq!(limits(bank.call().named("charge").attempt_timeout(s(4))), (Some(s(4)), Some(s(1))));
    let lost = Fault(Verdict::transient(Kind::CONNECTION_LOST));
    let fails = |operation: &'static str| {
        let error = bank.call().named(operation).run_blocking(|_| Err::<(), _>(lost.clone())).unwrap_err();
        (error.stop(), error.story().unwrap().attempts())
    };
    assert_eq!(fails("charge"), (Stop::NotIdempotent, 1));
    assert_eq!(fails("read"), (Stop::MaxRetries, 2));
    assert_eq!(fails("other"), (Stop::MaxRetries, 4));
}

#[test]
fn what_failures_mean_can_be_said_in_the_file() {
    let policies = toml(
        r#"
        [service.bank]
        classify = { terminal = ["conflict", 425], lasting = ["maintenance"] }
        breaker = { consecutive = 100, ratio = "none" }
        [service.bank.operation.read]
        classify = { transient = ["conflict"] }
        "#,
    );
    let bank = policies.unwrap().pipeline("bank").clock(VirtualClock::new()).build().unwrap();
    let class = |operation: &'static str, verdict: Verdict| {
        let error = bank.call().named(operation).run_blocking(|_| Err::<(), _>(Fault(verdict))).unwrap_err();
        error.failure().unwrap().class()
    };
    let conflict = Verdict::transient(Kind::CONFLICT);
    assert_eq!(class("write", conflict), Class::Terminal);
    assert_eq!(class("read", conflict), Class::Transient, "the operation comes first");
    assert_eq!(class("write", Verdict::transient(Kind::OVERLOADED).with_code(425)), Class::Terminal);
    assert_eq!(class("write", Verdict::transient(Kind::OVERLOADED)), Class::Transient);
    assert_eq!(class("read", Verdict::transient(Kind::new("maintenance"))), Class::Lasting);
    assert!(!bank.breaker().unwrap().is_closed(), "and a lasting failure trips");
}

#[test]
fn warnings_have_their_places() {
    let policies = toml("[service.a]\nattempt_timeout = \"20s\"\ncomplete_within = \"15s\"\n").unwrap();
    let told: Vec<_> = policies.warnings().iter().map(|w| (w.at.line, w.key.as_str())).collect();
    assert_eq!(told, [(2, "service.a.attempt_timeout")], "{:?}", policies.warnings());
}

#[test]
fn a_name_stands_for_a_service_a_retry_policy_or_a_preset() {
    let text =
        "[retry.patient]\nmax_retries = 7\n[service.shop]\nretry = \"patient\"\nattempt_timeout = \"2s\"\n";
    let policies = Policies::parse(text, Format::Toml, "p.toml").unwrap();
    let retries = |name: &str| {
        let pipeline = policies.named(name).unwrap().build().unwrap();
        pipeline.retry().unwrap().max_retries()
    };
    assert_eq!(retries("shop"), Some(7));
    assert_eq!(retries("patient"), Some(7));
    assert_eq!(retries("background"), Some(8));
    let error = policies.named("patiemt").unwrap_err();
    assert_eq!(
        error.to_string(),
        "p.toml: there is no service or retry policy named `patiemt`: did you mean `patient`? (SF115)"
    );
    assert!(Policies::standard().named("nothing like it").unwrap_err().to_string().contains("`interactive`"));
}

#[test]
fn none_takes_back_what_the_default_or_another_policy_says() {
    let text = r#"
        [default]
        complete_within = "8s"
        server_timeout = "1s"
        [service.a]
        complete_within = "none"
        server_timeout = "none"
        retry = { like = "background", max_elapsed = "none" }
        breaker = { failures = "none", slow = "none" }
        limit = { concurrent = 3, rate = "none" }
        [service.b]
    "#;
    let policies = Policies::parse(text, Format::Toml, "p.toml").unwrap();
    let of = |name: &str| policies.pipeline(name).build().unwrap();
    let times = |name: &str| {
        of(name)
            .run_blocking(|a| Ok::<_, std::io::Error>((a.deadline().is_some(), a.server_timeout())))
            .unwrap()
    };
    assert_eq!(times("a"), (false, None));
    assert_eq!(times("b"), (true, Some(s(1))));
    assert_eq!(of("a").retry().unwrap().max_elapsed(), None);
    let refused =
        Policies::parse("[service.a]\ncomplete_within = \"0s\"\n", Format::Toml, "p.toml").unwrap_err();
    assert!(refused.to_string().contains("expected a time above zero"), "{refused}");
    let refused =
        Policies::parse("[service.a]\ncomplete_within = \"5\"\n", Format::Toml, "p.toml").unwrap_err();
    assert!(refused.to_string().contains("(it needs a unit)"), "{refused}");
}

#[test]
fn a_file_may_name_its_schema() {
    let text = r#"{"$schema": "policy.schema.json", "service": {"a": {}}}"#;
    assert!(Policies::parse(text, Format::Json, "p.json").is_ok());
    assert!(Format::of(std::path::Path::new("MY.TOML")).is_some());
}

#[test]
fn a_file_can_say_what_our_own_time_limit_means() {
    let text = "[service.a]\nattempt_timeout = \"1s\"\n[service.a.classify]\nlasting = [\"timeout\"]\n";
    let clock = VirtualClock::new();
    let pipeline =
        Policies::parse(text, Format::Toml, "p.toml").unwrap().pipeline("a").clock(&clock).build().unwrap();
    let hangs = clock.block_on(pipeline.run(|_| std::future::pending::<Result<(), std::io::Error>>()));
    let error = hangs.unwrap_err();
    assert_eq!((error.stop(), error.failure().unwrap().class()), (Stop::Lasting, Class::Lasting));
}

#[test]
fn a_limit_is_read_by_name_or_in_place() {
    let text = "[limit.few]\nconcurrent = 2\n[service.a]\nlimit = \"few\"\n[service.b]\nlimit = { rate = 5, max_wait = \"1s\" }\n[service.c]\n";
    let policies = Policies::parse(text, Format::Toml, "p.toml").unwrap();
    let limit = |name: &str| policies.pipeline(name).build().unwrap().limit();
    let few = limit("a").unwrap();
    let places = [(); 3].map(|()| few.try_enter(crate::clock::Moment::ZERO));
    assert_eq!(places.map(|place| place.is_ok()), [true, true, false]);
    assert!(limit("b").is_some() && limit("c").is_none());
    let nothing = Policies::parse("[limit.x]\nwaiting = 3\n", Format::Toml, "p.toml").unwrap_err();
    assert!(
        nothing.to_string().starts_with("p.toml:1:1: limit.x.concurrent: it limits nothing"),
        "{nothing}"
    );
}
