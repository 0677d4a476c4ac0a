//! Labels: given with the submission and by operators, found by anybody.

use steadfast::{Code, Engine, Failure, MAX_LABELS, Service, Workflow, verify_file};

fn flow() -> Workflow<u32, u32> {
    let mut flow = Workflow::<u32>::builder("pay");
    let charge =
        flow.step("charge", &Service::standard("bank"), |cx| async move { Ok::<_, Failure>(cx.input) });
    let charge = charge.nothing_to_undo().add();
    flow.returns(charge).unwrap()
}

async fn found(engine: &Engine, labels: &[(&str, &str)]) -> Vec<String> {
    let tasks = labels.iter().fold(engine.tasks(), |tasks, (name, value)| tasks.label(name, value));
    tasks.await.unwrap().tasks.into_iter().map(|task| task.key.unwrap().to_string()).collect()
}

#[tokio::test]
async fn tasks_are_found_by_labels_that_come_with_them_or_from_operators() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pay.db");
    for address in ["memory:".to_owned(), format!("sqlite:{}", path.display())] {
        let flow = flow();
        let engine = Engine::builder(&address).workflow(&flow).start().await.unwrap();
        let submit = |key: &'static str| engine.submit(&flow, &7).key(key);
        let one = submit("one").label("team", "shop").label("case", "7").await.unwrap();
        let two = submit("two").label("team", "shop").await.unwrap();
        submit("three").await.unwrap();
        // Under its key it is found, and keeps what it has.
        submit("two").label("team", "other").await.unwrap();
        assert_eq!(found(&engine, &[("team", "shop")]).await, ["two", "one"]);
        assert_eq!(found(&engine, &[("team", "shop"), ("case", "7")]).await, ["one"]);
        two.outcome().await.unwrap();
        let ann = engine.operator("ann");
        // Also of one that has ended.
        ann.label(two.id(), "case", "8").because("it is hers").await.unwrap();
        ann.unlabel(one.id(), "case").because("it is closed").await.unwrap();
        ann.label(one.id(), "team", "bank").because("moved").await.unwrap();
        assert_eq!(found(&engine, &[("case", "8")]).await, ["two"]);
        assert!(found(&engine, &[("case", "7")]).await.is_empty());
        let page = engine.tasks().label("team", "bank").await.unwrap();
        assert_eq!(page.tasks[0].labels.iter().collect::<Vec<_>>(), [("team", "bank")]);
        let audits = ann.audits(Some(two.id()), None, 9).await.unwrap();
        let detail: String = String::from_utf8_lossy(&audits[0].audit.detail).into_owned();
        assert!(&*audits[0].audit.action == "label" && detail.contains("case=8"), "{audits:?}");
        // It goes with the task into another store.
        let mut lines = Vec::new();
        engine.export(&mut lines, engine.tasks()).await.unwrap();
        let other = Engine::builder("memory:").workflow(&flow).start().await.unwrap();
        other.import(&lines[..]).await.unwrap();
        assert_eq!(found(&other, &[("case", "8")]).await, ["two"]);
        other.shut_down().await.unwrap();
        engine.shut_down().await.unwrap();
    }
    let report = verify_file(&path).unwrap();
    assert!(report.is_sound(), "{report}");
}

#[tokio::test]
async fn labels_that_make_no_sense_or_are_too_many_are_refused() {
    let flow = flow();
    let engine = Engine::builder("memory:").workflow(&flow).start().await.unwrap();
    let refused = engine.submit(&flow, &7).label("a b", "x").await.unwrap_err();
    assert_eq!(refused.code(), Code::BadPayload);
    assert!(refused.to_string().contains("`a b` is no name of a label"), "{refused}");
    let many =
        (0..=MAX_LABELS).fold(engine.submit(&flow, &7), |new, number| new.label(&number.to_string(), "x"));
    let refused = many.await.unwrap_err();
    assert!(refused.to_string().contains("it has 21 labels, at most 20 are allowed"), "{refused}");
    assert!(engine.tasks().await.unwrap().tasks.is_empty(), "nothing was stored");

    let full =
        (0..MAX_LABELS).fold(engine.submit(&flow, &7), |new, number| new.label(&number.to_string(), "x"));
    let task = full.await.unwrap();
    let ann = engine.operator("ann");
    let refused = ann.label(task.id(), "more", "x").because("no room").await.unwrap_err();
    assert!(refused.to_string().contains("it would have 21 labels"), "{refused}");
    ann.label(task.id(), "7", "y").because("another value").await.unwrap();
    let refused = ann.label(task.id(), "7", "a\nb").because("two lines").await.unwrap_err();
    assert!(refused.to_string().contains("the value of label `7`"), "{refused}");
    engine.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_that_are_given_at_the_same_time_are_all_there() {
    let folder = tempfile::tempdir().unwrap();
    for address in ["memory:".to_owned(), format!("sqlite:{}", folder.path().join("pay.db").display())] {
        let flow = flow();
        let engine = Engine::builder(&address).workflow(&flow).start().await.unwrap();
        let task = engine.submit(&flow, &7).label("gone", "x").await.unwrap();
        task.outcome().await.unwrap();
        let mut asking = tokio::task::JoinSet::new();
        for number in 0..MAX_LABELS {
            let (ann, id) = (engine.operator("ann"), task.id());
            asking.spawn(async move {
                match number {
                    0 => ann.unlabel(id, "gone").because("it is over").await,
                    _ => ann.label(id, &format!("n{number}"), "y").because("all at once").await,
                }
            });
        }
        asking.join_all().await.into_iter().for_each(|done| done.unwrap());
        let found = engine.tasks().label("n7", "y").await.unwrap().tasks;
        assert_eq!(found[0].labels.count(), MAX_LABELS - 1, "{:?}", found[0].labels);
        assert_eq!(found[0].labels.get("gone"), None);
        drop(task);
        engine.shut_down().await.unwrap();
    }
}
