//! Hooks that note what they are told, and do as a script says.

use std::sync::{Arc, Mutex};

use steadfast_runtime::{Alert, AlertKind, Settings};
use steadfast_store::TaskId;

use super::quick;

/// What a hook does with an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    Well,
    Fail,
    Hang,
    Panic,
}

/// What a hook does at its n-th call, from 0, with this alert.
pub type Manner = Arc<dyn Fn(usize, &Alert) -> Take + Send + Sync>;

/// What was told, each call of a hook, and those that it took well.
#[derive(Clone, Default)]
pub struct Told {
    calls: Arc<Mutex<Vec<Alert>>>,
    taken: Arc<Mutex<Vec<Alert>>>,
}

impl Told {
    /// Settings with a hook that notes here.
    pub fn settings(&self) -> Settings {
        self.settings_with(Arc::new(|_, _| Take::Well))
    }

    pub fn settings_with(&self, manner: Manner) -> Settings {
        let mut settings = quick();
        self.hook(&mut settings, manner);
        settings
    }

    /// Gives the settings a hook that notes here.
    pub fn hook(&self, settings: &mut Settings, manner: Manner) {
        let told = self.clone();
        settings.alerts.on_alert(move |alert| {
            let nth = told.calls.lock().unwrap().len();
            told.calls.lock().unwrap().push(alert.clone());
            let (take, told) = (manner(nth, &alert), told.clone());
            async move {
                match take {
                    Take::Well => {}
                    Take::Fail => return Err("scripted".into()),
                    Take::Hang => std::future::pending().await,
                    Take::Panic => std::panic::resume_unwind(Box::new("scripted")),
                }
                told.taken.lock().unwrap().push(alert);
                Ok(())
            }
        });
    }

    /// All that were taken well, in their order.
    pub fn taken(&self) -> Vec<Alert> {
        self.taken.lock().unwrap().clone()
    }

    pub fn kinds(&self) -> Vec<AlertKind> {
        self.taken().iter().map(|alert| alert.kind).collect()
    }

    /// How often the hook was called.
    pub fn calls(&self) -> Vec<Alert> {
        self.calls.lock().unwrap().clone()
    }

    /// How often it was told well of this, for a task.
    pub fn times(&self, task: TaskId, kind: AlertKind) -> usize {
        self.taken().iter().filter(|alert| alert.task == Some(task) && alert.kind == kind).count()
    }
}
