//! Forms that were written before, and are still read.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use steadfast_engine::{HeadMore, Kept, Paused, RecordMore, Time};

use super::More;

/// What only some have, and how it was packed before.
pub(super) trait Grown: DeserializeOwned {
    /// In the form 2.
    type Two: DeserializeOwned + Into<Self>;
    /// In the form 3.
    type Three: DeserializeOwned + Into<Self>;
    /// In the form 4.
    type Four: DeserializeOwned + Into<Self>;
}

#[derive(Deserialize)]
pub(super) struct RecordMoreFour {
    since: Option<Time>,
    rounds: u32,
    series: u32,
    edited: bool,
    by_hand: bool,
}

impl From<RecordMoreFour> for RecordMore {
    fn from(four: RecordMoreFour) -> Self {
        let RecordMoreFour { since, rounds, series, edited, by_hand } = four;
        Self { since, rounds, series, edited, by_hand, ..Self::default() }
    }
}

/// Rows of steps with their places, as the form 4 has them.
fn grown(steps: Vec<(usize, RecordMoreFour)>) -> Vec<(usize, Box<RecordMore>)> {
    steps.into_iter().map(|(place, more)| (place, Box::new(more.into()))).collect()
}

#[derive(Deserialize)]
pub(super) struct MoreFour {
    head: Option<Box<HeadMore>>,
    steps: Vec<(usize, RecordMoreFour)>,
}

impl From<MoreFour> for More {
    fn from(four: MoreFour) -> Self {
        Self { head: four.head, steps: grown(four.steps) }
    }
}

#[derive(Deserialize)]
pub(super) struct HeadMoreThree {
    start_at: Option<Time>,
    kept: Vec<Kept>,
    seen: Vec<Arc<str>>,
    paused: Option<Paused>,
}

impl From<HeadMoreThree> for HeadMore {
    fn from(three: HeadMoreThree) -> Self {
        let HeadMoreThree { start_at, kept, seen, paused } = three;
        Self { start_at, kept, seen, paused, ..Self::default() }
    }
}

#[derive(Deserialize)]
pub(super) struct MoreThree {
    head: Option<HeadMoreThree>,
    steps: Vec<(usize, RecordMoreFour)>,
}

impl From<MoreThree> for More {
    fn from(three: MoreThree) -> Self {
        Self { head: three.head.map(|head| Box::new(head.into())), steps: grown(three.steps) }
    }
}

#[derive(Deserialize)]
pub(super) struct HeadMoreTwo {
    start_at: Option<Time>,
    kept: Vec<Kept>,
    seen: Vec<Arc<str>>,
}

impl From<HeadMoreTwo> for HeadMore {
    fn from(two: HeadMoreTwo) -> Self {
        let HeadMoreTwo { start_at, kept, seen } = two;
        Self { start_at, kept, seen, ..Self::default() }
    }
}

#[derive(Deserialize)]
pub(super) struct RecordMoreTwo {
    since: Option<Time>,
    rounds: u32,
}

impl From<RecordMoreTwo> for RecordMore {
    fn from(two: RecordMoreTwo) -> Self {
        let RecordMoreTwo { since, rounds } = two;
        Self { since, rounds, ..Self::default() }
    }
}

#[derive(Deserialize)]
pub(super) struct MoreTwo {
    head: Option<HeadMoreTwo>,
    steps: Vec<(usize, RecordMoreTwo)>,
}

impl From<MoreTwo> for More {
    fn from(two: MoreTwo) -> Self {
        let head = two.head.map(|head| Box::new(head.into()));
        let steps = two.steps.into_iter().map(|(place, more)| (place, Box::new(more.into()))).collect();
        Self { head, steps }
    }
}

impl Grown for HeadMore {
    type Two = HeadMoreTwo;
    type Three = HeadMoreThree;
    type Four = Self;
}

impl Grown for RecordMore {
    type Two = RecordMoreTwo;
    type Three = RecordMoreFour;
    type Four = RecordMoreFour;
}

impl Grown for More {
    type Two = MoreTwo;
    type Three = MoreThree;
    type Four = MoreFour;
}

#[cfg(test)]
mod tests {
    use steadfast_engine::{Head, Record, StepId, TaskState};

    use super::super::{unpack_change, unpack_head, unpack_record};
    use super::*;

    fn time(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn head() -> Head {
        Head {
            state: TaskState::Waiting,
            deadline: Some(time(9)),
            no_return: false,
            ending: None,
            running: 0,
            ready: 0,
            resting: 1,
            open: 2,
            more: None,
        }
    }

    /// As it was packed before services could answer later.
    #[test]
    fn what_was_packed_without_callbacks_is_read() {
        let anew = RecordMore { since: Some(time(3)), series: 2, by_hand: true, ..RecordMore::default() };
        let grown = Record { more: Some(Box::new(anew)), ..Record::default() };
        let more = (Some(time(3)), 0_u32, 2_u32, false, true);
        let pack = |value: Vec<u8>, more: Vec<u8>| [vec![4], value, more].concat();
        let record = postcard::to_stdvec(&Record::default()).unwrap();
        let packed = pack(record, postcard::to_stdvec(&more).unwrap());
        assert_eq!(unpack_record(&packed).unwrap(), grown);
        let change = postcard::to_stdvec(&(None::<Head>, vec![(StepId::at(4), Record::default())])).unwrap();
        let more = postcard::to_stdvec(&(None::<HeadMore>, vec![(0_usize, more)])).unwrap();
        assert_eq!(unpack_change(&pack(change, more)).unwrap().steps, [(StepId::at(4), grown)]);
        let packed =
            pack(postcard::to_stdvec(&head()).unwrap(), postcard::to_stdvec(&HeadMore::default()).unwrap());
        assert_eq!(unpack_head(&packed).unwrap().state, TaskState::Waiting);
    }

    /// As it was packed before there were lists.
    #[test]
    fn what_was_packed_with_pauses_is_read() {
        let paused = Paused {
            by: "ann".into(),
            why: "why".into(),
            since: time(4),
            left: Some(std::time::Duration::from_secs(5)),
            was: TaskState::Running,
        };
        let more = (None::<Time>, Vec::<Kept>::new(), vec!["id"], Some(paused.clone()));
        let pack = |value: Vec<u8>, more: Vec<u8>| [vec![3], value, more].concat();
        let packed = pack(postcard::to_stdvec(&head()).unwrap(), postcard::to_stdvec(&more).unwrap());
        let grown = HeadMore { seen: vec!["id".into()], paused: Some(paused), ..HeadMore::default() };
        let grown = Head { more: Some(Box::new(grown)), ..head() };
        assert_eq!(unpack_head(&packed).unwrap(), grown);
        let anew = RecordMore { series: 2, edited: true, by_hand: true, ..RecordMore::default() };
        let (record, packed) = (Record::default(), (None::<Time>, 0_u32, 2_u32, true, true));
        let change = postcard::to_stdvec(&(Some(head()), vec![(StepId::at(4), record.clone())])).unwrap();
        let more = postcard::to_stdvec(&(Some(more), vec![(0_usize, packed)])).unwrap();
        let read = unpack_change(&pack(change, more)).unwrap();
        let record = Record { more: Some(Box::new(anew)), ..record };
        assert_eq!((read.head, read.steps), (Some(grown), vec![(StepId::at(4), record)]));
    }

    /// As it was packed before operators could touch a task.
    #[test]
    fn what_was_packed_before_is_read() {
        let head = head();
        let kept = Kept { signal: "go".into(), at: StepId::of_signal(0), step: None };
        let pack = |value: Vec<u8>, more: Vec<u8>| [vec![2], value, more].concat();
        let more = postcard::to_stdvec(&(Some(time(7)), vec![kept.clone()], vec!["id"])).unwrap();
        let read = unpack_head(&pack(postcard::to_stdvec(&head).unwrap(), more)).unwrap();
        let grown = HeadMore {
            start_at: Some(time(7)),
            kept: vec![kept],
            seen: vec!["id".into()],
            ..HeadMore::default()
        };
        assert_eq!(read, Head { more: Some(Box::new(grown)), ..head });
        let (record, more) = (Record::default(), postcard::to_stdvec(&(Some(time(3)), 2_u32)).unwrap());
        let packed = pack(postcard::to_stdvec(&record).unwrap(), more);
        let grown = RecordMore { since: Some(time(3)), rounds: 2, ..RecordMore::default() };
        let record = Record { more: Some(Box::new(grown)), ..record };
        assert_eq!(unpack_record(&packed).unwrap(), record);
        let change = postcard::to_stdvec(&(None::<Head>, vec![(StepId::at(4), Record::default())])).unwrap();
        let more = postcard::to_stdvec(&(None::<()>, vec![(0_usize, (Some(time(3)), 2_u32))])).unwrap();
        assert_eq!(unpack_change(&pack(change, more)).unwrap().steps, [(StepId::at(4), record)]);
    }
}
