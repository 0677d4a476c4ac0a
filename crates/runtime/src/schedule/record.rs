//! A schedule as it is stored: what was declared, and how far it has come.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast_engine::Time;
use steadfast_engine::schedule::{Missed, Overlap, Rules};
use steadfast_store::{Payload, Schedule, TaskId};

use super::zone::TimeZone;

/// The first byte: the form that follows. What was shipped never changes.
const FORM: u8 = 1;

/// What was declared: the same declaration changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stated {
    pub(super) workflow: Arc<str>,
    pub(super) version: u32,
    pub(super) namespace: Arc<str>,
    pub(super) input: Arc<[u8]>,
    pub(super) when: Arc<str>,
    pub(super) zone: Arc<str>,
    pub(super) missed: Missed,
    pub(super) overlap: Overlap,
    pub(super) jitter_ms: u64,
    pub(super) starts_at: Option<Time>,
    pub(super) ends_at: Option<Time>,
}

/// How far it has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The first instant that is not dealt with.
    pub(super) next: Option<Time>,
    /// An instant that waits for the end of the run before it.
    pub(super) queued: Option<Time>,
    /// Since when it is paused.
    pub(super) paused: Option<Time>,
    pub(super) last: Option<Fired>,
    pub(super) refused: Option<Refused>,
    pub(super) runs: u64,
    pub(super) missed: u64,
    pub(super) overlapped: u64,
}

/// A run that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fired {
    pub(super) instant: Time,
    pub(super) task: u128,
    pub(super) at: Time,
}

impl Fired {
    pub(super) fn task(self) -> TaskId {
        TaskId::from_u128(self.task)
    }
}

/// A run that could not be begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Refused {
    pub(super) instant: Time,
    pub(super) words: String,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Body {
    pub(super) stated: Stated,
    pub(super) progress: Progress,
}

impl Body {
    pub(super) fn pack(&self) -> Payload {
        // Packing into memory fails for no value of these types.
        postcard::to_extend(self, vec![FORM]).map(Payload::from).unwrap_or_default()
    }

    /// `None` for one that another version of this program has made.
    pub(super) fn unpack(bytes: &[u8]) -> Option<Self> {
        match bytes.split_first() {
            Some((&FORM, packed)) => postcard::from_bytes(packed).ok(),
            _ => None,
        }
    }

    /// The record that says so.
    pub(super) fn record(&self, name: &Arc<str>, version: u64, rules: &Rules, zone: &TimeZone) -> Schedule {
        let Progress { next, queued, paused, .. } = &self.progress;
        let wake_at = match (paused, queued) {
            (Some(_), _) => None,
            // It is looked at again and again until it can run.
            (None, Some(queued)) => Some(*queued),
            (None, None) => next.map(|next| rules.begins_at(zone, name, next)),
        };
        Schedule { name: Arc::clone(name), version, wake_at, body: self.pack() }
    }
}

impl Stated {
    /// What it says; in words what of it this program does not understand.
    pub(super) fn meaning(&self) -> Result<(Rules, TimeZone), String> {
        let rules = Rules {
            when: self.when.parse().map_err(|error| format!("{error}"))?,
            missed: self.missed,
            jitter: Duration::from_millis(self.jitter_ms),
            starts_at: self.starts_at,
            ends_at: self.ends_at,
        };
        Ok((rules, TimeZone::find(&self.zone).map_err(|error| error.to_string())?))
    }

    /// Whether it has the same instants as another one.
    pub(super) fn has_instants_of(&self, other: &Self) -> bool {
        let times = |one: &Self| (one.starts_at, one.ends_at);
        self.when == other.when && self.zone == other.zone && times(self) == times(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body() -> Body {
        let stated = Stated {
            workflow: Arc::from("report"),
            version: 3,
            namespace: Arc::from("shop"),
            input: Arc::from(b"7".as_slice()),
            when: Arc::from("30 2 * * *"),
            zone: Arc::from("Europe/Berlin"),
            missed: Missed::RunAll { most: 5 },
            overlap: Overlap::QueueOne,
            jitter_ms: 250,
            starts_at: None,
            ends_at: Some(Time::from_millis(300)),
        };
        let progress = Progress {
            next: Some(Time::from_millis(7)),
            queued: None,
            paused: Some(Time::from_millis(6)),
            last: Some(Fired { instant: Time::from_millis(5), task: 9, at: Time::from_millis(8) }),
            refused: Some(Refused { instant: Time::from_millis(4), words: "no".to_owned() }),
            runs: 1,
            missed: 2,
            overlapped: 3,
        };
        Body { stated, progress }
    }

    /// What was stored once is read for ever.
    #[test]
    fn the_first_form_is_read_as_it_was_shipped() {
        let shipped = b"\x01\x06report\x03\x04shop\x017\x0a30 2 * * *\x0dEurope/Berlin\x02\x05\x02\xfa\x01\x00\x01\xac\x02\
            \x01\x07\x00\x01\x06\x01\x05\x09\x08\x01\x04\x02no\x01\x02\x03";
        assert_eq!(Body::unpack(shipped), Some(body()));
        assert_eq!(&*body().pack(), shipped);
        assert_eq!(Body::unpack(&[2, 0, 0]), None);
        assert_eq!(Body::unpack(&[]), None);
    }
}
