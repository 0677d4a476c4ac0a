//! Bad files get clear complaints, and never a panic or a hang.

use std::fmt::Write as _;

use steadfast_flow::{FlowFile, Format};

use crate::yaml;

/// A step that is right, to be put beside others.
const CALL: &str = "service: s, nothing_to_undo: true, request: { method: GET, path: / }";

/// Everything that is wrong with a file, without its name.
fn told(text: &str) -> String {
    let error = yaml(text).map(|_| ()).expect_err(text).to_string();
    error.replace("flow.yaml:", "")
}

#[test]
fn a_mistake_is_named_with_its_place_and_what_to_do() {
    let mut wrong = Vec::new();
    let step = |step: &str| format!("workflow: w\nsteps:\n  a: {{ {step} }}\n");
    let call = |more: &str| step(&format!("{more}, {CALL}"));
    let request = |request: &str| {
        step(&format!("service: s, nothing_to_undo: true, request: {{ method: GET, {request} }}"))
    };
    for (text, expected) in [
        // Keys and values.
        ("".to_owned(), "1:1: the file is empty: name a `workflow` and its `steps` (SF505)"),
        ("[]".to_owned(), "1:1: expected a table, found a list (SF504)"),
        ("workflow: w\n".to_owned(), "1:1: it needs `steps`: a table, or a list, each a table (SF505)"),
        ("wrkflow: w\nsteps: {}".to_owned(), "1:1: wrkflow: unknown key: did you mean `workflow`? (SF503)"),
        (call("complete_within: 5"), "3:25: steps.a.complete_within: expected a time such as \"30s\", \"10m\" or \"2d\", found the number 5 (SF504)"),
        (call("on_failure: undoo"), "3:20: steps.a.on_failure: unknown word \"undoo\": did you mean \"undo\"? (SF504)"),
        (call("at_a_time: 0"), "3:19: steps.a.at_a_time: expected a whole number from 1 to 1000, found the number 0 (SF504)"),
        (step("service: s"), "3:6: steps.a: it needs one of `request`, `wait`, `wait_until`, `wait_for_signal`, `child`, `steps` (SF505)"),
        (step("wiat: 1s"), "3:8: steps.a: unknown key `wiat`: did you mean `wait`? (SF503)"),
        (step("wait: 1s, child: b"), "3:18: steps.a: `wait` and `child` exclude each other: remove one of them (SF506)"),
        (step("wait: 1s, timeout: 2s"), "3:18: steps.a.timeout: unknown key: there are `name`, `description`, `after`, `when`, `wait`, `on_failure` (SF503)"),
        (step("request: { method: GET, path: / }"), "3:6: steps.a: it needs `service`: a text (SF505)"),
        (step("service: s, request: { path: / }"), "3:29: steps.a.request: it needs `method`: one of `GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE`, `OPTIONS` (SF505)"),
        (call("tolerate: 1"), "3:8: steps.a.tolerate: it belongs to `each`: add that, or remove it (SF506)"),
        (call("undo_within: 1s"), "3:8: steps.a.undo_within: it belongs to `undo`: add that, or remove it (SF506)"),
        ("workflow: w\nsteps: [{ wait: 1s }]".to_owned(), "2:9: steps: a step in a list needs a `name` (SF505)"),
        ("workflow: w\nsteps: { a: { name: b, wait: 1s } }".to_owned(), "2:21: steps.a.name: its name is `a`: remove this one (SF506)"),
        // Names of steps.
        (call("after: b"), "3:15: steps.a.after: there is no step `b`: did you mean `a`? (SF507)"),
        ("workflow: w\nsteps:\n  reserve: { wait: 1s }\n  charge: { after: [reserve, reserv], wait: 1s }".to_owned(), "4:30: steps.charge.after: there is no step `reserv`: did you mean `reserve`? (SF507)"),
        ("workflow: w\nsteps: { a: { wait: 1s }, b: { after: [a, a], wait: 1s } }".to_owned(), "2:43: steps.b.after: it names `a` twice (SF506)"),
        ("workflow: w\nreturns: shop\nsteps: { ship: { wait: 1s } }".to_owned(), "2:10: returns: there is no step `shop`: did you mean `ship`? (SF507)"),
        ("workflow: w\nreturns: a\nsteps: { a: { each: 'input.l', service: s, nothing_to_undo: true, request: { method: GET, path: / } } }".to_owned(), "2:10: returns: `a` is made for each item of a list, and each has an output of its own: return a step after it that is given `${steps.a.output}` (SF506)"),
        // What the engine says.
        (step("service: s, request: { method: POST, path: / }"), "3:3: steps.a: it has no undo, so that the task could not be undone as a whole: add an undo, or say that there is nothing to undo (SF514)"),
        ("workflow: w\nsteps: { a: { after: b, wait: 1s }, b: { after: a, wait: 1s } }".to_owned(), "1:11: workflow: steps wait for each other in a circle: b -> a -> b (SF514)"),
        ("workflow: my flow\nsteps: { a: { wait: 1s } }".to_owned(), "1:11: workflow: `my flow` is no name: use letters, digits, `-`, `_` and `.` (SF514)"),
        ("workflow: w\nsteps: { a b: { wait: 1s } }".to_owned(), "2:10: steps.a b: `a b` is no name: use letters, digits, `-`, `_` and `.` (SF514)"),
        (step("service: s, request: { method: POST, path: / }, undo: { method: POST, path: '/${output.id}' }, undo_when_unknown: true"), "3:3: steps.a: undo_when_unknown, and the undo reads the output, which an unknown outcome does not have: undo by the step's key or input (SF514)"),
        (step("wait_for_signal: x, or_none: true"), "3:3: steps.a: it goes on without its signal, and has no timeout: add one (SF514)"),
        (step("wait_for_signal: 'a b'"), "3:3: steps.a: signal: `a b` is no name: use letters, digits, `-`, `_` and `.` (SF514)"),
        ("workflow: w\nsteps: {}".to_owned(), "1:11: workflow: it has no steps: add one (SF514)"),
        ("workflow: w\nsteps: { g: { steps: {} } }".to_owned(), "2:10: steps.g.steps: the group has no steps: add one, or leave it out (SF514)"),
        ("workflow: w\nsteps: { a: { wait: 1s }, g: { steps: { a: { wait: 1s } } } }".to_owned(), "2:41: steps.g.steps.a: another step has the same name (SF514)"),
        ("workflow: w\nsteps: { a: { wait: 1s }, g: { steps: { b: { wait: 1s } } }, h: { steps: { g: { wait: 1s } } } }".to_owned(), "another step or group has the same name (SF514)"),
        // Expressions.
        (call("when: input.total >"), "3:14: steps.a.when: `input.total >`: at its end: mismatched input the end (SF508)"),
                (call("when: '${'"), "3:14: steps.a.when: `${`: at its character 1: not understood: '$' (SF508)"),
(call("when: inptu.total > 0"), "3:14: steps.a.when: `inptu.total > 0`: there is no `inptu`: did you mean `input`? (SF508)"),
        (call("when: steps.a.output"), "3:14: steps.a.when: `steps.a.output`: `a` reads the output of `a`, which does not come before it: add `a` to its `after` (SF507)"),
        (call("when: step.key == '1'"), "`step`, which requests know, is not known here: there are `input`, `steps` (SF508)"),
        (call("output: '${response.bdy}'"), "3:16: steps.a.output: `response.bdy`: `response` has no `bdy`: did you mean `body`? (SF508)"),
        (call("output: '${output}'"), "`output`, which undo and `until` know, is not known here"),
        (call("output: '${response.body'"), "3:16: steps.a.output: `${` has no `}`: close it, or write `$${` for the signs themselves (SF508)"),
        (call("output: { '${input.k}': 1 }"), "3:18: steps.a.output.${input.k}: a key has no expressions: make the whole table by one (SF508)"),
        (call("repeat: { until: 'input.done', every: 1s, at_most: 2 }"), "`input` is not known here: there are `output` (SF508)"),
        (call("repeat: { until: 'steps.a.output', every: 1s, at_most: 2 }"), "outputs of steps are not known here: there are `output` (SF508)"),
        (request("path: '/${item}'"), "`item`, which steps with `each` know, is not known here"),
        (request("path: '/${secret.x}'"), "there is no `secret`: there are `input`, `step`, `task`, `steps` (SF508)"),
        (call(&format!("when: '{}1{}'", "(".repeat(60), ")".repeat(60))), "its brackets are more than 24 deep: make it flatter (SF509)"),
        (call(&format!("when: 'a{}'", ".b".repeat(20_000))), "the expression has 40001 bytes, at most 2048 are allowed: let a service compute it (SF509)"),
        // Answers that come later.
        (call("callback: {}"), "3:18: steps.a.callback: it needs `within`: a time such as \"30s\", \"10m\" or \"2d\" (SF505)"),
        (call("callback: { within: 1h, accepted: 302 }"), "steps.a.callback.accepted: the service says 302 when it will call back, which the request does not expect: add it to `request.expect` (SF506)"),
        (step("service: s, nothing_to_undo: true, callback: { within: 1h }, request: { method: GET, path: /, expect: 200 }"), "steps.a.callback: the service says 202 when it will call back, which the request does not expect"),
        (call("callback: { within: 0s }"), "3:28: steps.a.callback.within: expected a time above zero, found the text \"0s\" (SF504)"),
        (request("path: /, body: '${step.callback}'"), "`step.callback` is known in the `request` of a step with `callback`: add that, or remove it (SF508)"),
        (call("callback: { within: 1h }, output: '${step.callback}'"), "`step.callback` is known in the `request` of a step with `callback`"),
        (step("wait: 1s, callback: { within: 1h }"), "steps.a.callback: unknown key"),
        // Requests.
        (request("path: things"), "3:73: steps.a.request.path: a path begins with `/`, behind the service's address (SF510)"),
        (request("path: '${input.url}'"), "a path begins with `/`"),
        (request("path: //evil/x"), "a path that begins with `//` names another host (SF510)"),
        (request("path: '/a?b=c'"), "`?` begins a query: write that under `query` (SF510)"),
        (request("path: '/a b'"), "` ` cannot stand in a path: write it as `%XX` (SF510)"),
        (request("path: '/a\\b'"), "cannot stand in a path"),
        (request("path: '/a/../b'"), "`..` in a path leads elsewhere: write where (SF510)"),
        (request("path: '/a/%2E%2e/b'"), "in a path leads elsewhere"),
        (request("path: '/a/secret://x'"), "a secret does not belong into a path or a query"),
        (request("path: /, query: { k: 'secret://x' }"), "a secret does not belong into a path or a query"),
        (request("path: /, headers: { 'X Y': a }"), "steps.a.request.headers.X Y: `X Y` is no name of a header (SF510)"),
        (request("path: /, headers: { Host: a }"), "`host` is sent by the agent: remove it (SF510)"),
        (request("path: /, headers: { Content-Type: text/xml }"), "bodies are JSON: write `application/json`"),
        (request("path: /, headers: { steadfast-task: a }"), "`steadfast-task` is sent by the agent"),
        (request("path: /, headers: { X-A: \"a\\nb\" }"), "a header's value has no line breaks or other control characters (SF510)"),
        (request("path: /, headers: { X-A: 'secret://${input.name}' }"), "the name behind `secret://` must not come out of an expression: write it out (SF518)"),
        (request("path: /, body: 'Secret://a-${input.name}'"), "must not come out of an expression"),
        (request("path: /, expect: [600]"), "steps.a.request.expect: expected a whole number from 100 to 599"),
        (request("path: /, body: { n: .nan }"), "JSON has no such number (SF504)"),
        // The schema of the input.
        ("workflow: w\ninput: { schema: { type: objekt } }\nsteps: { a: { wait: 1s } }".to_owned(), "2:18: input.schema: it is no JSON Schema: "),
        ("workflow: w\ninput: { schema: { $ref: 'http://127.0.0.1:1/x' } }\nsteps: { a: { wait: 1s } }".to_owned(), "input.schema: it is no JSON Schema: "),
    ] {
        let told = told(&text);
        if !told.contains(expected) {
            wrong.push(format!("{text}
told:     {told}
expected: {expected}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}",
        wrong.join(
            "

"
        )
    );
}

#[test]
fn all_mistakes_are_told_at_once_in_their_order() {
    let told = told(
        "workflow: w\nreturns: z\nsteps:\n  a: { service: s, when: x, request: { method: GET, path: a, body: '${y}' } }\n  b: { after: q, wait: 1s }\n",
    );
    let places: Vec<_> = told.lines().map(|line| line.split_once(": ").unwrap().0).collect();
    assert_eq!(places, ["2:10", "4:26", "4:59", "4:68", "5:15"], "{told}");
}

#[test]
fn a_bomb_a_deep_tree_and_a_large_file_end_at_their_limits() {
    let mut bomb =
        String::from("workflow: w\nsteps: { a: { wait: 1s } }\nx0: &x0 [y, y, y, y, y, y, y, y, y, y]\n");
    for level in 1..9 {
        let aliases = vec![format!("*x{}", level - 1); 10].join(", ");
        let _ = writeln!(bomb, "x{level}: &x{level} [{aliases}]");
    }
    assert!(told(&bomb).contains("more than 100000 values (SF502)"), "{}", told(&bomb));
    let deep = format!("workflow: w\nsteps: {}1{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(told(&deep).contains("(SF502)"), "{}", told(&deep));
    let json = format!("{{\"workflow\": {}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(FlowFile::parse(&json, Format::Json, "deep.json").is_err());
    let large = format!("workflow: w\n# {}\nsteps: {{}}", "x".repeat(2 << 20));
    assert!(told(&large).contains("at most 1048576 are read (SF502)"), "{}", told(&large));
    let steps: String = (0..1_001).map(|n| format!("  s{n}: {{ wait: 1s }}\n")).collect();
    let many = told(&format!("workflow: w\nsteps:\n{steps}"));
    assert!(many.contains("it has 1001 steps, at most 1000 are allowed (SF514)"), "{many}");
    // Expressions of all steps together.
    let long = format!("'{}'", "1 + ".repeat(200) + "1 > 0");
    let steps: String = (0..400).map(|n| format!("  s{n}: {{ wait: 1s, when: {long} }}\n")).collect();
    let told = told(&format!("workflow: w\nsteps:\n{steps}"));
    assert!(told.contains("(SF509)"), "{told}");
}

#[test]
fn what_is_no_file_says_so() {
    let error = FlowFile::read("nobody-has-this.yaml").unwrap_err();
    assert_eq!(error.to_string(), "nobody-has-this.yaml: there is no such file (SF501)");
    assert!(std::error::Error::source(&error).is_some());
    let toml = FlowFile::parse("workflow = 'w'", Format::Toml, "w.toml").unwrap_err().to_string();
    assert_eq!(toml, "w.toml: a workflow is written in YAML or JSON (SF501)");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.txt");
    std::fs::write(&path, "workflow: w").unwrap();
    assert!(
        FlowFile::read(&path)
            .unwrap_err()
            .to_string()
            .ends_with("its name must end in .yaml, .yml or .json (SF501)")
    );
    let path = folder.path().join("w.yaml");
    std::fs::write(&path, b"workflow: w\n# \xff").unwrap();
    assert!(
        FlowFile::read(&path)
            .unwrap_err()
            .to_string()
            .ends_with("w.yaml:2:3: this is not UTF-8: save the file as UTF-8 (SF502)")
    );
    std::fs::write(&path, "workflow: w\nsteps: { a: { wait: 1s } }").unwrap();
    assert_eq!(FlowFile::read(&path).unwrap().name(), "w");
    for (text, code) in [
        ("a: b: c", "SF502"),
        ("workflow: w\nworkflow: v", "SF502"),
        ("a: !!str 1", "SF502"),
        ("a\n---\nb", "SF502"),
    ] {
        assert!(told(text).contains(code), "{text}");
    }
}

#[test]
fn names_of_strangers_do_not_reach_a_terminal_as_they_are() {
    let text = told("workflow: w\n\"\\e[31m\\u202e\": 1\nsteps: { a: { wait: 1s, when: \"\\e[31m\" } }");
    assert!(
        !text.contains(|letter: char| letter.is_control() && letter != '\n' || letter == '\u{202e}'),
        "{text:?}"
    );
    let text = told("workflow: w\nsteps: { a: { wait: 1s, when: \"\\e[31m\" } }");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}
