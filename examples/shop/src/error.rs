//! What can go wrong in the shop.

use std::error::Error as StdError;
use std::io;
use std::net::SocketAddr;

use steadfast::rusqlite;

/// What went wrong, by cause. The words are this layer's; the causes below it are its sources.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A port could not be had.
    #[error("cannot listen on {address}: give another port, or 0 for any that is free")]
    Listen {
        /// Where it should have been.
        address: SocketAddr,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The orders' database.
    #[error(
        "the orders' database could not be used: is the engine's file there, and is there room on the disk?"
    )]
    Database(#[from] rusqlite::Error),
    /// An order that makes no sense.
    #[error("the order makes no sense: {0}")]
    BadOrder(String),
    /// An order's task could not be handed in; the order was not written either.
    #[error("the order was not written, since its task could not be handed in")]
    HandIn(#[source] Box<dyn StdError + Send + Sync>),
    /// Whatever runs the workflow.
    #[error("cannot {doing}")]
    Engine {
        /// What was asked of it.
        doing: &'static str,
        /// Why not.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// A story that would be too short to be told.
    #[error("the story needs at least {least} s, and {given} s were given")]
    TooShort {
        /// The shortest one.
        least: u64,
        /// What was asked for.
        given: u64,
    },
    /// The work was broken off: the program is ending.
    #[error("the shop is closing")]
    Closing,
}

impl Error {
    /// Whatever runs the workflow could not do this.
    pub fn engine(doing: &'static str, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Engine { doing, source: source.into() }
    }

    /// The words of all layers in one line, for people.
    #[must_use]
    pub fn whole(&self) -> String {
        let mut words = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            words.push_str(": ");
            words.push_str(&error.to_string());
            cause = error.source();
        }
        words
    }
}
