//! A bar on stderr for what takes long. There is none where stderr is no terminal.

use std::io::{IsTerminal as _, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often the time on the bar goes on.
const TICK: Duration = Duration::from_millis(200);
/// The bar, how much of it is done, the time, and what goes on.
const FORM: &str = "{elapsed:>4} [{bar:24}] {pos}/{len} {wide_msg}";

/// A bar, which is gone when dropped.
#[derive(Debug)]
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar of this length.
    pub(crate) fn new(length: u64) -> Self {
        let terminal = stderr().is_terminal();
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(length), target);
        if let Ok(style) = ProgressStyle::with_template(FORM) {
            bar.set_style(style.progress_chars("=> "));
        }
        if terminal {
            bar.enable_steady_tick(TICK);
        }
        Self(bar)
    }

    /// So much is done, and this goes on.
    pub(crate) fn set(&self, done: u64, length: u64, message: &str) {
        self.0.set_length(length);
        self.0.set_position(done);
        self.0.set_message(super::plain(message));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
