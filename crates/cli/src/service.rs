//! `steadfast service`: what steps call.

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use steadfast_client::wire::service::{self as wire, Calls};

use crate::session::Session;
use crate::show::{Fields, Out, Table};

#[derive(Subcommand)]
pub(crate) enum Service {
    /// List the services, with how their breakers stand
    ///
    /// Examples:
    ///   steadfast service list
    #[command(verbatim_doc_comment)]
    List,
    /// Show a service: where it is, its policy and limits, and how its calls went
    ///
    /// Examples:
    ///   steadfast service show payments
    #[command(verbatim_doc_comment)]
    Show(Show),
}

#[derive(clap::Args)]
pub(crate) struct Show {
    /// Its name
    name: String,
}

pub(crate) async fn run(command: Service, session: &Session) -> Result<ExitCode> {
    match command {
        Service::List => {
            let all = session.answer(session.client.services()).await?;
            session.out.show(&all, || session.out.table(&table(&all.services)))?;
        }
        Service::Show(Show { name }) => {
            let one = session.answer(session.client.service(&name)).await?;
            session.out.show(&one, || text(&one, &session.out))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn table(services: &[wire::Service]) -> Table {
    let mut table = Table::new(["SERVICE", "STATE", "URL", "SUCCEEDED", "FAILED", "REFUSED", "LIMITS"]);
    for service in services {
        let calls = |number: fn(&Calls) -> u64| service.calls.as_ref().map(number);
        let told =
            |number: fn(&Calls) -> u64| calls(number).map(|number| number.to_string()).unwrap_or_default();
        table.row([
            service.name.clone(),
            service.breaker.clone().unwrap_or_default(),
            service.url.clone().unwrap_or_default(),
            told(|calls| calls.succeeded),
            told(|calls| calls.failed + calls.terminal),
            told(|calls| calls.refused),
            service.limits.clone(),
        ]);
    }
    table
}

fn text(service: &wire::Service, out: &Out) -> String {
    let mut fields = Fields::default();
    fields.add("service", &service.name).maybe("url", service.url.as_ref());
    fields.add("policy", &service.policy).add("limits", &service.limits);
    if let Some(breaker) = &service.breaker {
        fields.add_painted("breaker", out.state(breaker));
    }
    if let Some(calls) = &service.calls {
        let Calls { succeeded, failed, terminal, refused, attempts, retries, throttled } = calls;
        let told = format!(
            "{succeeded} succeeded, {failed} failed, {terminal} got a lasting no, {refused} were refused by the breaker"
        );
        fields.add("calls", told);
        fields.add("attempts", format!("{attempts}, of which {retries} retries; {throttled} throttled"));
    }
    fields.text()
}
