//! `[alerts]`: who is told of what goes wrong, and how often it is tried.

use std::collections::BTreeMap;
use std::time::Duration;

use steadfast_form::Table;
use steadfast_http::is_secret_name;

use super::reader::{Reader, headers_of};

/// Who is told of what goes wrong, and how often it is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlertsConfig {
    /// How often an alert is posted before it is given up.
    pub tries: u32,
    /// How long a receiver may take for one alert.
    pub within: Duration,
    /// The wait after the first time that a receiver has failed; it doubles each time.
    pub first_wait: Duration,
    /// No wait is longer.
    pub longest_wait: Duration,
    /// Webhooks by name.
    pub webhooks: BTreeMap<String, WebhookConfig>,
}

/// Where alerts are posted to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebhookConfig {
    /// Where it is.
    pub url: String,
    /// Headers of each request.
    pub headers: Vec<(String, String)>,
    /// The secret that messages are signed with, by its name.
    pub sign_with: Option<String>,
    /// The kinds of alerts that are posted; all, if there are none.
    pub kinds: Vec<String>,
    /// Certificates that are trusted beside the system's, as PEM.
    pub root_certificates: Option<String>,
}

impl Reader<'_> {
    pub(super) fn alerts(&mut self, table: &Table<'_>) -> AlertsConfig {
        let webhooks = table.named("webhook").iter();
        let webhooks =
            webhooks.map(|(key, node)| (key.name.clone(), self.webhook(&key.name, &Table::of(node))));
        let webhooks = webhooks.collect();
        let time = |key: &str, seconds| table.duration(key).unwrap_or_else(|| Duration::from_secs(seconds));
        let (first_wait, longest_wait) = (time("first_wait", 1), time("longest_wait", 300));
        if first_wait > longest_wait {
            let message = format!("{first_wait:?} is longer than `longest_wait`, {longest_wait:?}");
            self.complain(table.place("first_wait"), "alerts.first_wait", message);
        }
        AlertsConfig {
            tries: table.count("tries").unwrap_or(20),
            within: time("within", 10),
            first_wait,
            longest_wait,
            webhooks,
        }
    }

    fn webhook(&mut self, name: &str, table: &Table<'_>) -> WebhookConfig {
        // A reference is what stands in other places, and means the same.
        let sign_with = table.word("sign_with").map(|text| text.strip_prefix("secret://").unwrap_or(text));
        let is_name = |text: &str| is_secret_name(text) && !text.starts_with("whsec_");
        if sign_with.is_some_and(|text| !is_name(text)) {
            // Without what stands there: it may be the key.
            let message = "it names no secret: write a name of letters, digits, `-`, `_` and `.`, and keep the key itself where secrets are";
            self.complain(table.place("sign_with"), format!("alerts.webhook.{name}.sign_with"), message);
        }
        let kinds = table.list("kinds").iter();
        WebhookConfig {
            url: table.word("url").unwrap_or_default().to_owned(),
            headers: headers_of(table),
            sign_with: sign_with.map(str::to_owned),
            kinds: kinds.filter_map(|node| Some(steadfast_form::text(node)?.to_owned())).collect(),
            root_certificates: self.certificates(table, &format!("alerts.webhook.{name}")),
        }
    }
}
