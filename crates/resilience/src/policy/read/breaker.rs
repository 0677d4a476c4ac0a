//! Breaker settings from their table.

use steadfast_form::{Table, count, text};

use crate::breaker;
use crate::classify::Kind;

pub(super) fn breaker_values(mut breaker: breaker::Builder, table: Table<'_>) -> breaker::Builder {
    if let Some(window) = table.duration("window") {
        breaker = breaker.within(window);
    }
    if let Some(calls) = table.count("last_calls") {
        breaker = breaker.last_calls(usize::try_from(calls).unwrap_or(usize::MAX));
    }
    if let Some(share) = table.number("ratio") {
        breaker = breaker.ratio(share);
    } else if table.word("ratio").is_some() {
        breaker = breaker.no_ratio();
    }
    if let Some(calls) = table.count("min_calls") {
        breaker = breaker.min_calls(calls);
    }
    if let Some(row) = table.count("consecutive") {
        breaker = breaker.consecutive(row);
    } else if table.word("consecutive").is_some() {
        breaker = breaker.no_consecutive();
    }
    if let Some(failures) = table.count("failures") {
        breaker = breaker.failures(failures);
    } else if table.word("failures").is_some() {
        breaker = breaker.no_failures();
    }
    if table.word("slow").is_some() {
        breaker = breaker.no_slow();
    }
    if let Some(slow) = table.get("slow").map(Table::of)
        && let (Some(over), Some(share)) = (slow.duration("over"), slow.number("share"))
    {
        breaker = breaker.slow(over, share);
    }
    breaker_kinds(breaker_times(breaker, table), table)
}

pub(super) fn breaker_kinds(mut breaker: breaker::Builder, table: Table<'_>) -> breaker::Builder {
    for (key, node) in table.named("kinds") {
        if let Some(failures) = count(node) {
            breaker = breaker.kind(Kind::named(&key.name), failures);
        }
    }
    for name in table.list("trip_at_once").iter().filter_map(text) {
        breaker = breaker.trip_at_once(Kind::named(name));
    }
    for name in table.list("ignore").iter().filter_map(text) {
        breaker = breaker.ignore(Kind::named(name));
    }
    if let Some(trips) = table.flag("lasting_trips") {
        breaker = breaker.lasting_trips(trips);
    }
    if table.flag("together") == Some(true) {
        breaker = breaker.together();
    }
    breaker
}

pub(super) fn breaker_times(mut breaker: breaker::Builder, table: Table<'_>) -> breaker::Builder {
    if let Some(hint) = table.duration("trip_on_hint") {
        breaker = breaker.trip_on_hint(hint);
    } else if table.word("trip_on_hint").is_some() {
        breaker = breaker.no_trip_on_hint();
    }
    if let Some(hold) = table.duration("max_hold") {
        breaker = breaker.max_hold(hold);
    }
    if let Some(time) = table.duration("open_for") {
        breaker = breaker.open_for(time);
    }
    if let Some(factor) = table.number("growing_by") {
        breaker = breaker.growing_by(factor);
    }
    if let Some(time) = table.duration("growing_to") {
        breaker = breaker.growing_to(time);
    }
    if let Some(permits) = table.count("half_open_permits").and_then(|count| u16::try_from(count).ok()) {
        breaker = breaker.half_open_permits(permits);
    }
    if let Some(successes) = table.count("successes_to_close").and_then(|count| u16::try_from(count).ok()) {
        breaker = breaker.successes_to_close(successes);
    }
    if let Some(limit) = table.duration("half_open_limit") {
        breaker = breaker.half_open_limit(limit);
    }
    breaker
}
