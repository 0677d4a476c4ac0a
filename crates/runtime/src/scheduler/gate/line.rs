//! Who waits at a gate, and who is next.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use steadfast_engine::{StepId, Time};
use steadfast_store::TaskId;

/// So many names are kept while nobody waits: more than a program has workflows, and enough for namespaces that come often.
pub(super) const MOST_NAMES: usize = 1_024;

const NO_DEADLINE: Time = Time::from_millis(u64::MAX);

/// What decides who goes first: the higher priority, then the nearer deadline; none is the farthest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Rank {
    priority: Reverse<i8>,
    deadline: Time,
}

impl Rank {
    pub(in super::super) fn new(priority: i8, deadline: Option<Time>) -> Self {
        Self { priority: Reverse(priority), deadline: deadline.unwrap_or(NO_DEADLINE) }
    }

    /// The first rank of the next lower priority.
    fn lower(self) -> Option<Self> {
        let priority = self.priority.0.checked_sub(1)?;
        Some(Self { priority: Reverse(priority), deadline: Time::from_millis(0) })
    }
}

/// Somebody who waits: by rank, and of the same rank oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Place {
    pub(super) rank: Rank,
    pub(in super::super) task: TaskId,
    pub(in super::super) step: StepId,
    group: Group,
}

/// Whose work it is, as numbers: a namespace, and a workflow in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Group {
    namespace: u32,
    workflow: u32,
}

impl Place {
    /// Before all others of this rank.
    fn first_of(rank: Rank) -> Self {
        let group = Group { namespace: 0, workflow: 0 };
        Self { rank, task: TaskId::from_u128(0), step: StepId::at(0), group }
    }

    pub(super) fn has_passed(&self, time: Time) -> bool {
        self.rank.deadline <= time
    }
}

/// All who wait, in two orders: by rank, and by turns, so that neither a namespace nor a workflow keeps the others out.
#[derive(Debug, Default)]
pub(super) struct Line {
    places: BTreeSet<Place>,
    names: HashMap<(Arc<str>, Arc<str>), Group>,
    namespaces: HashMap<Arc<str>, u32>,
    /// Turns among namespaces, and among the workflows of each.
    turns: Turns,
    within: HashMap<u32, Turns>,
    /// The places of each group, of each priority.
    groups: HashMap<(Reverse<i8>, Group), BTreeSet<Place>>,
}

impl Line {
    pub(super) fn place(
        &mut self,
        rank: Rank,
        (namespace, workflow): (&Arc<str>, &Arc<str>),
        task: TaskId,
        step: StepId,
    ) -> Place {
        let name = (Arc::clone(namespace), Arc::clone(workflow));
        let group = match self.names.get(&name) {
            Some(group) => *group,
            None => self.new_group(name),
        };
        Place { rank, task, step, group }
    }

    fn new_group(&mut self, name: (Arc<str>, Arc<str>)) -> Group {
        if self.places.is_empty() && self.names.len() >= MOST_NAMES {
            self.clear();
        }
        let next = u32::try_from(self.namespaces.len()).unwrap_or(u32::MAX);
        let namespace = *self.namespaces.entry(Arc::clone(&name.0)).or_insert(next);
        let workflow = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let group = Group { namespace, workflow };
        self.names.insert(name, group);
        group
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    #[cfg(test)]
    pub(super) fn names(&self) -> usize {
        self.names.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Place> {
        self.places.iter()
    }

    pub(super) fn insert(&mut self, place: Place) {
        if self.places.insert(place) {
            let (priority, group) = (place.rank.priority, place.group);
            self.turns.add(priority, group.namespace);
            self.within.entry(group.namespace).or_default().add(priority, group.workflow);
            self.groups.entry((priority, group)).or_default().insert(place);
        }
    }

    /// Somebody leaves, and has used no turn.
    pub(super) fn remove(&mut self, place: &Place) -> bool {
        self.take(place, false)
    }

    /// Somebody goes through: a turn of its group is used.
    pub(super) fn pass(&mut self, place: &Place) -> bool {
        self.take(place, true)
    }

    fn take(&mut self, place: &Place, used: bool) -> bool {
        if !self.places.remove(place) {
            return false;
        }
        let (priority, group) = (place.rank.priority, place.group);
        self.turns.take(priority, group.namespace, used);
        if let Some(within) = self.within.get_mut(&group.namespace) {
            within.take(priority, group.workflow, used);
        }
        if let Some(places) = self.groups.get_mut(&(priority, group)) {
            places.remove(place);
            if places.is_empty() {
                self.groups.remove(&(priority, group));
            }
        }
        true
    }

    /// Those whose deadline has passed leave.
    pub(super) fn forget_passed(&mut self, time: Time) {
        let mut from = self.places.first().map(|first| first.rank);
        while let Some(rank) = from {
            let Some(first) = self.first_from(rank) else { return };
            if first.has_passed(time) {
                self.remove(&first);
            } else {
                from = first.rank.lower();
            }
        }
    }

    fn first_from(&self, rank: Rank) -> Option<Place> {
        self.places.range(Place::first_of(rank)..).next().copied()
    }

    /// By rank, without those whose deadline is before this time.
    pub(super) fn in_reach(&self, from: Time) -> impl Iterator<Item = Place> {
        let mut rest = self.places.range(..);
        std::iter::from_fn(move || {
            loop {
                let place = *rest.next()?;
                if place.rank.deadline >= from {
                    return Some(place);
                }
                rest = self.places.range(Place::first_of(Rank { deadline: from, ..place.rank })..);
            }
        })
    }

    /// The next by turns: of the highest priority, of the namespace and the workflow whose turn it is, the nearest deadline.
    pub(super) fn next_by_turns(&self) -> Option<Place> {
        let (priority, namespace) = self.turns.first()?;
        let workflow = self.within.get(&namespace)?.first_of(priority)?;
        self.groups.get(&(priority, Group { namespace, workflow }))?.first().copied()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Turns among some, at each priority.
#[derive(Debug, Default)]
struct Turns {
    rounds: BTreeMap<Reverse<i8>, Round>,
}

/// Turns among some of one priority, as long as somebody waits there: who has used the fewest is next.
#[derive(Debug, Default)]
struct Round {
    shares: HashMap<u32, Share>,
    /// Those who wait, by the turns that they have used.
    order: BTreeSet<(u64, u32)>,
}

#[derive(Debug, Default)]
struct Share {
    used: u64,
    waiting: usize,
}

impl Turns {
    fn add(&mut self, priority: Reverse<i8>, who: u32) {
        self.rounds.entry(priority).or_default().add(who);
    }

    fn first(&self) -> Option<(Reverse<i8>, u32)> {
        let (priority, round) = self.rounds.first_key_value()?;
        Some((*priority, round.first()?))
    }

    fn first_of(&self, priority: Reverse<i8>) -> Option<u32> {
        self.rounds.get(&priority)?.first()
    }

    /// One less waits, and has used a turn, or has not.
    fn take(&mut self, priority: Reverse<i8>, who: u32, used: bool) {
        if let Some(round) = self.rounds.get_mut(&priority) {
            round.take(who, used);
            if round.order.is_empty() {
                self.rounds.remove(&priority);
            }
        }
    }
}

impl Round {
    fn first(&self) -> Option<u32> {
        self.order.first().map(|(_, who)| *who)
    }

    fn add(&mut self, who: u32) {
        let fewest = self.order.first().map_or(0, |(used, _)| *used);
        let share = self.shares.entry(who).or_default();
        if share.waiting == 0 {
            // What it did not want before is not owed; what it had is not forgotten while others wait, or one that
            // always has a single task in line would always be next.
            share.used = share.used.max(fewest);
            self.order.insert((share.used, who));
        }
        share.waiting += 1;
    }

    fn take(&mut self, who: u32, used: bool) {
        let Some(share) = self.shares.get_mut(&who).filter(|share| share.waiting > 0) else { return };
        self.order.remove(&(share.used, who));
        share.waiting -= 1;
        share.used += u64::from(used);
        if share.waiting > 0 {
            self.order.insert((share.used, who));
        }
    }
}
