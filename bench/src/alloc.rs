//! Counts allocations by thread, so that what other threads do disturbs nothing.
//!
//! A binary or test that wants counts says `#[global_allocator] static COUNTING: Counting = Counting;`.
#![expect(
    unsafe_code,
    reason = "`GlobalAlloc` is an unsafe trait, and there is no other way to see every allocation"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with a count of what the calling thread asks of it.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

thread_local! {
    // Without a destructor, so that it can be used as long as the thread allocates.
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<i64> = const { Cell::new(0) };
}

/// Allocations that this thread has made so far; growing a block counts as one.
#[must_use]
pub fn allocations() -> u64 {
    COUNT.get()
}

/// Bytes that this thread has taken and not given back; negative when it frees what others took.
#[must_use]
pub fn bytes() -> i64 {
    BYTES.get()
}

fn taken(bytes: usize) {
    COUNT.set(COUNT.get() + 1);
    moved(bytes, 1);
}

fn moved(bytes: usize, sign: i64) {
    // No layout is larger than `isize::MAX`.
    BYTES.set(BYTES.get() + sign * i64::try_from(bytes).unwrap_or(0));
}

// SAFETY: every call is handed on to the system's allocator with its arguments unchanged; the counts are plain cells
// of this thread, which neither allocate nor panic.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller's promise about `layout` is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller's promise about `layout` is handed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        moved(layout.size(), -1);
        // SAFETY: the caller's promise about `block` and `layout` is handed on.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        moved(layout.size(), -1);
        taken(size);
        // SAFETY: the caller's promise about `block`, `layout` and `size` is handed on.
        unsafe { System.realloc(block, layout, size) }
    }
}
