//! What a service's table says beside its limits.

use steadfast_form::{Node, Table, Value};

use crate::classify::{Class, Kind};
use crate::policy::service::Facts;
use crate::retry::On;

pub(super) fn classes(table: Table<'_>) -> Vec<(On, Class)> {
    let told = table.get("classify").map_or(Table::EMPTY, Table::of);
    let classes = [
        ("transient", Class::Transient),
        ("throttled", Class::Throttled),
        ("lasting", Class::Lasting),
        ("terminal", Class::Terminal),
        ("neutral", Class::Neutral),
    ];
    let of_class = |(key, class)| told.list(key).iter().filter_map(on).map(move |on| (on, class));
    classes.into_iter().flat_map(of_class).collect()
}

/// A kind by name, or a code.
fn on(node: &Node) -> Option<On> {
    match &node.value {
        Value::Int(code) => i32::try_from(*code).ok().map(On::Code),
        Value::Text(name) => Some(On::Kind(Kind::named(name))),
        _ => None,
    }
}

pub(super) fn facts(table: Table<'_>) -> Facts {
    let facts = table.get("facts").map_or(Table::EMPTY, Table::of);
    Facts {
        calls_per_second: facts.number("calls_per_second"),
        typical: facts.duration("typical"),
        slowest_good: facts.duration("slowest_good"),
        restart: facts.duration("restart"),
        callers_retry: facts.count("callers_retry").unwrap_or(0),
    }
}
