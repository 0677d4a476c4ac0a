//! How answers look: tables and drawings for people, JSON for programs.
//! Everything but [`Out::print`] is a function of its arguments.

mod colour;
mod fields;
pub(crate) mod graph;
pub(crate) mod progress;
mod table;
pub(crate) mod time;

use std::io::{IsTerminal as _, Write as _, stdout};

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

pub(crate) use self::fields::Fields;
pub(crate) use self::table::Table;
use self::time::Wall;
use crate::global::Global;

/// The most characters of a value in a table or beside a name; `--full` shows all of it.
const SHORT: usize = 160;

/// Where answers go, and how they look there.
#[derive(Debug)]
pub(crate) struct Out {
    /// JSON, for programs.
    pub(crate) json: bool,
    colour: bool,
    /// The columns of the terminal; without one lines are as long as they are.
    width: Option<u16>,
    /// What time it is, and where.
    pub(crate) wall: Wall,
}

impl Out {
    pub(crate) fn new(global: &Global) -> Self {
        let width = stdout().is_terminal().then(|| console::Term::stdout().size_checked()).flatten();
        Self {
            json: global.json,
            colour: global.has_colour(),
            width: width.map(|(_, columns)| columns),
            wall: Wall::here(),
        }
    }

    /// The same without colours, for what is laid out later.
    pub(crate) fn bare(&self) -> Self {
        Self { colour: false, wall: self.wall.clone(), ..*self }
    }

    /// Prints an answer: as it is for programs, in words for people.
    pub(crate) fn show<T: Serialize>(&self, answer: &T, words: impl FnOnce() -> String) -> Result<()> {
        if self.json { self.line(answer) } else { self.print(&words()) }
    }

    /// Prints one line of JSON.
    pub(crate) fn line<T: Serialize>(&self, value: &T) -> Result<()> {
        let text = serde_json::to_string(value)?;
        self.print(&text)
    }

    /// Prints a text, which ends its line.
    pub(crate) fn print(&self, text: &str) -> Result<()> {
        let text = text.trim_end_matches('\n');
        let mut out = stdout().lock();
        out.write_all(format!("{text}\n").as_bytes())?;
        // A reader of a stream waits for each line.
        out.flush()?;
        Ok(())
    }

    /// A table as text.
    pub(crate) fn table(&self, table: &Table) -> String {
        let text = table.text(self.width);
        if self.colour { colour::states(&text) } else { text }
    }

    /// A state as text.
    pub(crate) fn state(&self, state: &str) -> String {
        if self.colour { colour::paint(state) } else { state.to_owned() }
    }
}

/// A text in one line that cannot do anything to a terminal: it may come from anybody.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .map(|letter| match letter {
            '\n' | '\t' => ' ',
            letter if letter.is_control() => '\u{fffd}',
            letter => letter,
        })
        .collect()
}

/// A value in one line, short unless all of it is wanted.
pub(crate) fn value(value: &Value, full: bool) -> String {
    let text = plain(&value.to_string());
    if full || text.chars().count() <= SHORT {
        return text;
    }
    let shown: String = text.chars().take(SHORT).collect();
    format!("{shown}… (--full shows all)")
}

/// Names with values, in one line.
pub(crate) fn labels<'a>(labels: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let labels: Vec<_> = labels.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    labels.join(" ")
}

/// A number with its noun.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_others_have_written_cannot_move_the_cursor() {
        assert_eq!(plain("a\u{1b}[2Jb\nc"), "a\u{fffd}[2Jb c");
        assert_eq!(value(&json!("\u{9b}31m"), true), "\"\u{fffd}31m\"");
    }

    #[test]
    fn long_values_are_shortened_unless_all_is_wanted() {
        let long = json!("x".repeat(500));
        assert!(value(&long, false).ends_with("x… (--full shows all)"));
        assert_eq!(value(&long, true).len(), 502);
    }
}
