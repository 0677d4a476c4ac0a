//! The JSON Schema of a policy file, made of the same tables that the reader uses.

use std::fmt::Write as _;

use super::{FILE, Section, Shape};

/// The JSON Schema of a policy file (draft 2020-12), for editors: completion, types and docs while one writes.
#[must_use]
pub fn json_schema() -> String {
    let mut schema = String::from("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n");
    let _ = writeln!(schema, "  \"title\": \"Steadfast policies\",");
    let _ = write!(schema, "  {}", &table(&FILE, 1)[4..]);
    schema.push('\n');
    schema
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth)
}

fn quoted(text: &str) -> String {
    // The tables hold plain ASCII text: quotation marks and backslashes are all there is to escape.
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn object(members: &[(String, String)], depth: usize) -> String {
    let inner = indent(depth + 1);
    let members: Vec<_> =
        members.iter().map(|(key, value)| format!("{inner}{}: {value}", quoted(key))).collect();
    format!("{{\n{}\n{}}}", members.join(",\n"), indent(depth))
}

fn member(key: &str, value: impl Into<String>) -> (String, String) {
    (key.to_owned(), value.into())
}

fn table(section: &'static Section, depth: usize) -> String {
    let properties: Vec<_> = section
        .fields
        .iter()
        .map(|field| {
            let mut doc = field.doc.to_owned();
            if !field.default.is_empty() {
                let _ = write!(doc, " Default: {}.", field.default);
            }
            let mut members = vec![member("description", quoted(&doc))];
            members.extend(shape(field.shape, depth + 2));
            member(field.key, object(&members, depth + 2))
        })
        .collect();
    let members = [
        member("description", quoted(section.doc)),
        member("type", "\"object\""),
        member("additionalProperties", "false"),
        member("properties", object(&properties, depth + 1)),
    ];
    object(&members, depth)
}

/// What a value of this shape must be, as members of its schema.
fn shape(shape_of: Shape, depth: usize) -> Vec<(String, String)> {
    let any = |schemas: Vec<String>| vec![member("anyOf", format!("[{}]", schemas.join(", ")))];
    match shape_of {
        Shape::Duration | Shape::DurationOrZero => {
            vec![
                member("type", "\"string\""),
                member("pattern", quoted("^ *([0-9.]+ *(ns|us|ms|s|m|h)[a-z]*[ ,]*)+$")),
            ]
        }
        Shape::Count(least, most) => vec![
            member("type", "\"integer\""),
            member("minimum", least.to_string()),
            member("maximum", most.to_string()),
        ],
        Shape::Share => {
            vec![member("type", "\"number\""), member("exclusiveMinimum", "0"), member("maximum", "1")]
        }
        Shape::Number(least, most) => vec![
            member("type", "\"number\""),
            member("minimum", least.to_string()),
            member("maximum", most.to_string()),
        ],
        Shape::Flag => vec![member("type", "\"boolean\"")],
        Shape::Text => vec![member("type", "\"string\"")],
        Shape::Word(words) => {
            let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
            vec![member("enum", format!("[{}]", words.join(", ")))]
        }
        Shape::Kind => vec![member("type", "[\"string\", \"integer\"]")],
        Shape::Of(section) => any(vec!["{ \"type\": \"string\" }".to_owned(), reference(section)]),
        Shape::List(inner) => {
            vec![member("type", "\"array\""), member("items", object(&shape(*inner, depth + 1), depth + 1))]
        }
        Shape::Named(inner) => vec![
            member("type", "\"object\""),
            member(
                "additionalProperties",
                match inner {
                    Shape::Table(section) => table(section, depth + 1),
                    inner => object(&shape(*inner, depth + 1), depth + 1),
                },
            ),
        ],
        Shape::Table(section) => vec![
            member("type", "\"object\""),
            member("additionalProperties", "false"),
            member("properties", properties(section, depth + 1)),
        ],
        Shape::Either(shapes) => {
            any(shapes.iter().map(|inner| object(&shape(*inner, depth + 1), depth + 1)).collect())
        }
    }
}

fn properties(section: &'static Section, depth: usize) -> String {
    let fields: Vec<_> = section
        .fields
        .iter()
        .map(|field| {
            let mut members = vec![member("description", quoted(field.doc))];
            members.extend(shape(field.shape, depth + 1));
            member(field.key, object(&members, depth + 1))
        })
        .collect();
    object(&fields, depth)
}

/// Named settings stand under the file's own key: in place they look the same.
fn reference(section: &Section) -> String {
    format!("{{ \"$ref\": \"#/properties/{}/additionalProperties\" }}", section.name)
}
