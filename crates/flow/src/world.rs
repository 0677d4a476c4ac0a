//! What a workflow file finds around it.

use std::sync::Arc;

use steadfast_runtime::{Service, Workflow};

/// The services, policies and workflows that a file names.
pub trait World {
    /// The service of this name. It has to have that name.
    fn service(&self, name: &str) -> Option<Service>;

    /// The names of all services, for hints.
    fn services(&self) -> Vec<String>;

    /// The workflow of this name that tasks are asked for of: the newest version.
    fn workflow(&self, name: &str) -> Option<Arc<Workflow>>;

    /// The names of all workflows, for hints.
    fn workflows(&self) -> Vec<String> {
        Vec::new()
    }

    /// The same service with the retry policy of this name in the place of its own. It shares the service's circuit breaker,
    /// budget and limits. `None` if there is no such policy.
    fn service_with_retry(&self, service: &str, retry: &str) -> Option<Service> {
        let _ = (service, retry);
        None
    }

    /// The names of all retry policies, for hints.
    fn retries(&self) -> Vec<String> {
        Vec::new()
    }
}
