//! The story: a minute in the life of the shop, in real time. Orders come, a service is slow, payments is away, a card is declined, a
//! parcel cannot be sent. In the end it is checked from outside, by the services' own ledgers and the orders' table.

mod audit;
mod measure;
mod plan;
mod report;

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use steadfast::TaskId;
use steadfast_resilience::clock::{Clock, Moment};

use crate::error::Error;
use crate::order::{BLESSED, CURSED, Order, Row, Status, Wanted};
use crate::promise::OPEN_FOR;
use crate::service::Kind;
use crate::shop::{Mend, Repair};
use crate::world::World;
use audit::{Book, Seen, audit};
pub use plan::{Plan, SHORTEST};
pub use report::{EffectFigures, OrderFigures, OutageFigures, RecoveryFigures, Report};

/// Orders in a second where nothing is said: enough for figures of a tenth of a second to mean something, and few enough for a
/// machine that does other work.
const PER_SECOND: u32 = 40;
/// The most orders in a second: each is a transaction of its own, with a sync.
const MAX_PER_SECOND: u32 = 200;
/// How long orders may take to end after the story's time where nothing is said: a busy machine drains more slowly.
const GRACE: Duration = Duration::from_secs(30);
/// How often it is looked whether all orders have ended.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The part of the story that is left out of what the traffic was before the outage: connections are made, code is warmed.
const WARM_UP: u32 = 10;

/// A story to tell. The same seed has the same orders at the same times.
#[derive(Clone, Copy, Debug)]
#[must_use = "a story is told by `run`"]
pub struct Story {
    seed: u64,
    per_second: u32,
    grace: Duration,
}

/// Something that happens in the story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Beat {
    /// When, since the beginning.
    pub at_ms: u64,
    /// What, in words.
    pub words: String,
}

impl Default for Story {
    fn default() -> Self {
        Self { seed: 1, per_second: PER_SECOND, grace: GRACE }
    }
}

impl Story {
    /// With other traffic.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// So many orders in a second, from 1 to 200. Default: 40.
    pub fn orders_per_second(mut self, orders: u32) -> Self {
        self.per_second = orders.clamp(1, MAX_PER_SECOND);
        self
    }

    /// How long orders may take to end after the story's time. Default: 30 s.
    pub const fn grace(mut self, time: Duration) -> Self {
        self.grace = time;
        self
    }

    /// Tells the story within this time, and judges it. `report` hears of what happens as it happens.
    ///
    /// # Errors
    /// It is too short; orders could not be written or read. That something was not as promised is no error: see [`Report::ok`].
    pub async fn run(
        self,
        world: &World,
        lasts: Duration,
        report: impl FnMut(Beat),
    ) -> Result<Report, Error> {
        if lasts < SHORTEST {
            return Err(Error::TooShort { least: SHORTEST.as_secs(), given: lasts.as_secs() });
        }
        let plan = Plan::of(lasts);
        let mut telling = Telling::begin(world, plan, report);
        let scenes = telling.plan.scenes();
        let orders = telling.plan.orders(self.per_second, self.seed);
        telling.say(format!("the shop is open: {} orders a second", self.per_second));
        telling.play(scenes, orders).await?;
        telling.wait_for_all(lasts + self.grace).await?;
        telling.say("all doors are closed; the books are compared");
        Ok(audit(&telling.seen(self.seed).await?))
    }
}

/// What happens besides orders.
#[derive(Clone, Copy, Debug)]
enum Scene {
    Slow,
    NotSlow,
    Away,
    /// Somebody asks why an order does not move.
    Why,
    Back,
    Operator,
}

impl Plan {
    fn scenes(&self) -> Vec<(Duration, Scene)> {
        // Late enough for the circuit to be open, and before the end of the outage.
        let why = (self.outage.start + OPEN_FOR).min(self.outage.end);
        vec![
            (self.slow.start, Scene::Slow),
            (self.slow.end, Scene::NotSlow),
            (self.outage.start, Scene::Away),
            (why, Scene::Why),
            (self.outage.end, Scene::Back),
            (self.operator, Scene::Operator),
        ]
    }
}

/// A story that is being told.
struct Telling<'w, R> {
    world: &'w World,
    plan: Plan,
    report: R,
    clock: Clock,
    began: Moment,
    placed: Vec<Order>,
    back_at_ms: i64,
    waiting: BTreeSet<i64>,
    has_operator: bool,
    repaired: BTreeSet<i64>,
    not_repaired: Option<String>,
}

impl<'w, R: FnMut(Beat)> Telling<'w, R> {
    fn begin(world: &'w World, plan: Plan, report: R) -> Self {
        let clock = Clock::tokio();
        let began = clock.now();
        for kind in Kind::ALL {
            world.town().service(kind).follow(plan.script(kind), began);
        }
        Self {
            world,
            plan,
            report,
            clock,
            began,
            placed: Vec::new(),
            back_at_ms: 0,
            waiting: BTreeSet::new(),
            has_operator: false,
            repaired: BTreeSet::new(),
            not_repaired: None,
        }
    }

    fn say(&mut self, words: impl Into<String>) {
        let at = self.clock.now().since(self.began).as_millis();
        (self.report)(Beat { at_ms: u64::try_from(at).unwrap_or(u64::MAX), words: words.into() });
    }

    /// Has orders come and scenes happen, each at its time.
    async fn play(
        &mut self,
        scenes: Vec<(Duration, Scene)>,
        orders: Vec<(Duration, Wanted)>,
    ) -> Result<(), Error> {
        let mut scenes = scenes.into_iter().peekable();
        for (at, wanted) in orders {
            while let Some((at, scene)) = scenes.next_if(|(then, _)| *then <= at) {
                self.scene(at, scene).await?;
            }
            self.clock.sleep_until(self.began + at).await;
            self.placed.push(self.world.orders().place(wanted).await?);
        }
        for (at, scene) in scenes {
            self.scene(at, scene).await?;
        }
        Ok(())
    }

    async fn scene(&mut self, at: Duration, scene: Scene) -> Result<(), Error> {
        self.clock.sleep_until(self.began + at).await;
        match scene {
            Scene::Slow => self.say("inventory is slow"),
            Scene::NotSlow => self.say("inventory is well again"),
            Scene::Away => self.say("payments is away; what it did last, nobody knows"),
            Scene::Why => self.ask_why().await?,
            Scene::Back => self.is_back().await?,
            Scene::Operator => {
                self.has_operator = true;
                self.operate().await?;
            }
        }
        Ok(())
    }

    /// Asks the engine why the newest order that it has does not move.
    async fn ask_why(&mut self) -> Result<(), Error> {
        let waiting = self.world.orders().with_status(Status::Received).await?;
        let Some(row) = waiting.last() else { return Ok(()) };
        // Only to be shown: the story goes on without it.
        let words = self.world.shop().why(row.task).await.unwrap_or_else(|error| error.whole());
        self.say(format!("{} orders wait. Order {}: {words}", waiting.len(), row.number()));
        Ok(())
    }

    async fn is_back(&mut self) -> Result<(), Error> {
        self.back_at_ms = self.world.orders().now_ms().await?;
        self.waiting = self.open().await?.iter().map(Row::number).collect();
        self.say(format!("payments is back; {} orders wait for it", self.waiting.len()));
        Ok(())
    }

    /// The story's orders that have not ended, but for those that an operator has to look at.
    async fn open(&self) -> Result<Vec<Row>, Error> {
        let mut open = self.world.orders().with_status(Status::Placed).await?;
        open.extend(self.world.orders().with_status(Status::Received).await?);
        open.retain(|row| self.is_own(row));
        Ok(open)
    }

    fn is_own(&self, row: &Row) -> bool {
        // In the order in which they were placed.
        self.placed.binary_search_by_key(&row.number(), |order| order.order).is_ok()
    }

    /// Repairs what has failed: the operator looks at what the engine says, and has the parcel sent with another lamp.
    async fn operate(&mut self) -> Result<(), Error> {
        let mut failed = self.world.orders().with_status(Status::Failed).await?;
        failed.retain(|row| self.is_own(row) && !self.repaired.contains(&row.number()));
        if failed.is_empty() {
            return Ok(());
        }
        let known = match self.world.shop().failed().await {
            Ok(known) => known,
            Err(error) => {
                self.not_repaired = Some(error.whole());
                return Ok(());
            }
        };
        for row in failed {
            let words = known.iter().find(|task| task.task == row.task).map(|task| task.words.clone());
            match words {
                None => self.not_repaired = Some(format!("task {} is not among the failed ones", row.task)),
                Some(words) => self.repair(&row, &words).await,
            }
        }
        Ok(())
    }

    async fn repair(&mut self, row: &Row, words: &str) {
        if row.order.sku != CURSED {
            self.not_repaired =
                Some(format!("nobody knows what to do about order {}: {words}", row.number()));
            return;
        }
        self.say(format!("order {} is with the operator: {words}", row.number()));
        match self.world.shop().repair(mend(row.task, &row.order)).await {
            Ok(()) => {
                self.repaired.insert(row.number());
                self.say(format!("the operator has order {} sent with another lamp", row.number()));
            }
            Err(error) => self.not_repaired = Some(error.whole()),
        }
    }

    /// Waits until all orders have ended, or for so long after the beginning.
    async fn wait_for_all(&mut self, most: Duration) -> Result<(), Error> {
        self.say(format!("{} orders were placed; no more come", self.placed.len()));
        loop {
            if self.has_operator {
                self.operate().await?;
            }
            let mut open = self.open().await?.len();
            open += self
                .world
                .orders()
                .with_status(Status::Failed)
                .await?
                .iter()
                .filter(|row| self.is_own(row))
                .count();
            if open == 0 || self.clock.now().since(self.began) >= most {
                return Ok(());
            }
            self.clock.sleep(LOOK_EVERY).await;
        }
    }

    /// All that is to be judged.
    async fn seen(&self, seed: u64) -> Result<Seen, Error> {
        let took = self.clock.now().since(self.began);
        let moment = |at: Duration| self.began + at;
        let book = |kind: Kind| {
            let service = self.world.town().service(kind);
            Book { kind, entries: service.entries(), calls: service.calls(), repeats: service.repeats() }
        };
        let warm = self.plan.lasts / WARM_UP;
        Ok(Seen {
            seed,
            took,
            rows: self.world.orders().all().await?,
            placed: self.placed.clone(),
            repaired: self.repaired.clone(),
            not_repaired: self.not_repaired.clone(),
            books: Kind::ALL.map(book),
            steady: moment(warm.min(self.plan.outage.start))..moment(self.plan.outage.start),
            outage: moment(self.plan.outage.start)..moment(self.plan.outage.end),
            back_at_ms: self.back_at_ms,
            waiting: self.waiting.clone(),
        })
    }
}

/// The parcel is sent with a lamp that somebody carries.
fn mend(task: TaskId, order: &Order) -> Repair {
    let mended = Order { sku: BLESSED.to_owned(), ..order.clone() };
    let because = format!("nobody carries a {CURSED}: a {BLESSED} will do");
    Repair { task, step: "ship", how: Mend::Retry(mended), by: "ana", because }
}
