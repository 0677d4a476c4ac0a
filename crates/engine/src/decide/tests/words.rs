//! What is told of a task.

use super::*;

fn words(run: &Run) -> String {
    run.task.in_words(&run.definition, run.now)
}

#[test]
fn a_task_says_what_it_waits_for() {
    let mut run = Run::new(workflow([step("a"), step("b"), step("c"), step("d")]));
    assert_eq!(
        Task::new(&run.definition, run.now).in_words(&run.definition, run.now),
        "nobody has begun with it yet"
    );
    run.start("a");
    run.start("b");
    run.fail("b", Effect::None, Some(run.now + s(7)));
    for (block, until, told) in [
        (Block::Breaker, Some(9), "it waits for circuit `service`; asked again in 9 s"),
        (Block::Limit, None, "its service has no room; it goes on when that changes"),
        (Block::NoHandler, Some(2), "nobody here knows how to carry it out; asked again in 2 s"),
        (
            Block::Suspect,
            Some(2),
            "the process died under it twice, and under another that runs now: they run apart; asked again in 2 s",
        ),
    ] {
        let until = until.map(|time| run.now + s(time));
        let mut run = run.clone();
        run.event(&Event::Refused { step: run.id("c"), block, until });
        let expected = format!(
            "`a`: an attempt runs, for 10 s at most; `b`: the next attempt is in 7 s; the last attempt failed: broken; \
             `c`: {told}; `d`: it waits for a place at its service"
        );
        assert_eq!(words(&run), expected);
    }
    let mut run = Run::new(workflow([step("a")]));
    run.run("a");
    assert_eq!(words(&run), "it is done");
}

#[test]
fn a_task_that_waits_by_its_definition_says_for_what_since_when_until_when_and_what_would_change_it() {
    let poll = Step::new("poll", "service")
        .nothing_to_undo()
        .repeat(Repeat { every: s(20), at_most: Some(5) })
        .heartbeat_within(s(4));
    let mut run = Run::new(workflow([
        Step::wait_for("rest", s(60)),
        Step::signal("ok", "approval"),
        Step::signal("yes", "consent").timeout(s(30)),
        Step::signal("maybe", "hint").timeout(s(30)).or_none(),
        poll,
    ]));
    run.start("poll");
    run.pass(s(10));
    let rest = "`rest`: it waits for a time: for 10 s so far, and for 50 s more; only a cancel or the task's deadline ends that sooner";
    let signals = "`ok`: it waits for signal `approval`: for 10 s so far, without a timeout; send the signal, or cancel; \
        `yes`: it waits for signal `consent`: for 10 s so far, and for 20 s more, then it fails; send the signal; \
        `maybe`: it waits for signal `hint`: for 10 s so far, and for 20 s more, then it goes on without it; send the signal";
    let told = |poll: &str| format!("{rest}; {signals}; `poll`: {poll}");
    run.now = Time::from_millis(1_000 + 9_999);
    run.task.steps[4].complete_by = Some(run.now + s(10));
    let heard = "and is given up when it is not heard of for 4 s";
    run.now = Time::from_millis(11_000);
    let runs = |left: u64| format!("an attempt runs, for {left} s at most, {heard}");
    assert_eq!(words(&run), told(&runs(9)));
    let answer = run.answer("poll", Answer::NotYet);
    run.event(&answer);
    assert_eq!(words(&run), told("it was not done after round 1 of 5; the next one is in 20 s"));
    run.pass(s(20));
    run.event(&Event::Due { step: run.id("poll") });
    run.start("poll");
    assert!(words(&run).ends_with(&format!("`poll`: round 2: {}", runs(60))), "{}", words(&run));
}

#[test]
fn a_task_says_why_it_has_not_completed() {
    let silent = Recovery { at_once: 0, extended_wait: s(1), last: 1 };
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"]).recovery(silent)]));
    run.run("a");
    run.hang("b");
    let silence = "no-answer: it did not answer by its complete-by";
    let unsafe_undo = "nobody knows whether `b` happened, and to undo what did not happen is not safe there";
    assert_eq!(words(&run), format!("step `b` failed: {silence}; {unsafe_undo}"));

    let mut run = Run::new(workflow([step("a"), step("b").after(["a"])]));
    run.run("a");
    run.event(&run.cancel());
    assert_eq!(
        words(&run),
        "cancelled by ann: wrong order; undo of `a`: it waits for a place at its service"
    );
    run.start("a");
    run.fail("a", Effect::None, None);
    assert!(words(&run).ends_with("; `a` could not be undone: broken"), "{}", words(&run));

    let mut run = Run::new(workflow([step("a").not_idempotent()]));
    run.start("a");
    run.fail("a", Effect::Possible, None);
    assert_eq!(words(&run), "nobody knows whether step `a` happened: broken");

    let mut run =
        Run::new(workflow([step("a").recovery(Recovery { at_once: 8, extended_wait: s(1), last: 9 })]));
    for _ in 0..3 {
        let attempt = run.start("a").attempt;
        run.event(&Event::OwnerDied { step: run.id("a"), attempt });
    }
    assert!(words(&run).starts_with("the process died three times while step `a` ran: it may be the killer"));
}
