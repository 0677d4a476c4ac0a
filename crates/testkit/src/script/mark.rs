//! Which requests a script is for. The others are served as if there were no script.

use std::fmt;
use std::sync::Arc;

use crate::request::Request;

#[derive(Clone, Default)]
pub(crate) enum Mark {
    #[default]
    Every,
    Header {
        name: String,
        value: String,
    },
    Predicate(Arc<dyn Fn(&Request) -> bool + Send + Sync>),
}

impl Mark {
    pub(crate) fn is_on(&self, request: &Request) -> bool {
        match self {
            Self::Every => true,
            // Any of the headers of this name: proxies on the way may have added one of their own.
            Self::Header { name, value } => request.headers().iter().any(|(given, said)| {
                given.eq_ignore_ascii_case(name) && said.trim().eq_ignore_ascii_case(value.trim())
            }),
            Self::Predicate(predicate) => predicate(request),
        }
    }

    pub(crate) fn is_for_every(&self) -> bool {
        matches!(self, Self::Every)
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every => f.write_str("Every"),
            Self::Header { name, value } => write!(f, "Header({name}: {value})"),
            Self::Predicate(_) => f.write_str("Predicate"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_in_any_case_and_among_others() {
        let mark = Mark::Header { name: "x-fault".to_owned(), value: "on".to_owned() };
        let plain = || Request::new("GET", "/");
        assert!(mark.is_on(&plain().with_header("X-Fault", "ON ")));
        assert!(mark.is_on(&plain().with_header("x-fault", "off").with_header("X-FAULT", "on")));
        assert!(!mark.is_on(&plain()));
        assert!(!mark.is_on(&plain().with_header("x-fault", "off")));
        assert!(!mark.is_on(&plain().with_header("x-faults", "on")));
    }
}
