//! Random workflows.

use std::collections::BTreeSet;

use super::super::*;

pub(super) fn random_workflow(rng: &mut fastrand::Rng) -> Definition {
    let count = rng.usize(1..=9);
    let mut builder = Definition::builder("random");
    if rng.u8(0..4) == 0 {
        builder = builder.complete_within(s(rng.u64(20..400)));
    }
    let no_return = (rng.u8(0..6) == 0).then(|| rng.usize(0..count));
    let mut behind: BTreeSet<usize> = no_return.into_iter().collect();
    for number in 0..count {
        let mut step = random_step(number, rng);
        let is_plain = step.repeats().is_none() && step.fans_out().is_none() && step.asks_for().is_none();
        if no_return == Some(number) && !is_plain {
            step = Step::new(format!("s{number}"), "service0");
        }
        let asks = step.asks_for().is_some();
        let calls = step.wait().is_none() && step.repeats().is_none();
        let mut after = BTreeSet::new();
        for _ in 0..rng.usize(0..3).min(number) {
            after.insert(rng.usize(0..number));
        }
        let is_behind = after.iter().any(|earlier| behind.contains(earlier));
        if is_behind {
            behind.insert(number);
        }
        step = step.after(after.iter().map(|earlier| format!("s{earlier}")));
        step = step.complete_within(s(rng.u64(5..30)));
        if no_return == Some(number) && !is_behind {
            step = step.point_of_no_return();
        } else if asks {
            // It has its undo by itself.
        } else if !is_behind && !calls {
            step = step.nothing_to_undo();
        } else if !is_behind {
            step = match rng.u8(0..4) {
                0 => step.nothing_to_undo(),
                1 => step.undo(s(10)).undo_reads_output(),
                _ => step.undo(s(10)).undo_when_unknown(),
            };
        }
        if rng.u8(0..4) == 0 && step.wait().is_none() && !asks {
            step = step.callback(s(rng.u64(1..60)));
        }
        if rng.u8(0..6) == 0 && step.wait().is_none() && !asks {
            step = step.not_idempotent();
        }
        if rng.u8(0..5) == 0 {
            step = step.conditional();
        }
        step = match rng.u8(0..6) {
            0 => step.on_failure(OnFailure::Error),
            1 if step.fans_out().is_none() => step.on_failure(OnFailure::Continue),
            _ => step,
        };
        if rng.u8(0..4) == 0 && step.wait().is_none() && !asks {
            step = step.max_calls(rng.u32(1..6));
        }
        builder = builder.step(step);
    }
    built(builder)
}

/// A step that calls a service, once or in rounds, or one that waits.
fn random_step(number: usize, rng: &mut fastrand::Rng) -> Step {
    let (name, signal) = (format!("s{number}"), ["go", "stay"][rng.usize(0..2)]);
    match rng.u8(0..18) {
        16 => Step::child(name, "other"),
        17 => {
            let each = Each { at_a_time: rng.u16(1..5), tolerates: rng.u16(0..4).saturating_sub(1) };
            Step::child(name, "other").each(each)
        }
        0 => Step::wait_for(name, s(rng.u64(1..40))),
        1 => Step::wait_until(name),
        2 => Step::signal(name, signal),
        3 => Step::signal(name, signal).timeout(s(rng.u64(1..60))),
        4 => Step::signal(name, signal).timeout(s(rng.u64(1..60))).or_none(),
        5 => {
            let repeat = Repeat { every: s(rng.u64(0..9)), at_most: Some(rng.u32(1..6)) };
            Step::new(name, "service0").repeat(repeat)
        }
        6 | 7 => {
            let each = Each { at_a_time: rng.u16(1..5), tolerates: rng.u16(0..4).saturating_sub(1) };
            Step::new(name, "service1").each(each)
        }
        service => Step::new(name, format!("service{}", service % 3)),
    }
}
