//! How a service behaves, and when: data that a service follows.

use std::time::Duration;

use serde::Serialize;

/// How a service behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mood {
    /// It answers at once.
    Well,
    /// It does what it is asked, and answers so much later.
    Slow(Duration),
    /// It does what it is asked, and breaks off without an answer: its caller cannot know.
    Mute,
    /// It breaks off, and does nothing.
    Down,
    /// It does nothing, and asks to be left alone for so long: 503 with `Retry-After`.
    Busy(Duration),
    /// It does nothing, and never answers.
    Hanging,
}

impl Mood {
    /// All of them as a person may choose them, with times that one can see.
    pub const CHOICE: [Self; 6] = [
        Self::Well,
        Self::Slow(Duration::from_millis(600)),
        Self::Mute,
        Self::Down,
        Self::Busy(Duration::from_secs(2)),
        Self::Hanging,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Well => "well",
            Self::Slow(_) => "slow",
            Self::Mute => "mute",
            Self::Down => "down",
            Self::Busy(_) => "busy",
            Self::Hanging => "hanging",
        }
    }

    /// One of [`CHOICE`](Self::CHOICE) by its name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::CHOICE.into_iter().find(|mood| mood.name() == name)
    }
}

/// Moods one after the other, each for its time; the last one stays.
///
/// ```
/// use std::time::Duration;
/// use steadfast_shop::{Mood, Script};
///
/// let second = Duration::from_secs(1);
/// let script = Script::always(Mood::Well).until(second, Mood::Down).until(3 * second, Mood::Well);
/// assert_eq!(script.mood_at(second / 2), Mood::Well);
/// assert_eq!(script.mood_at(second), Mood::Down);
/// assert_eq!(script.mood_at(10 * second), Mood::Well);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    first: Mood,
    /// From when on which mood, in the order in which they were said.
    changes: Vec<(Duration, Mood)>,
}

impl Script {
    /// One mood for ever.
    #[must_use]
    pub const fn always(mood: Mood) -> Self {
        Self { first: mood, changes: Vec::new() }
    }

    /// What was said so far until this time, and then this mood.
    #[must_use]
    pub fn until(mut self, time: Duration, then: Mood) -> Self {
        self.changes.push((time, then));
        self
    }

    /// The mood so long after the script began.
    #[must_use]
    pub fn mood_at(&self, elapsed: Duration) -> Mood {
        let passed = self.changes.iter().rev().find(|(from, _)| *from <= elapsed);
        passed.map_or(self.first, |(_, mood)| *mood)
    }
}
