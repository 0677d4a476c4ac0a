//! A group of operations that is retried as a whole.

use crate::problem::{Code, Problem};

/// Operations that stand or fall together under one policy: waits, elapsed time and attempts count the whole.
///
/// Each member has its own key: `attempt.key().member("reserve")`. A member that is not idempotent makes the group so:
/// it is then not retried once a request may have taken effect, and [`warnings`](Self::warnings) says which it is.
///
/// ```
/// use steadfast_resilience::Group;
///
/// let checkout = Group::new("checkout").member("reserve").member_not_idempotent("charge");
/// assert!(checkout.warnings()[0].message.contains("`charge`"));
/// ```
#[derive(Clone, Debug)]
pub struct Group {
    name: &'static str,
    members: Vec<(&'static str, bool)>,
}

impl Group {
    /// A group without members yet.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { name, members: Vec::new() }
    }

    /// With a member that may be repeated.
    #[must_use]
    pub fn member(mut self, name: &'static str) -> Self {
        self.members.push((name, true));
        self
    }

    /// With a member that must not be repeated once it may have taken effect.
    #[must_use]
    pub fn member_not_idempotent(mut self, name: &'static str) -> Self {
        self.members.push((name, false));
        self
    }

    /// The group's name, which is its operation's in logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether every member may be repeated.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.members.iter().all(|(_, idempotent)| *idempotent)
    }

    /// Members that make repeating the group dangerous.
    #[must_use]
    pub fn warnings(&self) -> Vec<Problem> {
        let warn = |(name, _): &(&'static str, bool)| Problem {
            code: Code::NotIdempotent,
            setting: "group.member",
            message: format!(
                "`{name}` in group `{}` is not idempotent: a retry of the group repeats it; give the service its key, or move it out",
                self.name
            ),
        };
        self.members.iter().filter(|(_, idempotent)| !idempotent).map(warn).collect()
    }
}
