//! Sizes as people write them.

/// A size in bytes: `512`, `64KiB`, `8MiB`, `1GiB`.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];
    let text = text.trim();
    let (digits, unit) =
        UNITS.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, *bytes))).unwrap_or((text, 1));
    let number: u64 =
        digits.trim().parse().map_err(|_| format!("`{text}` is no size: write it as `64KiB` or `8MiB`"))?;
    number
        .checked_mul(unit)
        .filter(|size| *size > 0)
        .ok_or_else(|| format!("`{text}` is no size that anything could have"))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_size_has_a_unit_or_is_in_bytes() {
        for (text, bytes) in
            [("512", 512), ("64KiB", 65_536), ("8 MiB", 8 << 20), ("1GiB", 1 << 30), ("7B", 7)]
        {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for bad in ["", "0", "8MB", "-1", "1.5MiB", "99999999999GiB", "MiB"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
