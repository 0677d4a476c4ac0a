//! Steps whose service takes the work on and answers later.
//!
//! The attempt runs on, until its callback comes or its time is over; no process has to live for that. What comes in time counts,
//! also before the agent has said that the service took the work on.

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
        let (now, deadline) = (self.now, self.head().deadline);
        let within = self.rules(id).callback_within().ok_or(Ignored::NotNow)?;
        let until = deadline.map_or(now + within, |end| (now + within).min(end));
        self.change(id, |record| {
            record.complete_by = Some(until);
            // How it ends counts one more.
            record.calls = record.calls.saturating_add(calls.saturating_sub(1));
            record.change_more(|more| more.since = Some(now));
        });
        Ok(())
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
