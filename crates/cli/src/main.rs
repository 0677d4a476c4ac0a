//! The `steadfast` binary.
fn main() {}
