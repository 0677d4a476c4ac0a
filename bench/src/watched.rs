//! What watching costs: a pipeline with a Prometheus recorder of metrics beside the same pipeline without one.

use std::hint::black_box;
use std::time::Duration;

use anyhow::Result;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};
use steadfast_resilience::{Breaker, Pipeline, Retry};

use crate::case::{Case, Role, Set};
use crate::figure::{Figure, Reach};
use crate::harness::{Measured, median_ratio};
use crate::op::{Operation, Ready};

/// The exporter keeps samples of a histogram in blocks of this many, and allocates each.
pub const SAMPLES_PER_BLOCK: f64 = 64.0;

const WITHOUT: &str = "no recorder";
const WITH: &str = "Prometheus recorder";
const NAMED: &str = "Prometheus recorder, named operation";

/// A recorder that lasts: handles point into it.
#[must_use]
pub fn recorder() -> &'static PrometheusRecorder {
    Box::leak(Box::new(PrometheusBuilder::new().build_recorder()))
}

/// The same pipeline without and with a recorder.
///
/// # Errors
/// Settings that do not build.
pub fn cases() -> Result<Vec<Case>> {
    Ok(vec![
        case(WITHOUT, Role::Other, false)?,
        case(WITH, Role::Ours, false)?.recorded(recorder()),
        case(NAMED, Role::Other, true)?.recorded(recorder()),
    ])
}

fn case(who: &'static str, role: Role, named: bool) -> Result<Case> {
    Case::one_thread(Set::Watched, who, role, async || {
        let pipeline = pipeline()?;
        Ok(async move |input| {
            if named {
                return black_box(pipeline.call().named("op").run(|_| Ready.call(input)).await).is_ok();
            }
            black_box(pipeline.run(|_| Ready.call(input)).await).is_ok()
        })
    })
}

/// As the other benchmarks have it: retry over breaker over timeout, with the default budget.
///
/// # Errors
/// Settings that do not build.
pub fn pipeline() -> Result<Pipeline> {
    let settings = Pipeline::builder("bench").retry(Retry::exponential()).breaker(Breaker::standard());
    Ok(settings.attempt_timeout(Duration::from_secs(10)).build()?)
}

/// What we promised for watching, held against what was measured.
#[must_use]
pub fn promises(measured: &[Measured]) -> Vec<Figure> {
    let find = |who: &str| measured.iter().find(|case| case.who == who);
    let (Some(with), Some(without)) = (find(WITH), find(WITHOUT)) else { return Vec::new() };
    let time = Figure::new("pipeline with a Prometheus recorder", with.nanos(), "ns");
    let blocks = Figure::new("allocations with a Prometheus recorder", with.allocations, "per call");
    let none = Figure::new("allocations without a recorder", without.allocations, "per call");
    vec![
        time.against(WITHOUT, median_ratio(with, without)).reach(Reach::RatioAtMost(1.5)),
        none.reach(Reach::AtMost(0.0)),
        // Only the exporter's own, for its histogram.
        blocks.reach(Reach::AtMost(1.0 / SAMPLES_PER_BLOCK + 0.001)),
    ]
}
