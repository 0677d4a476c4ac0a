//! Retry settings from their table.

use steadfast_form::{Table, count, time};

use crate::classify::Kind;
use crate::retry::{self, Jitter, Retry, Strategy};

/// The strategy of this name, or the key that it lacks.
pub(super) fn strategy(word: &str, table: Table<'_>) -> Result<Strategy, &'static str> {
    let needs = |key: &'static str| table.duration(key).ok_or(key);
    Ok(match word {
        "fixed" => Strategy::Fixed(needs("wait")?),
        "incremental" => Strategy::Incremental { first: needs("first")?, step: needs("step")? },
        "schedule" if table.get("waits").is_none() => return Err("waits"),
        "schedule" => Strategy::Schedule(table.list("waits").iter().filter_map(time).collect()),
        "immediate" => Strategy::Immediate,
        "none" => Strategy::Schedule([].into()),
        _ => Strategy::standard_exponential(),
    })
}

pub(super) fn retry_values(mut retry: retry::Builder, table: Table<'_>) -> retry::Builder {
    if table.word("strategy") == Some("none") {
        retry = Retry::none();
    }
    if let Some(wait) = table.duration("min_backoff") {
        retry = retry.min_backoff(wait);
    }
    if let Some(wait) = table.duration("delta_backoff") {
        retry = retry.delta_backoff(wait);
    }
    if let Some(wait) = table.duration("max_backoff") {
        retry = retry.max_backoff(wait);
    }
    if table.flag("adaptive") == Some(true) {
        retry = Retry::adaptive(retry);
    }
    retry = match table.word("jitter") {
        Some("none") => retry.no_jitter(),
        Some("full") => retry.jitter(Jitter::Full),
        Some("equal") => retry.jitter(Jitter::Equal),
        Some("decorrelated") => retry.jitter(Jitter::Decorrelated),
        _ => match table.number("jitter") {
            Some(share) => retry.jitter(Jitter::Proportional(share)),
            None => retry,
        },
    };
    if table.flag("fast_first") == Some(true) {
        retry = retry.fast_first();
    }
    if let Some(retries) = table.count("max_retries") {
        retry = retry.max_retries(retries);
    } else if table.word("max_retries").is_some() {
        retry = retry.unlimited_retries();
    }
    retry_limits(retry, table)
}

pub(super) fn retry_limits(mut retry: retry::Builder, table: Table<'_>) -> retry::Builder {
    if let Some(limit) = table.duration("max_elapsed") {
        retry = retry.max_elapsed(limit);
    } else if table.word("max_elapsed").is_some() {
        retry = retry.no_max_elapsed();
    }
    if let Some(limit) = table.duration("max_hint") {
        retry = retry.max_hint(limit);
    }
    if let Some(wait) = table.duration("min_throttled") {
        retry = retry.min_throttled(wait);
    }
    if table.flag("repeat_effects") == Some(true) {
        retry = retry.repeat_effects();
    }
    match table.word("when_nested") {
        Some("fail-fast") => retry = retry.when_nested(retry::Nested::FailFast),
        Some(_) => retry = retry.when_nested(retry::Nested::Report),
        None => {}
    }
    for (key, node) in table.named("kinds") {
        if let Some(retries) = count(node) {
            retry = retry.kind_retries(Kind::named(&key.name), retries);
        }
    }
    retry
}
