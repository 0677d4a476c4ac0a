//! Looks at pipelines and tells: the loop around is the program's.

use std::fmt;
use std::sync::Arc;

use super::{Alert, Evaluator, Rule};
use crate::clock::Moment;
use crate::log;
use crate::pipeline::Pipeline;

/// Watches pipelines: each look logs the alerts (raised: a warning) and hands them to a function.
///
/// It also brings the metrics of its pipelines up to date, so that gauges stay true when no call comes.
#[must_use = "nothing is watched until `look`"]
pub struct Watcher {
    rules: Vec<Rule>,
    watched: Vec<(Pipeline, Evaluator)>,
    hook: Option<Hook>,
    logs: bool,
}

type Hook = Arc<dyn Fn(&Alert) + Send + Sync>;

impl Watcher {
    /// With these rules for every pipeline.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { rules: rules.into_iter().collect(), watched: Vec::new(), hook: None, logs: true }
    }

    /// Watches this pipeline too.
    pub fn watch(self, pipeline: &Pipeline) -> Self {
        let rules = self.rules.clone();
        self.watch_by(pipeline, rules)
    }

    /// Watches this pipeline by rules of its own.
    pub fn watch_by(mut self, pipeline: &Pipeline, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.watched.push((pipeline.clone(), Evaluator::new(pipeline.name(), rules)));
        self
    }

    /// Logs nothing: whoever asks tells of the alerts.
    pub fn without_log(mut self) -> Self {
        self.logs = false;
        self
    }

    /// Tells this function of every alert, raised or cleared. It runs where `look` does.
    pub fn on_alert(mut self, hook: impl Fn(&Alert) + Send + Sync + 'static) -> Self {
        self.hook = Some(Arc::new(hook));
        self
    }

    /// Looks once, at a moment on the pipelines' clock. Call it every few seconds.
    pub fn look(&mut self, now: Moment) -> Vec<Alert> {
        let mut alerts = Vec::new();
        for (pipeline, evaluator) in &mut self.watched {
            pipeline.set_gauges(now);
            alerts.extend(evaluator.look(now, &pipeline.report()));
        }
        for alert in &alerts {
            if self.logs {
                log::alerted(alert);
            }
            if let Some(hook) = &self.hook {
                hook(alert);
            }
        }
        alerts
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.watched.iter().map(|(pipeline, _)| pipeline.name());
        f.debug_struct("Watcher").field("pipelines", &names.collect::<Vec<_>>()).finish_non_exhaustive()
    }
}
