//! The summary for people: a table, and a conclusion that says only what the numbers say.
//! It must not hide what our way costs.

use std::fmt::Write as _;
use std::time::Duration;

use super::super::play::{Circuit, Outcome};
use super::super::recovery::Recovery;
use super::Report;

/// Half of what an attempt may take: calls that begin later than this may fail for that alone.
const MAX_LATE: Duration = Duration::from_millis(150);

/// A line of the table: its words, and what it says of a run.
type Line = (&'static str, fn(&Outcome) -> String);

const LINES: [Line; 14] = [
    ("calls", |run| run.calls.made.to_string()),
    ("  ok", |run| run.calls.ok.to_string()),
    ("  attempted and failed", |run| run.calls.failed.to_string()),
    ("  refused at once, nothing sent", |run| run.calls.refused.to_string()),
    ("    of these when the service was up again", |run| run.calls.refused_while_up.to_string()),
    ("calls made after the service was back that were ok", |run| run.recovery.share()),
    ("time from its return until calls succeeded again", |run| run.recovery.time()),
    ("time until a call without success ended, on average", |run| format!("{}ms", run.until_error_ms())),
    ("requests that reached the service", |run| run.seen.requests.to_string()),
    ("  while it was down", |run| run.seen.while_down.to_string()),
    ("  served for nobody, the caller had given up", |run| run.seen.for_nobody.to_string()),
    ("  repeats of work already done, recognised by their key", |run| run.seen.repeats.to_string()),
    ("  still in its queue at the end", |run| run.seen.waiting().to_string()),
    ("calls that took effect, and whose caller saw an error", |run| run.took_effect_unseen().to_string()),
];

impl Recovery {
    fn share(&self) -> String {
        format!("{} of {} ({}%)", self.ok, self.calls, self.ok * 100 / self.calls.max(1))
    }

    fn time(&self) -> String {
        self.after.map_or_else(|| "not before the end".to_owned(), seconds)
    }
}

impl Report {
    pub(crate) fn to_table(&self) -> String {
        let mut table = format!("{:<56}  {:>18}  {:>18}\n", self.heading(), "Steadfast", "3 attempts");
        for (words, value) in LINES {
            let (ours, theirs) = (value(&self.steadfast), value(&self.three_attempts));
            let _ = writeln!(table, "{words:<56}  {ours:>18}  {theirs:>18}");
        }
        let _ = writeln!(table, "\n{}", self.in_words());
        table
    }

    /// What it won, and what it cost.
    fn in_words(&self) -> String {
        let (ours, theirs) = (&self.steadfast, &self.three_attempts);
        let mut words = format!(
            "Once the service was back, calls succeeded again\n{} with Steadfast, and {} with 3 attempts.",
            self.when(ours.recovery),
            self.when(theirs.recovery),
        );
        if let Some(breaker) = &ours.breaker {
            let _ = write!(words, "\n{}", breaker.in_words());
        }
        words + &price(ours) + &self.doubt()
    }

    /// A machine that stands still makes answers late that the service gave in time, with either way to call.
    fn doubt(&self) -> String {
        let late = self.steadfast.calls.most_late.max(self.three_attempts.calls.most_late);
        if late <= MAX_LATE {
            return String::new();
        }
        format!(
            "\nThis machine was busy: calls began up to {} late, so take these numbers with care.",
            seconds(late)
        )
    }

    fn when(&self, recovery: Recovery) -> String {
        match recovery.after {
            Some(time) => format!("after {}", seconds(time)),
            None => format!("not before the end ({})", seconds(self.script.aftermath())),
        }
    }

    fn heading(&self) -> String {
        let (length, outage) = (self.script.length(), self.script.outage());
        format!("{length:?}, {} calls/s, down for {outage:.1?}", self.rate)
    }
}

impl Circuit {
    fn in_words(&self) -> String {
        let Self { state, trips, failed_probes, closed_after, .. } = *self;
        let end = match closed_after {
            Some(time) => format!("closed {} after the service was back", seconds(time)),
            None => format!("{state} at the end"),
        };
        let (trip, probe) = (plural(trips, "trip"), plural(failed_probes, "probe"));
        format!("The breaker: {trips} {trip}, {failed_probes} failed {probe}, {end}.")
    }
}

/// What the service could have answered, had the breaker known that it was back. Nothing if there was none.
fn price(run: &Outcome) -> String {
    match (run.calls.refused_while_up, run.breaker.and_then(|breaker| breaker.last_open)) {
        (refused @ 1.., Some(open)) => format!(
            "\nThe price: {refused} calls refused although the service was up again. A breaker waits out its open \
             time\nbefore it probes, however soon the service is back; the last one was {}.",
            seconds(open),
        ),
        _ => String::new(),
    }
}

fn plural(count: u32, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

fn seconds(time: Duration) -> String {
    format!("{:.1}s", time.as_secs_f64())
}
