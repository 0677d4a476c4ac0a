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
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if indent + line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join(&format!("\n{}", " ".repeat(indent)))
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
