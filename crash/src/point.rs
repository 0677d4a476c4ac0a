//! The points at which the driver can be made to die, as they stand in the source text.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// What a point looks like in the source.
const MARK: &str = "failpoint!(\"";
/// The crates that have points.
const CRATES: [&str; 2] = ["runtime", "store-sqlite"];

/// How the names of points begin that only those come to whose service is away.
const AWAY: [&str; 4] = ["park.", "unpark.", "circuit.", "gate."];

/// Whether only tasks come to this point whose service is away at first.
#[must_use]
pub fn is_away(name: &str) -> bool {
    AWAY.iter().any(|begin| name.starts_with(begin))
}

/// The names of all points, sorted.
///
/// # Errors
/// A name that is there twice, or no point at all; the disk's.
pub fn all() -> Result<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut names = Vec::new();
    for name in CRATES {
        look(&root.join(name).join("src"), &mut names)?;
    }
    names.sort();
    ensure!(!names.is_empty(), "the source has no failpoints");
    let double = names.windows(2).find(|pair| pair[0] == pair[1]);
    ensure!(double.is_none(), "two failpoints have one name: {double:?}");
    Ok(names)
}

fn look(folder: &Path, names: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            look(&path, names)?;
        } else {
            names.extend(names_in(&fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

fn names_in(source: &str) -> Vec<String> {
    let after = source.split(MARK).skip(1);
    after.filter_map(|rest| rest.split_once('"').map(|(name, _)| name.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_wherever_they_stand() {
        let source = "x(); steadfast_store::failpoint!(\"a.b\");\n    failpoint!(\"c\"); no(\"d\")";
        assert_eq!(names_in(source), ["a.b", "c"]);
    }
}
