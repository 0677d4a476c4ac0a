//! What a database's SQLSTATE means: the classes of the SQL standard, and the codes of Postgres.
//!
//! Effects are those of the statement, or of the transaction it ends: a statement that fails is undone by the
//! database, so most errors leave nothing behind. What is uncertain is a commit whose answer was lost.
//!
//! ```
//! use steadfast_resilience::{Class, Classify, Effect, classify::sqlstate::SqlState};
//!
//! let deadlock: SqlState = "40P01".parse()?;
//! assert_eq!(deadlock.classify().class(), Class::Transient);
//! assert_eq!(deadlock.classify().effect(), Effect::None);
//! # Ok::<(), steadfast_resilience::classify::sqlstate::ParseError>(())
//! ```

use std::fmt;
use std::str::FromStr;

use super::{Classify, Kind, Verdict};

/// A SQLSTATE: five digits and upper-case letters, of which the first two are the class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// Reads a SQLSTATE, which must be five digits and upper-case letters and nothing else.
    ///
    /// # Errors
    ///
    /// When it is anything else.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let bytes: [u8; 5] = text.as_bytes().try_into().map_err(|_| ParseError)?;
        let legal = bytes.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        if legal { Ok(Self(bytes)) } else { Err(ParseError) }
    }

    /// The five characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // They were checked to be ASCII when they came in, so the other branch is never taken.
        str::from_utf8(&self.0).unwrap_or("?????")
    }

    /// The class: the first two characters.
    #[must_use]
    pub fn class(&self) -> &str {
        self.as_str().get(..2).unwrap_or("??")
    }

    /// `40001` as a number. A state with letters has none.
    fn number(&self) -> Option<i32> {
        self.as_str().parse().ok()
    }
}

impl FromStr for SqlState {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqlState({self})")
    }
}

/// A text that is no SQLSTATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError;

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a SQLSTATE: expected five digits or upper-case letters, such as 40001 or 57P01")
    }
}

impl std::error::Error for ParseError {}

/// The verdict's code is the state as a number if it has no letters: 40001 for `40001`, 8006 for `08006`.
impl Classify for SqlState {
    fn classify(&self) -> Verdict {
        let verdict = by_state(&self.0).or_else(|| by_class(self.class())).unwrap_or(Verdict::unclassified());
        match self.number() {
            Some(number) => verdict.with_code(number),
            None => verdict,
        }
    }
}

/// States that mean something else than the rest of their class.
fn by_state(state: &[u8; 5]) -> Option<Verdict> {
    connection(state).or_else(|| contention(state)).or_else(|| operation(state)).or_else(|| request(state))
}

/// 08, and what else breaks or prevents a connection.
fn connection(state: &[u8; 5]) -> Option<Verdict> {
    Some(match state {
        // No connection, so no statement. HV00N is the same towards a foreign server. 25006 is read-only
        // where we came to write: a failover is under way and this address is not the primary, or not yet. (A
        // transaction that was opened read-only by mistake gets it too, and ends at the attempt limit.)
        b"08001" | b"HV00N" | b"25006" => Verdict::transient(Kind::UNREACHABLE).without_effect(),
        b"08004" => Verdict::transient(Kind::CONNECT_REFUSED).without_effect(),
        // The session or the open transaction sat idle for too long: it was rolled back, and the statement
        // that found out never ran.
        b"57P05" | b"25P03" => Verdict::transient(Kind::CONNECTION_LOST).without_effect(),
        // Whether the statement was carried out is unknown: this is what the code says.
        b"40003" => Verdict::transient(Kind::CONNECTION_LOST),
        _ => return None,
    })
}

/// Other transactions were in the way, or time ran out.
fn contention(state: &[u8; 5]) -> Option<Verdict> {
    Some(match state {
        // The lock was not to be had, or the object is in use: the statement did nothing.
        b"55P03" | b"55006" => Verdict::transient(Kind::CONFLICT).without_effect(),
        // A constraint checked at commit does not hold. The same rows will break it again.
        b"40002" => Verdict::terminal(Kind::CONFLICT).without_effect(),
        // 57014 is `statement_timeout` as well as a cancel request, told apart only by words in the server's
        // language. It counts as a timeout: a caller who cancels knows it, and no longer asks for a verdict.
        // The statement was rolled back. 25P04 is `transaction_timeout`.
        b"57014" | b"25P04" => Verdict::transient(Kind::TIMEOUT).without_effect(),
        // ODBC drivers' timeouts: they do not know how far the statement got.
        b"HYT00" | b"HYT01" => Verdict::transient(Kind::TIMEOUT),
        _ => return None,
    })
}

/// The server's own state: 53, 57, 58 and XX.
fn operation(state: &[u8; 5]) -> Option<Verdict> {
    Some(match state {
        // Refused at the door because too many are inside: come later.
        b"53300" => Verdict::throttled(Kind::OVERLOADED),
        // A full disk is the same for every statement until somebody clears it.
        b"53100" => Verdict::lasting(Kind::SERVER_ERROR),
        // The statement asks for more than a setting allows (`temp_file_limit`), and will again.
        b"53400" => Verdict::terminal(Kind::BAD_REQUEST),
        // Shut down or crashed under the statement: a commit may have gone through unanswered.
        b"57P01" | b"57P02" => Verdict::transient(Kind::OFFLINE),
        // Starting up or shutting down, refused at the door.
        b"57P03" => Verdict::transient(Kind::OFFLINE).without_effect(),
        b"57P04" => Verdict::terminal(Kind::NOT_FOUND),
        // Files missing or doubled in the data folder, damaged tables or indexes: a person must look.
        b"58P01" | b"58P02" | b"XX001" | b"XX002" => Verdict::terminal(Kind::SERVER_ERROR),
        _ => return None,
    })
}

/// The statement or its caller.
fn request(state: &[u8; 5]) -> Option<Verdict> {
    Some(match state {
        b"42501" => Verdict::terminal(Kind::DENIED),
        b"P0002" => Verdict::terminal(Kind::NOT_FOUND),
        _ => return None,
    })
}

/// What a class means where its states do not differ. Classes that are missing here are unclassified: `HY`
/// and `HV` hold whatever a driver could not name, and `XX000` is used for passing faults (by poolers in
/// front of the server) as well as for bugs.
fn by_class(class: &str) -> Option<Verdict> {
    Some(match class {
        // Success, and success with a warning.
        "00" | "01" => Verdict::success(),
        // A connection that broke: 08006, and 08007 where a commit's answer was lost. `08P01`, a breach of
        // protocol, is here too and not terminal, because PgBouncer sends it for all its own errors, such as
        // a wait for a connection that took too long.
        "08" => Verdict::transient(Kind::CONNECTION_LOST),
        // Rolled back for the sake of another transaction: 40001 serialization, 40P01 deadlock. 72 is a
        // snapshot that got too old.
        "40" | "72" => Verdict::transient(Kind::CONFLICT).without_effect(),
        // Out of memory and the like.
        "53" => Verdict::transient(Kind::OVERLOADED),
        // An operator stepped in.
        "57" => Verdict::transient(Kind::OFFLINE),
        // The server's disk or system failed it: may pass, and the breaker counts it.
        "58" => Verdict::transient(Kind::SERVER_ERROR),
        "02" | "3D" | "3F" => Verdict::terminal(Kind::NOT_FOUND),
        "28" => Verdict::terminal(Kind::DENIED),
        // A constraint is broken, a view's check fails, or an object is not in the state that is needed.
        "23" | "27" | "44" | "55" => Verdict::terminal(Kind::CONFLICT),
        "F0" => Verdict::terminal(Kind::SERVER_ERROR),
        // Wrong data, wrong syntax, wrong use of cursors, transactions or routines, more than the server can
        // do, and what a routine raised itself (P0).
        "03" | "07" | "09" | "0A" | "0B" | "0F" | "0L" | "0P" | "0Z" | "10" | "20" | "21" | "22" | "24"
        | "25" | "26" | "2B" | "2D" | "2F" | "34" | "38" | "39" | "3B" | "42" | "54" | "P0" => {
            Verdict::terminal(Kind::BAD_REQUEST)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Class, Effect};

    fn state(text: &str) -> SqlState {
        SqlState::parse(text).expect("a SQLSTATE")
    }

    #[test]
    fn every_state_has_its_verdict() {
        use Class::{Lasting, Success, Terminal, Throttled, Transient, Unclassified};
        use Effect::{None, Possible};
        let table = [
            ("00000", Success, Kind::OK, Possible),
            ("01004", Success, Kind::OK, Possible),
            ("02000", Terminal, Kind::NOT_FOUND, Possible),
            ("08000", Transient, Kind::CONNECTION_LOST, Possible),
            ("08001", Transient, Kind::UNREACHABLE, None),
            ("08003", Transient, Kind::CONNECTION_LOST, Possible),
            ("08004", Transient, Kind::CONNECT_REFUSED, None),
            ("08006", Transient, Kind::CONNECTION_LOST, Possible),
            ("08007", Transient, Kind::CONNECTION_LOST, Possible),
            ("08P01", Transient, Kind::CONNECTION_LOST, Possible),
            ("0A000", Terminal, Kind::BAD_REQUEST, Possible),
            ("22012", Terminal, Kind::BAD_REQUEST, Possible),
            ("23503", Terminal, Kind::CONFLICT, Possible),
            ("23505", Terminal, Kind::CONFLICT, Possible),
            ("25006", Transient, Kind::UNREACHABLE, None),
            ("25P02", Terminal, Kind::BAD_REQUEST, Possible),
            ("25P03", Transient, Kind::CONNECTION_LOST, None),
            ("25P04", Transient, Kind::TIMEOUT, None),
            ("28P01", Terminal, Kind::DENIED, Possible),
            ("3D000", Terminal, Kind::NOT_FOUND, Possible),
            ("3F000", Terminal, Kind::NOT_FOUND, Possible),
            ("40001", Transient, Kind::CONFLICT, None),
            ("40002", Terminal, Kind::CONFLICT, None),
            ("40003", Transient, Kind::CONNECTION_LOST, Possible),
            ("40P01", Transient, Kind::CONFLICT, None),
            ("42501", Terminal, Kind::DENIED, Possible),
            ("42601", Terminal, Kind::BAD_REQUEST, Possible),
            ("42P01", Terminal, Kind::BAD_REQUEST, Possible),
            ("53000", Transient, Kind::OVERLOADED, Possible),
            ("53100", Lasting, Kind::SERVER_ERROR, Possible),
            ("53200", Transient, Kind::OVERLOADED, Possible),
            ("53300", Throttled, Kind::OVERLOADED, None),
            ("53400", Terminal, Kind::BAD_REQUEST, Possible),
            ("54001", Terminal, Kind::BAD_REQUEST, Possible),
            ("55000", Terminal, Kind::CONFLICT, Possible),
            ("55006", Transient, Kind::CONFLICT, None),
            ("55P03", Transient, Kind::CONFLICT, None),
            ("57000", Transient, Kind::OFFLINE, Possible),
            ("57014", Transient, Kind::TIMEOUT, None),
            ("57P01", Transient, Kind::OFFLINE, Possible),
            ("57P02", Transient, Kind::OFFLINE, Possible),
            ("57P03", Transient, Kind::OFFLINE, None),
            ("57P04", Terminal, Kind::NOT_FOUND, Possible),
            ("57P05", Transient, Kind::CONNECTION_LOST, None),
            ("58000", Transient, Kind::SERVER_ERROR, Possible),
            ("58030", Transient, Kind::SERVER_ERROR, Possible),
            ("58P01", Terminal, Kind::SERVER_ERROR, Possible),
            ("72000", Transient, Kind::CONFLICT, None),
            ("F0000", Terminal, Kind::SERVER_ERROR, Possible),
            ("HV000", Unclassified, Kind::UNCLASSIFIED, Possible),
            ("HV00N", Transient, Kind::UNREACHABLE, None),
            ("HY000", Unclassified, Kind::UNCLASSIFIED, Possible),
            ("HYT00", Transient, Kind::TIMEOUT, Possible),
            ("P0001", Terminal, Kind::BAD_REQUEST, Possible),
            ("P0002", Terminal, Kind::NOT_FOUND, Possible),
            ("XX000", Unclassified, Kind::UNCLASSIFIED, Possible),
            ("XX001", Terminal, Kind::SERVER_ERROR, Possible),
            ("ZZZZZ", Unclassified, Kind::UNCLASSIFIED, Possible),
        ];
        for (text, class, kind, effect) in table {
            let verdict = state(text).classify();
            assert_eq!((verdict.class(), verdict.kind(), verdict.effect()), (class, kind, effect), "{text}");
            assert_eq!(verdict.hint(), Option::None, "{text}");
        }
    }

    #[test]
    fn a_state_without_letters_is_the_code() {
        for (text, code) in
            [("40001", Some(40_001)), ("08006", Some(8_006)), ("40P01", None), ("XX000", None)]
        {
            assert_eq!(state(text).classify().code(), code, "{text}");
        }
    }

    #[test]
    fn a_state_is_written_as_it_was_read() {
        let deadlock: SqlState = "40P01".parse().expect("a SQLSTATE");
        assert_eq!((deadlock.as_str(), deadlock.class()), ("40P01", "40"));
        assert_eq!(format!("{deadlock} {deadlock:?}"), "40P01 SqlState(40P01)");
    }

    #[test]
    fn anything_but_five_digits_and_capitals_is_refused() {
        let long = "4".repeat(10_000);
        for text in [
            "",
            " ",
            "4",
            "4000",
            "400011",
            "40p01",
            "40-01",
            "-4001",
            "+4001",
            "40 01",
            " 4000",
            "4000\n",
            "4.001",
            "1e999",
            "ééé",
            "é400",
            "4000é",
            "４０００１",
            "\u{0}\u{0}\u{0}\u{0}\u{0}",
            &long,
        ] {
            let error = SqlState::parse(text).expect_err(text);
            assert!(error.to_string().contains("five digits"), "{text:?}");
        }
    }
}
