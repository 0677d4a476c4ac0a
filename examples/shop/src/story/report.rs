//! What came of a story, in figures.

use std::fmt;

use serde::Serialize;

/// What came of a story. `ok` if everything was as promised; otherwise `failed` says what was not.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Whether everything was as promised.
    pub ok: bool,
    /// What was not, in words.
    pub failed: Vec<String>,
    /// The seed that replays the traffic.
    pub seed: u64,
    /// How long it took, until the last order had ended.
    pub took_ms: u64,
    /// What became of the orders.
    pub orders: OrderFigures,
    /// Effects that should be there and are not, and those that are there more than once.
    pub effects: EffectFigures,
    /// The outage of payments.
    pub outage: OutageFigures,
    /// How payments was met when it was back.
    pub recovery: RecoveryFigures,
}

/// What became of the orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrderFigures {
    /// Orders that the story has placed.
    pub placed: usize,
    /// Of these: they completed.
    pub completed: usize,
    /// They were undone.
    pub undone: usize,
    /// They have not ended, or are not in the table.
    pub not_ended: usize,
    /// An operator has repaired them, and they completed.
    pub repaired: usize,
}

/// What the services' ledgers say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EffectFigures {
    /// Reservations, charges and shipments that stand.
    pub standing: usize,
    /// Those that were taken back.
    pub taken_back: usize,
    /// Those that an order should have and does not.
    pub lost: usize,
    /// Those that were made more than once, or stand though their order was undone.
    pub doubled: usize,
    /// Requests that came again, and were answered as before.
    pub answered_as_before: u64,
}

/// The outage of payments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OutageFigures {
    /// How long it was away.
    pub lasted_ms: u64,
    /// Calls that reached it meanwhile.
    pub calls: usize,
    /// The most that were promised: those that open the circuit, those under way, and probes.
    pub most_calls: u64,
    /// Orders that waited when it was back.
    pub waiting: usize,
}

/// How payments was met when it was back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RecoveryFigures {
    /// Calls in a second before the outage, as a mean.
    pub steady_per_second: f64,
    /// The most calls in any 100 ms before the outage.
    pub peak_before: usize,
    /// The most calls in any 100 ms from the return until all that waited had ended.
    pub peak_after: usize,
    /// That peak, as a multiple of the mean before: 1.25 is aimed at.
    pub peak_ratio: f64,
    /// From the return until the last order that had waited had ended.
    pub drained_ms: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { orders, effects, outage, recovery, .. } = self;
        let seconds = |millis: u64| std::time::Duration::from_millis(millis).as_secs_f64();
        writeln!(
            f,
            "orders     {} placed: {} completed, {} undone, {} repaired by the operator, {} not ended",
            orders.placed, orders.completed, orders.undone, orders.repaired, orders.not_ended
        )?;
        writeln!(
            f,
            "effects    {} stand, {} taken back, {} requests answered as before; {} lost, {} doubled",
            effects.standing, effects.taken_back, effects.answered_as_before, effects.lost, effects.doubled
        )?;
        writeln!(
            f,
            "outage     {:.1} s: {} calls of at most {}; {} orders waited",
            seconds(outage.lasted_ms),
            outage.calls,
            outage.most_calls,
            outage.waiting
        )?;
        writeln!(
            f,
            "recovery   {:.1} calls a second before; at most {} in 100 ms after it ({:.2} times the mean; {} before); drained in {:.1} s",
            recovery.steady_per_second,
            recovery.peak_after,
            recovery.peak_ratio,
            recovery.peak_before,
            seconds(recovery.drained_ms)
        )?;
        for words in &self.failed {
            writeln!(f, "NOT WELL   {words}")?;
        }
        write!(f, "{}", if self.ok { "all is well" } else { "not all is well: see above" })
    }
}
