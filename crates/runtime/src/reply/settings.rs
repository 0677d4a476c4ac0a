//! Who is called with replies, how often it is tried, and how many may wait.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::Reply;
use crate::outbox::wait_after;

/// Why a hook could not take a reply: any error.
pub type ReplyError = Box<dyn std::error::Error + Send + Sync>;

type Taken = Pin<Box<dyn Future<Output = Result<(), ReplyError>> + Send>>;

/// A function that is told replies.
pub(crate) type Hook = Arc<dyn Fn(Reply) -> Taken + Send + Sync>;

/// Who is called with replies, how often it is tried, and how many may wait.
#[derive(Clone)]
#[non_exhaustive]
pub struct ReplySettings {
    pub(crate) hooks: Vec<(Arc<str>, Hook)>,
    /// How long a hook may take for one reply.
    pub limit: Duration,
    /// The wait after the first time that a hook has failed; it doubles each time.
    pub first_wait: Duration,
    /// No wait is longer. A reply is never given up.
    pub longest_wait: Duration,
    /// The most replies that may wait for one address. Submissions that name it are refused from then on, and progress is left
    /// out; tasks under way still tell how they end. A million of some 200 bytes each are 200 MB of disk.
    pub most_waiting: u64,
}

impl ReplySettings {
    /// Calls this function with the replies to the hook of this name. The last one of a name counts.
    pub fn on_reply<F, Fut>(&mut self, name: &str, hook: F)
    where
        F: Fn(Reply) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), ReplyError>> + Send + 'static,
    {
        self.hooks.retain(|(other, _)| **other != *name);
        self.hooks.push((Arc::from(name), Arc::new(move |reply| Box::pin(hook(reply)))));
    }

    /// How long a reply is this node's to deliver.
    pub(crate) fn hold(&self) -> Duration {
        self.limit * 3
    }

    /// The wait after so many tries.
    pub(crate) fn wait_after(&self, tries: u32) -> Duration {
        wait_after(tries, self.first_wait, self.longest_wait)
    }

    /// What of them makes no sense, in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        let least = Duration::from_millis(1);
        let times = [("limit", self.limit), ("first_wait", self.first_wait)];
        if let Some((name, time)) = times.into_iter().find(|(_, time)| *time < least) {
            return Err(format!("`replies.{name}` is {time:?}: it must be at least {least:?}"));
        }
        match self.most_waiting {
            0 => Err("`replies.most_waiting` is 0: no submission could ever name a reply address".to_owned()),
            _ => Ok(()),
        }
    }
}

impl Default for ReplySettings {
    fn default() -> Self {
        Self {
            hooks: Vec::new(),
            limit: Duration::from_secs(10),
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(300),
            most_waiting: 1_000_000,
        }
    }
}

impl fmt::Debug for ReplySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hooks: Vec<_> = self.hooks.iter().map(|(name, _)| name).collect();
        f.debug_struct("ReplySettings")
            .field("hooks", &hooks)
            .field("limit", &self.limit)
            .field("most_waiting", &self.most_waiting)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_named() {
        assert_eq!(ReplySettings::default().check(), Ok(()));
        let none = ReplySettings { most_waiting: 0, ..ReplySettings::default() };
        assert!(none.check().unwrap_err().starts_with("`replies.most_waiting` is 0"));
        let quick = ReplySettings { limit: Duration::ZERO, ..ReplySettings::default() };
        assert_eq!(quick.check().unwrap_err(), "`replies.limit` is 0ns: it must be at least 1ms");
    }
}
