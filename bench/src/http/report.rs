//! The parts in their order, and what was promised for them (DESIGN.md, "Numbers to reach").

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::latency::{Latency, latency};
use super::ours::{self, Binary};
use super::overload::{Overload, overload};
use super::peer::Peer;
use super::process::Process;
use super::side::{Side, Who};
use super::speed::{Speed, speed};
use super::{IN_FLIGHT, one_thread};
use crate::engine::Disk;
use crate::figure::{Figure, Reach};
use crate::harness::median;

/// How much is measured, and of whom.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Our server.
    pub binary: Binary,
    /// Another build of it, to see what a change has brought.
    pub beside: Option<Binary>,
    /// Restate, if it could be installed.
    pub peer: Option<Peer>,
    /// Rounds that count.
    pub rounds: usize,
    /// How long each side is under load in a round.
    pub each: Duration,
    /// Tasks of a round at 50 a second.
    pub paced: u32,
    /// How long a server is asked for too much.
    pub overload: Duration,
    /// Only the parts whose names begin so.
    pub only: String,
}

impl Plan {
    /// All that was promised.
    #[must_use]
    pub fn full(binary: Binary, peer: Option<Peer>) -> Self {
        let (each, overload) = (Duration::from_secs(4), Duration::from_secs(3));
        Self { binary, beside: None, peer, rounds: 5, each, paced: 100, overload, only: String::new() }
    }

    /// Whether everything runs.
    #[must_use]
    pub fn quick(binary: Binary) -> Self {
        let (each, overload) = (Duration::from_millis(300), Duration::from_millis(300));
        Self { binary, beside: None, peer: None, rounds: 1, each, paced: 10, overload, only: String::new() }
    }
}

/// What was measured.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The figures.
    pub figures: Vec<Figure>,
    /// What one must know to read them.
    pub notes: Vec<String>,
}

/// Measures.
///
/// # Errors
/// A side that does not start, or does not do what it is asked.
pub fn measure(disk: &Disk, plan: &Plan) -> Result<Report> {
    // This program is the client.
    one_thread()?.block_on(async {
        let (service, address) = Process::own(&["service"])?;
        let mut report = Report::default();
        if ["speed", "latency"].iter().any(|part| part.starts_with(&plan.only)) {
            let sides = report.sides(disk, plan, address).await?;
            report.compare(&sides, plan).await?;
        }
        if "overload".starts_with(&plan.only) {
            crate::show::part("overload");
            report.overload(&overload(&plan.binary, disk, address, plan.overload).await?);
        }
        drop(service);
        Ok(report)
    })
}

impl Report {
    fn add(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    fn note(&mut self, note: &str) {
        self.notes.push(note.to_owned());
    }

    /// Starts all sides. One of others that does not start is named, and never made up.
    async fn sides(&mut self, disk: &Disk, plan: &Plan, service: SocketAddr) -> Result<Vec<Arc<Side>>> {
        let mut sides = vec![ours::start(&plan.binary, disk, "steadfast", service, "")?, Side::hop(service)?];
        if let Some(other) = &plan.beside {
            sides.push(ours::start_other(other, disk, service)?);
        }
        if let Some(peer) = &plan.peer {
            match peer.start(disk, service).await {
                Ok(side) => sides.push(side),
                Err(error) => self.notes.push(format!("Missing: Restate ({error:#}).")),
            }
        }
        Ok(sides.into_iter().map(Arc::new).collect())
    }

    async fn compare(&mut self, sides: &[Arc<Side>], plan: &Plan) -> Result<()> {
        if "speed".starts_with(&plan.only) {
            crate::show::part("speed");
            self.speed(sides, &speed(sides, plan.rounds, plan.each).await?);
        }
        if "latency".starts_with(&plan.only) {
            crate::show::part("latency");
            self.latency(sides, latency(sides, plan.rounds, plan.paced).await?);
        }
        self.note(
            "All sides: the same client, which asks with `POST` and waits for the answer, over 200 connections of HTTP/1.1; the \
             same service, which answers at once; all on this machine. Ours is asked with `?wait=30s`, under a key for each \
             task; its store is a SQLite file, and every commit waits for the disk.",
        );
        self.note(
            "Hop: the same three calls with the same headers, no engine and no store: the same router, and `reqwest` as a program \
             without an engine has it. Ours makes its calls with the client beneath `reqwest`, and has an allocator of its own.",
        );
        if sides.iter().any(|side| side.who == Who::Restate) {
            self.note(
                "Restate: server 1.7.12 with its default settings (its log waits for the disk too), a service with its Rust SDK \
                 0.13.0 that makes each call in a step; asked without a key, which is less work for it.",
            );
        }
        Ok(())
    }

    fn speed(&mut self, sides: &[Arc<Side>], measured: &[Speed]) {
        let rate = |of: &Speed| median(&of.rates);
        for (side, theirs) in sides.iter().zip(measured) {
            let name = match side.who {
                Who::Ours => continue,
                Who::Hop => format!("hop: 3 calls, {IN_FLIGHT} in flight"),
                Who::Other => format!("the other build: 3 steps, {IN_FLIGHT} in flight"),
                Who::Restate => format!("Restate, default: 3 steps, {IN_FLIGHT} in flight"),
            };
            self.add(Figure::new(name, rate(theirs), "tasks/s"));
        }
        let Some(ours) = measured.first() else { return };
        for (side, theirs) in sides.iter().zip(measured) {
            let (other, reach) = match side.who {
                Who::Ours => continue,
                Who::Other => ("the other build", None),
                Who::Hop => ("hop", Some(Reach::RatioAtLeast(0.5))),
                Who::Restate => ("Restate, default", Some(Reach::RatioAtLeast(4.0))),
            };
            let figure =
                Figure::new(format!("3-step tasks over HTTP, {IN_FLIGHT} in flight"), rate(ours), "tasks/s");
            let figure = figure.against(other, ratio(&ours.rates, &theirs.rates));
            self.add(match reach {
                Some(reach) => figure.reach(reach),
                None => figure,
            });
        }
        for (side, all) in sides.iter().zip(measured) {
            self.add(Figure::new(format!("CPU of a task: {}", side.name), median(&all.cpu), "us"));
        }
        self.note(
            "CPU of a task: all threads of the side's own processes, from /proc/PID/task/*/schedstat; not the client's, nor the \
             service's.",
        );
    }

    fn latency(&mut self, sides: &[Arc<Side>], mut measured: Vec<Latency>) {
        let name = "3 steps over HTTP from end to end at 50/s";
        let Some(ours) = measured.first().cloned() else { return };
        for (side, theirs) in sides.iter().zip(&mut measured) {
            let p50 = median(&theirs.medians);
            if side.who != Who::Ours {
                let figure = Figure::new(format!("{name}, p50"), median(&ours.medians), "ms");
                let figure = figure
                    .against(format!("{}: {p50:.2} ms", side.name), ratio(&ours.medians, &theirs.medians));
                self.add(match side.who {
                    Who::Restate => figure.reach(Reach::RatioBelow(1.0)),
                    Who::Hop | Who::Ours | Who::Other => figure,
                });
            }
            self.add(Figure::new(format!("{name}, p99: {}", side.name), theirs.slow(), "ms"));
        }
    }

    fn overload(&mut self, seen: &Overload) {
        let none = |name: &str, count: u64, unit| {
            Figure::new(format!("overload: {name}"), crate::engine::number(count), unit)
                .reach(Reach::AtMost(0.0))
        };
        self.add(Figure::new("overload: accepted", seen.accepted(), "tasks"));
        self.add(Figure::new(
            "overload: refused, with a time to come again",
            crate::engine::number(seen.refused),
            "answers",
        ));
        self.add(none("refused without one", seen.unexplained, "answers"));
        self.add(none("neither accepted nor refused", seen.other, "answers"));
        self.add(none("accepted and not completed", seen.unfinished, "tasks"));
        self.add(none("calls too many or too few", seen.astray, "calls"));
        self.add(Figure::new("overload: completed meanwhile and after", seen.rate, "tasks/s"));
        self.note(
            "Overload: a server with 64 places for requests and 2000 for open tasks, and 300 callers that ask again as soon as \
             they are refused.",
        );
    }
}

/// The median of the ratios round by round.
fn ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    let ratios: Vec<_> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    median(&ratios)
}
