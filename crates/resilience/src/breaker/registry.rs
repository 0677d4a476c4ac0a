//! Breakers by key: one per host, shard or tenant, made on demand, dropped when idle.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::settings::Settings;
use super::{Breaker, Builder};
use crate::clock::{Clock, Moment, nanos};
use crate::log;
use crate::problem::{BuildError, Code, Findings, Problem};
use crate::retry::BudgetBuilder;
use crate::sync::{AtomicU64, Ordering};

/// Parts of the map that are locked apart, so that callers with different keys seldom meet.
const SHARDS: usize = 16;

/// How often a full registry looks through a shard at most: a flood of keys must not pay for a search each.
const SEARCH_EVERY: Duration = Duration::from_secs(1);

/// Makes and keeps breakers by key.
///
/// A breaker is forgotten only when it is closed, has no failure in its window, was not asked for during the idle
/// time, and nobody holds a clone of it. What is open, or has something to remember, stays.
///
/// ```
/// use steadfast_resilience::{Breaker, breaker::Registry};
///
/// let hosts = Registry::builder(Breaker::standard()).build("payments")?;
/// let breaker = hosts.get("host-a");
/// assert_eq!(breaker.name(), "payments/host-a");
/// # Ok::<(), steadfast_resilience::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Registry {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    template: Builder,
    settings: Arc<Settings>,
    budget: Option<BudgetBuilder>,
    warnings: Vec<Problem>,
    clock: Clock,
    max_keys: usize,
    idle: Duration,
    hasher: RandomState,
    shards: [RwLock<Shard>; SHARDS],
    kept: AtomicU64,
    overflow: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    breakers: HashMap<Box<str>, Entry>,
    /// When a full registry last looked through this shard for idle ones.
    searched: Option<Moment>,
}

#[derive(Debug)]
struct Entry {
    breaker: Breaker,
    last_used: AtomicU64,
}

/// Settings of a [`Registry`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct RegistryBuilder {
    template: Builder,
    budget: Option<BudgetBuilder>,
    max_keys: usize,
    idle: Duration,
    clock: Clock,
}

impl RegistryBuilder {
    /// The most breakers kept. Default: 100 000, some 90 MB. Beyond it a new key gets a breaker that is not kept,
    /// so that a flood of keys costs no memory.
    pub fn max_keys(mut self, keys: usize) -> Self {
        self.max_keys = keys;
        self
    }

    /// How long a breaker must not have been asked for before it can be dropped. Default: 10 minutes.
    pub fn idle(mut self, time: Duration) -> Self {
        self.idle = time;
        self
    }

    /// A retry budget for each key, so that a resource that is down does not use up what the others need. Calls that
    /// bring a breaker of this registry along pay from it instead of the pipeline's. Default: none. Costs some 250
    /// bytes for each key.
    pub fn budget(mut self, budget: BudgetBuilder) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Where the time comes from. Default: the system's clock.
    pub fn clock(mut self, clock: impl Into<Clock>) -> Self {
        self.clock = clock.into();
        self
    }

    /// Checks the settings. Breakers are named `name/key`.
    ///
    /// # Errors
    /// Every setting that makes no sense, with what to do about it.
    pub fn build(mut self, name: &str) -> Result<Registry, BuildError> {
        let mut findings = Findings::default();
        findings.check_name("registry.name", name, "its breakers are named after it and their keys");
        if self.max_keys == 0 {
            findings.error(
                Code::OutOfRange,
                "registry.max_keys",
                "0 keeps no breaker at all: give 1 or more",
            );
        }
        self.template.set_clock_if_default(&self.clock);
        let _ = self.template.clone().build_within(name, &mut findings);
        if let Some(budget) = &self.budget {
            let _ = budget.clone().build_within(&mut findings);
        }
        let warnings = findings.finish(name)?;
        Ok(Registry {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                settings: self.template.shared_settings(),
                template: self.template,
                budget: self.budget,
                warnings,
                clock: self.clock,
                max_keys: self.max_keys,
                idle: self.idle,
                hasher: RandomState::new(),
                shards: Default::default(),
                kept: AtomicU64::new(0),
                overflow: AtomicU64::new(0),
            }),
        })
    }
}

impl Registry {
    /// A registry whose breakers all have the settings of `template`.
    pub fn builder(template: Builder) -> RegistryBuilder {
        RegistryBuilder {
            template,
            budget: None,
            max_keys: 100_000,
            idle: Duration::from_secs(600),
            clock: Clock::system(),
        }
    }

    /// The breaker for this key, made now if there is none.
    #[must_use]
    pub fn get(&self, key: &str) -> Breaker {
        let now = self.inner.clock.now();
        let shard = self.inner.shard(key);
        if let Some(entry) = shard.read().unwrap_or_else(PoisonError::into_inner).breakers.get(key) {
            entry.touch(now, self.inner.idle);
            return entry.breaker.clone();
        }
        self.insert(key, now)
    }

    #[cold]
    fn insert(&self, key: &str, now: Moment) -> Breaker {
        let inner = &*self.inner;
        let mut shard = inner.shard(key).write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = shard.breakers.get(key) {
            entry.touch(now, inner.idle);
            return entry.breaker.clone();
        }
        let budget = inner.budget.clone().map(|budget| budget.build_within(&mut Findings::default()));
        let breaker = inner.template.make(&format!("{}/{key}", inner.name), &inner.settings, budget);
        if !inner.has_room() && shard.searched.is_none_or(|last| now.since(last) >= SEARCH_EVERY) {
            shard.searched = Some(now);
            inner.evict(&mut shard, now);
        }
        if !inner.has_room() {
            if inner.overflow.fetch_add(1, Ordering::Relaxed) == 0 {
                log::registry_full(&inner.name, inner.max_keys);
            }
            return breaker;
        }
        inner.kept.fetch_add(1, Ordering::Relaxed);
        let last_used = AtomicU64::new(now.as_nanos());
        shard.breakers.insert(key.into(), Entry { breaker: breaker.clone(), last_used });
        breaker
    }

    /// Drops what is clean, closed and idle; returns how many. Call it now and then; a full registry does it itself.
    pub fn evict_idle(&self) -> usize {
        let now = self.inner.clock.now();
        let evict = |shard: &RwLock<Shard>| {
            self.inner.evict(&mut shard.write().unwrap_or_else(PoisonError::into_inner), now)
        };
        self.inner.shards.iter().map(evict).sum()
    }

    /// Settings of its breakers that can never take effect, or that hurt. Not errors: it works as told.
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.inner.warnings
    }

    /// Breakers kept.
    #[must_use]
    pub fn len(&self) -> usize {
        let count =
            |shard: &RwLock<Shard>| shard.read().unwrap_or_else(PoisonError::into_inner).breakers.len();
        self.inner.shards.iter().map(count).sum()
    }

    /// Whether no breaker is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How often a key got a breaker that was not kept, because the registry was full.
    #[must_use]
    pub fn overflow(&self) -> u64 {
        self.inner.overflow.load(Ordering::Relaxed)
    }

    /// Every breaker kept, in no order.
    #[must_use]
    pub fn all(&self) -> Vec<Breaker> {
        let of_shard = |shard: &RwLock<Shard>| {
            let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
            shard.breakers.values().map(|entry| entry.breaker.clone()).collect::<Vec<_>>()
        };
        self.inner.shards.iter().flat_map(of_shard).collect()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("name", &self.inner.name)
            .field("kept", &self.len())
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn shard(&self, key: &str) -> &RwLock<Shard> {
        let hash = self.hasher.hash_one(key);
        &self.shards[usize::try_from(hash % SHARDS as u64).unwrap_or(0)]
    }

    fn has_room(&self) -> bool {
        self.kept.load(Ordering::Relaxed) < self.max_keys as u64
    }

    fn evict(&self, shard: &mut Shard, now: Moment) -> usize {
        let before = shard.breakers.len();
        shard.breakers.retain(|_, entry| {
            let unused = now.as_nanos().saturating_sub(entry.last_used.load(Ordering::Relaxed));
            unused < nanos(self.idle) || !entry.breaker.is_only_handle() || !entry.breaker.is_clean(now)
        });
        let evicted = before - shard.breakers.len();
        self.kept.fetch_sub(evicted as u64, Ordering::Relaxed);
        evicted
    }
}

impl Entry {
    /// Notes the use, but not more than about once a second: callers must not meet here either.
    fn touch(&self, now: Moment, idle: Duration) {
        let last = self.last_used.load(Ordering::Relaxed);
        if now.as_nanos().saturating_sub(last) > (nanos(idle) / 10).min(1_000_000_000) {
            self.last_used.store(now.as_nanos(), Ordering::Relaxed);
        }
    }
}
