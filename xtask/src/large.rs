//! `cargo xtask large`: tests whose sizes are set by a variable, at the sizes that were promised; CI runs them small.
//! What each proves is in its own file; this one only starts them, one after another, so that none disturbs another's times.

use anyhow::Result;

use crate::command::Cmd;

/// A test at its size: the variable that has it, the size, and where the test is.
struct Large {
    package: &'static str,
    binary: &'static str,
    variable: &'static str,
    size: &'static str,
    test: &'static str,
}

const fn whole(variable: &'static str, size: &'static str, test: &'static str) -> Large {
    Large { package: "steadfast", binary: "whole", variable, size, test }
}

const fn outside(variable: &'static str, size: &'static str, test: &'static str) -> Large {
    Large { package: "steadfast-cli", binary: "outside", variable, size, test }
}

const LARGE: [Large; 5] = [
    whole("STEADFAST_BULK", "50000", "bulk::a_bulk_is_what_was_previewed_at_its_rate_over_a_kill_and_a_stop"),
    whole(
        "STEADFAST_REPLIES",
        "100000",
        "replies::a_reader_that_is_killed_again_and_again_has_each_reply_at_least_once_and_in_order",
    ),
    whole(
        "STEADFAST_HELD_SECONDS",
        "10",
        "transactions::a_caller_that_holds_its_transaction_for_long_harms_nobody",
    ),
    outside(
        "STEADFAST_KILLED_TASKS",
        "10000",
        "killed::a_server_that_is_killed_again_and_again_loses_and_doubles_nothing",
    ),
    outside(
        "STEADFAST_CONNECTIONS",
        "10000",
        "crowd::thousands_of_idle_connections_and_streams_fit_into_little_memory",
    ),
];

pub(crate) fn run() -> Result<()> {
    LARGE.iter().try_for_each(|large| command(large).run())
}

fn command(large: &Large) -> Cmd {
    let Large { package, binary, variable, size, test } = large;
    let features = if *package == "steadfast" { "--all-features " } else { "" };
    let line = format!("test --locked -p {package} {features}--test {binary} {test} -- --exact --nocapture");
    Cmd::cargo(&line).env(variable, *size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_there_and_reads_its_variable() {
        for large in &LARGE {
            let (file, function) = large.test.split_once("::").unwrap();
            let folder = if large.package == "steadfast" { "steadfast" } else { "cli" };
            let folder = format!("{}/../crates/{folder}/tests/{}", env!("CARGO_MANIFEST_DIR"), large.binary);
            let text = std::fs::read_to_string(format!("{folder}/{file}.rs")).unwrap();
            assert!(text.contains(&format!("\"{}\"", large.variable)), "{}", large.variable);
            assert!(text.contains(&format!("fn {function}()")), "{function}");
            assert!(command(large).to_string().contains(large.size));
        }
    }
}
