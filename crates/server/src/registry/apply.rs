//! Taking workflows on while the server works: those that are handed in, and those that could not be built before.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;
use steadfast::{Engine, PutText, Workflow, WorkflowText};
use steadfast_flow::FlowFile;
use tokio::task::JoinError;

use super::number::Numbered;
use super::{Applied, Flow, NotApplied, Registry, STORED, text_of};

/// How often another server of the same store may have been faster.
const MOST_TRIES: usize = 3;

/// What came of work that was done apart.
pub(super) fn done<T>(joined: Result<Result<T, NotApplied>, JoinError>) -> Result<T, NotApplied> {
    joined.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Err(NotApplied::Taken("the server shuts down: ask again".to_owned())),
    })
}

impl Registry {
    /// Takes on a workflow while the server works. What was begun is done, also when nobody waits for it any more.
    pub(crate) async fn apply(
        &self,
        file: FlowFile,
        from: &str,
        dry_run: bool,
    ) -> Result<Applied, NotApplied> {
        let (this, from) = (self.clone(), Arc::from(from));
        done(tokio::spawn(async move { this.take_on(file, from, dry_run).await }).await)
    }

    async fn take_on(&self, file: FlowFile, from: Arc<str>, dry_run: bool) -> Result<Applied, NotApplied> {
        let _one_at_a_time = self.inner.adding.lock().await;
        for _ in 0..MOST_TRIES {
            let numbered = self.numbered(&file).map_err(NotApplied::Taken)?;
            let (name, version) = (file.name().to_owned(), numbered.version());
            let is_new = matches!(numbered, Numbered::New { .. });
            let is_first = matches!(numbered, Numbered::New { first: true, .. });
            let applied = Applied { name, version, is_new, is_first };
            let built = self.build(&file, version).map_err(NotApplied::Bad)?;
            if !is_new {
                if !dry_run {
                    self.build_open().await;
                }
                return Ok(applied);
            }
            let Some(engine) = self.inner.engine.get() else { return Ok(applied) };
            // Whatever can be refused is refused before it is stored: what is stored stays.
            engine.check_workflow(&built).map_err(NotApplied::Engine)?;
            if dry_run {
                return Ok(applied);
            }
            let put = engine.put_text(text_of(&file, version)).await.map_err(NotApplied::Engine)?;
            match put {
                PutText::Stands(stands) if *stands.digest != *file.digest() => self.take_over(vec![stands]),
                PutText::Stands(_) | PutText::Done => {
                    engine.add_workflow(&built).await.map_err(NotApplied::Engine)?;
                    let flow = Flow { file: Arc::new(file), from: Arc::clone(&from), built: Ok(built) };
                    self.flows().entry(applied.name.clone()).or_default().insert(version, flow);
                    self.inner.news.fetch_add(1, Ordering::Relaxed);
                    tracing::info!(workflow = %applied.name, version, from = %from, "a workflow has come");
                    self.build_open().await;
                    return Ok(applied);
                }
            }
        }
        let words = format!("other servers of this store are taking `{}` on: try again", file.name());
        Err(NotApplied::Taken(words))
    }

    /// Other settings are there, and perhaps the service that a workflow waited for.
    pub(crate) fn look_again(&self) {
        let this = self.clone();
        drop(tokio::spawn(async move {
            let _one_at_a_time = this.inner.adding.lock().await;
            this.build_open().await;
        }));
    }

    /// Builds what could not be built before.
    async fn build_open(&self) {
        let Some(engine) = self.inner.engine.get() else { return };
        let mut progress = true;
        while progress {
            progress = false;
            for (name, version, file) in self.unbuilt() {
                let Ok(built) = self.build(&file, version) else { continue };
                progress |= self.goes_on(engine, &name, version, built).await;
            }
        }
    }

    /// Tasks of a version are worked on from now on.
    async fn goes_on(
        &self,
        engine: &Engine,
        name: &str,
        version: u32,
        built: Workflow<Value, Value>,
    ) -> bool {
        if let Err(error) = engine.add_workflow(&built).await {
            tracing::error!(workflow = %name, version, "tasks of it wait: {error:?}");
            return false;
        }
        tracing::info!(workflow = %name, version, "tasks of it go on");
        self.set_built(name, version, Ok(built));
        self.inner.news.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// The versions that could not be built.
    pub(super) fn unbuilt(&self) -> Vec<(String, u32, Arc<FlowFile>)> {
        let flows = self.flows();
        let all = flows
            .iter()
            .flat_map(|(name, versions)| versions.iter().map(move |(version, flow)| (name, version, flow)));
        let open = all.filter(|(_, _, flow)| flow.built.is_err());
        open.map(|(name, version, flow)| (name.clone(), *version, Arc::clone(&flow.file))).collect()
    }

    pub(super) fn set_built(
        &self,
        name: &str,
        version: u32,
        built: Result<Workflow<Value, Value>, Arc<str>>,
    ) {
        if let Some(flow) = self.flows().get_mut(name).and_then(|versions| versions.get_mut(&version)) {
            flow.built = built;
        }
    }

    /// Goes up whenever something has come that others may have waited for: a workflow, other settings.
    pub(super) fn news(&self) -> u64 {
        self.inner.news.load(Ordering::Relaxed)
    }

    /// The workflows that are stored.
    pub(super) fn take_over(&self, texts: Vec<WorkflowText>) {
        let from: Arc<str> = Arc::from(STORED);
        for text in texts {
            let name = format!("{} version {}", text.name, text.version);
            let format = match &*text.format {
                "json" => steadfast_flow::Format::Json,
                _ => steadfast_flow::Format::Yaml,
            };
            match FlowFile::parse(&text.text, format, &name) {
                Ok(file) => self.keep(text.version, file, &from),
                Err(error) => tracing::error!(
                    workflow = %text.name, version = text.version,
                    "a stored workflow cannot be read by this version of Steadfast, and its tasks wait: {error}"
                ),
            }
        }
    }
}
