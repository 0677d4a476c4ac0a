//! Large shapes of work: long lists, long chains and many child tasks. What each entry costs must not grow with how many there are.
//!
//! Each size runs in a process of its own, so that the memory of one is not that of another.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use steadfast::{Engine, Failure, Outcome, Service, Workflow};

use crate::clock::now;
use crate::engine::Disk;
use crate::engine::process::memory;
use crate::figure::{Figure, Reach};

/// How much more an entry of the largest may cost than one of the middle size: the machine is shared.
const LINEAR: f64 = 1.5;

/// A shape of work, and the sizes at which it is measured.
struct Shape {
    name: &'static str,
    sizes: [u32; 3],
}

const SHAPES: [Shape; 3] = [
    Shape { name: "list", sizes: [100, 1_000, 10_000] },
    Shape { name: "chain", sizes: [10, 100, 1_000] },
    Shape { name: "children", sizes: [30, 200, 1_000] },
];

/// Items of a list that are under way at a time.
const AT_A_TIME: u16 = 50;

/// All shapes in all sizes.
///
/// # Errors
/// A process that failed.
pub fn measure(only: &str) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for shape in SHAPES.iter().filter(|shape| shape.name.starts_with(only)) {
        let costs = shape.sizes.map(|size| in_a_process(shape.name, size));
        let [small, middle, large] = costs.map(|cost| cost.map_err(|error| error.to_string()));
        let costs = [small, middle, large].into_iter().collect::<Result<Vec<_>, _>>();
        let costs = costs.map_err(anyhow::Error::msg)?;
        for (what, unit, of) in [("time", "us", 0), ("memory", "B", 1)] {
            for (size, cost) in shape.sizes.iter().zip(&costs) {
                let name = format!("{} of {size}: {what} for each", shape.name);
                let figure = Figure::new(name, cost[of], unit);
                let before = costs[1][of].max(1.0);
                figures.push(match *size == shape.sizes[2] {
                    true => figure
                        .against(format!("of {}", shape.sizes[1]), cost[of] / before)
                        .reach(Reach::RatioAtMost(LINEAR)),
                    false => figure,
                });
            }
        }
    }
    Ok(figures)
}

/// What each entry costs: microseconds, and bytes at the peak.
fn in_a_process(shape: &str, size: u32) -> Result<[f64; 2]> {
    crate::show::part(&format!("{shape} of {size}"));
    let child =
        Command::new(std::env::current_exe()?).args(["--child", shape, &size.to_string()]).output()?;
    let told = String::from_utf8_lossy(&child.stdout);
    ensure!(child.status.success(), "{shape} of {size}: {}", String::from_utf8_lossy(&child.stderr));
    let numbers: Vec<f64> = told.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [micros, bytes] = numbers[..] else { anyhow::bail!("two numbers, not `{told}`") };
    Ok([micros, bytes])
}

/// One size, in this process.
///
/// # Errors
/// The engine's.
pub fn child(shape: &str, size: u32, disk: &Disk) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let [micros, bytes] = runtime.block_on(run(shape, size, disk))?;
    println!("{micros} {bytes}");
    Ok(())
}

async fn run(shape: &str, size: u32, disk: &Disk) -> Result<[f64; 2]> {
    let service = Service::standard("service");
    let flow = match shape {
        "list" => list(&service)?,
        "children" => children(&service)?,
        _ => chain(&service, size)?,
    };
    let address = format!("sqlite:{}", disk.file(&format!("{shape}-{size}.db")).display());
    let engine = Engine::builder(&address).workflow(&flow).start().await?;
    // What comes with the first task is not of this one.
    engine.submit(&flow, &1).await?.outcome().await?;
    let (before, begun) = (memory("RssAnon")?, now());
    let task = engine.submit(&flow, &size).await?;
    let outcome = task.outcome().await?;
    let took = begun.elapsed();
    ensure!(matches!(outcome, Outcome::Completed(())), "{outcome:?}");
    let after = memory("VmHWM")?.saturating_sub(memory("RssFile")?).saturating_sub(before);
    engine.shut_down().await.context("the engine did not end")?;
    #[expect(clippy::cast_precision_loss, reason = "some megabytes")]
    let bytes = after as f64 / f64::from(size);
    Ok([took.as_secs_f64() * 1e6 / f64::from(size), bytes])
}

fn list(service: &Service) -> Result<Workflow<u32>> {
    let mut flow = Workflow::<u32>::builder("list");
    flow.each(
        "each",
        service,
        |seen| (0..seen.input).collect(),
        |_, n: u32| async move { Ok::<_, Failure>(n) },
    )
    .at_a_time(AT_A_TIME)
    .nothing_to_undo()
    .add();
    Ok(flow.build()?)
}

/// A task of three steps for each item.
fn children(service: &Service) -> Result<Workflow<u32>> {
    let mut flow = Workflow::<u32>::builder("child");
    let mut last: Option<steadfast::StepRef<u32>> = None;
    for name in ["first", "second", "third"] {
        let step = flow.step(name, service, move |cx| async move { Ok::<_, Failure>(cx.input) });
        last = Some(step.after(last).nothing_to_undo().add());
    }
    let child = flow.returns(last.context("it has steps")?)?;
    let mut flow = Workflow::<u32>::builder("children");
    flow.children("each", &child, |seen| (0..seen.input).collect()).at_a_time(AT_A_TIME).add();
    Ok(flow.build()?)
}

fn chain(service: &Service, size: u32) -> Result<Workflow<u32>> {
    let mut flow = Workflow::<u32>::builder("chain");
    let mut last: Option<steadfast::StepRef<u32>> = None;
    for number in 0..size {
        let name = Box::leak(format!("step-{number}").into_boxed_str());
        let step = flow.step(name, service, move |_| async move { Ok::<_, Failure>(number) });
        last = Some(step.after(last).nothing_to_undo().add());
    }
    Ok(flow.build()?)
}
