//! The JSON Schema of a file, made of the same tables that the validator uses.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::shape::{Choice, Section, Shape};

/// The JSON Schema of a file (draft 2020-12), for editors: completion, types and docs while one writes.
#[must_use]
pub fn json_schema(title: &str, file: &'static Section) -> String {
    let mut schema = String::from("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n");
    let _ = writeln!(schema, "  \"title\": {},", quoted(title));
    let _ = write!(schema, "  {}", &table(file, None, 1)[4..]);
    let mut choices = BTreeMap::new();
    collect(Shape::Table(file), &mut choices);
    if !choices.is_empty() {
        // They may be in one another, so that they stand apart: before the brace that ends the file's own table.
        schema.truncate(schema.len() - "\n  }".len());
        let parts: Vec<_> = choices
            .into_iter()
            .map(|(name, choice)| (name.to_owned(), table(choice.section, Some(choice.mark), 2)))
            .collect();
        let _ = write!(schema, ",\n    \"$defs\": {}\n  }}", object(&parts, 1));
    }
    schema.push('\n');
    schema
}

/// The tables that are one of several, by name.
fn collect(shape: Shape, found: &mut BTreeMap<&'static str, &'static Choice>) {
    match shape {
        Shape::Table(section) => section.fields.iter().for_each(|field| collect(field.shape, found)),
        Shape::List(inner) | Shape::Named(inner) => collect(*inner, found),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| collect(*shape, found)),
        Shape::OneOf(choices) => {
            for choice in choices {
                if found.insert(choice.section.name, choice).is_none() {
                    collect(Shape::Table(choice.section), found);
                }
            }
        }
        _ => {}
    }
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

fn table(section: &'static Section, mark: Option<&str>, depth: usize) -> String {
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
    let mut members = vec![
        member("description", quoted(section.doc)),
        member("type", "\"object\""),
        member("additionalProperties", "false"),
        member("properties", object(&properties, depth + 1)),
    ];
    members.extend(required(section, mark));
    object(&members, depth)
}

/// The keys that a table needs, if it needs any.
fn required(section: &Section, mark: Option<&str>) -> Option<(String, String)> {
    let needed = section.fields.iter().filter(|field| field.needed || Some(field.key) == mark);
    let needed: Vec<_> = needed.map(|field| quoted(field.key)).collect();
    (!needed.is_empty()).then(|| member("required", format!("[{}]", needed.join(", "))))
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
        Shape::LongDuration => {
            vec![
                member("type", "\"string\""),
                member("pattern", quoted("^ *([0-9.]+ *(ns|us|ms|s|m|h|d)[a-z]*[ ,]*)+$")),
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
        Shape::Text | Shape::Template => vec![member("type", "\"string\"")],
        Shape::Expression => vec![member("type", "\"string\""), member("minLength", "1")],
        Shape::Any => Vec::new(),
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
                    Shape::Table(section) => table(section, None, depth + 1),
                    inner => object(&shape(*inner, depth + 1), depth + 1),
                },
            ),
        ],
        Shape::Table(section) => {
            let mut members = vec![
                member("type", "\"object\""),
                member("additionalProperties", "false"),
                member("properties", properties(section, depth + 1)),
            ];
            members.extend(required(section, None));
            members
        }
        Shape::OneOf(choices) => any(choices
            .iter()
            .map(|choice| format!("{{ \"$ref\": \"#/$defs/{}\" }}", choice.section.name))
            .collect()),
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
