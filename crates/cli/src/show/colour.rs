//! Colours of states, put in after everything is laid out: they take no room.

/// The words that have a colour, and its number.
const PAINTED: [(&str, u8); 17] = [
    ("completed", GREEN),
    ("closed", GREEN),
    ("done", GREEN),
    ("failed", RED),
    ("undo_failed", RED),
    ("open", RED),
    ("forced_open", RED),
    ("unknown", RED),
    ("undone", YELLOW),
    ("undoing", YELLOW),
    ("paused", YELLOW),
    ("parked", YELLOW),
    ("half_open", YELLOW),
    ("forced_closed", YELLOW),
    ("waiting", BLUE),
    ("running", BLUE),
    ("pending", BLUE),
];

const RED: u8 = 31;
const GREEN: u8 = 32;
const YELLOW: u8 = 33;
const BLUE: u8 = 34;

/// The head of the column that has states.
const COLUMN: &str = "STATE";

/// A state with its colour.
pub(super) fn paint(state: &str) -> String {
    match PAINTED.iter().find(|(name, _)| *name == state) {
        Some((_, colour)) => format!("\u{1b}[{colour}m{state}\u{1b}[0m"),
        None => state.to_owned(),
    }
}

/// A table with its states painted: what stands in each line where the head says so.
pub(super) fn states(table: &str) -> String {
    let Some(at) = table.lines().next().and_then(|head| head.find(COLUMN)) else { return table.to_owned() };
    let lines: Vec<_> = table.lines().map(|line| painted(line, at)).collect();
    lines.join("\n")
}

fn painted(line: &str, column: usize) -> String {
    // By characters: a name before it may have any.
    let Some((at, _)) = line.char_indices().nth(column) else { return line.to_owned() };
    let (before, rest) = line.split_at(at);
    let end = rest.find(' ').unwrap_or(rest.len());
    let (state, after) = rest.split_at(end);
    format!("{before}{}{after}", paint(state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_painted_where_the_column_says_so_and_nowhere_else() {
        let table = "ID  STATE      WHY\nä1  failed     failed\nb2  something  x";
        assert_eq!(
            states(table),
            "ID  STATE      WHY\nä1  \u{1b}[31mfailed\u{1b}[0m     failed\nb2  something  x"
        );
    }

    #[test]
    fn a_table_without_states_stays_as_it_is() {
        assert_eq!(states("NAME\nfailed"), "NAME\nfailed");
    }
}
