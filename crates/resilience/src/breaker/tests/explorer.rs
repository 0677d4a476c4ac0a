//! Explores every state that a small breaker can reach, on the real code, beside a model written apart from it.
//!
//! From each state every deed is tried: asking, the ends of each held permit, passing time, operators. What the breaker
//! answers and shows must be what the model says. States that look alike are explored once, so the walk ends when
//! nothing new is found.

use std::collections::{HashSet, VecDeque};

use super::super::plant::Plant;
use super::super::{Health, Permit};
use super::*;

const PERMITS: u16 = 2;
const TO_CLOSE: u16 = 2;
const IN_A_ROW: u32 = 2;
const LIMIT: Duration = Duration::from_secs(1000);
/// Permits held at once: enough for two probes and one late result.
const HELD: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Deed {
    Ask,
    Succeed(usize),
    Fail(usize),
    Neutral(usize),
    Drop(usize),
    /// Until the open time is over.
    OpenTime,
    /// Until unanswered probes are given up.
    HalfOpenLimit,
    /// A health check finds the service up.
    FoundUp,
    ForceOpen,
    ForceOpenFor,
    ForceClosed,
    HalfOpen,
    Reset,
}

fn deeds() -> Vec<Deed> {
    let each = (0..HELD).flat_map(|n| [Deed::Succeed(n), Deed::Fail(n), Deed::Neutral(n), Deed::Drop(n)]);
    let others = [
        Deed::Ask,
        Deed::OpenTime,
        Deed::HalfOpenLimit,
        Deed::FoundUp,
        Deed::ForceOpen,
        Deed::ForceOpenFor,
        Deed::ForceClosed,
        Deed::HalfOpen,
        Deed::Reset,
    ];
    others.into_iter().chain(each).collect()
}

/// What the breaker should be, kept as simply as possible.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Model {
    state: State,
    /// Raised by every change.
    generation: u64,
    row: u32,
    probes: u16,
    succeeded: u16,
    failed_recoveries: u32,
    /// Whether it has closed not long ago, by a recovery.
    fresh: bool,
    /// Whether the open time is over; meaningless in other states.
    due: bool,
    has_end: bool,
    /// Whether probes have been silent for the limit.
    silent: bool,
    /// Whether the half-open state began on a health check's word.
    on_word: bool,
    /// Whether such a state failed since it was last closed.
    doubted: bool,
    /// Generation and probe flag of each held permit.
    held: Vec<(u64, bool)>,
}

impl Model {
    fn new() -> Self {
        Self {
            state: State::Closed,
            generation: 0,
            row: 0,
            probes: 0,
            succeeded: 0,
            failed_recoveries: 0,
            fresh: false,
            due: false,
            has_end: true,
            silent: false,
            on_word: false,
            doubted: false,
            held: Vec::new(),
        }
    }

    fn go(&mut self, state: State) {
        let (generation, failed_recoveries, doubted, held) =
            (self.generation + 1, self.failed_recoveries, self.doubted, self.held.clone());
        *self = Self { state, generation, failed_recoveries, doubted, held, ..Self::new() };
        if state.is_closed() || state == State::ForcedOpen {
            self.failed_recoveries = 0;
            self.doubted = false;
        }
    }

    fn recovered(&mut self) {
        let failed_recoveries = self.failed_recoveries;
        self.go(State::Closed);
        (self.failed_recoveries, self.fresh) = (failed_recoveries, true);
    }

    fn recovery_failed(&mut self) {
        self.failed_recoveries += 1;
        self.doubted |= self.on_word;
        self.go(State::Open);
    }

    /// Whether a call is let through.
    fn ask(&mut self) -> bool {
        if matches!(self.state, State::Open | State::ForcedOpen) && self.due {
            self.go(State::HalfOpen);
        }
        if self.state == State::HalfOpen && self.probes == PERMITS && self.silent {
            self.recovery_failed();
        }
        match self.state {
            State::Closed | State::ForcedClosed => self.held.push((self.generation, false)),
            State::HalfOpen if self.probes < PERMITS => {
                self.probes += 1;
                self.silent = false;
                self.held.push((self.generation, true));
            }
            _ => return false,
        }
        true
    }

    fn end(&mut self, n: usize, deed: Deed) {
        let (generation, probe) = self.held.remove(n);
        if generation != self.generation {
            if probe && matches!(deed, Deed::Succeed(_) | Deed::Neutral(_)) {
                self.silent = false; // progress is noted; the state that could stall is another one
            }
            return;
        }
        match (deed, probe) {
            (Deed::Succeed(_), false) => self.row = 0,
            (Deed::Fail(_), false) => {
                self.row += 1;
                if self.row >= IN_A_ROW && self.state == State::Closed {
                    self.failed_recoveries += u32::from(self.fresh);
                    self.go(State::Open);
                }
            }
            (Deed::Succeed(_), true) => {
                self.probes -= 1;
                self.succeeded += 1;
                self.silent = false;
                if self.succeeded == TO_CLOSE {
                    self.recovered();
                }
            }
            (Deed::Fail(_), true) => self.recovery_failed(),
            (_, true) => {
                self.probes -= 1;
                self.silent &= !matches!(deed, Deed::Neutral(_));
            }
            (_, false) => {}
        }
    }

    fn apply(&mut self, deed: Deed) -> Option<bool> {
        match deed {
            Deed::Ask => return Some(self.ask()),
            Deed::Succeed(n) | Deed::Fail(n) | Deed::Neutral(n) | Deed::Drop(n) => self.end(n, deed),
            Deed::OpenTime => {
                self.due = self.has_end && matches!(self.state, State::Open | State::ForcedOpen);
            }
            Deed::HalfOpenLimit => {
                self.silent = true;
                // A recovery has lasted by then.
                if std::mem::take(&mut self.fresh) {
                    self.failed_recoveries = 0;
                }
                self.due |= self.has_end && matches!(self.state, State::Open | State::ForcedOpen);
            }
            Deed::FoundUp => {
                let moves = self.state == State::Open && (self.due || !self.doubted);
                if moves {
                    self.go(State::HalfOpen);
                    self.on_word = true;
                }
                return Some(moves);
            }
            Deed::ForceOpen => {
                self.go(State::ForcedOpen);
                self.has_end = false;
            }
            Deed::ForceOpenFor => self.go(State::ForcedOpen),
            Deed::ForceClosed => self.go(State::ForcedClosed),
            Deed::HalfOpen => {
                let on_word = self.on_word;
                self.go(State::HalfOpen);
                self.on_word = on_word;
            }
            Deed::Reset => self.go(State::Closed),
        }
        None
    }

    fn allows(&self, deed: Deed) -> bool {
        match deed {
            Deed::Ask => self.held.len() < HELD,
            Deed::Succeed(n) | Deed::Fail(n) | Deed::Neutral(n) | Deed::Drop(n) => n < self.held.len(),
            _ => true,
        }
    }

    /// What tells this state from others: generations only as current or past.
    fn shape(&self) -> Self {
        let held =
            self.held.iter().map(|(generation, probe)| (u64::from(*generation == self.generation), *probe));
        // Beyond the cap of the open time, and beyond the row that trips, more makes no difference.
        let (failed_recoveries, row) = (self.failed_recoveries.min(2), self.row.min(IN_A_ROW));
        Self { generation: 0, held: held.collect(), failed_recoveries, row, ..self.clone() }
    }
}

/// The real breaker, with its permits and its time.
struct Real<'a> {
    breaker: &'a Breaker,
    clock: &'a crate::clock::VirtualClock,
    held: Vec<Permit<'a>>,
}

impl<'a> Real<'a> {
    fn apply(&mut self, deed: Deed) -> Option<bool> {
        let now = self.clock.now();
        match deed {
            Deed::Ask => match self.breaker.try_acquire(now) {
                Ok(permit) => {
                    self.held.push(permit);
                    return Some(true);
                }
                Err(_) => return Some(false),
            },
            Deed::Succeed(n) => self.held.remove(n).success(now),
            Deed::Fail(n) => self.held.remove(n).failure(&TIMEOUT, now),
            Deed::Neutral(n) => self.held.remove(n).settle(&Verdict::neutral(Kind::CANCELLED), now),
            Deed::Drop(n) => drop(self.held.remove(n)),
            Deed::OpenTime => self.clock.advance(self.breaker.report().open_for.unwrap_or_default()),
            Deed::HalfOpenLimit => self.clock.advance(LIMIT),
            Deed::FoundUp => {
                let due = self.breaker.check_due();
                return Some(due.is_some_and(|due| self.breaker.checked(due, &Health::Up, true)));
            }
            Deed::ForceOpen => self.breaker.force_open(None, "explorer", "deed"),
            Deed::ForceOpenFor => self.breaker.force_open(Some(s(100)), "explorer", "deed"),
            Deed::ForceClosed => self.breaker.force_closed("explorer", "deed"),
            Deed::HalfOpen => self.breaker.half_open("explorer", "deed"),
            Deed::Reset => self.breaker.reset("explorer", "deed"),
        }
        None
    }

    fn agrees(&self, model: &Model) -> Result<(), String> {
        let report = self.breaker.report();
        let core = self.breaker.core();
        let row = core.consecutive.load(std::sync::atomic::Ordering::Acquire) & u64::from(u32::MAX);
        let seen = (report.state, report.probes, row, report.failed_recoveries);
        let expected = (model.state, u64::from(model.probes), u64::from(model.row), model.failed_recoveries);
        if seen != expected {
            return Err(format!("state, probes, row, failed recoveries: {seen:?} instead of {expected:?}"));
        }
        let held = self.held.iter().map(Permit::is_probe).collect::<Vec<_>>();
        let expected = model.held.iter().map(|(_, probe)| *probe).collect::<Vec<_>>();
        if held != expected { Err(format!("permits {held:?} instead of {expected:?}")) } else { Ok(()) }
    }
}

fn breaker(plant: Plant, clock: &crate::clock::VirtualClock) -> Breaker {
    let builder = Breaker::consecutive(IN_A_ROW)
        .half_open_permits(PERMITS)
        .successes_to_close(TO_CLOSE)
        .open_for(s(10))
        .growing_to(s(40))
        .half_open_limit(LIMIT)
        .clock(clock);
    build(builder.plant(plant))
}

/// Replays a path and then one more deed, comparing at each step.
fn replay(plant: Plant, path: &[Deed]) -> Result<Model, String> {
    let clock = crate::clock::VirtualClock::new();
    let breaker = breaker(plant, &clock);
    let mut real = Real { breaker: &breaker, clock: &clock, held: Vec::new() };
    let mut model = Model::new();
    for deed in path {
        let (seen, expected) = (real.apply(*deed), model.apply(*deed));
        let check = if seen == expected {
            real.agrees(&model)
        } else {
            Err(format!("{seen:?} instead of {expected:?}"))
        };
        check.map_err(|what| format!("after {path:?}: {what}"))?;
    }
    recovers(&mut real).map_err(|what| format!("after {path:?}: {what}"))?;
    Ok(model)
}

/// From wherever it is, a breaker that nobody holds open closes when calls succeed: it is never stuck.
fn recovers(real: &mut Real<'_>) -> Result<(), String> {
    if real.breaker.state() == State::ForcedOpen
        && real.breaker.report().open_for.is_none()
        && !has_end(real.breaker)
    {
        return Ok(());
    }
    for _ in 0..20 {
        if real.breaker.is_closed() {
            return Ok(());
        }
        real.clock.advance(LIMIT);
        let now = real.clock.now();
        if let Ok(permit) = real.breaker.try_acquire(now) {
            permit.success(now);
        }
    }
    Err(format!("stuck in {}", real.breaker.state()))
}

fn has_end(breaker: &Breaker) -> bool {
    breaker.core().control.lock().unwrap().phase.until != Moment::FAR
}

/// Walks through every state; returns how many there are, or the first disagreement.
fn explore(plant: Plant) -> Result<usize, String> {
    let mut seen = HashSet::from([Model::new().shape()]);
    let mut frontier = VecDeque::from([(Vec::new(), Model::new())]);
    while let Some((path, model)) = frontier.pop_front() {
        for deed in deeds() {
            if !model.allows(deed) {
                continue;
            }
            let path: Vec<_> = path.iter().copied().chain([deed]).collect();
            let next = replay(plant, &path)?;
            if seen.insert(next.shape()) {
                frontier.push_back((path, next));
            }
        }
        assert!(seen.len() < 100_000, "the walk does not end");
    }
    Ok(seen.len())
}

#[test]
fn every_reachable_state_behaves_as_the_model_says_and_none_is_stuck() {
    let states = explore(Plant::None).unwrap();
    assert!(states > 500, "only {states} states: the walk is too small to mean anything");
}

#[test]
fn with_the_permit_check_removed_the_walk_finds_it() {
    let found = explore(Plant::NoPermitCheck).unwrap_err();
    assert!(found.contains("instead of"), "{found}");
}

#[test]
fn with_the_generation_check_removed_the_walk_finds_it() {
    let found = explore(Plant::NoGenerationCheck).unwrap_err();
    assert!(found.contains("instead of") || found.contains("stuck"), "{found}");
}
