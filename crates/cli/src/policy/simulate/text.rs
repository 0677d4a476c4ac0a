//! The simulation for people: the waits, one call's timeline, the load, the figures side by side.

use std::fmt::Write as _;
use std::time::Duration;

use steadfast_resilience::simulate::{Report, Variant};

use super::{Simulated, load, timeline};

/// Fewer calls than this tell little.
const FEW_CALLS: u64 = 100;
/// The most waits that are listed one by one.
const WAITS_SHOWN: usize = 12;

/// A line of the table: its words, and what it says of a variant.
type Line = (&'static str, fn(&Report) -> String);

const LINES: [Line; 10] = [
    ("requests by calls, worst 10 s", |report| format!("{:.2}", report.amplification())),
    ("requests while it was down", |report| report.sent_in_outage().to_string()),
    ("worst 0.1 s after its return, by normal", |report| format!("{:.1}x", report.herd_peak())),
    ("calls succeed again after", recovery),
    ("calls from the outage until then", |report| report.calls_in_trouble().to_string()),
    ("  succeeded", |report| report.calls_saved().to_string()),
    ("  failed", |report| report.calls_failed().to_string()),
    ("  refused at once, nothing sent", |report| report.calls_refused().to_string()),
    ("  under way at the end", |report| report.calls_under_way().to_string()),
    ("slowest success", |report| seconds(report.slowest_success())),
];

impl Simulated<'_> {
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.title());
        self.waits(&mut text);
        let _ = writeln!(
            text,
            "\none call whose every attempt fails at once, with mean waits (x: an attempt, 2: two of them)\n"
        );
        text.push_str(&timeline::draw(&self.waits.attempts()));
        text.push('\n');
        text.push_str(&load::draw(&self.comparison));
        text.push('\n');
        self.table(&mut text);
        text
    }

    fn waits(&self, text: &mut String) {
        let waits = self.waits.all();
        if waits.is_empty() {
            let _ = writeln!(text, "no retries");
            return;
        }
        let _ =
            writeln!(text, "wait before each retry    shortest      mean   longest   mean since the call");
        let attempts = self.waits.attempts();
        for (number, wait) in waits.iter().enumerate().take(WAITS_SHOWN) {
            let since = attempts.get(number + 1).copied().unwrap_or_default();
            let _ = writeln!(
                text,
                "{:>22}  {:>10}{:>10}{:>10}{:>22}",
                number + 1,
                seconds(wait.shortest),
                seconds(wait.mean),
                seconds(wait.longest),
                seconds(since)
            );
        }
        if waits.len() > WAITS_SHOWN {
            let _ = writeln!(text, "{:>22}  and {} more", "...", waits.len() - WAITS_SHOWN);
        }
        let _ = writeln!(
            text,
            "{:>22}  {}; the waits take {} at the longest",
            "then",
            self.waits.stop(),
            seconds(self.waits.longest())
        );
    }

    fn table(&self, text: &mut String) {
        let _ = write!(text, "{:<40}", "");
        for variant in Variant::ALL {
            let _ = write!(text, "{:>12}", variant.as_str());
        }
        text.push('\n');
        for (words, value) in LINES {
            let _ = write!(text, "{words:<40}");
            for (_, report) in self.comparison.reports() {
                let _ = write!(text, "{:>12}", value(report));
            }
            text.push('\n');
        }
        if let Some(report) = self.as_written() {
            let peak = report.steady_peak();
            let _ = writeln!(text, "\nThe worst 0.1 s of normal times has {peak:.1}x the mean.");
            if let Some(note) = self.note(report) {
                let _ = writeln!(text, "{note}");
            }
        }
    }
}

impl Simulated<'_> {
    /// What makes the figures say less than they seem to.
    fn note(&self, report: &Report) -> Option<String> {
        let before = report.success_before();
        let calls: u64 = report.seconds().iter().map(|second| u64::from(second.offered)).sum();
        let failed = |report: &Report| report.calls_failed() + report.calls_refused();
        if before < 0.99 {
            Some(format!(
                "Note: only {:.0} % of the calls succeed before the outage. Policy and service do not fit: look at \
                 --capacity, --answer-time and --queue, and at the policy's attempt_timeout and limit.",
                before * 100.0
            ))
        } else if calls < FEW_CALLS {
            Some(format!("Note: these are only {calls} calls. Raise --rps or --look-on to tell more."))
        } else if self.comparison.reports().iter().all(|(_, report)| failed(report) == 0) {
            Some("Note: no attempt failed: the outage ends before attempt_timeout does.".to_owned())
        } else {
            None
        }
    }
}

pub(super) fn recovery(report: &Report) -> String {
    report.recovery().map_or_else(|| "never".to_owned(), seconds)
}

/// A time with as many digits as matter.
pub(super) fn seconds(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 7200.0 => format!("{:.1} h", seconds / 3600.0),
        seconds if seconds >= 600.0 => format!("{:.1} min", seconds / 60.0),
        // What rounds to a second is one: no "1000 ms".
        seconds if seconds >= 0.95 || seconds == 0.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.0} ms", seconds * 1000.0),
    }
}
