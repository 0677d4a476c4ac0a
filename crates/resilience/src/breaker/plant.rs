//! Bugs planted on purpose, in test builds only: a test that does not turn red with them tests nothing.

/// Which check is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plant {
    None,
    /// Half-open admits any number of probes.
    NoPermitCheck,
    /// Results of an earlier generation count.
    NoGenerationCheck,
}
