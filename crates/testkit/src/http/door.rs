//! The port of a server: open, or held without listening, so that connections are refused and nobody else takes it.

use std::future::pending;
use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Connections that wait to be accepted: more than the thousand that a test may open at once.
const BACKLOG: u32 = 2_048;

/// Exactly one of them holds the port; `Lost` only if another process took it in the moment between.
#[derive(Debug)]
pub(super) enum Door {
    Open(TcpListener),
    Held(TcpSocket),
    Lost,
}

impl Door {
    /// Takes a port; 0 is any free one. It is not open yet.
    pub(super) fn take(address: SocketAddr) -> io::Result<Self> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Without it the port could not be taken again while connections of a moment ago are fading.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        // And off again while it is held: two that allow it may share a port on Linux as long as neither listens.
        #[cfg(unix)]
        socket.set_reuseaddr(false)?;
        Ok(Self::Held(socket))
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Open(listener) => listener.local_addr(),
            Self::Held(socket) => socket.local_addr(),
            Self::Lost => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    pub(super) fn open(&mut self, address: SocketAddr) -> io::Result<()> {
        if let Self::Open(_) = self {
            return Ok(());
        }
        let held = match std::mem::replace(self, Self::Lost) {
            Self::Held(socket) => socket,
            _ => match Self::take(address)? {
                Self::Held(socket) => socket,
                _ => return Err(io::ErrorKind::AddrInUse.into()),
            },
        };
        #[cfg(unix)]
        held.set_reuseaddr(true)?;
        *self = Self::Open(held.listen(BACKLOG)?);
        Ok(())
    }

    pub(super) fn shut(&mut self, address: SocketAddr) {
        if let Self::Open(_) = self {
            *self = Self::Lost;
            // If another process was faster the port is refused or answered by that one; opening tries again.
            if let Ok(held) = Self::take(address) {
                *self = held;
            }
        }
    }

    /// The next caller; never, while it is not open.
    pub(super) async fn accept(&self) -> io::Result<TcpStream> {
        match self {
            Self::Open(listener) => listener.accept().await.map(|(stream, _)| stream),
            Self::Held(_) | Self::Lost => pending().await,
        }
    }
}
