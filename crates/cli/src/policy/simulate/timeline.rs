//! One call's attempts on a line.

use std::time::Duration;

use super::text::seconds;

const WIDTH: usize = 86;

/// Attempts as `x` on a line from the first to the last; those that fall together are counted.
pub(super) fn draw(attempts: &[Duration]) -> String {
    let end = attempts.last().copied().unwrap_or_default();
    let mut counts = [0_u32; WIDTH];
    for at in attempts {
        counts[place(*at, end)] += 1;
    }
    let mark = |count: &u32| match count {
        0 => '-',
        1 => 'x',
        count => char::from_digit(*count, 10).unwrap_or('#'),
    };
    let line: String = counts.iter().map(mark).collect();
    let line = if end.is_zero() { "x" } else { &line };
    let axis =
        if end.is_zero() { "0".to_owned() } else { format!("0{:>width$}", seconds(end), width = WIDTH - 1) };
    format!("  {line}\n  {axis}\n")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of the width"
)]
fn place(at: Duration, end: Duration) -> usize {
    if end.is_zero() {
        return 0;
    }
    (at.as_secs_f64() / end.as_secs_f64() * (WIDTH - 1) as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_stand_where_they_are_made() {
        let at = |seconds: &[u64]| seconds.iter().map(|s| Duration::from_secs(*s)).collect::<Vec<_>>();
        let drawn = draw(&at(&[0, 85]));
        assert_eq!(drawn, format!("  x{}x\n  0{:>85}\n", "-".repeat(84), "85.0 s"));
        assert!(draw(&at(&[0, 0, 1000])).starts_with("  2-"));
        assert_eq!(draw(&at(&[0])), "  x\n  0\n");
        assert!(draw(&[Duration::ZERO; 12]).starts_with("  x"));
    }
}
