//! The order of the benchmark as a service of Restate: three durable steps, each of which calls the shop over HTTP.
//! Told where the shop is; listens on port 9080, in a network of its own.

use std::time::Duration;

use reqwest::{Client, redirect, retry};
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

/// How long a call may take.
const ATTEMPT: Duration = Duration::from_secs(10);

#[derive(Clone, Serialize, Deserialize)]
struct Order {
    sku: String,
    total: u32,
}

#[derive(Serialize, Deserialize)]
struct Receipt {
    of: String,
    total: u32,
}

struct Shop {
    client: Client,
    url: String,
}

#[restate_sdk::service(name = "order")]
impl Shop {
    #[handler(name = "run")]
    async fn run(&self, context: Context<'_>, order: Json<Order>) -> Result<Json<Receipt>, HandlerError> {
        let order = order.into_inner();
        self.step(&context, "reserve", &order).await?;
        self.step(&context, "charge", &order).await?;
        self.step(&context, "send", &order).await
    }
}

impl Shop {
    async fn step(
        &self,
        context: &Context<'_>,
        step: &'static str,
        order: &Order,
    ) -> Result<Json<Receipt>, HandlerError> {
        let call = || async move {
            let request = self.client.post(format!("{}/{step}", self.url)).timeout(ATTEMPT);
            let request = request.header("content-type", "application/json");
            let body = serde_json::to_vec(order)?;
            let answer = request.body(body).send().await?.error_for_status()?;
            Ok(Json::from(serde_json::from_slice::<Receipt>(&answer.bytes().await?)?))
        };
        Ok(context.run(call).name(step).await?)
    }
}

fn main() {
    let url = std::env::args().nth(1).expect("the shop's address is told");
    // As the HTTP agent of Steadfast makes its own.
    let client = Client::builder().redirect(redirect::Policy::none()).referer(false).retry(retry::never());
    let client = client.no_proxy().connect_timeout(Duration::from_secs(5)).pool_max_idle_per_host(1_024);
    let shop = Shop { client: client.build().expect("a client"), url };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
    let server = HttpServer::new(Endpoint::builder().bind(shop).build());
    runtime.block_on(async {
        // Connections have this of the socket that listens: with small messages that wait for each other a call took 90 ms.
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.set_nodelay(true).expect("no delay");
        socket.set_reuseaddr(true).expect("its port again");
        socket.bind("127.0.0.1:9080".parse().expect("an address")).expect("its port");
        server.serve(socket.listen(1_024).expect("it listens")).await;
    });
}
