//! A script being followed by a service: its state behind a lock, its random numbers, and the switch.
//! It decides nothing: that is the script's.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steadfast_resilience::clock::Moment;
use steadfast_resilience::random::Rng;

use crate::request::Request;
use crate::script::{Behaviour, Decision, Progress, Script};

#[derive(Debug)]
pub(crate) struct Player(Mutex<Playing>);

#[derive(Debug)]
struct Playing {
    script: Script,
    progress: Progress,
    rng: Rng,
    is_off: bool,
}

impl Player {
    pub(crate) fn new(script: Script, now: Moment) -> Self {
        Self(Mutex::new(Playing::begin(script, now, false)))
    }

    /// What this request meets. Calls are counted, and random numbers drawn, in the order in which they come here.
    pub(crate) fn next(&self, request: &Request, now: Moment) -> Decision {
        // A predicate is foreign code: it runs outside of the lock.
        let mark = self.playing().script.mark();
        let is_marked = mark.is_on(request);
        let mut playing = self.playing();
        let Playing { script, progress, rng, is_off } = &mut *playing;
        if *is_off {
            return Decision { behaviour: Behaviour::Refuse, delay: Duration::ZERO };
        }
        if !is_marked {
            return Decision { behaviour: Behaviour::Succeed, delay: Duration::ZERO };
        }
        script.decide(progress, now, rng.unit())
    }

    pub(crate) fn follow(&self, script: Script, now: Moment) {
        let mut playing = self.playing();
        let is_off = playing.is_off;
        *playing = Playing::begin(script, now, is_off);
    }

    pub(crate) fn switch(&self, off: bool) {
        self.playing().is_off = off;
    }

    /// Whether connections are taken, and until when, as far as the time decides.
    #[cfg(feature = "http")]
    pub(crate) fn reach(&self, now: Moment) -> crate::script::Reach {
        let playing = self.playing();
        if playing.is_off {
            return crate::script::Reach { is_open: false, until: None };
        }
        playing.script.reach(&playing.progress, now)
    }

    fn playing(&self) -> MutexGuard<'_, Playing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Playing {
    fn begin(script: Script, now: Moment, is_off: bool) -> Self {
        Self { progress: script.begin(now), rng: Rng::seeded(script.seed()), script, is_off }
    }
}
