//! Tasks whose time is over, removed a few at a time.
//!
//! Tasks are walked in the order of their ids, which begin with the time of submission, up to those that are too young to be over.
//! The next walk begins where the last one ended. Those that were left behind are walked again when the first of them can be over.

use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::Time;
use steadfast_store::{Cleaned, Error, Expired, Store, TaskId};

use crate::settings::Settings;
use crate::shared::Shared;

/// How long after its start a node begins: whoever starts has other things to do.
const FIRST_AFTER: Duration = Duration::from_secs(300);
/// How often it looks: what is kept for days may stay an hour longer, and an idle node stays idle.
const LOOKS_EVERY: Duration = Duration::from_secs(3_600);
/// Those that were left are not walked again before this part of `keep` has passed, however soon the first is over.
const PART_OF_KEEP: u32 = 30;
/// How many are removed at first, at least, and at most: the least is a write that no disk minds, the most what takes a reader as long
/// to find as the writer to remove.
const FIRST: usize = 32;
const FEWEST: usize = 8;
const MOST: usize = 512;
/// For so long one write is to keep others waiting, beside its sync: two thirds of the four milliseconds after which a store stops by itself.
const AIM: Duration = Duration::from_micros(2_700);
/// The pause after each, in what it took: four fifths of the disk's time are for those who work. What was kept for days
/// is in no hurry.
const PAUSES: u32 = 4;
/// The least pause after each: whoever came meanwhile goes first.
const LEAST_PAUSE: Duration = Duration::from_millis(2);

/// Looks again and again, for as long as the node lives.
pub(crate) async fn watch<S: Store>(shared: Arc<Shared<S>>) {
    let mut walked = Walked::default();
    shared.clock.sleep(FIRST_AFTER).await;
    loop {
        let (now, from) = (shared.now(), walked.from(shared.now()));
        match sweep(&shared, from).await {
            Ok(swept) => {
                walked = walked.after(&swept, from, now, &shared.settings);
                if swept.removed > 0 {
                    tracing::info!(
                        removed = swept.removed,
                        looked_at = swept.looked_at,
                        "tasks whose time is over were removed"
                    );
                }
            }
            Err(error) => shared.store_failed("tasks whose time is over could not be removed", &error),
        }
        shared.clock.sleep(LOOKS_EVERY).await;
    }
}

/// What one walk has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Swept {
    pub(super) looked_at: u64,
    pub(super) removed: u64,
    /// How long it is until the first of those is over that were left.
    next_in: Option<Duration>,
    /// The last id that could be over.
    until: Option<TaskId>,
}

/// Removes what is over, behind an id.
pub(super) async fn sweep<S: Store>(shared: &Shared<S>, from: Option<TaskId>) -> Result<Swept, Error> {
    let expired = expired(&shared.settings, shared.now());
    let until = TaskId::first_at(expired.before).as_u128().checked_sub(1).map(TaskId::from_u128);
    let mut swept = Swept { until, ..Swept::default() };
    let (mut behind, mut most) = (from, FIRST);
    loop {
        let began = shared.clock.now();
        let cleaned = shared.store.clean_up(expired, behind, most).await?;
        swept.looked_at += cleaned.looked_at;
        swept.removed += cleaned.removed;
        swept.next_in = swept.next_in.into_iter().chain(cleaned.next_in).min();
        behind = cleaned.behind;
        if behind.is_none() {
            return Ok(swept);
        }
        most = next_size(most, &cleaned);
        shared.clock.sleep((PAUSES * shared.clock.now().since(began)).max(LEAST_PAUSE)).await;
    }
}

/// What is over at this time.
fn expired(settings: &Settings, now: Time) -> Expired {
    let ago = |time: Duration| {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Time::from_millis(now.as_millis().saturating_sub(millis))
    };
    Expired { before: ago(settings.keep), keys_before: ago(settings.keep.max(settings.keep_keys)) }
}

/// How many are to be removed next, by how long the last ones took; no more than twice as many.
fn next_size(most: usize, cleaned: &Cleaned) -> usize {
    let removed = usize::try_from(cleaned.removed).unwrap_or(MOST);
    if removed == 0 {
        return most;
    }
    let took = cleaned.took.as_nanos().max(1);
    let fits = AIM.as_nanos() * u128::from(cleaned.removed) / took;
    usize::try_from(fits).unwrap_or(MOST).min(2 * most).clamp(FEWEST, MOST)
}

/// How far tasks were walked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Walked {
    /// Up to this id.
    until: Option<TaskId>,
    /// From then on those that were left may be over.
    again_at: Time,
}

impl Walked {
    /// Behind which id the next walk begins; `None` for all.
    fn from(&self, now: Time) -> Option<TaskId> {
        if now >= self.again_at { None } else { self.until }
    }

    /// After a walk that began there and then. What was open then is not over before it was kept for all of its time.
    fn after(self, swept: &Swept, from: Option<TaskId>, now: Time, settings: &Settings) -> Self {
        let next_in = swept.next_in.unwrap_or(Duration::MAX).min(settings.keep);
        let again_at = now + next_in.max(settings.keep / PART_OF_KEEP).max(LOOKS_EVERY);
        let earlier = from.map(|_| self.again_at);
        Self { until: swept.until, again_at: earlier.into_iter().chain([again_at]).min().unwrap_or(again_at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(days: u64) -> Duration {
        Duration::from_secs(days * 24 * 3_600)
    }

    #[test]
    fn a_batch_is_as_large_as_its_time_allows() {
        let cleaned =
            |removed, micros| Cleaned { removed, took: Duration::from_micros(micros), ..Cleaned::default() };
        for (most, removed, micros, next) in [
            (32, 32, 10, 64),
            (64, 64, 2_700, 64),
            (64, 64, 5_400, 32),
            (64, 16, 10_000, FEWEST),
            (512, 512, 100, MOST),
            (64, 0, 0, 64),
        ] {
            assert_eq!(next_size(most, &cleaned(removed, micros)), next, "{most} {removed} {micros}");
        }
    }

    #[test]
    fn keys_are_kept_for_the_longer_of_the_two_times() {
        let now = Time::from_millis(1_000_000_000_000);
        let mut settings = Settings::default();
        (settings.keep, settings.keep_keys) = (days(2), days(1));
        let over = expired(&settings, now);
        assert_eq!((now.since(over.before), now.since(over.keys_before)), (days(2), days(2)));
        settings.keep_keys = days(3);
        assert_eq!(now.since(expired(&settings, now).keys_before), days(3));
        settings.keep = Duration::MAX;
        assert_eq!(expired(&settings, now).before, Time::from_millis(0), "for ever");
    }

    #[test]
    fn what_was_walked_is_not_walked_again_before_something_of_it_can_be_over() {
        let (now, settings) = (Time::from_millis(1_000_000_000_000), Settings::default());
        let hour = Duration::from_secs(3_600);
        let (a, b) = (TaskId::from_u128(7), TaskId::from_u128(9));
        let swept = |until, next_in| Swept { until: Some(until), next_in, ..Swept::default() };
        assert_eq!(Walked::default().from(now), None, "all of it at first");
        let first = Walked::default().after(&swept(a, None), None, now, &settings);
        assert_eq!(first.from(now + hour), Some(a), "only what came since");
        assert_eq!(first.from(now + days(30)), None, "what was open then can be over now");
        let soon = first.after(&swept(b, Some(days(3))), Some(a), now + hour, &settings);
        assert_eq!(soon.from(now + days(2)), Some(b));
        assert_eq!(soon.from(now + days(3) + hour), None);
        let at_once = first.after(&swept(b, Some(hour)), Some(a), now, &settings);
        assert_eq!(at_once.from(now + hour), Some(b), "not more than thirty times while one is kept");
        assert_eq!(at_once.from(now + days(1)), None);
        let later = soon.after(&swept(b, None), Some(b), now + days(1), &settings);
        assert_eq!(later.again_at, soon.again_at, "what was left before is not forgotten");
    }
}
