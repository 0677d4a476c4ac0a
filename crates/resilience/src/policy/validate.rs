//! Holds a tree against what a file may say, and lists everything that does not fit.

use super::duration;
use super::error::{Complaint, MAX_COMPLAINTS};
use super::schema::{Section, Shape};
use super::tree::{Key, Node, Place, Value};
use crate::problem::Code;

/// The longest name: it is in every log line and metric of its service.
const MAX_NAME: usize = 200;

/// Every complaint about a file's keys and values; names are looked up later.
pub(super) fn validate(root: &Node, file: &'static Section) -> Vec<Complaint> {
    let mut validator = Validator { complaints: Vec::new() };
    if root.value != Value::Null {
        validator.table(root, file, "");
    }
    validator.complaints
}

struct Validator {
    complaints: Vec<Complaint>,
}

impl Validator {
    fn is_full(&self) -> bool {
        self.complaints.len() >= MAX_COMPLAINTS
    }

    fn complain(&mut self, at: Place, key: &str, code: Code, message: String) {
        self.complaints.push(Complaint { at, key: key.to_owned(), code, message });
    }

    fn table(&mut self, node: &Node, section: &'static Section, path: &str) {
        let Value::Map(entries) = &node.value else {
            let message = format!("expected a table, found {}", node.value.describe());
            return self.complain(node.at, path, Code::WrongValue, message);
        };
        for (key, value) in entries {
            if self.is_full() {
                return;
            }
            let path = join(path, &key.name);
            match section.field(&key.name) {
                Some(field) => self.value(value, field.shape, &path),
                None => self.unknown(key, section, &path),
            }
        }
    }

    fn unknown(&mut self, key: &Key, section: &Section, path: &str) {
        let known = || section.fields.iter().map(|field| field.key);
        let hint = match nearest(&key.name, known()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("there are {}", listed(known())),
        };
        let message = format!("unknown key: {hint}");
        self.complain(key.at, path, Code::UnknownKey, message);
    }

    fn value(&mut self, node: &Node, shape: Shape, path: &str) {
        match (shape, &node.value) {
            (Shape::Table(section), _) | (Shape::Of(section), Value::Map(_)) => {
                self.table(node, section, path);
            }
            (Shape::Either([Shape::Table(section), ..]), Value::Map(_)) => self.table(node, section, path),
            (Shape::Named(inner), Value::Map(entries)) => {
                for (key, value) in entries {
                    if self.is_full() {
                        return;
                    }
                    let path = join(path, &key.name);
                    if key.name.trim().is_empty() {
                        self.complain(key.at, &path, Code::Empty, "a name must not be blank".to_owned());
                    }
                    if key.name.len() > MAX_NAME {
                        let start: String = path.chars().take(MAX_NAME).collect();
                        let message = format!("a name must not be longer than {MAX_NAME} bytes");
                        self.complain(key.at, &start, Code::WrongValue, message);
                        continue;
                    }
                    self.value(value, *inner, &path);
                }
            }
            (Shape::List(inner), Value::List(items)) => {
                for item in items {
                    if self.is_full() {
                        return;
                    }
                    self.value(item, *inner, path);
                }
            }
            _ => {
                if let Err(message) = fits(&node.value, shape) {
                    self.complain(node.at, path, Code::WrongValue, message);
                }
            }
        }
    }
}

/// Whether a single value fits, or what was expected.
fn fits(value: &Value, shape: Shape) -> Result<(), String> {
    let expected = |what: &str| Err(format!("expected {what}, found {}", value.describe()));
    match (shape, value) {
        (Shape::Duration | Shape::DurationOrZero, Value::Text(text)) => match duration::parse(text) {
            Ok(time) if time.is_zero() && matches!(shape, Shape::Duration) => expected("a time above zero"),
            Ok(_) => Ok(()),
            Err(why) => expected(&format!("{} ({why})", name(shape))),
        },
        (Shape::Count(least, most), Value::Int(number)) => {
            let range = i64::from(least)..=i64::from(most);
            if range.contains(number) { Ok(()) } else { expected(&name(shape)) }
        }
        (Shape::Share | Shape::Number(..), Value::Int(_) | Value::Float(_)) => {
            if in_range(number(value), shape) { Ok(()) } else { expected(&name(shape)) }
        }
        (Shape::Flag, Value::Bool(_)) => Ok(()),
        (Shape::Word(words), Value::Text(text)) => {
            if words.contains(&text.as_str()) {
                return Ok(());
            }
            match nearest(text, words.iter().copied()) {
                Some(word) => {
                    Err(format!("unknown word \"{}\": did you mean \"{word}\"?", text.escape_debug()))
                }
                None => expected(&name(shape)),
            }
        }
        (Shape::Kind, Value::Text(text)) if !text.trim().is_empty() => Ok(()),
        (Shape::Kind, Value::Int(code)) if i32::try_from(*code).is_ok() => Ok(()),
        (Shape::Of(_), Value::Text(text)) if !text.is_empty() => Ok(()),
        (Shape::Either(shapes), _) => {
            if shapes.iter().any(|shape| fits(value, *shape).is_ok()) {
                return Ok(());
            }
            match value {
                Value::Text(text) if matches!(shapes, [Shape::Duration, ..]) => match duration::parse(text) {
                    Ok(_) => expected("a time above zero"),
                    Err(why) => expected(&format!("{} ({why})", name(shape))),
                },
                _ => expected(&name(shape)),
            }
        }
        (Shape::Text, Value::Text(_)) => Ok(()),
        _ => expected(&name(shape)),
    }
}

fn in_range(number: f64, shape: Shape) -> bool {
    match shape {
        Shape::Number(least, most) => number >= least && number <= most,
        _ => number > 0.0 && number <= 1.0,
    }
}

/// A number as a number with a fraction.
#[expect(clippy::cast_precision_loss, reason = "numbers in files are far below 2^52")]
pub(super) fn number(value: &Value) -> f64 {
    match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        _ => f64::NAN,
    }
}

/// What a shape takes, in words.
pub(super) fn name(shape: Shape) -> String {
    match shape {
        Shape::Duration => "a time such as \"500ms\", \"2s\" or \"1m 30s\"".to_owned(),
        Shape::DurationOrZero => "a time such as \"500ms\", \"2s\" or \"0s\"".to_owned(),
        Shape::Count(least, most) => format!("a whole number from {least} to {most}"),
        Shape::Share => "a number above 0 and up to 1".to_owned(),
        Shape::Number(least, most) => format!("a number from {least} to {most}"),
        Shape::Flag => "true or false".to_owned(),
        Shape::Text => "a text".to_owned(),
        Shape::Word([word]) => format!("\"{word}\""),
        Shape::Word(words) => format!("one of {}", listed(words.iter().copied())),
        Shape::Kind => "a kind such as \"timeout\", or a code such as 503".to_owned(),
        Shape::Of(section) => format!("the name of a {}, or a table with its settings", section.name),
        Shape::List(inner) => format!("a list, each {}", name(*inner)),
        Shape::Named(_) | Shape::Table(_) => "a table".to_owned(),
        Shape::Either(shapes) => shapes.iter().map(|shape| name(*shape)).collect::<Vec<_>>().join(", or "),
    }
}

/// A key with the tables around it, for messages.
pub(super) fn join(path: &str, key: &str) -> String {
    let key = plain(key);
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// Text of a stranger for a terminal: line breaks, control characters and such that turn the direction are written out.
pub(super) fn plain(text: &str) -> String {
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

pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{}`", plain(name))).collect::<Vec<_>>().join(", ")
}

/// The known name that was probably meant: at most a third of its letters differ.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // A long word of an attacker is no misspelt key, and the comparison takes the product of both lengths.
    let name: String = name.chars().take(64).collect();
    let distance = |known: &str| strsim::damerau_levenshtein(&name.to_lowercase(), known);
    let best = known.map(|known| (distance(known), known)).min_by_key(|(distance, _)| *distance)?;
    (best.0 <= (best.1.len() / 3).max(1)).then_some(best.1)
}
