//! The summary at the end: a table for people, one JSON object for programs.
//! Data, so it goes to stdout.

mod json;
mod table;

use super::play::Outcome;
use super::script::Script;

/// Both runs, measured.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) script: Script,
    pub(crate) rate: u32,
    pub(crate) steadfast: Outcome,
    pub(crate) three_attempts: Outcome,
}

impl Outcome {
    /// Every call that was answered was carried out, once; what was carried out beyond that, no caller knows of.
    pub(super) fn took_effect_unseen(&self) -> u64 {
        self.seen.carried_out.saturating_sub(self.calls.ok)
    }

    /// How long a caller without success was kept, on average.
    pub(super) fn until_error_ms(&self) -> u64 {
        json::millis(self.calls.until_error) / (self.calls.failed + self.calls.refused).max(1)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use steadfast_resilience::breaker::State;

    use super::super::client::Calls;
    use super::super::ledger::Seen;
    use super::super::play::Circuit;
    use super::super::recovery::Recovery;
    use super::*;

    fn steadfast() -> Outcome {
        Outcome {
            calls: Calls {
                made: 900,
                ok: 560,
                failed: 41,
                refused: 299,
                refused_while_up: 40,
                retries: 14,
                until_error: Duration::from_secs(17),
                most_late: Duration::from_millis(9),
            },
            recovery: Recovery { calls: 400, ok: 360, after: Some(Duration::from_millis(420)) },
            seen: Seen {
                requests: 615,
                while_down: 43,
                served: 615,
                for_nobody: 43,
                carried_out: 602,
                repeats: 13,
            },
            breaker: Some(Circuit {
                state: State::Closed,
                trips: 1,
                failed_probes: 1,
                closed_after: Some(Duration::from_millis(412)),
                last_open: Some(Duration::from_millis(1_580)),
            }),
        }
    }

    fn report() -> Report {
        let three_attempts = Outcome {
            calls: Calls {
                made: 900,
                ok: 200,
                failed: 700,
                until_error: Duration::from_secs(840),
                ..Calls::default()
            },
            recovery: Recovery { calls: 400, ok: 0, after: None },
            seen: Seen {
                requests: 2_304,
                while_down: 712,
                served: 920,
                for_nobody: 720,
                carried_out: 470,
                repeats: 450,
            },
            breaker: None,
        };
        Report { script: Script::of_seconds(9), rate: 100, steadfast: steadfast(), three_attempts }
    }

    #[test]
    fn the_table_reads_well() {
        let expected = "\
9s, 100 calls/s, down for 3.0s                                     Steadfast          3 attempts
calls                                                                    900                 900
  ok                                                                     560                 200
  attempted and failed                                                    41                 700
  refused at once, nothing sent                                          299                   0
    of these when the service was up again                                40                   0
calls made after the service was back that were ok          360 of 400 (90%)       0 of 400 (0%)
time from its return until calls succeeded again                        0.4s  not before the end
time until a call without success ended, on average                     50ms              1200ms
requests that reached the service                                        615                2304
  while it was down                                                       43                 712
  served for nobody, the caller had given up                              43                 720
  repeats of work already done, recognised by their key                   13                 450
  still in its queue at the end                                            0                1384
calls that took effect, and whose caller saw an error                     42                 270

Once the service was back, calls succeeded again
after 0.4s with Steadfast, and not before the end (4.0s) with 3 attempts.
The breaker: 1 trip, 1 failed probe, closed 0.4s after the service was back.
The price: 40 calls refused although the service was up again. A breaker waits out its open time
before it probes, however soon the service is back; the last one was 1.6s.
";
        assert_eq!(report().to_table(), expected);
    }

    /// The words follow the numbers, also where they speak against us.
    #[test]
    fn the_conclusion_says_who_did_not_recover_and_names_no_price_where_none_was_paid() {
        let mut report = report();
        std::mem::swap(&mut report.steadfast, &mut report.three_attempts);
        let table = report.to_table();
        let conclusion = table.lines().skip_while(|line| !line.is_empty()).collect::<Vec<_>>();
        assert_eq!(
            conclusion,
            [
                "",
                "Once the service was back, calls succeeded again",
                "not before the end (4.0s) with Steadfast, and after 0.4s with 3 attempts.",
            ]
        );
    }

    #[test]
    fn a_busy_machine_is_mentioned() {
        let mut report = report();
        assert!(!report.to_table().contains("busy"));
        report.three_attempts.calls.most_late = Duration::from_millis(400);
        assert!(report.to_table().ends_with("up to 0.4s late, so take these numbers with care.\n"));
    }

    #[test]
    fn json_names_its_units_and_has_no_breaker_where_there_is_none() {
        let json = report().to_json();
        assert_eq!((&json["down_ms"], &json["service_time_us"]), (&3_000.into(), &8_000.into()));
        assert_eq!(json["steadfast"]["breaker"]["closed_after_ms"], 412);
        assert_eq!(json["steadfast"]["recovered_after_ms"], 420);
        assert!(json["three_attempts"]["breaker"].is_null());
        assert_eq!(json["three_attempts"]["recovered"], false);
    }
}
