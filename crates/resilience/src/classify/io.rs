//! What a [`std::io::Error`] means, by its kind.
//!
//! The operating system's number stays with the verdict as its code. An error that only wraps another
//! `io::Error` means what the wrapped one means.

use std::io::{Error, ErrorKind};

use super::{Classify, Kind, Verdict};

/// A signal came in the middle of a system call. Says nothing about the service.
const INTERRUPTED: Kind = Kind::new("interrupted");

/// How the standard library on Unix begins the message of a failed name look-up, which has neither a kind nor
/// a number of its own. A test asks the resolver, so a change of these words does not pass unseen.
const LOOKUP_FAILED: &str = "failed to lookup address information";

impl Classify for Error {
    fn classify(&self) -> Verdict {
        let error = innermost(self);
        let verdict = by_kind(error.kind()).unwrap_or_else(|| by_words(error));
        match error.raw_os_error() {
            Some(number) => verdict.with_code(number),
            None => verdict,
        }
    }

    fn message(&self) -> Option<String> {
        Some(self.to_string())
    }
}

/// Looks through `Error::other(io_error)` and the like, as deep as it goes. A loop and not a recursion, so
/// that a deep pile costs no stack.
fn innermost(error: &Error) -> &Error {
    let mut error = error;
    while by_kind(error.kind()).is_none() {
        let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) else { break };
        error = inner;
    }
    error
}

/// What a kind means, or nothing for `Other` and for kinds that have no name yet.
fn by_kind(kind: ErrorKind) -> Option<Verdict> {
    network(kind).or_else(|| passing(kind)).or_else(|| final_answer(kind))
}

/// Connections and time limits.
fn network(kind: ErrorKind) -> Option<Verdict> {
    Some(match kind {
        // No connection, so no request: nothing can have taken effect.
        ErrorKind::ConnectionRefused => Verdict::transient(Kind::CONNECT_REFUSED).without_effect(),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
            Verdict::transient(Kind::UNREACHABLE).without_effect()
        }
        // There was a connection: the request may have gone out before it broke. `NotConnected` too, because
        // it is what a read says after the other side has gone. `UnexpectedEof` is an answer cut short.
        // A stale handle (NFS) is the same thing for files: the server forgot it, opening again helps.
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::NotConnected
        | ErrorKind::UnexpectedEof
        | ErrorKind::StaleNetworkFileHandle => Verdict::transient(Kind::CONNECTION_LOST),
        // Connecting, sending and receiving all time out with the same kind, so an effect is possible.
        // `WouldBlock` is what a socket's read or write time limit gives on Unix.
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Verdict::transient(Kind::TIMEOUT),
        _ => return None,
    })
}

/// Trouble on this machine that tends to pass.
fn passing(kind: ErrorKind) -> Option<Verdict> {
    Some(match kind {
        ErrorKind::Interrupted => Verdict::transient(INTERRUPTED),
        // Somebody else holds the thing right now. `ExecutableFileBusy` is the old race of writing a program
        // and starting it while a fork still has it open.
        ErrorKind::ResourceBusy | ErrorKind::ExecutableFileBusy => Verdict::transient(Kind::CONFLICT),
        // The lock was refused because waiting for it would never end: nothing was done.
        ErrorKind::Deadlock => Verdict::transient(Kind::CONFLICT).without_effect(),
        ErrorKind::OutOfMemory => Verdict::transient(Kind::OVERLOADED),
        _ => return None,
    })
}

/// What the same call would meet again.
fn final_answer(kind: ErrorKind) -> Option<Verdict> {
    Some(Verdict::terminal(match kind {
        ErrorKind::NotFound => Kind::NOT_FOUND,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Kind::DENIED,
        ErrorKind::AlreadyExists | ErrorKind::AddrInUse | ErrorKind::DirectoryNotEmpty => Kind::CONFLICT,
        // What came in is malformed (TLS failures arrive like this): the other side's fault, and a breaker
        // that ignores callers' mistakes must not ignore it. A full disk is no caller's mistake either, and
        // stays full until somebody clears it, which takes longer than any retry.
        ErrorKind::InvalidData | ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Kind::SERVER_ERROR,
        // `WriteZero`: a fixed buffer that is full; sockets say `BrokenPipe`.
        ErrorKind::InvalidInput
        | ErrorKind::InvalidFilename
        | ErrorKind::AddrNotAvailable
        | ErrorKind::Unsupported
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory
        | ErrorKind::NotSeekable
        | ErrorKind::FileTooLarge
        | ErrorKind::CrossesDevices
        | ErrorKind::TooManyLinks
        | ErrorKind::ArgumentListTooLong
        | ErrorKind::WriteZero => Kind::BAD_REQUEST,
        _ => return None,
    }))
}

/// For errors without a telling kind: a failed name look-up is known by its words, the rest is unclassified.
///
/// Without this rule a short failure of DNS would be unclassified, that is final, for every call.
fn by_words(error: &Error) -> Verdict {
    if error.get_ref().is_some_and(|inner| inner.to_string().starts_with(LOOKUP_FAILED)) {
        Verdict::transient(Kind::UNREACHABLE).without_effect()
    } else {
        Verdict::unclassified()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Class, Effect};

    #[test]
    fn every_kind_has_its_verdict() {
        use Class::{Terminal, Transient};
        use Effect::{None, Possible};
        let table = [
            (ErrorKind::ConnectionRefused, Transient, Kind::CONNECT_REFUSED, None),
            (ErrorKind::HostUnreachable, Transient, Kind::UNREACHABLE, None),
            (ErrorKind::NetworkUnreachable, Transient, Kind::UNREACHABLE, None),
            (ErrorKind::NetworkDown, Transient, Kind::UNREACHABLE, None),
            (ErrorKind::ConnectionReset, Transient, Kind::CONNECTION_LOST, Possible),
            (ErrorKind::ConnectionAborted, Transient, Kind::CONNECTION_LOST, Possible),
            (ErrorKind::BrokenPipe, Transient, Kind::CONNECTION_LOST, Possible),
            (ErrorKind::NotConnected, Transient, Kind::CONNECTION_LOST, Possible),
            (ErrorKind::UnexpectedEof, Transient, Kind::CONNECTION_LOST, Possible),
            (ErrorKind::StaleNetworkFileHandle, Transient, Kind::CONNECTION_LOST, Possible),
            (ErrorKind::TimedOut, Transient, Kind::TIMEOUT, Possible),
            (ErrorKind::WouldBlock, Transient, Kind::TIMEOUT, Possible),
            (ErrorKind::Interrupted, Transient, INTERRUPTED, Possible),
            (ErrorKind::ResourceBusy, Transient, Kind::CONFLICT, Possible),
            (ErrorKind::ExecutableFileBusy, Transient, Kind::CONFLICT, Possible),
            (ErrorKind::Deadlock, Transient, Kind::CONFLICT, None),
            (ErrorKind::OutOfMemory, Transient, Kind::OVERLOADED, Possible),
            (ErrorKind::NotFound, Terminal, Kind::NOT_FOUND, Possible),
            (ErrorKind::PermissionDenied, Terminal, Kind::DENIED, Possible),
            (ErrorKind::ReadOnlyFilesystem, Terminal, Kind::DENIED, Possible),
            (ErrorKind::AlreadyExists, Terminal, Kind::CONFLICT, Possible),
            (ErrorKind::AddrInUse, Terminal, Kind::CONFLICT, Possible),
            (ErrorKind::DirectoryNotEmpty, Terminal, Kind::CONFLICT, Possible),
            (ErrorKind::InvalidData, Terminal, Kind::SERVER_ERROR, Possible),
            (ErrorKind::StorageFull, Terminal, Kind::SERVER_ERROR, Possible),
            (ErrorKind::QuotaExceeded, Terminal, Kind::SERVER_ERROR, Possible),
            (ErrorKind::InvalidInput, Terminal, Kind::BAD_REQUEST, Possible),
            (ErrorKind::InvalidFilename, Terminal, Kind::BAD_REQUEST, Possible),
            (ErrorKind::AddrNotAvailable, Terminal, Kind::BAD_REQUEST, Possible),
            (ErrorKind::Unsupported, Terminal, Kind::BAD_REQUEST, Possible),
            (ErrorKind::NotADirectory, Terminal, Kind::BAD_REQUEST, Possible),
            (ErrorKind::IsADirectory, Terminal, Kind::BAD_REQUEST, Possible),
            (ErrorKind::NotSeekable, Terminal, Kind::BAD_REQUEST, Possible),
            (ErrorKind::FileTooLarge, Terminal, Kind::BAD_REQUEST, Possible),
            (ErrorKind::CrossesDevices, Terminal, Kind::BAD_REQUEST, Possible),
            (ErrorKind::TooManyLinks, Terminal, Kind::BAD_REQUEST, Possible),
            (ErrorKind::ArgumentListTooLong, Terminal, Kind::BAD_REQUEST, Possible),
            (ErrorKind::WriteZero, Terminal, Kind::BAD_REQUEST, Possible),
            (ErrorKind::Other, Class::Unclassified, Kind::UNCLASSIFIED, Possible),
        ];
        for (kind, class, name, effect) in table {
            let verdict = Error::from(kind).classify();
            assert_eq!(
                (verdict.class(), verdict.kind(), verdict.effect()),
                (class, name, effect),
                "{kind:?}"
            );
            assert_eq!(verdict.code(), Option::None, "{kind:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_error_number_is_the_code() {
        let refused = Error::from_raw_os_error(111).classify();
        assert_eq!((refused.kind(), refused.code()), (Kind::CONNECT_REFUSED, Some(111)));
        // Too many open files: the standard library has no kind for it.
        let unnamed = Error::from_raw_os_error(24).classify();
        assert_eq!((unnamed.class(), unnamed.code()), (Class::Unclassified, Some(24)));
    }

    #[test]
    fn a_wrapped_io_error_means_what_it_wraps() {
        let mut error = Error::from(ErrorKind::ConnectionRefused);
        for _ in 0..1_000 {
            error = Error::other(error);
        }
        assert_eq!(error.classify(), Error::from(ErrorKind::ConnectionRefused).classify());
    }

    #[test]
    fn a_named_kind_wins_over_what_it_wraps() {
        let error = Error::new(ErrorKind::TimedOut, Error::from(ErrorKind::NotFound));
        assert_eq!(error.classify().kind(), Kind::TIMEOUT);
    }

    #[test]
    fn other_errors_are_unclassified() {
        assert_eq!(Error::other("no idea").classify(), Verdict::unclassified());
        assert_eq!(Error::other(Error::other("no idea")).classify(), Verdict::unclassified());
    }

    #[test]
    #[cfg(unix)]
    fn a_failed_name_lookup_is_unreachable_without_effect() {
        use std::net::ToSocketAddrs as _;
        // A label of 300 letters breaks the rules of DNS: the resolver refuses it without asking anybody.
        let error = (&*"a".repeat(300), 80).to_socket_addrs().map(drop).expect_err("no such name");
        assert_eq!(error.classify(), Verdict::transient(Kind::UNREACHABLE).without_effect(), "{error:?}");
    }
}
