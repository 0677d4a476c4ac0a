//! Codes of what the server itself refuses. What the engine refuses has the engine's.

use std::fmt;

/// Identifies one sort of problem with a request; `docs/errors/CODE.md` explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// SF540: a body that is no JSON, or does not say what it should.
    BadBody,
    /// SF541: a part of the address, or what is behind its `?`, that makes no sense.
    BadQuery,
    /// SF542: an address at which there is nothing.
    NoRoute,
    /// SF543: a method that the address does not have.
    NoMethod,
    /// SF544: a body that is too large.
    BodyTooLarge,
    /// SF545: a body in a language that is not read there.
    WrongMediaType,
    /// SF546: too many requests at a time.
    Overloaded,
    /// SF547: a body that came too slowly, or an answer that took too long.
    TooSlow,
    /// SF548: a service that does not exist.
    UnknownService,
    /// SF549: a request that contradicts itself, or what is so now.
    Conflict,
    /// SF550: a fault of the server.
    Internal,
    /// SF551: an address to listen at that others could reach.
    NotLoopback,
    /// SF552: a cursor that was not given out for this list.
    BadCursor,
    /// SF553: the server does not take work now.
    NotReady,
    /// SF554: a request under another name, or of a page of another site.
    NotOurs,
}

impl Code {
    /// All codes, for the check that each has a page.
    pub const ALL: [Self; 15] = [
        Self::BadBody,
        Self::BadQuery,
        Self::NoRoute,
        Self::NoMethod,
        Self::BodyTooLarge,
        Self::WrongMediaType,
        Self::Overloaded,
        Self::TooSlow,
        Self::UnknownService,
        Self::Conflict,
        Self::Internal,
        Self::NotLoopback,
        Self::BadCursor,
        Self::NotReady,
        Self::NotOurs,
    ];

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadBody => "SF540",
            Self::BadQuery => "SF541",
            Self::NoRoute => "SF542",
            Self::NoMethod => "SF543",
            Self::BodyTooLarge => "SF544",
            Self::WrongMediaType => "SF545",
            Self::Overloaded => "SF546",
            Self::TooSlow => "SF547",
            Self::UnknownService => "SF548",
            Self::Conflict => "SF549",
            Self::Internal => "SF550",
            Self::NotLoopback => "SF551",
            Self::BadCursor => "SF552",
            Self::NotReady => "SF553",
            Self::NotOurs => "SF554",
        }
    }

    /// In a few words that are always the same.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::BadBody => "The body makes no sense",
            Self::BadQuery => "The address makes no sense",
            Self::NoRoute => "There is nothing at this address",
            Self::NoMethod => "This address does not have that method",
            Self::BodyTooLarge => "The body is too large",
            Self::WrongMediaType => "The body is in a language that is not read here",
            Self::Overloaded => "Too many requests at a time",
            Self::TooSlow => "It took too long",
            Self::UnknownService => "There is no such service",
            Self::Conflict => "The request contradicts itself, or what is so now",
            Self::Internal => "A fault of the server",
            Self::NotLoopback => "Others could reach this address",
            Self::BadCursor => "The cursor is none of this list",
            Self::NotReady => "The server does not take work now",
            Self::NotOurs => "The request is not meant for this server",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page_that_says_what_to_do() {
        let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        let index = std::fs::read_to_string(pages.join("README.md")).unwrap();
        for code in Code::ALL {
            let page = std::fs::read_to_string(pages.join(format!("{code}.md")));
            let page = page.unwrap_or_else(|_| panic!("docs/errors/{code}.md is missing"));
            for part in [format!("# {code} "), "## Why it happens".into(), "## What to do".into()] {
                assert!(page.contains(&part), "{code}: no `{part}`");
            }
            assert!(index.contains(&format!("[{code}]({code}.md)")), "{code} is not in the index");
        }
    }
}
