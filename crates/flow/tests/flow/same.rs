//! What a file says and what the Rust builder says is the same.

use std::time::Duration;

use serde_json::Value;
use steadfast::{Definition, Failure, OnFailure, Recovery, Service, Workflow};

use crate::world::{Books, House, built, reply};
use crate::{good, yaml};

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Whether two definitions say the same.
fn assert_same(one: &Definition, other: &Definition) {
    assert_eq!(one.steps(), other.steps());
    let orders = |of: &Definition| of.ids().map(|id| of.before(id).to_vec()).collect::<Vec<_>>();
    assert_eq!(orders(one), orders(other));
    assert_eq!(
        (one.name(), one.version(), one.complete_within(), one.shape()),
        (other.name(), other.version(), other.complete_within(), other.shape())
    );
}

#[test]
fn everything_that_the_builder_can_say_a_file_can_say() {
    let (inventory, payments) = (Service::standard("inventory"), Service::standard("payments"));
    let child = {
        let mut flow = Workflow::<Value>::builder("pay");
        let step = flow.step("charge", &payments, |_| async { Ok::<Value, Failure>(Value::Null) });
        let step = step.undo(|_| async { Ok::<(), Failure>(()) }).add();
        flow.returns(step).unwrap()
    };
    let mut flow = Workflow::<Value>::builder("order").version(3).complete_within(s(600));
    let call = |_: steadfast::Context<Value>| async { Ok::<Value, Failure>(Value::Null) };
    let undo = |_: steadfast::Context<Value>| async { Ok::<(), Failure>(()) };
    let reserve = flow
        .step("reserve", &inventory, call)
        .complete_within(s(30))
        .heartbeat_within(s(10))
        .max_calls(7)
        .recovery(Recovery { at_once: 1, extended_wait: s(60), last: 4 })
        .undo_with_output(move |cx, _| undo(cx))
        .undo_within(s(90))
        .undo_recovery(Recovery { last: 9, ..Recovery::default() })
        .add();
    let charge = flow
        .step("charge", &payments, call)
        .after(reserve)
        .when(|_| true)
        .callback(s(7_200))
        .undo(undo)
        .undo_when_unknown()
        .not_idempotent()
        .on_failure(OnFailure::Error)
        .add();
    let poll = flow
        .step("poll", &payments, call)
        .after(charge)
        .repeat_until(s(10), |_| true)
        .at_most(100)
        .nothing_to_undo()
        .add();
    let lines = flow
        .each("lines", &inventory, |_| Vec::<Value>::new(), move |cx, _: Value| call(cx))
        .after((charge, poll))
        .at_a_time(20)
        .tolerate(2)
        .undo(undo)
        .add();
    let approve =
        flow.signal_step::<Value>("approve", "approval").after(lines).timeout(s(2 * 86_400)).or_none().add();
    let pause = flow.wait_for("pause", s(600)).when(|_| true).on_failure(OnFailure::Continue).add();
    let at = flow.wait_until("at", |_| steadfast::Time::from_millis(0)).after(pause).add();
    let one =
        flow.child("one", &child, |seen| seen.input.clone()).after(at).on_failure(OnFailure::Error).add();
    let many =
        flow.children("many", &child, |_| Vec::<Value>::new()).after(at).at_a_time(3).tolerate(1).add();
    let (group, ()) = flow.group().after((approve, one)).when(|_| true).steps(|flow| {
        let first = flow.step("first", &inventory, call).nothing_to_undo().add();
        flow.step("second", &inventory, call).after(first).nothing_to_undo().add();
        flow.group().after(many).steps(|flow| {
            flow.step("third", &inventory, call).nothing_to_undo().add();
        });
    });
    let ship = flow.step("ship", &inventory, call).after(group).point_of_no_return().add();
    flow.step("tell", &inventory, call).after(ship).on_failure(OnFailure::Continue).add();
    let theirs = flow.returns(ship).unwrap();

    let file = good(
        r#"
workflow: order
version: 3
complete_within: 10m
returns: ship
steps:
  reserve:
    service: inventory
    request: { method: POST, path: / }
    complete_within: 30s
    heartbeat_within: 10s
    max_calls: 7
    recovery: { at_once: 1, extended_wait: 1m, last: 4 }
    undo: { method: DELETE, path: "/${output.id}" }
    undo_within: 1m 30s
    undo_recovery: { last: 9 }
  charge:
    after: reserve
    when: "true"
    service: payments
    request: { method: POST, path: /, body: "${step.callback}" }
    callback: { within: 2h, accepted: [202, 203] }
    undo: { method: DELETE, path: / }
    undo_when_unknown: true
    idempotent: false
    on_failure: error
  poll:
    after: charge
    service: payments
    request: { method: GET, path: / }
    repeat: { until: "output.done", every: 10s, at_most: 100 }
    nothing_to_undo: true
  lines:
    after: [charge, poll]
    each: "${input.lines}"
    at_a_time: 20
    tolerate: 2
    service: inventory
    request: { method: PUT, path: "/${index}" }
    undo: { method: DELETE, path: / }
  approve: { after: lines, wait_for_signal: approval, timeout: 2d, or_none: true }
  pause: { wait: 10m, when: "true", on_failure: continue }
  at: { after: pause, wait_until: "${input.at}" }
  one: { after: at, child: pay, on_failure: error }
  many: { after: at, child: pay, each: [1, 2], at_a_time: 3, tolerate: 1 }
  group:
    after: [approve, one]
    when: "true"
    steps:
      first: { service: inventory, request: { method: GET, path: / }, nothing_to_undo: true }
      second: { after: first, service: inventory, request: { method: GET, path: / }, nothing_to_undo: true }
      inner:
        after: many
        steps:
          third: { service: inventory, request: { method: GET, path: / }, nothing_to_undo: true }
  ship: { after: group, service: inventory, request: { method: POST, path: / }, point_of_no_return: true }
  tell: { after: ship, service: inventory, request: { method: POST, path: / }, on_failure: continue }
"#,
    );
    let books = Books::new(|_, _| reply(Value::Null));
    let mut house = House::with(&["inventory", "payments"]);
    house
        .workflows
        .insert("pay".to_owned(), std::sync::Arc::clone(steadfast_runtime::Typed::untyped(&child)));
    let ours = file.build(3, &house, std::sync::Arc::new(books)).unwrap();
    assert_same(ours.definition(), theirs.definition());
    assert_eq!(ours.result(), steadfast_runtime::Typed::untyped(&theirs).result());
    assert_eq!((file.services(), file.children()), (vec!["inventory", "payments"], vec!["pay"]));
    assert_eq!(file.version(), Some(3));
}

#[test]
fn a_digest_is_of_what_a_file_means() {
    let digest = |text: &str| good(text).digest();
    let plain = "workflow: w\nversion: 1\nsteps:\n  a: { wait: 60s }\n  b: { after: a, wait: 1h }\n";
    for same in [
        "# A comment.\nversion: 7\nworkflow: w\nsteps: { a: { wait: 1m }, b: { wait: 60m, after: [a] } }\n",
        "workflow: w\ndescription: words\nsteps: [{ name: a, wait: 60s, description: x }, { name: b, after: a, wait: 1h }]\n",
        "{\"workflow\": \"w\", \"steps\": {\"a\": {\"wait\": \"60s\"}, \"b\": {\"after\": \"a\", \"wait\": \"1h\"}}}",
    ] {
        assert_eq!(digest(same), digest(plain), "{same}");
    }
    for other in [
        "workflow: v\nsteps: { a: { wait: 60s }, b: { after: a, wait: 1h } }\n",
        "workflow: w\nsteps: { a: { wait: 61s }, b: { after: a, wait: 1h } }\n",
        "workflow: w\nsteps: { b: { after: a, wait: 1h }, a: { wait: 60s } }\n",
        "workflow: w\nsteps: { a: { wait: 60s }, b: { wait: 1h } }\n",
    ] {
        assert_ne!(digest(other), digest(plain), "{other}");
    }
    // Pinned: a stored digest must mean the same after an upgrade.
    assert_eq!(digest("workflow: w\nsteps: { a: { wait: 1s } }\n"), DIGEST);
}

const DIGEST: &str = "9e67063f30fc285a923b1472651114a5";

#[test]
fn what_the_world_does_not_have_is_told_with_its_place_and_the_nearest_name() {
    let file = good(
        "workflow: w\nsteps:\n  a: { service: inventori, request: { method: GET, path: / }, nothing_to_undo: true }\n  \
         b: { service: payments, retry: patent, request: { method: GET, path: / }, nothing_to_undo: true }\n  \
         c: { child: pai }\n",
    );
    let mut house = House::with(&["inventory", "payments"]);
    let books = Books::new(|_, _| reply(Value::Null));
    let built_pay = built(&good("workflow: pay\nsteps: { a: { wait: 1s } }"), &house, &books);
    house
        .workflows
        .insert("pay".to_owned(), std::sync::Arc::clone(steadfast_runtime::Typed::untyped(&built_pay)));
    let told = file.build(1, &house, std::sync::Arc::new(books.clone())).unwrap_err().to_string();
    assert_eq!(
        told,
        "flow.yaml:3:17: steps.a.service: there is no service `inventori`: did you mean `inventory`? (SF511)\n\
         flow.yaml:4:34: steps.b.retry: there is no retry policy `patent`: did you mean `patient`? (SF513)\n\
         flow.yaml:5:15: steps.c.child: there is no workflow `pai`: did you mean `pay`? (SF512)"
    );
    let nothing = file.build(1, &House::default(), std::sync::Arc::new(books)).unwrap_err().to_string();
    assert!(nothing.contains("there is no service `inventori`: name it in the configuration"), "{nothing}");
    assert!(yaml("workflow: w").is_err());
}
