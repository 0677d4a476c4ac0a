//! A watched file, however it is saved.

use std::path::Path;
use std::sync::mpsc::{self, Receiver};

use super::*;
use crate::policy::{Live, Watch};

/// Far longer than any look at a file takes; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(20);

struct Followed {
    live: Live,
    told: Receiver<Result<String, String>>,
    _watch: Watch,
}

fn follow(path: &Path) -> Followed {
    let live = Live::open(path).unwrap();
    let (send, told) = mpsc::channel();
    let watch = live.watch(Duration::from_millis(20), move |outcome| {
        let told = outcome.as_ref().map(ToString::to_string).map_err(ToString::to_string);
        let _ = send.send(told);
    });
    Followed { live, told, _watch: watch.unwrap() }
}

impl Followed {
    fn hears(&self) -> Result<String, String> {
        self.told.recv_timeout(PATIENCE).expect("the change was noticed")
    }

    fn retries(&self) -> Option<u32> {
        self.live.pipeline("a").retry().unwrap().max_retries()
    }
}

fn retries(count: u32) -> String {
    format!("[service.a]\nretry = {{ max_retries = {count} }}\n")
}

#[test]
fn a_file_written_in_place_is_followed() {
    let folder = Folder::new();
    let path = folder.file("policies.toml", retries(1));
    let followed = follow(&path);
    folder.file("policies.toml", retries(2));
    assert_eq!(followed.hears().unwrap(), "service.a.retry.max_retries: 1 -> 2");
    assert_eq!(followed.retries(), Some(2));
}

#[test]
fn a_file_replaced_by_rename_is_followed() {
    let folder = Folder::new();
    let path = folder.file("policies.toml", retries(1));
    let followed = follow(&path);
    std::fs::rename(folder.file("policies.toml.new", retries(3)), &path).unwrap();
    assert!(followed.hears().is_ok());
    assert_eq!(followed.retries(), Some(3));
}

#[cfg(unix)]
#[test]
fn a_link_that_is_moved_is_followed() {
    let folder = Folder::new();
    let link = folder.0.join("policies.toml");
    std::os::unix::fs::symlink(folder.file("one.toml", retries(1)), &link).unwrap();
    let followed = follow(&link);
    let moved = folder.0.join("moved");
    std::os::unix::fs::symlink(folder.file("two.toml", retries(4)), &moved).unwrap();
    std::fs::rename(moved, &link).unwrap();
    assert!(followed.hears().is_ok());
    assert_eq!(followed.retries(), Some(4));
}

#[test]
fn a_broken_file_changes_nothing_and_is_told_once() {
    let folder = Folder::new();
    let path = folder.file("policies.toml", retries(1));
    let followed = follow(&path);
    folder.file("policies.toml", "[service.a]\nretry = \"nobody\"");
    let error = followed.hears().unwrap_err();
    assert!(
        error.contains("policies.toml:2:9: service.a.retry: there is no retry named `nobody`"),
        "{error}"
    );
    assert_eq!(followed.retries(), Some(1));
    // Several looks later nothing more was said, and a good file is taken over.
    assert!(followed.told.recv_timeout(Duration::from_millis(200)).is_err());
    folder.file("policies.toml", retries(5));
    assert!(followed.hears().is_ok());
    assert_eq!(followed.retries(), Some(5));
    std::fs::remove_file(&path).unwrap();
    assert!(followed.hears().unwrap_err().contains("there is no such file"));
    assert_eq!(followed.retries(), Some(5), "the old policies stay in force");
}
