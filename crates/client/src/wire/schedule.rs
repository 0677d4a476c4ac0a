//! Recurring work.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A schedule to be declared. The same declaration changes nothing; another one takes the place of the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({
    "workflow": "close-the-books", "when": "30 2 * * MON-FRI", "time_zone": "Europe/Berlin"
})))]
pub struct NewSchedule {
    /// What it runs.
    pub workflow: String,
    /// Which version of it; the newest at the time of the declaration where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uint32"))]
    pub version: Option<u32>,
    /// The input of its runs.
    #[serde(default)]
    pub input: Value,
    /// When: five fields, such as `30 2 * * MON-FRI`; `@hourly` and the like; or an interval, such as `every 15m`.
    pub when: String,
    /// Whose wall clock it goes by, such as `Europe/Berlin`; `UTC` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Whose tasks these are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// What is done about runs that were missed; the latest runs once where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<Missed>,
    /// What is done when the run before has not ended; they run side by side where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    /// Begins each run by up to this much later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uint64"))]
    pub jitter_ms: Option<u64>,
    /// No instant before this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub starts_at: Option<String>,
    /// No instant at or after this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub ends_at: Option<String>,
}

/// What is done about runs that were missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Missed {
    /// Nothing.
    Skip,
    /// The latest runs, once, for all of them.
    RunOnce,
    /// Each of them runs, up to so many: `{"run_all": {"most": 3}}`.
    RunAll {
        /// How many.
        #[cfg_attr(feature = "schema", schema(format = "uint32"))]
        most: u32,
    },
}

/// What is done when the run before has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Overlap {
    /// It runs beside.
    Allow,
    /// It is skipped.
    Skip,
    /// It waits for the end of that one.
    QueueOne,
    /// That one is cancelled, and undoes what it did.
    CancelPrevious,
}

/// A schedule as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Schedule {
    /// What it is called.
    pub name: String,
    /// What it runs.
    pub workflow: String,
    /// In which version.
    pub version: u32,
    /// Whose tasks these are.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// When, as it was written.
    pub when: String,
    /// Whose wall clock it goes by.
    pub time_zone: String,
    /// What is done about runs that were missed.
    pub missed: Missed,
    /// What is done when the run before has not ended.
    pub overlap: Overlap,
    /// Since when it is paused, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub paused_since: Option<String>,
    /// Its next instant; not there if there are no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub next: Option<String>,
    /// The last run that was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Run>,
    /// Why the last run could not be begun, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// How many runs were begun.
    pub runs: u64,
    /// How many were missed, and not made up for.
    pub skipped_missed: u64,
    /// How many were skipped since the one before had not ended.
    pub skipped_overlap: u64,
}

/// A run of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Run {
    /// The instant that it is for.
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub instant: String,
    /// Its task.
    pub task: String,
    /// When it was begun.
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub at: String,
}

/// All schedules, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Schedules {
    /// They.
    pub schedules: Vec<Schedule>,
}

/// What a declaration has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Declared {
    /// There was none of this name.
    New,
    /// It was declared so before.
    Same,
    /// It has taken the place of another one.
    Changed,
}

/// A schedule that was declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DeclaredSchedule {
    /// What it is called.
    pub name: String,
    /// What that has changed.
    pub declared: Declared,
}

/// A schedule was paused or resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Turned {
    /// What it is called.
    pub name: String,
    /// Whether that has changed anything.
    pub changed: bool,
}
