//! A part that is seldom replaced while it is in use: what a window counts, when a reload changes the window.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use crate::sync::{AtomicBool, Ordering};

/// A value that callers look at all the time. As long as it was never replaced, that costs one load and no more.
pub(crate) struct Renewable<T> {
    renewed: AtomicBool,
    first: T,
    later: ArcSwapOption<T>,
}

impl<T> Renewable<T> {
    pub(crate) fn new(first: T) -> Self {
        Self { renewed: AtomicBool::new(false), first, later: ArcSwapOption::empty() }
    }

    /// Shows the value as it is now.
    #[inline]
    pub(crate) fn with<R>(&self, see: impl FnOnce(&T) -> R) -> R {
        if !self.renewed.load(Ordering::Acquire) {
            return see(&self.first);
        }
        match &*self.later.load() {
            Some(later) => see(later),
            None => see(&self.first),
        }
    }

    /// Puts another value in its place. Who looks at the old one sees it to the end.
    pub(crate) fn renew(&self, value: T) {
        self.later.store(Some(Arc::new(value)));
        self.renewed.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_value_is_shown() {
        let value = Renewable::new(1);
        assert_eq!(value.with(|value| *value), 1);
        value.renew(2);
        value.with(|held| {
            value.renew(3);
            assert_eq!(*held, 2, "who looks sees it to the end");
        });
        assert_eq!(value.with(|value| *value), 3);
    }
}
