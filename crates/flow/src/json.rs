//! A file as JSON, and a number that tells whether two files mean the same.

use serde_json::{Map, Number, Value as Json};
use steadfast_form::{Node, Place, Shape, Value, duration, entries};

use crate::schema::{FILE, STEPS};

/// A value as JSON; where it is none, and why.
pub(crate) fn of_node(node: &Node) -> Result<Json, (Place, String)> {
    Ok(match &node.value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(number) => Json::from(*number),
        Value::Float(number) => {
            let number = Number::from_f64(*number);
            Json::Number(number.ok_or_else(|| (node.at, "JSON has no such number".to_owned()))?)
        }
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(items) => Json::Array(items.iter().map(of_node).collect::<Result<_, _>>()?),
        Value::Map(entries) => {
            let mut table = Map::new();
            for (key, value) in entries {
                table.insert(key.name.clone(), of_node(value)?);
            }
            Json::Object(table)
        }
    })
}

/// The whole file as JSON. Steps are a list, since their order counts and that of keys is nobody's promise.
pub(crate) fn of_file(root: &Node) -> Json {
    shaped(root, Shape::Table(&FILE), false)
}

/// What the file means, as a text: one that differs only in how it is written is the same.
pub(crate) fn meaning(root: &Node) -> String {
    let mut json = shaped(root, Shape::Table(&FILE), true);
    if let Json::Object(file) = &mut json {
        for key in ["$schema", "version", "description"] {
            file.remove(key);
        }
    }
    let mut text = String::new();
    write(&json, &mut text);
    text
}

/// A value of this shape; `same` makes those one that mean the same: times, and one for a list of one.
fn shaped(node: &Node, shape: Shape, same: bool) -> Json {
    let plain = || of_node(node).unwrap_or_default();
    match (shape, &node.value) {
        (Shape::Table(section), Value::Map(entries)) => {
            let mut table = Map::new();
            for (key, value) in entries {
                let Some(field) = section.field(&key.name) else { continue };
                if same && key.name == "description" {
                    continue;
                }
                let is_list = same && matches!(key.name.as_str(), "after" | "expect" | "accepted");
                let value = match &value.value {
                    Value::List(_) => shaped(value, field.shape, same),
                    _ if is_list => Json::Array(vec![shaped(value, field.shape, same)]),
                    _ => shaped(value, field.shape, same),
                };
                table.insert(key.name.clone(), value);
            }
            Json::Object(table)
        }
        (Shape::OneOf(choices), Value::Map(_)) => match steadfast_form::chosen(node, choices) {
            Ok(choice) => shaped(node, Shape::Table(choice.section), same),
            Err(_) => plain(),
        },
        (Shape::Either(shapes), Value::Map(_) | Value::List(_)) if std::ptr::eq(shapes, &STEPS[..]) => {
            steps(node, same)
        }
        (Shape::LongDuration, Value::Text(time)) if same => match duration::parse_long(time) {
            Ok(time) => Json::from(duration::print(time)),
            Err(_) => plain(),
        },
        _ => plain(),
    }
}

fn steps(node: &Node, same: bool) -> Json {
    let choice = Shape::OneOf(&crate::schema::CHOICES);
    if let Value::List(items) = &node.value {
        return Json::Array(items.iter().map(|item| shaped(item, choice, same)).collect());
    }
    let named = entries(node).iter().map(|(key, item)| {
        let mut step = shaped(item, choice, same);
        if let Json::Object(step) = &mut step {
            step.insert("name".to_owned(), Json::from(key.name.as_str()));
        }
        step
    });
    Json::Array(named.collect())
}

/// JSON with its keys in order, whatever order a table keeps.
fn write(value: &Json, text: &mut String) {
    match value {
        Json::Array(items) => {
            text.push('[');
            for item in items {
                write(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Json::Object(table) => {
            let mut keys: Vec<_> = table.iter().collect();
            keys.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in keys {
                text.push_str(&Json::from(key.as_str()).to_string());
                text.push(':');
                write(value, text);
                text.push(',');
            }
            text.push('}');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

/// FNV-1a, 128 bits: it never changes over versions of this library, unlike std's. Not for what an attacker may choose: whoever
/// may store a workflow may store any.
pub(crate) fn digest(text: &str) -> String {
    const START: u128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
    let hash = text.bytes().fold(START, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    format!("{hash:032x}")
}
