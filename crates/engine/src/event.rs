//! What happens to a task.

use std::sync::Arc;

use crate::action::Action;
use crate::definition::StepId;
use crate::task::{Cause, Token};
use crate::time::Time;

/// What happened. Retry decisions and evaluated conditions come inside.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A scheduler has claimed the task: it begins, or goes on from where it was.
    Claimed,
    /// A condition was evaluated.
    Judged {
        /// Whose.
        step: StepId,
        /// Whether the step is to run.
        holds: bool,
    },
    /// A condition could not be evaluated: its step fails for good.
    Unjudged {
        /// Whose.
        step: StepId,
        /// What was wrong, in words.
        why: Arc<str>,
    },
    /// The service has room: the attempt is to begin, of a step that could run or that is parked.
    Granted {
        /// Which step, or its undo.
        step: StepId,
        /// What the URL is known by of a step whose service may call back. Without meaning for others.
        token: Token,
    },
    /// The service has no room, or nobody serves it. No attempt is counted.
    Refused {
        /// Which step, or its undo.
        step: StepId,
        /// What it waits for.
        block: Block,
        /// When to ask again; `None` until the service's gate lets it go.
        until: Option<Time>,
    },
    /// What a parked step waited for is there.
    Released {
        /// Which step, or its undo.
        step: StepId,
    },
    /// The time until which a step waits has come.
    Due {
        /// Which step, or its undo.
        step: StepId,
    },
    /// An agent has answered.
    Answered {
        /// Which step, or its undo.
        step: StepId,
        /// Which attempt: the answer of an older one changes nothing.
        attempt: u32,
        /// What it said.
        answer: Answer,
    },
    /// A service has answered later, at the URL that it was given. What it gave comes beside the event.
    CalledBack {
        /// Which step.
        step: StepId,
        /// What that URL is known by.
        token: Token,
        /// A number made of all that it said: the same said twice has the same.
        said: u64,
        /// When it came. What came in time counts, however late it is acted on.
        at: Time,
        /// What it said.
        answer: Answer,
    },
    /// An attempt has not answered by its complete-by.
    TimedOut {
        /// Which step, or its undo.
        step: StepId,
        /// Which attempt.
        attempt: u32,
    },
    /// The process in which an attempt ran is dead.
    OwnerDied {
        /// Which step, or its undo.
        step: StepId,
        /// Which attempt.
        attempt: u32,
    },
    /// An attempt was cut off, since its process was shut down: it has failed in no way, and may have happened.
    CutOff {
        /// Which step, or its undo.
        step: StepId,
        /// Which attempt.
        attempt: u32,
    },
    /// The time was computed until which a step waits.
    Until {
        /// Which step.
        step: StepId,
        /// Until when; a time that has passed is now.
        at: Time,
    },
    /// The list was made for whose items a step is made. The items come beside the event.
    Listed {
        /// Which step.
        step: StepId,
        /// How many items there are.
        items: usize,
    },
    /// Somebody has sent a signal. What it says comes beside the event, and goes where the plan says.
    Signalled {
        /// Its name.
        signal: Arc<str>,
        /// Whatever tells it from others of the task, so that one that is sent twice counts once.
        id: Option<Arc<str>>,
    },
    /// What a kept signal says was read, for the step that takes it.
    Taken {
        /// Which step.
        step: StepId,
    },
    /// The task that a step has asked for has ended.
    Woken {
        /// Which step, or its undo.
        step: StepId,
    },
    /// An attempt tells how far it has come. That comes beside the event.
    Progressed {
        /// Which step.
        step: StepId,
        /// Which attempt.
        attempt: u32,
    },
    /// The task's deadline has passed.
    DeadlinePassed,
    /// Somebody wants the task undone before it has ended.
    Cancelled {
        /// Who and why.
        cause: Cause,
    },
    /// An operator asks something of the task, at rest or not. An input or an output comes beside the event.
    Asked {
        /// What.
        action: Action,
        /// Who.
        by: Arc<str>,
        /// Why.
        why: Arc<str>,
    },
}

impl Event {
    /// The service has room for a step that is answered at once.
    #[must_use]
    pub fn granted(step: StepId) -> Self {
        Self::Granted { step, token: Token::default() }
    }

    /// The step or item that it is about, if it is about one.
    #[must_use]
    pub fn step(&self) -> Option<StepId> {
        match self {
            Self::Judged { step, .. }
            | Self::Unjudged { step, .. }
            | Self::Granted { step, .. }
            | Self::Refused { step, .. }
            | Self::Released { step }
            | Self::Due { step }
            | Self::Answered { step, .. }
            | Self::CalledBack { step, .. }
            | Self::TimedOut { step, .. }
            | Self::OwnerDied { step, .. }
            | Self::CutOff { step, .. }
            | Self::Until { step, .. }
            | Self::Listed { step, .. }
            | Self::Taken { step }
            | Self::Woken { step }
            | Self::Progressed { step, .. } => Some(*step),
            Self::Asked { action, .. } => action.step(),
            Self::Claimed | Self::Signalled { .. } | Self::DeadlinePassed | Self::Cancelled { .. } => None,
        }
    }
}

/// What an agent said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Completed,
    /// It is not.
    Failed(Failure),
    /// Nothing was called: no failure is counted, and the step is parked.
    NotMade {
        /// What it waits for.
        block: Block,
        /// When to ask again; `None` until the service's gate lets it go.
        until: Option<Time>,
    },
    /// A round of a repeated step is over, and it is not done; or the task goes on that a step has asked for.
    NotYet,
    /// It was not heard of in time and is given up: nobody knows whether it happened.
    Unheard,
    /// The service has taken it on, and will call back.
    Later {
        /// How many calls the agent made.
        calls: u32,
    },
}

/// How an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which sort of failure, such as `timeout`.
    pub kind: Arc<str>,
    /// How many calls the agent made.
    pub calls: u32,
    /// Whether the service may have done it nonetheless.
    pub effect: Effect,
    /// When the retry policy wants another attempt; `None` for never.
    pub again: Option<Time>,
}

/// Whether a failed attempt may have taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Effect {
    /// It has not.
    None,
    /// It may have.
    Possible,
    /// It has not, and no attempt before it has: the service said no for good, and all of them had one key.
    Refused,
}

/// What a step waits for that is not its turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Block {
    /// The service's breaker is open.
    Breaker,
    /// The service's limit is reached.
    Limit,
    /// Nobody here knows how to carry the step out.
    NoHandler,
    /// The process died under it before, and under another that runs now: which of them did it shows when they run apart.
    Suspect,
}
