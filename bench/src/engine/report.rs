//! The parts in their order, and what was promised for them (DESIGN.md, "Numbers to reach").

use anyhow::Result;

use super::{
    Alone, Disk, Latency, Restart, Restate, Speed, alone, held, idle, latency, restart, runtime, speed, sweep,
};
use crate::figure::{Figure, Reach};
use crate::floor::Recording;
use crate::harness::median;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Rounds that count.
    pub rounds: usize,
    /// Tasks of a round with 200 in flight.
    pub tasks: u64,
    /// Tasks that run alone, one after the other.
    pub alone: u64,
    /// Tasks of a round at 50 a second.
    pub paced: usize,
    /// Tasks that are held in memory: as many as a node takes by default.
    pub held: u64,
    /// Seconds for which an idle node is looked at.
    pub idle: u64,
    /// Healthy tasks of the supervisor's smaller store.
    pub few: u64,
    /// Healthy tasks of the supervisor's larger store.
    pub many: u64,
    /// Open tasks that a restart finds.
    pub open: u64,
    /// Finished tasks that a restart finds.
    pub finished: u64,
    /// Whether Restate is run beside it.
    pub restate: bool,
}

impl Sizes {
    /// All that was promised.
    pub const FULL: Self = Self {
        rounds: 7,
        tasks: 6_000,
        alone: 300,
        paced: 50,
        held: 10_000,
        idle: 10,
        few: 1_000,
        many: 1_000_000,
        open: 100_000,
        finished: 1_000_000,
        restate: true,
    };
    /// Whether everything runs.
    pub const QUICK: Self = Self {
        rounds: 1,
        tasks: 400,
        alone: 10,
        paced: 20,
        held: 200,
        idle: 1,
        few: 100,
        many: 1_000,
        open: 300,
        finished: 1_000,
        restate: false,
    };
}

/// What was measured.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The figures.
    pub figures: Vec<Figure>,
    /// What one must know to read them.
    pub notes: Vec<String>,
    /// Tasks a second, once they were measured.
    speed: Option<f64>,
}

/// Measures the parts whose names begin so.
///
/// # Errors
/// The engine's, the files' and the children's.
pub fn measure(disk: &Disk, sizes: Sizes, only: &str) -> Result<Report> {
    let recording = runtime()?.block_on(Recording::of_a_task(&disk.file("recording.db")))?;
    let mut report = Report::default();
    report.recorded(&recording);
    let wanted = |part: &str| {
        let wanted = part.starts_with(only);
        if wanted {
            crate::show::part(part);
        }
        wanted
    };
    if wanted("speed") {
        report.speed(&speed(disk, &recording, sizes.rounds, sizes.tasks)?);
    }
    if wanted("alone") {
        report.alone(alone(disk, sizes.alone)?);
    }
    if wanted("latency") {
        // Short rounds: the machine's speed changes within seconds, and both sides of a ratio are to meet the same one.
        report.latency(&latency(disk, &recording, 2 * sizes.rounds, sizes.paced)?);
    }
    if wanted("held") {
        report.held(disk, sizes.held)?;
    }
    if wanted("idle") {
        report.idle(idle(disk, sizes.idle)?);
    }
    if wanted("sweep") {
        let found = sweep(disk, &recording, sizes.few, sizes.many, sizes.rounds)?;
        let name = format!("supervisor's look, {} healthy tasks", sizes.many);
        let figure = Figure::new(name, median(&found.many), "us");
        let few = format!("with {} tasks: {:.1} us", sizes.few, median(&found.few));
        report.add(figure.against(few, ratio(&found.many, &found.few)).reach(Reach::RatioAtMost(2.0)));
    }
    if wanted("restart") {
        let rounds = sizes.rounds.min(5);
        report.restart(&restart(disk, &recording, sizes.open, sizes.finished, rounds)?, sizes);
    }
    if sizes.restate && wanted("restate") {
        report.restate(disk, sizes.rounds.min(3));
    }
    Ok(report)
}

/// The median of the ratios round by round.
fn ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    let ratios: Vec<_> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    median(&ratios)
}

impl Report {
    fn add(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    fn note(&mut self, note: &str) {
        self.notes.push(note.to_owned());
    }

    fn recorded(&mut self, recording: &Recording) {
        self.notes.push(format!(
            "A task of three steps, as recorded from the engine: {} rows in the end, {} rows written in 4 commits, {} \
             bytes of values. The floor writes the same, 200 tasks to a commit.",
            recording.rows, recording.writes, recording.bytes
        ));
    }

    fn speed(&mut self, speed: &Speed) {
        self.speed = Some(median(&speed.engine));
        let floor = median(&speed.floor);
        let ours = Figure::new("3-step tasks, 200 in flight", median(&speed.engine), "tasks/s");
        let share = ratio(&speed.engine, &speed.floor);
        self.add(ours.against("floor", share).reach(Reach::RatioAtLeast(0.6)));
        self.add(Figure::new("floor: the same rows, bare", floor, "tasks/s"));
        self.add(
            Figure::new("rows of a task", speed.engine_rows, "rows")
                .against(format!("floor: {:.0}", speed.floor_rows), speed.engine_rows / speed.floor_rows),
        );
        let bytes = Figure::new("database of a finished task", speed.engine_bytes, "bytes");
        let of_floor = format!("floor: {:.0}", speed.floor_bytes);
        self.add(
            bytes.against(of_floor, speed.engine_bytes / speed.floor_bytes).reach(Reach::AtMost(2_048.0)),
        );
        let writer = Figure::new("store CPU of a task, 200 in flight", median(&speed.writer), "us");
        self.add(writer.reach(Reach::AtMost(110.0)));
        self.add(Figure::new("all CPU of a task, 200 in flight", median(&speed.all), "us"));
        self.note("Store CPU: the time of the thread `steadfast-writer`, from /proc/self/task/*/schedstat.");
    }

    /// What cannot be had is named, and never made up.
    fn restate(&mut self, disk: &Disk, rounds: usize) {
        let restate = match Restate::install() {
            Ok(restate) => restate,
            Err(error) => return self.notes.push(format!("Missing: Restate ({error:#}).")),
        };
        for (setting, partitions) in [("default", None), ("4 partitions", Some(4))] {
            match restate.run(disk, partitions, rounds) {
                Ok(theirs) => self.beside_restate(setting, median(&theirs)),
                Err(error) => self.notes.push(format!("Missing: Restate, {setting} ({error:#}).")),
            }
        }
        self.note(
            "Restate: server 1.7.12 and its TypeScript SDK, each in a process of its own; its calls cross HTTP twice, ours do \
             not. With its Rust SDK it was a third faster where we measured both.",
        );
    }

    fn beside_restate(&mut self, setting: &str, theirs: f64) {
        self.add(Figure::new(format!("Restate, {setting}: 3 steps, 200 in flight"), theirs, "tasks/s"));
        if let Some(ours) = self.speed {
            let figure = Figure::new("3-step tasks, 200 in flight", ours, "tasks/s");
            self.add(
                figure.against(format!("Restate, {setting}"), ours / theirs).reach(Reach::RatioAtLeast(5.0)),
            );
        }
    }

    fn alone(&mut self, alone: Alone) {
        self.add(Figure::new("syncs of a task alone", alone.commits, "commits").reach(Reach::AtMost(4.0)));
        match alone.syncs {
            Some(syncs) => self.add(Figure::new("fsync and fdatasync of a task alone", syncs, "calls")),
            None => self.note("strace is missing: calls of fsync and fdatasync were not counted."),
        }
        self.note(
            "Syncs: judged are commits, each of which waits for one sync of the log. The calls that strace saw have those of \
             checkpoints too, which copy the log into the file every 1000 pages.",
        );
    }

    fn latency(&mut self, latency: &Latency) {
        let engine = median(&latency.engine);
        let bare = format!("bare, one by one: {:.2} ms", median(&latency.floor));
        let ours = Figure::new("3 steps from end to end at 50/s, p50", engine, "ms");
        self.add(ours.against(bare, ratio(&latency.engine, &latency.floor)).reach(Reach::RatioAtMost(2.0)));
        let paced = format!("bare, at 50/s: {:.2} ms", median(&latency.paced));
        let ours = Figure::new("the same", engine, "ms");
        self.add(ours.against(paced, ratio(&latency.engine, &latency.paced)));
        self.add(Figure::new("3 steps from end to end at 50/s, p99", latency.slow, "ms"));
    }

    fn held(&mut self, disk: &Disk, tasks: u64) -> Result<()> {
        let waiting = held(disk, "waiting", tasks)?;
        let name = format!("memory of a task in memory, of {:.0}", waiting.owned);
        self.add(Figure::new(name, waiting.bytes, "bytes").reach(Reach::AtMost(2_048.0)));
        let running = held(disk, "running", tasks)?;
        let name = format!("the same, with an attempt under way, of {:.0}", running.owned);
        self.add(Figure::new(name, running.bytes, "bytes"));
        let released = held(disk, "released", tasks)?;
        let left = Figure::new("released tasks that are in memory", released.owned, "tasks");
        self.add(left.reach(Reach::AtMost(0.0)));
        self.add(Figure::new("memory left behind by a released task", released.bytes, "bytes"));
        self.note(
            "Memory: how much the process has grown (RssAnon), with what the allocator and SQLite keep for themselves.",
        );
        Ok(())
    }

    fn idle(&mut self, idle: super::Idle) {
        let mib = idle.bytes / f64::from(1 << 20);
        self.add(Figure::new("idle node: memory", mib, "MiB").reach(Reach::Below(60.0)));
        self.add(Figure::new("idle node: store calls", idle.calls, "1/s").reach(Reach::Below(1.0)));
        self.add(Figure::new("idle node: CPU", idle.cpu * 100.0, "%").reach(Reach::Below(1.0)));
    }

    fn restart(&mut self, all: &[Restart], sizes: Sizes) {
        let name = format!("restart: {} open, {} finished; first attempt", sizes.open, sizes.finished);
        let attempts: Vec<_> = all.iter().map(|restart| restart.attempt * 1e3).collect();
        self.add(Figure::new(name, median(&attempts), "ms").reach(Reach::Below(2_000.0)));
        let started: Vec<_> = all.iter().map(|restart| restart.started * 1e3).collect();
        self.add(Figure::new("restart: node at work", median(&started), "ms"));
        self.note("Restart: from exec of a new process; the file was written just before and is in the system's cache.");
    }
}
