//! What a service has done, and for which key: the book that the story is judged by.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::{Value, json};

/// The most entries of a ledger: days of the story's traffic. A service whose book is full does nothing more.
pub const MAX_ENTRIES: usize = 200_000;

/// Something that a service has done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// What it is known by.
    pub id: String,
    /// The key under which it was asked for.
    pub key: String,
    /// The order that it was done for.
    pub order: i64,
    /// What was asked for.
    pub asked: Value,
    /// Whether it was taken back: released, refunded, cancelled.
    pub taken_back: bool,
}

/// A service's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body, JSON.
    pub body: Value,
}

impl Answer {
    /// A refusal, with the reason.
    pub fn refusal(status: u16, words: impl Into<String>) -> Self {
        let words: String = words.into();
        Self { status, body: json!({ "error": words }) }
    }
}

/// What a service has done. Under one key it does a thing once, and answers as before.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: Vec<Entry>,
    /// Where the entry of a key is.
    by_key: HashMap<String, usize>,
    /// Keys that were taken back before anything was done for them: a request that comes late is refused.
    void: HashSet<String>,
    repeats: u64,
    ignores_keys: bool,
}

impl Ledger {
    /// Does something for an order, once for each key. The same key with another request is refused.
    pub fn make(&mut self, prefix: &str, key: &str, order: i64, asked: &Value) -> Answer {
        if !self.ignores_keys
            && let Some(before) = self.by_key.get(key).and_then(|place| self.entries.get(*place))
        {
            if before.asked != *asked {
                return Answer::refusal(
                    422,
                    "this key was used for another request: give each request its own",
                );
            }
            let answer = made(before);
            self.repeats += 1;
            return answer;
        }
        if self.void.contains(key) {
            return Answer::refusal(409, "this key was taken back before: nothing is done for it any more");
        }
        if self.entries.len() >= MAX_ENTRIES {
            return Answer::refusal(507, "the ledger is full: start the shop again");
        }
        let id = format!("{prefix}-{}", self.entries.len() + 1);
        let entry = Entry { id, key: key.to_owned(), order, asked: asked.clone(), taken_back: false };
        let answer = made(&entry);
        self.by_key.insert(entry.key.clone(), self.entries.len());
        self.entries.push(entry);
        answer
    }

    /// Takes back what is known by this id. Twice is once.
    pub fn take_back(&mut self, id: &str) -> Answer {
        match self.entries.iter_mut().find(|entry| entry.id == id) {
            Some(entry) => {
                entry.taken_back = true;
                Answer { status: 200, body: json!({ "id": id, "taken_back": true }) }
            }
            None => Answer::refusal(404, "nothing is known by this id"),
        }
    }

    /// Takes back whatever was done under this key, and sees to it that nothing will be.
    pub fn take_back_by_key(&mut self, key: &str) -> Answer {
        let mut found = false;
        for entry in self.entries.iter_mut().filter(|entry| entry.key == key) {
            (entry.taken_back, found) = (true, true);
        }
        if !found && self.void.len() < MAX_ENTRIES {
            self.void.insert(key.to_owned());
        }
        Answer { status: 200, body: json!({ "key": key, "taken_back": found }) }
    }

    /// All that was ever done, in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How often something was asked for again, and answered as before.
    #[must_use]
    pub const fn repeats(&self) -> u64 {
        self.repeats
    }

    /// Does a thing again each time that it is asked for, as careless services do.
    pub(crate) fn ignore_keys(&mut self, ignores: bool) {
        self.ignores_keys = ignores;
    }
}

fn made(entry: &Entry) -> Answer {
    Answer { status: 201, body: json!({ "id": entry.id, "order": entry.order }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_key_is_answered_as_before() {
        let mut ledger = Ledger::default();
        let asked = json!({ "order": 7, "sku": "lamp" });
        let first = ledger.make("r", "k-1", 7, &asked);
        assert_eq!(first, Answer { status: 201, body: json!({ "id": "r-1", "order": 7 }) });
        assert_eq!(ledger.make("r", "k-1", 7, &asked), first);
        assert_eq!(ledger.make("r", "k-2", 8, &asked).body["id"], "r-2");
        assert_eq!((ledger.entries().len(), ledger.repeats()), (2, 1));
    }

    #[test]
    fn the_same_key_with_another_request_is_refused() {
        let mut ledger = Ledger::default();
        ledger.make("r", "k-1", 7, &json!(1));
        assert_eq!(ledger.make("r", "k-1", 7, &json!(2)).status, 422);
        assert_eq!((ledger.entries().len(), ledger.repeats()), (1, 0));
    }

    #[test]
    fn taking_back_twice_is_once_and_leaves_the_entry() {
        let mut ledger = Ledger::default();
        ledger.make("r", "k-1", 7, &json!(1));
        assert_eq!(ledger.take_back("r-1"), ledger.take_back("r-1"));
        assert!(ledger.entries()[0].taken_back);
        assert_eq!(ledger.take_back("r-2").status, 404);
    }

    #[test]
    fn what_was_taken_back_before_it_was_made_is_never_made() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.take_back_by_key("k-1").body["taken_back"], false);
        assert_eq!(ledger.make("c", "k-1", 7, &json!(1)).status, 409);
        ledger.make("c", "k-2", 7, &json!(1));
        assert_eq!(ledger.take_back_by_key("k-2").body["taken_back"], true);
        assert_eq!(ledger.entries().len(), 1);
    }

    #[test]
    fn a_careless_ledger_doubles() {
        let mut ledger = Ledger::default();
        ledger.ignore_keys(true);
        ledger.make("r", "k-1", 7, &json!(1));
        ledger.make("r", "k-1", 7, &json!(1));
        assert_eq!(ledger.entries().len(), 2);
    }
}
