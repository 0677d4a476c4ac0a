//! `cargo xtask readme`: runs the commands that README.md shows, so that they cannot rot.
//! Runs each line of a fenced `sh` block whose command is cargo; what it leaves out, it names.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::command::Cmd;
use crate::step::Note;

const PAGE: &str = "README.md";

/// Commands that are not run, by how they start.
const LEFT_OUT: [(&str, &str); 7] = [
    ("cargo xtask ci", "it is what runs this"),
    ("cargo xtask bench", "benchmarks need a quiet machine"),
    ("cargo bench", "benchmarks need a quiet machine"),
    ("cargo xtask mutants", "it takes an hour"),
    ("cargo xtask readme", "it would never end"),
    ("cargo add", "it changes a manifest"),
    ("cargo install", "it changes the machine"),
];

pub(crate) fn run() -> Result<Note> {
    let page = fs::read_to_string(PAGE).with_context(|| format!("cannot read {PAGE}"))?;
    let lines = shell_lines(&page);
    let mut count = 0;
    for line in &lines {
        match left_out(line) {
            Some(why) => eprintln!("    not run: {line} ({why})"),
            None => {
                Cmd::shell(line).run()?;
                count += 1;
            }
        }
    }
    ensure!(count > 0, "{PAGE} shows no cargo command in a ```sh block that could be run");
    Ok(format!("{count} of {} commands run", lines.len()))
}

/// Why a line is not run; none if it is.
fn left_out(line: &str) -> Option<&'static str> {
    let is_setting = |word: &&str| word.contains('=') && !word.starts_with('-');
    let words: Vec<_> = line.split_whitespace().skip_while(is_setting).collect();
    if words.first() != Some(&"cargo") {
        return Some("not cargo");
    }
    let starts = |start: &str| words.starts_with(&start.split(' ').collect::<Vec<_>>());
    LEFT_OUT.iter().find(|(start, _)| starts(start)).map(|(_, why)| *why)
}

/// The commands in fenced `sh` blocks, joined over `\` at line ends, without prompts and comments.
fn shell_lines(page: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut inside = false;
    let mut open = String::new();
    for line in page.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            inside = !inside && line == "```sh";
            continue;
        }
        if !inside {
            continue;
        }
        open.push_str(without_comment(line.strip_prefix("$ ").unwrap_or(line)));
        if let Some(head) = open.strip_suffix('\\') {
            open = format!("{} ", head.trim_end());
            continue;
        }
        let command = std::mem::take(&mut open);
        if !command.is_empty() {
            lines.push(command);
        }
    }
    lines
}

/// Up to a `#` that begins a word. A `#` inside quotes after a space is not expected in a README.
fn without_comment(line: &str) -> &str {
    if line.starts_with('#') {
        return "";
    }
    line.split_once(" #").map_or(line, |(command, _)| command).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_from_sh_blocks_only() {
        let page = "cargo no\n```sh\n# first\n$ cargo a  # why\n\ncargo b \\\n  --c\n```\n```rust\ncargo no\n```\n```sh\ngit d\n```\n";
        assert_eq!(shell_lines(page), ["cargo a", "cargo b --c", "git d"]);
    }

    #[test]
    fn a_block_of_another_language_is_not_entered_at_its_end() {
        assert_eq!(shell_lines("```text\nx\n```\ncargo no\n```sh\ncargo a\n```\n"), ["cargo a"]);
    }

    #[test]
    fn only_cargo_lines_that_are_safe_are_run() {
        assert_eq!(left_out("cargo run --release -- demo"), None);
        assert_eq!(left_out("RUST_LOG=info cargo run"), None);
        assert_eq!(left_out("cargo xtask test"), None);
        assert_eq!(left_out("git clone x"), Some("not cargo"));
        assert_eq!(left_out("cargo add steadfast-resilience"), Some("it changes a manifest"));
        assert_eq!(left_out("cargo xtask ci --keep-going"), Some("it is what runs this"));
        assert_eq!(left_out("cargo xtask bench resilience"), Some("benchmarks need a quiet machine"));
    }
}
