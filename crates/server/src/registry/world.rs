//! What a workflow file can name: services of the settings, and other workflows.

use std::sync::Arc;

use steadfast::Service;
use steadfast_runtime::Typed as _;

use super::Registry;

pub(super) struct World<'r>(pub(super) &'r Registry);

impl steadfast_flow::World for World<'_> {
    fn service(&self, name: &str) -> Option<Service> {
        self.0.service(name)
    }

    fn services(&self) -> Vec<String> {
        self.0.config().services.keys().cloned().collect()
    }

    fn service_with_retry(&self, service: &str, retry: &str) -> Option<Service> {
        self.0.service_with_retry(service, retry)
    }

    fn retries(&self) -> Vec<String> {
        self.0.live().policies().retries().into_iter().map(str::to_owned).collect()
    }

    fn workflows(&self) -> Vec<String> {
        self.0.snapshot().into_keys().collect()
    }

    fn workflow(&self, name: &str) -> Option<Arc<steadfast_runtime::Workflow>> {
        let workflow = self.0.workflow(name, None)?;
        Some(Arc::clone(workflow.untyped()))
    }
}
