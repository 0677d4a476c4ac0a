//! Services that take the work on and answer later.

use super::*;

const URL: Token = Token::from_u128(7);
const NEXT: Token = Token::from_u128(8);

/// A step whose service may call back within a minute, one behind it, and one beside it.
fn flow() -> Definition {
    let assess = || step("assess").callback(s(60)).undo_when_unknown();
    workflow([assess(), step("ship").after(["assess"]), step("beside")])
}

fn taken_on() -> Run {
    let mut run = Run::new(flow());
    begin(&mut run, URL);
    let answer = run.answer("assess", Answer::Later { calls: 1 });
    run.event(&answer);
    run
}

fn begin(run: &mut Run, token: Token) -> Dispatch {
    let plan = run.event(&Event::Granted { step: run.id("assess"), token });
    plan.dispatches()[0].clone()
}

fn said(run: &Run, token: Token, said: u64, answer: Answer) -> Event {
    Event::CalledBack { step: run.id("assess"), token, said, at: run.now, answer }
}

fn done(run: &Run, token: Token) -> Event {
    said(run, token, 1, Answer::Completed)
}

fn failed(run: &Run, token: Token, number: u64, again: Option<Time>) -> Event {
    let failure = Failure { kind: Arc::from("busy"), calls: 1, effect: Effect::None, again };
    said(run, token, number, Answer::Failed(failure))
}

fn takes(run: &Run, token: Token, number: u64) -> Result<(), NotCounted> {
    run.task.takes_callback(&run.definition, run.id("assess"), (token, number), run.now)
}

#[test]
fn a_service_takes_the_work_on_and_its_callback_is_the_answer() {
    let mut run = taken_on();
    let assess = run.id("assess");
    assert_eq!(run.state("assess"), StepState::Running);
    assert_eq!(run.task.step(assess).complete_by, Some(run.now + s(60)), "from now on it has its own time");
    run.pass(s(59));
    let event = done(&run, URL);
    let plan = run.event(&event);
    assert_eq!((plan.keeps(), run.wants(&plan)), (Some(assess), vec!["ship"]));
    assert_eq!(run.state("assess"), StepState::Completed);
}

#[test]
fn a_callback_that_comes_before_the_agent_has_answered_counts_and_the_agent_is_late() {
    let mut run = Run::new(flow());
    begin(&mut run, URL);
    let agents = run.answer("assess", Answer::Later { calls: 1 });
    let event = done(&run, URL);
    run.event(&event);
    assert_eq!(run.state("assess"), StepState::Completed);
    assert_eq!(run.ignored(&agents), Ignored::Late);
}

#[test]
fn a_url_is_good_for_one_answer() {
    let mut run = taken_on();
    let event = done(&run, URL);
    run.event(&event);
    assert_eq!(run.ignored(&event), Ignored::Late);
    let told = [takes(&run, URL, 1), takes(&run, URL, 2), takes(&run, NEXT, 1)];
    assert_eq!(told, [Err(NotCounted::Doubled), Err(NotCounted::Used), Err(NotCounted::Unknown)]);
}

#[test]
fn what_nobody_was_given_counts_nowhere() {
    let mut run = taken_on();
    assert_eq!(takes(&run, NEXT, 1), Err(NotCounted::Unknown));
    let event = done(&run, NEXT);
    assert_eq!(run.ignored(&event), Ignored::Late);
    let elsewhere =
        |step| Event::CalledBack { step, token: URL, said: 1, at: run.now, answer: Answer::Completed };
    for step in [run.id("ship"), run.id("beside")] {
        assert_eq!(run.clone().ignored(&elsewhere(step)), Ignored::Late, "{step}");
    }
    let beyond = run.task.takes_callback(&run.definition, StepId::of_item(3), (URL, 1), run.now);
    assert_eq!(beyond, Err(NotCounted::Unknown));
}

#[test]
fn without_a_callback_in_time_the_attempt_has_not_answered() {
    let mut run = taken_on();
    run.start("beside");
    run.pass(s(60));
    assert_eq!(takes(&run, URL, 1), Err(NotCounted::Between), "what follows is not decided yet");
    let event = run.timed_out("assess");
    run.event(&event);
    let record = run.task.step(run.id("assess")).clone();
    assert!(record.may_have_happened && record.failures == 1 && record.calls == 1, "{record:?}");
    assert!(record.last_failure.unwrap().starts_with("no-callback"), "{:?}", run.task);
    assert_eq!(takes(&run, URL, 1), Err(NotCounted::Between));
    let event = done(&run, URL);
    assert_eq!(run.ignored(&event), Ignored::Late, "the attempt was given up");
}

#[test]
fn what_came_in_time_counts_however_late_it_is_acted_on() {
    let mut run = taken_on();
    run.pass(s(59));
    let event = done(&run, URL);
    run.pass(s(600));
    run.event(&event);
    assert_eq!(run.state("assess"), StepState::Completed);

    let mut run = taken_on();
    run.pass(s(60));
    let event = done(&run, URL);
    assert_eq!(run.ignored(&event), Ignored::Late);
}

#[test]
fn attempts_under_one_key_have_one_url_until_an_answer_was_taken_there() {
    let mut run = taken_on();
    run.pass(s(60));
    let event = run.timed_out("assess");
    run.event(&event);
    begin(&mut run, NEXT);
    assert_eq!(takes(&run, NEXT, 1), Err(NotCounted::Unknown), "a service cannot tell the attempts apart");
    let event = failed(&run, URL, 1, Some(run.now + s(5)));
    run.event(&event);
    assert_eq!(run.state("assess"), StepState::Waiting);
    assert_eq!(takes(&run, URL, 1), Err(NotCounted::Doubled));
    run.pass(s(5));
    let due = Event::Due { step: run.id("assess") };
    run.event(&due);
    begin(&mut run, NEXT);
    let told = [takes(&run, URL, 1), takes(&run, URL, 2), takes(&run, NEXT, 1)];
    assert_eq!(told, [Err(NotCounted::Doubled), Err(NotCounted::Used), Ok(())]);
    assert_eq!(run.ignored(&event), Ignored::Late, "a failure that is told twice fails one attempt");
    let event = done(&run, NEXT);
    run.event(&event);
    assert_eq!(run.state("assess"), StepState::Completed);
}

#[test]
fn a_failure_for_good_is_one() {
    let mut run = taken_on();
    let event = failed(&run, URL, 1, None);
    run.event(&event);
    assert_eq!(run.cause(), Some(&Cause::StepFailed(run.id("assess"))));
    assert_eq!(run.task.state(), TaskState::Undone, "it did not happen, and nothing else did");
    assert_eq!(takes(&run, URL, 1), Err(NotCounted::Doubled), "also of a task at rest");
}

#[test]
fn no_process_has_to_live_for_what_a_service_has_taken_on() {
    let mut run = taken_on();
    let step = run.id("assess");
    for event in [Event::OwnerDied { step, attempt: 1 }, Event::CutOff { step, attempt: 1 }] {
        assert_eq!(run.ignored(&event), Ignored::NotNow);
    }
    run.event(&Event::Claimed);
    let event = done(&run, URL);
    run.event(&event);
    assert_eq!(run.state("assess"), StepState::Completed);

    let mut run = Run::new(flow());
    begin(&mut run, URL);
    run.event(&Event::OwnerDied { step, attempt: 1 });
    assert_eq!(run.state("assess"), StepState::Ready, "nobody has said that the service took it on");
    begin(&mut run, NEXT);
    assert_eq!(takes(&run, URL, 1), Ok(()), "and if it did, it has this URL");
}

#[test]
fn the_end_of_a_task_waits_for_what_a_service_has_taken_on() {
    let mut run = taken_on();
    let cancel = run.cancel();
    run.event(&cancel);
    assert_eq!((run.task.state(), run.undo_state("assess")), (TaskState::Undoing, UndoState::None));
    assert_eq!(takes(&run, URL, 1), Ok(()));
    let event = done(&run, URL);
    run.event(&event);
    assert_eq!((run.state("assess"), run.undo_state("assess")), (StepState::Undoing, UndoState::Ready));

    let mut run = taken_on();
    run.event(&cancel);
    run.pass(s(60));
    let event = run.timed_out("assess");
    run.event(&event);
    assert_eq!(run.undo_state("assess"), UndoState::Ready, "it may have happened, and its undo is safe");
    assert_eq!(takes(&run, URL, 1), Err(NotCounted::Over));
}

#[test]
fn its_time_ends_with_the_tasks() {
    let builder = Definition::builder("w").complete_within(s(30));
    let mut run = Run::new(built(builder.step(step("assess").callback(s(60)))));
    begin(&mut run, URL);
    run.pass(s(5));
    let answer = run.answer("assess", Answer::Later { calls: 3 });
    run.event(&answer);
    let record = run.task.step(run.id("assess"));
    assert_eq!((record.complete_by, record.calls), (run.task.head().deadline, 2));
    assert_eq!(run.ignored(&answer), Ignored::Late, "it says so once");
}

#[test]
fn its_time_follows_the_tasks_deadline() {
    let within = |time| Definition::builder("w").complete_within(time).step(step("assess").callback(s(60)));
    let until = |run: &Run| run.task.step(run.id("assess")).complete_by;
    let mut run = Run::new(built(within(s(30))));
    begin(&mut run, URL);
    let (begun, answer) = (run.now, run.answer("assess", Answer::Later { calls: 1 }));
    run.event(&answer);
    assert_eq!(until(&run), Some(begun + s(30)));
    run.event(&asked(Action::Deadline(Some(begun + s(45)))));
    assert_eq!(until(&run), Some(begun + s(45)), "it has more time, and so has the service");
    run.event(&asked(Action::Deadline(None)));
    assert_eq!(until(&run), Some(begun + s(60)), "no more than it may have");
    run.event(&asked(Action::Deadline(Some(begun + s(20)))));
    assert_eq!(until(&run), Some(begun + s(20)));
    run.pass(s(10));
    run.event(&asked(Action::Pause));
    assert_eq!(until(&run), Some(begun + s(60)), "the deadline stands still");
    run.pass(s(15));
    run.event(&asked(Action::Resume));
    assert_eq!(until(&run), Some(begun + s(35)), "and goes on");

    let mut run = Run::new(built(within(s(30))));
    begin(&mut run, URL);
    run.event(&asked(Action::Pause));
    let answer = run.answer("assess", Answer::Later { calls: 1 });
    run.event(&answer);
    run.event(&asked(Action::Resume));
    assert_eq!(until(&run), run.task.head().deadline, "also of what was taken on while it was paused");
}

#[test]
fn what_a_service_has_taken_on_may_be_the_point_of_no_return() {
    let retry = |did_not_happen| move |step| Action::Retry { step, edited: false, did_not_happen };
    for (did_not_happen, ends) in [(false, TaskState::Failed), (true, TaskState::Undone)] {
        let charge = Step::new("assess", "service").callback(s(60)).point_of_no_return();
        let mut run = Run::new(workflow([charge]));
        begin(&mut run, URL);
        let answer = run.answer("assess", Answer::Later { calls: 1 });
        run.event(&answer);
        assert!(!run.task.head().no_return);
        run.event(&asked(retry(did_not_happen)(run.id("assess"))));
        assert_eq!(run.task.head().no_return, !did_not_happen);
        begin(&mut run, NEXT);
        let failure = Failure { kind: Arc::from("away"), calls: 1, effect: Effect::None, again: None };
        let answer = run.answer("assess", Answer::Failed(failure));
        run.event(&answer);
        assert_eq!(run.task.state(), ends);
    }
}

#[test]
fn a_round_that_a_service_has_taken_on_is_made_again_under_its_own_key() {
    let poll = Step::new("assess", "service").nothing_to_undo().callback(s(60));
    let mut run = Run::new(workflow([poll.repeat(Repeat { every: s(0), at_most: Some(5) })]));
    begin(&mut run, URL);
    let answer = run.answer("assess", Answer::NotYet);
    run.event(&answer);
    begin(&mut run, NEXT);
    let answer = run.answer("assess", Answer::Later { calls: 1 });
    run.event(&answer);
    let step = run.id("assess");
    run.event(&asked(Action::Retry { step, edited: false, did_not_happen: false }));
    let again = begin(&mut run, Token::from_u128(9));
    assert_eq!((again.round, again.series, takes(&run, NEXT, 1)), (1, 0, Ok(())));
    let answer = run.answer("assess", Answer::Later { calls: 1 });
    run.event(&answer);
    run.event(&asked(Action::Retry { step, edited: false, did_not_happen: true }));
    let anew = begin(&mut run, Token::from_u128(9));
    assert_eq!((anew.round, anew.series, takes(&run, NEXT, 1)), (0, 1, Err(NotCounted::Over)));
}

#[test]
fn only_a_step_that_says_so_is_answered_later() {
    let mut run = Run::new(flow());
    run.start("beside");
    let later = run.answer("beside", Answer::Later { calls: 1 });
    assert_eq!(run.ignored(&later), Ignored::NotNow);
    assert_eq!(run.task.step(run.id("beside")).callback(), Callback::default());
}

#[test]
fn each_round_and_each_series_has_a_url_of_its_own() {
    let poll = Step::new("assess", "service").nothing_to_undo().callback(s(60));
    let poll = poll.repeat(Repeat { every: s(0), at_most: Some(5) });
    let mut run = Run::new(workflow([poll]));
    begin(&mut run, URL);
    let answer = run.answer("assess", Answer::NotYet);
    run.event(&answer);
    begin(&mut run, NEXT);
    assert_eq!([takes(&run, URL, 1), takes(&run, NEXT, 1)], [Err(NotCounted::Over), Ok(())]);
    let event = said(&run, NEXT, 1, Answer::NotYet);
    run.event(&event);
    assert_eq!((run.state("assess"), run.task.step(run.id("assess")).rounds()), (StepState::Ready, 2));
}

#[test]
fn nobody_has_to_wait_for_a_service_that_forgot_to_call_back() {
    let retry = |edited, did_not_happen| move |step| Action::Retry { step, edited, did_not_happen };
    let mut run = taken_on();
    let step = run.id("assess");
    assert_eq!(run.ignored(&asked(retry(true, false)(step))), Ignored::MayHaveHappened);
    run.event(&asked(retry(false, false)(step)));
    assert_eq!(run.state("assess"), StepState::Ready);
    assert!(run.task.step(step).may_have_happened);
    begin(&mut run, NEXT);
    assert_eq!(takes(&run, URL, 1), Ok(()), "the same key, and the same URL");
    let answer = run.answer("assess", Answer::Later { calls: 1 });
    run.event(&answer);
    run.event(&asked(retry(true, true)(step)));
    begin(&mut run, NEXT);
    assert_eq!([takes(&run, URL, 1), takes(&run, NEXT, 1)], [Err(NotCounted::Over), Ok(())]);

    let mut run = taken_on();
    run.event(&asked(Action::Skip { step, happened: true }));
    assert_eq!((run.state("assess"), takes(&run, URL, 1)), (StepState::Completed, Err(NotCounted::Over)));
}

#[test]
fn why_says_since_when_and_until_when_it_waits() {
    let mut run = taken_on();
    run.pass(s(10));
    let why = run.task.why(&run.definition, run.now, &Since::default());
    let held = why.held.iter().find(|held| held.name == "assess").unwrap();
    assert_eq!((&held.on, &held.change), (&On::Callback { number: 1, round: None }, &Change::Callback));
    assert_eq!((held.since, held.until), (Some(Time::from_millis(1_000)), Some(run.now + s(50))));
    assert!(
        why.to_string().contains(
            "`assess`: its service has taken it on and is to call back: it waits for 10 s so far, and for 50 s more at most"
        ),
        "{why}"
    );
}

#[test]
fn a_token_is_shown_to_nobody() {
    let run = taken_on();
    let all = format!("{:?} {:?}", run.task, done(&run, Token::from_u128(0x00DE_CADE)));
    assert!(!all.contains("decade") && !all.contains(&0x00DE_CADE.to_string()), "{all}");
}
