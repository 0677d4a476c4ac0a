//! Keeping house as a program sees it: a backup under load is restored, and what cannot be done says what to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use steadfast::{Code, Engine, Failure, Outcome, Service, TaskState, Workflow, verify_file};

fn doubled() -> Workflow<u32, u32> {
    let mut flow = Workflow::<u32>::builder("doubled");
    let service = Service::standard("svc");
    let first = flow.step("first", &service, |cx| async move { Ok::<_, Failure>(cx.input + 1) });
    let first = first.undo(|_| async { Ok::<_, Failure>(()) }).add();
    let second =
        flow.step("second", &service, move |cx| async move { Ok::<_, Failure>(2 * cx.output(first)?) });
    let second = second.after([first]).nothing_to_undo().add();
    flow.returns(second).unwrap()
}

fn address(folder: &tempfile::TempDir, name: &str) -> String {
    format!("sqlite:{}", folder.path().join(name).display())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_is_restored_with_all_that_was_acknowledged_before() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let flow = doubled();
    let engine = Engine::builder(address(&folder, "tasks.db")).workflow(&flow).start().await.unwrap();
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let mut callers = tokio::task::JoinSet::new();
    let mut acknowledged = Vec::new();
    for number in 0..100 {
        acknowledged.push(engine.submit(&flow, &number).key(number).await.unwrap().id());
    }
    for _ in 0..20 {
        let (engine, flow, stop, done) = (engine.clone(), flow.clone(), Arc::clone(&stop), Arc::clone(&done));
        callers.spawn(async move {
            while !stop.load(Ordering::SeqCst) {
                engine.submit(&flow, &7).await.unwrap().outcome().await.unwrap();
                done.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    let before = done.load(Ordering::SeqCst);
    let copy = elsewhere.path().join("copy.db");
    let made = engine.backup(&copy).await.unwrap();
    assert!(done.load(Ordering::SeqCst) > before, "nothing went on meanwhile");
    stop.store(true, Ordering::SeqCst);
    while let Some(ended) = callers.join_next().await {
        ended.unwrap();
    }
    assert!(engine.verify().await.unwrap().is_sound());
    engine.shut_down().await.unwrap();
    assert_eq!(made.bytes, std::fs::metadata(&copy).unwrap().len());
    let report = verify_file(&copy).unwrap();
    assert!(report.is_sound() && report.looked_at >= 100, "{report}");
    let restored = Engine::builder(address(&elsewhere, "copy.db")).workflow(&flow).start().await.unwrap();
    for (number, id) in (0..).zip(acknowledged) {
        let outcome = restored.task(&flow, id).await.unwrap().outcome().await.unwrap();
        assert!(matches!(outcome, Outcome::Completed(value) if value == 2 * (number + 1)), "{number}");
    }
    assert!(restored.verify().await.unwrap().is_sound());
    assert!(verify_file(&copy).unwrap_err().code() == Code::StoreOwned);
    restored.shut_down().await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_done_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let flow = doubled();
    let memory = Engine::builder("memory:").workflow(&flow).start().await.unwrap();
    let error = memory.backup(folder.path().join("copy.db")).await.unwrap_err();
    assert_eq!(error.code(), Code::Unsupported);
    let engine = Engine::builder(address(&folder, "tasks.db")).workflow(&flow).start().await.unwrap();
    let error = engine.backup(folder.path().join("tasks.db")).await.unwrap_err();
    assert_eq!(error.code(), Code::BackupExists);
    let error = engine.import(&b"id,name\n1,2"[..]).await.unwrap_err();
    assert_eq!((error.code(), error.is_transient()), (Code::BadImport, false));
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    assert_eq!(engine.export(Full, engine.tasks()).await.unwrap_err().code(), Code::TransferFailed);
    // Only those that are asked for.
    engine.submit(&flow, &1).key("a").await.unwrap().outcome().await.unwrap();
    engine.submit(&flow, &2).key("b").await.unwrap().outcome().await.unwrap();
    let mut lines = Vec::new();
    assert_eq!(engine.export(&mut lines, engine.tasks().key("b")).await.unwrap(), 1);
    assert_eq!(memory.import(&lines[..]).await.unwrap().new, 1);
    let there = memory.tasks().state(TaskState::Completed).await.unwrap().tasks;
    assert_eq!(there.iter().map(|task| task.key.as_deref()).collect::<Vec<_>>(), [Some("b")]);
    engine.shut_down().await.unwrap();
}
