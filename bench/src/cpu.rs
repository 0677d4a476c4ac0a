//! Which processor a thread runs on. Two threads that are to meet must not take turns on one processor: there a
//! shared breaker looks as cheap as one's own.

/// Keeps the calling thread on the `nth` of the processors that this program may use, where the system can do that
/// and there are that many.
#[cfg(target_os = "linux")]
pub(crate) fn pin(nth: usize) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let Ok(allowed) = sched_getaffinity(None) else { return };
    if let Some(processor) = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).nth(nth) {
        let mut one = CpuSet::new();
        one.set(processor);
        // Unpinned is worse but not wrong.
        let _ = sched_setaffinity(None, &one);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn pin(_: usize) {}
