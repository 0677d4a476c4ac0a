//! What the service writes down: each request that came, what became of its work, and whether anybody still waited.
//! Pure. It is the show's auditor, whatever the callers believe.

use std::collections::HashSet;

use super::script::Mode;

/// While up, one in this many answers to new requests is lost on its way, after the work was done. It is an everyday
/// reason for retries, and the reason for idempotency keys.
pub(crate) const LOSES_ONE_IN: u64 = 50;

/// What the service saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Requests that came in.
    pub(crate) requests: u64,
    /// Those that came in while it was down.
    pub(crate) while_down: u64,
    /// Requests whose turn in the queue came.
    pub(crate) served: u64,
    /// Those of the served whose caller had given up.
    pub(crate) for_nobody: u64,
    /// Operations carried out, each key once.
    pub(crate) carried_out: u64,
    /// Served requests whose key had been carried out before: answered, and not carried out again.
    pub(crate) repeats: u64,
}

impl Seen {
    /// Requests in the queue.
    pub(crate) fn waiting(self) -> u64 {
        self.requests - self.served
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Ok,
    /// The answer is lost: the connection closes without one.
    HangUp,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    seen: Seen,
    done: HashSet<String>,
    /// New requests served to somebody since the service last came up.
    answers: u64,
}

impl Ledger {
    pub(crate) fn seen(&self) -> Seen {
        self.seen
    }

    /// The service went up or down.
    pub(crate) fn switched(&mut self) {
        self.answers = 0;
    }

    /// A request came in.
    pub(crate) fn came(&mut self, mode: Mode) {
        self.seen.requests += 1;
        self.seen.while_down += u64::from(mode == Mode::Down);
    }

    /// The work of a request is done: gives its answer. Whether anybody waits for that changes nothing about the work;
    /// only the ledger cares.
    pub(crate) fn served(&mut self, key: String, somebody_waits: bool) -> Reply {
        self.seen.served += 1;
        self.seen.for_nobody += u64::from(!somebody_waits);
        if !self.done.insert(key) {
            self.seen.repeats += 1;
            return Reply::Ok;
        }
        self.seen.carried_out += 1;
        self.answers += u64::from(somebody_waits);
        // In the middle of each such row, so that the first probes after an outage are not the ones to suffer.
        let is_lost = somebody_waits && self.answers % LOSES_ONE_IN == LOSES_ONE_IN / 2;
        if is_lost { Reply::HangUp } else { Reply::Ok }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_key_is_answered_and_not_carried_out_again() {
        let mut ledger = Ledger::default();
        for _ in 0..2 {
            ledger.came(Mode::Up);
            assert_eq!(ledger.served("a".to_owned(), true), Reply::Ok);
        }
        let expected = Seen { requests: 2, served: 2, carried_out: 1, repeats: 1, ..Seen::default() };
        assert_eq!(ledger.seen(), expected);
    }

    #[test]
    fn a_lost_answer_is_work_done() {
        let mut ledger = Ledger::default();
        let lost: Vec<_> = (0..100).filter(|n| ledger.served(n.to_string(), true) == Reply::HangUp).collect();
        assert_eq!(lost, [24, 74]);
        assert_eq!(ledger.seen().carried_out, 100);
        assert_eq!(ledger.served("24".to_owned(), true), Reply::Ok, "tried again, it is recognised");
        assert_eq!(ledger.seen().repeats, 1);
    }

    #[test]
    fn requests_wait_while_it_is_down_and_are_served_to_nobody_later() {
        let mut ledger = Ledger::default();
        ledger.came(Mode::Down);
        assert_eq!((ledger.seen().while_down, ledger.seen().waiting()), (1, 1));
        ledger.served("a".to_owned(), false);
        assert_eq!((ledger.seen().waiting(), ledger.seen().for_nobody, ledger.seen().carried_out), (0, 1, 1));
    }

    /// Else an answer that nobody hears would use up a loss, and chance would decide which probe is lost.
    #[test]
    fn only_answers_to_somebody_are_lost() {
        let mut ledger = Ledger::default();
        assert!((0..100).all(|n| ledger.served(n.to_string(), false) == Reply::Ok));
        assert!((100..124).all(|n| ledger.served(n.to_string(), true) == Reply::Ok));
        assert_eq!(ledger.served("124".to_owned(), true), Reply::HangUp);
    }
}
