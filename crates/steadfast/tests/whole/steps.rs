//! What steps may name and read: others of their own workflow, before them.

use steadfast::resilience::clock::Clock;
use steadfast::resilience::{Pipeline, Retry};
use steadfast::{Code, Engine, Failure, Outcome, Service, StepRef, Workflow, WorkflowBuilder};

fn step<Out>(flow: &mut WorkflowBuilder<u32>, name: &'static str, output: Out) -> StepRef<Out>
where
    Out: serde::Serialize + serde::de::DeserializeOwned + Clone + Send + Sync + 'static,
{
    let run = move |_| std::future::ready(Ok::<_, Failure>(output.clone()));
    flow.step(name, &Service::standard("svc"), run).nothing_to_undo().add()
}

async fn outcome<Out>(workflow: &Workflow<u32, Out>) -> Outcome<Out>
where
    Out: serde::de::DeserializeOwned + Send,
{
    let engine = Engine::builder("memory:").workflow(workflow).start().await.unwrap();
    engine.submit(workflow, &1).await.unwrap().outcome().await.unwrap()
}

#[tokio::test]
async fn a_step_comes_after_steps_of_any_types_in_any_form() {
    let service = Service::standard("svc");
    let mut flow = Workflow::<u32>::builder("forms");
    let (flight, hotel, car) = (
        step(&mut flow, "flight", 7_u32),
        step(&mut flow, "hotel", "sea".to_owned()),
        step(&mut flow, "car", ()),
    );
    let done = |_| async { Ok::<_, Failure>(()) };
    let forms = [
        flow.step("one", &service, done).after(flight).nothing_to_undo().add(),
        flow.step("named", &service, done).after("hotel").nothing_to_undo().add(),
        flow.step("listed", &service, done).after(vec![car]).nothing_to_undo().add(),
        flow.step("maybe", &service, done).after(None::<&str>).nothing_to_undo().add(),
        flow.step("nested", &service, done).after((["flight", "hotel"], car)).nothing_to_undo().add(),
    ];
    let all =
        flow.step("all", &service, move |cx| async move {
            Ok::<_, Failure>((cx.output(flight)?, cx.output(hotel)?))
        })
        .after((flight, hotel, car, &forms[..]))
        .nothing_to_undo()
        .add();
    let workflow = flow.returns(all).unwrap();
    let before = |name: &str| {
        let definition = workflow.definition();
        let before = definition.before(definition.step_named(name).unwrap());
        before.iter().map(|id| definition.step(*id).name()).collect::<Vec<_>>()
    };
    let listed = ["one", "named", "listed", "maybe", "nested", "all"].map(before);
    let all = ["flight", "hotel", "car", "one", "named", "listed", "maybe", "nested"];
    assert_eq!(
        listed,
        [&["flight"][..], &["hotel"], &["car"], &[], &["flight", "hotel", "car"], &all].map(<[_]>::to_vec)
    );
    assert_eq!(outcome(&workflow).await, Outcome::Completed((7, "sea".to_owned())));
}

#[test]
fn a_step_of_another_workflow_is_refused_when_the_workflow_is_built() {
    let mut other = Workflow::<u32>::builder("other");
    let theirs = step(&mut other, "theirs", 1_u32);
    let mut flow = Workflow::<u32>::builder("own");
    step(&mut flow, "theirs", 2_u32); // The same name does not make it the same step.
    let run = |_| async { Ok::<_, Failure>(()) };
    flow.step("own", &Service::standard("svc"), run).after((theirs, "nobody")).nothing_to_undo().add();
    let error = flow.returns(theirs).unwrap_err();
    assert_eq!(error.code(), Code::BadWorkflow);
    let words = error.to_string();
    for expected in [
        "workflow `own` makes no sense:\n  - ",
        "\n  - step `own`: it comes after `theirs`, which is a step of another workflow: name one of this workflow",
        "\n  - workflow: it returns the output of `theirs`, which is a step of another workflow",
        "`nobody`",
    ] {
        assert!(words.contains(expected), "{expected}: {words}");
    }
}

#[tokio::test]
async fn an_output_that_a_step_may_not_read_is_told_in_words() {
    let mut other = Workflow::<u32>::builder("other");
    let theirs = step(&mut other, "theirs", 1_u32);
    let failed_with = async |read: fn(StepRef<u32>, StepRef<u32>) -> StepRef<u32>| {
        let mut flow = Workflow::<u32>::builder("own");
        let beside = step(&mut flow, "beside", 2_u32);
        let read = read(theirs, beside);
        flow.step("reads", &Service::standard("svc"), move |cx| async move { cx.output(read) })
            .nothing_to_undo()
            .add();
        match outcome(&flow.build().unwrap()).await {
            Outcome::Undone(why) => why.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        failed_with(|theirs, _| theirs).await,
        "step `reads` failed: other-workflow: `reads` reads the output of `theirs`, which is a step of another \
         workflow: read that of a step of this one"
    );
    assert_eq!(
        failed_with(|_, beside| beside).await,
        "step `reads` failed: missing-output: `reads` reads the output of `beside`, which does not come before it: \
         add `.after(beside)` to `reads`"
    );
}

#[tokio::test(start_paused = true)]
async fn a_try_has_a_number_within_its_attempt() {
    let pipeline = Pipeline::builder("svc").clock(Clock::tokio()).retry(Retry::standard()).build().unwrap();
    let mut flow = Workflow::<u32>::builder("tries");
    let step = flow
        .step("a", &Service::new(pipeline), |cx| async move {
            match cx.try_number() {
                3 => Ok((cx.attempt(), cx.try_number())),
                _ => Err(Failure::transient("flaky", "not yet")),
            }
        })
        .nothing_to_undo()
        .add();
    let workflow = flow.returns(step).unwrap();
    let engine = Engine::builder("memory:").clock(Clock::tokio()).workflow(&workflow).start().await.unwrap();
    let ended = engine.submit(&workflow, &1).await.unwrap().outcome().await.unwrap();
    assert_eq!(ended, Outcome::Completed((1, 3)));
}

#[tokio::test]
async fn what_json_cannot_say_fails_who_reads_it() {
    let service = Service::standard("svc");
    let mut flow = Workflow::<u32>::builder("nan");
    let ratio = step(&mut flow, "ratio", f64::NAN);
    flow.step("reads", &service, move |cx| async move { cx.output(ratio) })
        .after(ratio)
        .nothing_to_undo()
        .add();
    match outcome(&flow.build().unwrap()).await {
        Outcome::Undone(why) => assert!(
            why.to_string()
                .starts_with("step `reads` failed: bad-payload: the output of `ratio` does not fit its type"),
            "{why}"
        ),
        other => panic!("{other:?}"),
    }
}

/// By a key that nobody had, an undo would undo nothing and say that it has.
#[tokio::test]
async fn the_key_of_a_step_that_the_workflow_does_not_have_is_a_failure() {
    let mut flow = Workflow::<u32>::builder("typo");
    let run =
        |cx: steadfast::Context<u32>| async move { Ok::<_, Failure>(cx.step_key("reserv") == cx.key()) };
    let step = flow.step("reserve", &Service::standard("svc"), run).nothing_to_undo().add();
    let Outcome::Undone(why) = outcome(&flow.returns(step).unwrap()).await else { panic!("it went through") };
    let words = "`reserve` asks for the key of step `reserv`, which its workflow does not have";
    assert!(why.to_string().contains(words), "{why}");
}
