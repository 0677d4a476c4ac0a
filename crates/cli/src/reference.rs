//! `docs/reference/cli.md`, made from the command line itself: what it says cannot be wrong.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};

use crate::command::Cli;

const HEAD: &str = "\
# The command line

<!-- Made from the code by a test: `STEADFAST_BLESS=1 cargo test -p steadfast-cli reference` writes it anew. -->

Results go to stdout, everything else to stderr. How to work with it is in the guide:
[Operating from the command line](../guide/command-line.md).

| exit code | means |
|---|---|
| 0 | all went well; of a task: it has completed |
| 1 | it did not: the server said no, some tasks refused, a file is wrong, something was found |
| 2 | a bad command line |
| 3 | the task was undone |
| 4 | the task has failed: it is in an operator's hands |
| 5 | the task has not ended in time; it goes on |
| 6 | the server cannot be reached, or does not answer |
| 130 | Ctrl-C |
";

#[test]
fn the_reference_says_what_the_command_line_takes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    let text = reference();
    if std::env::var_os("STEADFAST_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let hint =
        "docs/reference/cli.md is out of date: STEADFAST_BLESS=1 cargo test -p steadfast-cli reference";
    assert!(written == text, "{hint}");
}

fn reference() -> String {
    let mut root = Cli::command();
    root.build();
    let mut text = HEAD.to_owned();
    let _ = write!(
        text,
        "\n## Everywhere\n\n{}",
        options(root.get_arguments().filter(|arg| arg.is_global_set()))
    );
    for noun in root.get_subcommands().filter(|noun| noun.get_name() != "help") {
        let name = noun.get_name();
        let _ = write!(text, "\n## steadfast {name}\n\n{}\n", about(noun));
        if noun.get_subcommands().next().is_none() {
            text.push_str(&details(noun));
        }
        for verb in noun.get_subcommands().filter(|verb| verb.get_name() != "help") {
            let _ = write!(text, "\n### steadfast {name} {}\n\n{}\n", verb.get_name(), about(verb));
            text.push_str(&details(verb));
        }
    }
    text
}

/// What it is for: its help up to the examples.
fn about(command: &Command) -> String {
    let words =
        command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string).unwrap_or_default();
    let words = escaped(words.split("Examples:").next().unwrap_or_default().trim());
    let parts: Vec<_> = words.split("\n\n").map(|part| format!("{}.", part.trim_end_matches('.'))).collect();
    parts.join("\n\n")
}

fn details(command: &Command) -> String {
    let mut text = format!("\n```console\n$ {}\n```\n", usage(command));
    let own: Vec<_> = command
        .get_arguments()
        .filter(|arg| !arg.is_global_set() && arg.get_id() != "help" && arg.get_id() != "version")
        .chain(
            command
                .get_arguments()
                .filter(|arg| arg.get_id() == "version" && arg.get_value_names().is_some()),
        )
        .collect();
    if !own.is_empty() {
        let _ = write!(text, "\n{}", options(own.into_iter()));
    }
    if let Some((_, examples)) = command
        .get_long_about()
        .map(ToString::to_string)
        .as_deref()
        .and_then(|about| about.split_once("Examples:\n"))
    {
        let lines: String = examples.lines().map(|line| format!("$ {}\n", line.trim())).collect();
        let _ = write!(text, "\n```console\n{lines}```\n");
    }
    text
}

fn usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    usage.trim_start_matches("Usage: ").trim().to_owned()
}

fn options<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let mut text = "| | |\n|---|---|\n".to_owned();
    for argument in arguments.filter(|argument| !argument.is_hide_set()) {
        let _ = writeln!(text, "| `{}` | {} |", written(argument), explained(argument));
    }
    text
}

/// As it is written: `--for <TIME>`, `<ID>`.
fn written(argument: &Arg) -> String {
    let values = argument.get_num_args().is_some_and(|count| count.takes_values());
    let names: Vec<_> =
        argument.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let value = names.join(" ");
    let optional = argument.get_num_args().is_some_and(|count| count.min_values() == 0);
    match (argument.get_long(), values) {
        (Some(long), true) if optional => format!("--{long} [{value}]"),
        (Some(long), true) => format!("--{long} {value}"),
        (Some(long), false) => format!("--{long}"),
        (None, _) => value,
    }
}

fn explained(argument: &Arg) -> String {
    let mut text = escaped(&argument.get_help().map(ToString::to_string).unwrap_or_default());
    let values = argument.get_possible_values();
    if !values.is_empty() && argument.get_num_args().is_some_and(|count| count.takes_values()) {
        let names: Vec<_> = values.iter().map(|value| format!("`{}`", value.get_name())).collect();
        let _ = write!(text, ": {}", names.join(", "));
    }
    let default: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let takes = argument.get_num_args().is_some_and(|count| count.takes_values());
    if !default.is_empty() && takes && !argument.is_hide_default_value_set() {
        let _ = write!(text, " [default: {}]", default.join(" "));
    }
    if let Some(variable) = argument.get_env() {
        let _ = write!(text, " [variable: {}]", variable.to_string_lossy());
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
