//! Steps whose service takes the work on and answers later.
//!
//! The attempt runs on, until its callback comes or its time is over; no process has to live for that. What comes in time counts,
//! also before the agent has said that the service took the work on.

use std::time::Duration;

use super::Followed;
use super::draft::Draft;
use crate::definition::StepId;
use crate::event::Answer;
use crate::plan::Ignored;
use crate::task::Token;
use crate::time::Time;

impl Draft<'_> {
    /// The service has taken the work on: from now on it has its own time.
    pub(super) fn taken_on(&mut self, id: StepId, calls: u32) -> Followed {
        let now = self.now;
        let within = self.rules(id).callback_within().ok_or(Ignored::NotNow)?;
        let until = self.until_callback(now, within);
        self.change(id, |record| {
            record.complete_by = Some(until);
            // How it ends counts one more.
            record.calls = record.calls.saturating_add(calls.saturating_sub(1));
            record.change_more(|more| more.since = Some(now));
        });
        Ok(())
    }

    /// The time of a service that took the work on at this time: no longer than the task's, which stands still while it is paused.
    fn until_callback(&self, since: Time, within: Duration) -> Time {
        let until = since + within;
        self.head().deadline.map_or(until, |end| until.min(end))
    }

    /// The task has another deadline: so have services that have taken its work on.
    pub(super) fn fit_callbacks(&mut self) {
        let awaited: Vec<_> =
            self.task().rows().map(|(id, _)| id).filter(|id| self.awaits_callback(*id)).collect();
        for id in awaited {
            let Some((since, within)) = self.record(id).since().zip(self.rules(id).callback_within()) else {
                continue;
            };
            let until = self.until_callback(since, within);
            self.change(id, |record| record.complete_by = Some(until));
        }
    }

    /// The service has answered.
    pub(super) fn called_back(
        &mut self,
        id: StepId,
        heard: (Token, u64),
        at: Time,
        answer: &Answer,
    ) -> Followed {
        let (_, said) = heard;
        self.task().takes_callback(self.definition, id, heard, at).map_err(|_| Ignored::Late)?;
        self.change(id, |record| record.change_more(|more| more.callback.spend(Some(said))));
        match answer {
            Answer::Completed | Answer::NotYet | Answer::Failed(_) => self.forward_answer(id, answer),
            Answer::NotMade { .. } | Answer::Unheard | Answer::Later { .. } => Err(Ignored::NotNow),
        }
    }

    /// An attempt begins: the URL of the one before is its own too, unless an answer was taken there.
    pub(super) fn hand_out_url(&mut self, id: StepId, token: Token) {
        if self.rules(id).callback_within().is_some() && self.record(id).callback().open.is_none() {
            self.change(id, |record| record.change_more(|more| more.callback.open = Some(token)));
        }
    }

    /// Whether it is the service that has to answer, and no process.
    pub(super) fn awaits_callback(&self, id: StepId) -> bool {
        let record = self.record(id);
        let waits = record.is_running() && !record.is_undoing() && record.since().is_some();
        waits && self.rules(id).callback_within().is_some()
    }
}
