//! Recurring work.

use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use steadfast_engine::Time;
use steadfast_runtime::schedule::{Declaration, Declared, Missed, Overlap, Rules, Status, TimeZone, When};
use steadfast_store::{MAX_KEY, Payload};

use crate::engine::Engine;
use crate::error::{Code, Error, too_large};
use crate::submit::{packed, unregistered};
use crate::workflow::Workflow;

/// Recurring work that is being declared. Await it.
#[must_use = "nothing is scheduled until it is awaited"]
pub struct Schedule<'e> {
    engine: &'e Engine,
    name: String,
    workflow: Arc<steadfast_runtime::Workflow>,
    input: Result<Payload, Error>,
    when: Option<String>,
    zone: String,
    namespace: Arc<str>,
    missed: Missed,
    overlap: Overlap,
    jitter: Duration,
    starts_at: Option<Time>,
    ends_at: Option<Time>,
}

impl Engine {
    /// Declares recurring work under a name: at each instant a task of this workflow is submitted, with this input. Say when
    /// with [`Schedule::cron`] or [`Schedule::every`], and await it.
    ///
    /// It is idempotent, and belongs to the start of a program: the same declaration changes nothing, another one under the
    /// same name takes the place of the first. It stays until it is removed, whether or not a program declares it again.
    pub fn schedule<'e, In: Serialize, Out>(
        &'e self,
        name: &str,
        workflow: &Workflow<In, Out>,
        input: &In,
    ) -> Schedule<'e> {
        Schedule {
            engine: self,
            name: name.to_owned(),
            workflow: Arc::clone(&workflow.inner),
            input: packed(workflow, input),
            when: None,
            zone: "UTC".to_owned(),
            namespace: Arc::from(""),
            missed: Missed::default(),
            overlap: Overlap::default(),
            jitter: Duration::ZERO,
            starts_at: None,
            ends_at: None,
        }
    }

    /// All schedules of the store, by name, each with its next instant and its last run.
    ///
    /// # Errors
    /// The store's.
    pub async fn schedules(&self) -> Result<Vec<Status>, Error> {
        Ok(self.node.schedules().await?)
    }

    /// Has a schedule begin no more runs until it is resumed; whether it was not paused before. It stays paused when it is
    /// declared again.
    ///
    /// # Errors
    /// The store's; a schedule that does not exist.
    pub async fn pause_schedule(&self, name: &str) -> Result<bool, Error> {
        Ok(self.node.pause_schedule(name).await?)
    }

    /// Goes on with a schedule that was paused; whether it was. What came meanwhile was missed, and goes by that rule.
    ///
    /// # Errors
    /// The store's; a schedule that does not exist.
    pub async fn resume_schedule(&self, name: &str) -> Result<bool, Error> {
        Ok(self.node.resume_schedule(name).await?)
    }

    /// Removes a schedule. Tasks that it has begun go on.
    ///
    /// # Errors
    /// The store's; a schedule that does not exist.
    pub async fn remove_schedule(&self, name: &str) -> Result<(), Error> {
        Ok(self.node.remove_schedule(name).await?)
    }
}

impl Schedule<'_> {
    /// When: five fields (minute, hour, day of the month, month, day of the week), such as `30 2 * * MON-FRI`; `@hourly`,
    /// `@daily`, `@weekly`, `@monthly`, `@yearly`; or an interval, such as `every 15m`.
    pub fn cron(mut self, expression: &str) -> Self {
        self.when = Some(expression.to_owned());
        self
    }

    /// An interval of real time, in whole seconds: counted from 1970 in UTC, or from the start if there is one.
    pub fn every(mut self, interval: Duration) -> Self {
        self.when = Some(format!("every {}s", interval.as_secs()));
        self
    }

    /// Whose wall clock it goes by: a name of the IANA database, such as `Europe/Berlin`. Default: `UTC`.
    pub fn time_zone(mut self, name: &str) -> Self {
        name.clone_into(&mut self.zone);
        self
    }

    /// What is done about runs that were missed, because nothing ran or the schedule was paused. Default: the latest runs once.
    pub fn missed(mut self, missed: Missed) -> Self {
        self.missed = missed;
        self
    }

    /// What is done when the run before has not ended. Default: they run side by side.
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.overlap = overlap;
        self
    }

    /// Begins each run by up to this much later, so that not all schedules begin at the full hour. How much it is follows
    /// from the name and the instant. Default: on time.
    pub fn jitter(mut self, most: Duration) -> Self {
        self.jitter = most;
        self
    }

    /// No instant before this.
    pub fn starts_at(mut self, time: Time) -> Self {
        self.starts_at = Some(time);
        self
    }

    /// No instant at or after this.
    pub fn ends_at(mut self, time: Time) -> Self {
        self.ends_at = Some(time);
        self
    }

    /// Whose tasks these are. Default: the empty one.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Arc::from(namespace);
        self
    }

    /// The instants that it would have from now on, at most so many. Nothing is stored.
    ///
    /// # Errors
    /// What of it makes no sense.
    pub fn preview(&self, most: usize) -> Result<Vec<Time>, Error> {
        let (rules, zone) = self.rules()?;
        Ok(rules.instants_after(&zone, self.engine.node.now()).take(most).collect())
    }

    fn rules(&self) -> Result<(Rules, TimeZone), Error> {
        let bad = |words: String| {
            let name: String = self.name.chars().take(100).collect();
            Error::new(Code::BadSchedule, format!("schedule `{}`: {words}", name.escape_debug()))
        };
        let missing = || bad("nobody says when: add `.cron(\"30 2 * * *\")` or `.every(..)`".to_owned());
        let when = self.when.as_ref().ok_or_else(missing)?;
        let when: When = when.parse().map_err(|error| bad(format!("{error}")))?;
        let zone = TimeZone::find(&self.zone).map_err(|error| {
            Error::new(Code::UnknownTimeZone, format!("schedule `{}`: {error}", self.name))
        })?;
        let rules = Rules {
            when,
            missed: self.missed,
            jitter: self.jitter,
            starts_at: self.starts_at,
            ends_at: self.ends_at,
        };
        rules.check().map_err(bad)?;
        Ok((rules, zone))
    }
}

impl<'e> IntoFuture for Schedule<'e> {
    type Output = Result<Declared, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'e>>;

    fn into_future(mut self) -> Self::IntoFuture {
        let input = std::mem::replace(&mut self.input, Ok(Payload::default()));
        Box::pin(async move {
            let (rules, zone) = self.rules()?;
            let Self { engine, name, workflow, namespace, overlap, .. } = self;
            if namespace.len() > MAX_KEY {
                return Err(too_large("the namespace", namespace.len(), MAX_KEY));
            }
            let definition = workflow.definition();
            if engine.node.workflow(definition.name(), definition.version()).is_none() {
                return Err(unregistered(definition));
            }
            let declaration = Declaration { workflow, namespace, input: input?, rules, zone, overlap };
            Ok(engine.node.declare_schedule(&name, declaration).await?)
        })
    }
}

impl fmt::Debug for Schedule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Schedule");
        shown.field("name", &self.name).field("when", &self.when).field("zone", &self.zone);
        shown.finish_non_exhaustive()
    }
}
