//! The suite that every store passes: one file for each topic, one macro that runs it all.
//!
//! A store gives a [`Harness`] and writes in a test:
//!
//! ```ignore
//! steadfast_store::conformance!(MyHarness::new());
//! ```

pub mod audit;
pub mod bulk;
pub mod circuit;
pub mod claim;
pub mod intake;
pub mod list;
pub mod mail;
pub mod node;
pub mod outbox;
pub mod overdue;
pub mod parked;
pub mod reply;
pub mod retention;
pub mod schedule;
pub mod submit;
pub mod text;
pub mod transfer;
pub mod wait;
pub mod write;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use steadfast_engine::{Definition, Event, Head, Step, StepId, Task, Time, decide};

use crate::{
    Arrival, Claimed, Guard, Mailbox as _, Message, NodeId, Nodes as _, Payload, Posted, Store, Stored,
    Submission, Submitted, TaskId, Tasks as _, Write, Written,
};

/// A fresh store, and its time in the test's hands.
pub trait Harness {
    /// The store that is tested.
    type Store: Store;

    /// The store.
    fn store(&self) -> &Self::Store;

    /// Lets time pass, by the store's clock.
    fn advance(&self, time: Duration);

    /// Hands a submission in, as another program does.
    fn hand_in(&self, arrival: Arrival);
}

/// Runs the whole suite on a store: an expression that makes a fresh [`Harness`].
#[macro_export]
macro_rules! conformance {
    ($harness:expr) => {
        $crate::conformance_of!($harness; submit: a_task_is_stored_with_all_of_its_rows, a_key_gives_the_first_task_back,
            keys_are_of_their_namespace_and_workflow, the_same_submission_again_changes_nothing,
            what_is_too_large_is_refused_as_a_batch);
        $crate::conformance_of!($harness; claim: what_is_free_is_claimed_once, each_claim_raises_the_epoch,
            no_more_than_asked_for_and_longest_waiting_first, what_waits_is_left_alone_until_its_time,
            what_is_at_rest_is_never_claimed, the_tasks_of_a_dead_node_are_free, a_node_does_not_rob_itself,
            a_node_can_ask_what_it_owns);
        $crate::conformance_of!($harness; write: a_write_is_done_as_a_whole, a_stale_epoch_is_refused_whole,
            a_stale_revision_is_refused_whole, each_write_of_a_batch_stands_alone, history_folds_to_the_rows,
            to_let_go_is_no_history, a_recovery_takes_the_task_from_its_owner, two_writers_of_one_revision_do_not_both_win,
            items_are_written_as_they_begin);
        $crate::conformance_of!($harness; mail: mail_is_read_in_its_order_and_once, mail_wakes_a_task_that_waits,
            mail_that_came_first_wins, mail_to_nobody_or_to_the_ended_is_refused,
            mail_of_a_write_is_posted_with_it_or_not_at_all);
        $crate::conformance_of!($harness; audit: what_an_operator_asks_reaches_a_task_at_rest,
            what_a_dead_node_was_asked_is_claimed_by_others, under_one_id_it_is_asked_once,
            an_entry_is_stored_with_its_write_or_not_at_all, entries_come_newest_first,
            an_entry_that_is_about_no_task_is_stored_once_and_never_changes);
        $crate::conformance_of!($harness; bulk: a_bulk_is_written_by_who_has_read_it_last);
        $crate::conformance_of!($harness; list: all_that_match_are_found_newest_first,
            a_filter_leaves_out_what_it_says, tasks_are_found_by_their_labels);
        $crate::conformance_of!($harness; wait: a_task_that_starts_later_is_free_from_then_on_or_for_mail,
            signals_that_are_kept_and_rounds_are_stored, how_far_an_attempt_has_come_is_kept_and_no_history,
            a_message_may_bring_the_largest_payload);
        $crate::conformance_of!($harness; parked: what_is_parked_is_claimed_nearest_deadline_first,
            what_is_parked_is_claimed_highest_priority_first,
            who_parked_a_task_has_it_no_more, what_is_parked_wakes_for_mail_and_at_its_time,
            what_is_recovered_or_at_rest_is_not_parked);
        $crate::conformance_of!($harness; circuit: a_circuit_is_written_by_who_has_read_it_last);
        $crate::conformance_of!($harness; outbox: a_message_is_handed_out_to_one_at_a_time,
            alerts_and_replies_are_handed_out_apart, messages_about_a_task_go_out_in_their_order,
            under_one_key_a_message_is_stored_once, what_is_given_up_is_kept_and_holds_back_nobody,
            what_a_write_tells_is_stored_with_it_or_not_at_all,
            what_a_submission_tells_is_stored_with_it_or_not_at_all, a_message_that_is_too_large_is_refused);
        $crate::conformance_of!($harness; schedule: a_schedule_is_written_by_who_has_read_it_last,
            what_is_to_be_looked_at_comes_soonest_first, a_schedule_that_is_removed_is_gone,
            a_schedule_that_is_too_large_is_refused);
        $crate::conformance_of!($harness; overdue: attempts_and_deadlines_are_found_longest_overdue_first,
            what_is_overdue_can_be_passed_by);
        $crate::conformance_of!($harness; node: a_lease_ends_by_the_stores_clock, who_leaves_leaves_its_tasks,
            time_never_goes_back);
        $crate::conformance_of!($harness; reply: of_a_task_one_reply_at_a_time_is_handed_out,
            a_reply_that_is_to_come_again_keeps_its_place, a_reply_is_stored_with_its_write_and_what_that_has_stored,
            news_that_nobody_has_had_give_way_to_the_next, where_too_many_wait_no_more_submissions_are_taken,
            who_claims_a_task_knows_to_whom_it_replies);
        $crate::conformance_of!($harness; intake: what_is_handed_in_is_found_in_its_order,
            what_is_handed_in_becomes_one_task, what_is_handed_in_under_a_key_that_was_seen_is_told_apart);
        $crate::conformance_of!($harness; retention: what_is_over_goes_with_all_that_belongs_to_it,
            what_is_open_or_has_failed_is_kept, what_has_ended_is_kept_for_its_time,
            unread_mail_and_waiting_messages_keep_a_task, what_is_over_is_removed_some_at_a_time,
            what_a_task_has_asked_for_stays_for_as_long_as_that_task);
        $crate::conformance_of!($harness; transfer: a_task_is_the_same_in_another_store,
            a_task_of_another_store_is_the_same_here, what_is_there_is_not_overwritten,
            what_was_removed_can_be_brought_back);
        $crate::conformance_of!($harness; text: a_version_of_a_workflow_is_stored_once_and_never_changes,
            a_text_that_is_too_large_is_refused);
    };
}

/// One topic of the suite.
#[macro_export]
macro_rules! conformance_of {
    ($harness:expr; $topic:ident: $($name:ident),+ $(,)?) => {
        mod $topic {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[test]
                fn $name() {
                    let harness = $harness;
                    $crate::conformance::block_on($crate::conformance::$topic::$name(&harness));
                }
            )+
        }
    };
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to its end on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        std::thread::park();
    }
}

/// A clock that a test moves by hand.
#[derive(Clone, Debug, Default)]
pub struct HandClock(Arc<AtomicU64>);

impl HandClock {
    /// The time now.
    #[must_use]
    pub fn now(&self) -> Time {
        Time::from_millis(self.0.load(Ordering::SeqCst))
    }

    /// Moves it forward.
    pub fn advance(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// Sets it, back too: clocks of machines do that.
    pub fn set(&self, time: Time) {
        self.0.store(time.as_millis(), Ordering::SeqCst);
    }
}

// ---- what all topics need ----

pub(crate) const A: NodeId = NodeId::from_u128(0xA);
pub(crate) const B: NodeId = NodeId::from_u128(0xB);

pub(crate) fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn bytes(text: &str) -> Payload {
    Payload::from(text.as_bytes())
}

/// Two steps, one after the other, a minute in all.
pub(crate) fn workflow() -> Definition {
    let step = |name| Step::new(name, "service").complete_within(s(10)).undo(s(10));
    let builder = Definition::builder("order").complete_within(s(60)).step(step("first"));
    builder.step(step("second").after(["first"])).build().unwrap_or_else(|invalid| panic!("{invalid}"))
}

pub(crate) fn id(number: u128) -> TaskId {
    TaskId::from_u128(number)
}

/// A task of the workflow, as whoever submits makes it.
pub(crate) fn submission(number: u128, now: Time) -> Submission {
    Submission {
        id: id(number),
        namespace: Arc::from(""),
        workflow: Arc::from("order"),
        version: 1,
        shape: workflow().shape(),
        key: None,
        priority: 0,
        input: bytes("an order"),
        task: Task::new(&workflow(), now),
        owner: None,
        messages: Vec::new(),
        outputs: Vec::new(),
        more: None,
    }
}

/// A store with shortcuts that panic: this is a test.
pub(crate) struct Tried<'a, S>(pub(crate) &'a S);

impl<S: Store> Tried<'_, S> {
    pub(crate) async fn now(&self) -> Time {
        ok(self.0.now().await)
    }

    /// Submits tasks of these numbers.
    pub(crate) async fn submit(&self, numbers: &[u128]) {
        let now = self.now().await;
        let batch = numbers.iter().map(|number| submission(*number, now)).collect();
        assert_eq!(ok(self.0.submit(batch).await), vec![Submitted::New; numbers.len()]);
    }

    pub(crate) async fn claim(&self, node: NodeId, most: usize) -> Vec<Claimed> {
        ok(self.0.renew(node, s(30)).await);
        ok(self.0.claim(node, most).await)
    }

    /// Submits one task and claims it for A.
    pub(crate) async fn claimed(&self, number: u128) -> Stored {
        self.submit(&[number]).await;
        let mut claimed = self.claim(A, 10).await;
        assert_eq!(claimed.len(), 1);
        claimed.remove(0).stored
    }

    pub(crate) async fn read(&self, number: u128) -> Stored {
        ok(self.0.read(vec![id(number)]).await).remove(0).unwrap_or_else(|| panic!("task {number} is gone"))
    }

    pub(crate) async fn write(&self, write: Write) -> Written {
        ok(self.0.write(vec![write]).await).remove(0)
    }

    pub(crate) async fn post(&self, number: u128, words: &str) -> Posted {
        ok(self.0.post(vec![Message::new(id(number), bytes(words))]).await).remove(0)
    }

    /// Writes what follows from an event, as its owner does.
    pub(crate) async fn follow(&self, stored: &mut Stored, event: &Event) {
        let now = self.now().await;
        let plan = decide(&workflow(), &stored.task, event, now);
        let Written::Done(revision) = self.write(Write::of(&plan, stored.id, guard(stored))).await else {
            panic!("{event:?} was refused");
        };
        stored.revision = revision;
        stored.task.apply(&plan);
    }

    /// Brings a claimed task to where its first step runs.
    pub(crate) async fn start(&self, stored: &mut Stored) {
        self.follow(stored, &Event::Claimed).await;
        self.follow(stored, &Event::granted(first())).await;
    }
}

pub(crate) fn first() -> StepId {
    workflow().step_named("first").unwrap_or_else(|| panic!("no first step"))
}

pub(crate) fn guard(stored: &Stored) -> Guard {
    Guard { epoch: stored.epoch, revision: stored.revision, mail: None }
}

pub(crate) fn ok<T>(result: Result<T, crate::Error>) -> T {
    result.unwrap_or_else(|error| panic!("{:?}: {error}", error.kind()))
}
