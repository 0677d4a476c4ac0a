//! Services that steps call.

use serde::{Deserialize, Serialize};

/// A service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Service {
    /// Its name.
    pub name: String,
    /// Where it is, for one that is called over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The policy that its calls go by, in words.
    pub policy: String,
    /// How many attempts may run at a time, how many may begin in a second, in words.
    pub limits: String,
    /// How its breaker stands, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker: Option<String>,
    /// How its calls went, since this server began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Calls>,
}

/// How the calls of a service went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Calls {
    /// Calls that succeeded.
    pub succeeded: u64,
    /// Calls that failed for good, after their retries.
    pub failed: u64,
    /// Calls that ended with an answer that no retry can change.
    pub terminal: u64,
    /// Calls that the breaker refused.
    pub refused: u64,
    /// Attempts of all calls.
    pub attempts: u64,
    /// Attempts that were not the first of their call.
    pub retries: u64,
    /// Attempts that the service throttled.
    pub throttled: u64,
}

/// All services, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Services {
    /// They.
    pub services: Vec<Service>,
}
