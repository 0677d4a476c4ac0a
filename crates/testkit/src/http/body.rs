//! Bodies on the wire: they close the ledger's entry with their last byte, and can break off on purpose.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use crate::ledger::{Ending, Open, Taker};

pub(super) type BoxError = Box<dyn StdError + Send + Sync>;

/// The body of an answer.
pub(super) struct Outgoing {
    inner: Inner,
    /// How much may still be sent, if there is a limit.
    left: Option<usize>,
    /// There was more than that.
    is_cut: bool,
    /// One turn has gone by since, in which what was sent could reach the wire.
    is_flushed: bool,
    entry: Option<(Open, u16)>,
}

enum Inner {
    Whole(Full<Bytes>),
    Passing(Incoming),
}

/// Why a body breaks off: the script says so.
#[derive(Debug)]
struct CutOff;

impl fmt::Display for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body is cut short, as scripted")
    }
}

impl StdError for CutOff {}

impl Outgoing {
    pub(super) fn whole(body: impl Into<Bytes>) -> Self {
        Self::new(Inner::Whole(Full::new(body.into())))
    }

    pub(super) fn passing(body: Incoming) -> Self {
        Self::new(Inner::Passing(body))
    }

    fn new(inner: Inner) -> Self {
        Self { inner, left: None, is_cut: false, is_flushed: false, entry: None }
    }

    /// Breaks off after this many bytes, if there are more.
    pub(super) fn cut_after(mut self, bytes: Option<usize>) -> Self {
        self.left = bytes;
        self
    }

    /// Ends this entry with its own end. An answer without a body ends it at once.
    pub(super) fn ends(mut self, entry: Open, status: u16, is_sent: bool) -> Self {
        if !is_sent || self.is_end_stream() {
            entry.close(Ending::Answered(status));
        } else {
            self.entry = Some((entry, status));
        }
        self
    }

    fn close(&mut self, ending: impl FnOnce(u16) -> Ending) {
        if let Some((entry, status)) = self.entry.take() {
            entry.close(ending(status));
        }
    }

    /// Sends as much of this as may still be sent.
    fn pass(
        &mut self,
        frame: Frame<Bytes>,
        cx: &Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = frame.map_data(|mut data| {
            if let Some(left) = &mut self.left {
                self.is_cut = data.len() > *left;
                data.truncate(*left);
                *left -= data.len();
            }
            data
        });
        if self.is_cut && frame.data_ref().is_some_and(Bytes::is_empty) {
            return self.break_off(cx);
        }
        if self.is_end_stream() {
            self.close(Ending::Answered);
        }
        Poll::Ready(Some(Ok(frame)))
    }

    /// Breaks the connection, after a turn in which hyper writes out what it holds: an error drops that.
    fn break_off(&mut self, cx: &Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if !std::mem::replace(&mut self.is_flushed, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.close(Ending::CutShort);
        Poll::Ready(Some(Err(Box::new(CutOff))))
    }

    fn poll_inner(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.inner {
            Inner::Whole(body) => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
            Inner::Passing(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
        }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if this.is_cut {
            return this.break_off(cx);
        }
        match std::task::ready!(this.poll_inner(cx)) {
            None => {
                this.close(Ending::Answered);
                Poll::Ready(None)
            }
            Some(Err(error)) => {
                this.close(Ending::CutShort);
                Poll::Ready(Some(Err(error)))
            }
            Some(Ok(frame)) => this.pass(frame, cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        !self.is_cut
            && match &self.inner {
                Inner::Whole(body) => body.is_end_stream(),
                Inner::Passing(body) => body.is_end_stream(),
            }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Whole(body) => body.size_hint(),
            Inner::Passing(body) => body.size_hint(),
        }
    }
}

/// A request's body on its way to the upstream, written down as it passes.
pub(super) struct Passing {
    inner: Incoming,
    taker: Taker,
    /// Set when the caller does not send all of it: then the upstream is not to blame for what follows.
    broke_off: Arc<AtomicBool>,
}

impl Passing {
    pub(super) const fn new(inner: Incoming, taker: Taker, broke_off: Arc<AtomicBool>) -> Self {
        Self { inner, taker, broke_off }
    }
}

impl Body for Passing {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let frame = std::task::ready!(Pin::new(&mut this.inner).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => frame.data_ref().into_iter().for_each(|data| this.taker.took(data)),
            Some(Err(_)) => this.broke_off.store(true, Ordering::Release),
            None => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
