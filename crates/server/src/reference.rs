//! The reference of the HTTP API for people, made of the OpenAPI document.

use std::fmt::Write as _;

use serde_json::Value;
use utoipa::openapi::OpenApi;

const HEAD: &str = "# HTTP API\n\n\
    Made of [the OpenAPI document](../openapi.json) by a test of `steadfast-server`; do not edit. Every error is \
    `application/problem+json` with a code that has [a page](../errors/README.md), and says whether it is transient and after how \
    long the same may work.\n";

/// The methods, in the order in which they are told of.
const METHODS: [&str; 4] = ["get", "post", "put", "delete"];

/// The reference as Markdown: each route with what it takes and what it answers.
#[must_use]
pub fn reference(document: &OpenApi) -> String {
    // Writing into memory fails for no value of this type.
    let document = serde_json::to_value(document).unwrap_or_default();
    let mut text = String::from(HEAD);
    for tag in list(&document["tags"]) {
        let (name, about) = (word(&tag["name"]), word(&tag["description"]));
        // Writing into a text cannot fail, here and below.
        let _ = write!(text, "\n## {name}\n\n{about}\n");
        for (path, item) in fields(&document["paths"]) {
            for method in METHODS {
                let operation = &item[method];
                if list(&operation["tags"]).any(|own| *own == *name) {
                    tell(&mut text, method, path, operation);
                }
            }
        }
    }
    text.push_str("\n## Types\n");
    for (name, schema) in fields(&document["components"]["schemas"]) {
        tell_schema(&mut text, name, schema);
    }
    text
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// A text in one line.
fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().trim().replace('\n', " ")
}

fn tell(text: &mut String, method: &str, path: &str, operation: &Value) {
    let _ = write!(text, "\n### `{} {path}`\n", method.to_uppercase());
    for part in ["summary", "description"] {
        if let Some(words) = operation[part].as_str() {
            let _ = write!(text, "\n{}\n", words.trim());
        }
    }
    if operation["parameters"].is_array() {
        text.push_str("\n| parameter | in | |\n|---|---|---|\n");
        for parameter in list(&operation["parameters"]) {
            let (name, place, about) =
                (word(&parameter["name"]), word(&parameter["in"]), word(&parameter["description"]));
            let _ = writeln!(text, "| `{name}` | {place} | {about} |");
        }
    }
    let kinds: Vec<_> = fields(&operation["requestBody"]["content"])
        .map(|(media_type, content)| format!("{} as `{media_type}`", type_of(&content["schema"])))
        .collect();
    if !kinds.is_empty() {
        let _ = write!(text, "\nBody: {}.\n", kinds.join(", or "));
    }
    text.push_str("\n| status | | answer |\n|---|---|---|\n");
    for (status, response) in fields(&operation["responses"]) {
        let kinds = fields(&response["content"]).map(|(_, content)| type_of(&content["schema"]));
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "| {status} | {} | {kinds} |", word(&response["description"]));
    }
}

fn tell_schema(text: &mut String, name: &str, schema: &Value) {
    let _ = write!(text, "\n### {name}\n\n{}\n", word(&schema["description"]));
    let words: Vec<_> = list(&schema["enum"]).map(|one| format!("`{}`", word(one))).collect();
    if !words.is_empty() {
        let _ = write!(text, "\nOne of {}.\n", words.join(", "));
    }
    let ways: String = list(&schema["oneOf"])
        .map(|way| format!("- {}: {}\n", type_of(way), word(&way["description"])))
        .collect();
    if !ways.is_empty() {
        let _ = write!(text, "\n{ways}");
    }
    let mut rows = String::new();
    for part in std::iter::once(schema).chain(list(&schema["allOf"])) {
        if part["$ref"].is_string() {
            let _ = writeln!(rows, "| | all of {} | |", type_of(part));
        }
        for (field, schema) in fields(&part["properties"]) {
            let needed = list(&part["required"]).any(|own| own == field.as_str());
            let needed = if needed { "" } else { " May be left out." };
            let _ = writeln!(
                rows,
                "| `{field}` | {} | {}{needed} |",
                type_of(schema),
                word(&schema["description"])
            );
        }
    }
    if !rows.is_empty() {
        let _ = write!(text, "\n| field | type | |\n|---|---|---|\n{rows}");
    }
    if schema["example"].is_object() {
        let example = serde_json::to_string_pretty(&schema["example"]).unwrap_or_default();
        let _ = write!(text, "\n```json\n{example}\n```\n");
    }
}

/// What a schema stands for, in a word or two.
fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    let ways = list(&schema["oneOf"]).chain(list(&schema["anyOf"])).filter(|way| way["type"] != "null");
    let ways: Vec<_> = ways.map(type_of).collect();
    if !ways.is_empty() {
        return ways.join(" or ");
    }
    let words: Vec<_> = list(&schema["enum"]).map(|one| format!("`{}`", word(one))).collect();
    if !words.is_empty() {
        return words.join(", ");
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null").map(word).unwrap_or_default(),
        kind => word(kind),
    };
    match (kind.as_str(), word(&schema["format"])) {
        ("", _) => "any value".to_owned(),
        ("array", _) => format!("list of {}", type_of(&schema["items"])),
        ("object", _) if schema["additionalProperties"].is_object() => {
            format!("object of {}", type_of(&schema["additionalProperties"]))
        }
        ("object", _) => match fields(&schema["properties"]).next() {
            Some((field, _)) => format!("object with `{field}`"),
            None => kind,
        },
        ("string", format) if !format.is_empty() => format!("{kind} ({format})"),
        _ => kind,
    }
}
