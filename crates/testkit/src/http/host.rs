//! The thread that a server lives on: it takes callers in, opens and shuts the door, and ends everything at once.
//!
//! A thread with a runtime of its own, because the caller's may be paused, busy, blocked by the test itself, or missing.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc as blocking;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use steadfast_resilience::clock::Clock;
use tokio::net::TcpStream;
use tokio::runtime::{self, Handle};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use super::door::Door;
use super::exchange::Desk;
use crate::error::Error;
use crate::ledger::Book;
use crate::player::Player;
use crate::script::Script;

/// Wait after a failed `accept`, such as too many open files: they need a moment to close.
const ACCEPT_AGAIN: Duration = Duration::from_millis(10);

/// What a server is told by its owner, who waits until it is done.
#[derive(Debug)]
pub(super) enum Command {
    /// The script or the switch has changed: look at the door.
    Look(blocking::Sender<()>),
    /// End what is under way, and look at the door.
    BreakOff(blocking::Sender<()>),
}

/// A server that has started.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) desk: Arc<Desk>,
    pub(super) address: SocketAddr,
    pub(super) runtime: Handle,
}

/// The whole life of the thread. It tells how the start went, and works if it went well.
pub(super) fn live(
    address: SocketAddr,
    upstream: Option<SocketAddr>,
    script: Script,
    commands: mpsc::UnboundedReceiver<Command>,
    started: &blocking::Sender<Result<Host, Error>>,
) {
    let runtime = match runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(started.send(Err(Error::Thread(error)))),
    };
    runtime.block_on(async {
        match start(address, upstream, script) {
            Ok((door, host)) => {
                let (desk, address) = (Arc::clone(&host.desk), host.address);
                let _ = started.send(Ok(host));
                run(desk, door, address, commands).await;
            }
            Err(source) => drop(started.send(Err(Error::Listen { address, source }))),
        }
    });
}

fn start(address: SocketAddr, upstream: Option<SocketAddr>, script: Script) -> io::Result<(Door, Host)> {
    let mut door = Door::take(address)?;
    let address = door.address()?;
    let book = Book::new(Clock::tokio());
    let player = Player::new(script, book.started());
    if player.reach(book.started()).is_open {
        door.open(address)?;
    }
    let desk = Arc::new(Desk { player, book, upstream, moved_on: Notify::new() });
    Ok((door, Host { desk, address, runtime: Handle::current() }))
}

/// Works until there is nobody left who could tell it anything.
pub(super) async fn run(
    desk: Arc<Desk>,
    mut door: Door,
    address: SocketAddr,
    mut commands: mpsc::UnboundedReceiver<Command>,
) {
    let mut callers = JoinSet::new();
    loop {
        let until = settle(&desk, &mut door, address);
        tokio::select! {
            command = commands.recv() => match command {
                None => break,
                Some(Command::Look(done)) => {
                    settle(&desk, &mut door, address);
                    let _ = done.send(());
                }
                Some(Command::BreakOff(done)) => {
                    settle(&desk, &mut door, address);
                    end(&desk, &mut callers).await;
                    let _ = done.send(());
                }
            },
            accepted = door.accept() => match accepted {
                Ok(stream) => drop(callers.spawn(converse(stream, Arc::clone(&desk)))),
                Err(_) => desk.book.clock().sleep(ACCEPT_AGAIN).await,
            },
            () = desk.moved_on.notified() => {}
            () = wait(&desk, until) => {}
            Some(_) = callers.join_next() => {}
        }
    }
    drop(door);
    end(&desk, &mut callers).await;
}

/// Opens or shuts the door as the script and the switch say; tells how long that holds by the time alone.
fn settle(desk: &Desk, door: &mut Door, address: SocketAddr) -> Option<Duration> {
    let now = desk.book.clock().now();
    let reach = desk.player.reach(now);
    if reach.is_open {
        // A port that was lost may come back: the next look tries again, and until then callers are refused.
        let _ = door.open(address);
    } else {
        door.shut(address);
    }
    reach.until.map(|until| until.since(now))
}

async fn wait(desk: &Desk, time: Option<Duration>) {
    match time {
        Some(time) => desk.book.clock().sleep(time).await,
        None => std::future::pending().await,
    }
}

/// Ends all conversations, and waits until they have ended.
async fn end(desk: &Desk, callers: &mut JoinSet<()>) {
    desk.book.interrupt(true);
    callers.shutdown().await;
    desk.book.interrupt(false);
}

/// Talks with one caller until it leaves. What goes wrong is the caller's to notice.
async fn converse(stream: TcpStream, desk: Arc<Desk>) {
    // Answers are short: waiting for more to send would only lengthen what tests measure.
    let _ = stream.set_nodelay(true);
    let serve = service_fn(|request| desk.serve(request));
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), serve).await;
}
