//! What those are told who submitted: part of the writes of their tasks.

use steadfast_engine::StepId;
use steadfast_store::{Outgoing, Store, SubmissionMore, TaskId};

use super::Scheduler;
use super::fold::Folded;
use super::owned::Owned;
use crate::extra::Extra;
use crate::reply::{Replying, Telling};

impl<S: Store> Scheduler<S> {
    /// What few submissions have, as it is stored.
    pub(super) fn more(
        &self,
        replying: Option<&Replying>,
        extra: Option<&Extra>,
    ) -> Option<Box<SubmissionMore>> {
        let most = self.shared.settings.replies.most_waiting;
        let (reply, arrival) =
            (replying.map(|replying| replying.place(most)), extra.and_then(|extra| extra.arrival));
        let parent = replying.and_then(Replying::parent);
        (reply.is_some() || arrival.is_some()).then(|| Box::new(SubmissionMore { reply, arrival, parent }))
    }

    /// What those are told who submitted a task, by what a fold has come to.
    pub(super) fn tells(
        &self,
        id: TaskId,
        owned: &Owned,
        replying: &mut Replying,
        folded: &Folded,
    ) -> Vec<Outgoing> {
        let telling = Telling {
            task: id,
            workflow: &owned.workflow,
            rows: &owned.task,
            now: self.shared.now(),
            most: self.shared.settings.replies.most_waiting,
        };
        replying.tell(&telling, (folded.state_changed, &folded.notices), &folded.outputs)
    }

    /// What whoever submitted the task is told, and that it was told: in the same write.
    pub(super) fn reply(&self, id: TaskId, owned: &mut Owned, mut folded: Folded) -> (Folded, Vec<Outgoing>) {
        let Some(mut replying) = owned.reply.take() else { return (folded, Vec::new()) };
        let replies = self.tells(id, owned, &mut replying, &folded);
        // A task that waits for this one has no numbers of what it was told.
        if !replies.is_empty() && replying.parent().is_none() {
            folded.outputs.push((StepId::OF_REPLIES, replying.pack()));
        }
        owned.reply = Some(replying);
        (folded, replies)
    }
}
