//! The three services together.

use crate::error::Error;
use crate::service::{Kind, Service};

/// The workflow as a file: what `steadfast serve` runs.
pub const WORKFLOW_FILE: &str = include_str!("../workflows/place-order.yaml");
/// The configuration as a file, with the services on the ports of [`PORTS`].
pub const CONFIGURATION_FILE: &str = include_str!("../steadfast.toml");
/// Where the services are in the configuration file, in the order of [`Kind::ALL`].
pub const PORTS: [u16; 3] = [7181, 7182, 7183];

/// The services; they stop when it is dropped.
#[derive(Debug)]
pub struct Town {
    /// Reserves and releases.
    pub inventory: Service,
    /// Charges and refunds.
    pub payments: Service,
    /// Ships and cancels.
    pub shipping: Service,
}

impl Town {
    /// Starts them on any free ports.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn start() -> Result<Self, Error> {
        Self::start_on([0; 3]).await
    }

    /// Starts them on these ports, in the order of [`Kind::ALL`].
    ///
    /// # Errors
    /// One of them cannot be had.
    pub async fn start_on([inventory, payments, shipping]: [u16; 3]) -> Result<Self, Error> {
        Ok(Self {
            inventory: Service::start(Kind::Inventory, inventory).await?,
            payments: Service::start(Kind::Payments, payments).await?,
            shipping: Service::start(Kind::Shipping, shipping).await?,
        })
    }

    /// One of them.
    #[must_use]
    pub const fn service(&self, kind: Kind) -> &Service {
        match kind {
            Kind::Inventory => &self.inventory,
            Kind::Payments => &self.payments,
            Kind::Shipping => &self.shipping,
        }
    }

    /// All of them, in the order in which an order meets them.
    #[must_use]
    pub const fn services(&self) -> [&Service; 3] {
        [&self.inventory, &self.payments, &self.shipping]
    }

    /// The configuration file, with the services where they are.
    #[must_use]
    pub fn configuration(&self) -> String {
        let places = PORTS.into_iter().zip(self.services());
        places.fold(CONFIGURATION_FILE.to_owned(), |text, (port, service)| {
            text.replace(&format!("\"http://127.0.0.1:{port}\""), &format!("\"{}\"", service.url()))
        })
    }
}
