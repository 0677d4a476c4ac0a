//! What waits for the writer: work, and whoever wants to know how it went.

use rusqlite::Connection;
use steadfast_engine::Time;
use steadfast_store::Error;

use crate::answer::Sender;

pub(crate) trait Job: Send {
    /// How much it writes, about.
    fn bytes(&self) -> usize;

    /// Does it, in a transaction that is not its own. It may be rolled back and done again: only the last time counts.
    fn run(&mut self, connection: &Connection, now: Time) -> rusqlite::Result<()>;

    /// Answers: `Ok` only once what the last run did is durable.
    fn answer(self: Box<Self>, result: Result<(), Error>);
}

pub(crate) struct Work<F, T> {
    pub(crate) work: F,
    pub(crate) bytes: usize,
    pub(crate) done: Option<T>,
    pub(crate) sender: Sender<T>,
}

impl<F, T> Job for Work<F, T>
where
    F: FnMut(&Connection, Time) -> rusqlite::Result<T> + Send,
    T: Send,
{
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn run(&mut self, connection: &Connection, now: Time) -> rusqlite::Result<()> {
        self.done = None;
        self.done = Some((self.work)(connection, now)?);
        Ok(())
    }

    fn answer(self: Box<Self>, result: Result<(), Error>) {
        let Self { done, sender, .. } = *self;
        match (result, done) {
            (Ok(()), Some(done)) => sender.tell(Ok(done)),
            (Err(error), _) => sender.tell(Err(error)),
            // It was never run: the sender tells that as it is dropped.
            (Ok(()), None) => {}
        }
    }
}
