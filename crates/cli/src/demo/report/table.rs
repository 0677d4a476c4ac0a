//! The summary at the end: a table for people, one JSON object for programs.
//! Data, so it goes to stdout; it must not hide what our way costs.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::contender::ATTEMPT_TIMEOUT;
use super::play::{Circuit, Outcome};
use super::script::Script;

/// Both runs, measured.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) script: Script,
    pub(crate) rate: u32,
    pub(crate) steadfast: Outcome,
    pub(crate) three_attempts: Outcome,
}

/// A line of the table: its words, and where its number is.
type Line = (&'static str, fn(&Outcome) -> u64);

const LINES: [Line; 10] = [
    ("calls", |run| run.calls.made),
    ("  ok", |run| run.calls.ok),
    ("  attempted and failed", |run| run.calls.failed),
    ("  refused at once, nothing sent", |run| run.calls.refused),
    ("    of these when the service was up again", |run| run.calls.refused_while_up),
    ("ms until a call without success ended, on average", |run| run.until_error_ms()),
    ("requests that reached the service", |run| run.seen.requests),
    ("  while it was down", |run| run.seen.while_down),
    ("  repeats of work already done, recognised by their key", |run| run.seen.repeats),
    ("calls that took effect although their caller saw an error", |run| run.took_effect_unseen()),
];

impl Outcome {
    /// Every call that was answered was carried out, once; what was carried out beyond that, no caller knows of.
    fn took_effect_unseen(&self) -> u64 {
        self.seen.carried_out.saturating_sub(self.calls.ok)
    }

    /// How long a caller without success was kept, on average.
    fn until_error_ms(&self) -> u64 {
        millis(self.calls.until_error) / (self.calls.failed + self.calls.refused).max(1)
    }
}

impl Report {
    pub(crate) fn to_table(&self) -> String {
        let mut table = format!("{:<58}  {:>9}  {:>10}\n", self.heading(), "Steadfast", "3 attempts");
        for (words, number) in LINES {
            let (ours, theirs) = (number(&self.steadfast), number(&self.three_attempts));
            let _ = writeln!(table, "{words:<58}  {ours:>9}  {theirs:>10}");
        }
        let _ = writeln!(table, "\n{}", self.in_words());
        table
    }

    /// What it won, and what it cost.
    fn in_words(&self) -> String {
        let (ours, theirs) = (&self.steadfast, &self.three_attempts);
        let mut words = format!(
            "While it was down, the service got {} requests instead of {}.\n\
             The price: {} calls were refused when it was up again, until probes had succeeded.",
            ours.seen.while_down, theirs.seen.while_down, ours.calls.refused_while_up,
        );
        if let Some(breaker) = &ours.breaker {
            let _ = write!(words, "\n{}", breaker.in_words());
        }
        words
    }

    fn heading(&self) -> String {
        let (length, outage) = (self.script.length(), self.script.outage());
        format!("{length:?}, {} calls/s, down for {outage:.1?}", self.rate)
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "seconds": self.script.length().as_secs(),
            "rate": self.rate,
            "down_ms": millis(self.script.outage()),
            "attempt_timeout_ms": millis(ATTEMPT_TIMEOUT),
            "open_for_ms": millis(self.script.open_for()),
            "steadfast": run_json(&self.steadfast),
            "three_attempts": run_json(&self.three_attempts),
        })
    }
}

impl Circuit {
    fn in_words(&self) -> String {
        let Self { state, trips, failed_probes, closed_after } = *self;
        let end = match closed_after {
            Some(time) => format!("closed {:.1}s after the service was back", time.as_secs_f64()),
            None => format!("{state} at the end"),
        };
        let (trip, probe) = (plural(trips, "trip"), plural(failed_probes, "probe"));
        format!("The breaker: {trips} {trip}, {failed_probes} failed {probe}, {end}.")
    }
}

fn plural(count: u32, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

fn run_json(run: &Outcome) -> Value {
    json!({
        "calls": run.calls.made,
        "ok": run.calls.ok,
        "failed": run.calls.failed,
        "refused": run.calls.refused,
        "refused_while_up": run.calls.refused_while_up,
        "retries": run.calls.retries,
        "until_error_ms": run.until_error_ms(),
        "requests": run.seen.requests,
        "requests_while_down": run.seen.while_down,
        "repeats": run.seen.repeats,
        "carried_out": run.seen.carried_out,
        "took_effect_unseen": run.took_effect_unseen(),
        "breaker": run.breaker.map(|breaker| json!({
            "state": breaker.state.as_str(),
            "trips": breaker.trips,
            "failed_probes": breaker.failed_probes,
            "closed_after_ms": breaker.closed_after.map(millis),
        })),
    })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use steadfast_resilience::breaker::State;

    use super::super::client::Calls;
    use super::super::service::Seen;
    use super::*;

    fn report() -> Report {
        let steadfast = Outcome {
            calls: Calls {
                made: 900,
                ok: 400,
                failed: 12,
                refused: 488,
                refused_while_up: 90,
                retries: 8,
                until_error: Duration::from_millis(1_500),
            },
            seen: Seen { requests: 420, while_down: 13, carried_out: 401, repeats: 6 },
            breaker: Some(Circuit {
                state: State::Closed,
                trips: 1,
                failed_probes: 2,
                closed_after: Some(Duration::from_millis(912)),
            }),
        };
        let three_attempts = Outcome {
            calls: Calls {
                made: 900,
                ok: 550,
                failed: 350,
                until_error: Duration::from_secs(140),
                ..Calls::default()
            },
            seen: Seen { requests: 1_680, while_down: 1_125, carried_out: 550, repeats: 5 },
            breaker: None,
        };
        Report { script: Script::of_seconds(9), rate: 100, steadfast, three_attempts }
    }

    #[test]
    fn the_table_reads_well() {
        let expected = "\
9s, 100 calls/s, down for 4.0s                              Steadfast  3 attempts
calls                                                             900         900
  ok                                                              400         550
  attempted and failed                                             12         350
  refused at once, nothing sent                                   488           0
    of these when the service was up again                         90           0
ms until a call without success ended, on average                   3         400
requests that reached the service                                 420        1680
  while it was down                                                13        1125
  repeats of work already done, recognised by their key             6           5
calls that took effect although their caller saw an error           1           0

While it was down, the service got 13 requests instead of 1125.
The price: 90 calls were refused when it was up again, until probes had succeeded.
The breaker: 1 trip, 2 failed probes, closed 0.9s after the service was back.
";
        assert_eq!(report().to_table(), expected);
    }

    #[test]
    fn json_names_its_units_and_has_no_breaker_where_there_is_none() {
        let json = report().to_json();
        assert_eq!(json["down_ms"], 4_000);
        assert_eq!(json["steadfast"]["breaker"]["closed_after_ms"], 912);
        assert!(json["three_attempts"]["breaker"].is_null());
    }
}
