//! Who is next in line: shares by turns, and the whole line beside a model of it.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;

use super::super::line::{Line, MOST_NAMES};
use super::*;

/// A line, who waits in it by number, and what each is called here.
#[derive(Default)]
struct Queue {
    line: Line,
    places: HashMap<u128, Place>,
    called: HashMap<u128, &'static str>,
    last: u128,
}

impl Queue {
    fn come(&mut self, priority: i8, deadline: Option<u64>, namespace: &str, workflow: &str) -> u128 {
        self.last += 1;
        let whose = (&name(namespace), &name(workflow));
        let place = self.line.place(rank(priority, deadline), whose, task(self.last), STEP);
        self.line.insert(place);
        self.places.insert(self.last, place);
        self.last
    }

    /// So many of one workflow of a namespace, which has that name.
    fn many(&mut self, count: usize, namespace: &'static str) -> Vec<u128> {
        self.called(count, 0, (namespace, "w"), namespace)
    }

    fn called(
        &mut self,
        count: usize,
        priority: i8,
        (namespace, workflow): (&str, &str),
        called: &'static str,
    ) -> Vec<u128> {
        let come = |_| {
            let who = self.come(priority, None, namespace, workflow);
            self.called.insert(who, called);
            who
        };
        (0..count).map(come).collect()
    }

    fn leave(&mut self, who: u128) -> bool {
        self.places.get(&who).is_some_and(|place| self.line.remove(place))
    }

    fn next(&mut self) -> Option<u128> {
        let next = self.line.next_by_turns()?;
        assert!(self.line.pass(&next), "who is next waits");
        Some(number(next))
    }

    /// How many the next so many are of each.
    fn shares(&mut self, turns: usize) -> BTreeMap<&'static str, usize> {
        let mut shares = BTreeMap::new();
        for _ in 0..turns {
            *shares.entry(self.next().map_or("nobody", |who| self.called[&who])).or_default() += 1;
        }
        shares
    }
}

#[test]
fn namespaces_have_the_same_share_however_many_wait() {
    let mut queue = Queue::default();
    for (namespace, count) in [("a", 1_000), ("b", 100), ("c", 400)] {
        queue.many(count, namespace);
    }
    assert_eq!(queue.shares(300), BTreeMap::from([("a", 100), ("b", 100), ("c", 100)]));
    assert_eq!(queue.shares(100), BTreeMap::from([("a", 50), ("c", 50)]), "b wants no more");
}

#[test]
fn workflows_of_a_namespace_share_what_it_has_and_take_nothing_from_others() {
    let mut queue = Queue::default();
    for (whose, called) in
        [(("a", "x"), "a x"), (("a", "y"), "a y"), (("a", "z"), "a z"), (("b", "x"), "b x")]
    {
        queue.called(100, 0, whose, called);
    }
    assert_eq!(queue.shares(120), BTreeMap::from([("a x", 20), ("a y", 20), ("a z", 20), ("b x", 60)]));
}

#[test]
fn who_comes_later_is_owed_nothing_and_waits_for_a_turn_or_two() {
    let mut queue = Queue::default();
    queue.many(10_000, "greedy");
    queue.shares(5_000);
    queue.many(100, "late");
    assert_eq!(queue.shares(2)["late"], 1, "no later than the second turn");
    assert_eq!(queue.shares(100)["late"], 50, "and no more than its share");
}

/// It has one task after the other, so that one of them waits whenever somebody is next.
#[test]
fn one_that_comes_back_at_once_does_not_keep_the_others_out() {
    for (first, second) in [("a", "b"), ("b", "a")] {
        let mut queue = Queue::default();
        queue.many(1, first);
        queue.many(100, second);
        let mut served = BTreeMap::<_, usize>::new();
        for _ in 0..100 {
            let who = queue.next().map(|who| queue.called[&who]).unwrap();
            *served.entry(who).or_default() += 1;
            if who == first {
                queue.many(1, first);
            }
        }
        assert_eq!(served, BTreeMap::from([("a", 50), ("b", 50)]));
    }
}

#[test]
fn turns_of_a_higher_priority_do_not_count_at_a_lower_one() {
    let mut queue = Queue::default();
    queue.many(1_000, "greedy");
    queue.called(100, 5, ("greedy", "w"), "high");
    assert_eq!(queue.shares(100), BTreeMap::from([("high", 100)]));
    queue.many(1, "quiet");
    assert_eq!(queue.shares(2)["quiet"], 1);
}

#[test]
fn turns_stay_right_when_places_leave_in_the_middle() {
    let mut queue = Queue::default();
    let a = queue.many(100, "a");
    queue.many(100, "b");
    for who in a.iter().skip(10).step_by(2) {
        assert!(queue.leave(*who));
        assert!(!queue.leave(*who), "only once");
    }
    // 55 of a are left: they have every second turn as long as they last.
    assert_eq!(queue.shares(110), BTreeMap::from([("a", 55), ("b", 55)]));
    assert_eq!(queue.shares(46), BTreeMap::from([("b", 45), ("nobody", 1)]));
}

/// All of a namespace leave, and come back: as if they had never come.
#[test]
fn who_left_without_a_turn_has_used_none() {
    let mut queue = Queue::default();
    queue.many(50, "b");
    let went = queue.many(40, "a");
    went.into_iter().for_each(|who| assert!(queue.leave(who)));
    queue.many(40, "a");
    assert_eq!(queue.shares(20), BTreeMap::from([("a", 10), ("b", 10)]));
}

#[test]
fn of_one_workflow_the_nearest_deadline_is_first_then_the_oldest() {
    let mut queue = Queue::default();
    let none = queue.come(0, None, "a", "w");
    let far = queue.come(0, Some(900), "a", "w");
    let near = queue.come(0, Some(100), "a", "w");
    let later = queue.come(0, Some(100), "a", "w");
    let high = queue.come(1, None, "a", "w");
    let served: Vec<_> = std::iter::from_fn(|| queue.next()).collect();
    assert_eq!(served, [high, near, later, far, none]);
}

#[test]
fn names_of_those_who_came_and_went_are_forgotten() {
    let mut queue = Queue::default();
    for namespace in 0..3 * MOST_NAMES {
        let who = queue.come(0, None, &namespace.to_string(), "w");
        assert_eq!(queue.next(), Some(who));
        assert!(queue.line.names() <= MOST_NAMES);
    }
    // While somebody waits its name is known.
    let first = queue.many(2, "first");
    for namespace in 0..2 * MOST_NAMES {
        queue.come(1, None, &namespace.to_string(), "w");
    }
    assert!(queue.leave(first[0]) && queue.leave(first[1]));
}

// ---- beside a model ----

/// What can happen to a line.
#[derive(Clone, Debug)]
enum Move {
    Come {
        priority: i8,
        deadline: Option<u64>,
        namespace: usize,
        workflow: usize,
    },
    /// The n-th that waits.
    Leave(usize),
    ByTurns,
    /// The first by rank whose deadline is not before this time.
    Nearest(u64),
    Forget(u64),
}

fn moves() -> impl Strategy<Value = Move> {
    let priority = prop_oneof![Just(0_i8), Just(1), Just(i8::MIN), Just(i8::MAX)];
    let deadline = prop::option::of(0..200_u64);
    prop_oneof![
        5 => (priority, deadline, 0..4_usize, 0..3_usize).prop_map(
            |(priority, deadline, namespace, workflow)| Move::Come { priority, deadline, namespace, workflow }
        ),
        1 => (0..40_usize).prop_map(Move::Leave),
        3 => Just(Move::ByTurns),
        1 => (0..200_u64).prop_map(Move::Nearest),
        1 => (0..100_u64).prop_map(Move::Forget),
    ]
}

/// Somebody in the model: who waits, sorted by hand.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    who: u128,
    priority: i8,
    deadline: u64,
    namespace: usize,
    workflow: usize,
}

#[derive(Default)]
struct Model {
    all: Vec<Waiting>,
    /// Turns used: of a namespace, and of a workflow in it, at each priority, since somebody waits there.
    used: HashMap<(i8, usize), u64>,
    used_within: HashMap<(i8, usize, usize), u64>,
}

impl Model {
    fn sort(&mut self) {
        self.all.sort_by_key(|waiting| (std::cmp::Reverse(waiting.priority), waiting.deadline, waiting.who));
    }

    fn come(&mut self, new: Waiting) {
        let Waiting { priority, namespace, workflow, .. } = new;
        let beside = |waiting: &&Waiting| waiting.priority == priority;
        let least = self.all.iter().filter(beside).map(|other| self.used[&(priority, other.namespace)]).min();
        let within = |waiting: &&Waiting| beside(waiting) && waiting.namespace == namespace;
        let least_within = self
            .all
            .iter()
            .filter(within)
            .map(|other| self.used_within[&(priority, namespace, other.workflow)])
            .min();
        // Who waits already keeps its turn; who comes again has used what it has used, and is owed nothing.
        if !self.all.iter().any(|other| other.priority == priority && other.namespace == namespace) {
            let used = self.used.entry((priority, namespace)).or_default();
            *used = (*used).max(least.unwrap_or(0));
        }
        let waits_within = |other: &Waiting| within(&other) && other.workflow == workflow;
        if !self.all.iter().any(waits_within) {
            let used = self.used_within.entry((priority, namespace, workflow)).or_default();
            *used = (*used).max(least_within.unwrap_or(0));
        }
        self.all.push(new);
        self.sort();
    }

    fn take(&mut self, place: usize, uses: bool) -> Waiting {
        let gone = self.all.remove(place);
        let Waiting { priority, namespace, workflow, .. } = gone;
        if uses {
            *self.used.entry((priority, namespace)).or_default() += 1;
            *self.used_within.entry((priority, namespace, workflow)).or_default() += 1;
        }
        // Where nobody waits any more, all begin anew.
        if !self.all.iter().any(|waiting| waiting.priority == priority) {
            self.used.retain(|(of, _), _| *of != priority);
        }
        if !self.all.iter().any(|waiting| waiting.priority == priority && waiting.namespace == namespace) {
            self.used_within.retain(|(of, within, _), _| (*of, *within) != (priority, namespace));
        }
        gone
    }

    /// The place of the next by turns. `order` breaks a tie: who came first, ever.
    fn by_turns(&self, order: &[(usize, usize)]) -> Option<usize> {
        let priority = self.all.first()?.priority;
        let known = |namespace: usize| order.iter().position(|(of, _)| *of == namespace);
        let top = || self.all.iter().filter(|waiting| waiting.priority == priority);
        let namespace = top()
            .map(|waiting| waiting.namespace)
            .min_by_key(|namespace| (self.used[&(priority, *namespace)], known(*namespace)))?;
        let workflow = top().filter(|waiting| waiting.namespace == namespace).map(|waiting| waiting.workflow);
        let workflow = workflow.min_by_key(|workflow| {
            let used = self.used_within[&(priority, namespace, *workflow)];
            (used, order.iter().position(|of| *of == (namespace, *workflow)))
        })?;
        let of = (priority, namespace, workflow);
        self.all.iter().position(|waiting| (waiting.priority, waiting.namespace, waiting.workflow) == of)
    }
}

proptest! {
    #[test]
    fn a_line_does_as_its_model_does(moves in prop::collection::vec(moves(), 1..200)) {
        let (mut queue, mut model) = (Queue::default(), Model::default());
        let mut order: Vec<(usize, usize)> = Vec::new();
        for one in moves {
            match one {
                Move::Come { priority, deadline, namespace, workflow } => {
                    if !order.contains(&(namespace, workflow)) {
                        order.push((namespace, workflow));
                    }
                    let who = queue.come(priority, deadline, &namespace.to_string(), &workflow.to_string());
                    let deadline = deadline.unwrap_or(u64::MAX);
                    model.come(Waiting { who, priority, deadline, namespace, workflow });
                }
                Move::Leave(nth) if !model.all.is_empty() => {
                    let gone = model.take(nth % model.all.len(), false);
                    prop_assert!(queue.leave(gone.who));
                }
                Move::Leave(_) => prop_assert!(!queue.leave(0)),
                Move::ByTurns => {
                    let next = model.by_turns(&order).map(|place| model.take(place, true).who);
                    prop_assert_eq!(queue.next(), next);
                }
                Move::Nearest(from) => {
                    let from_time = Time::from_millis(from);
                    let all: Vec<_> = queue.line.in_reach(from_time).map(number).collect();
                    let in_reach = model.all.iter().filter(|waiting| waiting.deadline >= from);
                    prop_assert_eq!(&all, &in_reach.map(|waiting| waiting.who).collect::<Vec<_>>());
                    if let Some(who) = all.first() {
                        let place = model.all.iter().position(|waiting| waiting.who == *who).unwrap();
                        model.take(place, true);
                        prop_assert!(queue.line.pass(&queue.places[who]));
                    }
                }
                Move::Forget(time) => {
                    queue.line.forget_passed(Time::from_millis(time));
                    while let Some(place) = model.all.iter().position(|waiting| waiting.deadline <= time) {
                        model.take(place, false);
                    }
                }
            }
            prop_assert_eq!(queue.line.len(), model.all.len());
            prop_assert_eq!(queue.line.is_empty(), model.all.is_empty());
            let all: Vec<_> = queue.line.iter().copied().map(number).collect();
            prop_assert_eq!(all, model.all.iter().map(|waiting| waiting.who).collect::<Vec<_>>());
        }
    }
}
