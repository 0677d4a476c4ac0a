//! What we promised for the resilience library (DESIGN.md, "Numbers to reach"), held against what was measured.

use crate::case::{Role, Set};
use crate::figure::{Figure, Reach};
use crate::harness::{Measured, median_ratio};
use crate::ours::UNSHARED;

/// Every case as figures without a promise: time and allocations.
#[must_use]
pub fn plain(measured: &[Measured]) -> Vec<Figure> {
    let of = |case: &Measured| {
        let name = format!("{}: {}", case.set.title(), case.who);
        let allocations = Figure::new(format!("{name}, allocations"), case.allocations, "per call");
        [Figure::new(name, case.nanos(), "ns"), allocations]
    };
    measured.iter().flat_map(of).collect()
}

/// The promises. One that needs a peer which was not measured is left out.
#[must_use]
pub fn promises(measured: &[Measured]) -> Vec<Figure> {
    let all = Results(measured);
    let mut figures: Vec<_> = [
        all.value(Set::Pipeline, Reach::AtMost(150.0)),
        all.against_fastest(Set::Pipeline, Reach::RatioBelow(1.0)),
        all.against_fastest(Set::PipelinePending, Reach::RatioBelow(1.0)),
        all.against_fastest(Set::Breaker, Reach::RatioAtMost(1.5)),
        all.against_one_thread(Reach::RatioAtMost(1.4)),
        all.against_unshared(),
        all.against_fastest(Set::BreakerShared, Reach::RatioAtMost(0.5)),
        all.value(Set::BreakerOpen, Reach::AtMost(50.0)),
    ]
    .into_iter()
    .flatten()
    .collect();
    figures.extend(all.allocations());
    figures
}

struct Results<'a>(&'a [Measured]);

impl Results<'_> {
    fn ours(&self, set: Set) -> Option<&Measured> {
        self.0.iter().find(|case| case.set == set && case.role == Role::Ours)
    }

    /// The peer with the lowest median.
    fn fastest_peer(&self, set: Set) -> Option<&Measured> {
        let peers = self.0.iter().filter(|case| case.set == set && case.role == Role::Peer);
        peers.min_by(|one, other| one.nanos().total_cmp(&other.nanos()))
    }

    fn value(&self, set: Set, reach: Reach) -> Option<Figure> {
        let ours = self.ours(set)?;
        Some(Figure::new(set.title(), ours.nanos(), "ns").reach(reach))
    }

    fn against_fastest(&self, set: Set, reach: Reach) -> Option<Figure> {
        let (ours, theirs) = (self.ours(set)?, self.fastest_peer(set)?);
        let name = format!("{}, against the fastest peer", set.title());
        Some(against(name, ours, theirs, theirs.who, reach))
    }

    fn against_one_thread(&self, reach: Reach) -> Option<Figure> {
        let (two, one) = (self.ours(Set::BreakerShared)?, self.ours(Set::Breaker)?);
        let name = format!("{}, against one", Set::BreakerShared.title());
        Some(against(name, two, one, "ours, one thread", reach))
    }

    /// What sharing alone costs: without a promise, to read the figure before it by. Processors that share a core slow
    /// each other down also when their threads share nothing.
    fn against_unshared(&self) -> Option<Figure> {
        let shared = self.ours(Set::BreakerShared)?;
        let unshared = self.0.iter().find(|case| case.set == Set::BreakerShared && case.who == UNSHARED)?;
        let name = format!("{}, against one breaker each", Set::BreakerShared.title());
        Some(Figure::new(name, shared.nanos(), "ns").against(UNSHARED, median_ratio(shared, unshared)))
    }

    /// None on the paths that a healthy program takes all the time, nor on those it takes when the service is down.
    fn allocations(&self) -> Vec<Figure> {
        let free = [Set::Breaker, Set::BreakerOpen, Set::Pipeline, Set::PipelinePending];
        let ours = self.0.iter().filter(|case| case.role == Role::Ours && free.contains(&case.set));
        let figure = |case: &Measured| {
            let name = format!("{}: {}, allocations", case.set.title(), case.who);
            Figure::new(name, case.allocations, "per call").reach(Reach::AtMost(0.0))
        };
        ours.map(figure).collect()
    }
}

fn against(name: String, ours: &Measured, theirs: &Measured, who: &str, reach: Reach) -> Figure {
    Figure::new(name, ours.nanos(), "ns").against(who, median_ratio(ours, theirs)).reach(reach)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(set: Set, who: &'static str, role: Role, nanos: f64) -> Measured {
        Measured { set, who, role, rounds: vec![nanos; 3], allocations: 0.0 }
    }

    #[test]
    fn the_fastest_peer_is_the_one_compared_with() {
        let measured = [
            measured(Set::Breaker, "ours", Role::Ours, 40.0),
            measured(Set::Breaker, "slow", Role::Peer, 90.0),
            measured(Set::Breaker, "fast", Role::Peer, 20.0),
            measured(Set::Breaker, "ours, another way", Role::Other, 1.0),
        ];
        let figures = promises(&measured);
        let breaker = figures.iter().find(|figure| figure.ratio.is_some()).unwrap();
        assert_eq!((breaker.compared_to.as_deref(), breaker.ratio), (Some("fast"), Some(2.0)));
        assert_eq!(breaker.ok(), Some(false));
    }

    #[test]
    fn without_peers_only_our_own_promises_are_held() {
        let measured = [measured(Set::Pipeline, "ours", Role::Ours, 120.0)];
        let names: Vec<_> = promises(&measured).into_iter().map(|figure| figure.name).collect();
        assert_eq!(names, ["pipeline, ready at once", "pipeline, ready at once: ours, allocations"]);
    }

    #[test]
    fn a_single_allocation_in_a_thousand_calls_is_a_miss() {
        let mut one = measured(Set::Pipeline, "ours", Role::Ours, 120.0);
        one.allocations = 0.001;
        assert_eq!(promises(&[one]).last().and_then(Figure::ok), Some(false));
    }
}
