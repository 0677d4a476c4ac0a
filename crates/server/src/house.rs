//! What the API asks for beside the engine: workflows, services and policies.

use std::fmt;

use futures_util::future::BoxFuture;
use serde_json::Value;
use steadfast::Workflow;
use steadfast::resilience::Pipeline;
use steadfast_client::wire::policy::Policy;
use steadfast_client::wire::problem::Problem;
use steadfast_client::wire::service::Service;
use steadfast_client::wire::workflow::{self, Applied, Format};

/// Whoever knows the workflows and services of this server. All of it is asked often, and answers from memory.
pub trait House: fmt::Debug + Send + Sync + 'static {
    /// The workflow of this name, in this version; in the newest one where none is said.
    fn workflow(&self, name: &str, version: Option<u32>) -> Option<Workflow<Value, Value>>;

    /// All workflows, by name, each with all of its versions; with their definitions in the form of a workflow file, if asked.
    fn workflows(&self, definitions: bool) -> Vec<workflow::Workflow>;

    /// Takes a workflow in: checks it, and stores it unless that is only asked. The text must be of a workflow of this name.
    /// When it returns, new tasks can be submitted to it.
    ///
    /// # Errors
    /// What is wrong with it: each place with line, column and what was expected.
    fn apply<'h>(
        &'h self,
        name: &'h str,
        text: &'h str,
        format: Format,
        dry_run: bool,
    ) -> BoxFuture<'h, Result<Applied, Problem>>;

    /// What a service has sent by itself, without any secret that services are sent.
    fn without_secrets(&self, value: Value) -> Value;

    /// All services, by name: where they are, their policy in words, their limits. How their breakers stand and how their calls went
    /// is filled in by the API, from their pipelines.
    fn services(&self) -> Vec<Service>;

    /// The pipeline of a service: its breaker is seen and set through it.
    fn pipeline(&self, service: &str) -> Option<Pipeline>;

    /// The policies in force, by name.
    fn policies(&self) -> Vec<Policy>;

    /// Whether the server goes by this name, beside those of this machine itself.
    fn is_called(&self, host: &str) -> bool;
}
