//! Rules about the breaker.

use super::{OPEN_LONG, OPEN_SHORT, Seen};
use crate::breaker::settings::{Settings, Span};
use crate::policy::Severity;
use crate::policy::duration::print;

impl Seen<'_> {
    pub(super) fn no_breaker(&mut self) {
        self.find(
            Severity::Note,
            ("no-breaker", "breaker"),
            "there is no breaker".to_owned(),
            "while the service is down every caller waits for its own timeout, and the service gets every request",
            "remove `breaker = \"none\"`, unless a call is cheap and nobody waits for it",
        );
    }

    pub(super) fn never_trips(&mut self, breaker: &Settings) {
        let (Some(rate), Span::Time(window)) = (self.service.facts.calls_per_second, breaker.span) else {
            return;
        };
        let in_window = rate * window.as_secs_f64();
        let by_ratio = breaker.ratio.is_some() && in_window >= f64::from(breaker.min_calls);
        let by_count = breaker.failures.is_some_and(|failures| in_window >= f64::from(failures));
        if !by_ratio && !by_count && breaker.consecutive.is_none() {
            self.find(
                Severity::Error,
                ("never-trips", "breaker"),
                format!("at {rate} calls/s the window holds {in_window:.0} calls, fewer than any rule needs"),
                "the breaker looks like protection and is none",
                "add `consecutive`, lower min_calls, or lengthen the window",
            );
        }
    }

    pub(super) fn open_time(&mut self, breaker: &Settings) {
        let restart = self.service.facts.restart;
        let (short, long) = match restart {
            Some(restart) => (restart / 10, restart.saturating_mul(4)),
            None => (OPEN_SHORT, OPEN_LONG),
        };
        let fault =
            restart.map_or_else(String::new, |restart| format!(", a restart takes {}", print(restart)));
        if breaker.open.first < short {
            self.find(
                Severity::Warning,
                ("flapping", "breaker"),
                format!("the breaker opens for {}{fault}", print(breaker.open.first)),
                "it closes and opens again and again during one fault, with a burst of failures each time",
                format!("open for {} or more", print(short)),
            );
        }
        if breaker.open.first > long {
            self.find(
                Severity::Warning,
                ("outlives-fault", "breaker"),
                format!("the breaker opens for {}{fault}", print(breaker.open.first)),
                "the service is refused long after it is back",
                format!("open for {} or less, and let it grow", print(long)),
            );
        }
    }
}
