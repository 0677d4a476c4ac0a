//! `cargo xtask large`: tests whose sizes are set by a variable, at the sizes that were promised; CI runs them small.
//! What each proves is in its own file; this one only starts them, one after another, so that none disturbs another's times.

use anyhow::Result;

use crate::command::Cmd;

/// The variable, the size, and the test.
const LARGE: [(&str, &str, &str); 3] = [
    ("STEADFAST_BULK", "50000", "bulk::a_bulk_is_what_was_previewed_at_its_rate_over_a_kill_and_a_stop"),
    (
        "STEADFAST_REPLIES",
        "100000",
        "replies::a_reader_that_is_killed_again_and_again_has_each_reply_at_least_once_and_in_order",
    ),
    (
        "STEADFAST_HELD_SECONDS",
        "10",
        "transactions::a_caller_that_holds_its_transaction_for_long_harms_nobody",
    ),
];

pub(crate) fn run() -> Result<()> {
    LARGE.into_iter().try_for_each(|(name, size, test)| command(name, size, test).run())
}

fn command(name: &'static str, size: &str, test: &str) -> Cmd {
    let line =
        format!("test --locked -p steadfast --all-features --test whole {test} -- --exact --nocapture");
    Cmd::cargo(&line).env(name, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_there_and_reads_its_variable() {
        for (name, size, test) in LARGE {
            let (file, function) = test.split_once("::").unwrap();
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/steadfast/tests/whole");
            let text = std::fs::read_to_string(format!("{folder}/{file}.rs")).unwrap();
            assert!(text.contains(&format!("\"{name}\"")), "{name}");
            assert!(text.contains(&format!("fn {function}()")), "{function}");
            assert!(command(name, size, test).to_string().contains(size));
        }
    }
}
