use std::sync::mpsc;
use std::thread::{ThreadId, current};

use super::*;
use crate::Sqlite;

fn store() -> (tempfile::TempDir, Sqlite) {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(folder.path().join("s.db"), || Time::from_millis(1)).unwrap();
    (folder, store)
}

/// Who makes a write of so many bytes.
fn who(store: &Sqlite, bytes: usize) -> ThreadId {
    wait(store.inner.drive.ask(Ok(()), bytes, |_, _| Ok(current().id())))
}

fn wait<T>(asked: Asked<'_, T>) -> T {
    let mut asked = std::pin::pin!(asked);
    loop {
        let mut context = Context::from_waker(std::task::Waker::noop());
        if let Poll::Ready(done) = asked.as_mut().poll(&mut context) {
            return done.unwrap();
        }
        std::thread::yield_now();
    }
}

#[test]
fn who_may_writes_what_is_small_itself() {
    let (_folder, store) = store();
    assert_ne!(who(&store, 1), current().id(), "not without being told");
    store.write_at_once();
    for (bytes, itself) in [(1, true), (SMALL, true), (SMALL + 1, false)] {
        // As after a commit that was quick, whatever this disk is.
        took(&store, Duration::ZERO);
        assert_eq!(who(&store, bytes) == current().id(), itself, "{bytes} bytes");
    }
    assert_eq!(store.commits(), 4);
}

#[test]
fn a_disk_that_is_slow_is_waited_for_by_the_writer_until_it_is_quick_again() {
    let (_folder, store) = store();
    store.write_at_once();
    took(&store, 2 * QUICK);
    assert_ne!(who(&store, 1), current().id());
    let desk = &store.inner.drive.desk;
    assert_ne!(Duration::from_nanos(desk.took.load(Ordering::Relaxed)), 2 * QUICK, "each commit is timed");
    took(&store, QUICK);
    assert_eq!(who(&store, 1), current().id());
}

#[test]
fn after_a_large_commit_small_ones_are_left_to_the_writer_for_a_while() {
    let (_folder, store) = store();
    store.write_at_once();
    let left = std::iter::repeat_n((1, false), usize::try_from(CALM_AFTER).unwrap());
    for (bytes, itself) in [(1, true), (SMALL + 1, false)].into_iter().chain(left).chain([(1, true)]) {
        took(&store, Duration::ZERO);
        assert_eq!(who(&store, bytes) == current().id(), itself, "{bytes} bytes");
    }
}

/// The last commit took so long.
fn took(store: &Sqlite, time: Duration) {
    let nanos = u64::try_from(time.as_nanos()).unwrap();
    store.inner.drive.desk.took.store(nanos, Ordering::Relaxed);
}

#[test]
fn nobody_waits_for_who_is_at_it_and_all_come_in_their_order() {
    let (_folder, store) = store();
    store.write_at_once();
    let ((began, begun), (go, going)) = (mpsc::channel(), mpsc::channel::<()>());
    let (told, order) = mpsc::channel();
    let drive = &store.inner.drive;
    std::thread::scope(|scope| {
        let first = scope.spawn(move || {
            wait(drive.ask(Ok(()), 1, move |_, _| {
                began.send(()).unwrap();
                going.recv().unwrap();
                Ok(())
            }));
        });
        begun.recv().unwrap();
        let asked: Vec<_> = (0..50)
            .map(|nth| {
                let told = told.clone();
                let bytes = if nth % 3 == 0 { SMALL + 1 } else { 1 };
                drive.ask(Ok(()), bytes, move |_, _| {
                    told.send((nth, current().id())).unwrap();
                    Ok(())
                })
            })
            .collect();
        go.send(()).unwrap();
        first.join().unwrap();
        asked.into_iter().for_each(wait);
    });
    let order: Vec<_> = order.try_iter().map(|(nth, _)| nth).collect();
    assert_eq!(order, (0..50).collect::<Vec<_>>());
}

/// Who writes itself takes along what waits behind, as far as it goes into one commit. What does not is the writer's.
#[test]
fn what_did_not_go_along_with_a_small_write_is_not_left_behind() {
    let (_folder, store) = store();
    let drive = &store.inner.drive;
    let push = |bytes, wakes| {
        let (sender, receiver) = answer();
        let work = |_: &Connection, _| Ok(current().id());
        let pushed = drive.queue.push(Box::new(Work { work, bytes, done: None, sender }), wakes);
        (pushed.map_err(|(_, error)| error).unwrap(), Asked { receiver, drive })
    };
    let (first, small) = push(1, false);
    let (second, large) = push(usize::MAX / 2, true);
    assert_eq!((first, second), (true, false));
    assert!(drive.desk.try_turn(&drive.queue));
    assert_eq!(wait(small), current().id());
    assert_ne!(wait(large), current().id());
}

/// Another connection may hold the file for seconds: that is the writer's to wait for.
#[test]
fn who_asks_does_not_wait_for_another_connection() {
    let (folder, store) = store();
    store.write_at_once();
    let other = Connection::open(folder.path().join("s.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let asked = store.inner.drive.ask(Ok(()), 1, |_, _| Ok(current().id()));
    other.execute_batch("COMMIT").unwrap();
    assert_ne!(wait(asked), current().id(), "it was asked for, and left to the writer");
    assert_eq!(store.commits(), 1);
}

#[test]
fn many_threads_lose_nothing() {
    let (_folder, store) = store();
    store.write_at_once();
    let each = |_| {
        for _ in 0..200 {
            wait(store.inner.drive.ask(Ok(()), 1, |_, _| Ok(())));
        }
    };
    std::thread::scope(|scope| (0..4).map(|nth| scope.spawn(move || each(nth))).for_each(drop));
    assert!(store.commits() <= 800 && store.commits() > 0);
}
