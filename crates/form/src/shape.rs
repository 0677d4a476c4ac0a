//! Sections, keys and what they take.

/// What a key takes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Shape {
    /// A time above zero, such as `"1m 30s"`.
    Duration,
    /// A time that may be zero.
    DurationOrZero,
    /// A time above zero that may have days: `"2d 12h"`.
    LongDuration,
    /// A whole number in a range.
    Count(u32, u32),
    /// A number above 0, up to 1.
    Share,
    /// A number in a range.
    Number(f64, f64),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
    /// A text that may have expressions in it: `"/orders/${input.id}"`. Whoever reads the file reads those.
    Template,
    /// An expression.
    Expression,
    /// Any value, as deep as it likes.
    Any,
    /// A kind of failure, or a code: `timeout`, `503`.
    Kind,
    /// The name of something of this section of the file, or its settings in place.
    Of(&'static Section),
    /// A list of these.
    List(&'static Shape),
    /// A table with names of the user's own.
    Named(&'static Shape),
    /// A table with these keys.
    Table(&'static Section),
    /// One of several tables, told apart by the key that only it has.
    OneOf(&'static [Choice]),
    /// Any of these.
    Either(&'static [Shape]),
}

/// One of several tables.
#[derive(Debug)]
pub struct Choice {
    /// The key by which it is known.
    pub mark: &'static str,
    /// Its keys, the mark among them.
    pub section: &'static Section,
}

/// One key.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Field {
    /// What it is called.
    pub key: &'static str,
    /// What it takes.
    pub shape: Shape,
    /// What it means.
    pub doc: &'static str,
    /// As the guide says it; empty where there is none to say.
    pub default: &'static str,
    /// Whether its table makes no sense without it.
    pub needed: bool,
}

/// A key that may be left out.
#[must_use]
pub const fn field(key: &'static str, shape: Shape, default: &'static str, doc: &'static str) -> Field {
    Field { key, shape, doc, default, needed: false }
}

impl Field {
    /// A key without which its table makes no sense.
    #[must_use]
    pub const fn needed(self) -> Self {
        Self { needed: true, ..self }
    }
}

/// A table with known keys.
#[derive(Debug)]
pub struct Section {
    /// What the file and the messages call it: `retry`, `breaker`.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Its keys.
    pub fields: &'static [Field],
    /// Names that exist without being in the file.
    pub presets: &'static [&'static str],
}

impl Section {
    /// The key of this name.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.key == key)
    }
}
