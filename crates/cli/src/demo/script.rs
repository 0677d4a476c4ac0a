//! What happens to the service and when: up, down, up again. Pure: the time comes in.
//! Every part is a fixed share of the length, so that a short show tells the same story as a long one.

use std::time::Duration;

/// The script in ninths of its length: long enough before the outage for a budget to fill, three open times of outage
/// so that a probe fails too, and enough time after it for the longest open time to end.
const UP: u32 = 2;
const DOWN: u32 = 3;
const UP_AGAIN: u32 = 4;
const PARTS: u32 = UP + DOWN + UP_AGAIN;

/// Shorter, and the time limit of attempts, which does not shrink with the script, would fill most of the outage.
pub(crate) const MIN_SECONDS: u32 = 4;
/// Here the open time has grown to the library's default of 5 s; a longer show would add nothing.
pub(crate) const MAX_SECONDS: u32 = 45;

/// What the service takes for as many requests as one second brings, in ms: it can serve a quarter more. That is plenty
/// for the calls, and too little for twice as many.
const WORK_PER_SECOND_MS: u64 = 800;

/// What the service does with requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It works through its queue.
    Up,
    /// It takes requests into its queue, and does nothing else.
    Down,
}

impl Mode {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// The course of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script {
    length: Duration,
}

impl Script {
    pub(crate) fn of_seconds(seconds: u32) -> Self {
        Self { length: Duration::from_secs(u64::from(seconds)) }
    }

    pub(crate) fn length(self) -> Duration {
        self.length
    }

    /// When the service goes down.
    pub(crate) fn down_at(self) -> Duration {
        self.length * UP / PARTS
    }

    /// When it is up again.
    pub(crate) fn back_at(self) -> Duration {
        self.length * (UP + DOWN) / PARTS
    }

    /// How long it is down.
    pub(crate) fn outage(self) -> Duration {
        self.back_at() - self.down_at()
    }

    pub(crate) fn mode_at(self, elapsed: Duration) -> Mode {
        if (self.down_at()..self.back_at()).contains(&elapsed) { Mode::Down } else { Mode::Up }
    }

    /// How long it goes on when it is up again.
    pub(crate) fn aftermath(self) -> Duration {
        self.length - self.back_at()
    }

    /// How long the breaker stays open at first.
    pub(crate) fn open_for(self) -> Duration {
        self.length / PARTS
    }

    /// What one request takes the service that is called at this rate.
    pub(crate) fn service_time(self, rate: u32) -> Duration {
        Duration::from_millis(WORK_PER_SECOND_MS) / rate
    }

    /// When each call of a steady stream is made.
    pub(crate) fn arrivals(self, rate: u32) -> impl Iterator<Item = Duration> {
        (0..u64::MAX)
            .map(move |call| Duration::from_secs(call) / rate)
            .take_while(move |arrival| *arrival < self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::super::contender::ATTEMPT_TIMEOUT;
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_service_goes_down_once_and_comes_back() {
        let script = Script::of_seconds(9);
        for (at, mode) in [
            (0, Mode::Up),
            (1_999, Mode::Up),
            (2_000, Mode::Down),
            (4_999, Mode::Down),
            (5_000, Mode::Up),
            (9_000, Mode::Up),
        ] {
            assert_eq!(script.mode_at(ms(at)), mode, "at {at} ms");
        }
    }

    #[test]
    fn nine_seconds_have_an_open_time_of_one() {
        assert_eq!(Script::of_seconds(9).open_for(), ms(1_000));
    }

    #[test]
    fn the_longest_script_has_the_default_open_time() {
        assert_eq!(Script::of_seconds(MAX_SECONDS).open_for(), ms(5_000));
    }

    /// Ten failures trip the breaker once the first attempt has timed out; what was sent until then is the backlog that
    /// can make a probe late. Open times grow by half with each failed probe, each lengthened by up to a tenth.
    #[test]
    fn the_breaker_has_time_to_close_before_the_end() {
        let timeout = ATTEMPT_TIMEOUT.as_secs_f64();
        for (seconds, rate) in (MIN_SECONDS..=MAX_SECONDS).flat_map(|seconds| [(seconds, 50), (seconds, 400)])
        {
            let script = Script::of_seconds(seconds);
            let tripped = timeout + 10.0 / f64::from(rate);
            let backlog = tripped * f64::from(rate) * script.service_time(rate).as_secs_f64();
            for spread in [1.0, 1.05, 1.1] {
                let mut open = script.open_for().as_secs_f64();
                let mut probe = tripped + open * spread;
                while probe + timeout < script.outage().as_secs_f64() + backlog {
                    open *= 1.5;
                    probe += timeout + open * spread;
                }
                let left = (script.length() - script.down_at()).as_secs_f64() - probe;
                assert!(left > script.open_for().as_secs_f64(), "{seconds} s at {rate}/s leave {left} s");
            }
        }
    }

    #[test]
    fn the_service_can_serve_a_quarter_more_than_the_calls_ask_for() {
        let script = Script::of_seconds(9);
        assert_eq!(script.service_time(100), ms(8));
        assert_eq!(script.service_time(400), ms(2));
    }

    #[test]
    fn calls_come_at_a_steady_rate_and_end_with_the_script() {
        let arrivals: Vec<_> = Script::of_seconds(4).arrivals(100).collect();
        assert_eq!(arrivals.len(), 400);
        assert_eq!((arrivals[0], arrivals[1], arrivals[399]), (ms(0), ms(10), ms(3_990)));
    }

    #[test]
    fn rates_that_do_not_divide_a_second_still_make_every_call() {
        assert_eq!(Script::of_seconds(7).arrivals(333).count(), 7 * 333);
    }
}
