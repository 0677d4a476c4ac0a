//! The known anti-patterns: settings that are valid, do what they say, and hurt.
//!
//! Each rule says why it hurts and what to do. Most need nothing but the file; some need what only people know, which
//! they write under `facts`.

mod rules;

use std::fmt;

use super::service::Entry;
use super::{Complaint, Policies};
use crate::problem::Code;
use steadfast_form::Place;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// It will hurt one day.
    Warning,
    /// It hurts the service, or does nothing that it seems to do.
    Error,
}

impl Severity {
    /// The severity as one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing about a policy that hurts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule, such as `no-jitter`.
    pub rule: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// Where the service or operation stands in the file.
    pub at: Place,
    /// What it is about: `service.payments`, or `default`.
    pub key: String,
    /// What was found.
    pub what: String,
    /// Why it hurts.
    pub why: &'static str,
    /// What to do.
    pub hint: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, severity, key, what, why, hint, .. } = self;
        write!(f, "{severity}: {key}: {what} [{rule}]\n  why: {why}\n  do:  {hint}")
    }
}

impl Policies {
    /// Holds every service, operation and the default against the known anti-patterns. Sorted by place.
    #[must_use]
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut look = |key: &str, entry: &Entry| {
            rules::look(key, &entry.service, &mut findings);
            for (name, operation) in &entry.operations {
                rules::look(
                    &format!("{key}.operation.{name}"),
                    &operation.as_service(&entry.service),
                    &mut findings,
                );
            }
        };
        look("default", &self.inner.default);
        for (name, service) in &self.inner.services {
            look(&format!("service.{name}"), service);
        }
        for warning in self.warnings().iter().map(warned) {
            let of = |key: &str| warning.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
            let told = |known: &Finding| known.rule == warning.rule && of(&known.key);
            if !findings.iter().any(told) {
                findings.push(warning);
            }
        }
        // What a service has from the default is told once, there.
        let of_default: Vec<_> = findings.iter().filter(|f| f.key == "default").cloned().collect();
        findings.retain(|finding| {
            finding.key == "default"
                || !of_default.iter().any(|known| known.rule == finding.rule && known.what == finding.what)
        });
        findings.sort_by(|one, other| (one.at, &one.key, one.rule).cmp(&(other.at, &other.key, other.rule)));
        findings
    }
}

/// What the reader warned of is a finding like any other.
fn warned(warning: &Complaint) -> Finding {
    let (rule, why, hint) = match warning.code {
        Code::Multiplied => (
            "nested-retries",
            "layers of retries multiply, and all of them add load to a service that is already failing",
            "retry in one layer: remove `retry_despite_sdk`, or switch the SDK's retries off and say `sdk_retries = 0`",
        ),
        Code::NeverTrips => (
            "quiet-breaker",
            "with few calls the breaker looks like protection and is none",
            "add `consecutive`, lower min_calls, or lengthen the window",
        ),
        _ => (
            "no-effect",
            "somebody believes that a setting holds, and it does not: that comes to light in the next outage",
            "remove the setting, or change the one that overrules it",
        ),
    };
    Finding {
        rule,
        severity: Severity::Warning,
        at: warning.at,
        key: warning.key.clone(),
        what: format!("{} ({})", warning.message, warning.code),
        why,
        hint: hint.to_owned(),
    }
}
