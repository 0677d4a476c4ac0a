//! What the server has: workflows, services, policies, schedules; and whether it is well.

use std::time::Duration;

use serde_json::Value;

use crate::client::Client;
use crate::error::Error;
use crate::wire::policy::Policies;
use crate::wire::schedule::{DeclaredSchedule, NewSchedule, Schedules, Turned};
use crate::wire::service::{Service, Services};
use crate::wire::store::{Backup, NewBackup, Verified};
use crate::wire::workflow::{Applied, Format, Workflow, Workflows};

/// How long a copy or a look through the whole store may take: a disk reads many gigabytes in that time.
const WHOLE_STORE: Duration = Duration::from_secs(3_600);

impl Client {
    /// All workflows, without their definitions.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn workflows(&self) -> Result<Workflows, Error> {
        self.get(&["workflows"]).answer().await
    }

    /// A workflow, with the definition of one version: the active one with `None`.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn workflow(&self, name: &str, version: Option<u32>) -> Result<Workflow, Error> {
        let version = version.map(|version| ("version", version.to_string()));
        self.get(&["workflows", name]).query(version).answer().await
    }

    /// Hands a workflow in, as it stands in a file. With `dry_run` it is only checked.
    ///
    /// # Errors
    /// What the server says, such as what is wrong with it, place by place; no connection.
    pub async fn apply_workflow(
        &self,
        name: &str,
        text: &str,
        format: Format,
        dry_run: bool,
    ) -> Result<Applied, Error> {
        let query = dry_run.then(|| ("dry_run", "true".to_owned()));
        self.put(&["workflows", name]).query(query).said().text(text, format.media_type()).answer().await
    }

    /// All services.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn services(&self) -> Result<Services, Error> {
        self.get(&["services"]).answer().await
    }

    /// A service.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn service(&self, name: &str) -> Result<Service, Error> {
        self.get(&["services", name]).answer().await
    }

    /// The policies in force.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn policies(&self) -> Result<Policies, Error> {
        self.get(&["policies"]).answer().await
    }

    /// All schedules.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn schedules(&self) -> Result<Schedules, Error> {
        self.get(&["schedules"]).answer().await
    }

    /// Declares a schedule under a name.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn put_schedule(&self, name: &str, schedule: &NewSchedule) -> Result<DeclaredSchedule, Error> {
        self.put(&["schedules", name]).said().json(schedule).answer().await
    }

    /// Removes a schedule. Tasks that it has begun go on. The server asks who does that and why: see [`saying`](Self::saying).
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn delete_schedule(&self, name: &str) -> Result<(), Error> {
        self.delete(&["schedules", name]).said().plain().await.map(drop)
    }

    /// Has a schedule begin no more runs until it is resumed. The server asks who does that and why: see [`saying`](Self::saying).
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn pause_schedule(&self, name: &str) -> Result<Turned, Error> {
        self.post(&["schedules", name, "pause"]).said().repeatable(true).answer().await
    }

    /// Goes on with a schedule that was paused. The server asks who does that and why: see [`saying`](Self::saying).
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn resume_schedule(&self, name: &str) -> Result<Turned, Error> {
        self.post(&["schedules", name, "resume"]).said().repeatable(true).answer().await
    }

    /// Copies the store to a new file on the server's machine, while work goes on.
    ///
    /// # Errors
    /// What the server says, such as that a file of that name is there; no connection.
    pub async fn back_up_store(&self, backup: &NewBackup) -> Result<Backup, Error> {
        self.post(&["store", "backup"]).said().json(backup).waiting(WHOLE_STORE).answer().await
    }

    /// Looks through the store for what contradicts itself. What is found is no error.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn verify_store(&self) -> Result<Verified, Error> {
        self.post(&["store", "verify"]).repeatable(true).waiting(WHOLE_STORE).answer().await
    }

    /// The OpenAPI document of the server.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn openapi(&self) -> Result<Value, Error> {
        self.get(&["openapi.json"]).answer().await
    }

    /// Whether the server is alive. It is asked once.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn is_alive(&self) -> Result<(), Error> {
        self.outside(&["healthz"]).plain().await.map(drop)
    }

    /// Whether the server takes work: its engine works, its store answers, and it is not shutting down. It is asked once.
    ///
    /// # Errors
    /// Why it does not; no connection.
    pub async fn is_ready(&self) -> Result<(), Error> {
        self.outside(&["readyz"]).plain().await.map(drop)
    }

    /// What the server has counted, in the text form of Prometheus.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn metrics(&self) -> Result<String, Error> {
        self.outside(&["metrics"]).repeatable(true).plain().await
    }
}
