//! What tasks say of themselves while they live, against what the test knows: their rows in the store at that moment, the
//! definition, the handlers' own books, what the test has asked of them, and what they have said before.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use steadfast_engine::{
    Cause, Change, Definition, End, Held, On, Record, StepId, StepState, TaskState, Time, UndoState, Wait,
    Why,
};
use steadfast_runtime::Settings;
use steadfast_store::{Stored, TaskId};

use crate::common::s;

/// So late may something be that is due, where nothing goes wrong but the services, since nodes look every five seconds for what
/// is out of memory; and where everything does.
const CALM: Duration = Duration::from_secs(8);
const ROUGH: Duration = Duration::from_secs(400);

/// What has to be told of some tasks, so that the test is one of it.
pub(crate) const KINDS: [&str; 15] = [
    "answer",
    "at rest",
    "attempt",
    "deadline",
    "drain",
    "later undo",
    "next attempt",
    "next round",
    "node",
    "place",
    "signal",
    "start",
    "stuck",
    "time",
    "turn",
];

/// The handlers' own books: by task, step and undo the attempts that have begun, and how often each runs now.
#[derive(Default)]
pub(crate) struct Books {
    attempts: BTreeMap<(TaskId, usize, bool), BTreeMap<u32, usize>>,
}

impl Books {
    pub(crate) fn begins(&mut self, place: (TaskId, usize, bool), attempt: u32) {
        *self.attempts.entry(place).or_default().entry(attempt).or_default() += 1;
    }

    pub(crate) fn ends(&mut self, place: (TaskId, usize, bool), attempt: u32) {
        *self.attempts.get_mut(&place).unwrap().get_mut(&attempt).unwrap() -= 1;
    }

    fn of(&self, task: TaskId) -> impl Iterator<Item = (usize, bool, u32, usize)> {
        let of = self.attempts.iter().filter(move |((of, ..), _)| *of == task);
        of.flat_map(|((_, step, undo), all)| all.iter().map(|(nth, runs)| (*step, *undo, *nth, *runs)))
    }
}

/// What the test has done with a task.
#[derive(Clone, Default)]
pub(crate) struct Facts {
    /// Before and after it was submitted, by the store's clock.
    pub(crate) submitted: (Time, Time),
    pub(crate) later: Duration,
    pub(crate) cancelled: bool,
    pub(crate) signals: BTreeSet<&'static str>,
}

/// What a task said, and its rows then.
struct Said {
    at: Time,
    stored: Stored,
    why: Why,
}

/// Asks, and does not believe.
pub(crate) struct Examiner {
    definition: Definition,
    /// The world's services have a breaker.
    pub(crate) has_breaker: bool,
    /// Nothing goes wrong but the services.
    pub(crate) calm: bool,
    pub(crate) facts: BTreeMap<TaskId, Facts>,
    said: BTreeMap<TaskId, Said>,
    /// How often each thing was told.
    pub(crate) told: BTreeMap<&'static str, usize>,
}

impl Examiner {
    pub(crate) fn new(definition: &Definition, has_breaker: bool, calm: bool) -> Self {
        let (facts, said, told) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { definition: definition.clone(), has_breaker, calm, facts, said, told }
    }

    /// A task said this, and its rows were these before and after it did.
    pub(crate) fn examine(&mut self, stored: &Stored, why: Why, now: Time, books: &Books) {
        let fails = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            self.check_whole(stored, &why, now);
            assert_eq!(accounted(&why), self.open(stored), "each open step, once");
            why.held.iter().for_each(|held| self.check(stored, held, &why, books));
            self.check_books(stored, &why, books);
            if let Some(before) = self.said.get(&stored.id) {
                self.check_against(before, stored, &why);
            }
        }));
        if fails.is_err() {
            panic!("{} says: {why}\n{why:?}\n{stored:?}", stored.id);
        }
        let rest = [(why.state.is_at_rest(), "at rest"), (why.deadline.is_some(), "deadline")];
        let kinds = why.held.iter().map(|held| kind(&held.on));
        for kind in kinds.chain(rest.into_iter().filter(|(so, _)| *so).map(|(_, kind)| kind)) {
            *self.told.entry(kind).or_default() += 1;
        }
        self.said.insert(stored.id, Said { at: now, stored: stored.clone(), why });
    }

    fn slack(&self) -> Duration {
        if self.calm { CALM } else { ROUGH }
    }

    /// So far may a node's clock be before the store's, where that is slow to say what it is, or out of reach.
    fn skew(&self) -> Duration {
        if self.calm { Duration::from_millis(5) } else { s(45) }
    }

    // ---- the task as a whole ----

    fn check_whole(&self, stored: &Stored, why: &Why, now: Time) {
        let (head, facts) = (stored.task.head(), &self.facts[&stored.id]);
        assert_eq!(why.state, head.state);
        assert!(why.now <= now + self.skew() && why.now + s(20) >= now, "of now: {now}");
        assert!(!why.to_string().is_empty() && !why.to_string().contains("; ;"));
        let (before, after) = facts.submitted;
        let within = self.definition.complete_within();
        match why.deadline {
            None => assert!(within.is_none() || head.state.is_at_rest() || why.cause.is_some()),
            Some(at) => {
                let from = |time: Time| time + facts.later + within.unwrap();
                assert!(
                    at >= from(before) && at <= from(after) + self.skew(),
                    "the deadline counts from its start"
                );
            }
        }
        if head.state.is_at_rest() || head.state == TaskState::Undoing {
            assert!(why.since.unwrap() >= before && why.since.unwrap() <= why.now);
        }
        let failed =
            |id: &StepId| !matches!(stored.task.step(*id).state, StepState::Completed | StepState::Pending);
        match why.cause.as_ref() {
            None => assert!(!matches!(why.state, TaskState::Undoing | TaskState::Undone | TaskState::Failed)),
            Some(Cause::Cancelled { by, why: reason }) => {
                assert!(facts.cancelled && (&**by, &**reason) == ("ann", "a whim"));
                assert!(why.to_string().starts_with("cancelled by ann: a whim"));
            }
            Some(Cause::Deadline) => assert!(now + self.skew() >= before + facts.later + within.unwrap()),
            Some(Cause::StepFailed(id) | Cause::OutcomeUnknown(id) | Cause::OwnerDied(id)) => {
                assert!(failed(id), "{id:?} has failed");
                assert!(why.to_string().contains(self.definition.step(*id).name()));
            }
            Some(other) => panic!("nobody scripted {other:?}"),
        }
    }

    /// The steps, and undos, that have to be accounted for.
    fn open(&self, stored: &Stored) -> BTreeSet<(Option<usize>, bool)> {
        let head = stored.task.head();
        if head.state == TaskState::Pending {
            return BTreeSet::from([(None, false)]);
        }
        let drains = head.ending.as_ref().filter(|ending| !ending.drained);
        let mut open = BTreeSet::new();
        for (id, record) in stored.task.rows() {
            let unended = matches!(
                record.state,
                StepState::Pending
                    | StepState::Ready
                    | StepState::Parked
                    | StepState::Running
                    | StepState::Waiting
            );
            let to_undo = self.definition.step(id).undo_settings().is_some()
                && (record.state == StepState::Completed || record.may_have_happened);
            let undoing = !matches!(record.undo, UndoState::None | UndoState::Done);
            let told = match (head.state, drains) {
                (TaskState::Completed | TaskState::Undone, _) => None,
                (TaskState::Failed, _) => undoing.then_some(true),
                (_, None) if head.ending.is_some() => undoing.then_some(true),
                (_, None) => unended.then_some(false),
                (..) if record.state == StepState::Running => Some(false),
                (_, Some(ending)) if to_undo && ending.end == End::Undo => Some(true),
                (_, Some(_)) => unended.then_some(false),
            };
            open.extend(told.map(|undo| (Some(id.ordinal()), undo)));
        }
        open
    }

    // ---- one thing after the other ----

    fn check(&self, stored: &Stored, held: &Held, why: &Why, books: &Books) {
        let facts = &self.facts[&stored.id];
        if !matches!(held.on, On::Answer) {
            assert!(held.since.is_some(), "{held:?}");
        }
        assert!(held.since.is_none_or(|since| since <= why.now + self.skew()), "{held:?}");
        assert!(held.since.is_none_or(|since| since >= facts.submitted.0), "{held:?}");
        let slack = match (&held.on, &held.change) {
            // The supervisor comes by now and then.
            (On::Attempt { .. }, _) => Some(self.slack() + Settings::default().supervise_every),
            (_, Change::Time) => Some(self.slack()),
            _ => None,
        };
        if let Some(slack) = slack {
            assert!(held.until.unwrap() + slack >= why.now, "overdue: {held:?}");
        }
        let Some(id) = held.step else { return self.check_start(held, facts, why) };
        let (step, record) = (self.definition.step(id), stored.task.step(id));
        assert_eq!(held.name, step.name());
        assert_eq!(held.service.as_deref(), step.wait().is_none().then_some("svc"));
        assert_eq!(held.last_failure, record.last_failure);
        let (since, until) = (held.since.unwrap_or(why.now), held.until);
        let unended = |id: &StepId| {
            !matches!(
                stored.task.step(*id).state,
                StepState::Completed | StepState::Skipped | StepState::Failed
            )
        };
        let before = || self.definition.before(id).iter().copied().filter(unended).collect::<Vec<_>>();
        match &held.on {
            On::Attempt { number, round, heartbeat } => {
                assert_eq!((*number, until), (record.attempt, record.complete_by));
                assert!(until.unwrap() <= since + s(10) + self.skew(), "each has ten seconds");
                assert_eq!(round.unwrap_or(1), if held.undo { 1 } else { record.rounds() + 1 });
                assert_eq!(*heartbeat, step.heartbeat().filter(|_| !held.undo));
                let begun = books.of(stored.id).filter(|(step, ..)| *step == id.ordinal());
                let begun: Vec<_> = begun.map(|(_, undo, nth, _)| (undo, nth)).collect();
                assert!(begun.iter().all(|(_, nth)| nth <= number), "a later one has begun: {begun:?}");
                // In a ramp its turn is given a little ahead, and written first.
                let waits_for_turn = self.has_breaker && why.now.since(since) < s(1);
                assert!(
                    !self.calm || waits_for_turn || begun.contains(&(held.undo, *number)),
                    "nobody has begun it: {begun:?}"
                );
            }
            On::Place => assert!(is_ready(record) && stored.owner.is_some()),
            On::Node => assert!(stored.owner.is_none()),
            On::Time => match step.wait() {
                Some(Wait::Time(Some(time))) => assert_eq!(until, Some(since + *time)),
                Some(Wait::Time(None)) => {
                    assert!(until.unwrap() <= since + s(4) + self.skew(), "computed: two seconds at most");
                }
                other => panic!("{other:?}"),
            },
            On::Signal { signal, or_none, came } => {
                let Some(Wait::Signal { signal: of, timeout, or_none: without }) = step.wait() else {
                    panic!()
                };
                assert_eq!((signal, or_none, until), (of, without, timeout.map(|time| since + time)));
                assert!(!came || facts.signals.contains(&**signal), "nobody sent it");
            }
            On::NextAttempt { failures } => {
                assert_eq!((*failures, until), (record.failures, record.not_before));
                assert!(*failures > 0 && held.last_failure.is_some());
            }
            On::NextRound { rounds, at_most } => {
                let repeat = step.repeats().unwrap();
                assert_eq!((*rounds, *at_most), (record.rounds(), repeat.at_most));
                assert!(
                    until.unwrap() <= since + repeat.every + self.skew()
                        && until.unwrap() + self.skew() >= since + repeat.every
                );
            }
            On::Turn(steps) => assert_eq!(*steps, before()),
            On::Answer => assert!((step.is_conditional() || step.is_computed()) && before().is_empty()),
            On::Drain(steps) => {
                let runs = stored.task.rows().filter(|(_, record)| record.complete_by.is_some());
                assert_eq!(*steps, runs.map(|(id, _)| id).collect::<Vec<_>>());
            }
            On::LaterUndo(steps) => self.check_later(stored, id, steps, &held.change),
            On::Stuck { unknown } => {
                assert_eq!((record.undo, *unknown), (UndoState::Failed, record.state == StepState::Unknown));
            }
            On::Breaker { circuit } => {
                assert!(self.has_breaker, "there is none");
                assert!(circuit.as_ref().is_none_or(|circuit| circuit.forced_by.is_none()), "nobody did");
                assert!(
                    circuit
                        .as_ref()
                        .and_then(|circuit| circuit.since)
                        .is_none_or(|since| since <= why.now + self.skew())
                );
            }
            On::Suspect => assert!(record.is_suspect()),
            On::Limit => assert!(!self.calm, "its pipeline has no limit"),
            other => panic!("of a step: {other:?}"),
        }
    }

    fn check_start(&self, held: &Held, facts: &Facts, why: &Why) {
        match (&held.on, held.until) {
            (On::Start, Some(at)) => {
                let (before, after) = facts.submitted;
                assert!(
                    at >= before + facts.later
                        && at <= after + facts.later + self.skew()
                        && !facts.later.is_zero()
                );
            }
            (On::Begin, None) => assert!(facts.later.is_zero() || why.now >= facts.submitted.0 + facts.later),
            other => panic!("{other:?}"),
        }
    }

    /// An undo waits for those of steps that came after it, and for an operator if one of these is stuck.
    fn check_later(&self, stored: &Stored, id: StepId, steps: &[StepId], change: &Change) {
        let mut after = BTreeSet::from([id]);
        for later in self.definition.ids() {
            if self.definition.before(later).iter().any(|before| after.contains(before)) {
                after.insert(later);
            }
        }
        let undo = |id: &StepId| stored.task.step(*id).undo;
        let open = |id: &StepId| !matches!(undo(id), UndoState::None | UndoState::Done);
        assert!(
            !steps.is_empty()
                && steps.iter().all(|later| *later != id && after.contains(later) && open(later))
        );
        let stuck = after.iter().any(|id| undo(id) == UndoState::Failed);
        assert_eq!(*change == Change::Operator, stuck);
    }

    /// What runs by the handlers' own books is told to run, unless an owner was given up meanwhile.
    fn check_books(&self, stored: &Stored, why: &Why, books: &Books) {
        for (step, undo, nth, _) in books.of(stored.id).filter(|(.., runs)| *runs > 0 && self.calm) {
            let told = why.held.iter().any(|held| {
                let same = held.step.is_some_and(|id| id.ordinal() == step) && held.undo == undo;
                same && matches!(held.on, On::Attempt { number, .. } if number == nth)
            });
            assert!(told, "attempt {nth} of step {step} runs, and nobody says so");
        }
    }

    // ---- what was said before ----

    fn check_against(&self, before: &Said, stored: &Stored, why: &Why) {
        if before.why.state.is_at_rest() {
            let now = Why::clone(&before.why);
            assert_eq!((now.held, now.since, now.cause), (why.held.clone(), why.since, why.cause.clone()));
            return;
        }
        for held in &why.held {
            let Some(id) = held.step else { continue };
            let (then, now) = (before.stored.task.step(id), stored.task.step(id));
            let was = before.why.held.iter().find(|was| was.step == held.step && was.on == held.on);
            match (&held.on, was) {
                (On::Answer | On::Turn(_), _) => {}
                // Since it is known that the task does not complete, whatever the step did meanwhile.
                (On::Drain(_), _) => {
                    let (since, at) = (held.since.unwrap(), before.at);
                    let ended = before.why.cause.is_some();
                    assert!(if ended { since <= at } else { since >= at }, "{held:?}, {at}");
                }
                // Nothing has happened to it: it has been so since the same time.
                (_, Some(was)) if stands(then) == stands(now) => {
                    assert_eq!(was.since, held.since, "{was:?}");
                }
                // A wait says when it was decided on, and a slow store may have been asked before it was written.
                (On::Time | On::Signal { .. }, _) if !self.calm => {}
                _ if stands(then) != stands(now) => {
                    assert!(
                        held.since.unwrap() >= before.at,
                        "{held:?} was otherwise at {}: {then:?}",
                        before.at
                    );
                }
                _ => {}
            }
        }
        before.why.held.iter().for_each(|was| self.keeps_its_word(was, stored, why));
    }

    /// What was to change a thing has changed it, and nothing else has.
    fn keeps_its_word(&self, was: &Held, stored: &Stored, why: &Why) {
        let same = |held: &&Held| {
            (held.step, held.undo, &held.on, held.since) == (was.step, was.undo, &was.on, was.since)
        };
        if why.held.iter().any(|held| same(&held)) {
            return;
        }
        let (ends, over) =
            (why.cause.is_some(), was.until.is_some_and(|until| until <= why.now + self.skew()));
        let has_ended = |id: &StepId| {
            let record = stored.task.step(*id);
            record.complete_by.is_none() || !matches!(record.undo, UndoState::None)
        };
        let done = match &was.change {
            Change::Time => over || (ends && !was.undo),
            Change::Signal(signal) => over || ends || self.facts[&stored.id].signals.contains(&**signal),
            // Nobody does. Others of those that it waits for may have been undone.
            Change::Operator => why
                .held
                .iter()
                .any(|held| (held.step, &held.change, held.since) == (was.step, &was.change, was.since)),
            Change::Steps(steps) => match &was.on {
                On::Drain(_) => steps.iter().any(has_ended),
                // Others of them are told now, or it has its turn.
                _ => ends || why.held.iter().all(|held| held.on != was.on || held.step != was.step),
            },
            _ => true,
        };
        assert!(done, "it was said that this is changed by {:?}: {was:?}", was.change);
    }
}

fn stands(record: &Record) -> impl PartialEq + use<> {
    (record.state, record.undo, record.blocked_on.clone(), record.attempt)
}

fn is_ready(record: &Record) -> bool {
    record.undo == UndoState::Ready || (record.undo == UndoState::None && record.state == StepState::Ready)
}

fn accounted(why: &Why) -> BTreeSet<(Option<usize>, bool)> {
    let all: BTreeSet<_> = why.held.iter().map(|held| (held.step.map(StepId::ordinal), held.undo)).collect();
    assert_eq!(all.len(), why.held.len(), "twice: {why:#?}");
    all
}

fn kind(on: &On) -> &'static str {
    match on {
        On::Begin => "begin",
        On::Start => "start",
        On::Turn(_) => "turn",
        On::Answer => "answer",
        On::Node => "node",
        On::Attempt { .. } => "attempt",
        On::Place => "place",
        On::Time => "time",
        On::Signal { .. } => "signal",
        On::NextAttempt { .. } => "next attempt",
        On::NextRound { .. } => "next round",
        On::Breaker { .. } => "breaker",
        On::Limit => "limit",
        On::Suspect => "suspect",
        On::Drain(_) => "drain",
        On::LaterUndo(_) => "later undo",
        On::Stuck { .. } => "stuck",
        _ => "another",
    }
}
