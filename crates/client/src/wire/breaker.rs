//! The circuit breakers of services.

use serde::{Deserialize, Serialize};

/// The breaker of a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Breaker {
    /// Whose it is.
    pub service: String,
    /// How it stands on this server: `closed`, `open`, `half_open`, `forced_open`, `forced_closed`.
    pub state: String,
    /// How much longer it is open; not there if it is not, or has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_for_ms: Option<u64>,
    /// Who set it by hand and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced_by: Option<ForcedBy>,
    /// Calls in the window.
    pub calls: u64,
    /// Failed calls in the window.
    pub failures: u64,
    /// Slow calls in the window.
    pub slow: u64,
    /// Probes under way.
    pub probes: u64,
    /// Calls that were refused, since this server began.
    pub refused: u64,
    /// What tripped it last, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_trip: Option<String>,
    /// Recoveries in a row that have failed.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub failed_recoveries: u32,
    /// Calls a second before it opened, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_per_second: Option<f64>,
    /// The stage at which work goes back to the service, while that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp_stage: Option<u32>,
    /// What happened to it, oldest first, as the store has it. In a list it is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Past>,
}

/// All breakers, by service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Breakers {
    /// They.
    pub breakers: Vec<Breaker>,
}

/// Who set a breaker by hand and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ForcedBy {
    /// Who.
    pub by: String,
    /// Why.
    pub because: String,
}

/// A change of a breaker's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Past {
    /// When.
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub at: String,
    /// The state from then on.
    pub state: String,
    /// Who set it by hand and why, if somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced_by: Option<ForcedBy>,
}

/// What is asked of a breaker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({ "by": "ana@shop", "because": "the bank is being repaired" })))]
pub struct Force {
    /// Who asks.
    pub by: String,
    /// Why.
    pub because: String,
}

/// A breaker is to be held open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({
    "by": "ana@shop", "because": "the bank is being repaired", "for_ms": 600_000
})))]
pub struct ForceOpen {
    /// Who asks.
    pub by: String,
    /// Why.
    pub because: String,
    /// For so long, at least 1; without an end where nothing is said. Then probes are let through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 1))]
    #[cfg_attr(feature = "schema", schema(format = "uint64"))]
    pub for_ms: Option<u64>,
}
