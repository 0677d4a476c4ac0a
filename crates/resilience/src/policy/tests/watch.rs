//! A watched file, however it is saved.

use std::path::Path;
use std::sync::mpsc;

use super::*;
use crate::policy::Live;
use crate::policy::live::Follower;

/// The looks of a watch, one by one.
struct Followed {
    live: Live,
    follower: Follower,
}

fn follow(path: &Path) -> Followed {
    let live = Live::open(path).unwrap();
    Followed { follower: Follower::new(&live), live }
}

impl Followed {
    fn look_once(&mut self) -> Option<Result<String, String>> {
        let outcome = self.follower.look()?;
        Some(outcome.map(|changes| changes.to_string()).map_err(|error| error.to_string()))
    }

    /// Until what is there has stood for two looks.
    fn look(&mut self) -> Option<Result<String, String>> {
        self.look_once().or_else(|| self.look_once())
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
    let mut followed = follow(&folder.file("policies.toml", retries(1)));
    assert_eq!(followed.look(), None);
    folder.file("policies.toml", retries(2));
    assert_eq!(followed.look(), Some(Ok("service.a.retry.max_retries: 1 -> 2".to_owned())));
    assert_eq!((followed.look(), followed.retries()), (None, Some(2)));
}

#[test]
fn a_half_written_file_is_not_taken_over_though_it_is_valid() {
    let folder = Folder::new();
    let mut followed = follow(&folder.file("policies.toml", retries(1)));
    for half in ["", "[service.a]\n", "[service.a]\nretry = { max_retries = 2 }\n[service.b"] {
        folder.file("policies.toml", half);
        assert_eq!((followed.look_once(), followed.retries()), (None, Some(1)), "{half:?}");
    }
    folder.file("policies.toml", retries(3));
    assert_eq!((followed.look_once(), followed.retries()), (None, Some(1)), "seen once");
    assert!(followed.look_once().unwrap().is_ok());
    assert_eq!(followed.retries(), Some(3));
}

#[test]
fn a_file_replaced_by_rename_is_followed() {
    let folder = Folder::new();
    let path = folder.file("policies.toml", retries(1));
    let mut followed = follow(&path);
    std::fs::rename(folder.file("policies.toml.new", retries(3)), &path).unwrap();
    assert!(followed.look().unwrap().is_ok());
    assert_eq!(followed.retries(), Some(3));
}

#[cfg(unix)]
#[test]
fn a_link_that_is_moved_is_followed() {
    let folder = Folder::new();
    let link = folder.0.join("policies.toml");
    std::os::unix::fs::symlink(folder.file("one.toml", retries(1)), &link).unwrap();
    let mut followed = follow(&link);
    let moved = folder.0.join("moved");
    std::os::unix::fs::symlink(folder.file("two.toml", retries(4)), &moved).unwrap();
    std::fs::rename(moved, &link).unwrap();
    assert!(followed.look().unwrap().is_ok());
    assert_eq!(followed.retries(), Some(4));
}

#[test]
fn a_broken_file_changes_nothing_and_is_told_once() {
    let folder = Folder::new();
    let path = folder.file("policies.toml", retries(1));
    let mut followed = follow(&path);
    folder.file("policies.toml", "[service.a]\nretry = \"nobody\"");
    let error = followed.look().unwrap().unwrap_err();
    assert!(
        error.contains("policies.toml:2:9: service.a.retry: there is no retry named `nobody`"),
        "{error}"
    );
    assert_eq!((followed.look(), followed.look(), followed.retries()), (None, None, Some(1)));
    folder.file("policies.toml", retries(5));
    assert!(followed.look().unwrap().is_ok());
    assert_eq!(followed.retries(), Some(5));
    std::fs::remove_file(&path).unwrap();
    assert!(followed.look().unwrap().unwrap_err().contains("there is no such file"));
    assert_eq!((followed.look(), followed.retries()), (None, Some(5)), "the old policies stay in force");
}

#[test]
fn a_watch_looks_by_itself_and_ends_when_it_is_dropped() {
    let folder = Folder::new();
    let live = Live::open(folder.file("policies.toml", retries(1))).unwrap();
    let (send, told) = mpsc::channel();
    let watch = live.watch(Duration::from_millis(20), move |outcome| {
        let _ = send.send(outcome.is_ok());
    });
    folder.file("policies.toml.new", retries(2));
    std::fs::rename(folder.0.join("policies.toml.new"), folder.0.join("policies.toml")).unwrap();
    assert_eq!(told.recv(), Ok(true));
    drop(watch.unwrap());
    assert!(told.recv().is_err(), "its thread, and what it holds, are gone");
}

#[test]
fn a_change_between_opening_and_watching_is_not_missed() {
    let folder = Folder::new();
    let live = Live::open(folder.file("policies.toml", retries(1))).unwrap();
    folder.file("policies.toml", retries(2));
    let mut followed = Followed { follower: Follower::new(&live), live };
    assert_eq!(followed.look(), Some(Ok("service.a.retry.max_retries: 1 -> 2".to_owned())));
    // One that was taken over by hand is not told again.
    folder.file("policies.toml", retries(3));
    followed.live.reload().unwrap();
    let mut later = Followed { follower: Follower::new(&followed.live), live: followed.live.clone() };
    assert_eq!((later.look(), later.retries()), (None, Some(3)));
}

#[test]
fn a_listener_may_panic_and_may_end_the_watch() {
    let folder = Folder::new();
    let live = Live::open(folder.file("policies.toml", retries(1))).unwrap();
    let (told, heard) = mpsc::channel();
    let kept = std::sync::Arc::new(std::sync::Mutex::new(None));
    let own = std::sync::Arc::clone(&kept);
    let watch = live
        .watch(Duration::from_millis(20), move |outcome| {
            told.send(outcome.as_ref().unwrap().to_string()).unwrap();
            match outcome.as_ref().unwrap().to_string().ends_with("2") {
                true => panic!("by this test"),
                false => drop(own.lock().unwrap().take()),
            }
        })
        .unwrap();
    *kept.lock().unwrap() = Some(watch);
    folder.file("policies.toml", retries(2));
    assert!(heard.recv().unwrap().ends_with("1 -> 2"));
    folder.file("policies.toml", retries(3));
    assert!(heard.recv().unwrap().ends_with("2 -> 3"), "the watch goes on after a panic");
    assert!(heard.recv().is_err(), "it ended by its own listener");
}
