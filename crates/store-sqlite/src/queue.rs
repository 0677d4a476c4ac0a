//! Jobs that wait for the writer, first come first served.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use steadfast_store::{Error, Kind};

use crate::job::Job;

/// The most jobs of one commit: at some 20 us each the first waits no more than 10 ms for the last.
const MOST_JOBS: usize = 512;
/// The most bytes of one commit, but for a single job that is larger: it keeps the log near the size at which it is
/// copied into the file.
const MOST_BYTES: usize = 4 << 20;
/// The most jobs that wait. Each has a caller that waits too, so that this is only reached when the disk is stuck.
const MOST_WAITING: usize = 1 << 16;
/// The most bytes that wait, for the same reason.
const MOST_BYTES_WAITING: usize = 256 << 20;

pub(crate) type Group = Vec<Box<dyn Job>>;

#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    came: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Box<dyn Job>>,
    bytes: usize,
    closed: bool,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a job in and tells whether it is the first that waits, or gives it back with the reason. Who does not wake the writer
    /// looks after the first one, and so after all that come behind it.
    pub(crate) fn push(&self, job: Box<dyn Job>, wakes: bool) -> Result<bool, (Box<dyn Job>, Error)> {
        let mut waiting = self.waiting();
        if waiting.jobs.len() >= MOST_WAITING || waiting.bytes >= MOST_BYTES_WAITING {
            let message = format!(
                "{} writes of {} bytes wait for the disk: it is stuck, or too slow for what is asked of it",
                waiting.jobs.len(),
                waiting.bytes
            );
            drop(waiting);
            return Err((job, Error::new(Kind::Unavailable, message)));
        }
        waiting.bytes += job.bytes();
        waiting.jobs.push_back(job);
        let first = waiting.jobs.len() == 1;
        if wakes && first {
            drop(waiting);
            self.came.notify_one();
        }
        Ok(first)
    }

    /// What goes into one commit: all that waits, up to the limits. Empty when nothing does.
    pub(crate) fn take(&self) -> Group {
        self.waiting().take()
    }

    /// The same, by somebody who does not come back for more: the writer is woken for what is left.
    pub(crate) fn take_once(&self) -> Group {
        let mut waiting = self.waiting();
        let group = waiting.take();
        if !waiting.jobs.is_empty() {
            drop(waiting);
            self.wake();
        }
        group
    }

    /// Waits for the first job; `false` only once the queue is closed and nothing is left.
    pub(crate) fn wait(&self) -> bool {
        let idle = |waiting: &mut Waiting| waiting.jobs.is_empty() && !waiting.closed;
        let waiting = self.came.wait_while(self.waiting(), idle).unwrap_or_else(PoisonError::into_inner);
        !waiting.jobs.is_empty()
    }

    /// Wakes who waits.
    pub(crate) fn wake(&self) {
        self.came.notify_one();
    }

    /// No more jobs will come.
    pub(crate) fn close(&self) {
        self.waiting().closed = true;
        self.came.notify_one();
    }
}

impl Waiting {
    fn take(&mut self) -> Group {
        let (mut jobs, mut bytes) = (0, 0);
        for job in self.jobs.iter().take(MOST_JOBS) {
            if jobs > 0 && bytes + job.bytes() > MOST_BYTES {
                break;
            }
            (jobs, bytes) = (jobs + 1, bytes + job.bytes());
        }
        self.bytes -= bytes;
        self.jobs.drain(..jobs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::answer;
    use crate::job::Work;

    fn job(bytes: usize) -> Box<dyn Job> {
        Box::new(Work { work: |_: &_, _| Ok(()), bytes, done: None, sender: answer().0 })
    }

    /// Fills a queue with jobs of this size; how many it took.
    fn fill(queue: &Queue, bytes: usize) -> usize {
        let refused = |_: &usize| {
            queue.push(job(bytes), true).map_err(|(_, error)| error.kind()) == Err(Kind::Unavailable)
        };
        (0..=MOST_WAITING).find(refused).unwrap()
    }

    #[test]
    fn a_queue_that_is_full_takes_no_more_until_some_were_taken() {
        for (bytes, most, group) in [(0, MOST_WAITING, MOST_JOBS), (1 << 20, 256, 4)] {
            let queue = Queue::default();
            assert_eq!(fill(&queue, bytes), most);
            assert_eq!(queue.take().len(), group);
            assert_eq!(fill(&queue, bytes), group, "as many as were taken");
        }
    }

    #[test]
    fn one_that_is_larger_than_a_commit_goes_alone() {
        let queue = Queue::default();
        for bytes in [1, MOST_BYTES + 1, 1, 1] {
            assert!(queue.push(job(bytes), true).is_ok());
        }
        let groups: Vec<_> = (0..4).map(|_| queue.take().len()).collect();
        assert_eq!(groups, [1, 1, 2, 0]);
    }

    #[test]
    fn what_waits_when_it_is_closed_is_still_taken() {
        let queue = Queue::default();
        assert!(queue.push(job(0), true).is_ok());
        queue.close();
        assert!(queue.wait());
        assert_eq!(queue.take().len(), 1);
        assert!(!queue.wait());
    }
}
