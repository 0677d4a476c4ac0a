//! What is data here: shapes that policy files do not use, and what is made of them.

use crate::*;

static STEP: Section = Section {
    name: "step",
    doc: "A step.",
    presets: &[],
    fields: &[
        field("call", Shape::Text, "", "What it calls.").needed(),
        field("body", Shape::Any, "", "Anything."),
        field("when", Shape::Expression, "", "A condition."),
        field("path", Shape::Template, "", "A path."),
        field("timeout", Shape::LongDuration, "1m", "How long."),
    ],
};

static GROUP: Section = Section {
    name: "group",
    doc: "Steps together.",
    presets: &[],
    fields: &[field("steps", Shape::Either(&STEPS), "", "Its steps.").needed()],
};

static CHOICES: [Choice; 2] =
    [Choice { mark: "call", section: &STEP }, Choice { mark: "steps", section: &GROUP }];

static STEPS: [Shape; 2] = [Shape::Named(&Shape::OneOf(&CHOICES)), Shape::List(&Shape::OneOf(&CHOICES))];

static FILE: Section = Section {
    name: "the file",
    doc: "A file.",
    presets: &[],
    fields: &[
        field("name", Shape::Text, "", "Its name.").needed(),
        field("steps", Shape::Either(&STEPS), "", "The steps."),
    ],
};

fn told(text: &str) -> Vec<String> {
    validate(&Format::Yaml.parse(text).unwrap(), &FILE).iter().map(ToString::to_string).collect()
}

#[test]
fn what_does_not_fit_is_told_with_its_place() {
    for (text, expected) in [
        ("name: x\nsteps: { a: { call: b, body: { deep: [1, { x: null }] }, timeout: 2d } }", ""),
        ("name: x\nsteps: [{ call: b }, { steps: { c: { call: d } } }]", ""),
        ("", "1:1: expected a table, found nothing"),
        ("steps: {}", "1:1: it needs `name`: a text"),
        (
            "name: x\nsteps: { a: { call: b, steps: {} } }",
            "2:24: steps.a: `call` and `steps` exclude each other: remove one of them",
        ),
        ("name: x\nsteps: { a: { cal: b } }", "2:15: steps.a: unknown key `cal`: did you mean `call`?"),
        ("name: x\nsteps: { a: { x: b } }", "2:13: steps.a: it needs one of `call`, `steps`"),
        (
            "name: x\nsteps: { a: { call: b, whem: c } }",
            "2:24: steps.a.whem: unknown key: did you mean `when`?",
        ),
        (
            "name: x\nsteps: { a: { call: b, when: '' } }",
            "2:30: steps.a.when: expected an expression such as \"input.total > 0\", found the text \"\"",
        ),
        (
            "name: x\nsteps: { a: { call: b, timeout: 2 } }",
            "2:33: steps.a.timeout: expected a time such as \"30s\", \"10m\" or \"2d\", found the number 2",
        ),
        (
            "name: x\nsteps: { a: { call: b, timeout: 0d } }",
            "2:33: steps.a.timeout: expected a time above zero, found the text \"0d\"",
        ),
        (
            "name: x\nsteps: { a: { steps: { b: { cal: c } } } }",
            "2:29: steps.a.steps.b: unknown key `cal`: did you mean `call`?",
        ),
        ("name: x\nsteps: 5", "2:8: steps: expected a table, or a list, each a table, found the number 5"),
        ("name: x\nsteps: { a: 5 }", "2:13: steps.a: expected a table, found the number 5"),
    ] {
        assert_eq!(told(text).join("\n"), expected, "{text}");
    }
}

#[test]
fn the_schema_holds_what_the_validator_holds() {
    let schema: serde_json::Value = serde_json::from_str(&json_schema("A file", &FILE)).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for text in [
        r#"{"name": "x", "steps": {"a": {"call": "b", "body": [1, {"x": null}], "timeout": "2d"}}}"#,
        r#"{"name": "x", "steps": [{"steps": {"c": {"steps": [{"call": "d"}]}}}]}"#,
        r#"{"steps": {}}"#,
        r#"{"name": "x", "steps": {"a": {"when": "b"}}}"#,
        r#"{"name": "x", "steps": {"a": {"call": "b", "steps": {}}}}"#,
        r#"{"name": "x", "steps": {"a": {"call": "b", "timeout": "2 decades"}}}"#,
        r#"{"name": "x", "steps": {"a": {"steps": {"b": {"cal": "c"}}}}}"#,
    ] {
        let fits = validate(&Format::Json.parse(text).unwrap(), &FILE).is_empty();
        // The pattern of a time is wider than what is read.
        let lax = text.contains("decades");
        assert_eq!(schema.is_valid(&serde_json::from_str(text).unwrap()), fits || lax, "{text}");
    }
}

#[test]
fn the_reference_lists_every_key() {
    let text = tables(&[("A step", &STEP)]);
    assert!(text.contains("### A step\n\n| key | takes | default | means |\n"), "{text}");
    assert!(text.contains("| `call` | a text | needed | What it calls. |"), "{text}");
    assert!(text.contains("| `timeout` | a time above 0 | `1m` | How long. |"), "{text}");
    assert!(
        takes(Shape::Either(&STEPS)).contains("a table with one of `call`, `steps`"),
        "{}",
        takes(Shape::Either(&STEPS))
    );
}

#[test]
fn a_file_that_is_none_says_why() {
    let folder = std::env::temp_dir();
    let whole = |path: &std::path::Path| read(path).unwrap_err();
    assert_eq!(whole(&folder).message, "it is a directory: give a file");
    let missing = whole(&folder.join("steadfast-form-nobody-has-this.yaml"));
    assert_eq!((missing.message.as_str(), missing.at), ("there is no such file", None));
    assert!(missing.source.is_some());
}

#[test]
fn names_of_strangers_are_written_out() {
    assert_eq!(plain("a\u{1b}[31m\u{202e}b"), "a\\u{1b}[31m\\u{202e}b");
    assert_eq!(join("a", "b\n"), "a.b\\n");
    let known = ["reserve", "charge"];
    assert_eq!(hint("chrage", known.into_iter()), "did you mean `charge`?");
    assert_eq!(hint("zebra", known.into_iter()), "there are `reserve`, `charge`");
}
