//! When what happens in the story: shares of its length, as data.

use std::ops::Range;
use std::time::Duration;

use steadfast_resilience::random::Rng;

use crate::mood::{Mood, Script};
use crate::order::{BLESSED, CURSED, GOOD_CARD, GOODS, Wanted};
use crate::service::Kind;

/// The shortest story: circuits are open for a second or two, and recover over some seconds, whatever its length.
pub const SHORTEST: Duration = Duration::from_secs(10);

/// How much slower the slow service is: well below the time limit of a call.
const SLOWER: Duration = Duration::from_millis(250);
/// How long the service that dies still does what it is asked, and cannot say so: long enough for a few orders, so that
/// charges are made of which nobody knows.
const MUTE: Duration = Duration::from_millis(300);

/// Traffic after the outage, as a share of that before it. What waited is released at little more than the rate before; with as
/// many new orders it would take as long again as the outage for each fifth of it.
const EASED: f64 = 0.25;

/// The times of the story, in thousandths of its length.
const SLOW: Range<u32> = 120..220;
const DECLINED: [u32; 3] = [80, 160, 700];
const POISONED: u32 = 100;
const OUTAGE: Range<u32> = 300..500;
const OPERATOR: u32 = 620;
const CLOSES: u32 = 720;

/// When what happens, counted from the beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// When one service is slow.
    pub slow: Range<Duration>,
    /// When payments is away.
    pub outage: Range<Duration>,
    /// When the operator begins to look after what has failed.
    pub operator: Duration,
    /// When the last order comes.
    pub closes: Duration,
    /// When it should be over.
    pub lasts: Duration,
}

impl Plan {
    /// The plan of a story of this length.
    #[must_use]
    pub fn of(lasts: Duration) -> Self {
        let at = |thousandths: u32| lasts * thousandths / 1_000;
        Self {
            slow: at(SLOW.start)..at(SLOW.end),
            outage: at(OUTAGE.start)..at(OUTAGE.end),
            operator: at(OPERATOR),
            closes: at(CLOSES),
            lasts,
        }
    }

    /// How a service behaves meanwhile.
    #[must_use]
    pub fn script(&self, kind: Kind) -> Script {
        let well = Script::always(Mood::Well);
        match kind {
            Kind::Inventory => {
                well.until(self.slow.start, Mood::Slow(SLOWER)).until(self.slow.end, Mood::Well)
            }
            Kind::Payments => {
                let dead = (self.outage.start + MUTE).min(self.outage.end);
                well.until(self.outage.start, Mood::Mute)
                    .until(dead, Mood::Down)
                    .until(self.outage.end, Mood::Well)
            }
            Kind::Shipping => well,
        }
    }

    /// The orders that come, and when: so many in a second until payments is back, a quarter of that afterwards. The same for the
    /// same seed.
    #[must_use]
    pub fn orders(&self, per_second: u32, seed: u64) -> Vec<(Duration, Wanted)> {
        let mut rng = Rng::seeded(seed);
        let (mut at, mut orders) = (Duration::ZERO, Vec::new());
        let steady = Duration::from_secs(1) / per_second.max(1);
        loop {
            let gap = if at < self.outage.end { steady } else { steady.div_f64(EASED) };
            at += rng.between(gap / 2, gap * 3 / 2);
            if at >= self.closes {
                break;
            }
            orders.push((at, anything(&mut rng)));
        }
        let odd = DECLINED.map(|at| (at, Wanted::one("chair").declined()));
        let odd = odd.into_iter().chain([(POISONED, Wanted::one(CURSED))]);
        orders.extend(odd.map(|(at, wanted)| (self.lasts * at / 1_000, wanted)));
        orders.sort_by_key(|(at, _)| *at);
        orders
    }

    /// How many of the orders are declined, and how many are poisoned.
    #[must_use]
    pub const fn odd_orders() -> (usize, usize) {
        (DECLINED.len(), 1)
    }
}

/// One to three of something that is not cursed.
fn anything(rng: &mut Rng) -> Wanted {
    let goods: Vec<_> = GOODS.iter().map(|(name, _)| *name).filter(|name| *name != CURSED).collect();
    let sku = pick(rng, &goods).unwrap_or(BLESSED);
    let quantity = pick(rng, &[1, 2, 3]).unwrap_or(1);
    Wanted::new(sku, quantity, GOOD_CARD).unwrap_or_else(|_| Wanted::one(sku))
}

/// One of them, each as likely as the others.
fn pick<T: Copy>(rng: &mut Rng, among: &[T]) -> Option<T> {
    let share = rng.unit();
    let place = (1_u32..).zip(among).find(|(nth, _)| share * among.len() as f64 <= f64::from(*nth));
    place.map(|(_, chosen)| *chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_has_the_same_orders() {
        let plan = Plan::of(Duration::from_secs(60));
        assert_eq!(plan.orders(40, 7), plan.orders(40, 7));
        assert_ne!(plan.orders(40, 7), plan.orders(40, 8));
    }

    #[test]
    fn as_many_orders_come_as_were_asked_for_and_the_odd_ones_among_them() {
        let plan = Plan::of(Duration::from_secs(60));
        let orders = plan.orders(40, 7);
        let before = orders.iter().filter(|(at, _)| *at < Duration::from_secs(30)).count();
        assert!((1_140..=1_260).contains(&before), "{before} in 30 s");
        let after = orders.len() - before;
        assert!((110..=160).contains(&after), "{after} in 13 s at a quarter");
        let of = |wanted: &Wanted| orders.iter().filter(|(_, other)| other == wanted).count();
        let (declined, poisoned) = Plan::odd_orders();
        assert_eq!(of(&Wanted::one("chair").declined()), declined);
        assert_eq!(of(&Wanted::one(CURSED)), poisoned);
        assert!(orders.iter().all(|(at, _)| *at < plan.closes));
        assert!(orders.is_sorted_by_key(|(at, _)| *at));
    }

    #[test]
    fn payments_is_away_for_a_fifth_of_the_time() {
        let plan = Plan::of(Duration::from_secs(60));
        let script = plan.script(Kind::Payments);
        let away = |tenth: u32| script.mood_at(Duration::from_millis(100) * tenth) != Mood::Well;
        assert_eq!((0..600).filter(|tenth| away(*tenth)).count(), 120);
        assert_eq!(script.mood_at(plan.outage.start), Mood::Mute);
        assert_eq!(script.mood_at(plan.outage.start + MUTE), Mood::Down);
    }
}
