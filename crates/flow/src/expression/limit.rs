//! How large an expression may be and how much it may do. The parser that reads them can end the whole process and cannot be
//! interrupted, so that what it gets is small; what is evaluated is counted.

/// The longest expression in bytes: a page of text, which nobody reads at once any more.
pub(crate) const MAX_SOURCE: usize = 2 * 1024;

/// The most bytes of all expressions of a file: reading them takes about a second.
pub(crate) const MAX_SOURCES: usize = 256 * 1024;

/// The deepest brackets: the parser takes some 100 KiB of stack for each in a build that is not optimised.
pub(crate) const MAX_BRACKETS: usize = 24;

/// The most names, numbers, texts and signs: what the parser makes of them is at most that deep.
pub(crate) const MAX_TOKENS: usize = 512;

/// How deep the parser itself goes.
pub(crate) const MAX_RECURSION: u16 = 48;

/// The stack of the thread that reads: some ten times what the largest expression has taken.
pub(crate) const STACK: usize = 64 << 20;

/// How deep an expression may be: it is evaluated by a function that calls itself, on a stack that others share.
pub(crate) const MAX_DEPTH: usize = 64;

/// The most parts of an expression, once what stands for a loop is written out.
pub(crate) const MAX_NODES: usize = 2_000;

/// How deep loops over lists may be in each other: a third one is a mistake, or an attack.
pub(crate) const MAX_LOOPS: usize = 2;

/// The most work of an evaluation, in parts that are evaluated: some ten milliseconds. A list of 20 000 items, the most
/// that a task can have, can be filtered with it.
pub(crate) const MAX_WORK: usize = 500_000;

/// The most bytes that an evaluation may make: four times the largest input or output.
pub(crate) const MAX_MADE: usize = 4 << 20;

/// So many bytes that are looked at or copied are as much work as one part.
pub(crate) const BYTES_A_PART: usize = 64;
