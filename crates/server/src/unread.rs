//! A connection whose other side has to read: what it leaves unread for too long ends the connection. Otherwise each one who asks
//! for much and reads nothing would hold a place, and the answers, for as long as it likes.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use steadfast::resilience::clock::{Clock, Sleep};
use tokio::net::TcpStream;

/// A connection that ends when nothing of what is written to it has been read for a while.
pub(crate) struct Unread {
    stream: TokioIo<TcpStream>,
    clock: Clock,
    within: Duration,
    /// For as long as the other side has left no room.
    waits: Option<Pin<Box<Sleep>>>,
}

impl Unread {
    pub(crate) fn new(stream: TcpStream, clock: Clock, within: Duration) -> Self {
        Self { stream: TokioIo::new(stream), clock, within, waits: None }
    }

    /// What came of a write, or the end of the patience with it.
    fn bounded<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let Self { clock, within, waits, .. } = self;
        ready!(waits.get_or_insert_with(|| Box::pin(clock.sleep(*within))).as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads the answer")))
    }
}

impl Read for Unread {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl Write for Unread {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.bounded(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
