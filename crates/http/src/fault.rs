//! How calls fail: kinds of faults that only HTTP has, and their words.
//!
//! What a status or a broken connection means is not decided here: `steadfast_resilience::classify` says it. Here is only
//! what that cannot know: that nothing was sent, or that an answer was no use.

use std::fmt::Display;

use steadfast_resilience::classify::chain;
use steadfast_resilience::{Kind, Verdict};
use steadfast_runtime::Fault;

use crate::error::Code;
use crate::target::{Lost, Ready};

// All of these are *neutral*, not terminal. Neither is tried again, but a terminal fault is taken for the service's no, for this try
// and for those before it under the same key, and for an answer to a breaker that probes. Here nobody has said no.

/// Nothing was sent: the call itself is wrong, or a secret is missing. Without effect.
pub const NOT_SENT: Kind = Kind::new("not-sent");
/// The service did it, and its answer is not what it says it is. An effect is possible.
pub const UNREADABLE: Kind = Kind::new("unreadable-answer");
/// The service did it, and its answer is larger than is read. An effect is possible.
pub const OVERSIZED: Kind = Kind::new("oversized-answer");
/// The service points elsewhere. An effect is possible: 303 is sent by services that have done it.
pub const REDIRECTED: Kind = Kind::new("redirected");
/// The status is no failure by itself, and not one that was expected. An effect is possible.
pub const UNEXPECTED: Kind = Kind::new("unexpected-status");

/// The most bytes of a service's own words that go into a message. The engine keeps 500 bytes of a failure: with these
/// there is room for ours and for the code.
pub(crate) const MOST_WORDS: usize = 240;
/// The most bytes of a name or value of the caller's that go into a message.
pub(crate) const MOST_NAME: usize = 80;

/// A call that was not made.
pub(crate) fn not_sent(code: Code, words: impl Display) -> Fault {
    told(Verdict::neutral(NOT_SENT).without_effect(), code, words)
}

/// An answer that says what it means.
pub(crate) fn told(verdict: Verdict, code: Code, words: impl Display) -> Fault {
    Fault { verdict, message: format!("{words} [{code}]") }
}

/// An answer with this status that is no use. What was asked may have been done.
pub(crate) fn no_use(kind: Kind, status: u16, code: Code, words: impl Display) -> Fault {
    told(Verdict::neutral(kind).with_code(i32::from(status)), code, words)
}

/// No answer came. The words are those of the causes, with the host that was asked and without the path: some write secrets into it.
pub(crate) fn no_answer(target: &Ready, lost: &Lost) -> Fault {
    let (service, base) = (target.name(), target.base());
    let host = base.host_str().unwrap_or_default();
    let port = base.port_or_known_default().unwrap_or_default();
    let words = shortened(&lost.to_string(), MOST_WORDS);
    told(
        unanswered(lost),
        Code::NoAnswer,
        format_args!("`{service}` at {host}:{port} did not answer: {words}"),
    )
}

/// What it means that there is no answer, or no whole one: without a connection nothing can have taken effect; after that an effect is
/// possible.
///
/// Nobody has said no then. The classification of what the system says calls some of it terminal (a certificate that is not trusted), but
/// a terminal fault passes for a no, also to the tries before it. And a service whose certificate has run out is away, not wrong: its
/// tasks are better parked than failed.
pub(crate) fn unanswered(lost: &Lost) -> Verdict {
    let (error, otherwise) = match lost {
        Lost::Late => return Verdict::transient(Kind::TIMEOUT),
        Lost::Unconnected(error) => (error, Verdict::transient(Kind::UNREACHABLE).without_effect()),
        Lost::Broken(error) => (error, Verdict::transient(Kind::CONNECTION_LOST)),
    };
    let known = chain(&**error);
    match (lost, known.class().is_retryable()) {
        (Lost::Unconnected(_), true) => known.without_effect(),
        (_, true) => known,
        (_, false) => otherwise,
    }
}

/// The beginning of a text in one line, and dots where it goes on.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let mut short = String::new();
    for letter in text.trim().chars() {
        if short.len() + letter.len_utf8() > most {
            short.push_str("...");
            break;
        }
        // Lines and control characters would tear logs and terminals.
        short.push(if letter.is_control() { ' ' } else { letter });
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_resilience::{Class, Effect};

    #[test]
    fn what_was_not_sent_has_no_effect_and_says_nothing_about_the_service() {
        let fault = not_sent(Code::BadRequest, "no path");
        assert_eq!((fault.verdict.class(), fault.verdict.effect()), (Class::Neutral, Effect::None));
        assert_eq!(fault.message, "no path [SF525]");
    }

    #[test]
    fn an_answer_that_is_no_use_may_have_been_an_effect() {
        let verdict = no_use(UNREADABLE, 200, Code::Unreadable, "").verdict;
        assert_eq!((verdict.class(), verdict.effect()), (Class::Neutral, Effect::Possible));
    }

    #[test]
    fn long_words_are_cut_between_letters_and_lines_are_joined() {
        assert_eq!(shortened("  a\r\nb\u{1b}[31m ", 80), "a  b [31m");
        assert_eq!(shortened("éééé", 5), "éé...");
        assert_eq!(shortened("éé", 4), "éé");
    }
}
