//! Why a task does not move: each thing that can hold it, with since when, until when, and what would change it.

use super::*;

/// In whichever state: what is open is told once, what is not is not told, and somebody or something changes it.
pub(super) fn check(definition: &Definition, task: &Task, now: Time) {
    let why = task.why(definition, now, &Since::default());
    let told = format!("{why:#?}\n{task:#?}");
    assert!(!why.to_string().is_empty(), "{told}");
    assert_eq!(
        (why.state, why.cause.as_ref()),
        (task.state(), task.head().ending.as_ref().map(|end| &end.cause))
    );
    if task.state() == TaskState::Pending {
        assert!(why.held.len() == 1 && why.held[0].step.is_none(), "{told}");
        return;
    }
    if task.state() == TaskState::Paused {
        assert!(matches!(why.held[0].on, On::Paused { .. }) && why.held[0].step.is_none(), "{told}");
        assert_eq!(why.held.len(), 1 + task.head().running as usize, "{told}");
        return;
    }
    assert!(!why.held.is_empty() || task.state().is_at_rest(), "{told}");
    let mut steps: Vec<_> = why.held.iter().map(|held| held.step.unwrap()).collect();
    steps.dedup();
    assert_eq!(steps.len(), why.held.len(), "{told}");
    let busy = |what: fn(&On) -> bool| why.held.iter().filter(|held| what(&held.on)).count();
    let runs = busy(|on| matches!(on, On::Attempt { .. } | On::Callback { .. }));
    assert_eq!(runs, task.head().running as usize, "{told}");
    let ending = task.head().ending.as_ref();
    if ending.is_none_or(|ending| ending.drained && ending.end == End::Undo) {
        let items = task.rows().filter(|(id, _)| id.item().is_some()).count();
        assert_eq!(why.held.len(), task.head().open as usize + items, "{told}");
        assert_eq!(busy(|on| matches!(on, On::Place)), task.head().ready as usize, "{told}");
    }
    // Whatever waits for others waits for some that are told of, and that do not wait for it.
    let waits = why.held.iter().filter_map(|held| match &held.on {
        On::Turn(steps) | On::Drain(steps) | On::LaterUndo(steps) => Some((held, steps)),
        _ => None,
    });
    for (held, others) in waits {
        assert!(!others.is_empty() && others.iter().all(|other| steps.contains(other)), "{told}");
        assert!(!others.contains(&held.step.unwrap()), "{told}");
    }
}

/// One write: when, and the rows that changed.
type Entry = (Time, Option<Head>, Vec<(StepId, Record)>);

/// A task under way whose history is kept.
struct Kept {
    run: Run,
    submitted_at: Time,
    history: Vec<Entry>,
}

impl Kept {
    fn new(definition: Definition) -> Self {
        let run = Run::new(definition);
        Self { submitted_at: run.now, run, history: Vec::new() }
    }

    /// Time passes, then this happens.
    fn after(&mut self, seconds: u64, event: &Event) {
        self.run.pass(s(seconds));
        let plan = self.run.event(event);
        assert_eq!(plan.ignored(), None, "{event:?}");
        self.history.push((self.run.now, plan.head().cloned(), plan.steps().to_vec()));
    }

    fn granted(&mut self, seconds: u64, name: &str) {
        let step = self.run.id(name);
        self.after(seconds, &Event::granted(step));
    }

    fn answered(&mut self, seconds: u64, name: &str, answer: Answer) {
        let event = self.run.answer(name, answer);
        self.after(seconds, &event);
    }

    fn failed(&mut self, seconds: u64, name: &str, again: Option<u64>) {
        let again = again.map(|time| self.run.now + s(seconds + time));
        let failure = Failure { kind: Arc::from("broken"), calls: 1, effect: Effect::None, again };
        self.answered(seconds, name, Answer::Failed(failure));
    }

    fn why(&self) -> Why {
        let rows = self.history.iter().map(|(at, head, rows)| (*at, head.as_ref(), &rows[..]));
        let since = Since::of(&self.run.task, self.submitted_at, rows);
        self.run.task.why(&self.run.definition, self.run.now, &since)
    }

    fn held(&self, name: &str) -> Held {
        let why = self.why();
        let all: Vec<_> = why.held.iter().filter(|held| held.name == name).collect();
        assert_eq!(all.len(), 1, "{name}: {why:#?}");
        all[0].clone()
    }

    /// What holds a step, since how many seconds after the beginning, and until when.
    fn told(&self, name: &str) -> (On, Option<u64>, Option<u64>, Change) {
        let Held { on, since, until, change, .. } = self.held(name);
        (on, since.map(after_start), until.map(after_start), change)
    }
}

fn after_start(time: Time) -> u64 {
    time.since(Time::from_millis(1_000)).as_secs()
}

fn attempt(number: u32) -> On {
    On::Attempt { number, round: None, heartbeat: None }
}

#[test]
fn steps_on_their_way_forward_say_what_holds_them() {
    let mut task = Kept::new(workflow([step("a"), step("b"), step("c").after(["a", "b"])]));
    let (a, b) = (task.run.id("a"), task.run.id("b"));
    assert_eq!(task.told("a"), (On::Place, Some(0), None, Change::Room));
    task.granted(3, "a");
    assert_eq!(task.told("a"), (attempt(1), Some(3), Some(13), Change::Answer));
    assert_eq!(task.told("b"), (On::Place, Some(0), None, Change::Room), "as it was submitted");
    assert_eq!(task.told("c"), (On::Turn(vec![a, b]), Some(0), None, Change::Steps(vec![a, b])));
    let late = task.run.task.in_words(&task.run.definition, task.run.now + s(10));
    assert!(late.starts_with("`a`: an attempt has not answered in time; "), "{late}");
    task.failed(2, "a", Some(30));
    assert_eq!(task.told("a"), (On::NextAttempt { failures: 1 }, Some(5), Some(35), Change::Time));
    assert_eq!(task.held("a").last_failure.as_deref(), Some("broken"));
    task.after(30, &Event::Due { step: a });
    task.granted(0, "a");
    task.answered(4, "a", Answer::Completed);
    assert_eq!(task.told("c"), (On::Turn(vec![b]), Some(0), None, Change::Steps(vec![b])));
    assert!(task.why().held.iter().all(|held| held.name != "a"), "it has ended");
    assert_eq!(task.why().cause, None);
}

#[test]
fn parked_steps_say_for_what_and_since_the_first_refusal() {
    let cases = [
        (Block::Breaker, On::Breaker { circuit: None }, Change::Circuit),
        (Block::Limit, On::Limit, Change::Room),
        (Block::NoHandler, On::NoHandler, Change::Program),
        (Block::Suspect, On::Suspect, Change::Others),
    ];
    for (block, on, change) in cases {
        let mut task = Kept::new(workflow([step("a")]));
        let step = task.run.id("a");
        task.after(2, &Event::Refused { step, block: Block::Breaker, until: None });
        if block != Block::Breaker {
            task.after(3, &Event::Refused { step, block: block.clone(), until: None });
        }
        let since = if block == Block::Breaker { 2 } else { 5 };
        let until = task.run.now + s(5);
        task.after(4, &Event::Refused { step, block, until: Some(until) });
        assert_eq!(task.told("a"), (on, Some(since), Some(after_start(until)), change), "the same, still");
        assert_eq!(task.held("a").service.as_deref(), Some("service"));
    }
}

#[test]
fn a_circuit_is_told_with_who_holds_it_and_when_it_is_probed() {
    let mut task = Kept::new(workflow([step("a")]));
    task.after(2, &Event::Refused { step: task.run.id("a"), block: Block::Breaker, until: None });
    task.run.pass(s(8));
    let at = |seconds| Some(Time::from_millis(1_000) + s(seconds));
    let circuit = |state, since, probe_at, by: Option<(&str, &str)>| {
        let mut circuit = Circuit::new(state);
        (circuit.since, circuit.probe_at) = (since, probe_at);
        circuit.forced_by = by.map(|(who, why)| (who.to_owned(), why.to_owned()));
        circuit
    };
    let ann = Some(("ann", "maintenance"));
    for (circuit, until, change, words) in [
        (
            circuit(CircuitState::Open, at(1), at(14), None),
            at(14),
            Change::Circuit,
            "(open for 9 s so far, a probe in 4 s); it goes on when the circuit closes, or as a probe",
        ),
        (
            circuit(CircuitState::Open, at(1), None, ann),
            None,
            Change::Operator,
            "(held open by ann for 9 s so far: maintenance); it goes on when somebody lets the circuit close",
        ),
        (
            circuit(CircuitState::Open, at(1), at(70), ann),
            at(70),
            Change::Circuit,
            "(held open by ann for 9 s so far: maintenance, a probe in 60 s); it goes on when the circuit closes, or as a probe",
        ),
        (
            circuit(CircuitState::Probing, at(1), None, None),
            None,
            Change::Circuit,
            "(not closed for 9 s so far, and being probed); it goes on when the circuit closes, or as a probe",
        ),
        (
            circuit(CircuitState::Closed, at(9), None, None),
            None,
            Change::Circuit,
            "(closed, and those that waited go on in growing steps); it goes on when its turn comes",
        ),
    ] {
        let mut why = task.why();
        assert!(why.waits_for_circuits());
        why.know_circuits(|service| (service == "service").then(|| circuit.clone()));
        let held = &why.held[0];
        assert_eq!((held.until, &held.change, why.change()), (until, &change, Some(&change)));
        assert_eq!(why.to_string(), format!("`a`: it waits for circuit `service` for 8 s so far {words}"));
    }
    let mut why = task.why();
    why.know_circuits(|_| None);
    assert_eq!(why, task.why(), "what is not known changes nothing");
}

#[test]
fn waits_by_definition_say_when_they_began_and_end() {
    let poll =
        Step::new("poll", "service").nothing_to_undo().repeat(Repeat { every: s(20), at_most: Some(5) });
    let mut task = Kept::new(workflow([
        Step::wait_for("rest", s(60)),
        Step::signal("ok", "approval"),
        Step::signal("yes", "consent").timeout(s(30)),
        Step::signal("maybe", "hint").timeout(s(40)).or_none(),
        poll,
    ]));
    let signal = |signal: &str, or_none| On::Signal { signal: signal.to_owned(), or_none, came: false };
    let sent = |signal: &str| Change::Signal(signal.to_owned());
    task.granted(2, "poll");
    task.answered(3, "poll", Answer::NotYet);
    assert_eq!(task.told("rest"), (On::Time, Some(0), Some(60), Change::Time));
    assert_eq!(task.told("ok"), (signal("approval", false), Some(0), None, sent("approval")));
    assert_eq!(task.told("yes"), (signal("consent", false), Some(0), Some(30), sent("consent")));
    assert_eq!(task.told("maybe"), (signal("hint", true), Some(0), Some(40), sent("hint")));
    let round = On::NextRound { rounds: 1, at_most: Some(5) };
    assert_eq!(task.told("poll"), (round, Some(5), Some(25), Change::Time));
    task.after(20, &Event::Due { step: task.run.id("poll") });
    task.granted(0, "poll");
    let second = On::Attempt { number: 2, round: Some(2), heartbeat: None };
    assert_eq!(task.told("poll"), (second, Some(25), Some(85), Change::Answer));
    task.failed(0, "poll", Some(9));
    assert_eq!(
        task.told("poll"),
        (On::NextAttempt { failures: 1 }, Some(25), Some(34), Change::Time),
        "a retry within the round"
    );
}

#[test]
fn a_signal_that_came_before_is_being_read() {
    let mut task = Kept::new(workflow([step("a"), Step::signal("ok", "go").after(["a"])]));
    task.after(1, &Event::Signalled { signal: Arc::from("go"), id: None });
    task.granted(0, "a");
    task.answered(1, "a", Answer::Completed);
    let on = On::Signal { signal: "go".to_owned(), or_none: false, came: true };
    assert_eq!(task.told("ok"), (on, Some(2), None, Change::Node));
    assert_eq!(task.why().to_string(), "`ok`: signal `go` has come, and is being read");
}

#[test]
fn a_step_whose_turn_has_come_waits_for_its_condition_or_for_a_node() {
    let mut task = Kept::new(workflow([step("a"), step("b").after(["a"]).conditional(), step("c")]));
    task.granted(1, "a");
    task.answered(6, "a", Answer::Completed);
    assert_eq!(task.told("b"), (On::Answer, Some(7), None, Change::Node));
    assert_eq!(task.told("c"), (On::Place, Some(0), None, Change::Room));
    let mut why = task.why();
    why.nobody_works();
    let node = (On::Node, Change::Node);
    assert!(why.held.iter().all(|held| (held.on.clone(), held.change.clone()) == node), "{why:?}");
    task.granted(0, "c");
    why = task.why();
    why.nobody_works();
    assert_eq!(why.held[1].on, attempt(1), "what runs, runs");
}

#[test]
fn a_task_that_has_not_begun_says_so_as_a_whole() {
    let definition = built(Definition::builder("w").complete_within(s(10)).step(step("a")).step(step("b")));
    let now = Time::from_millis(1_000);
    let later = Task::starting_at(&definition, now, now + s(60));
    let since = Since::of(&later, now, []);
    let why = later.why(&definition, now + s(5), &since);
    assert_eq!((why.held.len(), why.since, why.deadline), (1, Some(now), Some(now + s(70))));
    let Held { step, on, since: from, until, change, .. } = &why.held[0];
    assert_eq!(
        (step, on, from, until, change),
        (&None, &On::Start, &Some(now), &Some(now + s(60)), &Change::Time)
    );
    let late = later.why(&definition, now + s(61), &since).to_string();
    assert_eq!(late, "its start time has come, and nobody has begun with it yet; its deadline is in 9 s");
    let task = Task::new(&definition, now);
    let why = task.why(&definition, now + s(5), &Since::of(&task, now, []));
    assert_eq!((&why.held[0].on, why.change()), (&On::Begin, Some(&Change::Node)));
    assert_eq!(why.to_string(), "nobody has begun with it yet; its deadline is in 5 s");
}

#[test]
fn an_end_waits_for_what_runs_and_the_undo_goes_backwards() {
    let mut task = Kept::new(workflow([
        step("a"),
        Step::new("look", "service").nothing_to_undo().after(["a"]),
        step("b").after(["look"]),
        step("beside"),
        step("last").after(["b"]),
    ]));
    let [a, b, beside] = ["a", "b", "beside"].map(|name| task.run.id(name));
    for name in ["a", "look", "b"] {
        task.granted(1, name);
        task.answered(1, name, Answer::Completed);
    }
    task.granted(0, "beside");
    let cancel = task.run.cancel();
    task.after(1, &cancel);
    let drain = || (On::Drain(vec![beside]), Some(7), None, Change::Steps(vec![beside]));
    for (name, undo) in [("a", true), ("b", true), ("last", false)] {
        assert_eq!((task.told(name), task.held(name).undo), (drain(), undo), "{name}");
    }
    assert_eq!(task.told("beside"), (attempt(1), Some(6), Some(16), Change::Answer));
    let words = "cancelled by ann: wrong order; `beside`: an attempt runs for 1 s so far, and for 9 s more at most; \
        what was done is undone once that has ended";
    assert_eq!((task.why().to_string().as_str(), task.why().held.len()), (words, 4));

    task.answered(3, "beside", Answer::Completed);
    let later = |steps: Vec<_>| (On::LaterUndo(steps.clone()), Some(10), None, Change::Steps(steps));
    assert_eq!(task.told("a"), later(vec![b]), "behind one that has nothing to undo");
    assert_eq!(task.told("b"), (On::Place, Some(10), None, Change::Room));
    assert!(task.why().held.iter().all(|held| held.undo), "the way forward is over");
    task.granted(2, "b");
    assert_eq!(task.told("b"), (attempt(2), Some(12), Some(22), Change::Answer));
    assert_eq!(
        task.why().to_string(),
        "cancelled by ann: wrong order; undo of `b`: an attempt runs for 0 s so far, and for 10 s more at most; \
         undo of `beside`: it waits for a place at its service for 2 s so far"
    );
    task.failed(1, "b", Some(50));
    assert_eq!(task.told("b"), (On::NextAttempt { failures: 1 }, Some(13), Some(63), Change::Time));
    task.after(50, &Event::Due { step: b });
    task.after(0, &Event::Refused { step: b, block: Block::Breaker, until: None });
    assert_eq!(task.told("b"), (On::Breaker { circuit: None }, Some(63), None, Change::Circuit));
    task.granted(0, "b");
    task.failed(1, "b", None);
    assert_eq!(task.told("b"), (On::Stuck { unknown: false }, Some(64), None, Change::Operator));
    assert_eq!(task.told("a"), (On::LaterUndo(vec![b]), Some(10), None, Change::Operator));
    assert_eq!((task.why().state, task.why().deadline), (TaskState::Undoing, None));
    task.granted(0, "beside");
    task.answered(1, "beside", Answer::Completed);
    let why = task.why();
    assert_eq!((why.state, why.since.map(after_start), why.held.len()), (TaskState::Failed, Some(65), 2));
    assert_eq!((why.change(), a < b), (Some(&Change::Operator), true));
    assert_eq!(why.to_string(), "cancelled by ann: wrong order; `b` could not be undone: broken");
}

#[test]
fn an_end_in_error_waits_for_what_runs_and_a_task_at_rest_says_since_when() {
    let fails = step("a").on_failure(OnFailure::Error);
    let mut task = Kept::new(workflow([fails, step("b"), step("c"), step("done")]));
    task.granted(0, "done");
    task.answered(0, "done", Answer::Completed);
    task.granted(1, "a");
    task.granted(0, "b");
    task.failed(1, "a", None);
    let b = task.run.id("b");
    assert_eq!(task.told("c"), (On::Drain(vec![b]), Some(2), None, Change::Steps(vec![b])));
    assert_eq!((task.why().held.len(), task.held("c").undo), (2, false), "what is done stays so");
    task.answered(4, "b", Answer::Completed);
    let why = task.why();
    assert_eq!((why.state, why.since.map(after_start), why.held.len()), (TaskState::Failed, Some(6), 0));
    assert_eq!(
        (why.change(), why.to_string().as_str()),
        (Some(&Change::Operator), "step `a` failed: broken")
    );

    let mut task = Kept::new(workflow([step("a")]));
    task.granted(1, "a");
    task.answered(1, "a", Answer::Completed);
    task.run.pass(s(100));
    let why = task.why();
    assert_eq!((why.state, why.since.map(after_start), why.change()), (TaskState::Completed, Some(2), None));
    let cause = task.run.why();
    task.after(0, &undo_asked());
    let why = task.why();
    assert_eq!(
        (why.state, why.since.map(after_start), why.cause),
        (TaskState::Undoing, Some(102), Some(cause))
    );
    task.granted(0, "a");
    task.answered(1, "a", Answer::Completed);
    let why = task.why();
    assert_eq!((why.state, why.since.map(after_start), why.held.len()), (TaskState::Undone, Some(103), 0));
}

#[test]
fn a_workflow_that_nobody_knows_is_told() {
    let mut task = Kept::new(workflow([step("a")]));
    let since = Since::of(&task.run.task, task.submitted_at, []);
    let why = task.run.task.why_unknown("w", 3, task.run.now, &since);
    let on = On::Workflow { name: "w".to_owned(), version: 3 };
    assert_eq!(
        (&why.held[0].on, why.held[0].since, why.change()),
        (&on, Some(task.submitted_at), Some(&Change::Program))
    );
    assert_eq!(
        why.to_string(),
        "it waits: this program does not know workflow `w` version 3 in the shape that the task has"
    );
    task.granted(0, "a");
    task.failed(0, "a", None);
    let why = task.run.task.why_unknown("w", 3, task.run.now, &since);
    assert_eq!((why.held.len(), why.to_string().as_str()), (0, "step `step 0` failed: broken"));
}

#[test]
fn times_that_are_not_known_are_left_open() {
    let mut task = Kept::new(workflow([step("a"), step("b").after(["a"])]));
    task.granted(1, "a");
    let run = task.run.clone();
    let why = run.task.why(&run.definition, run.now, &Since::default());
    assert_eq!((why.since, why.held[0].since, why.held[0].until), (None, None, Some(run.now + s(10))));
    task.answered(1, "a", Answer::Completed);
    let rows = task.history.iter().map(|(at, head, rows)| (*at, head.as_ref(), &rows[..]));
    let newer = Since::of(&run.task, task.submitted_at, rows);
    assert_eq!(newer.step(run.id("a")), None, "rows of another moment");
    assert_eq!(task.why().since, None, "it may have been so when it was submitted");
}
