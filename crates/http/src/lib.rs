//! The HTTP agent: steps that call plain web services, with no code written.
//!
//! An [`HttpAgent`] knows services by name ([`Target`]) and makes one request for each [`Call`]. What its answer means is said by
//! the classification of `steadfast-resilience`; retry, breaker and time limits are in the pipeline around it.
//!
//! ```
//! use steadfast_http::{Agent, Call, Expect, HttpAgent, Target};
//! use steadfast_resilience::{IdempotencyKey, Pipeline};
//! use steadfast_store::TaskId;
//! use steadfast_testkit::{Answer, Script, http::Server};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let receipt = Answer::new().status(201).header("content-type", "application/json").body(r#"{"id":"ch-1"}"#);
//! let service = Server::start(Script::fail().then(Script::answer(receipt)?))?; // fails once, then works
//!
//! let agent = HttpAgent::builder().target("payments", Target::new(service.url())).build()?;
//! let payments = Pipeline::standard("payments");
//! let key = IdempotencyKey::fresh();
//! let reply = payments
//!     .call()
//!     .key(key)
//!     .run(|attempt| {
//!         agent.call(Call {
//!             service: "payments".into(),
//!             operation: "charge".into(),
//!             method: "POST".into(),
//!             path: "/charges".into(),
//!             query: vec![],
//!             headers: vec![],
//!             body: Some(br#"{"cents":1299}"#.to_vec()),
//!             expect: Expect::default(),
//!             key,
//!             task: TaskId::from_u128(7),
//!             step: "charge".into(),
//!             undo: false,
//!             attempt,
//!             number: 1,
//!             callback: None,
//!             trace: None,
//!         })
//!     })
//!     .await
//!     .map_err(|error| error.to_string())?;
//! assert_eq!((reply.status, &reply.body["id"]), (201, &"ch-1".into()));
//! service.ledger().assert_attempts(2).assert_one_key();
//! # Ok(()) }
//! ```
//!
//! - A [`Target`] has the address, headers, limits and connections of a service; [`HttpAgent::set`] changes all of them at once.
//! - [`Secrets`] are named in headers and bodies (`secret://name`), fetched when a call is made, and taken out of every text that
//!   leaves the agent.
//! - [`HttpAgent::post`] posts messages that are signed to somebody's webhook.
//! - A path never leads to another host, a redirect is never followed, an answer is never larger than allowed.
//!
//! Must never decide whether to try again, nor keep anything of a call. The guide's chapter
//! [Calling web services](https://github.com/steadfast-rs/steadfast/blob/main/docs/guide/calling-web-services.md) is for those who
//! write services and workflows.
//!
//! Features: `tls` for `https://`.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod agent;
mod answer;
mod error;
mod fault;
mod header;
mod path;
mod post;
mod secret;
mod target;

pub use agent::{Builder, HttpAgent, Trace, trace_headers};
pub use answer::{KEPT_HEADERS, MAX_KEPT_HEADERS, MAX_VALUES, values_in};
pub use error::{Code, Error, Problem};
pub use fault::{NOT_SENT, OVERSIZED, REDIRECTED, UNEXPECTED, UNREADABLE};
pub use header::{MAX_REQUEST_HEADERS, check_header};
pub use path::MAX_URL;
pub use post::Post;
pub use secret::{
    ENV_PREFIX, EnvSecrets, FolderSecrets, MAX_SECRET, MAX_SECRET_NAME, MIN_SECRET, NoSecret, REFERENCE,
    Secret, Secrets, is_secret_name,
};
pub use steadfast_flow::{Agent, Call, Calling, Expect, Reply};
pub use target::{DEFAULT_CONNECT_TIMEOUT, DEFAULT_MAX_REQUEST, DEFAULT_MAX_RESPONSE, MAX_BODY, Target};

/// The examples of the guide run as tests of this crate.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../docs/guide/calling-web-services.md")]
    struct CallingWebServices;
}
