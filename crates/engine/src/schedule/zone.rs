//! What has to be known of a time zone.

/// A time zone. Where its rules come from is no business of this crate: a database of zones is data from outside.
pub trait Zone {
    /// The span of constant offset to which a second belongs, counted from 1970 in UTC.
    fn span(&self, second: i64) -> Span;
}

/// A time in which the offset from UTC does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// What is added to UTC, in seconds.
    pub offset: i64,
    /// Its first second, and the offset before; `None` if it has always been so.
    pub begins: Option<(i64, i64)>,
    /// The second at which the next one begins; `None` if it stays so.
    pub ends: Option<i64>,
}

impl Span {
    pub(super) fn contains(&self, second: i64) -> bool {
        self.begins.is_none_or(|(begins, _)| begins <= second) && self.ends.is_none_or(|ends| second < ends)
    }
}

/// The zone without changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Utc;

impl Zone for Utc {
    fn span(&self, _: i64) -> Span {
        Span { offset: 0, begins: None, ends: None }
    }
}

impl<Z: Zone + ?Sized> Zone for &Z {
    fn span(&self, second: i64) -> Span {
        (**self).span(second)
    }
}
