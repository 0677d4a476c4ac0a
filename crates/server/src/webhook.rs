//! Webhooks of alerts: whoever the settings name is told of what goes wrong.
//!
//! The engine's outbox hands alerts over until they were taken; each webhook is a hook of its own there, so that one that fails is told
//! again and the others are not. What a webhook is follows the settings while the server works; which there are is fixed at its start.
//! Must never keep an alert.

use std::sync::Arc;

use arc_swap::ArcSwap;
use steadfast::{Alert, AlertError, AlertSettings};
use steadfast_http::{HttpAgent, Post, Target};

use crate::config::{AlertsConfig, Config, WebhookConfig};

/// The most of an answer that is ever looked at: nothing is.
const READ: usize = 1;

/// The webhooks of a server. Clones are one and the same.
#[derive(Clone)]
pub(crate) struct Webhooks {
    agent: HttpAgent,
    config: Arc<ArcSwap<AlertsConfig>>,
}

impl Webhooks {
    /// Those of these settings, with secrets from where the settings say.
    pub(crate) fn new(config: &Config, agent: steadfast_http::Builder) -> Result<Self, String> {
        let agent =
            targets(config).into_iter().fold(agent, |agent, (name, target)| agent.target(name, target));
        let agent = agent.build().map_err(|error| told(&error))?;
        Ok(Self { agent, config: Arc::new(ArcSwap::from_pointee(config.alerts.clone())) })
    }

    /// Takes over what these settings say, all or nothing.
    pub(crate) fn set(&self, config: &Config) -> Result<(), String> {
        self.agent.set(targets(config)).map_err(|error| told(&error))?;
        self.config.store(Arc::new(config.alerts.clone()));
        Ok(())
    }

    /// Has the engine tell each of them.
    pub(crate) fn listen(&self, settings: &mut AlertSettings) {
        let config = self.config.load();
        settings.tries = config.tries;
        settings.limit = config.within;
        settings.first_wait = config.first_wait;
        settings.longest_wait = config.longest_wait;
        for name in config.webhooks.keys() {
            let (webhooks, name) = (self.clone(), Arc::<str>::from(name.as_str()));
            settings.on_alert(move |alert| {
                let (webhooks, name) = (webhooks.clone(), Arc::clone(&name));
                async move { webhooks.tell(&name, &alert).await }
            });
        }
    }

    /// Tells one of an alert, if it is of a kind that it is told of. One that was taken out of the settings has nothing to be told.
    async fn tell(&self, name: &str, alert: &Alert) -> Result<(), AlertError> {
        let config = self.config.load_full();
        let Some(webhook) = config.webhooks.get(name).filter(|webhook| webhook.wants(alert)) else {
            return Ok(());
        };
        let post = Post {
            target: name.to_owned(),
            id: alert.id.to_string(),
            body: serde_json::to_vec(alert)?,
            sign_with: webhook.sign_with.clone(),
            within: config.within,
        };
        self.agent.post(post).await.map_err(|fault| format!("webhook {}", fault.message).into())
    }
}

impl WebhookConfig {
    fn wants(&self, alert: &Alert) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == alert.kind.as_str())
    }
}

fn targets(config: &Config) -> Vec<(String, Target)> {
    let target = |webhook: &WebhookConfig| {
        let mut target = Target::new(&webhook.url).max_response(READ);
        if let Some(pem) = &webhook.root_certificates {
            target = target.root_certificates(pem.as_str());
        }
        webhook.headers.iter().fold(target, |target, (name, value)| target.header(name, value))
    };
    config.alerts.webhooks.iter().map(|(name, webhook)| (name.clone(), target(webhook))).collect()
}

/// What is wrong with them, by the names that the settings have.
fn told(error: &steadfast_http::Error) -> String {
    let told = error.problems().iter().map(|problem| {
        let setting = if problem.setting == "base_url" { "url" } else { problem.setting };
        format!("alerts.webhook.{}.{setting}: {} [{}]", problem.service, problem.message, problem.code)
    });
    told.collect::<Vec<_>>().join("\n")
}

impl std::fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhooks").field("names", &self.agent.services()).finish_non_exhaustive()
    }
}
