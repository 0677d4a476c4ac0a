//! A look at an expression before the parser sees it: how long, how deep and how many. It must never be slow, or go deep.

use super::limit::{MAX_BRACKETS, MAX_SOURCE, MAX_TOKENS};

/// What is wrong with an expression before it is even read.
pub(crate) fn scan(source: &str) -> Result<(), String> {
    if source.len() > MAX_SOURCE {
        return Err(format!(
            "the expression has {} bytes, at most {MAX_SOURCE} are allowed: let a service compute it",
            source.len()
        ));
    }
    if source.trim().is_empty() {
        return Err("there is no expression".to_owned());
    }
    let (mut depth, mut tokens) = (0_usize, 0_usize);
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = token(rest)?;
        match first {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        tokens += usize::from(!first.is_whitespace());
        if depth > MAX_BRACKETS {
            return Err(format!("its brackets are more than {MAX_BRACKETS} deep: make it flatter"));
        }
        if tokens > MAX_TOKENS {
            return Err(format!("it has more than {MAX_TOKENS} names, numbers and signs: make it shorter"));
        }
        rest = &rest[length..];
    }
    Ok(())
}

/// Where an expression in a text ends: the place of the brace that closes it. `text` begins behind the one that opens it.
pub(crate) fn end(text: &str) -> Result<usize, String> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(first) = text[at..].chars().next() {
        match first {
            '{' => depth += 1,
            '}' if depth == 0 => return Ok(at),
            '}' => depth -= 1,
            _ => {}
        }
        at += token(&text[at..])?;
    }
    Err("`${` has no `}`: close it, or write `$${` for the signs themselves".to_owned())
}

/// The bytes of the first thing in a text: a quoted text, a word or number, or one sign. A comment is like space.
fn token(text: &str) -> Result<usize, String> {
    let first = text.chars().next().unwrap_or(' ');
    // A prefix tells of a text whose backslashes mean nothing, or of bytes.
    let prefix = text.bytes().take_while(|byte| b"rRbB".contains(byte)).count();
    if prefix <= 2 && text[prefix..].starts_with(['\'', '"']) {
        let raw = text[..prefix].contains(['r', 'R']);
        return Ok(prefix + quoted(&text[prefix..], raw)?);
    }
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if is_word(first) {
        return Ok(text.find(|letter| !is_word(letter)).unwrap_or(text.len()));
    }
    if text.starts_with("//") {
        return Err("comments (`//`) do not belong into an expression: put them into the file".to_owned());
    }
    Ok(first.len_utf8())
}

/// The bytes of a quoted text.
fn quoted(text: &str, raw: bool) -> Result<usize, String> {
    let quote = &text[..1];
    let triple = quote.repeat(3);
    let mark = if text.starts_with(&triple) { triple.as_str() } else { quote };
    let mut at = mark.len();
    while let Some(letter) = text[at..].chars().next() {
        if text[at..].starts_with(mark) {
            return Ok(at + mark.len());
        }
        at += letter.len_utf8();
        if letter == '\\' && !raw {
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    Err(format!("a text that begins with {mark} has no end"))
}
