//! Rules about retries, their waits and their budget.

use super::{MANY_CALLS, MANY_FIXED, Seen};
use crate::policy::Severity;
use crate::policy::duration::print;
use crate::retry::{Jitter, Strategy};

impl Seen<'_> {
    pub(super) fn no_jitter(&mut self) {
        let settings = self.retry.settings();
        if settings.jitter == Jitter::None && !matches!(settings.strategy, Strategy::Immediate) {
            self.find(
                Severity::Warning,
                ("no-jitter", "retry"),
                "the waits have no jitter".to_owned(),
                "callers that fail together come back together, in waves, just when the service recovers",
                "remove `jitter = \"none\"`, or set `jitter = \"full\"`",
            );
        }
    }

    pub(super) fn many_fixed(&mut self) {
        let Strategy::Fixed(wait) = self.retry.settings().strategy else { return };
        let many = self.retries.is_none_or(|retries| retries > MANY_FIXED);
        if many {
            let retries = self.retries.map_or_else(|| "unlimited".to_owned(), |retries| retries.to_string());
            self.find(
                Severity::Warning,
                ("many-fixed", "retry"),
                format!("{retries} retries at a fixed interval of {}", print(wait)),
                "the load on a service that is down never becomes less, for as long as it is down",
                "use `strategy = \"exponential\"`, or at most 5 retries",
            );
        }
    }

    pub(super) fn wait_like_timeout(&mut self) {
        let Some(attempt) = self.attempt else { return };
        let settings = self.retry.settings();
        // The longest wait that is reached, not the cap that may be far away.
        let last = self.retries.unwrap_or(u32::MAX).saturating_sub(1);
        let wait = match &settings.strategy {
            Strategy::Fixed(_) | Strategy::Exponential { .. } => {
                settings.strategy.longest(last, Jitter::None)
            }
            _ => return,
        };
        if wait >= attempt.mul_f64(0.8) && wait <= attempt.mul_f64(1.25) && settings.jitter != Jitter::Full {
            self.find(
                Severity::Note,
                ("wait-like-timeout", "retry"),
                format!("waits of {} are about as long as an attempt may take ({})", print(wait), print(attempt)),
                "attempts that time out and waits fall into step: half of the callers ask while the other half waits",
                "make the longest wait clearly longer or shorter than attempt_timeout, or set `jitter = \"full\"`",
            );
        }
    }

    pub(super) fn nested(&mut self) {
        let (facts, sdk) = (self.service.facts, self.service.sdk_retries);
        let Some(own) = self.retries else { return };
        let layers = [facts.callers_retry, own, sdk];
        let calls =
            layers.iter().fold(1_u32, |calls, retries| calls.saturating_mul(retries.saturating_add(1)));
        if layers.iter().filter(|retries| **retries > 0).count() > 1 && calls > MANY_CALLS {
            let of = |retries: u32| retries.saturating_add(1).to_string();
            self.find(
                Severity::Error,
                ("nested-retries", "retry"),
                format!(
                    "one call can become {calls}: callers {} x here {} x SDK {}",
                    of(facts.callers_retry),
                    of(own),
                    of(sdk)
                ),
                "layers of retries multiply, and all of them add load to a service that is already failing",
                "retry in one layer: `retry = \"none\"` here, or let callers and SDK fail fast",
            );
        }
    }

    pub(super) fn no_budget(&mut self) {
        if self.service.budget.is_none() && self.retries.is_none_or(|retries| retries > 0) {
            self.find(
                Severity::Warning,
                ("no-budget", "budget"),
                "retries have no budget".to_owned(),
                "limits of one call do not limit the sum: in an outage every call is sent several times",
                "remove `budget = \"none\"`",
            );
        }
    }

    pub(super) fn budget_without_limit(&mut self) {
        let Some(budget) = &self.service.budget else { return };
        let (share, reserve, window) = budget.values();
        if share > 0.5 {
            self.find(
                Severity::Warning,
                ("wide-budget", "budget"),
                format!("the budget allows retries for {:.0} % of what succeeds", share * 100.0),
                "a service that half works is then asked for nearly twice as much",
                "0.1 is enough for passing faults; 0.2 is much",
            );
        }
        if let Some(rate) = self.service.facts.calls_per_second
            && rate > 0.0
            && f64::from(reserve) >= rate * window.as_secs_f64()
        {
            self.find(
                Severity::Error,
                ("idle-budget", "budget"),
                format!(
                    "the reserve of {reserve} retries in {} is never used up at {rate} calls/s",
                    print(window)
                ),
                "a budget that cannot be spent limits nothing",
                "lower the reserve, or shorten the window",
            );
        }
    }

    pub(super) fn repeats_effects(&mut self) {
        if !self.service.idempotent && self.retry.settings().repeat_effects {
            self.find(
                Severity::Warning,
                ("repeats-effects", "retry"),
                "calls that are not idempotent are repeated although they may have taken effect".to_owned(),
                "a payment is made twice, an order is sent twice: once for the answer that got lost, once for the retry",
                "remove `repeat_effects`, or make the service take an idempotency key and remove `idempotent = false`",
            );
        }
    }
}
