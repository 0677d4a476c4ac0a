//! The same without the feature `tracing`: nothing.

use std::time::Duration;

use super::{Call, Ending, FailedAttempt};
use crate::classify::Verdict;

/// No spans.
#[derive(Default)]
pub(crate) struct Spans(());

/// No guard.
pub(crate) struct Entered;

impl Spans {
    #[inline]
    pub(crate) fn wanted() -> bool {
        false
    }

    pub(crate) fn of_call(_: &Call<'_>) -> Self {
        Self(())
    }

    #[inline]
    pub(crate) fn begin_attempt(&mut self, _: u32) {}

    #[inline]
    pub(crate) fn end_attempt(&mut self, _: &Verdict) {}

    #[inline]
    pub(crate) fn end_call(&mut self, _: &'static str, _: u32) {}

    #[inline]
    pub(crate) fn enter_call(&self) -> Option<Entered> {
        None
    }

    #[inline]
    pub(crate) fn enter_attempt(&self) -> Option<Entered> {
        None
    }
}

pub(crate) fn failed_attempt(_: &Call<'_>, _: &FailedAttempt<'_>) {}

pub(crate) fn ended(_: &Call<'_>, _: &Ending<'_>) {}

#[inline]
pub(crate) fn tells_details() -> bool {
    false
}

#[inline]
pub(crate) fn tells_success(_: u32, _: bool) -> bool {
    false
}

pub(crate) fn succeeded(_: &Call<'_>, _: u32, _: Duration, _: bool) {}

pub(crate) fn fallback_failed(_: &str, _: &str, _: &dyn Fn() -> String) {}

pub(crate) fn waits_for_breaker(_: &str, _: &str, _: Duration) {}

pub(crate) fn call_succeeded(_: &str, _: Duration) {}

pub(crate) fn registry_full(_: &str, _: usize) {}

pub(crate) fn failed_call(_: &str, _: &Verdict, _: &dyn Fn() -> Option<String>) {}

pub(crate) fn state_changed(_: &crate::breaker::Change) {}

#[cfg(feature = "tokio")]
pub(crate) fn exchange_silent(_: &crate::breaker::share::ExchangeError) {}

#[cfg(feature = "tokio")]
pub(crate) fn health_checked(_: &str, _: &crate::breaker::Health) {}

#[cfg(feature = "simulate")]
pub(crate) fn silenced<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[cfg(feature = "policy")]
pub(crate) fn policies_changed(_: &crate::policy::Changes) {}

#[cfg(feature = "policy")]
pub(crate) fn policies_hurt(_: &crate::policy::Policies, _: Option<&crate::policy::Policies>) {}

#[cfg(feature = "policy")]
pub(crate) fn service_not_in_file(_: &str, _: &str, _: &str) {}

#[cfg(feature = "policy")]
pub(crate) fn policy_listener_panicked() {}

#[cfg(feature = "policy")]
pub(crate) fn policies_refused(_: &crate::policy::Error) {}

pub(crate) fn nested(_: &str, _: u32) {}

pub(crate) fn alerted(_: &crate::telemetry::alert::Alert) {}
