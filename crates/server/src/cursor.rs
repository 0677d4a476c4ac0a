//! Cursors: where a list goes on. One is good for the list and the filters that it was given out for, and for nothing else.

use http::StatusCode;

use crate::code::Code;
use crate::problem::Refusal;

/// Which list: its name and all that was looked for, so that a cursor of another one is found out.
#[derive(Clone, Debug)]
pub(crate) struct List(u32);

impl List {
    pub(crate) fn new(name: &str, looked_for: &str) -> Self {
        Self(fold(fold(SEED, name.as_bytes()), looked_for.as_bytes()))
    }

    /// The cursor that stands for this place.
    pub(crate) fn give(&self, place: u128) -> String {
        format!("{place:032x}{:08x}", self.check(place))
    }

    /// The place that a cursor stands for.
    pub(crate) fn take(&self, cursor: &str) -> Result<u128, Refusal> {
        let bad = || {
            let detail = "`query.cursor` was not given out for this list with these filters: use the one of the page \
                          before, with the same filters, or leave it out to begin anew";
            Refusal::new(StatusCode::BAD_REQUEST, Code::BadCursor, detail)
        };
        let (place, check) = cursor.split_at_checked(32).ok_or_else(bad)?;
        let plain = cursor.len() == 40 && cursor.bytes().all(|byte| byte.is_ascii_hexdigit());
        let place = u128::from_str_radix(place, 16).ok().filter(|_| plain).ok_or_else(bad)?;
        let given = u32::from_str_radix(check, 16).map_err(|_| bad())?;
        if given == self.check(place) { Ok(place) } else { Err(bad()) }
    }

    fn check(&self, place: u128) -> u32 {
        fold(self.0, &place.to_be_bytes())
    }
}

const SEED: u32 = 0x811c_9dc5;

/// FNV-1a. It finds slips, and keeps nobody out: a cursor is no secret.
fn fold(hash: u32, bytes: &[u8]) -> u32 {
    // The end counts too, so that what is moved from one part to the next shows.
    bytes.iter().chain([&0xff]).fold(hash, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_good_for_its_own_list_only() {
        let list = List::new("tasks", "state=failed");
        let cursor = list.give(7);
        assert_eq!(list.take(&cursor).unwrap(), 7);
        let others =
            [List::new("tasks", "state=paused"), List::new("audit", "state=failed"), List::new("tasks", "")];
        for other in others {
            assert!(other.take(&cursor).is_err());
        }
        let mut bent = cursor.clone();
        bent.replace_range(31..32, "8");
        for bad in ["", "x", &bent, &cursor[1..], &format!("{cursor}0"), &"+".repeat(40), &"é".repeat(20)] {
            let problem = list.take(bad).unwrap_err().into_problem();
            assert_eq!((problem.status, problem.code.as_str()), (400, "SF552"), "{bad}");
        }
    }
}
