//! `steadfast breaker`: how circuit breakers stand, and setting them by hand.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;
use steadfast_client::wire::breaker::{self as wire, Force, ForceOpen};
use steadfast_form::duration;

use crate::session::Session;
use crate::show::{Fields, Out, Table, time};

#[derive(Subcommand)]
pub(crate) enum Breaker {
    /// List the breakers of all services
    ///
    /// Examples:
    ///   steadfast breaker list
    #[command(verbatim_doc_comment)]
    List,
    /// Show a breaker, with what happened to it
    ///
    /// Examples:
    ///   steadfast breaker show payments
    #[command(verbatim_doc_comment)]
    Show(Show),
    /// Hold a breaker open: nothing calls the service, and what needs it is parked
    ///
    /// Examples:
    ///   steadfast breaker open payments --for 10m --because "provider maintenance"
    ///   steadfast breaker open payments --because "until we know more"
    #[command(verbatim_doc_comment)]
    Open(Open),
    /// Hold a breaker closed: calls are made whatever becomes of them
    ///
    /// Examples:
    ///   steadfast breaker close payments --because "the failures are ours"
    #[command(verbatim_doc_comment)]
    Close(Set),
    /// Let probes through, however the breaker stands
    ///
    /// Examples:
    ///   steadfast breaker half-open payments --because "the provider says that it is back"
    #[command(verbatim_doc_comment)]
    HalfOpen(Set),
    /// Close a breaker with all counts at zero, and end whatever was set by hand
    ///
    /// Examples:
    ///   steadfast breaker reset payments --because "maintenance is over"
    #[command(verbatim_doc_comment)]
    Reset(Set),
    /// Let a breaker that is open probe now instead of later
    ///
    /// Examples:
    ///   steadfast breaker probe payments --because "the provider says that it is back"
    #[command(verbatim_doc_comment)]
    Probe(Set),
}

#[derive(clap::Args)]
pub(crate) struct Show {
    /// Whose breaker
    service: String,
}

#[derive(clap::Args)]
pub(crate) struct Set {
    /// Whose breaker
    service: String,
    /// Why: it is kept in the audit log
    #[arg(long, value_name = "WHY")]
    because: String,
}

#[derive(clap::Args)]
pub(crate) struct Open {
    #[command(flatten)]
    set: Set,
    /// For so long; then probes are let through [default: without an end]
    #[arg(long = "for", value_name = "TIME", value_parser = duration::parse_long)]
    length: Option<Duration>,
}

pub(crate) async fn run(command: Breaker, session: &Session) -> Result<ExitCode> {
    let breaker = match &command {
        Breaker::List => {
            list(session).await?;
            return Ok(ExitCode::SUCCESS);
        }
        Breaker::Show(args) => session.answer(session.client.breaker(&args.service)).await?,
        Breaker::Open(args) => {
            let Open { set, length } = args;
            let for_ms = length.map(|length| u64::try_from(length.as_millis()).unwrap_or(u64::MAX));
            let force = ForceOpen { by: session.by.clone(), because: set.because.clone(), for_ms };
            session.answer(session.client.open_breaker(&set.service, &force)).await?
        }
        Breaker::Close(args) => {
            session.answer(session.client.close_breaker(&args.service, &force(args, session))).await?
        }
        Breaker::HalfOpen(args) => {
            session.answer(session.client.half_open_breaker(&args.service, &force(args, session))).await?
        }
        Breaker::Reset(args) => {
            session.answer(session.client.reset_breaker(&args.service, &force(args, session))).await?
        }
        Breaker::Probe(args) => {
            session.answer(session.client.probe_breaker(&args.service, &force(args, session))).await?
        }
    };
    session.out.show(&breaker, || text(&breaker, &session.out))?;
    Ok(ExitCode::SUCCESS)
}

fn force(args: &Set, session: &Session) -> Force {
    Force { by: session.by.clone(), because: args.because.clone() }
}

async fn list(session: &Session) -> Result<()> {
    let all = session.answer(session.client.breakers()).await?;
    session.out.show(&all, || session.out.table(&table(&all.breakers)))
}

fn table(breakers: &[wire::Breaker]) -> Table {
    let mut table = Table::new([
        "SERVICE",
        "STATE",
        "OPEN FOR",
        "CALLS",
        "FAILED",
        "SLOW",
        "REFUSED",
        "SET BY",
        "LAST TRIP",
    ]);
    for breaker in breakers {
        table.row([
            breaker.service.clone(),
            breaker.state.clone(),
            open_for(breaker).unwrap_or_default(),
            breaker.calls.to_string(),
            breaker.failures.to_string(),
            breaker.slow.to_string(),
            breaker.refused.to_string(),
            breaker.forced_by.as_ref().map(|forced| forced.by.clone()).unwrap_or_default(),
            breaker.last_trip.clone().unwrap_or_default(),
        ]);
    }
    table
}

fn open_for(breaker: &wire::Breaker) -> Option<String> {
    breaker.open_for_ms.map(|left| time::span(Duration::from_millis(left)))
}

fn text(breaker: &wire::Breaker, out: &Out) -> String {
    let mut fields = Fields::default();
    fields.add("service", &breaker.service);
    fields.add_painted("state", out.state(&breaker.state));
    fields.maybe("open for", open_for(breaker).map(|left| format!("{left} more")));
    let forced = breaker.forced_by.as_ref();
    fields.maybe("set by", forced.map(|forced| format!("{}: {}", forced.by, forced.because)));
    let wire::Breaker { calls, failures, slow, probes, refused, .. } = breaker;
    fields.add(
        "calls",
        format!("{calls} in the window, {failures} failed, {slow} slow, {probes} probes under way"),
    );
    fields.add("refused", format!("{refused} since the server began"));
    fields.maybe("last trip", breaker.last_trip.as_ref());
    fields.maybe(
        "recoveries",
        (breaker.failed_recoveries > 0)
            .then(|| format!("{} in a row have failed", breaker.failed_recoveries)),
    );
    fields.maybe(
        "steady rate",
        breaker.steady_per_second.map(|rate| format!("{rate:.1} calls a second before it opened")),
    );
    fields.maybe("ramp", breaker.ramp_stage.map(|stage| format!("work goes back to it, stage {stage}")));
    let mut table = Table::new(["AT", "STATE", "SET BY", "BECAUSE"]);
    for past in &breaker.history {
        let forced = past.forced_by.clone();
        let (by, because) = forced.map(|forced| (forced.by, forced.because)).unwrap_or_default();
        table.row([out.wall.told(&past.at), past.state.clone(), by, because]);
    }
    match table.is_empty() {
        true => fields.text(),
        false => format!("{}\n\n{}", fields.text(), out.table(&table)),
    }
}
