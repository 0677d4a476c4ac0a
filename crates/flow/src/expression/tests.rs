//! What expressions mean, held against the `cel` crate's own evaluator; and that none of them can do harm.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::limit::{MAX_SOURCE, MAX_TOKENS};
use super::names::{Names, StepName};
use super::node::Variable;
use super::*;

fn steps() -> Vec<StepName> {
    ["first", "each-one", "own", "later"]
        .iter()
        .map(|name| StepName { name: (*name).to_owned(), is_each: *name == "each-one" })
        .collect()
}

fn read_as(
    source: &str,
    variables: &[Variable],
    before: &[bool],
    of_item: bool,
) -> Result<Expression, Wrong> {
    let steps = steps();
    let names = Names { variables, steps: &steps, before, of_item, has_callback: false, whose: "`own`" };
    on_large_stack(|| Expression::read(source, names)).expect("the parser has died")
}

fn read(source: &str) -> Result<Expression, Wrong> {
    read_as(source, &[Variable::Input, Variable::Step], &[true, true, false, false], false)
}

fn input() -> Value {
    json!({
        "n": 7, "half": 0.5, "text": "Hello", "flag": true, "nothing": null, "big": u64::MAX,
        "list": [3, 1, 2], "lines": [{"sku": "a", "q": 2}, {"sku": "b", "q": 0}], "table": {"a": 1, "b": {"c": "d"}}
    })
}

fn value_of(expression: &Expression, input: Value) -> Result<Value, Failed> {
    let mut variables = Variables::default();
    variables.set(Variable::Input, input);
    variables.set_output(0, Some(json!({"id": 5})));
    variables.set_output(1, None);
    expression.value(&variables, &Budget::new())
}

fn value(source: &str) -> Result<Value, String> {
    let expression = read(source).map_err(|wrong| format!("{wrong:?}"))?;
    value_of(&expression, input()).map_err(Failed::message)
}

/// JSON whose whole numbers are signed, as those in expressions are.
struct Signed<'a>(&'a Value);

impl serde::Serialize for Signed<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Number(number) if number.is_i64() => to.serialize_i64(number.as_i64().unwrap_or_default()),
            Value::Array(items) => to.collect_seq(items.iter().map(Signed)),
            Value::Object(table) => to.collect_map(table.iter().map(|(key, value)| (key, Signed(value)))),
            other => other.serialize(to),
        }
    }
}

/// What the crate's own evaluator says.
fn theirs(source: &str, input: &Value) -> Option<Value> {
    on_large_stack(|| {
        let program = cel::Program::compile(source).ok()?;
        let mut context = cel::Context::default();
        context.add_variable("input", Signed(input)).ok()?;
        program.execute(&context).ok()?.json().ok()
    })
    .expect("the evaluator has died")
}

#[test]
fn expressions_mean_what_cel_says() {
    for (source, expected) in [
        ("input.n", json!(7)),
        ("input.n + 1 == 8 && input.flag", json!(true)),
        ("input.text + ' world'", json!("Hello world")),
        ("input.n / 2", json!(3)),
        ("-7 / 2", json!(-3)),
        ("-7 % 3", json!(-1)),
        ("input.half * 3.0", json!(1.5)),
        ("1 + 2 * 3 - 4", json!(3)),
        ("(1 + 2) * 3", json!(9)),
        ("!input.flag || input.n > 6", json!(true)),
        ("input.n >= 7 ? 'many' : 'few'", json!("many")),
        ("input.list[1]", json!(1)),
        ("input['text']", json!("Hello")),
        ("input.table.b.c", json!("d")),
        ("has(input.table.a) && !has(input.table.z)", json!(true)),
        ("2 in input.list", json!(true)),
        ("'a' in input.table", json!(true)),
        ("'z' in input.table", json!(false)),
        ("size(input.list) + size(input.text) + input.table.size()", json!(10)),
        ("input.list.map(x, x * 2)", json!([6, 2, 4])),
        ("input.list.filter(x, x > 1)", json!([3, 2])),
        ("input.list.map(x, x > 1, x + 1)", json!([4, 3])),
        ("input.list.all(x, x > 0)", json!(true)),
        ("input.list.exists(x, x == 2)", json!(true)),
        ("input.list.exists_one(x, x >= 2)", json!(false)),
        ("input.lines.filter(l, l.q > 0).map(l, {'sku': l.sku, 'n': l.q})", json!([{"sku": "a", "n": 2}])),
        ("input.lines.map(l, input.list.map(x, x * l.q))", json!([[6, 2, 4], [0, 0, 0]])),
        ("input.list + [4]", json!([3, 1, 2, 4])),
        ("[1, 2] == [1, 2] && [1] != [2]", json!(true)),
        ("{'a': 1} == {'a': 1}", json!(true)),
        ("1 == 1.0", json!(true)),
        ("1 < 1.5", json!(true)),
        ("'a' < 'b'", json!(true)),
        ("input.nothing == null", json!(true)),
        ("input.text == null", json!(false)),
        ("string(input.n) + string(true) + string(1.5)", json!("7true1.5")),
        ("int('12') + int(2.9)", json!(14)),
        ("double(2) + double('0.5')", json!(2.5)),
        (
            "input.text.contains('ell') && input.text.startsWith('He') && input.text.endsWith('lo')",
            json!(true),
        ),
        // What decides does so whatever the other side is.
        ("input.missing == 1 || true", json!(true)),
        ("false && input.missing == 1", json!(false)),
        ("input.missing == 1 && false", json!(false)),
        ("r'a\\b' + \"\\\"q\\\"\"", json!("a\\b\"q\"")),
    ] {
        assert_eq!(value(source), Ok(expected.clone()), "{source}");
        assert_eq!(theirs(source, &input()), Some(expected), "the crate says otherwise of {source}");
    }
}

#[test]
fn numbers_of_json_are_of_one_kind_and_texts_have_a_few_functions_more() {
    for (source, expected) in [
        // A total may come as 12 or as 12.5.
        ("input.n * 1.5", json!(10.5)),
        ("input.half + 1", json!(1.5)),
        ("input.big", json!(u64::MAX)),
        ("input.big - 1", json!(u64::MAX - 1)),
        ("' A b '.trim().lowerAscii() + 'x'.upperAscii()", json!("a bX")),
        ("'a,b'.split(',').join('-') + 'aa'.replace('a', 'bc')", json!("a-bbcbc")),
        ("'äb'.split('')", json!(["ä", "b"])),
        ("input.table.map(k, k)", json!(["a", "b"])),
        ("steps.first.output.id + 1", json!(6)),
        ("steps['first'].output.id", json!(5)),
        ("has(steps['each-one'].output)", json!(false)),
        ("has(steps.first.output) && has(steps.first.output.id)", json!(true)),
        ("has(input.nothing)", json!(false)),
    ] {
        assert_eq!(value(source), Ok(expected), "{source}");
    }
}

#[test]
fn what_has_no_value_says_why() {
    for (source, why) in [
        ("input.txet", "there is no `txet`: did you mean `text`?"),
        ("input.text.x", "`x` is asked of a text, and only a table has such"),
        ("input.list[7]", "a list has no entry 7"),
        ("input.list[-1]", "a list has no entry -1"),
        ("input.table['x']", "a table has no entry `x`"),
        (
            "input.text + input.n",
            "`+` does not go with a text and a number: make it a text with `string(..)`",
        ),
        ("input.flag + 1", "`+` does not go with true or false and a number"),
        ("input.n < 'a'", "`<` does not go with a number and a text"),
        ("1 / 0", "`/` by zero"),
        ("1 % 0", "`%` by zero"),
        ("1.5 % 2.0", "`%` takes whole numbers"),
        ("1.0 / 0.0", "a number is too large, or none"),
        ("input.big * 2", "a whole number is too large"),
        ("input.text ? 1 : 2", "expected true or false, found a text"),
        ("input.n.map(x, x)", "expected a list, found a number"),
        ("int('x')", "the text is no whole number"),
        ("int(1e30)", "a whole number is too large"),
        (
            "string(input.list)",
            "`string` does not go with a list: `string(x)`: a number, flag or text as a text.",
        ),
        ("{1: 2}", "a key is a text, and not a number"),
        ("{'a': 1, 'a': 2}", "a table has a key twice"),
        (
            "size(1)",
            "`size` does not go with a number: `size(x)` or `x.size()`: characters of a text, entries of a list or table.",
        ),
        (
            "steps['each-one'].output",
            "the step has no output: it was skipped, or failed and was left behind; ask with `has(..)`",
        ),
    ] {
        assert_eq!(value(source), Err(why.to_owned()), "{source}");
    }
}

#[test]
fn what_can_be_known_early_is_told_early() {
    for (source, wrong) in [
        ("inptu.x", "there is no `inptu`: did you mean `input`?"),
        (
            "output.x",
            "`output`, which undo and `until` know, is not known here: there are `input`, `step`, `steps`",
        ),
        (
            "item",
            "`item`, which steps with `each` know, is not known here: there are `input`, `step`, `steps`",
        ),
        ("secret.x", "there is no `secret`: there are `input`, `step`, `steps`"),
        ("step.kee", "`step` has no `kee`: did you mean `key`?"),
        ("lenght(input.x)", "there is no function `lenght`"),
        ("input.x.matches('a')", "there is no function `matches`"),
        ("input.x.contains()", "`contains` is not called like this: `text.contains(part)`."),
        ("contains('a', 'b')", "`contains` is not called like this"),
        ("timestamp('2026-01-01')", "there is no function `timestamp`"),
        ("b'abc'", "bytes (`b'..'`) cannot be written as JSON"),
        ("Foo{a: 1}", "there is no type `Foo`"),
        ("steps", "`steps` alone says nothing: write `steps.NAME.output`"),
        ("steps.first", "`steps.first` alone says nothing: write `steps.first.output`"),
        ("steps['first']", "a step alone says nothing"),
        ("steps[input.x].output", "a step is named by a text that stands there"),
        ("steps.frist.output", "there is no step `frist`: did you mean `first`?"),
        ("steps.first.result", "a step has an `output`, and no `result`"),
        (
            "steps.later.output",
            "`own` reads the output of `later`, which does not come before it: add `later` to its `after`",
        ),
        (
            "steps.each-one.output",
            "there is no step `each`: there are `first`, `each-one`, `own`, `later`; a name with `-` in it is written `steps[\"NAME\"]`",
        ),
        ("input.x >", "at its end: mismatched input the end"),
        ("input..x", "at its character 7: "),
        ("input.x == 'a", "a text that begins with ' has no end"),
        ("", "there is no expression"),
        ("input.x // why", "comments (`//`) do not belong into an expression"),
    ] {
        let told = match read(source) {
            Ok(_) => panic!("{source} was taken"),
            Err(Wrong::Bad(why) | Wrong::Step(why) | Wrong::Large(why)) => why,
        };
        assert!(told.contains(wrong), "{source}: {told}");
    }
    let items = read_as("steps['each-one'].output", &[Variable::Item], &[true, true, false, false], true);
    assert!(matches!(items, Err(Wrong::Step(why)) if why.contains("is not known to a single item")));
    let until = read_as("steps.first.output", &[Variable::Output], &[], false);
    assert!(
        matches!(until, Err(Wrong::Bad(why)) if why.contains("outputs of steps are not known here: there are `output`"))
    );
}

/// Each of these would end the process, or hold a thread, if the parser or an evaluator that does not count had it.
#[test]
fn an_expression_that_is_too_large_is_refused_and_the_process_lives() {
    let many = |part: &str, times: usize| part.repeat(times);
    for (name, source) in [
        ("40 KB", format!("1{}", many(" + 1", 10_000))),
        ("one byte too many", "a".repeat(MAX_SOURCE + 1)),
        ("members", format!("input{}", many(".b", 900))),
        ("members within the tokens", format!("input{}", many(".b", MAX_TOKENS / 2 - 2))),
        ("parentheses", format!("{}1{}", many("(", 60), many(")", 60))),
        ("lists", format!("{}1{}", many("[", 500), many("]", 500))),
        ("tables", format!("{}1{}", many("{'a':", 60), many("}", 60))),
        ("calls", format!("{}1{}", many("size(", 200), many(")", 200))),
        ("indexes", format!("input{}", many("[0]", 600))),
        ("sum", format!("1{}", many("+1", 1000))),
        ("sum within the tokens", format!("1{}", many("+1", MAX_TOKENS / 2 - 1))),
        ("conditions", format!("true{}", many("?1:true", 250))),
        ("conditions within the tokens", format!("true{}", many("?1:true", 100))),
        ("not", format!("{}true", many("!", 2_000))),
        ("minus", format!("{}1", many("-", 2_000))),
        ("loops", "input.list.map(a, input.list.map(b, input.list.map(c, a)))".to_owned()),
        ("unclosed", many("(", 2_000)),
    ] {
        match read(&source) {
            Err(Wrong::Large(_)) => {}
            other => panic!("{name}: {other:?}"),
        }
    }
    // Many signs in a row mean little, and are read or refused, but harm nobody.
    for source in [
        format!("{}true", many("!", 400)),
        format!("{}1", many("- ", 400)),
        many("a.b[", 100),
        many("?:", 200),
    ] {
        let _ = read(&source);
    }
}

#[test]
fn what_is_as_large_as_it_may_be_is_read_and_evaluated() {
    let brackets = format!("{}1{}", "(".repeat(24), ")".repeat(24));
    assert_eq!(value(&brackets), Ok(json!(1)));
    assert_eq!(value(&format!("1{}", " + 1".repeat(60))), Ok(json!(61)));
    let list = format!("[{}].map(x, x)", vec!["1"; 240].join(","));
    assert_eq!(value(&list).unwrap().as_array().unwrap().len(), 240);
}

#[test]
fn work_and_bytes_are_counted_whatever_the_input_is() {
    let large = json!({"list": vec![1; 20_000], "text": "x".repeat(1 << 20), "few": vec![1; 600]});
    let run = |source: &str| value_of(&read(source).unwrap(), large.clone());
    // As many items as a task can have, filtered.
    assert_eq!(run("size(input.list.filter(x, x > 0))"), Ok(json!(20_000)));
    for source in [
        "input.list.map(x, input.list.map(y, y))",
        "input.list.all(x, input.list.all(y, true))",
        "input.list.exists(x, input.list.exists(y, y > 1) || true && false)",
        "size(input.list.map(x, input.text))",
        "input.list.map(x, input.list)",
        "input.list.map(x, input.text == input.text + 'y')",
        "size(input.few.map(x, input.few + input.few).map(l, l + l))",
        "input.text + input.text + input.text + input.text + input.text",
        "input.text.replace('x', 'xxxxxxxx')",
        "input.text.split('')",
        "input.list.map(x, input.text.contains('y'))",
        "[input, input, input, input, input]",
        // That it was stopped is not made good by the other side.
        "size(input.list.map(x, input.list)) > 0 || true",
    ] {
        assert!(matches!(run(source), Err(Failed::Stopped(_))), "{source}");
    }
    // What is looked for is paid for as well as what it is looked for in.
    let long = json!({"few": vec![0; 3_000], "s": "ab".repeat(450_000), "m": {"a": 1}});
    for (source, stops) in [
        ("input.few.exists(x, 'a'.replace(input.s, 'b') == 'q')", true),
        ("input.few.exists(x, 'a'.contains(input.s))", true),
        ("input.few.exists(x, size('a'.split(input.s)) == 2)", true),
        ("input.few.exists(x, input.s in input.m)", true),
        ("input.few.all(x, input.m[input.s] == 1 || x == 0)", true),
        ("double(input.s) == 1.0", false),
        ("int(input.s) == 1", false),
    ] {
        let told = value_of(&read(source).unwrap(), long.clone());
        assert_eq!(matches!(told, Err(Failed::Stopped(_))), stops, "{source}: {told:?}");
    }
    // What a loop does not come to costs nothing; no more does looking for the name that was meant where nobody is told.
    // With either, this would take minutes, and tests are ended after three.
    let much = json!({"few": vec![1; 10_000], "many": vec![1; 400_000], "meta": { "k".repeat(500_000): 1 }});
    for source in [
        "input.few.all(x, input.many.exists(y, y == x))",
        "input.few.all(x, input.meta.vip || x > 0)",
        "input.few.all(x, (input.meta.vip && true) || x > 0)",
    ] {
        assert_eq!(value_of(&read(source).unwrap(), much.clone()), Ok(json!(true)), "{source}");
    }
    // One budget for many expressions.
    let (expression, budget) = (read("size(input.list.filter(x, x > 0))").unwrap(), Budget::new());
    let mut variables = Variables::default();
    variables.set(Variable::Input, large);
    let stopped = (0..10).any(|_| expression.value(&variables, &budget).is_err());
    assert!(stopped, "ten of them were one too many");
}

#[test]
fn a_word_that_a_loop_uses_hides_a_variable() {
    assert_eq!(value("[1, 2].map(input, input + 1)"), Ok(json!([2, 3])));
    assert_eq!(value("[1].map(x, [2].map(x, x))"), Ok(json!([[2]])));
    assert_eq!(value("[[1, 2], [3]].map(l, l.exists(x, x == 3))"), Ok(json!([false, true])));
}

/// Expressions over whole numbers, texts and flags that mean something.
fn whole() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (-9_i64..10).prop_map(|n| format!("({n})")),
        Just("input.n".to_owned()),
        Just("size(input.list)".to_owned())
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let flag =
            (inner.clone(), inner.clone(), prop_oneof!["<", "<=", ">", ">=", "==", "!="].prop_map(|s| s))
                .prop_map(|(one, other, sign)| format!("({one} {sign} {other})"));
        prop_oneof![
            (inner.clone(), inner.clone(), prop_oneof!["\\+", "-", "\\*", "/", "%"])
                .prop_map(|(one, other, sign)| format!("({one} {sign} {other})")),
            (flag, inner.clone(), inner.clone()).prop_map(|(c, a, b)| format!("({c} ? {a} : {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("size([{a}, {b}].filter(x, x > {b}))")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("(input.list.exists(x, x == {a}) ? {a} : {b})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_expressions_mean_what_the_crate_says(source in whole()) {
        let Ok(expression) = read(&source) else { return Ok(()) };
        let ours = value_of(&expression, input()).ok();
        let theirs = theirs(&source, &input());
        // Ours go on beyond 63 bits where theirs overflow: numbers as small as these do not come there.
        prop_assert_eq!(ours, theirs, "{}", source);
    }

    #[test]
    fn random_texts_are_read_or_refused(source in "[a-z0-9 ()\\[\\]{}.,?:!'\"<>=&|+*/%$\\\\-]{0,200}") {
        if let Ok(expression) = read(&source) {
            let _ = value_of(&expression, input());
        }
        let _ = scan::end(&source);
    }
}
