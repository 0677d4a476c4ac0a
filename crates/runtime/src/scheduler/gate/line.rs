//! Who waits at a gate, and who is next.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use steadfast_engine::{StepId, Time};
use steadfast_store::TaskId;

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

    /// Takes somebody out, whose group has a turn less for it: its last one.
    pub(super) fn remove(&mut self, place: &Place) -> bool {
        self.take(place, Turns::remove_last)
    }

    /// Somebody has the turn: the group's next one is used.
    pub(super) fn pass(&mut self, place: &Place) -> bool {
        self.take(place, Turns::remove_first)
    }

    fn take(&mut self, place: &Place, a_turn: impl Fn(&mut Turns, Reverse<i8>, u32)) -> bool {
        if !self.places.remove(place) {
            return false;
        }
        let (priority, group) = (place.rank.priority, place.group);
        a_turn(&mut self.turns, priority, group.namespace);
        if let Some(within) = self.within.get_mut(&group.namespace) {
            a_turn(within, priority, group.workflow);
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

/// Turns among some: each has as many as it has places, spread so that all have the same share while they want it.
#[derive(Debug, Default)]
struct Turns {
    /// How far it has got.
    now: u64,
    order: BTreeSet<(Reverse<i8>, u64, u32)>,
    of: HashMap<(Reverse<i8>, u32), VecDeque<u64>>,
}

impl Turns {
    fn add(&mut self, priority: Reverse<i8>, who: u32) {
        let of = self.of.entry((priority, who)).or_default();
        let turn = of.back().map_or(self.now, |last| last + 1);
        of.push_back(turn);
        self.order.insert((priority, turn, who));
    }

    fn first(&self) -> Option<(Reverse<i8>, u32)> {
        self.order.first().map(|(priority, _, who)| (*priority, *who))
    }

    fn first_of(&self, priority: Reverse<i8>) -> Option<u32> {
        let (_, _, who) = self.order.range((priority, 0, 0)..=(priority, u64::MAX, u32::MAX)).next()?;
        Some(*who)
    }

    fn remove_first(&mut self, priority: Reverse<i8>, who: u32) {
        // Who comes later begins here: what it did not want before is not owed.
        let turn = self.of.get(&(priority, who)).and_then(|of| of.front());
        self.now = self.now.max(turn.copied().unwrap_or(0));
        self.remove(priority, who, VecDeque::pop_front);
    }

    fn remove_last(&mut self, priority: Reverse<i8>, who: u32) {
        self.remove(priority, who, VecDeque::pop_back);
    }

    fn remove(&mut self, priority: Reverse<i8>, who: u32, take: fn(&mut VecDeque<u64>) -> Option<u64>) {
        let Some(of) = self.of.get_mut(&(priority, who)) else { return };
        if let Some(turn) = take(of) {
            self.order.remove(&(priority, turn, who));
        }
        if of.is_empty() {
            self.of.remove(&(priority, who));
        }
    }
}
