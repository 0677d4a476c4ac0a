//! Who is told, when, and how often it is tried.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use steadfast_resilience::telemetry::alert::Rule;

use super::Alert;
use crate::outbox::wait_after;

/// Why a hook could not take an alert: any error.
pub type AlertError = Box<dyn std::error::Error + Send + Sync>;

type Taken = Pin<Box<dyn Future<Output = Result<(), AlertError>> + Send>>;

/// A function that is told of alerts.
pub(crate) type Hook = Arc<dyn Fn(Alert) -> Taken + Send + Sync>;

/// Who is told of alerts, by which rules services are watched, and how often a delivery is tried.
#[derive(Clone)]
#[non_exhaustive]
pub struct AlertSettings {
    pub(crate) hooks: Vec<Hook>,
    /// How long a hook may take for one alert.
    pub limit: Duration,
    /// How often an alert is handed to the hooks before it is given up; it is kept then, counted, and logged as an error.
    pub tries: u32,
    /// The wait after the first time that a hook has failed; it doubles each time.
    pub first_wait: Duration,
    /// No wait is longer.
    pub longest_wait: Duration,
    /// How often the outbox is looked into for what nobody here has put there.
    pub look_every: Duration,
    /// How often services are held against their rules.
    pub watch_every: Duration,
    /// The rules for services that have none of their own.
    pub rules: Vec<Rule>,
    own_rules: HashMap<String, Vec<Rule>>,
}

impl AlertSettings {
    /// Tells this function of every alert. It is told again if it fails, panics, or takes longer than the limit: each time
    /// with the same [`Alert::id`].
    pub fn on_alert<F, Fut>(&mut self, hook: F)
    where
        F: Fn(Alert) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), AlertError>> + Send + 'static,
    {
        self.hooks.push(Arc::new(move |alert| Box::pin(hook(alert))));
    }

    /// Watches this service by rules of its own.
    pub fn rules_for(&mut self, service: &str, rules: impl IntoIterator<Item = Rule>) {
        self.own_rules.insert(service.to_owned(), rules.into_iter().collect());
    }

    /// The rules by which a service is watched.
    pub(crate) fn rules_of(&self, service: &str) -> &[Rule] {
        self.own_rules.get(service).unwrap_or(&self.rules)
    }

    /// How long a message is this node's to deliver: so long that a few hooks can take their time, one after another.
    pub(crate) fn hold(&self) -> Duration {
        self.limit * 3
    }

    /// The wait after so many tries.
    pub(crate) fn wait_after(&self, tries: u32) -> Duration {
        wait_after(tries, self.first_wait, self.longest_wait)
    }

    /// What of them makes no sense, in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        let least = Duration::from_millis(1);
        let times = [
            ("limit", self.limit),
            ("first_wait", self.first_wait),
            ("look_every", self.look_every),
            ("watch_every", self.watch_every),
        ];
        if let Some((name, time)) = times.into_iter().find(|(_, time)| *time < least) {
            return Err(format!("`alerts.{name}` is {time:?}: it must be at least {least:?}"));
        }
        match self.tries {
            0 => Err("`alerts.tries` is 0: no alert could ever be delivered".to_owned()),
            _ => Ok(()),
        }
    }
}

impl Default for AlertSettings {
    /// 20 tries over an hour: longer than it takes to restart what a hook talks to.
    fn default() -> Self {
        Self {
            hooks: Vec::new(),
            limit: Duration::from_secs(10),
            tries: 20,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(300),
            look_every: Duration::from_secs(30),
            watch_every: Duration::from_secs(5),
            rules: Rule::standard(),
            own_rules: HashMap::new(),
        }
    }
}

impl fmt::Debug for AlertSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlertSettings")
            .field("hooks", &self.hooks.len())
            .field("limit", &self.limit)
            .field("tries", &self.tries)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let settings = AlertSettings::default();
        let waits = [1, 2, 3, 9, 10, 40].map(|tries| settings.wait_after(tries).as_secs());
        assert_eq!(waits, [1, 2, 4, 256, 300, 300]);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        assert_eq!(AlertSettings::default().check(), Ok(()));
        let none = AlertSettings { tries: 0, ..AlertSettings::default() };
        assert_eq!(none.check().unwrap_err(), "`alerts.tries` is 0: no alert could ever be delivered");
        let quick = AlertSettings { watch_every: Duration::ZERO, ..AlertSettings::default() };
        assert_eq!(quick.check().unwrap_err(), "`alerts.watch_every` is 0ns: it must be at least 1ms");
    }
}
