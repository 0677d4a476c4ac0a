//! How the parts work together: classification, keys, budget, breaker, groups, logs of unclassified errors.

use std::sync::{Arc, Mutex};

use super::*;
use crate::breaker::Registry;
use crate::classify::Class;
use crate::pipeline::Group;
use crate::retry::{Budget, Decision};
use crate::{IdempotencyKey, Story};

#[test]
fn every_attempt_carries_the_same_key_and_every_call_another() {
    let (_, pipeline) = bench(|builder| builder);
    let keys_of = |pipeline: &Pipeline| {
        let mut keys = Vec::new();
        let _ = pipeline.run_blocking(|attempt| {
            keys.push(attempt.key());
            Err::<(), _>(Fault::BUSY)
        });
        keys
    };
    let (one, two) = (keys_of(&pipeline), keys_of(&pipeline));
    assert_eq!(one.len(), 4);
    assert!(one.iter().all(|key| *key == one[0]));
    assert_ne!(one[0], two[0]);
    let own = IdempotencyKey::from_u128(7);
    assert_eq!(pipeline.call().key(own).run_blocking(|attempt| Ok::<_, Fault>(attempt.key())).unwrap(), own);
}

#[test]
fn what_is_not_idempotent_is_not_repeated_once_it_may_have_taken_effect() {
    let (_, pipeline) = bench(Builder::not_idempotent);
    let error = pipeline.run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err();
    assert_eq!((error.stop(), error.story().unwrap().attempts()), (Stop::NotIdempotent, 1));
    let untouched = Fault(Verdict::transient(Kind::CONNECT_REFUSED).without_effect());
    let error = pipeline.run_blocking(|_| Err::<(), _>(untouched.clone())).unwrap_err();
    assert_eq!(error.story().unwrap().attempts(), 4);
    let error = pipeline.call().idempotent().run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err();
    assert_eq!(error.story().unwrap().attempts(), 4, "this one operation is declared idempotent");
}

#[test]
fn the_same_error_can_mean_different_things_for_different_operations() {
    let (_, pipeline) = bench(|builder| builder);
    let read = |_: &Result<(), &str>| Verdict::transient(Kind::CONFLICT);
    let write = |_: &Result<(), &str>| Verdict::terminal(Kind::CONFLICT);
    let attempts = |error: Error<&str>| error.story().unwrap().attempts();
    assert_eq!(attempts(pipeline.call().classify(read).run_blocking(|_| Err("conflict")).unwrap_err()), 4);
    assert_eq!(attempts(pipeline.call().classify(write).run_blocking(|_| Err("conflict")).unwrap_err()), 1);
}

#[test]
fn values_can_be_failures_and_are_still_the_callers_in_the_end() {
    #[derive(Debug, PartialEq)]
    struct Reply(u16);
    impl Classify for Reply {
        fn classify(&self) -> Verdict {
            crate::classify::http::status(self.0)
        }
    }
    let (_, pipeline) = bench(|builder| builder.breaker(Breaker::consecutive(100)));
    let mut calls = 0;
    let mut serve = |good: u32| {
        calls = 0;
        pipeline.call().judge_values().run_blocking(|attempt| {
            calls += 1;
            Ok::<_, Fault>(Reply(if attempt.number() == good { 200 } else { 503 }))
        })
    };
    assert_eq!(serve(2).unwrap(), Reply(200));
    assert_eq!(serve(99).unwrap(), Reply(503), "when retries end, the value is returned as it is");
    assert_eq!(calls, 4);
    assert_eq!(pipeline.breaker().unwrap().report().failures, 6, "the breaker counted them");
}

#[test]
fn errors_nobody_classified_are_terminal_counted_and_listed() {
    let (_, pipeline) = bench(|builder| builder);
    for _ in 0..3 {
        let error = pipeline.run_blocking(|_| Err::<(), _>(Fault(Verdict::unclassified()))).unwrap_err();
        assert_eq!((error.stop(), error.story().unwrap().attempts()), (Stop::Unclassified, 1));
    }
    let listed = pipeline.unclassified();
    assert_eq!((listed.len(), listed[0].count), (1, 3));
    assert_eq!(listed[0].message, "the service said unclassified");
    assert!(listed[0].type_name.contains("Fault"));
}

#[test]
fn the_budget_ends_retries_and_refusals_cost_nothing() {
    let (_, pipeline) = bench(|builder| builder.budget(Budget::share(0.1).reserve(2)));
    let error = pipeline.run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err();
    assert_eq!((error.stop(), error.story().unwrap().attempts()), (Stop::BudgetSpent, 3));
    (0..50).for_each(|_| pipeline.run_blocking(|_| Ok::<_, Fault>(())).unwrap());
    assert_eq!(pipeline.budget().unwrap().left(pipeline.now()), 3, "a tenth of fifty, less the two used");
    let clock = VirtualClock::new();
    let breaker = Breaker::standard().clock(&clock).build("shared").unwrap();
    let budget = Budget::share(0.1).reserve(2).build().unwrap();
    let (_, refused) = bench(|builder| builder.clock(&clock).shared_breaker(&breaker).shared_budget(&budget));
    breaker.force_open(None, "test", "down");
    assert!(refused.run_blocking(|_| Ok::<_, Fault>(())).unwrap_err().is_refused());
    assert_eq!(budget.left(refused.now()), 2);
}

#[test]
fn a_retry_gives_up_as_soon_as_the_breaker_opens() {
    let (clock, pipeline) = bench(|builder| builder.breaker(Breaker::consecutive(2).open_for(s(30))));
    let began = clock.now();
    let error = pipeline.run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err();
    assert_eq!((error.stop(), error.story().unwrap().attempts()), (Stop::BreakerOpen, 2));
    assert_eq!(error.operation(), Some(&Fault::BUSY), "the real error, not the refusal");
    assert_eq!(clock.now().since(began), s(1), "no wait for a breaker that will refuse");
    let refused = pipeline.run_blocking(|_| Ok::<_, Fault>(())).unwrap_err();
    assert!(refused.is_refused() && refused.story().is_none());
    assert!(refused.try_again_in().unwrap() >= s(30));
    assert!(refused.to_string().contains("circuit `payments` is open"), "{refused}");
}

#[test]
fn a_retry_that_the_breaker_refuses_after_its_wait_costs_no_budget() {
    let clock = VirtualClock::new();
    let breaker = Breaker::standard().clock(&clock).build("shared").unwrap();
    let budget = Budget::share(0.1).reserve(5).build().unwrap();
    let opening = breaker.clone();
    let retry = Retry::fixed(s(1)).no_jitter().after_failed_try(move |failed| {
        if failed.retries == 1 {
            opening.force_open(None, "test", "down"); // the retry is granted and paid for by now
        }
    });
    let (_, pipeline) =
        bench(|builder| builder.clock(&clock).retry(retry).shared_breaker(&breaker).shared_budget(&budget));
    let error = pipeline.run_blocking(|_| Err::<(), _>(Fault::BUSY));
    let error = error.unwrap_err();
    assert_eq!((error.stop(), error.story().unwrap().attempts()), (Stop::BreakerOpen, 2));
    assert!(!error.is_refused(), "its own error is the cause");
    assert_eq!(budget.left(pipeline.now()), 4, "one retry was made, the other one was given back");
}

#[test]
fn waiting_for_the_breaker_is_opt_in_and_keeps_the_deadline() {
    let breaker = || Breaker::consecutive(1).open_for(s(10)).successes_to_close(1);
    let (clock, pipeline) = bench(|builder| builder.breaker(breaker()).wait_for_breaker());
    let _ = pipeline.call().max_retries(0).run_blocking(|_| Err::<(), _>(Fault::BUSY));
    let hurried = pipeline.call().complete_within(s(5)).run_blocking(|_| Ok::<_, Fault>(()));
    assert!(hurried.unwrap_err().is_refused(), "the probe comes too late for this one");
    let began = clock.now();
    let patient = pipeline.call().complete_within(s(60)).run_blocking(|_| Ok::<_, Fault>(7)).unwrap();
    assert_eq!(patient, 7);
    assert!(clock.now().since(began) >= s(10) && clock.now().since(began) <= s(22));
    let (_, without_deadline) = bench(|builder| builder.breaker(breaker()).wait_for_breaker());
    without_deadline.breaker().unwrap().trip(&Verdict::transient(Kind::TIMEOUT));
    assert!(without_deadline.run_blocking(|_| Ok::<_, Fault>(())).unwrap_err().is_refused());
}

#[test]
fn calls_that_waited_for_one_probe_do_not_come_back_together() {
    let breaker = Breaker::consecutive(1).open_for(s(10)).successes_to_close(1);
    let (clock, pipeline) =
        bench(|builder| builder.breaker(breaker).wait_for_breaker().complete_within(s(60)));
    pipeline.breaker().unwrap().trip(&Verdict::transient(Kind::TIMEOUT));
    let came = std::cell::RefCell::new(Vec::new());
    let call = || {
        pipeline.run(|_| async {
            came.borrow_mut().push(clock.now());
            Ok::<_, Fault>(())
        })
    };
    let done = clock
        .block_on(async { tokio::join!(call(), call(), call(), call(), call(), call(), call(), call()) });
    assert!(done.0.is_ok() && done.7.is_ok());
    let (first, last) = (*came.borrow().iter().min().unwrap(), *came.borrow().iter().max().unwrap());
    assert!(last.since(first) >= s(3), "eight calls within {:?}", last.since(first));
}

#[test]
fn a_call_can_use_the_breaker_of_its_own_host() {
    let (clock, pipeline) = bench(Builder::no_retry);
    let hosts = Registry::builder(Breaker::consecutive(1)).clock(&clock).build("hosts").unwrap();
    let fail =
        |host: &str| pipeline.call().breaker(&hosts.get(host)).run_blocking(|_| Err::<(), _>(Fault::BUSY));
    assert!(!fail("a").unwrap_err().is_refused());
    assert!(fail("a").unwrap_err().is_refused(), "host a is down");
    assert!(!fail("b").unwrap_err().is_refused(), "host b has a breaker of its own");
    assert_eq!(hosts.get("a").report().probes, 0);
    let elsewhere = Breaker::consecutive(1).open_for(s(1)).build("on the system's clock").unwrap();
    let fail =
        || pipeline.call().breaker(&elsewhere).run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err();
    assert!(!fail().is_refused());
    clock.advance(s(3600));
    let refused = fail();
    assert!(refused.is_refused() && refused.try_again_in().unwrap() <= s(2), "its own clock counts");
}

#[test]
fn nothing_is_held_while_a_call_waits() {
    let (clock, pipeline) = bench(|builder| {
        builder.breaker(Breaker::consecutive(1).open_for(ms(100)).successes_to_close(1).half_open_permits(1))
    });
    let breaker = pipeline.breaker().unwrap().clone();
    breaker.half_open("test", "probing");
    let mut call = Box::pin(
        pipeline
            .call()
            .classify(|_: &Result<(), ()>| Verdict::transient(Kind::CONFLICT))
            .run(|_| async { Err(()) }),
    );
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(Future::poll(call.as_mut(), &mut context).is_pending(), "it waits for its retry");
    assert_eq!(breaker.report().probes, 0, "and holds no place meanwhile");
    drop(call);
    clock.advance(s(1));
    assert!(breaker.try_acquire(clock.now()).is_ok());
}

#[test]
fn a_hook_runs_after_each_failed_try() {
    let told: Arc<Mutex<Vec<_>>> = Arc::default();
    let hook = Arc::clone(&told);
    let retry = Retry::fixed(s(1)).no_jitter().max_retries(2).after_failed_try(move |failed| {
        hook.lock().unwrap().push((failed.retries, failed.failure.kind(), *failed.decision, failed.elapsed));
    });
    let (_, pipeline) = bench(|builder| builder.retry(retry));
    let _ = pipeline.run_blocking(|_| Err::<(), _>(Fault::BUSY));
    let (kind, wait) = (Kind::OVERLOADED, Decision::After(s(1)));
    let expected =
        [(0, kind, wait, s(0)), (1, kind, wait, s(1)), (2, kind, Decision::Stop(Stop::MaxRetries), s(2))];
    assert_eq!(*told.lock().unwrap(), expected);
}

#[test]
fn throttling_is_counted_apart() {
    let (_, pipeline) = bench(|builder| builder);
    let error = pipeline
        .run_blocking(|attempt| {
            let throttled = Fault(Verdict::throttled(Kind::THROTTLED).with_hint(s(2)));
            Err::<(), _>(if attempt.number() < 3 { throttled } else { Fault::BUSY })
        })
        .unwrap_err();
    let story: &Story = error.story().unwrap();
    assert_eq!((story.attempts(), story.throttled()), (4, 3));
    assert!(error.to_string().contains("4 attempts") && error.to_string().contains("3 throttled"), "{error}");
    assert!(story.tried()[..3].iter().all(|tried| tried.failure.class() == Class::Throttled));
}

#[test]
fn a_group_is_retried_as_a_whole_with_a_key_for_each_member() {
    let group = Group::new("checkout").member("reserve").member("charge");
    assert!(group.is_idempotent() && group.warnings().is_empty());
    let (clock, pipeline) = bench(|builder| builder);
    let mut reserved = Vec::new();
    let got = pipeline.call().group(&group).run_blocking(|attempt| {
        reserved.push(attempt.key().member("reserve"));
        assert_ne!(attempt.key().member("reserve"), attempt.key().member("charge"));
        if attempt.number() < 2 { Err(Fault::BUSY) } else { Ok(()) }
    });
    got.unwrap();
    assert_eq!(reserved.len(), 3, "every member again each time");
    assert!(reserved.iter().all(|key| *key == reserved[0]));
    assert_eq!(clock.now(), Moment::ZERO + s(3), "waits and elapsed time are the group's");
}

#[test]
fn a_member_that_is_not_idempotent_makes_the_group_so_and_is_warned_of() {
    let group = Group::new("checkout").member("reserve").member_not_idempotent("charge");
    let warnings = group.warnings();
    assert_eq!((warnings.len(), warnings[0].code), (1, crate::Code::NotIdempotent));
    let (_, pipeline) = bench(|builder| builder);
    let error = pipeline.call().group(&group).run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err();
    assert_eq!(error.stop(), Stop::NotIdempotent);
}

#[test]
fn a_seed_replays_the_waits() {
    let waits = |seed: u64| {
        let (_, pipeline) = bench(|builder| builder.retry(Retry::standard().max_retries(3)).seed(seed));
        let error = pipeline.run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err();
        error.story().unwrap().waits().collect::<Vec<_>>()
    };
    let open_time = |seed: u64| {
        let (_, pipeline) = bench(|builder| builder.breaker(Breaker::standard()).seed(seed));
        pipeline.breaker().unwrap().trip(&Verdict::transient(Kind::TIMEOUT));
        pipeline.breaker().unwrap().report().open_for
    };
    assert_eq!(open_time(5), open_time(5));
    assert_ne!(open_time(5), open_time(6));
    assert_eq!(waits(5), waits(5));
    assert_ne!(waits(5), waits(6));
}

#[test]
fn a_call_pays_from_the_budget_it_brings_along() {
    let (_, pipeline) = bench(|builder| builder.budget(Budget::share(0.1).reserve(2)));
    let tenant = Budget::share(0.1).reserve(1).build().unwrap();
    let busy = |budget: Option<&Budget>| {
        let mut call = pipeline.call();
        if let Some(budget) = budget {
            call = call.budget(budget);
        }
        call.run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err().story().unwrap().attempts()
    };
    assert_eq!(busy(Some(&tenant)), 2, "one retry in the tenant's reserve");
    assert_eq!(busy(Some(&tenant)), 1);
    assert_eq!(pipeline.budget().unwrap().left(pipeline.now()), 2, "the pipeline's is untouched");
    assert_eq!(busy(None), 3);
    for _ in 0..20 {
        pipeline.call().budget(&tenant).run_blocking(|_| Ok::<_, Fault>(())).unwrap();
    }
    assert_eq!(busy(Some(&tenant)), 2, "its successes pay in: two, and one was used");
}

#[test]
fn a_dead_host_does_not_spend_the_retries_of_the_others() {
    let (clock, pipeline) = bench(|builder| builder.budget(Budget::share(0.1).reserve(2)));
    let retries = |hosts: &Registry, host| {
        let call = pipeline.call().breaker(&hosts.get(host));
        call.run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err().story().unwrap().attempts() - 1
    };
    let shared = Registry::builder(Breaker::standard()).clock(&clock).build("shared").unwrap();
    assert_eq!((retries(&shared, "dead"), retries(&shared, "other")), (2, 0), "one budget for all");
    let apart = Registry::builder(Breaker::standard()).clock(&clock).budget(Budget::share(0.1).reserve(2));
    let apart = apart.build("apart").unwrap();
    assert_eq!((retries(&apart, "dead"), retries(&apart, "other")), (2, 2), "one for each");
    assert_eq!(retries(&apart, "dead"), 0, "and it is kept");
    assert!(apart.get("dead").budget().is_some() && shared.get("dead").budget().is_none());
}
