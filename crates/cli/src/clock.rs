//! The only module of this binary that asks the time.

/// The time on the wall, for what is shown beside an age.
pub(crate) fn wall() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
