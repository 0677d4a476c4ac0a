//! Workflows of files over services that keep books, by a real engine in virtual time.

use serde_json::{Value, json};
use steadfast::resilience::clock::Clock;
use steadfast::{CallbackSays, CalledBack, Outcome, Workflow};
use steadfast_flow::Reply;
use steadfast_runtime::Fault;

use crate::good;
use crate::world::{Books, House, built, engine, lost, refuse, reply, run, s};

const ORDER: &str = r#"
workflow: place-order
complete_within: 10m
returns: ship
steps:
  reserve:
    service: inventory
    request:
      method: POST
      path: /reservations
      query: { express: "${input.express}", page: "${input.page}", tag: ["a", "${input.sku}"] }
      headers: { X-Tenant: "tenant ${input.tenant}", Authorization: "Bearer secret://inventory-token" }
      body: { sku: "${input.sku}", quantity: "${input.quantity}", note: "for ${input.tenant}", fixed: [1, true, null] }
      expect: [200, 201]
    output: "${response.body.reservation}"
    undo: { method: DELETE, path: "/reservations/${output.id}/of/${input.sku}" }
  charge:
    after: reserve
    when: "input.total > 0"
    service: payments
    request: { method: POST, path: /charges, body: { amount: "${input.total}", reservation: "${steps.reserve.output.id}" } }
    undo: { method: POST, path: /refunds, body: { key: "${step.key}" } }
    undo_when_unknown: true
  ship:
    after: [reserve, charge]
    service: shipping
    request: { method: POST, path: /shipments, body: { paid: "${has(steps.charge.output)}", task: "${task.id}" } }
    output: { id: "${response.body.id}", status: "${response.status}", etag: "${response.headers.etag}", was: "${input.sku}" }
    nothing_to_undo: true
"#;

fn order() -> Value {
    json!({"sku": "a/b", "quantity": 2, "total": 12.5, "tenant": "t1", "express": true, "page": null})
}

fn house() -> House {
    House::with(&["inventory", "payments", "shipping"])
}

/// All services do what they are asked.
fn willing() -> Books {
    Books::new(|call, _| match &*call.operation {
        "reserve" => reply(json!({"reservation": {"id": "r 1"}})),
        _ => reply(json!({"id": 9})),
    })
}

#[tokio::test(start_paused = true)]
async fn an_order_completes_and_gives_back_what_its_last_step_gives() {
    let books = willing();
    let outcome = run(ORDER, &house(), &books, order()).await;
    assert_eq!(outcome, Outcome::Completed(json!({"id": 9, "status": 200, "etag": "v1", "was": "a/b"})));
    let calls = books.calls();
    assert_eq!(
        books.asked()[..2],
        [
            r#"POST /reservations {"fixed":[1,true,null],"note":"for t1","quantity":2,"sku":"a/b"}"#,
            r#"POST /charges {"amount":12.5,"reservation":"r 1"}"#,
        ]
    );
    let query: Vec<_> = calls[0].query.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(query, ["express=true", "tag=a", "tag=a/b"]);
    let headers: Vec<_> = calls[0].headers.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    assert_eq!(headers, ["X-Tenant: tenant t1", "Authorization: Bearer secret://inventory-token"]);
    assert!(calls[0].expect.includes(201) && !calls[0].expect.includes(204));
    let body: Value = serde_json::from_slice(calls[2].body.as_ref().unwrap()).unwrap();
    assert_eq!(body, json!({"paid": true, "task": calls[2].task.to_string()}));
    assert_eq!(
        (&*calls[2].service, &*calls[2].step, calls[2].undo, calls[2].number),
        ("shipping", "ship", false, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_step_whose_condition_does_not_hold_is_skipped() {
    let books = willing();
    let free = json!({"total": 0, "sku": "x", "quantity": 1, "tenant": "t", "express": false, "page": 3});
    let Outcome::Completed(_) = run(ORDER, &house(), &books, free).await else {
        panic!("it has not completed")
    };
    assert!(books.asked()[1].contains(r#""paid":false"#), "{:?}", books.asked());
}

#[tokio::test(start_paused = true)]
async fn what_was_done_is_undone_by_output_and_by_key() {
    let books = Books::new(|call, _| match &*call.operation {
        "reserve" => reply(json!({"reservation": {"id": "r 1"}})),
        "ship" => refuse(),
        _ => reply(json!({})),
    });
    let outcome = run(ORDER, &house(), &books, order()).await;
    assert!(matches!(outcome, Outcome::Undone(_)), "{outcome:?}");
    let calls = books.calls();
    let charge = calls.iter().find(|call| &*call.operation == "charge").unwrap();
    let asked = books.asked();
    assert_eq!(
        asked[asked.len() - 2..],
        [
            format!(r#"POST /refunds {{"key":"{}"}}"#, charge.key),
            "DELETE /reservations/r%201/of/a%2Fb".to_owned()
        ]
    );
    let undo = calls.last().unwrap();
    assert_eq!((&*undo.operation, undo.undo), ("reserve.undo", true));
    assert_ne!(undo.key, calls[0].key, "the undo is a request of its own");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_is_undone_where_the_undo_is_safe() {
    let books = Books::new(|call, _| match &*call.operation {
        "reserve" => reply(json!({"reservation": {"id": 1}})),
        "charge" => lost(),
        _ => reply(json!({})),
    });
    let outcome = run(ORDER, &house(), &books, order()).await;
    assert!(matches!(outcome, Outcome::Undone(_)), "{outcome:?}");
    let charges = books.calls().into_iter().filter(|call| &*call.operation == "charge");
    let keys: Vec<_> = charges.map(|call| call.key).collect();
    assert!(keys.len() > 1 && keys.iter().all(|key| *key == keys[0]), "each try has the same key");
    assert!(books.asked().iter().any(|asked| asked.starts_with("POST /refunds")));
}

#[tokio::test(start_paused = true)]
async fn an_expression_that_fails_ends_the_step_before_anything_is_called() {
    let books = willing();
    let outcome = run(ORDER, &house(), &books, json!({"sku": 1})).await;
    let Outcome::Undone(reason) = outcome else { panic!("{outcome:?}") };
    let words = reason.to_string();
    assert!(
        words.contains(
            "steps.reserve.request.body.quantity (flow.yaml:13:46): `input.quantity`: there is no `quantity`"
        ),
        "{words}"
    );
    assert!(words.contains("SF517"), "{words}");
    assert_eq!(books.asked(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn an_output_that_cannot_be_made_is_no_proof_that_nothing_happened() {
    let text = r#"
workflow: w
steps:
  a:
    service: inventory
    request: { method: POST, path: /a }
    output: "${response.body.missing}"
    undo: { method: POST, path: "/undo/${step.key}" }
    undo_when_unknown: true
"#;
    let books = Books::new(|_, _| reply(json!({"id": 1})));
    let outcome = run(text, &house(), &books, json!({})).await;
    let Outcome::Undone(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.to_string().contains("`response.body.missing`: there is no `missing`"), "{reason}");
    let calls = books.calls();
    assert_eq!(calls.len(), 2, "called once, and undone: {:?}", books.asked());
    assert_eq!(calls[1].path, format!("/undo/{}", calls[0].key));
    let left = run(&text.replace("    undo_when_unknown: true\n", ""), &house(), &books, json!({})).await;
    assert!(matches!(left, Outcome::Failed(_)), "without a safe undo an operator decides: {left:?}");
}

#[tokio::test(start_paused = true)]
async fn a_value_cannot_lead_a_request_elsewhere() {
    let text = r#"
workflow: w
steps:
  a:
    service: inventory
    request: { method: GET, path: "/things/${input.id}/${input.id}x", headers: { X-Id: "${input.id}" }, body: "${input.body}" }
    nothing_to_undo: true
"#;
    for (id, wrong) in [
        (json!("../../admin"), None),
        (json!("a?b#c"), None),
        (json!("ü%2e"), None),
        (json!(".."), Some("a value makes `..` of a part of the path, which leads elsewhere")),
        (json!("."), Some("leads elsewhere")),
        (json!(""), Some("it is empty")),
        (json!("a\r\nX-Admin: 1"), Some("it has a line break or another control character in it")),
        (json!(["a"]), Some("it is a list, and cannot be put into a text")),
        (json!(null), Some("it is nothing (null), and cannot be put into a text")),
    ] {
        let books = Books::new(|_, _| reply(json!({})));
        let outcome = run(text, &house(), &books, json!({"id": id, "body": 1})).await;
        match wrong {
            None => {
                let path = &books.calls()[0].path;
                assert_eq!(path.matches('/').count(), 3, "{path}");
                assert!(!path.contains(['?', '#', '\\', ' ']) && path.is_ascii(), "{path}");
            }
            Some(wrong) => {
                let Outcome::Undone(reason) = &outcome else { panic!("{id}: {outcome:?}") };
                assert!(reason.to_string().contains(wrong), "{id}: {reason}");
                assert_eq!(books.asked(), Vec::<String>::new(), "{id}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_cannot_name_a_secret() {
    let text = r#"
workflow: w
steps:
  a:
    service: inventory
    request: { method: POST, path: /a, headers: { X-A: "sec${input.head}" }, body: { own: "secret://mine", it: "${input.body}" } }
    nothing_to_undo: true
"#;
    for input in [
        json!({"head": "ret://root", "body": 1}),
        json!({"head": " secret://root", "body": 1}),
        json!({"head": "", "body": "secret://root"}),
        json!({"head": "", "body": {"deep": ["x SECRET://root"]}}),
        json!({"head": "", "body": {"secret://key": 1}}),
    ] {
        let books = Books::new(|_, _| reply(json!({})));
        let outcome = run(text, &house(), &books, input.clone()).await;
        let Outcome::Undone(reason) = &outcome else { panic!("{input}: {outcome:?}") };
        assert!(reason.to_string().contains("SF518"), "{reason}");
        assert_eq!(books.asked(), Vec::<String>::new(), "{input}");
    }
    let books = Books::new(|_, _| reply(json!({})));
    let fine = run(text, &house(), &books, json!({"head": "ond", "body": "a secret"})).await;
    assert!(matches!(fine, Outcome::Completed(_)), "{fine:?}");
    assert_eq!(books.asked(), [r#"POST /a {"it":"a secret","own":"secret://mine"}"#]);
}

#[tokio::test(start_paused = true)]
async fn a_step_is_made_for_each_item_and_its_results_are_a_list() {
    let text = r#"
workflow: w
returns: sum
steps:
  each:
    each: "${input.lines.filter(l, l.q > 0)}"
    at_a_time: 2
    tolerate: 1
    service: inventory
    request: { method: PUT, path: "/lines/${index}", body: "${item}" }
    output: "${response.body.q * 10}"
    undo: { method: DELETE, path: "/lines/${index}/${output}/${item.q}" }
  sum:
    after: each
    service: inventory
    request: { method: POST, path: /sum, body: "${steps.each.output}" }
    nothing_to_undo: true
"#;
    let books = Books::new(|call, _| match &*call.operation {
        "each" if call.path == "/lines/1" => refuse(),
        _ => reply(serde_json::from_slice(call.body.as_deref().unwrap_or(b"null")).unwrap()),
    });
    let input = json!({"lines": [{"q": 1}, {"q": 0}, {"q": 2}, {"q": 3}]});
    assert_eq!(run(text, &house(), &books, input.clone()).await, Outcome::Completed(json!([10, null, 30])));

    let books = Books::new(|call, _| match &*call.operation {
        "sum" => refuse(),
        _ => reply(serde_json::from_slice(call.body.as_deref().unwrap_or(b"null")).unwrap()),
    });
    assert!(matches!(run(text, &house(), &books, input).await, Outcome::Undone(_)));
    let mut undone: Vec<_> = books.asked().into_iter().filter(|asked| asked.starts_with("DELETE")).collect();
    undone.sort();
    assert_eq!(undone, ["DELETE /lines/0/10/1", "DELETE /lines/1/20/2", "DELETE /lines/2/30/3"]);
    let bad = run(text, &house(), &willing(), json!({"lines": {"a": 1}})).await;
    assert!(matches!(bad, Outcome::Undone(_)), "{bad:?}");
}

#[tokio::test(start_paused = true)]
async fn a_step_is_repeated_until_it_is_done() {
    let text = r#"
workflow: w
returns: poll
steps:
  poll:
    service: inventory
    request: { method: GET, path: "/jobs/${input.job}", headers: { X-Round: "${step.round}" } }
    repeat: { until: "output.state == 'done'", every: 10s, at_most: 5 }
    nothing_to_undo: true
"#;
    let books = Books::new(|_, before| reply(json!({"state": if before < 3 { "busy" } else { "done" }})));
    let clock = Clock::tokio();
    let began = clock.now();
    let outcome = run(text, &house(), &books, json!({"job": 5})).await;
    assert_eq!(outcome, Outcome::Completed(json!({"state": "done"})));
    assert!(clock.now().since(began) >= s(30));
    let calls = books.calls();
    let rounds: Vec<_> = calls.iter().map(|call| call.headers[0].1.as_str()).collect();
    assert_eq!(rounds, ["1", "2", "3", "4"]);
    assert_ne!(calls[0].key, calls[1].key, "each round has a key of its own");
    let never = Books::new(|_, _| reply(json!({"state": "busy"})));
    assert!(matches!(run(text, &house(), &never, json!({"job": 5})).await, Outcome::Undone(_)));
    assert_eq!(never.calls().len(), 5);
}

const LATER: &str = r#"
workflow: w
returns: assess
steps:
  assess:
    service: inventory
    request: { method: POST, path: "/assessments", headers: { X-Answer: "to ${step.callback}" }, body: { to: "${step.callback}" } }
    callback: { within: 1h }
    output: { score: "${response.body.score}", status: "${response.status}", of: "${input.id}" }
    nothing_to_undo: true
"#;

/// Takes work on, as many services do.
fn accepted() -> Result<Reply, Fault> {
    reply(json!({"queued": true})).map(|reply| Reply { status: 202, ..reply })
}

#[tokio::test(start_paused = true)]
async fn a_service_that_answers_later_gets_a_url_and_what_it_says_there_is_mapped() {
    let books = Books::new(|_, _| accepted());
    let workflow = built(&good(LATER), &house(), &books);
    let engine = engine(&workflow).await;
    let task = engine.submit(&workflow, &json!({"id": 7})).await.unwrap();
    Clock::tokio().sleep(s(1_800)).await;
    let call = books.calls().remove(0);
    let url = call.callback.unwrap();
    assert_eq!(call.headers[0].1, format!("to {url}"));
    assert_eq!(serde_json::from_slice::<Value>(&call.body.unwrap()).unwrap(), json!({"to": url}));
    let end = url.strip_prefix("http://me/").unwrap().parse().unwrap();
    let says = CallbackSays::Done(br#"{"score":9,"more":1}"#.as_slice().into());
    assert_eq!(engine.call_back(end, says).await.unwrap(), CalledBack::Taken);
    let outcome = task.outcome().await.unwrap();
    assert_eq!(outcome, Outcome::Completed(json!({"score": 9, "status": 200, "of": 7})));
    engine.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn any_other_status_that_is_expected_is_the_answer_at_once() {
    let books = Books::new(|_, _| reply(json!({"score": 3})));
    let outcome = run(LATER, &house(), &books, json!({"id": 7})).await;
    assert_eq!(outcome, Outcome::Completed(json!({"score": 3, "status": 200, "of": 7})));
    let text = LATER.replace("within: 1h", "within: 1h, accepted: 2xx");
    let outcome = run(&text, &house(), &books, json!({"id": 7})).await;
    assert!(matches!(outcome, Outcome::Undone(_)), "it said that it would call back: {outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn where_nobody_listens_nothing_is_asked_of_a_service_that_would_answer_later() {
    let books = Books::new(|_, _| accepted()).deaf();
    let Outcome::Undone(reason) = run(LATER, &house(), &books, json!({"id": 7})).await else { panic!() };
    assert!(reason.to_string().contains("no address at which services could call back"), "{reason}");
    assert!(books.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_signal_a_wait_and_a_time_come_in_their_turn() {
    let text = r#"
workflow: w
returns: told
steps:
  approve: { wait_for_signal: approval, timeout: 2d }
  maybe: { wait_for_signal: extra, timeout: 1h, or_none: true }
  later: { after: [approve, maybe], wait: 10m }
  at: { after: later, wait_until: "${input.at}" }
  told:
    after: at
    service: inventory
    request: { method: POST, path: /told, body: { by: "${steps.approve.output.by}", extra: "${steps.maybe.output}" } }
    nothing_to_undo: true
"#;
    let books = Books::new(|call, _| reply(serde_json::from_slice(call.body.as_ref().unwrap()).unwrap()));
    let workflow = built(&good(text), &house(), &books);
    let engine = engine(&workflow).await;
    let task = engine.submit(&workflow, &json!({"at": "2026-01-01T00:00:00Z"})).await.unwrap();
    Clock::tokio().sleep(s(24 * 3600)).await;
    assert_eq!(books.asked(), Vec::<String>::new());
    task.signal("approval", &json!({"by": "ann"})).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(json!({"by": "ann", "extra": null})));
    let bad = engine.submit(&workflow, &json!({"at": "soon"})).await.unwrap();
    bad.signal("approval", &json!({"by": "bob"})).await.unwrap();
    let Outcome::Undone(reason) = bad.outcome().await.unwrap() else { panic!("it had no time") };
    assert!(reason.to_string().contains("steps.at.wait_until: expected a time such as"), "{reason}");
    engine.shut_down().await.unwrap();
}

const PAY: &str = r#"
workflow: pay
returns: charge
steps:
  charge:
    service: payments
    request: { method: POST, path: /charges, body: "${input}" }
    undo: { method: POST, path: /refunds }
"#;

#[tokio::test(start_paused = true)]
async fn other_tasks_are_asked_for_one_or_many_and_undone_with_it() {
    let text = r#"
workflow: order
returns: all
steps:
  one: { child: pay, input: { amount: "${input.amounts[0]}" } }
  many: { child: pay, each: "${input.amounts}", input: { amount: "${item}", nth: "${index}" } }
  same: { child: pay, after: one }
  all:
    after: [one, many, same]
    service: shipping
    request: { method: POST, path: /all, body: { one: "${steps.one.output}", many: "${steps.many.output}" } }
    nothing_to_undo: true
"#;
    let script = |fails: bool| {
        Books::new(move |call, _| match &*call.operation {
            "all" if fails => refuse(),
            _ => reply(serde_json::from_slice(call.body.as_deref().unwrap_or(b"null")).unwrap()),
        })
    };
    let input = json!({"amounts": [5, 6]});
    for fails in [false, true] {
        let (books, mut house) = (script(fails), house());
        let pay = good(PAY).build(1, &house, std::sync::Arc::new(books.clone())).unwrap();
        house.workflows.insert("pay".to_owned(), std::sync::Arc::new(pay));
        let outcome = run(text, &house, &books, input.clone()).await;
        let refunds = books.asked().iter().filter(|asked| asked.starts_with("POST /refunds")).count();
        match fails {
            false => {
                let expected =
                    json!({"one": {"amount": 5}, "many": [{"amount": 5, "nth": 0}, {"amount": 6, "nth": 1}]});
                assert_eq!((outcome, refunds), (Outcome::Completed(expected), 0));
                assert!(
                    books.asked().contains(&r#"POST /charges {"amounts":[5,6]}"#.to_owned()),
                    "{:?}",
                    books.asked()
                );
            }
            true => {
                assert!(matches!(outcome, Outcome::Undone(_)), "{outcome:?}");
                assert_eq!(refunds, 4);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_is_made_or_left_out_as_a_whole() {
    let text = r#"
workflow: trip
steps:
  pay: { service: payments, request: { method: POST, path: /pay }, nothing_to_undo: true }
  travel:
    after: pay
    when: "steps.pay.output.ok && input.far"
    steps:
      flight: { service: shipping, request: { method: POST, path: /flight }, nothing_to_undo: true }
      hotel: { after: flight, when: "input.nights > 0", service: shipping, request: { method: POST, path: /hotel }, nothing_to_undo: true }
  tell: { after: [travel, pay], service: shipping, request: { method: POST, path: /tell }, nothing_to_undo: true }
"#;
    for (far, nights, expected) in [
        (true, 2, vec!["POST /pay", "POST /flight", "POST /hotel", "POST /tell"]),
        (true, 0, vec!["POST /pay", "POST /flight", "POST /tell"]),
        (false, 2, vec!["POST /pay", "POST /tell"]),
    ] {
        let books = Books::new(|_, _| reply(json!({"ok": true})));
        let outcome = run(text, &house(), &books, json!({"far": far, "nights": nights})).await;
        assert!(matches!(outcome, Outcome::Completed(_)), "{outcome:?}");
        assert_eq!(books.asked(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_policy_of_its_own_is_used_for_the_step_that_names_it() {
    let text = |retry: &str| {
        format!(
            "workflow: w\nsteps:\n  a: {{ service: inventory, {retry}request: {{ method: GET, path: /a }}, nothing_to_undo: true }}\n"
        )
    };
    for (retry, fails, completes) in [("", 3, true), ("", 4, false), ("retry: patient, ", 9, true)] {
        let books = Books::new(move |_, before| if before < fails { lost() } else { reply(json!({})) });
        let outcome = run(&text(retry), &house(), &books, json!({})).await;
        assert_eq!(matches!(outcome, Outcome::Completed(_)), completes, "{retry} {fails}: {outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_input_is_held_against_the_schema() {
    let file = good(
        "workflow: w\ninput: { schema: { type: object, required: [id], properties: { id: { type: string, pattern: '^[a-z]+$' } } } }\n\
         steps:\n  a: { wait: 1s }\n",
    );
    assert!(file.check_input(&json!({"id": "a"})).is_ok());
    let told = file.check_input(&json!({"id": "A1"})).unwrap_err().to_string();
    assert!(told.starts_with("flow.yaml: input.id: ") && told.ends_with("(SF516)"), "{told}");
    assert!(file.check_input(&json!([])).is_err());
    let workflow: Workflow<Value, Value> = built(&file, &house(), &willing());
    assert_eq!(workflow.name(), "w");
}
