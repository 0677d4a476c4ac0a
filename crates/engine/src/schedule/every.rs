//! `every 15m`.

use std::time::Duration;

use super::BadExpression;

/// The shortest interval: what is more frequent than this is no schedule but a loop.
const SHORTEST: u64 = 1;
/// The longest, in seconds: beyond a year it is a date.
const LONGEST: u64 = 366 * 24 * 3600;

pub(super) fn read(text: &str) -> Result<Duration, BadExpression> {
    let begins = text.to_ascii_lowercase().find("every").unwrap_or(0) + "every".len();
    let rest = text.get(begins..).unwrap_or_default();
    let at = begins + (rest.len() - rest.trim_start().len());
    let bad = |at, message: String| BadExpression::new(text, at, message);
    let (mut seconds, mut place, mut digits) = (0_u64, at, String::new());
    for (here, letter) in rest.trim_end().char_indices().map(|(here, letter)| (begins + here, letter)) {
        let unit = match letter.to_ascii_lowercase() {
            '0'..='9' => {
                place = if digits.is_empty() { here } else { place };
                digits.push(letter);
                continue;
            }
            ' ' | '\t' if digits.is_empty() => continue,
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 24 * 3600,
            other => {
                let words = format!("`{other}` is no unit: expected `s`, `m`, `h` or `d`, as in `every 15m`");
                return Err(bad(here, words));
            }
        };
        let count = digits.parse::<u64>().map_err(|_| {
            bad(here, "expected a whole number before the unit, as in `every 15m`".to_owned())
        })?;
        seconds = seconds.saturating_add(count.saturating_mul(unit));
        digits.clear();
    }
    if !digits.is_empty() || rest.trim().is_empty() {
        return Err(bad(
            text.trim_end().len(),
            "expected a number with its unit, as in `every 15m`".to_owned(),
        ));
    }
    match seconds {
        SHORTEST..=LONGEST => Ok(Duration::from_secs(seconds)),
        _ => Err(bad(at, "expected an interval of at least a second and at most a year".to_owned())),
    }
}
