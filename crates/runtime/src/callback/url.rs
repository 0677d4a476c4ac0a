//! What stands at the end of a URL at which a service may answer later: which step it is, and what nobody can guess.

use std::fmt;
use std::str::FromStr;

use steadfast_engine::{StepId, Token};
use steadfast_store::TaskId;

/// What stands at the end of a URL at which a service may answer later. Whoever knows it may answer for the step: it is shown
/// to that service, and to nobody else.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallbackId {
    pub(super) task: TaskId,
    pub(super) step: StepId,
    pub(super) token: Token,
}

/// Sixteen bytes of a task, two of a step, sixteen that nobody can guess, in hexadecimal digits.
const DIGITS: usize = 2 * (16 + 2 + 16);

impl CallbackId {
    pub(crate) fn new(task: TaskId, step: StepId, token: Token) -> Self {
        Self { task, step, token }
    }

    /// Of which task it is.
    #[must_use]
    pub fn task(&self) -> TaskId {
        self.task
    }
}

/// As it stands in the URL.
impl fmt::Display for CallbackId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}{:04x}{:032x}", self.task.as_u128(), self.step.ordinal(), self.token.as_u128())
    }
}

/// Without what nobody may see.
impl fmt::Debug for CallbackId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackId")
            .field("task", &self.task)
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}

/// A text that is the end of no such URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it ends with {DIGITS} hexadecimal digits: call the URL as it was given")]
pub struct BadCallbackId;

impl FromStr for CallbackId {
    type Err = BadCallbackId;

    fn from_str(text: &str) -> Result<Self, BadCallbackId> {
        if text.len() != DIGITS || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(BadCallbackId);
        }
        let (task, rest) = text.split_at(32);
        let (step, token) = rest.split_at(4);
        let number = |text| u128::from_str_radix(text, 16).map_err(|_| BadCallbackId);
        let place = u16::from_str_radix(step, 16).map_err(|_| BadCallbackId)?;
        Ok(Self {
            task: TaskId::from_u128(number(task)?),
            step: StepId::at(place),
            token: Token::from_u128(number(token)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_is_written_and_shown_to_nobody() {
        let id = CallbackId::new(TaskId::from_u128(7), StepId::of_item(12), Token::from_u128(0xFEED_F00D));
        let text = id.to_string();
        assert_eq!((text.len(), text.parse()), (DIGITS, Ok(id)));
        assert!(!format!("{id:?}").to_lowercase().contains("feedf00d"));
        let cut = &text[1..];
        for bad in [
            "",
            cut,
            &format!("{text}0"),
            &format!("{cut}g"),
            &format!("+{cut}"),
            &format!("é{}", &text[2..]),
        ] {
            assert_eq!(bad.parse::<CallbackId>(), Err(BadCallbackId), "{bad}");
        }
    }
}
