//! From a tree that fits the schema to a workflow: names looked up, expressions read, the engine asked whether it makes sense.

mod outline;
mod request;
mod step;
mod text;

use std::sync::Arc;

use steadfast_engine::{Builder, Definition, Problem};
use steadfast_form::{MAX_COMPLAINTS, Node, Place, Table, hint, join};

use crate::code::Code;
use crate::error::Complaint;
use crate::expression::names::{Names, StepName};
use crate::expression::node::Variable;
use crate::model::{Flow, Schema};
use outline::Outline;

/// Reads a file, and lists what makes no sense.
pub(crate) struct Reader {
    file: Arc<str>,
    complaints: Vec<Complaint>,
    /// Bytes of expressions so far.
    sources: usize,
}

/// Reads a tree that fits the schema. Must be called with a large stack.
pub(crate) fn read(root: &Node, file: &str) -> Result<Flow, Vec<Complaint>> {
    let mut reader = Reader { file: Arc::from(file), complaints: Vec::new(), sources: 0 };
    let flow = reader.flow(Table::of(root));
    match flow {
        Some(flow) if reader.complaints.is_empty() => Ok(flow),
        _ => Err(reader.complaints),
    }
}

impl Reader {
    fn complain(&mut self, at: Place, key: impl Into<String>, code: Code, message: impl Into<String>) {
        if self.complaints.len() < MAX_COMPLAINTS {
            self.complaints.push(Complaint::new(at, key, code, message));
        }
    }

    fn flow(&mut self, table: Table<'_>) -> Option<Flow> {
        let outline = Outline::of(self, table)?;
        let names: Vec<_> = outline.steps.iter().map(outline::Entry::name).collect();
        let mut steps = Vec::with_capacity(outline.steps.len());
        let conditions = self.group_conditions(&outline, &names);
        for place in 0..outline.steps.len() {
            steps.extend(self.step(&outline, &conditions, &names, place));
        }
        let returns = self.returns(&table, &names);
        let flow = Flow {
            name: table.word("workflow").unwrap_or_default().to_owned(),
            at: table.get("workflow").map_or(table.at, |node| node.at),
            version: table.count("version"),
            complete_within: table.duration("complete_within"),
            schema: self.schema(table),
            returns,
            is_each: names.iter().map(|step| step.is_each).collect(),
            steps,
        };
        if flow.steps.len() == outline.steps.len() {
            self.ask_engine(&flow);
        }
        Some(flow)
    }

    /// The step whose output the task gives back.
    fn returns(&mut self, table: &Table<'_>, names: &[StepName]) -> Option<usize> {
        let name = table.word("returns")?;
        let at = table.get("returns").map_or(table.at, |node| node.at);
        let found = names.iter().position(|step| step.name == name);
        let (code, message) = match found {
            Some(place) if names[place].is_each => (
                Code::Contradiction,
                format!(
                    "`{name}` is made for each item of a list, and each has an output of its own: return a step after it that is \
                     given `${{steps.{name}.output}}`"
                ),
            ),
            Some(place) => return Some(place),
            None => {
                let hint = hint(name, names.iter().map(|step| step.name.as_str()));
                (Code::UnknownStep, format!("there is no step `{}`: {hint}", steadfast_form::plain(name)))
            }
        };
        self.complain(at, "returns", code, message);
        None
    }

    /// The conditions of groups, by their places.
    fn group_conditions(
        &mut self,
        outline: &Outline<'_>,
        names: &[StepName],
    ) -> Vec<Option<crate::template::Test>> {
        let groups = outline.groups.iter();
        let mut conditions = Vec::with_capacity(outline.groups.len());
        for group in groups {
            let whose = format!("group `{}`", group.name);
            let before = outline.before_group(group);
            let names = Names {
                variables: &[Variable::Input],
                steps: names,
                before: &before,
                of_item: false,
                has_callback: false,
                whose: &whose,
            };
            let node = group.table.get("when");
            conditions.push(node.and_then(|node| self.test(node, &join(&group.key, "when"), names)));
        }
        conditions
    }

    fn schema(&mut self, table: Table<'_>) -> Option<Schema> {
        let node = Table::of(table.get("input")?).get("schema")?;
        let schema = match crate::json::of_node(node) {
            Ok(schema) => schema,
            Err((at, message)) => {
                self.complain(at, "input.schema", Code::WrongValue, message);
                return None;
            }
        };
        // Patterns are matched in linear time: an input must not be able to hold a thread.
        let options = jsonschema::options().with_pattern_options(jsonschema::PatternOptions::regex());
        match options.build(&schema) {
            Ok(validator) => Some(Schema(Arc::new(validator))),
            Err(error) => {
                let message = format!("it is no JSON Schema: {}", steadfast_form::plain(&error.to_string()));
                self.complain(node.at, "input.schema", Code::BadSchema, message);
                None
            }
        }
    }

    /// Has the engine check the whole, and finds the places of what it says.
    fn ask_engine(&mut self, flow: &Flow) {
        let Err(invalid) = definition(flow, 1) else { return };
        for Problem { place, message } in invalid.problems() {
            // Of two steps of one name it is the second that is too many.
            let step = flow.steps.iter().rev().find(|step| {
                let of = format!("step `{}`", step.step.name().escape_debug());
                place.strip_prefix(&of).is_some_and(|rest| rest.is_empty() || rest.starts_with(','))
            });
            let (at, key) = step.map_or((flow.at, "workflow"), |step| (step.at, step.key.as_str()));
            let message = match place.split_once("`, ") {
                Some((_, part)) => format!("{part}: {message}"),
                None => message.clone(),
            };
            self.complain(at, key, Code::BadWorkflow, message);
        }
    }
}

/// The engine's definition of a workflow.
pub(crate) fn definition(flow: &Flow, version: u32) -> Result<Definition, steadfast_engine::Invalid> {
    let mut builder = Definition::builder(&flow.name).version(version);
    if let Some(time) = flow.complete_within {
        builder = builder.complete_within(time);
    }
    flow.steps.iter().map(|plan| plan.step.clone()).fold(builder, Builder::step).build()
}
