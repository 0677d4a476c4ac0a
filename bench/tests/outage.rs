//! The outage drill in virtual time: what the design promises, and that the drill can fail.

use steadfast_bench::figure::Figure;
use steadfast_bench::outage::{Away, Plan, drill, judge};

async fn figures(plan: Plan) -> anyhow::Result<Vec<Figure>> {
    let seen = drill::run(&plan, "memory:").await?;
    Ok(judge::figures(&plan, &seen, "virtual", None))
}

fn told(figures: &[Figure]) -> String {
    steadfast_bench::table::figures(figures).join("\n")
}

fn is_kept(figures: &[Figure], what: &str) -> bool {
    figures.iter().any(|figure| figure.name.contains(what) && figure.ok() == Some(true))
}

/// B17
#[tokio::test(start_paused = true)]
async fn a_minute_of_refused_connections_is_weathered() {
    let figures = figures(Plan::default()).await.unwrap();
    println!("{}", told(&figures));
    assert!(figures.iter().all(|figure| figure.ok() != Some(false)), "{}", told(&figures));
}

/// B17
#[tokio::test(start_paused = true)]
async fn a_minute_of_silence_is_weathered() {
    let figures = figures(Plan { how: Away::Hanging, seed: 2, ..Plan::default() }).await.unwrap();
    println!("{}", told(&figures));
    assert!(figures.iter().all(|figure| figure.ok() != Some(false)), "{}", told(&figures));
}

#[tokio::test(start_paused = true)]
async fn without_the_ramp_the_service_is_run_over() {
    let figures = figures(Plan { ramped: false, ..Plan::default() }).await.unwrap();
    assert!(!is_kept(&figures, "most calls"), "{}", told(&figures));
    assert!(is_kept(&figures, "lost") && is_kept(&figures, "doubled"), "{}", told(&figures));
}
