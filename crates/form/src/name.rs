//! Names and words of strangers, for messages.

/// A key with the tables around it, for messages.
#[must_use]
pub fn join(path: &str, key: &str) -> String {
    let key = plain(key);
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// Text of a stranger for a terminal: line breaks, control characters and such that turn the direction are written out.
#[must_use]
pub fn plain(text: &str) -> String {
    let turns = |letter| matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.is_control() || turns(letter) {
            true => plain.extend(letter.escape_default()),
            false => plain.push(letter),
        }
    }
    plain
}

/// Names as a list: `a`, `b`.
#[must_use]
pub fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{}`", plain(name))).collect::<Vec<_>>().join(", ")
}

/// The known name that was probably meant: at most a third of its letters differ.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // A long word of an attacker is no misspelt key, and the comparison takes the product of both lengths.
    let name: String = name.chars().take(64).collect();
    let distance = |known: &str| strsim::damerau_levenshtein(&name.to_lowercase(), known);
    let near = |known: &&str| known.len() <= 4 * 64;
    let best =
        known.filter(near).map(|known| (distance(known), known)).min_by_key(|(distance, _)| *distance)?;
    (best.0 <= (best.1.len() / 3).max(1)).then_some(best.1)
}

/// What to do about a name that stands for nothing: the nearest one that does, or all there are.
#[must_use]
pub fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{}`?", plain(near)),
        None if known.clone().next().is_none() => "there is none".to_owned(),
        None => format!("there are {}", listed(known)),
    }
}
