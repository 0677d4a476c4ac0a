//! Handles of metrics, made once for each recorder.
//!
//! A recorder is known by its address. Programs have one, installed before or after the first call: there is a place for
//! each of the two, *no recorder* and *the recorder*, that costs a load and a comparison. Tests that install more, thread
//! by thread, go through a third place.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use metrics::Recorder;

/// What is made for one recorder.
struct Made<H> {
    recorder: usize,
    handles: H,
}

/// Handles for the recorder in force.
pub(crate) struct Cached<H> {
    places: [OnceLock<Made<H>>; 2],
    later: ArcSwapOption<Made<H>>,
}

impl<H> Default for Cached<H> {
    fn default() -> Self {
        Self { places: [OnceLock::new(), OnceLock::new()], later: ArcSwapOption::empty() }
    }
}

impl<H> std::fmt::Debug for Cached<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cached").finish_non_exhaustive()
    }
}

impl<H> Cached<H> {
    /// Shows the handles of the recorder in force, and makes them if need be.
    #[inline]
    pub(super) fn with(&self, make: impl FnOnce(&dyn Recorder) -> H, see: impl FnOnce(&H)) {
        metrics::with_recorder(|recorder| {
            let address = address(recorder);
            for place in &self.places {
                match place.get() {
                    Some(made) if made.recorder == address => return see(&made.handles),
                    Some(_) => {}
                    None => break,
                }
            }
            self.with_made(recorder, address, make, see);
        });
    }

    #[cold]
    fn with_made(
        &self,
        recorder: &dyn Recorder,
        address: usize,
        make: impl FnOnce(&dyn Recorder) -> H,
        see: impl FnOnce(&H),
    ) {
        if let Some(made) = &*self.later.load()
            && made.recorder == address
        {
            return see(&made.handles);
        }
        // Two threads may both make handles: those of one recorder lead to the same metrics.
        let mut made = Made { recorder: address, handles: make(recorder) };
        for place in &self.places {
            match place.set(made) {
                Ok(()) => return place.get().map_or((), |made| see(&made.handles)),
                Err(back) => made = back,
            }
        }
        let made = Arc::new(made);
        self.later.store(Some(Arc::clone(&made)));
        see(&made.handles);
    }
}

fn address(recorder: &dyn Recorder) -> usize {
    std::ptr::from_ref(recorder).cast::<()>().addr()
}
