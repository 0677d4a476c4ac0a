//! The peers: the crates one would take instead, each with its defaults and called as its documentation says.

#[cfg(feature = "peers")]
mod backon;
#[cfg(feature = "peers")]
mod failsafe;
#[cfg(feature = "peers")]
mod recloser;
#[cfg(feature = "peers")]
mod seatbelt;
#[cfg(feature = "peers")]
mod tokio_timeout;
#[cfg(feature = "peers")]
mod tower_resilience;

use anyhow::Result;

use crate::case::Case;

/// Who is measured beside us.
pub const NAMES: [&str; 5] = ["seatbelt", "tower-resilience", "recloser", "failsafe", "backon"];

/// Those that this build cannot measure.
#[must_use]
pub fn missing() -> &'static [&'static str] {
    if cfg!(feature = "peers") { &[] } else { &NAMES }
}

/// The peers' cases.
///
/// # Errors
/// Settings that do not build.
#[cfg(feature = "peers")]
pub fn cases() -> Result<Vec<Case>> {
    let all = [
        recloser::cases()?,
        failsafe::cases()?,
        seatbelt::cases()?,
        tower_resilience::cases()?,
        backon::cases()?,
        tokio_timeout::cases()?,
    ];
    Ok(all.into_iter().flatten().collect())
}

/// The peers' cases: none in this build, see [`missing`].
///
/// # Errors
/// None.
#[cfg(not(feature = "peers"))]
pub fn cases() -> Result<Vec<Case>> {
    Ok(Vec::new())
}
