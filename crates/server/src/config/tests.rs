use super::*;
use steadfast_resilience::policy::FILE_FIELDS;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, Format::Toml, "steadfast.toml", [])
}

fn refused(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn an_empty_file_has_all_defaults() {
    let config = parse("").unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:7171");
    assert_eq!(config.store, "sqlite:steadfast-data/steadfast.db");
    assert_eq!((config.limits.requests, config.limits.body), (1_024, 1 << 20));
    assert_eq!(config.keep, Duration::from_secs(30 * 24 * 3_600));
    // Steps are patient where nobody says otherwise.
    let pipeline = config.policies.pipeline("any").build().unwrap();
    assert_eq!(pipeline.retry().unwrap().max_retries(), Some(12));
}

#[test]
fn services_have_addresses_and_policies() {
    let config = parse(
        r#"
        listen = "[::1]:9000"
        data = "/var/lib/shop"
        workflows = "flows"

        [retention]
        keep = "7d"
        keep_keys = "forever"

        [retry.patient]
        like = "background"
        max_retries = 30

        [service.payments]
        url = "http://127.0.0.1:8002/api"
        headers = { Authorization = "secret://payments-token" }
        most_running = 20
        most_per_second = 2.5
        ramp = false
        max_response = "64KiB"
        connect_timeout = "2s"
        retry = "patient"
        attempt_timeout = "3s"
        "#,
    )
    .unwrap();
    assert_eq!(config.store, "sqlite:/var/lib/shop/steadfast.db");
    assert_eq!((config.keep, config.keep_keys), (Duration::from_secs(7 * 24 * 3_600), Duration::MAX));
    let payments = &config.services["payments"];
    assert_eq!(payments.headers, [("Authorization".to_owned(), "secret://payments-token".to_owned())]);
    assert_eq!((payments.most_running, payments.most_per_second), (Some(20), Some(2.5)));
    assert_eq!((payments.ramp, payments.max_response), (false, Some(65_536)));
    let pipeline = config.policies.pipeline("payments").build().unwrap();
    assert_eq!(pipeline.retry().unwrap().max_retries(), Some(30));
}

#[test]
fn webhooks_say_where_what_and_how_often() {
    let config = parse(
        r#"
        [alerts]
        tries = 3
        within = "2s"
        first_wait = "20ms"

        [alerts.webhook.pager]
        url = "http://127.0.0.1:9000/hooks/7"
        headers = { Authorization = "Bearer secret://pager-token" }
        sign_with = "secret://pager-key"
        kinds = ["task-failed", "circuit-opened"]

        [alerts.webhook.chat]
        url = "http://127.0.0.1:9001"
        "#,
    )
    .unwrap();
    let alerts = &config.alerts;
    assert_eq!((alerts.tries, alerts.within), (3, Duration::from_secs(2)));
    assert_eq!(
        (alerts.first_wait, alerts.longest_wait),
        (Duration::from_millis(20), Duration::from_secs(300))
    );
    let pager = &alerts.webhooks["pager"];
    assert_eq!(pager.sign_with.as_deref(), Some("pager-key"));
    assert_eq!((pager.kinds.len(), pager.headers.len()), (2, 1));
    assert_eq!((alerts.webhooks["chat"].kinds.len(), &alerts.webhooks["chat"].sign_with), (0, &None));
}

#[test]
fn a_webhook_that_makes_no_sense_is_refused_with_its_place() {
    let told = refused(
        "[alerts]\nfirst_wait = \"10m\"\n[alerts.webhook.pager]\nkinds = [\"task-faild\"]\nsign_with = \"not a name\"\nurll = \"x\"",
    );
    for part in [
        "steadfast.toml:2:1: alerts.first_wait: 600s is longer than `longest_wait`, 300s",
        "alerts.webhook.pager.kinds",
        "did you mean \"task-failed\"?",
        "steadfast.toml:5:1: alerts.webhook.pager.sign_with: it names no secret",
        "alerts.webhook.pager.urll: unknown key: did you mean `url`?",
    ] {
        assert!(told.contains(part), "{part} is not in\n{told}");
    }
    for key in ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "k/ey="] {
        let told =
            refused(&format!("[alerts.webhook.pager]\nurl = \"http://127.0.0.1:1\"\nsign_with = \"{key}\""));
        assert!(
            told.contains("it names no secret") && !told.contains(key),
            "it may be the key itself: {told}"
        );
    }
    let https = parse("[alerts.webhook.pager]\nurl = \"ftp://pager?a=b\"").unwrap();
    let told = crate::check(https).unwrap_err();
    assert!(told.contains("alerts.webhook.pager.url: `ftp://` cannot be called"), "{told}");
}

#[test]
fn a_collector_that_cannot_be_sent_to_is_refused_with_its_place() {
    let told = |url: &str| parse(&format!("[telemetry]\notlp = \"{url}\"")).map(|config| config.otlp);
    let good = told("http://127.0.0.1:4318");
    if cfg!(feature = "otel") {
        assert_eq!(good.unwrap(), Some(("http://127.0.0.1:4318".to_owned(), "steadfast".to_owned())));
        for bad in ["https://collector", "http://", "collector:4318"] {
            let words = told(bad).unwrap_err().to_string();
            assert!(
                words.starts_with("steadfast.toml:2:1: telemetry.otlp: it is no address to send to"),
                "{words}"
            );
        }
    } else {
        let words = good.unwrap_err().to_string();
        assert!(
            words.starts_with("steadfast.toml:2:1: telemetry.otlp: this program was built without"),
            "{words}"
        );
        assert!(words.contains("`--features otel`"), "{words}");
    }
}

/// A kind of alert that is new has to be one that settings can name.
#[test]
fn every_kind_of_alert_can_be_asked_for() {
    let kinds = steadfast::AlertKind::ALL.map(|kind| format!("\"{kind}\"")).join(", ");
    let config =
        parse(&format!("[alerts.webhook.pager]\nurl = \"http://127.0.0.1:1\"\nkinds = [{kinds}]")).unwrap();
    assert_eq!(config.alerts.webhooks["pager"].kinds.len(), steadfast::AlertKind::ALL.len());
}

#[test]
fn everything_that_is_wrong_is_told_with_its_place_and_the_nearest_name() {
    let told = refused(
        "listn = \"127.0.0.1:1\"\n[service.payments]\nurl = \"http://127.0.0.1:1\"\nretry = \"patent\"\nmax_response = \"8MB\"\nmost_runing = 3\n\n[retry.patient]\nmax_retries = -1\n[service.stock]\nattempt_timeout = \"2s\"",
    );
    let lines: Vec<_> = told.lines().collect();
    assert!(lines.iter().all(|line| line.starts_with("steadfast.toml:")), "{told}");
    for part in [
        "1:1: listn: unknown key: did you mean `listen`?",
        "service.payments.retry: there is no retry named `patent`: did you mean `patient`?",
        "service.payments.max_response: `8MB` is no size",
        "service.payments.most_runing: unknown key: did you mean `most_running`?",
        "retry.patient.max_retries: ",
        "service.stock",
    ] {
        assert!(told.contains(part), "{part} is not in\n{told}");
    }
}

#[test]
fn only_this_machine_is_listened_to() {
    assert!(refused("listen = \"0.0.0.0:7171\"").contains("can be reached from other machines"));
    assert!(refused("listen = \"somewhere\"").contains("expected an address with a port"));
}

#[test]
fn services_call_back_at_a_url_with_nothing_behind_it() {
    assert_eq!(parse("").unwrap().callback_url, None);
    for (said, taken) in [
        ("https://steadfast.example", "https://steadfast.example"),
        ("http://10.0.0.7:8080/in/", "http://10.0.0.7:8080/in"),
        ("http://[::1]:9", "http://[::1]:9"),
    ] {
        let config = parse(&format!("callback_url = \"{said}\"")).unwrap();
        assert_eq!(config.callback_url.as_deref(), Some(taken));
    }
    for bad in [
        "steadfast",
        "/in",
        "ftp://a",
        "http://",
        "https://u:p@a",
        "http://a?b=c",
        "http://a#b",
        "http://a b",
        "",
    ] {
        let told = refused(&format!("callback_url = \"{bad}\""));
        assert!(
            told.starts_with("steadfast.toml:1:1: callback_url: expected a URL such as"),
            "{bad}: {told}"
        );
    }
}

#[test]
fn variables_win_and_are_named_when_they_are_wrong() {
    let with = |name: &str, value: &str| {
        Config::parse(
            "listen = \"127.0.0.1:1\"",
            Format::Toml,
            "steadfast.toml",
            [(name.to_owned(), value.to_owned())],
        )
    };
    assert_eq!(with("STEADFAST_LISTEN", "127.0.0.1:9").unwrap().listen.port(), 9);
    assert_eq!(with("STEADFAST_RETENTION__KEEP", "2d").unwrap().keep, Duration::from_secs(2 * 24 * 3_600));
    let told = with("STEADFAST_LISTEN", "9").unwrap_err().to_string();
    assert!(told.contains("listen (STEADFAST_LISTEN): "), "{told}");
    let told = with("STEADFAST_LISTN", "9").unwrap_err().to_string();
    assert!(told.contains("listn (STEADFAST_LISTN): unknown key: did you mean `listen`?"), "{told}");
}

#[test]
fn services_stand_last_in_a_policy_file() {
    assert_eq!(FILE_FIELDS.last().unwrap().key, "service", "the server's own stands in its place");
    assert!(
        CONFIG.field("service").is_some()
            && CONFIG.field("retry").is_some()
            && CONFIG.field("listen").is_some()
    );
}

#[test]
fn paths_start_from_the_folder_of_the_file_and_those_of_variables_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("steadfast.toml");
    std::fs::write(&file, "workflows = \"flows\"\nsecrets = \"/run/secrets\"").unwrap();
    let config = Config::read(Some(&file), []).unwrap();
    assert_eq!(config.workflows, Some(folder.path().join("flows")));
    assert_eq!(config.secrets, Some(PathBuf::from("/run/secrets")));
    assert_eq!(config.data, folder.path().join("steadfast-data"));
    let variables = [("STEADFAST_DATA".to_owned(), "here".to_owned())];
    assert_eq!(Config::read(Some(&file), variables).unwrap().data, PathBuf::from("here"));
}

#[test]
fn yaml_means_the_same() {
    let yaml = "listen: 127.0.0.1:5\nservice: {stock: {url: 'http://127.0.0.1:1', retry: {max_retries: 2}}}";
    let config = Config::parse(yaml, Format::Yaml, "steadfast.yaml", []).unwrap();
    assert_eq!((config.listen.port(), config.services.len()), (5, 1));
}

/// The reference and the schema that are checked in are those of the code; `STEADFAST_BLESS=1` writes them.
#[test]
fn the_reference_and_the_schema_are_up_to_date() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let head = "# Settings\n\nAll keys of `steadfast.toml`, made from the code. YAML and JSON mean the same. `STEADFAST_*` variables win over the \
                file: each is a key with the tables around it, joined by two underscores, such as `STEADFAST_SERVICE__PAYMENTS__URL`.\n\n";
    let made = [
        ("reference/configuration.md", format!("{head}{}", Config::reference())),
        ("configuration.schema.json", Config::json_schema()),
    ];
    for (name, text) in made {
        let path = format!("{folder}/{name}");
        if std::env::var_os("STEADFAST_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap_or_default(),
            text,
            "STEADFAST_BLESS=1 writes {name}"
        );
    }
}

#[test]
fn the_examples_are_fit_to_be_used() {
    for example in ["hello", "shop"] {
        let file = format!("{}/../../examples/{example}/steadfast.toml", env!("CARGO_MANIFEST_DIR"));
        let config = Config::read(Some(Path::new(&file)), []).unwrap_or_else(|error| panic!("{error}"));
        let workflows = crate::check(config).unwrap_or_else(|words| panic!("{words}"));
        assert_eq!(workflows, 1, "{example}");
    }
}
