//! Workflows in files: YAML and JSON, with CEL for conditions and mapping.
//!
//! A [`FlowFile`] is read and checked as a whole: keys, names of steps, expressions, and whether the engine finds sense in it,
//! each complaint with line, column, key and what to do. [Built](FlowFile::build) with a [`World`] that knows the services and an
//! [`Agent`] that makes the calls, it is a workflow like one of the Rust builder, with the same definition.
//!
//! ```
//! use steadfast_flow::{FlowFile, Format};
//!
//! let text = r#"
//! workflow: place-order
//! complete_within: 10m
//! steps:
//!   reserve:
//!     service: inventory
//!     request: { method: POST, path: /reservations, body: { sku: "${input.sku}", quantity: "${input.quantity}" } }
//!     undo: { method: DELETE, path: "/reservations/${output.id}" }
//!   ship:
//!     after: reserve
//!     when: "input.quantity > 0"
//!     service: shipping
//!     request: { method: POST, path: /shipments, body: { reservation: "${steps.reserve.output.id}" } }
//!     point_of_no_return: true
//! "#;
//! let file = FlowFile::parse(text, Format::Yaml, "place-order.yaml")?;
//! assert_eq!((file.name(), file.services()), ("place-order", vec!["inventory", "shipping"]));
//!
//! let wrong = text.replace("steps.reserve.output", "steps.reserv.output");
//! let told = FlowFile::parse(&wrong, Format::Yaml, "place-order.yaml").unwrap_err().to_string();
//! assert!(told.starts_with("place-order.yaml:13:"));
//! assert!(told.contains("there is no step `reserv`: did you mean `reserve`?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Must never know an HTTP client, a server or a store: it makes calls by its [`Agent`], and keeps nothing.

mod build;
mod call;
mod code;
mod error;
mod expression;
mod file;
mod handler;
mod json;
mod model;
mod read;
mod request;
mod schema;
mod scope;
mod template;
mod world;

pub use call::{Agent, Call, Calling, Expect, Reply};
pub use code::Code;
pub use error::{Complaint, Error};
pub use file::FlowFile;
pub use request::is_json_kind;
pub use schema::{json_schema, reference};
pub use steadfast_form::{Format, Place};
pub use world::World;

/// The guide's examples, run as tests.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../docs/guide/workflow-files.md")]
    struct WorkflowFiles;
}
