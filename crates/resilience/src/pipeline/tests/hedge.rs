//! Hedged calls: the first good answer counts, and nobody is asked who must not be.

use std::cell::{Cell, RefCell};

use super::*;
use crate::limit::Limit;
use crate::pipeline::Hedge;
use crate::retry::Budget;

const AFTER: Hedge = Hedge::after(Duration::from_millis(100));

/// Answers of the requests in their order: after how long, and what.
struct Answers<'a> {
    clock: &'a VirtualClock,
    answers: Vec<(Duration, Result<u32, Fault>)>,
    asked: RefCell<Vec<(u32, u32, Moment)>>,
    given_up: Cell<u32>,
}

/// Counts a request that was dropped before it had answered.
struct Asked<'a>(&'a Cell<u32>, bool);

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.set(self.0.get() + 1);
        }
    }
}

impl<'a> Answers<'a> {
    fn new(clock: &'a VirtualClock, answers: &[(u64, Result<u32, Fault>)]) -> Self {
        let answers = answers.iter().map(|(millis, answer)| (ms(*millis), answer.clone())).collect();
        Self { clock, answers, asked: RefCell::default(), given_up: Cell::new(0) }
    }

    async fn ask(&self, attempt: Attempt) -> Result<u32, Fault> {
        let number = self.asked.borrow().len();
        self.asked.borrow_mut().push((attempt.number(), attempt.hedge(), self.clock.now()));
        let mut asked = Asked(&self.given_up, false);
        let (time, answer) = self.answers[number].clone();
        self.clock.timer(time).await;
        asked.1 = true;
        answer
    }

    fn times(&self) -> Vec<u64> {
        let since = |(_, _, at): &(u32, u32, Moment)| (at.as_nanos() - 1_000_000_000) / 1_000_000;
        self.asked.borrow().iter().map(since).collect()
    }
}

fn hedged(
    clock: &VirtualClock,
    pipeline: &Pipeline,
    hedge: Hedge,
    answers: &Answers<'_>,
) -> Result<u32, Error<Fault>> {
    clock.block_on(pipeline.call().hedge(hedge).run(|attempt| answers.ask(attempt)))
}

#[test]
fn a_quick_answer_is_asked_for_once() {
    let (clock, pipeline) = bench(|builder| builder);
    let answers = Answers::new(&clock, &[(99, Ok(1))]);
    assert_eq!(hedged(&clock, &pipeline, AFTER, &answers).unwrap(), 1);
    assert_eq!(answers.times(), [0]);
}

#[test]
fn a_slow_answer_is_overtaken_and_given_up() {
    let (clock, pipeline) = bench(|builder| builder);
    let answers = Answers::new(&clock, &[(5_000, Ok(1)), (50, Ok(2))]);
    assert_eq!(hedged(&clock, &pipeline, AFTER, &answers).unwrap(), 2);
    assert_eq!(answers.times(), [0, 100]);
    assert_eq!(clock.now(), Moment::ZERO + s(1) + ms(150));
    assert_eq!(answers.given_up.get(), 1, "the slow one was dropped");
    let report = pipeline.report();
    assert_eq!((report.attempts, report.hedges, report.succeeded), (2, 1, 1));
    assert_eq!(answers.asked.borrow()[1], (0, 1, Moment::ZERO + s(1) + ms(100)), "the same attempt, hedge 1");
}

#[test]
fn the_first_may_still_win_and_no_more_are_made_than_asked_for() {
    let (clock, pipeline) = bench(|builder| builder);
    let answers = Answers::new(&clock, &[(900, Ok(1)), (5_000, Ok(2)), (5_000, Ok(3))]);
    assert_eq!(hedged(&clock, &pipeline, AFTER.at_most(2), &answers).unwrap(), 1);
    assert_eq!(answers.times(), [0, 100, 200]);
    assert_eq!(answers.given_up.get(), 2);
}

#[test]
fn one_failure_beside_others_does_not_end_the_attempt_and_a_terminal_answer_does() {
    let (clock, pipeline) = bench(|builder| builder);
    let answers = Answers::new(&clock, &[(150, Err(Fault::BUSY)), (500, Ok(2))]);
    assert_eq!(hedged(&clock, &pipeline, AFTER, &answers).unwrap(), 2);
    let answers = Answers::new(&clock, &[(5_000, Ok(1)), (10, Err(Fault::WRONG))]);
    let error = hedged(&clock, &pipeline, AFTER, &answers).unwrap_err();
    assert_eq!((error.stop(), error.operation()), (Stop::Terminal, Some(&Fault::WRONG)));
}

#[test]
fn when_all_failed_the_retry_policy_decides() {
    let (clock, pipeline) = bench(|builder| builder);
    let answers = Answers::new(&clock, &[(150, Err(Fault::BUSY)), (100, Err(Fault::BUSY)), (10, Ok(3))]);
    assert_eq!(hedged(&clock, &pipeline, AFTER, &answers).unwrap(), 3);
    assert_eq!(
        answers.times(),
        [0, 100, 1_200],
        "the second one failed at 200 ms, and then came the wait of a second"
    );
    assert_eq!(answers.asked.borrow()[2].0, 1, "the second attempt");
}

#[test]
fn the_breaker_hears_of_every_request_that_ended() {
    let breaker = Breaker::failures(100).within(s(30));
    let (clock, pipeline) = bench(|builder| builder.breaker(breaker).no_retry());
    let answers = Answers::new(&clock, &[(150, Err(Fault::BUSY)), (500, Ok(2))]);
    hedged(&clock, &pipeline, AFTER, &answers).unwrap();
    let report = pipeline.breaker().unwrap().report();
    assert_eq!((report.calls, report.failures), (2, 1));
    let answers = Answers::new(&clock, &[(5_000, Ok(1)), (10, Ok(2))]);
    hedged(&clock, &pipeline, AFTER, &answers).unwrap();
    let report = pipeline.breaker().unwrap().report();
    assert_eq!((report.calls, report.failures), (3, 1), "the one that was given up says nothing");
}

#[test]
fn a_hedge_is_paid_from_the_budget_and_needs_a_place() {
    let (clock, pipeline) = bench(|builder| builder.budget(Budget::share(0.1).reserve(1)));
    let slow = [(1_000, Ok(1)), (1_000, Ok(2))];
    let answers = Answers::new(&clock, &slow);
    hedged(&clock, &pipeline, AFTER, &answers).unwrap();
    assert_eq!(answers.times().len(), 2);
    let answers = Answers::new(&clock, &slow);
    hedged(&clock, &pipeline, AFTER, &answers).unwrap();
    assert_eq!(answers.times().len(), 1, "the budget is spent");

    let (clock, pipeline) = bench(|builder| builder.limit(Limit::concurrent(1)));
    let answers = Answers::new(&clock, &slow);
    hedged(&clock, &pipeline, AFTER, &answers).unwrap();
    assert_eq!(answers.times().len(), 1, "no second place");
    let (clock, pipeline) = bench(|builder| builder.limit(Limit::concurrent(2)));
    let answers = Answers::new(&clock, &slow);
    hedged(&clock, &pipeline, AFTER, &answers).unwrap();
    assert_eq!((answers.times().len(), pipeline.limit().unwrap().in_flight()), (2, 0));
}

#[test]
fn what_must_not_be_repeated_is_not_hedged_and_a_half_open_breaker_gets_one_probe() {
    let slow = [(1_000, Ok(1)), (1_000, Ok(2))];
    let (clock, pipeline) = bench(Builder::not_idempotent);
    let answers = Answers::new(&clock, &slow);
    hedged(&clock, &pipeline, AFTER, &answers).unwrap();
    assert_eq!(answers.times().len(), 1);

    let (clock, pipeline) = bench(|builder| builder.breaker(Breaker::consecutive(5).half_open_permits(5)));
    pipeline.breaker().unwrap().half_open("test", "test");
    let answers = Answers::new(&clock, &slow);
    hedged(&clock, &pipeline, AFTER, &answers).unwrap();
    assert_eq!(answers.times().len(), 1);
}

#[test]
fn the_attempts_time_limit_holds_for_all_of_its_requests() {
    let (clock, pipeline) = bench(|builder| builder.attempt_timeout(ms(300)).no_retry());
    let answers = Answers::new(&clock, &[(5_000, Ok(1)), (5_000, Ok(2))]);
    assert!(hedged(&clock, &pipeline, AFTER, &answers).unwrap_err().is_timed_out());
    assert_eq!((clock.now(), answers.given_up.get()), (Moment::ZERO + s(1) + ms(300), 2));
}

#[cfg(feature = "policy")]
#[test]
fn what_failures_mean_by_the_settings_holds_for_hedged_requests_too() {
    use crate::Class;
    use crate::retry::On;
    let lost = Fault(Verdict::transient(Kind::CONNECTION_LOST));
    let slow_answers = [(500, Err(lost.clone())), (50, Err(lost.clone())), (50, Err(lost))];
    for (neutral, closed) in [(true, true), (false, false)] {
        let rules =
            if neutral { vec![(On::Kind(Kind::CONNECTION_LOST), Class::Neutral)] } else { Vec::new() };
        let (clock, pipeline) =
            bench(|builder| builder.reclassify(rules).breaker(Breaker::consecutive(2)).retry(Retry::none()));
        let answers = Answers::new(&clock, &slow_answers);
        let _ = hedged(&clock, &pipeline, AFTER.at_most(2), &answers);
        assert_eq!(pipeline.breaker().unwrap().is_closed(), closed, "neutral: {neutral}");
    }
}

#[test]
fn a_hedge_that_is_not_made_costs_nothing_of_the_rate() {
    let (clock, pipeline) =
        bench(|builder| builder.limit(Limit::rate(1.0).burst(10)).budget(Budget::share(0.1).reserve(0)));
    for call in 0..10 {
        let answers = Answers::new(&clock, &[(200, Ok(1))]);
        assert_eq!(hedged(&clock, &pipeline, AFTER, &answers).unwrap(), 1, "call {call}");
        assert_eq!(answers.times().len(), 1, "the budget pays for no hedge");
        clock.advance(Duration::ZERO);
    }
}

#[test]
fn a_hedge_is_told_the_time_that_is_left() {
    let (clock, pipeline) = bench(|builder| builder.attempt_timeout(s(1)).server_timeout(s(1)));
    let told = RefCell::new(Vec::new());
    let answer = clock.block_on(pipeline.call().hedge(AFTER).run(|attempt| {
        told.borrow_mut().push((attempt.time_left(), attempt.server_timeout()));
        let clock = &clock;
        async move {
            clock.timer(ms(300)).await;
            Ok::<_, Fault>(())
        }
    }));
    assert!(answer.is_ok());
    assert_eq!(told.into_inner(), [(Some(s(1)), Some(s(1))), (Some(ms(900)), Some(ms(900)))]);
}
