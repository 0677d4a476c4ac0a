//! The kept corpus: files that once were, or could be, trouble, and what random changes make of them.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::random::Rng;

/// Changes of each file: enough to reach odd corners, few enough for every run of the tests.
const CHANGES: u64 = 200;

fn files() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/policy");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| Format::of(path).is_some());
    files.sort();
    files
}

/// Reads it; a refusal must say where and what.
fn read(text: &str, format: Format, name: &str) -> bool {
    match Policies::parse(text, format, name) {
        Ok(policies) => {
            let _ = policies.check();
            true
        }
        Err(error) => {
            assert!(!error.complaints().is_empty(), "{name}: refused without a reason");
            // YAML knows more line ends than `\n`.
            let lines = text.matches(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).count() + 2;
            for complaint in error.complaints() {
                assert!(complaint.at.line <= lines, "{name}: {complaint} at {}", complaint.at);
                assert!(
                    !complaint.message.is_empty() && !complaint.message.contains('\n'),
                    "{name}: {complaint:?}"
                );
            }
            false
        }
    }
}

#[test]
fn every_file_of_the_corpus_is_read_or_refused() {
    let good: Vec<_> = files()
        .into_iter()
        .filter(|path| {
            let text = fs::read_to_string(path).unwrap();
            read(&text, Format::of(path).unwrap(), &path.display().to_string())
        })
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(good, GOOD);
}

/// What of the corpus is a policy file after all.
const GOOD: [&str; 5] = ["bom.toml", "crlf.toml", "empty.toml", "null.json", "only-comment.yaml"];

#[test]
fn what_random_changes_make_of_the_corpus_is_read_or_refused() {
    let files = files();
    for (number, path) in files.iter().enumerate() {
        let original = fs::read(path).unwrap();
        let other = fs::read(&files[(number + 7) % files.len()]).unwrap();
        for seed in 0..CHANGES {
            let mut rng = Rng::seeded(seed << 8 | number as u64);
            let changed = change(&original, &other, &mut rng);
            let text = String::from_utf8_lossy(&changed);
            read(&text, Format::of(path).unwrap(), &format!("{}, change {seed}", path.display()));
        }
    }
}

/// Cuts, doubles, swaps or joins parts, or changes single bytes.
fn change(original: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = original[..original.len().min(4_096)].to_vec();
    for _ in 0..=(rng.unit() * 4.0) as u32 {
        let at = (rng.unit() * bytes.len() as f64) as usize;
        let end = at + (rng.unit() * (bytes.len() - at) as f64) as usize;
        match (rng.unit() * 5.0) as u32 {
            0 => drop(bytes.drain(at..end)),
            1 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            2 => {
                let from = (rng.unit() * other.len() as f64) as usize;
                bytes.splice(at..at, other[from..other.len().min(from + 64)].iter().copied());
            }
            3 if at < bytes.len() => bytes[at] = (rng.unit() * 256.0) as u8,
            _ => bytes.insert(at, b"{}[]\"'=:\n,.-#&*<|!"[(rng.unit() * 18.0) as usize]),
        }
    }
    bytes
}
