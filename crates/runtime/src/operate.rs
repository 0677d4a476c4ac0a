//! Operators. What they ask goes by mail to whoever owns the task, also to one at rest; what became of it is in the audit log,
//! written with what was done.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steadfast_engine::{Action, Ignored, StepId};
use steadfast_store::{
    Audit, AuditId, Audited, Kind, Labels, MAX_LABELS, MAX_PAYLOAD, MAX_REASON, Message, Payload, PayloadKey,
    Posted, Store, TaskId,
};
use tokio::sync::oneshot;

use crate::error::{Error, ErrorKind};
use crate::message::{Operation, Request};
use crate::node::Node;
use crate::scheduler::Inbox;
use crate::workflow::Workflow;

/// How often the log is asked for what another node may have done.
const LOOK: Duration = Duration::from_secs(1);
/// How long it is waited for.
const LONGEST: Duration = Duration::from_secs(30);

/// Who waits for what they have asked.
#[derive(Debug, Default)]
pub(crate) struct Operators {
    waiting: Mutex<HashMap<AuditId, Vec<oneshot::Sender<Audit>>>>,
}

impl Operators {
    fn waiting(&self) -> MutexGuard<'_, HashMap<AuditId, Vec<oneshot::Sender<Audit>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait_for(&self, id: AuditId) -> Waiting<'_> {
        let (told, answer) = oneshot::channel();
        self.waiting().entry(id).or_default().push(told);
        Waiting { operators: self, id, answer }
    }

    /// These are durable.
    pub(crate) fn told(&self, audits: Vec<Audit>) {
        for audit in audits {
            let waits = self.waiting().remove(&audit.id);
            for waits in waits.into_iter().flatten() {
                let _ = waits.send(audit.clone());
            }
        }
    }
}

/// Somebody who waits, perhaps beside others who have asked under the same id. One who does not any more is forgotten.
pub(crate) struct Waiting<'o> {
    operators: &'o Operators,
    id: AuditId,
    answer: oneshot::Receiver<Audit>,
}

impl Waiting<'_> {
    /// What became of it, as soon as that is known here.
    pub(crate) async fn answered(&mut self) -> Option<Audit> {
        (&mut self.answer).await.ok()
    }

    /// What became of it, once that is known here.
    pub(crate) fn told(&mut self) -> Option<Audit> {
        self.answer.try_recv().ok()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.answer.close();
        let mut waiting = self.operators.waiting();
        if let Some(told) = waiting.get_mut(&self.id) {
            told.retain(|told| !told.is_closed());
            if told.is_empty() {
                waiting.remove(&self.id);
            }
        }
    }
}

impl Operation {
    /// What somebody asks, and why.
    #[must_use]
    pub fn new(action: Action, by: &str, why: &str) -> Self {
        let id = uuid::Uuid::now_v7().as_u128();
        Self { id, action, by: Arc::from(by), why: Arc::from(why), brings: None }
    }

    /// With an input, or an output, as the action needs it.
    #[must_use]
    pub fn bringing(self, brings: Option<Payload>) -> Self {
        Self { brings, ..self }
    }

    /// Under this id: whoever asks again under it has it done once.
    #[must_use]
    pub fn under(self, id: AuditId) -> Self {
        Self { id: id.as_u128(), ..self }
    }

    /// What it is in the audit log.
    #[must_use]
    pub fn id(&self) -> AuditId {
        AuditId::from_u128(self.id)
    }

    /// What is asked.
    #[must_use]
    pub fn action(&self) -> Action {
        self.action
    }

    fn check(&self, task: TaskId) -> Result<(), Error> {
        if let Some(why) = unsaid(&self.by, &self.why) {
            let (action, why) = (self.action.name().to_owned(), why.to_owned());
            return Err(ErrorKind::Refused { task, action, why }.into());
        }
        let brings = self.brings.as_ref().map_or(0, |brings| brings.len());
        let reason = self.by.len() + self.why.len();
        for (what, bytes, most) in
            [("who asks, with the reason,", reason, MAX_REASON), ("what is given", brings, MAX_PAYLOAD)]
        {
            if bytes > most {
                let message = format!("{what} has {bytes} bytes, at most {most} are allowed");
                return Err(steadfast_store::Error::new(Kind::TooLarge, message).into());
            }
        }
        Ok(())
    }
}

/// What is missing in who asks and why.
pub(crate) fn unsaid(by: &str, why: &str) -> Option<&'static str> {
    let said = [
        (by, "nobody says who asks: give the operator a name"),
        (why, "nobody says why: it is kept for those who ask later"),
    ];
    said.into_iter().find(|(text, _)| text.trim().is_empty()).map(|(_, missing)| missing)
}

/// Why something was not done.
fn refused(task: TaskId, action: String, why: &str) -> ErrorKind {
    let is = |ignored: Ignored| ignored.to_string() == why;
    match () {
        () if is(Ignored::Ended) => ErrorKind::Ended(task),
        () if is(Ignored::NoReturn) => ErrorKind::NoReturn(task),
        () => ErrorKind::Refused { task, action, why: why.to_owned() },
    }
}

impl<S: Store> Node<S> {
    /// Asks something of a task as an operator, whether or not it is at rest, and waits until it is done. It is in the audit log,
    /// with who asked and why; also if it was refused.
    ///
    /// # Errors
    /// The store's; a task that does not exist; what was refused, with the reason; nobody has acted on it for half a minute:
    /// it is stored then, and will be.
    pub async fn operate(&self, task: TaskId, operation: Operation) -> Result<Audit, Error> {
        operation.check(task)?;
        self.check_labels(task, &operation).await?;
        self.check_given(task, &operation).await?;
        let (id, action) = (operation.id(), operation.action.name().to_owned());
        let shared = self.shared();
        let mut waiting = shared.operators.wait_for(id);
        let message = Message { asked: Some(id), ..Message::new(task, Request::Operate(operation).pack()) };
        steadfast_store::failpoint!("operate.before_post");
        let posted = shared.store.post(vec![message]).await?;
        steadfast_store::failpoint!("operate.after_post");
        if !matches!(posted[..], [Posted::Done(_) | Posted::Again]) {
            return Err(ErrorKind::UnknownTask(task).into());
        }
        shared.tell(Inbox::Look);
        let until = shared.clock.now() + LONGEST;
        let mut hears = true;
        let audit = loop {
            tokio::select! {
                told = waiting.answered(), if hears => match told {
                    Some(audit) => break audit,
                    None => hears = false,
                },
                () = shared.clock.sleep(LOOK) => {}
            }
            if let Some(audited) = shared.store.audited(id).await? {
                break audited.audit;
            }
            if shared.clock.now() >= until {
                return Err(ErrorKind::NotActedOn { task, action, id }.into());
            }
        };
        if audit.task != Some(task) || *audit.action != *action {
            let of = audit.task.map_or_else(String::new, |task| format!(" of task {task}"));
            let why =
                format!("id {id} was used before, for `{}`{of}: use an id for one thing only", audit.action);
            return Err(ErrorKind::Refused { task, action, why }.into());
        }
        match &audit.refused {
            Some(why) => Err(refused(task, action, why).into()),
            None => Ok(audit),
        }
    }

    /// Whether an input or an output that is given fits: a step that has ended with one that does not could not be repaired.
    async fn check_given(&self, task: TaskId, operation: &Operation) -> Result<(), Error> {
        let (step, as_input) = match operation.action {
            Action::Retry { step, .. } => (step, true),
            Action::Skip { step, .. } => (step, false),
            _ => return Ok(()),
        };
        let happened = matches!(operation.action, Action::Skip { happened: true, .. });
        if operation.brings.is_none() && !happened {
            return Ok(());
        }
        let stored = self.read(task).await?;
        let workflow = self.shared().workflow_of(&stored);
        let fits = |workflow: Arc<Workflow>| match &operation.brings {
            Some(given) => workflow.fits(step, as_input, given),
            None => workflow.can_be_undone_without_output(step),
        };
        workflow.map_or(Ok(()), fits).map_err(|why| {
            let action = operation.action.name().to_owned();
            ErrorKind::Refused { task, action, why }.into()
        })
    }

    /// Whether a task has room for the labels that it is to have.
    async fn check_labels(&self, task: TaskId, operation: &Operation) -> Result<(), Error> {
        let Some(change) = operation.brings.as_ref().filter(|_| operation.action == Action::Label) else {
            return Ok(());
        };
        let had = self.labels(vec![task]).await?.remove(0);
        let (before, count) = (had.count(), had.changed(Labels::read(change)).count());
        // One that has too many from elsewhere may have fewer.
        match count > MAX_LABELS && count > before {
            true => {
                let message = format!("it would have {count} labels, at most {MAX_LABELS} are allowed");
                Err(steadfast_store::Error::new(Kind::TooLarge, message).into())
            }
            false => Ok(()),
        }
    }

    /// The labels of these tasks.
    ///
    /// # Errors
    /// The store's.
    pub async fn labels(&self, tasks: Vec<TaskId>) -> Result<Vec<Labels>, Error> {
        let key = |task| PayloadKey { task, step: Some(StepId::OF_LABELS) };
        let read = self.shared().store.payloads(tasks.into_iter().map(key).collect()).await?;
        Ok(read.into_iter().map(|kept| Labels::read(&kept.unwrap_or_default())).collect())
    }

    /// What operators have done, newest first, at most so many: to one task or to all, before the given entry.
    ///
    /// # Errors
    /// The store's.
    pub async fn audits(
        &self,
        task: Option<TaskId>,
        before: Option<AuditId>,
        most: usize,
    ) -> Result<Vec<Audited>, Error> {
        Ok(self.shared().store.audits(task, before, most).await?)
    }
}
