//! A pipeline's settings, held by one call from its beginning to its end: what a reload changes meanwhile is for later
//! calls.

use std::ops::Deref;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::Inner;

/// Where a pipeline has its settings.
#[derive(Clone)]
pub(super) enum Source {
    /// Built by code: they never change.
    Fixed(Arc<Inner>),
    /// From a policy file: a reload puts others in their place.
    #[cfg_attr(not(feature = "policy"), expect(dead_code, reason = "made by policy files"))]
    Live(Arc<ArcSwap<Inner>>),
}

impl Source {
    /// The settings of a call that begins now. Those that never change are only borrowed, which costs nothing.
    #[inline]
    pub(super) fn hold(&self) -> Held<'_> {
        match self {
            Self::Fixed(inner) => Held::Borrowed(inner),
            Self::Live(live) => Held::Owned(live.load_full()),
        }
    }

    #[cfg(feature = "tower")]
    pub(super) fn share(&self) -> Arc<Inner> {
        match self {
            Self::Fixed(inner) => Arc::clone(inner),
            Self::Live(live) => live.load_full(),
        }
    }
}

/// The settings of one call.
pub(crate) enum Held<'p> {
    Borrowed(&'p Inner),
    Owned(Arc<Inner>),
}

impl Deref for Held<'_> {
    type Target = Inner;

    #[inline]
    fn deref(&self) -> &Inner {
        match self {
            Self::Borrowed(inner) => inner,
            Self::Owned(inner) => inner,
        }
    }
}
