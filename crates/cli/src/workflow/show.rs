//! `steadfast workflow show`: a definition as a graph and a table of its steps.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::Value;
use steadfast_client::wire::workflow::Workflow;

use crate::session::Session;
use crate::show::graph::{self, Node};
use crate::show::{Fields, Out, Table};

/// The columns of a drawing: every terminal has so many.
const COLUMNS: usize = 80;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Its name
    name: String,
    /// Which version [default: the active one]
    #[arg(long, value_name = "NUMBER")]
    version: Option<u32>,
}

pub(crate) async fn run(args: &Args, session: &Session) -> Result<ExitCode> {
    let workflow = session.answer(session.client.workflow(&args.name, args.version)).await?;
    let version = args.version.unwrap_or(workflow.active);
    session.out.show(&workflow, || text(&workflow, version, &session.out))?;
    Ok(ExitCode::SUCCESS)
}

fn text(workflow: &Workflow, number: u32, out: &Out) -> String {
    let version = workflow.versions.iter().find(|version| version.version == number);
    let mut fields = Fields::default();
    fields.add("workflow", &workflow.name);
    let active = if number == workflow.active { ", the active one" } else { "" };
    fields.add("version", format!("{number}{active}"));
    fields.maybe("from", version.map(|version| version.from.as_str()));
    let Some(definition) = version.and_then(|version| version.definition.as_ref()) else {
        return format!("{}\n\nit was made by a program: what it says is not known here", fields.text());
    };
    for (name, key) in [("complete in", "complete_within"), ("returns", "returns")] {
        fields.maybe(name, definition.get(key).map(told));
    }
    let steps = steps_of(definition);
    if steps.is_empty() {
        return fields.text();
    }
    let nodes = nodes(&steps);
    let drawing = graph::draw(&nodes, COLUMNS)
        .unwrap_or_else(|| "(the graph does not fit into 80 columns: the table has all of it)".to_owned());
    format!("{}\n\n{drawing}\n\n{}", fields.text(), out.table(&table(&steps, &nodes)))
}

/// A value without the quotes of a text.
fn told(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The steps of a definition with their names: files may have them as a table or as a list, and a server has them as a list, in
/// their order.
fn steps_of(definition: &Value) -> Vec<(String, &Value)> {
    match definition.get("steps") {
        Some(Value::Object(steps)) => steps.iter().map(|(name, step)| (name.clone(), step)).collect(),
        Some(Value::Array(steps)) => {
            steps.iter().filter_map(|step| Some((told(step.get("name")?), step))).collect()
        }
        _ => Vec::new(),
    }
}

fn nodes(steps: &[(String, &Value)]) -> Vec<Node> {
    let node =
        |(name, step): &(String, &Value)| Node { name: name.clone(), detail: kind(step), after: after(step) };
    steps.iter().map(node).collect()
}

fn after(step: &Value) -> Vec<String> {
    match step.get("after") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => many.iter().map(told).collect(),
        _ => Vec::new(),
    }
}

/// What a step does, in a few words.
fn kind(step: &Value) -> String {
    let text = |key: &str| step.get(key).map(told);
    let each = if step.get("each").is_some() { " for each" } else { "" };
    if let Some(service) = text("service") {
        return format!("{service}{each}");
    }
    let kinds = [
        ("wait_for_signal", "signal "),
        ("wait_until", "until "),
        ("wait", "wait "),
        ("child", "task "),
        ("children", "tasks "),
    ];
    let known = kinds.iter().find_map(|(key, word)| text(key).map(|value| format!("{word}{value}{each}")));
    known.unwrap_or_else(|| if step.get("steps").is_some() { "group".to_owned() } else { String::new() })
}

fn table(steps: &[(String, &Value)], nodes: &[Node]) -> Table {
    let mut table = Table::new(["STEP", "DOES", "AFTER", "WHEN", "WITHIN", "UNDO", "ON FAILURE", "NOTE"]);
    for ((name, step), node) in steps.iter().zip(nodes) {
        let text = |key: &str| step.get(key).map(told).unwrap_or_default();
        let is = |key: &str| step.get(key).and_then(Value::as_bool) == Some(true);
        let undo = if step.get("undo").is_some() { "yes" } else { "" };
        let note = if is("point_of_no_return") { "point of no return" } else { "" };
        table.row([
            name.clone(),
            node.detail.clone(),
            node.after.join(" "),
            text("when"),
            text("complete_within"),
            undo.to_owned(),
            text("on_failure"),
            note.to_owned(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use steadfast_flow::{FlowFile, Format};

    use super::*;

    #[test]
    fn what_a_step_does_is_said_in_a_few_words() {
        for (step, words) in [
            (json!({ "service": "payments" }), "payments"),
            (json!({ "service": "packing", "each": "${input.lines}" }), "packing for each"),
            (json!({ "wait_for_signal": "approval" }), "signal approval"),
            (json!({ "wait": "10m" }), "wait 10m"),
            (json!({ "child": "deliver" }), "task deliver"),
            (json!({ "steps": {} }), "group"),
            (json!({}), ""),
        ] {
            assert_eq!(kind(&step), words);
        }
        assert_eq!(after(&json!({ "after": ["a", "b"] })), ["a", "b"]);
        assert_eq!(after(&json!({ "after": "a" })), ["a"]);
    }

    #[test]
    fn what_a_workflow_file_says_is_drawn_in_its_order() {
        let text = "\
workflow: place-order
steps:
  reserve:
    service: inventory
    request: { method: POST, path: /reservations }
    undo: { method: DELETE, path: \"/reservations/${output.id}\" }
  approval: { after: reserve, wait_for_signal: approval }
  later: { after: [approval], wait: 10m }
";
        let file = FlowFile::parse(text, Format::Yaml, "place-order.yaml").unwrap();
        let definition = file.to_json();
        let nodes = nodes(&steps_of(&definition));
        let told: Vec<_> =
            nodes.iter().map(|node| (&*node.name, &*node.detail, node.after.join(" "))).collect();
        assert_eq!(
            told,
            [
                ("reserve", "inventory", String::new()),
                ("approval", "signal approval", "reserve".to_owned()),
                ("later", "wait 10m", "approval".to_owned()),
            ]
        );
    }
}
