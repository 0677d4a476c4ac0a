//! Rules about the limit on calls.

use super::Seen;
use crate::limit::Builder;
use crate::policy::Severity;
use crate::policy::duration::print;

impl Seen<'_> {
    /// A limit that usual traffic does not fit through refuses good calls all day.
    pub(super) fn limit_below_traffic(&mut self, limit: &Builder) {
        let (concurrent, rate) = limit.most();
        let facts = self.service.facts;
        let Some(calls) = facts.calls_per_second else { return };
        let (why, rule) =
            ("good calls are refused while everything is well", ("limit-below-traffic", "limit"));
        if let Some(rate) = rate.filter(|rate| *rate < calls) {
            let what = format!("the limit lets {rate} calls/s through, there are {calls}");
            self.find(Severity::Error, rule, what, why, format!("set rate to {calls} or more"));
        }
        let Some(typical) = facts.typical else { return };
        // As many are under way as come while one lasts.
        let at_once = calls * typical.as_secs_f64();
        if let Some(most) = concurrent.filter(|most| f64::from(*most) < at_once) {
            let what = format!(
                "the limit lets {most} calls be made at once; at {calls} calls/s of {} each there are {at_once:.1}",
                print(typical)
            );
            self.find(
                Severity::Error,
                rule,
                what,
                why,
                format!("set concurrent to {} or more", (at_once * 2.0).ceil()),
            );
        }
    }
}
