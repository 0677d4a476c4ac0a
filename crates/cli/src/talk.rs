//! What is said to people while something runs: whole lines on stderr, folded to fit a terminal.
//! Never data: that goes to stdout. Nobody listening is no reason to fail.

use std::io::Write as _;
use std::time::Duration;

/// Fits a terminal of 100 columns with some air.
const WIDTH: usize = 96;

/// Where the text of a note begins, after its time.
const INDENT: usize = 8;

/// Says one line, as it is.
pub(crate) fn line(text: &str) {
    // One write, so that lines of several threads do not mix. `eprintln!` would panic when stderr is closed.
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Says something that happened after `elapsed`, folded.
pub(crate) fn note(elapsed: Duration, text: &str) {
    line(&format!("{:5.2}s  {}", elapsed.as_secs_f64(), folded(text, INDENT)));
}

/// Breaks a text at spaces, its further lines indented.
pub(crate) fn folded(text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut column = indent;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if out.is_empty() {
        } else if column + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_folded_at_spaces_and_lose_no_word() {
        let text = "a circuit breaker ".repeat(20);
        let folded = folded(&text, INDENT);
        assert!(folded.lines().count() > 1);
        assert!(folded.lines().all(|line| line.len() <= WIDTH), "{folded}");
        assert!(folded.lines().skip(1).all(|line| line.starts_with(&" ".repeat(INDENT))), "{folded}");
        assert_eq!(
            folded.split_whitespace().collect::<Vec<_>>(),
            text.split_whitespace().collect::<Vec<_>>()
        );
    }

    #[test]
    fn short_texts_stay_as_they_are() {
        assert_eq!(folded("the service is down", INDENT), "the service is down");
    }
}
