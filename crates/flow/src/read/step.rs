//! Steps.

use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{Each, OnFailure, Recovery, Repeat, Step};
use steadfast_form::{Table, join};

use super::Reader;
use super::outline::{Entry, Outline};
use super::request::expect;
use crate::call::Expect;
use crate::code::Code;
use crate::expression::names::{Names, Reads, StepName};
use crate::expression::node::Variable;
use crate::model::{Asks, Calls, Does, List, Named, Plan};
use crate::request::Request;
use crate::template::{Json, Test};

/// How many items are under way at a time where nothing is said, as in the builder.
const AT_A_TIME: u16 = 10;
/// How long an undo may take where nothing is said, as in the builder.
const UNDO_WITHIN: Duration = Duration::from_secs(60);

/// What conditions, times and lists know.
const EARLY: &[Variable] = &[Variable::Input];
/// What requests know, and with an item.
const REQUEST: &[Variable] = &[Variable::Input, Variable::Step, Variable::Task];
const ITEMS_REQUEST: &[Variable] =
    &[Variable::Input, Variable::Item, Variable::Index, Variable::Step, Variable::Task];
/// What outputs know beside.
const OUTPUT: &[Variable] = &[Variable::Response, Variable::Input, Variable::Step, Variable::Task];
const ITEMS_OUTPUT: &[Variable] =
    &[Variable::Response, Variable::Input, Variable::Item, Variable::Index, Variable::Step, Variable::Task];
/// What undos know beside.
const UNDO: &[Variable] = &[Variable::Output, Variable::Input, Variable::Step, Variable::Task];
const ITEMS_UNDO: &[Variable] =
    &[Variable::Output, Variable::Input, Variable::Item, Variable::Index, Variable::Step, Variable::Task];
/// What `until` knows.
const UNTIL: &[Variable] = &[Variable::Output];

/// A step that is being read.
struct Reading<'r, 't> {
    entry: &'r Entry<'t>,
    names: &'r [StepName],
    whose: String,
}

impl Reading<'_, '_> {
    /// What is known where these variables are.
    fn knowing<'n>(&'n self, variables: &'n [Variable], of_item: bool) -> Names<'n> {
        let (before, whose) = (&*self.entry.before, &*self.whose);
        Names { variables, steps: self.names, before, of_item, has_callback: false, whose }
    }

    fn key(&self, key: &str) -> String {
        join(&self.entry.key, key)
    }

    fn is_each(&self) -> bool {
        self.entry.table.get("each").is_some()
    }
}

impl Reader {
    /// The step at this place; `None`, with complaints, if something in it makes no sense.
    pub(super) fn step(
        &mut self,
        outline: &Outline<'_>,
        conditions: &[Option<Test>],
        names: &[StepName],
        place: usize,
    ) -> Option<Plan> {
        let entry = &outline.steps[place];
        let reading = Reading { entry, names, whose: format!("`{}`", entry.name) };
        let own = entry.table.get("when");
        let own = own.and_then(|node| self.test(node, &reading.key("when"), reading.knowing(EARLY, false)));
        let does = self.does(&reading);
        let when: Vec<_> =
            entry.groups.iter().filter_map(|group| conditions[*group].clone()).chain(own).collect();
        let is_conditional = entry.table.get("when").is_some()
            || entry.groups.iter().any(|group| outline.groups[*group].table.get("when").is_some());
        let (step, does) = does?;
        let after = entry.after.iter().map(|earlier| outline.steps[*earlier].name.as_str());
        let mut step = step.after(after);
        if is_conditional {
            step = step.conditional();
        }
        if let Some(then) = entry.table.word("on_failure") {
            step = step.on_failure(match then {
                "error" => OnFailure::Error,
                "continue" => OnFailure::Continue,
                _ => OnFailure::Undo,
            });
        }
        let (name, key, when) = (Arc::from(&*entry.name), entry.key.clone(), Arc::from(when));
        Some(Plan { name, at: entry.at, key, step, when, does })
    }

    fn does(&mut self, reading: &Reading<'_, '_>) -> Option<(Step, Does)> {
        let (entry, table) = (reading.entry, reading.entry.table);
        match entry.mark {
            "wait" => Some((Step::wait_for(&entry.name, table.duration("wait")?), Does::Waits)),
            "wait_until" => {
                let names = reading.knowing(EARLY, false);
                let until = self.json(table.get("wait_until")?, &reading.key("wait_until"), names)?;
                let mut reads = Reads::default();
                until.reads(&mut reads);
                Some((Step::wait_until(&entry.name), Does::Until(Arc::new(until), reads)))
            }
            "wait_for_signal" => {
                let mut step = Step::signal(&entry.name, table.word("wait_for_signal")?);
                if let Some(timeout) = table.duration("timeout") {
                    step = step.timeout(timeout);
                }
                if table.flag("or_none") == Some(true) {
                    step = step.or_none();
                }
                Some((step, Does::Waits))
            }
            "child" => self.asks(reading),
            _ => self.calls(reading),
        }
    }

    // ---- steps that ask for other tasks ----

    fn asks(&mut self, reading: &Reading<'_, '_>) -> Option<(Step, Does)> {
        let table = reading.entry.table;
        let workflow = named(table, "child", reading)?;
        let list = self.list(reading)?;
        let variables = if reading.is_each() { ITEMS_REQUEST } else { REQUEST };
        let input = match table.get("input") {
            Some(node) => {
                let input =
                    self.json(node, &reading.key("input"), reading.knowing(variables, reading.is_each()))?;
                Some(with_reads(input))
            }
            None => None,
        };
        let step = with_each(Step::child(&reading.entry.name, &workflow.name), table);
        Some((step, Does::Asks(Arc::new(Asks { workflow, input, each: list }))))
    }

    /// The list that a step is made for; `None` if that makes no sense.
    fn list(&mut self, reading: &Reading<'_, '_>) -> Option<Option<List>> {
        let table = reading.entry.table;
        let Some(node) = table.get("each") else {
            for key in ["at_a_time", "tolerate"] {
                self.belongs(table, key, "each", reading);
            }
            return Some(None);
        };
        let key = reading.key("each");
        let (items, reads) = with_reads(self.json(node, &key, reading.knowing(EARLY, false))?);
        Some(Some(List { items: Arc::new(items), reads, origin: self.origin(node, &key) }))
    }

    /// A key that makes no sense without another.
    fn belongs(&mut self, table: Table<'_>, key: &str, to: &str, reading: &Reading<'_, '_>) {
        if table.get(key).is_some() {
            let message = format!("it belongs to `{to}`: add that, or remove it");
            self.complain(table.place(key), reading.key(key), Code::Contradiction, message);
        }
    }

    // ---- steps that call ----

    fn calls(&mut self, reading: &Reading<'_, '_>) -> Option<(Step, Does)> {
        let (table, of_item) = (reading.entry.table, reading.is_each());
        let (asks, gives, undoes) = match of_item {
            true => (ITEMS_REQUEST, ITEMS_OUTPUT, ITEMS_UNDO),
            false => (REQUEST, OUTPUT, UNDO),
        };
        let service = named(table, "service", reading)?;
        let has_callback = table.get("callback").is_some();
        let names = Names { has_callback, ..reading.knowing(asks, of_item) };
        let request =
            table.get("request").and_then(|node| self.request(node, &reading.key("request"), names));
        let output = table.get("output");
        let output =
            output.map(|node| self.json(node, &reading.key("output"), reading.knowing(gives, of_item)));
        let undo = table.get("undo");
        let undo =
            undo.map(|node| self.request(node, &reading.key("undo"), reading.knowing(undoes, of_item)));
        let repeat = table.get("repeat").map(|node| (node, Table::of(node)));
        let until = match &repeat {
            Some((_, repeat)) => {
                // Only the output is known when a round has ended: no steps.
                let names = Names { before: &[], ..reading.knowing(UNTIL, of_item) };
                Some(self.test(repeat.get("until")?, &join(&reading.key("repeat"), "until"), names))
            }
            None => None,
        };
        let each = self.list(reading);
        if undo.is_none() {
            for key in ["undo_within", "undo_recovery"] {
                self.belongs(table, key, "undo", reading);
            }
        }
        let (request, each) = (request?, each?);
        let callback = self.callback(&request, reading);
        let undo = undo.map_or(Some(None), |undo| undo.map(Some))?;
        let until = until.map_or(Some(None), |until| until.map(Some))?;
        let output = output.map_or(Some(None), |output| output.map(Some))?.map(with_reads);
        let step = with_each(call_step(reading.entry, &service.name, undo.as_ref()), table);
        let step = match &repeat {
            Some((_, repeat)) => {
                step.repeat(Repeat { every: repeat.duration("every")?, at_most: repeat.count("at_most") })
            }
            None => step,
        };
        let retry = named(table, "retry", reading);
        let (step, accepted) = match callback {
            Some((within, accepted)) => (step.callback(within), Some(accepted)),
            None => (step, None),
        };
        let calls = Calls { service, retry, request, accepted, output, undo, until, each };
        Some((step, Does::Calls(Arc::new(calls))))
    }

    /// How long its service may take to call back, and by which statuses it says that it will.
    fn callback(&mut self, request: &Request, reading: &Reading<'_, '_>) -> Option<(Duration, Expect)> {
        let table = Table::of(reading.entry.table.get("callback")?);
        let accepted = table.get("accepted").map_or_else(|| Expect::of([202..=202]), expect);
        if !(100..=599).any(|status| accepted.includes(status) && request.expect.includes(status)) {
            let (at, key) = match table.get("accepted") {
                Some(node) => (node.at, join(&reading.key("callback"), "accepted")),
                None => (reading.entry.table.place("callback"), reading.key("callback")),
            };
            let message = format!(
                "the service says {accepted} when it will call back, which the request does not expect: add it to \
                 `request.expect`"
            );
            self.complain(at, key, Code::Contradiction, message);
        }
        Some((table.duration("within")?, accepted))
    }
}

/// A step that calls, as the engine sees it.
fn call_step(entry: &Entry<'_>, service: &str, undo: Option<&Request>) -> Step {
    let table = entry.table;
    let has = |key: &str| table.flag(key) == Some(true);
    let mut step = Step::new(&entry.name, service);
    if let Some(time) = table.duration("complete_within") {
        step = step.complete_within(time);
    }
    if let Some(time) = table.duration("heartbeat_within") {
        step = step.heartbeat_within(time);
    }
    if let Some(calls) = table.count("max_calls") {
        step = step.max_calls(calls);
    }
    if let Some(node) = table.get("recovery") {
        step = step.recovery(recovery(Table::of(node)));
    }
    if let Some(undo) = undo {
        step = step.undo(table.duration("undo_within").unwrap_or(UNDO_WITHIN));
        if undo.reads.has(Variable::Output) {
            step = step.undo_reads_output();
        }
        if let Some(node) = table.get("undo_recovery") {
            step = step.undo_recovery(recovery(Table::of(node)));
        }
    }
    if has("nothing_to_undo") {
        step = step.nothing_to_undo();
    }
    if has("undo_when_unknown") {
        step = step.undo_when_unknown();
    }
    if table.flag("idempotent") == Some(false) {
        step = step.not_idempotent();
    }
    if has("point_of_no_return") {
        step = step.point_of_no_return();
    }
    step
}

fn with_each(step: Step, table: Table<'_>) -> Step {
    if table.get("each").is_none() {
        return step;
    }
    let small = |key: &str| table.count(key).and_then(|count| u16::try_from(count).ok());
    let at_a_time = small("at_a_time").unwrap_or(AT_A_TIME);
    step.each(Each { at_a_time, tolerates: small("tolerate").unwrap_or(0) })
}

fn recovery(table: Table<'_>) -> Recovery {
    let usual = Recovery::default();
    Recovery {
        at_once: table.count("at_once").unwrap_or(usual.at_once),
        extended_wait: table.duration("extended_wait").unwrap_or(usual.extended_wait),
        last: table.count("last").unwrap_or(usual.last),
    }
}

fn named(table: Table<'_>, key: &str, reading: &Reading<'_, '_>) -> Option<Named> {
    let node = table.get(key)?;
    let name = steadfast_form::text(node)?.to_owned();
    Some(Named { name, at: node.at, key: reading.key(key) })
}

fn with_reads(json: Json) -> (Json, Reads) {
    let mut reads = Reads::default();
    json.reads(&mut reads);
    (json, reads)
}
