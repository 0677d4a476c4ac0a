//! A limit's settings from their table.

use steadfast_form::Table;

use crate::limit::Builder;

pub(super) fn limit_values(table: Table<'_>) -> Builder {
    let mut limit = Builder::default();
    if let Some(calls) = table.count("concurrent") {
        limit = limit.concurrent(calls);
    }
    if let Some(calls) = table.count("waiting") {
        limit = limit.waiting(calls);
    }
    if let Some(calls) = table.number("rate") {
        limit = limit.rate(calls);
    }
    if let Some(calls) = table.count("burst") {
        limit = limit.burst(calls);
    }
    if let Some(time) = table.duration("max_wait") {
        limit = limit.max_wait(time);
    }
    limit
}
