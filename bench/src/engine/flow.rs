//! The task that is measured: three steps one after the other, which return at once.

use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use steadfast::{Context, Error, Failure, Service, Workflow};
use tokio::sync::Semaphore;

/// What a task is submitted with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// What is bought.
    pub sku: String,
    /// For how much.
    pub total: u32,
}

/// What a step gives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Receipt {
    /// Of which step.
    pub of: String,
    /// For how much.
    pub total: u32,
}

impl Order {
    /// The one that all tasks are submitted with.
    #[must_use]
    pub fn chair() -> Self {
        Self { sku: "a chair made of oak".to_owned(), total: 70 }
    }
}

/// The workflow. With a gate each step waits for a permit of it, so that one can look at the rows in between.
///
/// # Errors
/// The workflow makes no sense.
pub fn order(gate: Option<&Arc<Semaphore>>) -> Result<Workflow<Order, Receipt>, Error> {
    let shop = Service::standard("shop");
    let mut flow = Workflow::<Order>::builder("order");
    let reserve = flow.step("reserve", &shop, receipt("reserve", gate)).nothing_to_undo().add();
    let charge = flow.step("charge", &shop, receipt("charge", gate)).after([reserve.name()]);
    let charge = charge.nothing_to_undo().add();
    let send = flow.step("send", &shop, receipt("send", gate)).after([charge.name()]).nothing_to_undo().add();
    flow.returns(send)
}

type Given = Pin<Box<dyn Future<Output = Result<Receipt, Failure>> + Send>>;

fn receipt(of: &'static str, gate: Option<&Arc<Semaphore>>) -> impl Fn(Context<Order>) -> Given + use<> {
    let gate = gate.cloned();
    move |cx| {
        let gate = gate.clone();
        Box::pin(async move {
            if let Some(gate) = gate
                && let Ok(permit) = gate.acquire().await
            {
                permit.forget();
            }
            Ok(Receipt { of: of.to_owned(), total: cx.input.total })
        })
    }
}
