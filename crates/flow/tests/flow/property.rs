//! Random files: what is right stays the same as JSON, and what is changed at random is read or refused.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use steadfast_flow::{FlowFile, Format};

use crate::world::{Books, House, reply};

fn time() -> impl Strategy<Value = String> {
    prop_oneof![
        (1_u32..100).prop_map(|n| format!("{n}s")),
        (1_u32..50).prop_map(|n| format!("{n}m")),
        (1_u32..5).prop_map(|n| format!("{n}d"))
    ]
}

/// A value with expressions in it.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1_000_i64..1_000).prop_map(Value::from),
        "[a-z ]{0,8}".prop_map(Value::from),
        Just(json!("${input.a.b}")),
        Just(json!("x ${input.n + 1} ${step.key} $${y}")),
        Just(json!("${input.list.map(l, {'id': l})}")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..3)
                .prop_map(|table| Value::Object(table.into_iter().collect())),
        ]
    })
}

fn request() -> impl Strategy<Value = Value> {
    (
        prop_oneof![Just("GET"), Just("POST"), Just("DELETE")],
        prop_oneof![Just("/"), Just("/a/${input.id}"), Just("/b/${step.key}.json")],
        prop::option::of(value()),
        prop::option::of(prop_oneof![Just(json!(201)), Just(json!("2xx")), Just(json!([200, "4xx"]))]),
    )
        .prop_map(|(method, path, body, expect)| {
            let mut request = json!({"method": method, "path": path});
            put(&mut request, "body", body);
            put(&mut request, "expect", expect);
            request
        })
}

fn put(table: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    if let (Some(table), Some(value)) = (table.as_object_mut(), value) {
        table.insert(key.to_owned(), value.into());
    }
}

fn step() -> impl Strategy<Value = Value> {
    let call = (
        request(),
        prop::option::of(request()),
        prop::option::of(time()),
        any::<(bool, bool, bool)>(),
        prop::option::of(1_u32..9),
    )
        .prop_map(|(request, undo, within, (each, safe, once), calls)| {
            let mut step = json!({"service": "s", "request": request});
            match undo {
                Some(undo) => {
                    put(&mut step, "undo", Some(undo));
                    put(&mut step, "undo_when_unknown", safe.then_some(true));
                }
                None => put(&mut step, "nothing_to_undo", Some(true)),
            }
            put(&mut step, "complete_within", within);
            put(&mut step, "idempotent", once.then_some(false));
            put(&mut step, "max_calls", calls);
            if each {
                put(&mut step, "each", Some("${input.lines}"));
                put(&mut step, "at_a_time", calls);
            }
            step
        });
    let wait = (time(), prop_oneof![Just("undo"), Just("error"), Just("continue")])
        .prop_map(|(time, then)| json!({"wait": time, "on_failure": then}));
    let signal = (time(), any::<bool>())
        .prop_map(|(time, or_none)| json!({"wait_for_signal": "go", "timeout": time, "or_none": or_none}));
    prop_oneof![4 => call, 1 => wait, 1 => signal, 1 => Just(json!({"wait_until": "${input.at}"}))]
}

/// A file, with steps that come after others before them, some of them in a group.
fn file() -> impl Strategy<Value = Value> {
    (
        prop::collection::vec((step(), any::<u8>(), any::<bool>()), 1..7),
        prop::option::of(time()),
        any::<bool>(),
    )
        .prop_map(|(steps, within, grouped)| {
            let mut table = Map::new();
            let count = steps.len();
            for (place, (mut step, after, conditional)) in steps.into_iter().enumerate() {
                let names: Vec<_> = (0..place)
                    .filter(|earlier| after >> earlier & 1 == 1)
                    .map(|earlier| json!(format!("s{earlier}")))
                    .collect();
                put(&mut step, "after", (!names.is_empty()).then_some(names));
                put(&mut step, "when", conditional.then_some("input.n > 0 && has(input.a)"));
                table.insert(format!("s{place}"), step);
            }
            if grouped
                && count > 1
                && let Some(last) = table.remove(&format!("s{}", count - 1))
            {
                table.insert(
                    "z".to_owned(),
                    json!({"after": "s0", "when": "input.g", "steps": {"last": last}}),
                );
            }
            let mut file = json!({"workflow": "w", "steps": table});
            put(&mut file, "complete_within", within);
            file
        })
}

fn definition_of(file: &FlowFile) -> String {
    let books = Books::new(|_, _| reply(Value::Null));
    let built = file.build(1, &House::with(&["s"]), std::sync::Arc::new(books)).unwrap();
    format!("{:?} {:?}", built.definition(), built.definition().shape())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_file_as_json_is_the_same_workflow(json in file()) {
        let text = json.to_string();
        let file = FlowFile::parse(&text, Format::Json, "flow.json").unwrap_or_else(|error| panic!("{error}\n{text}"));
        // JSON is YAML, too.
        let yaml = FlowFile::parse(&text, Format::Yaml, "flow.yaml").unwrap_or_else(|error| panic!("{error}\n{text}"));
        let again = file.to_json();
        let again = FlowFile::parse(&again.to_string(), Format::Json, "again.json").unwrap_or_else(|error| panic!("{error}\n{again}"));
        let (one, other) = (definition_of(&file), definition_of(&again));
        prop_assert_eq!(&one, &other);
        prop_assert_eq!(&one, &definition_of(&yaml));
        prop_assert_eq!(file.digest(), again.digest());
        prop_assert_eq!(file.digest(), yaml.digest());
        prop_assert_eq!(file.to_json(), again.to_json());
    }

    #[test]
    fn a_file_with_a_piece_changed_is_read_or_refused(
        json in file(),
        at in any::<prop::sample::Index>(),
        cut in 0_usize..12,
        piece in prop_oneof!["[a-z${}()\\[\\].:,\"' -]{0,12}", Just("${input.x".to_owned()), Just("secret://".to_owned())],
    ) {
        let good: Vec<char> = json.to_string().chars().collect();
        let at = at.index(good.len());
        let end = (at + cut).min(good.len());
        let text: String = good[..at].iter().copied().chain(piece.chars()).chain(good[end..].iter().copied()).collect();
        for format in [Format::Json, Format::Yaml] {
            if let Err(error) = FlowFile::parse(&text, format, "changed") {
                prop_assert!(!error.complaints().is_empty());
                for complaint in error.complaints() {
                    prop_assert!(!complaint.message.is_empty() && !complaint.message.contains('\n'), "{:?}", complaint);
                }
            }
        }
    }
}
