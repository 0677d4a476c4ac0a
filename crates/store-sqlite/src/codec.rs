//! Between rows and the engine's types. Numbers and packed forms are part of the file: what was shipped never changes.

use rusqlite::types::{FromSqlError, Type};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use steadfast_engine::{Head, Record, StepId, TaskState, Time};

/// The first byte of everything packed: the form that follows.
const FORM: u8 = 1;

/// What a write did, as it is read from the history.
#[derive(Deserialize)]
pub(crate) struct Change {
    pub(crate) head: Option<Head>,
    pub(crate) steps: Vec<(StepId, Record)>,
}

/// What a write does, as it is put into the history: packed it is the same.
#[derive(Serialize)]
pub(crate) struct Changing<'a> {
    pub(crate) head: Option<&'a Head>,
    pub(crate) steps: &'a [(StepId, Record)],
}

/// The number of a state in the file; from 4 on a task is at rest.
pub(crate) fn state(state: TaskState) -> u8 {
    match state {
        TaskState::Pending => 0,
        TaskState::Running => 1,
        TaskState::Waiting => 2,
        TaskState::Undoing => 3,
        TaskState::Failed => 4,
        TaskState::Completed => 5,
        TaskState::Undone => 6,
    }
}

pub(crate) fn millis(time: Time) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn time(millis: i64) -> Time {
    Time::from_millis(u64::try_from(millis).unwrap_or(0))
}

pub(crate) fn pack(value: &impl Serialize) -> rusqlite::Result<Vec<u8>> {
    let packed = postcard::to_extend(value, vec![FORM]);
    packed.map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

pub(crate) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> rusqlite::Result<T> {
    let bad = |error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, error)
    };
    match bytes.split_first() {
        Some((&FORM, packed)) => postcard::from_bytes(packed).map_err(|error| bad(Box::new(error))),
        _ => Err(bad(Box::new(FromSqlError::InvalidType))),
    }
}

pub(crate) fn id(bits: u128) -> [u8; 16] {
    bits.to_be_bytes()
}
