//! tokio's own timeout, alone.

use std::hint::black_box;
use std::time::Duration;

use anyhow::Result;

use crate::case::{Case, Role, Set};
use crate::op::{Operation, Pending, Ready};

pub(super) fn cases() -> Result<Vec<Case>> {
    Ok(vec![timeout(Set::Part, Ready)?, timeout(Set::PartPending, Pending)?])
}

#[expect(clippy::disallowed_methods, reason = "it is what is measured")]
fn timeout<O: Operation>(set: Set, op: O) -> Result<Case> {
    Case::one_thread(set, "tokio timeout", Role::Other, async || {
        Ok(async move |input| {
            black_box(tokio::time::timeout(Duration::from_secs(10), op.call(input)).await).is_ok()
        })
    })
}
