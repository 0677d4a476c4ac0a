//! What is asked from outside: declared, listed, paused, removed.

use std::sync::Arc;

use steadfast_engine::Time;
use steadfast_engine::schedule::check_name;
use steadfast_store::{Put, Schedule, Store};

use super::record::{Body, Fired, Progress, Refused, Stated};
use super::{Declaration, Declared, LastError, LastRun, Status};
use crate::error::{Error, ErrorKind};
use crate::node::Node;

impl<S: Store> Node<S> {
    /// Declares recurring work under a name. The same declaration changes nothing; another one takes the place of the first,
    /// and keeps what it has counted, whether it is paused, and, if it has the same instants, which of them comes next.
    ///
    /// # Errors
    /// The store's; a name or rules that make no sense.
    pub async fn declare_schedule(&self, name: &str, declaration: Declaration) -> Result<Declared, Error> {
        let bad = |message| ErrorKind::BadSchedule { name: name.chars().take(100).collect(), message };
        check_name(name).map_err(bad)?;
        declaration.rules.check().map_err(bad)?;
        let (name, stated) = (Arc::from(name), state(&declaration));
        let (rules, zone) = (&declaration.rules, &declaration.zone);
        loop {
            let stands = self.shared.store.schedule(Arc::clone(&name)).await?;
            let version = stands.as_ref().map_or(0, |stands| stands.version);
            let known = stands.as_ref().and_then(|stands| Body::unpack(&stands.body));
            if known.as_ref().is_some_and(|body| body.stated == stated) {
                return Ok(Declared::Same);
            }
            let same_instants = known.as_ref().is_some_and(|body| body.stated.has_instants_of(&stated));
            let mut progress = known.map_or_else(Progress::default, |body| body.progress);
            if !same_instants {
                progress.next = rules.first_after(zone, self.shared.now());
                progress.queued = None;
            }
            progress.refused = None;
            let body = Body { stated: stated.clone(), progress };
            if self.put(body.record(&name, version, rules, zone)).await? {
                return Ok(if stands.is_some() { Declared::Changed } else { Declared::New });
            }
            // Somebody else has changed it: look again.
        }
    }

    /// All schedules, by name. One that another version of this program has made in another form is left out, and told of in
    /// the log.
    ///
    /// # Errors
    /// The store's.
    pub async fn schedules(&self) -> Result<Vec<Status>, Error> {
        let schedules = self.shared.store.schedules().await?;
        let listed = schedules.iter().filter_map(|schedule| {
            let body = Body::unpack(&schedule.body);
            if body.is_none() {
                tracing::warn!(schedule = %schedule.name, "it has a form that this version does not know");
            }
            body.map(|body| listed(schedule, body))
        });
        Ok(listed.collect())
    }

    /// Begins no more runs until it is resumed; whether it was not paused before.
    ///
    /// # Errors
    /// The store's; a schedule that does not exist.
    pub async fn pause_schedule(&self, name: &str) -> Result<bool, Error> {
        let now = self.shared.now();
        self.change(name, |paused| paused.is_none().then_some(Some(now))).await
    }

    /// Goes on with one that was paused; whether it was. What came meanwhile was missed, and goes by that rule.
    ///
    /// # Errors
    /// The store's; a schedule that does not exist.
    pub async fn resume_schedule(&self, name: &str) -> Result<bool, Error> {
        self.change(name, |paused| paused.is_some().then_some(None)).await
    }

    /// Removes one. Tasks that it has begun go on.
    ///
    /// # Errors
    /// The store's; a schedule that does not exist.
    pub async fn remove_schedule(&self, name: &str) -> Result<(), Error> {
        let removed = self.shared.store.remove(Arc::from(name)).await?;
        self.shared.bell.has_changed();
        if removed { Ok(()) } else { Err(ErrorKind::UnknownSchedule(name.to_owned()).into()) }
    }

    /// Sets since when it is paused, if the answer is to set it.
    async fn change(
        &self,
        name: &str,
        paused: impl Fn(Option<Time>) -> Option<Option<Time>>,
    ) -> Result<bool, Error> {
        let unknown = || Error::from(ErrorKind::UnknownSchedule(name.to_owned()));
        loop {
            let stands = self.shared.store.schedule(Arc::from(name)).await?.ok_or_else(unknown)?;
            let bad = |message| ErrorKind::BadSchedule { name: name.to_owned(), message };
            let words = || bad("it has a form that this version does not know: use the newer one".to_owned());
            let mut body = Body::unpack(&stands.body).ok_or_else(words)?;
            let Some(paused) = paused(body.progress.paused) else { return Ok(false) };
            body.progress.paused = paused;
            let (rules, zone) = body.stated.meaning().map_err(bad)?;
            if self.put(body.record(&stands.name, stands.version, &rules, &zone)).await? {
                return Ok(true);
            }
        }
    }

    /// Writes it; whether nobody else has since it was read.
    async fn put(&self, schedule: Schedule) -> Result<bool, Error> {
        let put = self.shared.store.put(vec![schedule]).await?;
        self.shared.bell.has_changed();
        Ok(matches!(put.first(), Some(Put::Done(_))))
    }
}

fn state(declaration: &Declaration) -> Stated {
    let Declaration { workflow, namespace, input, rules, zone, overlap } = declaration;
    Stated {
        workflow: Arc::clone(workflow.name()),
        version: workflow.definition().version(),
        namespace: Arc::clone(namespace),
        input: Arc::clone(input),
        when: Arc::from(rules.when.as_str()),
        zone: Arc::clone(zone.name()),
        missed: rules.missed,
        overlap: *overlap,
        jitter_ms: u64::try_from(rules.jitter.as_millis()).unwrap_or(u64::MAX),
        starts_at: rules.starts_at,
        ends_at: rules.ends_at,
    }
}

fn listed(schedule: &Schedule, body: Body) -> Status {
    let Body { stated, progress } = body;
    let last = |fired: Fired| LastRun { instant: fired.instant, task: fired.task(), at: fired.at };
    let error = |Refused { instant, words }| LastError { instant, message: words };
    Status {
        name: Arc::clone(&schedule.name),
        workflow: Arc::clone(&stated.workflow),
        version: stated.version,
        namespace: Arc::clone(&stated.namespace),
        when: Arc::clone(&stated.when),
        zone: Arc::clone(&stated.zone),
        missed: stated.missed,
        overlap: stated.overlap,
        paused_since: progress.paused,
        next: progress.next,
        queued: progress.queued,
        last: progress.last.map(last),
        last_error: progress.refused.map(error),
        runs: progress.runs,
        skipped_missed: progress.missed,
        skipped_overlap: progress.overlapped,
        stated,
    }
}
