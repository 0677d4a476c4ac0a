//! What can be wrong with a store.

use std::error::Error as StdError;

/// A store that could not do what it was asked. What became of the batch is not known: read its tasks again.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: Kind,
    message: String,
    #[source]
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// Which sort of trouble a store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// It does not answer, or has lost its connection: it may later.
    Unavailable,
    /// There is no room left.
    Full,
    /// It may not be written.
    ReadOnly,
    /// What it holds contradicts itself.
    Corrupt,
    /// It was made by a newer version.
    Newer,
    /// Somebody else holds it.
    Owned,
    /// A batch that no store takes: an item beyond its limit.
    TooLarge,
    /// A connection of the caller's own that a submission cannot be handed in by, or a submission that it cannot be.
    Unfit,
    /// A file of that name is there already.
    Exists,
    /// This store cannot do such a thing.
    Unsupported,
}

impl Error {
    /// An error of this kind, in words that say what to do.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// With what caused it.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Which sort of trouble.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the same may work later without anybody doing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.kind == Kind::Unavailable
    }
}
