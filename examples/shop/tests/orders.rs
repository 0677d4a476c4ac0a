//! Orders and their tasks: one transaction, and a status that follows the replies.

#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use std::path::Path;

use common::Shopping;
use steadfast::rusqlite::{Connection, TransactionBehavior};
use steadfast::{ReplyId, TaskId};
use steadfast_shop::{
    BLESSED, CURSED, Error, MAX_BURST, Mend, Mood, Order, Orders, Repair, ReplySeen, Shop as _, Status,
    Wanted, place_in,
};

/// How many rows a table has, by a connection of the test's own.
fn rows(file: &Path, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    Connection::open(file).unwrap().query_row(&sql, [], |row| row.get(0)).unwrap()
}

/// A shop without an engine: what is handed in stays in the inbox.
async fn closed() -> (tempfile::TempDir, std::path::PathBuf, Orders) {
    let shopping = Shopping::open().await;
    let file = shopping.engine.database().to_owned();
    drop(shopping.world);
    shopping.engine.shut_down().await.unwrap();
    let orders = Orders::open(&file).await.unwrap();
    (shopping.folder, file, orders)
}

/// X1, W7
#[tokio::test]
async fn an_order_and_its_task_are_one_transaction() {
    let (_folder, file, orders) = closed().await;
    let mut own = Connection::open(&file).unwrap();
    own.pragma_update(None, "synchronous", "FULL").unwrap();

    let transaction = own.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    place_in(&transaction, Wanted::one("chair")).unwrap();
    let handed_in: i64 =
        transaction.query_row("SELECT count(*) FROM steadfast_inbox", [], |row| row.get(0)).unwrap();
    assert_eq!(handed_in, 1);
    transaction.rollback().unwrap();
    assert_eq!((rows(&file, "orders"), rows(&file, "steadfast_inbox")), (0, 0));

    let order = orders.place(Wanted::one("chair")).await.unwrap();
    assert_eq!((rows(&file, "orders"), rows(&file, "steadfast_inbox")), (1, 1));
    let (key, correlation): (String, String) = own
        .query_row("SELECT key, correlation FROM steadfast_inbox", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert_eq!((key, correlation), (format!("order-{}", order.order), order.order.to_string()));
}

/// X1, W7
#[tokio::test]
async fn an_order_whose_task_cannot_be_handed_in_is_not_written() {
    let (_folder, file, orders) = closed().await;
    let own = Connection::open(&file).unwrap();
    own.execute_batch("ALTER TABLE steadfast_inbox RENAME TO away").unwrap();
    let error = orders.place(Wanted::one("chair")).await.unwrap_err();
    assert!(matches!(error, Error::HandIn(_)), "{error:?}");
    assert!(error.whole().contains("has no table `steadfast_inbox`"), "{}", error.whole());
    assert_eq!(rows(&file, "orders"), 0);
    let many = vec![Wanted::one("chair"); MAX_BURST + 1];
    assert!(orders.place_all(many).await.unwrap_err().to_string().contains("at most 100"));
}

/// X1, N1
#[tokio::test]
async fn a_reply_that_comes_twice_or_late_changes_nothing() {
    let (_folder, _, orders) = closed().await;
    let order = orders.place(Wanted::one("chair")).await.unwrap();
    let row = orders.all().await.unwrap().remove(0);
    assert_eq!((row.status, &row.order), (Status::Placed, &order));
    let reply = |number: u64, task: TaskId, says: Status| ReplySeen {
        id: ReplyId { task, number },
        correlation: order.order.to_string(),
        says: Some(says),
        words: format!("reply {number}"),
    };
    let mut news = orders.news();
    for (reply, expected) in [
        (reply(1, row.task, Status::Received), (Status::Received, "reply 1")),
        (reply(2, row.task, Status::Failed), (Status::Failed, "reply 2")),
        (reply(1, row.task, Status::Received), (Status::Failed, "reply 2")),
        (reply(9, TaskId::from_u128(1), Status::Completed), (Status::Failed, "reply 2")),
        (
            ReplySeen { correlation: "odd".to_owned(), ..reply(9, row.task, Status::Completed) },
            (Status::Failed, "reply 2"),
        ),
        (ReplySeen { says: None, ..reply(9, row.task, Status::Completed) }, (Status::Failed, "reply 2")),
        (reply(3, row.task, Status::Completed), (Status::Completed, "reply 3")),
    ] {
        orders.apply(vec![reply.clone()]).await.unwrap();
        let row = orders.all().await.unwrap().remove(0);
        assert_eq!((row.status, row.words.as_str()), expected, "{reply:?}");
    }
    let told = [Status::Received, Status::Failed, Status::Completed];
    for status in told {
        assert_eq!(news.recv().await.unwrap().status, status);
    }
    assert!(news.try_recv().is_err(), "what changes nothing is no news");
}

/// X1
#[tokio::test]
async fn a_declined_card_has_the_order_undone() {
    let shopping = Shopping::open().await;
    let order = shopping.world.orders().place(Wanted::one("chair").declined()).await.unwrap();
    let row = shopping.until(order.order, Status::Undone).await;
    assert!(row.words.contains("the card is declined"), "{}", row.words);
    let [reserved] = &shopping.town.inventory.entries()[..] else { panic!("reserved once") };
    assert!(reserved.taken_back);
    assert!(shopping.town.payments.entries().is_empty() && shopping.town.shipping.entries().is_empty());
    shopping.close().await;
}

/// X1, O1
#[tokio::test]
async fn a_poisoned_order_ends_with_the_operator_and_is_repaired() {
    let shopping = Shopping::open().await;
    let order = shopping.world.orders().place(Wanted::one(CURSED)).await.unwrap();
    let row = shopping.until(order.order, Status::Failed).await;
    let failed = shopping.world.shop().failed().await.unwrap();
    let words = &failed.iter().find(|task| task.task == row.task).unwrap().words;
    assert!(words.contains("nobody carries a cursed lamp"), "{words}");
    // What was done before stays: it is the operator's to decide.
    assert!(!shopping.town.payments.entries()[0].taken_back);

    let how = Mend::Retry(Order { sku: BLESSED.to_owned(), ..row.order.clone() });
    let repair =
        Repair { task: row.task, step: "ship", how, by: "ana", because: "a lamp will do".to_owned() };
    shopping.world.shop().repair(repair).await.unwrap();
    shopping.until(order.order, Status::Completed).await;
    let [shipped] = &shopping.town.shipping.entries()[..] else { panic!("shipped once") };
    assert_eq!((shipped.order, &shipped.asked["sku"]), (order.order, &BLESSED.into()));
    assert_eq!(shopping.town.payments.entries().len(), 1);
    shopping.close().await;
}

/// X1, O1
#[tokio::test]
async fn a_step_that_is_skipped_has_the_order_complete() {
    let shopping = Shopping::open().await;
    let order = shopping.world.orders().place(Wanted::one(CURSED)).await.unwrap();
    let row = shopping.until(order.order, Status::Failed).await;
    let (task, step, by) = (row.task, "ship", "ana");
    let repair = Repair { task, step, how: Mend::Skip, by, because: "it was fetched".to_owned() };
    shopping.world.shop().repair(repair).await.unwrap();
    shopping.until(order.order, Status::Completed).await;
    assert!(shopping.town.shipping.entries().is_empty());
    shopping.close().await;
}

/// X1, B17
#[tokio::test]
async fn an_order_that_waits_for_a_service_says_so_and_completes_when_it_is_back() {
    let shopping = Shopping::open().await;
    let (orders, town) = (shopping.world.orders(), &shopping.town);
    town.shipping.set(Mood::Down);
    let placed = orders.place_all(vec![Wanted::one("rug"); 6]).await.unwrap();
    let last = shopping.until(placed[5].order, Status::Received).await;
    // The first ones find out that it is away.
    while !shopping.world.shop().why(last.task).await.unwrap().contains("it waits for circuit `shipping`") {
        tokio::task::yield_now().await;
    }
    town.shipping.set(Mood::Well);
    for order in placed {
        shopping.until(order.order, Status::Completed).await;
    }
    for service in town.services() {
        assert_eq!(service.entries().len(), 6, "{}", service.kind().name());
    }
    shopping.close().await;
}
