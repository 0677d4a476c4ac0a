//! The simulator and the model written apart agree within 5 %.

use std::time::Duration;

use super::model::{Model, Outcome};
use super::s;
use crate::pipeline::{self, Pipeline};
use crate::retry::{self, Retry};
use crate::simulate::run::Arrivals;
use crate::simulate::{Fault, Report, Scenario};

/// How far the two may be apart.
const WITHIN: f64 = 0.05;
const NEVER: f64 = 1_000.0;
const RPS: f64 = 400.0;

fn specified(n: i32, chance: f64) -> f64 {
    (1.0 + (2_f64.powi(n) - 1.0) * (0.8 + 0.4 * chance) * 10.0).min(30.0)
}

fn every_second(_: i32, chance: f64) -> f64 {
    0.8 + 0.4 * chance
}

/// Full jitter above a floor, up to a ceiling of `min + 2^n * delta`, at most `max`.
fn spread(n: i32, chance: f64, min: f64, delta: f64, max: f64) -> f64 {
    min + chance * ((min + 2_f64.powi(n) * delta).min(max) - min)
}

fn standard(n: i32, chance: f64) -> f64 {
    spread(n, chance, 0.1, 0.2, 10.0)
}

fn interactive(n: i32, chance: f64) -> f64 {
    spread(n, chance, 0.05, 0.1, 1.0)
}

fn background(n: i32, chance: f64) -> f64 {
    spread(n, chance, 0.5, 1.0, 60.0)
}

fn costly_undo(n: i32, chance: f64) -> f64 {
    spread(n, chance, 1.0, 5.0, 600.0)
}

fn model() -> Model {
    Model {
        clients: 1,
        capacity: 500.0,
        outage: 10,
        after: 60,
        refuses: false,
        timeout: 1.0,
        retries: 3,
        wait: standard,
        max_elapsed: f64::INFINITY,
        budget: false,
        breaker: false,
    }
}

fn policy(model: &Model, retry: retry::Builder) -> pipeline::Builder {
    let mut policy =
        Pipeline::builder("modelled").attempt_timeout(Duration::from_secs_f64(model.timeout)).retry(retry);
    if !model.budget {
        policy = policy.no_budget();
    }
    if !model.breaker {
        policy = policy.no_breaker();
    }
    policy
}

/// Chance moves each of them: the means of some runs are compared.
const SEEDS: u64 = 4;

fn check(name: &str, model: &Model, retry: &retry::Builder) {
    let scenario = |seed| {
        Scenario::outage(s(model.outage))
            .rps(RPS)
            .capacity(model.capacity)
            .clients(u32::try_from(model.clients).unwrap())
            .look_on(s(model.after))
            .fault(if model.refuses { Fault::Refuse } else { Fault::Hang })
            .seed(seed)
    };
    let policy = policy(model, retry.clone());
    let ours = (1..=SEEDS).map(|seed| Figures::of_report(&scenario(seed).run(&policy).unwrap()));
    let theirs = (1..=SEEDS).map(|seed| {
        let calls = calls(&scenario(seed), model.clients);
        Figures::of(&model.live(&calls), model)
    });
    let (ours, theirs) = (Figures::mean(ours), Figures::mean(theirs));
    println!("{name}: ours {ours:?}, theirs {theirs:?}");
    for ((what, one), (_, other)) in ours.all().into_iter().zip(theirs.all()) {
        // One call in a hundred, and a step of the clock that recovery is told by, are no difference.
        let room = (other.abs() * WITHIN).max(if what == "recovery" { 0.1 } else { 0.01 });
        assert!((one - other).abs() <= room, "{name}, {what}: {one:.3} here, {other:.3} in the model");
    }
}

/// The calls that the scenario makes: both models are given the same.
fn calls(scenario: &Scenario, clients: usize) -> Vec<(f64, usize)> {
    let mut arrivals = Arrivals::new(scenario);
    let mut at = arrivals.gap().as_secs_f64();
    let mut calls = Vec::new();
    while calls.len() < 100_000 {
        let next = arrivals.gap().as_secs_f64();
        calls.push((at, arrivals.client(clients)));
        at += next;
    }
    calls
}

#[derive(Debug)]
struct Figures {
    amplification: f64,
    /// In seconds; `NEVER` when it does not.
    recovery: f64,
    /// Requests in the outage, and calls of it that succeeded, for each call made in it.
    sent: f64,
    saved: f64,
}

impl Figures {
    fn all(&self) -> [(&'static str, f64); 4] {
        [
            ("amplification", self.amplification),
            ("recovery", self.recovery),
            ("sent", self.sent),
            ("saved", self.saved),
        ]
    }

    fn mean(of: impl Iterator<Item = Self>) -> Self {
        let all: Vec<_> = of.collect();
        let mean = |figure: fn(&Self) -> f64| all.iter().map(figure).sum::<f64>() / all.len() as f64;
        Self {
            amplification: mean(|figures| figures.amplification),
            recovery: mean(|figures| figures.recovery),
            sent: mean(|figures| figures.sent),
            saved: mean(|figures| figures.saved),
        }
    }

    fn of_report(report: &Report) -> Self {
        let outage = &report.seconds()[report.outage()];
        let offered: u32 = outage.iter().map(|second| second.offered).sum();
        let saved: u32 = outage.iter().map(|second| second.succeeded).sum();
        Self {
            amplification: report.amplification(),
            recovery: report.recovery().map_or(NEVER, |took| took.as_secs_f64()),
            sent: report.sent_in_outage() as f64 / f64::from(offered),
            saved: f64::from(saved) / f64::from(offered),
        }
    }

    fn of(outcome: &Outcome, model: &Model) -> Self {
        let (begins, ends) = (200, 200 + model.outage as usize * 10);
        let last = ends + model.after as usize * 10;
        let sum = |list: &[f64]| list.iter().sum::<f64>();
        let amplification = (begins + 10..=last - 100)
            .step_by(10)
            .map(|from| sum(&outcome.sent[from..from + 100]) / sum(&outcome.offered[from..from + 100]))
            .fold(0.0, f64::max);
        let judged = last - model.timeout as usize * 10 - 20;
        let bad = |from: &usize| {
            let second = *from..*from + 10;
            sum(&outcome.succeeded[second.clone()]) < sum(&outcome.offered[second]) * 0.99
        };
        let recovery = match (begins..=judged).rev().find(bad) {
            Some(from) if from == judged => NEVER,
            Some(from) => (from + 1).saturating_sub(ends) as f64 / 10.0,
            None => 0.0,
        };
        let offered = sum(&outcome.offered[begins..ends]);
        Self {
            amplification,
            recovery,
            sent: sum(&outcome.sent[begins..ends]) / offered,
            saved: sum(&outcome.succeeded[begins..ends]) / offered,
        }
    }
}

#[test]
fn the_missions_exponential_agrees_with_a_model_written_apart() {
    let retry =
        Retry::exponential().min_backoff(s(1)).delta_backoff(s(10)).max_backoff(s(30)).max_retries(10);
    for refuses in [false, true] {
        let model = Model { retries: 10, wait: specified, refuses, after: 90, ..model() };
        check("exponential alone", &model, &retry);
        check("exponential with budget", &Model { budget: true, ..model }, &retry);
        check("exponential with both", &Model { budget: true, breaker: true, clients: 50, ..model }, &retry);
    }
}

#[test]
fn the_missions_fixed_second_agrees_with_a_model_written_apart() {
    let retry = Retry::fixed(s(1)).max_retries(10);
    for refuses in [false, true] {
        let model = Model { retries: 10, wait: every_second, refuses, ..model() };
        check("fixed alone", &model, &retry);
        check("fixed with budget", &Model { budget: true, ..model }, &retry);
        check("fixed with both", &Model { budget: true, breaker: true, clients: 50, ..model }, &retry);
    }
}

#[test]
fn each_preset_agrees_with_a_model_written_apart() {
    let none = |_: i32, _: f64| f64::INFINITY;
    let presets: [(&str, retry::Builder, Model); 5] = [
        ("standard", Retry::standard(), Model { wait: standard, ..model() }),
        (
            "interactive",
            Retry::interactive(),
            Model { wait: interactive, retries: 2, max_elapsed: 3.0, ..model() },
        ),
        (
            "background",
            Retry::background(),
            Model { wait: background, retries: 8, max_elapsed: 600.0, ..model() },
        ),
        (
            "costly-undo",
            Retry::costly_undo(),
            Model { wait: costly_undo, retries: 50, max_elapsed: 21_600.0, ..model() },
        ),
        ("non-critical", Retry::non_critical(), Model { wait: none, retries: 0, ..model() }),
    ];
    for (name, retry, model) in presets {
        check(&format!("{name} alone"), &model, &retry);
        check(name, &Model { budget: true, breaker: true, clients: 50, ..model }, &retry);
    }
}

#[test]
fn a_wrong_wait_would_be_noticed() {
    let result = std::panic::catch_unwind(|| {
        let model = Model { wait: standard, retries: 10, refuses: true, ..model() };
        check("another policy", &model, &Retry::fixed(Duration::from_millis(700)).max_retries(10));
    });
    assert!(result.is_err());
}
