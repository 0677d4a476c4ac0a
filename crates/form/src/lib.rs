//! What a file may say, as data: from one table of sections and keys come the reading, the complaints, the JSON Schema for
//! editors and the reference for people.
//!
//! - [`tree`]: a text in TOML, YAML or JSON as values that know their place. Size, depth and number of values are limited.
//! - [`Section`], [`Field`], [`Shape`]: which keys there are, what each takes, means and has as its default.
//! - [`validate`]: everything that does not fit, each with line, column, key, what was expected and the nearest name.
//! - [`Table`]: the values of a tree that fits, by their types.
//! - [`json_schema`] and [`reference()`]: the same for editors and for people.
//! - [`duration`]: times as people write them.
//!
//! ```
//! use steadfast_form::{Field, Format, Section, Shape, Table, field, validate};
//!
//! static FILE: Section = Section {
//!     name: "the file",
//!     doc: "How the oven is used.",
//!     presets: &[],
//!     fields: &[
//!         field("bake_for", Shape::Duration, "20m", "How long.").needed(),
//!         field("trays", Shape::Count(1, 4), "1", "How many at once."),
//!     ],
//! };
//!
//! let root = Format::Yaml.parse("bake_for: 25m\ntray: 2").unwrap();
//! let told = validate(&root, &FILE);
//! assert_eq!(told[0].to_string(), "2:1: tray: unknown key: did you mean `trays`?");
//! assert_eq!(Table::of(&root).duration("bake_for").unwrap().as_secs(), 1_500);
//! ```
//!
//! Must never know what a file is for: policies, workflows and settings of the server are told apart by those who read them.

mod complaint;
pub mod duration;
mod name;
mod read;
mod reference;
mod schema;
mod shape;
mod table;
#[cfg(test)]
mod tests;
pub mod tree;
mod validate;

pub use complaint::{Complaint, Kind, MAX_COMPLAINTS};
pub use name::{hint, join, listed, nearest, plain};
pub use read::{Unread, read};
pub use reference::{reference, tables, takes};
pub use schema::json_schema;
pub use shape::{Choice, Field, Section, Shape, field};
pub use table::{Table, count, entries, text, time};
pub use tree::{Format, Key, Node, Place, Value};
pub use validate::{MAX_NAME, chosen, expected, number, validate};
