//! Rules about the kinds of failures that settings name.

use super::Seen;
use crate::classify::Kind;
use crate::policy::Severity;
use crate::retry::On;
use steadfast_form::nearest;

impl Seen<'_> {
    /// A kind may be the user's own, but one that is nearly a known one is probably misspelt.
    pub(super) fn misspelt_kinds(&mut self) {
        let retry = self.retry.settings().rules.iter().map(|rule| ("retry", &rule.on));
        let classify = self.service.reclassify.iter().map(|(on, _)| ("classify", on));
        let mut named: Vec<_> = retry
            .chain(classify)
            .filter_map(|(key, on)| match on {
                On::Kind(kind) => Some((key, *kind)),
                _ => None,
            })
            .collect();
        if let Some(breaker) = self.service.breaker.as_ref().map(crate::breaker::Builder::settings) {
            let kinds = breaker.kinds.iter().map(|(kind, _)| kind);
            named
                .extend(kinds.chain(&breaker.at_once).chain(&breaker.ignored).map(|kind| ("breaker", *kind)));
        }
        for (key, kind) in named {
            if Kind::KNOWN.contains(&kind) {
                continue;
            }
            let Some(known) = nearest(kind.as_str(), Kind::KNOWN.iter().map(|kind| kind.as_str())) else {
                continue;
            };
            self.find(
                Severity::Warning,
                ("misspelt-kind", key),
                format!(
                    "`{}` is no kind that the library knows, and looks like `{known}`",
                    kind.as_str().escape_debug()
                ),
                "a rule for a kind that no failure ever has does nothing",
                format!("write `{known}`, or give a kind of your own a name that is further away"),
            );
        }
    }
}
