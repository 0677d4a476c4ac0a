//! Holds a tree against what a file may say, and lists everything that does not fit.

use crate::complaint::{Complaint, Kind, MAX_COMPLAINTS};
use crate::duration;
use crate::name::{join, listed, nearest};
use crate::shape::{Choice, Section, Shape};
use crate::tree::{Key, Node, Place, Value};

/// The longest name: it is in every log line and metric of its service.
pub const MAX_NAME: usize = 200;

/// Every complaint about a file's keys and values; names are looked up by whoever knows them.
#[must_use]
pub fn validate(root: &Node, file: &'static Section) -> Vec<Complaint> {
    let mut validator = Validator { complaints: Vec::new() };
    if root.value != Value::Null || file.fields.iter().any(|field| field.needed) {
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

    fn complain(&mut self, at: Place, key: &str, kind: Kind, message: String) {
        self.complaints.push(Complaint::new(at, key, kind, message));
    }

    fn table(&mut self, node: &Node, section: &'static Section, path: &str) {
        let Value::Map(entries) = &node.value else {
            let message = format!("expected a table, found {}", node.value.describe());
            return self.complain(node.at, path, Kind::WrongValue, message);
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
        for field in section.fields.iter().filter(|field| field.needed) {
            if !self.is_full() && !entries.iter().any(|(key, _)| key.name == field.key) {
                let message = format!("it needs `{}`: {}", field.key, expected(field.shape));
                self.complain(node.at, path, Kind::Missing, message);
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
        self.complain(key.at, path, Kind::UnknownKey, message);
    }

    fn value(&mut self, node: &Node, shape: Shape, path: &str) {
        match (shape, &node.value) {
            (Shape::Any, _) => {}
            (Shape::Table(section), _) | (Shape::Of(section), Value::Map(_)) => {
                self.table(node, section, path);
            }
            (Shape::Either(shapes), Value::Map(_) | Value::List(_))
                if fitting(shapes, &node.value).is_some() =>
            {
                if let Some(inner) = fitting(shapes, &node.value) {
                    self.value(node, inner, path);
                }
            }
            (Shape::OneOf(choices), Value::Map(_)) => self.one_of(node, choices, path),
            (Shape::Named(inner), Value::Map(entries)) => self.named(entries, *inner, path),
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
                    self.complain(node.at, path, Kind::WrongValue, message);
                }
            }
        }
    }

    fn named(&mut self, entries: &[(Key, Node)], inner: Shape, path: &str) {
        for (key, value) in entries {
            if self.is_full() {
                return;
            }
            let path = join(path, &key.name);
            if key.name.trim().is_empty() {
                self.complain(key.at, &path, Kind::Empty, "a name must not be blank".to_owned());
            }
            if key.name.len() > MAX_NAME {
                let start: String = path.chars().take(MAX_NAME).collect();
                let message = format!("a name must not be longer than {MAX_NAME} bytes");
                self.complain(key.at, &start, Kind::WrongValue, message);
                continue;
            }
            self.value(value, inner, &path);
        }
    }

    fn one_of(&mut self, node: &Node, choices: &'static [Choice], path: &str) {
        match chosen(node, choices) {
            Ok(choice) => self.table(node, choice.section, path),
            Err((at, kind, message)) => self.complain(at, path, kind, message),
        }
    }
}

/// Which of several tables this one is, or what is wrong: none of the keys that tell them apart, or more than one.
///
/// # Errors
/// Where, which sort of problem, and what to do.
pub fn chosen(node: &Node, choices: &'static [Choice]) -> Result<&'static Choice, (Place, Kind, String)> {
    let keys = crate::table::entries(node);
    let has = |choice: &&Choice| keys.iter().any(|(key, _)| key.name == choice.mark);
    let mut marked = choices.iter().filter(has);
    let marks = || listed(choices.iter().map(|choice| choice.mark));
    match (marked.next(), marked.next()) {
        (Some(choice), None) => Ok(choice),
        (Some(one), Some(other)) => {
            let second =
                keys.iter().find(|(key, _)| key.name == other.mark).map_or(node.at, |(key, _)| key.at);
            let message =
                format!("`{}` and `{}` exclude each other: remove one of them", one.mark, other.mark);
            Err((second, Kind::Contradiction, message))
        }
        (None, _) => {
            // A misspelt mark is told by its name.
            let near = keys.iter().find_map(|(key, _)| {
                let near = nearest(&key.name, choices.iter().map(|choice| choice.mark))?;
                Some((key, near))
            });
            match near {
                Some((key, near)) => {
                    let message =
                        format!("unknown key `{}`: did you mean `{near}`?", crate::plain(&key.name));
                    Err((key.at, Kind::UnknownKey, message))
                }
                None => Err((node.at, Kind::Missing, format!("it needs one of {}", marks()))),
            }
        }
    }
}

/// Which of several shapes a table or a list is meant to be.
fn fitting(shapes: &'static [Shape], value: &Value) -> Option<Shape> {
    let takes = |shape: &&Shape| match value {
        Value::Map(_) => {
            matches!(shape, Shape::Table(_) | Shape::Of(_) | Shape::Named(_) | Shape::OneOf(_) | Shape::Any)
        }
        Value::List(_) => matches!(shape, Shape::List(_) | Shape::Any),
        _ => false,
    };
    shapes.iter().find(takes).copied()
}

/// Whether a single value fits, or what was expected.
fn fits(value: &Value, shape: Shape) -> Result<(), String> {
    let unexpected = |what: &str| Err(format!("expected {what}, found {}", value.describe()));
    match (shape, value) {
        (Shape::Duration | Shape::DurationOrZero | Shape::LongDuration, Value::Text(text)) => {
            match time(text, shape) {
                Ok(time) if time.is_zero() && !matches!(shape, Shape::DurationOrZero) => {
                    unexpected("a time above zero")
                }
                Ok(_) => Ok(()),
                Err(why) => unexpected(&format!("{} ({why})", expected(shape))),
            }
        }
        (Shape::Count(least, most), Value::Int(number)) => {
            let range = i64::from(least)..=i64::from(most);
            if range.contains(number) { Ok(()) } else { unexpected(&expected(shape)) }
        }
        (Shape::Share | Shape::Number(..), Value::Int(_) | Value::Float(_)) => {
            if in_range(number(value), shape) { Ok(()) } else { unexpected(&expected(shape)) }
        }
        (Shape::Flag, Value::Bool(_)) | (Shape::Any, _) => Ok(()),
        (Shape::Word(words), Value::Text(text)) => {
            if words.contains(&text.as_str()) {
                return Ok(());
            }
            match nearest(text, words.iter().copied()) {
                Some(word) => {
                    Err(format!("unknown word \"{}\": did you mean \"{word}\"?", text.escape_debug()))
                }
                None => unexpected(&expected(shape)),
            }
        }
        (Shape::Kind, Value::Text(text)) if !text.trim().is_empty() => Ok(()),
        (Shape::Kind, Value::Int(code)) if i32::try_from(*code).is_ok() => Ok(()),
        (Shape::Of(_), Value::Text(text)) if !text.is_empty() => Ok(()),
        (Shape::Expression, Value::Text(text)) if !text.trim().is_empty() => Ok(()),
        (Shape::Either(shapes), _) => either(value, shapes, shape),
        (Shape::Text | Shape::Template, Value::Text(_)) => Ok(()),
        _ => unexpected(&expected(shape)),
    }
}

fn either(value: &Value, shapes: &'static [Shape], shape: Shape) -> Result<(), String> {
    if shapes.iter().any(|shape| fits(value, *shape).is_ok()) {
        return Ok(());
    }
    let unexpected = |what: &str| Err(format!("expected {what}, found {}", value.describe()));
    match value {
        Value::Text(text) if matches!(shapes, [Shape::Duration, ..]) => match duration::parse(text) {
            Ok(_) => unexpected("a time above zero"),
            Err(why) => unexpected(&format!("{} ({why})", expected(shape))),
        },
        _ => unexpected(&expected(shape)),
    }
}

fn time(text: &str, shape: Shape) -> Result<std::time::Duration, String> {
    if matches!(shape, Shape::LongDuration) { duration::parse_long(text) } else { duration::parse(text) }
}

fn in_range(number: f64, shape: Shape) -> bool {
    match shape {
        Shape::Number(least, most) => number >= least && number <= most,
        _ => number > 0.0 && number <= 1.0,
    }
}

/// A number as a number with a fraction; NaN for what is none.
#[expect(clippy::cast_precision_loss, reason = "numbers in files are far below 2^52")]
#[must_use]
pub fn number(value: &Value) -> f64 {
    match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        _ => f64::NAN,
    }
}

/// What a shape takes, in words.
#[must_use]
pub fn expected(shape: Shape) -> String {
    match shape {
        Shape::Duration => "a time such as \"500ms\", \"2s\" or \"1m 30s\"".to_owned(),
        Shape::DurationOrZero => "a time such as \"500ms\", \"2s\" or \"0s\"".to_owned(),
        Shape::LongDuration => "a time such as \"30s\", \"10m\" or \"2d\"".to_owned(),
        Shape::Count(least, most) => format!("a whole number from {least} to {most}"),
        Shape::Share => "a number above 0 and up to 1".to_owned(),
        Shape::Number(least, most) => format!("a number from {least} to {most}"),
        Shape::Flag => "true or false".to_owned(),
        Shape::Text => "a text".to_owned(),
        Shape::Template => "a text, with expressions such as \"${input.id}\" in it".to_owned(),
        Shape::Expression => "an expression such as \"input.total > 0\"".to_owned(),
        Shape::Any => "any value".to_owned(),
        Shape::Word([word]) => format!("\"{word}\""),
        Shape::Word(words) => format!("one of {}", listed(words.iter().copied())),
        Shape::Kind => "a kind such as \"timeout\", or a code such as 503".to_owned(),
        Shape::Of(section) => format!("the name of a {}, or a table with its settings", section.name),
        Shape::List(inner) => format!("a list, each {}", expected(*inner)),
        Shape::Named(_) | Shape::Table(_) | Shape::OneOf(_) => "a table".to_owned(),
        Shape::Either(shapes) => {
            shapes.iter().map(|shape| expected(*shape)).collect::<Vec<_>>().join(", or ")
        }
    }
}
