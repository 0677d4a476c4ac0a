//! backon: retry alone, exponential, as it comes.

use std::hint::black_box;

use ::backon::{ExponentialBuilder, Retryable};
use anyhow::Result;

use crate::case::{Case, Role, Set};
use crate::op::{Operation, Pending, Ready};

pub(super) fn cases() -> Result<Vec<Case>> {
    Ok(vec![retry(Set::Part, Ready)?, retry(Set::PartPending, Pending)?])
}

fn retry<O: Operation>(set: Set, op: O) -> Result<Case> {
    Case::one_thread(set, "backon retry", Role::Other, async || {
        Ok(async move |input| {
            let call = || op.call(input);
            black_box(call.retry(ExponentialBuilder::default()).await).is_ok()
        })
    })
}
