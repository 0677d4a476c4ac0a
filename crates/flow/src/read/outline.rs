//! The steps of a file and what comes after what, before anything else of them is read.

use std::collections::{HashMap, HashSet};

use steadfast_engine::MAX_STEPS;
use steadfast_form::{Node, Place, Table, Value, chosen, entries, hint, join, plain, text};

use super::Reader;
use crate::code::Code;
use crate::expression::names::StepName;
use crate::schema::CHOICES;

/// All steps and groups, in the order of the file.
pub(super) struct Outline<'t> {
    pub(super) steps: Vec<Entry<'t>>,
    pub(super) groups: Vec<Group<'t>>,
}

/// One step.
pub(super) struct Entry<'t> {
    pub(super) name: String,
    pub(super) at: Place,
    pub(super) key: String,
    pub(super) table: Table<'t>,
    /// The key that says which sort of step it is.
    pub(super) mark: &'static str,
    /// The groups that it is in, the outermost first.
    pub(super) groups: Vec<usize>,
    /// The steps that it comes after, by their places.
    pub(super) after: Vec<usize>,
    /// Whether that is all: a name in `after` that stands for nothing may have meant any of them.
    is_sure: bool,
    /// By place: whether it comes before this one, at whatever distance, as far as one can tell.
    pub(super) before: Vec<bool>,
}

impl Entry<'_> {
    pub(super) fn name(&self) -> StepName {
        StepName { name: self.name.clone(), is_each: self.table.get("each").is_some() }
    }
}

/// Steps that belong together.
pub(super) struct Group<'t> {
    pub(super) name: String,
    pub(super) at: Place,
    pub(super) key: String,
    pub(super) table: Table<'t>,
    /// Its steps, and those of the groups in it.
    pub(super) members: Vec<usize>,
    /// The groups that it is in, the outermost first.
    pub(super) groups: Vec<usize>,
    /// The steps that it comes after, and whether that is all.
    pub(super) after: Vec<usize>,
    is_sure: bool,
}

impl<'t> Outline<'t> {
    /// Lists the steps of a file; `None`, with a complaint, if there are too many.
    pub(super) fn of(reader: &mut Reader, file: Table<'t>) -> Option<Self> {
        let mut outline = Self { steps: Vec::new(), groups: Vec::new() };
        outline.list(reader, file, "steps", &[]);
        if outline.steps.len() > MAX_STEPS {
            let message = format!("it has {} steps, at most {MAX_STEPS} are allowed", outline.steps.len());
            reader.complain(file.place("steps"), "steps", Code::BadWorkflow, message);
            return None;
        }
        let names = outline.names(reader);
        outline.order(reader, &names);
        Some(outline)
    }

    /// Adds the steps of a table, which may be a list of them.
    fn list(&mut self, reader: &mut Reader, table: Table<'t>, path: &str, groups: &[usize]) {
        let Some(node) = table.get("steps") else { return };
        if let Value::List(items) = &node.value {
            for item in items {
                match Table::of(item).get("name").map(|name| (name.at, text(name).unwrap_or_default())) {
                    Some((at, name)) => self.add(reader, name, at, item, path, groups),
                    None => reader.complain(item.at, path, Code::Missing, "a step in a list needs a `name`"),
                }
            }
            return;
        }
        for (key, item) in entries(node) {
            if let Some(name) = Table::of(item).get("name")
                && text(name) != Some(&key.name)
            {
                let message = format!("its name is `{}`: remove this one", plain(&key.name));
                reader.complain(name.at, join(&join(path, &key.name), "name"), Code::Contradiction, message);
            }
            self.add(reader, &key.name, key.at, item, path, groups);
        }
    }

    fn add(
        &mut self,
        reader: &mut Reader,
        name: &str,
        at: Place,
        node: &'t Node,
        path: &str,
        groups: &[usize],
    ) {
        let Ok(choice) = chosen(node, &CHOICES) else { return };
        let (name, key, table) = (name.to_owned(), join(path, name), Table::of(node));
        let (groups, after, mark) = (groups.to_vec(), Vec::new(), choice.mark);
        if mark != "steps" {
            let before = Vec::new();
            let is_sure = true;
            self.steps.push(Entry { name, at, key, table, mark, groups, after, is_sure, before });
            return;
        }
        let place = self.groups.len();
        let path = join(&key, "steps");
        let inner: Vec<_> = groups.iter().copied().chain([place]).collect();
        self.groups.push(Group { name, at, key, table, members: Vec::new(), groups, after, is_sure: true });
        let from = self.steps.len();
        self.list(reader, table, &path, &inner);
        self.groups[place].members = (from..self.steps.len()).collect();
        if from == self.steps.len() {
            reader.complain(at, path, Code::BadWorkflow, "the group has no steps: add one, or leave it out");
        }
    }

    /// What each name stands for: a step, or all steps of a group.
    fn names(&self, reader: &mut Reader) -> HashMap<String, Vec<usize>> {
        let mut names: HashMap<String, Vec<usize>> = HashMap::with_capacity(self.steps.len());
        for (place, step) in self.steps.iter().enumerate() {
            // The engine tells of two steps of one name.
            names.entry(step.name.clone()).or_insert_with(|| vec![place]);
        }
        for group in &self.groups {
            if names.insert(group.name.clone(), group.members.clone()).is_some() {
                let message = "another step or group has the same name";
                reader.complain(group.at, &group.key, Code::BadWorkflow, message);
            }
        }
        names
    }

    /// Finds out what comes after what.
    fn order(&mut self, reader: &mut Reader, names: &HashMap<String, Vec<usize>>) {
        for place in 0..self.groups.len() {
            let group = &self.groups[place];
            let (after, is_sure) = after(reader, group.table, &group.key, names);
            (self.groups[place].after, self.groups[place].is_sure) = (after, is_sure);
        }
        for place in 0..self.steps.len() {
            let step = &self.steps[place];
            let (mut own, mut is_sure) = after(reader, step.table, &step.key, names);
            // The first steps of a group come after what that comes after.
            let mut is_first = true;
            for group in step.groups.iter().rev().map(|group| &self.groups[*group]) {
                is_first &= !own.iter().any(|earlier| group.members.contains(earlier));
                let more: Vec<_> =
                    group.after.iter().filter(|more| is_first && !own.contains(more)).copied().collect();
                own.extend(more);
                is_sure &= group.is_sure;
            }
            (self.steps[place].after, self.steps[place].is_sure) = (own, is_sure);
        }
        for place in 0..self.steps.len() {
            let step = &self.steps[place];
            self.steps[place].before = self.closure(&step.after, step.is_sure);
        }
    }

    /// By place: these steps, and all that come before them.
    fn closure(&self, from: &[usize], mut is_sure: bool) -> Vec<bool> {
        let mut before = vec![false; self.steps.len()];
        let mut next = from.to_vec();
        while let Some(place) = next.pop() {
            if !std::mem::replace(&mut before[place], true) {
                next.extend(&self.steps[place].after);
                is_sure &= self.steps[place].is_sure;
            }
        }
        // One mistake is told once: what it makes unclear is not held against others.
        if is_sure { before } else { vec![true; self.steps.len()] }
    }

    /// By place: whether it comes before each step of a group.
    pub(super) fn before_group(&self, group: &Group<'_>) -> Vec<bool> {
        let outer = group.groups.iter().flat_map(|outer| &self.groups[*outer].after);
        let from: Vec<_> = group.after.iter().chain(outer).copied().collect();
        let is_sure = group.is_sure && group.groups.iter().all(|outer| self.groups[*outer].is_sure);
        self.closure(&from, is_sure)
    }
}

/// The steps that a table comes after, and whether each name stands for some.
fn after(
    reader: &mut Reader,
    table: Table<'_>,
    path: &str,
    names: &HashMap<String, Vec<usize>>,
) -> (Vec<usize>, bool) {
    let Some(node) = table.get("after") else { return (Vec::new(), true) };
    let named: Vec<&Node> = match &node.value {
        Value::List(items) => items.iter().collect(),
        _ => vec![node],
    };
    let (mut places, mut seen, mut is_sure) = (Vec::new(), HashSet::new(), true);
    for node in named {
        let name = text(node).unwrap_or_default();
        if !seen.insert(name) {
            let message = format!("it names `{}` twice", plain(name));
            reader.complain(node.at, join(path, "after"), Code::Contradiction, message);
            continue;
        }
        match names.get(name) {
            Some(steps) => {
                let more: Vec<_> = steps.iter().filter(|step| !places.contains(*step)).copied().collect();
                places.extend(more);
            }
            None => {
                is_sure = false;
                let mut known: Vec<_> = names.keys().map(String::as_str).collect();
                known.sort_unstable();
                let hint = hint(name, known.iter().copied());
                let message = format!("there is no step `{}`: {hint}", plain(name));
                reader.complain(node.at, join(path, "after"), Code::UnknownStep, message);
            }
        }
    }
    (places, is_sure)
}
