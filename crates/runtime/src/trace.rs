//! The trace that a task belongs to, as W3C Trace Context has it: it comes with the submission, is stored with the task, and goes out with
//! each call. Must never decide anything: what makes no sense is no trace, and nobody's task fails for it.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use steadfast_store::Payload;

/// The most bytes of a `tracestate` that are kept: what the specification asks of everybody at least.
const MOST_STATE: usize = 512;
/// The most members that one may have.
const MOST_MEMBERS: usize = 32;
/// The most bytes of a `traceparent` that are looked at: later versions may be longer.
const MOST_PARENT: usize = 128;
/// The flags that go on: sampled, and that the id is random. What others mean nobody knows yet.
const FLAGS: u8 = 0b11;

/// The trace that a task belongs to: which one, and whose span the task was submitted in.
#[derive(Clone, PartialEq, Eq)]
pub struct Trace {
    id: u128,
    span: u64,
    flags: u8,
    state: Option<Arc<str>>,
}

impl Trace {
    /// What the headers `traceparent` and `tracestate` say; several of the latter are joined with commas. `None` for what is no
    /// `traceparent`; a `tracestate` that is none is left out.
    ///
    /// ```
    /// use steadfast_runtime::Trace;
    ///
    /// let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    /// let trace = Trace::read(parent, Some("vendor=7")).expect("it makes sense");
    /// assert_eq!(trace.to_string(), parent);
    /// assert_eq!(trace.traceparent(0x53995c3f42cd8ad8), "00-0af7651916cd43dd8448eb211c80319c-53995c3f42cd8ad8-01");
    /// assert_eq!(trace.state(), Some("vendor=7"));
    /// assert_eq!(Trace::read("nonsense", None), None);
    /// ```
    #[must_use]
    pub fn read(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let text = traceparent.trim();
        if text.len() > MOST_PARENT {
            return None;
        }
        let mut parts = text.splitn(5, '-');
        let [version, id, span, flags] = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
        let version = hex(version, 2)?;
        // What stands behind is for later versions to say.
        if version == 0xff || version == 0 && parts.next().is_some() {
            return None;
        }
        let (id, span, flags) = (hex(id, 32)?, hex(span, 16)?, hex(flags, 2)?);
        let (span, flags) = (u64::try_from(span).ok()?, u8::try_from(flags).ok()?);
        let state = tracestate.and_then(state_of).map(Arc::from);
        (id != 0 && span != 0).then_some(Self { id, span, flags: flags & FLAGS, state })
    }

    /// A trace with this id that begins with this span; `None` if either is zero.
    #[must_use]
    pub fn new(id: u128, span: u64, sampled: bool) -> Option<Self> {
        (id != 0 && span != 0).then_some(Self { id, span, flags: u8::from(sampled), state: None })
    }

    /// With what the systems on the way have noted; what makes no sense is left out.
    #[must_use]
    pub fn with_state(self, tracestate: Option<&str>) -> Self {
        Self { state: tracestate.and_then(state_of).map(Arc::from), ..self }
    }

    /// Which trace it is.
    #[must_use]
    pub fn id(&self) -> u128 {
        self.id
    }

    /// The span that it was submitted in.
    #[must_use]
    pub fn span(&self) -> u64 {
        self.span
    }

    /// Whether whoever began it keeps its spans.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }

    /// What the systems on the way have noted, as the header `tracestate`.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The header `traceparent` of a call that is made in this span.
    #[must_use]
    pub fn traceparent(&self, span: u64) -> String {
        format!("00-{:032x}-{span:016x}-{:02x}", self.id, self.flags)
    }

    /// As it is stored: text, so that rows can be read, and a later version can add a line.
    pub(crate) fn pack(&self) -> Payload {
        let mut text = self.to_string();
        if let Some(state) = &self.state {
            // Writing into a text cannot fail.
            let _ = write!(text, "\n{state}");
        }
        Payload::from(text.into_bytes())
    }

    pub(crate) fn unpack(kept: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(kept).ok()?.lines();
        Self::read(lines.next()?, lines.next())
    }
}

/// The `traceparent` that it came with.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.traceparent(self.span))
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({self})")
    }
}

/// A number of so many small hexadecimal digits.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let fits = text.len() == digits && text.bytes().all(is_digit);
    fits.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

/// A `tracestate` without what is empty in it, if all of it makes sense.
fn state_of(text: &str) -> Option<String> {
    let members: Vec<_> = text.split(',').map(str::trim).filter(|member| !member.is_empty()).collect();
    let joined = members.join(",");
    let fits = (1..=MOST_MEMBERS).contains(&members.len()) && joined.len() <= MOST_STATE;
    (fits && members.into_iter().all(is_member)).then_some(joined)
}

fn is_member(member: &str) -> bool {
    let Some((key, value)) = member.split_once('=') else { return false };
    let in_key = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'*' | b'/' | b'@')
    };
    let begins = key.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let in_value = |byte: u8| matches!(byte, 0x20..=0x7e) && byte != b'=' && byte != b',';
    let of_value = !value.is_empty() && value.len() <= 256 && value.bytes().all(in_value);
    begins && key.len() <= 256 && key.bytes().all(in_key) && of_value
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn what_is_no_traceparent_is_no_trace() {
        for bad in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-zz",
        ] {
            assert_eq!(Trace::read(bad, None), None, "{bad}");
        }
        assert_eq!(Trace::read(&format!("01-{}-{}", &PARENT[3..], "x".repeat(200)), None), None);
    }

    #[test]
    fn a_later_version_is_read_as_far_as_it_is_known() {
        let later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-f1-what-comes";
        assert_eq!(Trace::read(later, None).unwrap().to_string(), PARENT);
    }

    #[test]
    fn a_tracestate_that_makes_no_sense_is_left_out_and_the_trace_stays() {
        let state = |text: &str| Trace::read(PARENT, Some(text)).unwrap().state().map(str::to_owned);
        assert_eq!(
            state("rojo=00f067aa0ba902b7, ,congo@1=t61 x").as_deref(),
            Some("rojo=00f067aa0ba902b7,congo@1=t61 x")
        );
        let many = (0..33).map(|number| format!("k{number}=v")).collect::<Vec<_>>().join(",");
        let long = format!("k={}", "v".repeat(600));
        for bad in ["", "novalue", "k=", "=v", "Big=v", "k=a=b", "k=\u{e9}", "k=a\nb", &many, &long] {
            assert_eq!(state(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn it_is_read_as_it_was_stored() {
        for state in [None, Some("a=1,b=2")] {
            let trace = Trace::read(PARENT, state).unwrap();
            assert_eq!(Trace::unpack(&trace.pack()), Some(trace));
        }
        assert_eq!(&*Trace::read(PARENT, None).unwrap().pack(), PARENT.as_bytes());
        assert_eq!(Trace::unpack(b"\xff"), None);
        assert!(Trace::read(PARENT, None).unwrap().is_sampled());
        assert_eq!(Trace::new(0, 1, true), None);
    }
}
