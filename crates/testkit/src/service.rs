//! A scripted service in the same process: no network, any clock. In virtual time an hour of its slowness takes no time.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use steadfast_resilience::clock::Clock;
use tokio::sync::watch;

use crate::ledger::{Book, Ending, Ledger};
use crate::player::Player;
use crate::reply::{Fault, Reply, outcome};
use crate::request::Request;
use crate::script::{Behaviour, Script};

/// A service that behaves as scripted, and writes down every call. Clones are the same service.
///
/// ```
/// use std::time::Duration;
/// use steadfast_testkit::{Request, Script, Service, VirtualClock};
///
/// let clock = VirtualClock::new();
/// let service = Service::new(&clock, Script::slow(Duration::from_secs(60)));
/// let reply = clock.block_on(service.call(Request::new("GET", "/stock")))?;
/// assert_eq!(reply.status(), 200);
/// assert_eq!(service.ledger().entries()[0].took(), Some(Duration::from_secs(60)));
/// # Ok::<(), steadfast_testkit::Fault>(())
/// ```
#[derive(Clone)]
pub struct Service(Arc<Shared>);

struct Shared {
    player: Player,
    book: Arc<Book>,
    /// How often the service was switched off: a change ends what is under way.
    outages: watch::Sender<u64>,
}

impl Service {
    /// A service on this clock that begins to follow the script now.
    #[must_use]
    pub fn new(clock: impl Into<Clock>, script: impl Into<Script>) -> Self {
        let book = Book::new(clock.into());
        let player = Player::new(script.into(), book.started());
        Self(Arc::new(Shared { player, book, outages: watch::Sender::new(0) }))
    }

    /// Makes a call. An [`Attempt`](steadfast_resilience::Attempt) will do as a request:
    /// `pipeline.run(|attempt| service.call(attempt))`.
    ///
    /// The call begins with the first poll of the future. Dropping it is giving up, and stands in the ledger.
    ///
    /// # Errors
    /// The fault that the script says.
    pub fn call<R>(&self, request: R) -> impl Future<Output = Result<Reply, Fault>> + Send + use<R>
    where
        R: Into<Request>,
    {
        let (shared, request) = (Arc::clone(&self.0), request.into());
        async move { shared.serve(request).await }
    }

    /// Follows another script from now on. Calls under way stay as they were decided.
    pub fn follow(&self, script: impl Into<Script>) {
        self.0.player.follow(script.into(), self.0.book.clock().now());
    }

    /// Refuses every call from now on, and breaks the connections of those that are under way. The script does not
    /// count refused calls; its time goes on.
    pub fn switch_off(&self) {
        self.0.player.switch(true);
        self.0.outages.send_modify(|outages| *outages = outages.wrapping_add(1));
    }

    /// Takes calls again.
    pub fn switch_on(&self) {
        self.0.player.switch(false);
    }

    /// What has happened so far.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.0.book.ledger()
    }
}

impl Shared {
    async fn serve(&self, request: Request) -> Result<Reply, Fault> {
        let clock = self.book.clock();
        let now = clock.now();
        // Before the decision, so that a switch in between is not missed.
        let mut outages = self.outages.subscribe();
        let (decision, open) = self.book.open_with(request, now, |request| self.player.next(request, now));
        let number = open.number();
        let acting = act(clock, &decision.behaviour, decision.delay);
        if before(acting, outages.changed()).await.is_none() {
            open.close(Ending::Interrupted);
            return Err(Fault::lost(number));
        }
        let outcome = outcome(number, &decision.behaviour);
        open.close(ending(&decision.behaviour, &outcome));
        outcome
    }
}

/// The time that a behaviour takes.
async fn act(clock: &Clock, behaviour: &Behaviour, delay: Duration) {
    if !delay.is_zero() {
        clock.sleep(delay).await;
    }
    if matches!(behaviour, Behaviour::Hang) {
        std::future::pending::<()>().await;
    }
}

fn ending(behaviour: &Behaviour, outcome: &Result<Reply, Fault>) -> Ending {
    match (behaviour, outcome) {
        (Behaviour::Refuse, _) => Ending::Refused,
        (Behaviour::Drop | Behaviour::LoseAnswer | Behaviour::Hang, _) => Ending::Dropped,
        (_, Ok(reply)) => Ending::Answered(reply.status()),
        (Behaviour::Answer(answer), Err(_)) => match answer.status.unwrap_or(200) {
            status if answer.cut_after.is_some() => Ending::CutShort(status),
            status => Ending::Answered(status),
        },
        (_, Err(_)) => Ending::Answered(behaviour.status().unwrap_or(500)),
    }
}

/// The first future's output, unless the second one ends before it.
async fn before<A: Future, B: Future>(first: A, second: B) -> Option<A::Output> {
    let (mut first, mut second) = (pin!(first), pin!(second));
    poll_fn(|cx| {
        if let Poll::Ready(output) = first.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        second.as_mut().poll(cx).map(|_| None)
    })
    .await
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("calls", &self.ledger().attempts()).finish_non_exhaustive()
    }
}
