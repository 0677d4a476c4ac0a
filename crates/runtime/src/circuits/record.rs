//! What the store keeps of a circuit, and how a node's word is put into it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast_engine::Time;
use steadfast_resilience::breaker::share::{InstanceId, News, Offer, ProbeRight, Snapshot};
use steadfast_resilience::breaker::{Override, State};
use steadfast_store::Payload;

use super::CircuitRecord;

/// What happened to a circuit is kept so often.
const HISTORY: usize = 32;
/// A node that has not been heard of for so long is forgotten, unless it has the last word.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// Everything that is known of a circuit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Body {
    told: Vec<Told>,
    lease: Option<Lease>,
    pub(super) release: Release,
    history: Vec<Past>,
}

/// How work goes back to a service, as its gate knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Release {
    /// Calls a second before the circuit opened.
    pub(crate) steady: Option<f64>,
    /// The stage of the ramp, while one is under way.
    pub(crate) stage: Option<u32>,
}

/// One change of a circuit's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Past {
    /// When.
    pub at: Time,
    /// The state from then on, in words.
    pub state: String,
    /// Who set it by hand and why, if somebody did.
    pub forced_by: Option<(String, String)>,
}

impl Past {
    /// Whether everybody is let through from then on.
    pub(crate) fn is_closed(&self) -> bool {
        [State::Closed, State::ForcedClosed].iter().any(|state| self.state == state.as_str())
    }

    /// Whether an operator holds it open from then on.
    pub(crate) fn is_held(&self) -> bool {
        self.state == State::ForcedOpen.as_str()
    }

    /// Whether a few are let through from then on.
    pub(crate) fn is_probing(&self) -> bool {
        self.state == State::HalfOpen.as_str()
    }
}

/// What one node has told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Told {
    instance: u64,
    epoch: u64,
    state: u8,
    /// `None` without an end.
    open_until: Option<Time>,
    failed_recoveries: u32,
    forced_by: Option<(String, String)>,
    calls: u64,
    failures: u64,
    at: Time,
}

/// Who may probe, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Lease {
    instance: u64,
    until: Time,
}

const STATES: [State; 5] =
    [State::Closed, State::Open, State::HalfOpen, State::ForcedOpen, State::ForcedClosed];

fn number_of(state: State) -> u8 {
    let place = STATES.iter().position(|one| *one == state).unwrap_or(0);
    u8::try_from(place).unwrap_or(0)
}

fn state_of(number: u8) -> State {
    STATES.get(usize::from(number)).copied().unwrap_or(State::Closed)
}

impl Body {
    pub(super) fn pack(&self) -> Payload {
        // Packing into memory fails for no value of these types.
        postcard::to_stdvec(self).map(Payload::from).unwrap_or_default()
    }

    /// What cannot be read is as if nothing were known.
    pub(super) fn unpack(body: &[u8]) -> Self {
        postcard::from_bytes(body).unwrap_or_default()
    }

    /// Puts a node's word in, and says what the others have told. True if there is something to write.
    pub(super) fn swap(
        &mut self,
        instance: InstanceId,
        offer: &Offer,
        release: Option<Release>,
        now: Time,
    ) -> (News, bool) {
        let before = self.clone();
        let probe = match offer.probe_for {
            None => ProbeRight::NotAsked,
            Some(time) => self.lease(instance, time, now),
        };
        let told = Told::new(instance, &offer.snapshot, now);
        let last = self.told.iter().find(|told| told.instance == instance.0);
        if last.is_none_or(|last| last.says_less_than(&told)) {
            self.note(&told);
            self.told.retain(|one| one.instance != instance.0);
            self.told.push(told);
            self.forget(now);
        }
        if let Some(release) = release {
            self.release = release;
        }
        let others = self.told.iter().filter(|told| told.instance != instance.0);
        let others = others.map(|told| told.snapshot(now)).collect();
        let new = *self != before && !self.is_nothing();
        (News { others, probe }, new)
    }

    /// Whether a circuit that nobody knows would be the same: then there is nothing to keep.
    fn is_nothing(&self) -> bool {
        let quiet = |told: &Told| told.epoch == 0;
        self.told.iter().all(quiet) && self.lease.is_none() && self.release == Release::default()
    }

    fn lease(&mut self, instance: InstanceId, time: Duration, now: Time) -> ProbeRight {
        match self.lease {
            Some(held) if held.instance != instance.0 && now < held.until => {
                ProbeRight::Held(held.until.since(now))
            }
            // Half of it is left: it is not written again for each round.
            Some(held) if held.instance == instance.0 && now + time / 2 < held.until => ProbeRight::Mine,
            _ => {
                self.lease = Some(Lease { instance: instance.0, until: now + time });
                ProbeRight::Mine
            }
        }
    }

    /// Writes into the history what is new in what a node tells.
    fn note(&mut self, told: &Told) {
        let newest = self.newest().map_or(0, |newest| newest.epoch);
        if told.epoch <= newest {
            return;
        }
        let state = state_of(told.state).to_string();
        self.history.push(Past { at: told.at, state, forced_by: told.forced_by.clone() });
        if self.history.len() > HISTORY {
            // When an outage began is kept for as long as it lasts.
            let is_first = self.history.first().is_some_and(|past| !past.is_closed())
                && !self.history.iter().any(Past::is_closed);
            self.history.remove(usize::from(is_first));
        }
    }

    fn newest(&self) -> Option<&Told> {
        self.told.iter().max_by_key(|told| told.epoch)
    }

    fn forget(&mut self, now: Time) {
        let newest = self.newest().map(|newest| newest.instance);
        let known = |told: &Told| now.since(told.at) < FORGOTTEN_AFTER || Some(told.instance) == newest;
        self.told.retain(known);
    }

    pub(super) fn record(&self, service: &std::sync::Arc<str>) -> CircuitRecord {
        let newest = self.newest();
        CircuitRecord {
            service: std::sync::Arc::clone(service),
            state: newest.map_or(State::Closed, |newest| state_of(newest.state)).to_string(),
            open_until: newest.and_then(|newest| newest.open_until),
            failed_recoveries: newest.map_or(0, |newest| newest.failed_recoveries),
            forced_by: newest.and_then(|newest| newest.forced_by.clone()),
            steady: self.release.steady,
            stage: self.release.stage,
            history: self.history.clone(),
        }
    }
}

impl Told {
    fn new(instance: InstanceId, snapshot: &Snapshot, now: Time) -> Self {
        let by = |by: &Override| (by.who.clone(), by.why.clone());
        Self {
            instance: instance.0,
            epoch: snapshot.epoch,
            state: number_of(snapshot.state),
            open_until: snapshot.open_for.map(|time| now + time),
            failed_recoveries: snapshot.failed_recoveries,
            forced_by: snapshot.forced_by.as_ref().map(by),
            calls: snapshot.calls,
            failures: snapshot.failures,
            at: now,
        }
    }

    /// Whether the other one, of the same node, has something to say that this one did not. Counts alone are no news.
    fn says_less_than(&self, other: &Self) -> bool {
        (self.epoch, self.state, &self.forced_by) != (other.epoch, other.state, &other.forced_by)
    }

    fn snapshot(&self, now: Time) -> Snapshot {
        Snapshot {
            instance: InstanceId(self.instance),
            epoch: self.epoch,
            state: state_of(self.state),
            open_for: self.open_until.map(|until| until.since(now)),
            failed_recoveries: self.failed_recoveries,
            forced_by: self.forced_by.clone().map(|(who, why)| Override { who, why }),
            calls: self.calls,
            failures: self.failures,
            age: now.since(self.at),
        }
    }
}
