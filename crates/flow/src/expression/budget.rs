//! What an evaluation may still do.

use std::cell::Cell;

use serde_json::Value;

use super::evaluate::Failed;
use super::limit::{BYTES_A_PART, MAX_MADE, MAX_WORK};

/// Counts work and bytes, of all expressions that are evaluated for one call together.
#[derive(Debug)]
pub(crate) struct Budget {
    work: Cell<usize>,
    made: Cell<usize>,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { work: Cell::new(MAX_WORK), made: Cell::new(MAX_MADE) }
    }

    /// Pays for work.
    pub(crate) fn work(&self, parts: usize) -> Result<(), Failed> {
        match self.work.get().checked_sub(parts) {
            Some(left) => {
                self.work.set(left);
                Ok(())
            }
            None => {
                self.work.set(0);
                Err(Failed::Stopped(format!(
                    "it takes more than {MAX_WORK} parts of work: its lists are too long for it"
                )))
            }
        }
    }

    /// Pays for looking at bytes.
    pub(crate) fn look(&self, bytes: usize) -> Result<(), Failed> {
        self.work(bytes / BYTES_A_PART)
    }

    /// Pays for bytes that are made.
    pub(crate) fn make(&self, bytes: usize) -> Result<(), Failed> {
        self.look(bytes)?;
        match self.made.get().checked_sub(bytes) {
            Some(left) => {
                self.made.set(left);
                Ok(())
            }
            None => {
                self.made.set(0);
                Err(Failed::Stopped(format!("what it makes has more than {MAX_MADE} bytes")))
            }
        }
    }

    /// Pays for a value that is copied, and copies it.
    pub(crate) fn copy(&self, value: &Value) -> Result<Value, Failed> {
        self.work(1)?;
        Ok(match value {
            Value::String(text) => {
                self.make(text.len())?;
                Value::String(text.clone())
            }
            Value::Array(items) => {
                self.make(items.len() * size_of::<Value>())?;
                Value::Array(items.iter().map(|item| self.copy(item)).collect::<Result<_, _>>()?)
            }
            Value::Object(entries) => {
                let mut copied = serde_json::Map::new();
                for (key, value) in entries {
                    self.make(key.len() + size_of::<Value>())?;
                    copied.insert(key.clone(), self.copy(value)?);
                }
                Value::Object(copied)
            }
            plain => plain.clone(),
        })
    }
}
