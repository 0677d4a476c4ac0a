//! The simulation for programs.

use std::time::Duration;

use serde_json::{Value, json};
use steadfast_resilience::simulate::Report;

use super::Simulated;

impl Simulated<'_> {
    pub(super) fn json(&self) -> Value {
        let waits = self.waits.all().iter().map(|wait| {
            json!({
                "shortest_ms": millis(wait.shortest), "mean_ms": millis(wait.mean), "longest_ms": millis(wait.longest),
            })
        });
        let reports = self.comparison.reports().iter();
        let variants: serde_json::Map<_, _> =
            reports.map(|(variant, report)| (variant.as_str().replace(' ', "_"), of(report))).collect();
        json!({
            "name": self.args.name,
            "outage_ms": millis(self.args.outage),
            "rps": self.args.rps,
            "clients": self.args.clients,
            "seed": self.args.seed,
            "waits": waits.collect::<Vec<_>>(),
            "waits_end": self.waits.stop().as_str(),
            "variants": variants,
            "missed": self.missed(),
        })
    }
}

fn of(report: &Report) -> Value {
    let seconds = report.seconds().iter().map(|second| {
        json!({
            "offered": second.offered, "sent": second.sent, "served": second.served,
            "succeeded": second.succeeded, "refused": second.refused, "under_way": second.under_way,
        })
    });
    json!({
        "amplification": report.amplification(),
        "herd_peak": report.herd_peak(),
        "steady_peak": report.steady_peak(),
        "recovery_ms": report.recovery().map(millis),
        "sent_in_outage": report.sent_in_outage(),
        "retries": report.retries(),
        "calls_in_trouble": report.calls_in_trouble(),
        "calls_saved": report.calls_saved(),
        "calls_failed": report.calls_failed(),
        "calls_refused": report.calls_refused(),
        "calls_under_way": report.calls_under_way(),
        "slowest_success_ms": millis(report.slowest_success()),
        "outage_from_s": report.outage().start,
        "outage_until_s": report.outage().end,
        "seconds": seconds.collect::<Vec<_>>(),
    })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
