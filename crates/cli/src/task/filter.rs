//! Which tasks are looked for, as it is said on the command line.

use std::time::Duration;

use anyhow::Result;
use steadfast_client::wire::filter::Filter;
use steadfast_client::wire::state::TaskState;
use steadfast_form::{duration, hint};

use crate::payload::label;
use crate::session::Session;
use crate::show::{plain, time};

/// Tasks for which all of this is so. What is not said does not matter.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Which tasks")]
pub(crate) struct Filters {
    /// In this state; said more than once, or with commas: in any of these
    #[arg(long = "state", value_name = "STATE", value_delimiter = ',')]
    states: Vec<TaskState>,
    /// Of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Of this namespace
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Submitted under this key
    #[arg(long)]
    key: Option<String>,
    /// With a step at this service that has not ended, or has failed
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Parked while the circuit of this service is open
    #[arg(long, value_name = "SERVICE", alias = "blocked-on")]
    parked_on: Option<String>,
    /// With this in the reason why they do not complete
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// With this in the id, the key, the reason or the input
    #[arg(long)]
    text: Option<String>,
    /// Submitted longer ago than this
    #[arg(long, value_name = "TIME", value_parser = duration::parse_long)]
    older_than: Option<Duration>,
    /// Submitted at this time or later
    #[arg(long, value_name = "WHEN", value_parser = time::read)]
    from: Option<String>,
    /// With this label; said more than once: with all of them
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// Asked for by this task
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
}

impl Filters {
    /// What the server does not know of what is asked for: the reason why nothing is found.
    pub(crate) async fn unknown(&self, session: &Session) -> Result<Option<String>> {
        if let Some(name) = &self.workflow {
            let known = session.answer(session.client.workflows()).await?.workflows;
            let known: Vec<_> = known.iter().map(|workflow| workflow.name.as_str()).collect();
            if !known.contains(&name.as_str()) {
                return Ok(Some(nobody("workflow", name, &known)));
            }
        }
        if let Some(name) = self.service.as_ref().or(self.parked_on.as_ref()) {
            let known = session.answer(session.client.services()).await?.services;
            let known: Vec<_> = known.iter().map(|service| service.name.as_str()).collect();
            if !known.contains(&name.as_str()) {
                return Ok(Some(nobody("service", name, &known)));
            }
        }
        Ok(None)
    }

    /// As it goes over the wire.
    pub(crate) async fn read(&self, session: &Session) -> Result<Filter> {
        let parent = match &self.parent {
            Some(parent) => Some(session.task_id(parent).await?),
            None => None,
        };
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Ok(Filter {
            states: self.states.clone(),
            workflow: self.workflow.clone(),
            namespace: self.namespace.clone(),
            key: self.key.clone(),
            service: self.service.clone(),
            parked_on: self.parked_on.clone(),
            reason: self.reason.clone(),
            text: self.text.clone(),
            older_than_ms: self.older_than.map(millis),
            from: self.from.clone(),
            labels: self.labels.iter().cloned().collect(),
            parent,
        })
    }
}

fn nobody(what: &str, name: &str, known: &[&str]) -> String {
    format!("there is no {what} `{}`: {}", plain(name), hint(name, known.iter().copied()))
}
