//! The workflow `place-order` in Rust. It says what `workflows/place-order.yaml` says.

use std::time::Duration;

use serde_json::json;
use steadfast::resilience::{Breaker, Pipeline, Retry};
use steadfast::{OnFailure, Service, StepRef, Workflow, WorkflowBuilder};

use super::client::{Caller, Made, client, made};
use crate::error::Error;
use crate::order::Order;
use crate::promise::{
    ATTEMPT_TIMEOUT, MAX_BACKOFF, MAX_RETRIES, MOST_RUNNING, OPEN_AT_MOST, OPEN_FOR, TRIP_AFTER,
};
use crate::service::Kind;
use crate::shop::WORKFLOW;
use crate::town::Town;

/// How long an order may take; one that waits for a service for longer is undone.
const COMPLETE_WITHIN: Duration = Duration::from_secs(10 * 60);
/// How long an attempt to charge may take, with its quick retries.
const CHARGE_WITHIN: Duration = Duration::from_secs(30);

pub(super) fn place_order(town: &Town) -> Result<Workflow<Order, Made>, Error> {
    let client = client()?;
    let caller = |kind: Kind| Caller::new(&client, town.service(kind).url());
    let mut flow = Workflow::<Order>::builder(WORKFLOW).complete_within(COMPLETE_WITHIN);
    let reserve = reserve(&mut flow, caller(Kind::Inventory))?;
    let charge = charge(&mut flow, caller(Kind::Payments), reserve)?;
    let ship = ship(&mut flow, caller(Kind::Shipping), charge)?;
    flow.returns(ship).map_err(|error| Error::engine("build the workflow", error))
}

fn reserve(flow: &mut WorkflowBuilder<Order>, inventory: Caller) -> Result<StepRef<Made>, Error> {
    let releasing = inventory.clone();
    Ok(flow
        .step("reserve", &service(Kind::Inventory)?, move |cx| {
            let (inventory, key) = (inventory.clone(), cx.key());
            let order = cx.into_input();
            async move {
                let body = json!({ "order": order.order, "sku": order.sku, "quantity": order.quantity });
                made(inventory.post("/reservations", key, body).await?).await
            }
        })
        .undo_with_output(move |cx, reservation| {
            let (inventory, key) = (releasing.clone(), cx.key());
            async move { inventory.delete(&format!("/reservations/{}", reservation.id), key).await }
        })
        .add())
}

fn charge(
    flow: &mut WorkflowBuilder<Order>,
    payments: Caller,
    reserve: StepRef<Made>,
) -> Result<StepRef<Made>, Error> {
    let refunding = payments.clone();
    Ok(flow
        .step("charge", &service(Kind::Payments)?, move |cx| {
            let (payments, key) = (payments.clone(), cx.key());
            let order = cx.into_input();
            async move {
                let body =
                    json!({ "order": order.order, "amount_cents": order.total_cents, "card": order.card });
                made(payments.post("/charges", key, body).await?).await
            }
        })
        .after(reserve)
        .complete_within(CHARGE_WITHIN)
        .undo(move |cx| {
            let (payments, key, charged) = (refunding.clone(), cx.key(), cx.step_key("charge"));
            async move { payments.post("/refunds", key, json!({ "key": charged.to_string() })).await.map(drop) }
        })
        .undo_when_unknown()
        .add())
}

fn ship(
    flow: &mut WorkflowBuilder<Order>,
    shipping: Caller,
    charge: StepRef<Made>,
) -> Result<StepRef<Made>, Error> {
    let cancelling = shipping.clone();
    Ok(flow
        .step("ship", &service(Kind::Shipping)?, move |cx| {
            let (shipping, key) = (shipping.clone(), cx.key());
            let order = cx.into_input();
            async move {
                let body = json!({ "order": order.order, "sku": order.sku, "quantity": order.quantity });
                made(shipping.post("/shipments", key, body).await?).await
            }
        })
        .after(charge)
        .undo_with_output(move |cx, shipment| {
            let (shipping, key) = (cancelling.clone(), cx.key());
            async move { shipping.delete(&format!("/shipments/{}", shipment.id), key).await }
        })
        .on_failure(OnFailure::Error)
        .add())
}

/// A service, with the numbers of the promise.
fn service(kind: Kind) -> Result<Service, Error> {
    let pipeline = Pipeline::builder(kind.name())
        .attempt_timeout(ATTEMPT_TIMEOUT)
        .retry(Retry::exponential().max_backoff(MAX_BACKOFF).max_retries(MAX_RETRIES))
        .breaker(Breaker::consecutive(TRIP_AFTER).open_for(OPEN_FOR).growing_to(OPEN_AT_MOST))
        .build();
    let pipeline = pipeline.map_err(|error| Error::engine("build a service's pipeline", error))?;
    Ok(Service::new(pipeline).most_running(usize::try_from(MOST_RUNNING).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use steadfast_flow::{Agent, Call, Calling, FlowFile, Format, World};

    use super::*;
    use crate::town::WORKFLOW_FILE;

    struct Services;

    impl World for Services {
        fn service(&self, name: &str) -> Option<Service> {
            Kind::named(name).map(|kind| service(kind).unwrap())
        }

        fn services(&self) -> Vec<String> {
            Kind::ALL.map(|kind| kind.name().to_owned()).into()
        }

        fn workflow(&self, _: &str) -> Option<Arc<steadfast_runtime::Workflow>> {
            None
        }
    }

    /// Nothing is called.
    struct Nobody;

    impl Agent for Nobody {
        fn call(&self, _: Call) -> Calling {
            Box::pin(std::future::pending())
        }
    }

    /// X1, W9
    #[tokio::test]
    async fn the_file_and_the_code_say_the_same() {
        let file = FlowFile::parse(WORKFLOW_FILE, Format::Yaml, "place-order.yaml").unwrap();
        let by_file = file.build(1, &Services, Arc::new(Nobody)).unwrap();
        let by_code = place_order(&Town::start().await.unwrap()).unwrap();
        let said = |definition: &steadfast::Definition| format!("{definition:#?}");
        assert_eq!(said(by_file.definition()), said(by_code.definition()));
        assert_eq!(by_file.definition().shape(), by_code.definition().shape());
    }
}
