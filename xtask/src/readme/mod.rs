//! `cargo xtask readme`: runs the commands that README.md and the guide show, so that they cannot rot.
//! Runs each line of a fenced `sh` block whose command is cargo; what it leaves out, it names. A `text` block that follows
//! must be what the last of them printed, and a drawing that it writes must be the one that is checked in.
//! Of a page whose commands belong together every line is run, in one shell; there ids and times may differ.
//! `STEADFAST_BLESS=1 cargo xtask readme` writes what was printed into the pages.

mod session;

use std::fs;

use anyhow::{Context, Result, bail, ensure};

use crate::command::Cmd;
use crate::step::Note;
use session::Session;

/// Run as a whole, in one shell.
const WHOLE: &str = "docs/guide/quick-start.md";
/// From a fresh clone to the first task that has completed, a reader types at most so many commands.
const TO_THE_FIRST_TASK: usize = 5;

const PAGES: [&str; 2] = ["README.md", "docs/guide/simulating.md"];

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
    let bless = std::env::var_os("STEADFAST_BLESS").is_some();
    let mut notes = PAGES.iter().map(|page| check(page, bless)).collect::<Result<Vec<_>>>()?;
    notes.push(whole(bless)?);
    Ok(notes.join("; "))
}

/// The same for one page.
pub(crate) fn only(page: &str) -> Result<()> {
    let bless = std::env::var_os("STEADFAST_BLESS").is_some();
    let note = if page == WHOLE { whole(bless)? } else { check(page, bless)? };
    eprintln!("    {note}");
    Ok(())
}

/// Runs every command of the quick start as it stands, and compares what is printed with what is shown.
fn whole(bless: bool) -> Result<Note> {
    let text = fs::read_to_string(WHOLE).with_context(|| format!("cannot read {WHOLE}"))?;
    let readme = fs::read_to_string("README.md").context("cannot read README.md")?;
    ensure!(
        begins_alike(&readme, &text),
        "README.md does not show the first commands of {WHOLE} and what they print, word by word"
    );
    if !fs::exists("target")? {
        // The page says `target`, and somebody has cargo build elsewhere.
        let target = crate::metadata::target_folder()?.display().to_string();
        Cmd::program("ln").args(&["-s", &target, "target"]).run()?;
    }
    let mut session = Session::open()?;
    let (mut shown, mut printed, mut ran, mut first) = (String::new(), String::new(), 0, None);
    for block in blocks(&text) {
        match block {
            Block::Shell(source) => {
                for line in shell_lines(source) {
                    printed = session.run(&line)?;
                    ran += 1;
                    if line.contains("task submit") {
                        first.get_or_insert(ran);
                    }
                }
                shown.push_str(source);
            }
            Block::Output(source) => {
                let inside = source.trim_start_matches("```text\n").trim_end().trim_end_matches("```");
                match session::is_alike(inside, &printed) {
                    true => shown.push_str(source),
                    false => shown.push_str(&format!("```text\n{printed}```\n")),
                }
            }
            Block::Other(source) => shown.push_str(source),
        }
    }
    let first = first.context("the quick start submits no task")?;
    ensure!(first <= TO_THE_FIRST_TASK, "{WHOLE}: the first task takes {first} commands");
    if shown != text {
        differs(WHOLE, &text, &shown, bless)?;
    }
    Ok(format!("{WHOLE}: all {ran} commands run"))
}

/// Whether the README has the first commands of a page and what they print, as they stand there: they are run there.
fn begins_alike(readme: &str, page: &str) -> bool {
    let blocks = blocks(page);
    let shell =
        blocks.iter().find_map(|block| if let Block::Shell(text) = block { Some(*text) } else { None });
    let output =
        blocks.iter().find_map(|block| if let Block::Output(text) = block { Some(*text) } else { None });
    shell.zip(output).is_some_and(|(shell, output)| readme.contains(shell) && readme.contains(output))
}

/// Runs the commands of one page and compares what they print with what it shows.
fn check(page: &str, bless: bool) -> Result<Note> {
    let text = fs::read_to_string(page).with_context(|| format!("cannot read {page}"))?;
    let mut shown = String::new();
    let (mut ran, mut all, mut printed) = (0, 0, None);
    for block in blocks(&text) {
        match block {
            Block::Shell(source) => {
                shown.push_str(source);
                printed = None;
                for line in shell_lines(source) {
                    all += 1;
                    if let Some(why) = left_out(&line) {
                        eprintln!("    not run: {line} ({why})");
                        continue;
                    }
                    ran += 1;
                    printed = Some(run_line(&line, bless)?);
                }
            }
            Block::Output(source) => match printed.take() {
                Some(printed) => shown.push_str(&format!("```text\n{printed}```\n")),
                None => shown.push_str(source),
            },
            Block::Other(source) => {
                shown.push_str(source);
                if !source.trim().is_empty() {
                    printed = None;
                }
            }
        }
    }
    ensure!(ran > 0, "{page} shows no cargo command in a ```sh block that could be run");
    if shown != text {
        differs(page, &text, &shown, bless)?;
    }
    Ok(format!("{page}: {ran} of {all} commands run"))
}

/// Runs one command; a drawing that it writes must be the one that was there.
fn run_line(line: &str, bless: bool) -> Result<String> {
    let drawing = line.split_whitespace().skip_while(|word| *word != "--svg").nth(1);
    let before = drawing.map(fs::read_to_string).transpose();
    let command = Cmd::shell(line);
    eprintln!("    $ {command}");
    let printed = command.stdout()?;
    if let (Some(path), false) = (drawing, bless) {
        let after = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
        let before = before.with_context(|| format!("{path} is not checked in"))?;
        ensure!(before.as_ref() == Some(&after), "{path} was stale: look at the new one and commit it");
    }
    Ok(printed)
}

fn differs(page: &str, text: &str, shown: &str, bless: bool) -> Result<()> {
    if bless {
        return fs::write(page, shown).with_context(|| format!("cannot write {page}"));
    }
    let pairs = text.lines().zip(shown.lines()).enumerate();
    let place = pairs.into_iter().find(|(_, (old, new))| old != new);
    match place {
        Some((line, (old, new))) => bail!(
            "{page}:{}: shows\n  {old}\nbut the command prints\n  {new}\nTake it over: STEADFAST_BLESS=1 cargo xtask readme",
            line + 1
        ),
        None => bail!(
            "{page}: the last output is of another length. Take it over: STEADFAST_BLESS=1 cargo xtask readme"
        ),
    }
}

/// A part of a page, as it stands there.
enum Block<'a> {
    Shell(&'a str),
    Output(&'a str),
    Other(&'a str),
}

/// The page in parts: fenced blocks of `sh` and `text`, and what is between.
fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let (mut begin, mut at, mut fence) = (0, 0, None);
    for line in page.split_inclusive('\n') {
        let word = line.trim();
        match fence {
            None if word.starts_with("```") => {
                blocks.push(Block::Other(&page[begin..at]));
                (begin, fence) = (at, Some(word));
            }
            Some(opened) if word == "```" => {
                let whole = &page[begin..at + line.len()];
                blocks.push(match opened {
                    "```sh" => Block::Shell(whole),
                    "```text" => Block::Output(whole),
                    _ => Block::Other(whole),
                });
                (begin, fence) = (at + line.len(), None);
            }
            _ => {}
        }
        at += line.len();
    }
    blocks.push(Block::Other(&page[begin..]));
    blocks
}

/// Why a line is not run; none if it is.
fn left_out(line: &str) -> Option<&'static str> {
    let is_setting = |word: &&str| word.contains('=') && !word.starts_with('-');
    let words: Vec<_> = line.split_whitespace().skip_while(is_setting).collect();
    if words.first() != Some(&"cargo") {
        return Some("not cargo");
    }
    if words.ends_with(&["--", "demo"]) {
        return Some("it stays open until Ctrl-C; `demo --for 60s --json` is run");
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
    fn a_page_is_its_blocks_and_output_belongs_to_the_command_before_it() {
        let page = "a\n```sh\ncargo x\n```\n\n```text\nold\n```\nb\n```rust\nfn\n```\nend";
        let parts = blocks(page);
        let whole: String = parts
            .iter()
            .map(|block| match block {
                Block::Shell(text) | Block::Output(text) | Block::Other(text) => *text,
            })
            .collect();
        assert_eq!(whole, page);
        let kinds: Vec<_> = parts
            .iter()
            .map(|block| match block {
                Block::Shell(_) => 's',
                Block::Output(_) => 't',
                Block::Other(text) if text.trim().is_empty() => ' ',
                Block::Other(_) => 'o',
            })
            .collect();
        assert_eq!(kinds.iter().collect::<String>(), "os tooo");
    }

    #[test]
    fn the_readme_shows_what_the_quick_start_begins_with() {
        let page = "a\n```sh\nx &\n```\nb\n```text\nprinted\n```\n```sh\nlater\n```\n";
        assert!(begins_alike(page, page));
        assert!(begins_alike("```text\nprinted\n```\n```sh\nx &\n```\n", page));
        assert!(!begins_alike(&page.replace("x &", "y &"), page));
        assert!(!begins_alike(&page.replace("printed", "other"), page));
    }

    #[test]
    fn only_cargo_lines_that_are_safe_are_run() {
        assert_eq!(left_out("cargo run --release -- demo --for 60s --json"), None);
        let stays = Some("it stays open until Ctrl-C; `demo --for 60s --json` is run");
        assert_eq!(left_out("cargo run --release -- demo"), stays);
        assert_eq!(left_out("RUST_LOG=info cargo run"), None);
        assert_eq!(left_out("cargo xtask test"), None);
        assert_eq!(left_out("git clone x"), Some("not cargo"));
        assert_eq!(left_out("cargo add steadfast-resilience"), Some("it changes a manifest"));
        assert_eq!(left_out("cargo xtask ci --keep-going"), Some("it is what runs this"));
        assert_eq!(left_out("cargo xtask bench resilience"), Some("benchmarks need a quiet machine"));
    }
}
