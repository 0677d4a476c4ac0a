//! Between rows and the engine's types. Numbers and packed forms are part of the file: what was shipped never changes.

mod before;

use rusqlite::types::{FromSqlError, Type};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use steadfast_engine::{Head, HeadMore, Record, RecordMore, StepId, TaskState, Time};

use before::Grown;

/// The first byte of everything packed: the form that follows.
const FORM: u8 = 1;
/// The form that has beside it what only some tasks and steps have: to those that do not, it costs nothing.
const WITH_MORE: u8 = 5;
/// The same before services could answer later: read, and never written.
const WITH_MORE_FOUR: u8 = 4;
/// The same before there were lists: read, and never written.
const WITH_MORE_THREE: u8 = 3;
/// The same before operators could touch a task.
const WITH_MORE_TWO: u8 = 2;

/// What nearly all rows fit into. Memory that grows takes the allocator's lock each time, and the threads that make tasks wait for it:
/// it was up to a tenth of all processor time.
const ROOM: usize = 256;

/// What a write did, as it is read from the history.
#[derive(Deserialize)]
pub(crate) struct Change {
    pub(crate) head: Option<Head>,
    pub(crate) steps: Vec<(StepId, Record)>,
}

/// What a write does, as it is put into the history: packed it is the same.
#[derive(Serialize)]
struct Changing<'a> {
    head: Option<&'a Head>,
    steps: &'a [(StepId, Record)],
}

/// What only some have, of a change: of the task, and of steps by their place among those that changed.
#[derive(Default, Serialize, Deserialize)]
struct More {
    head: Option<Box<HeadMore>>,
    steps: Vec<(usize, Box<RecordMore>)>,
}

pub(crate) fn pack_head(head: &Head) -> rusqlite::Result<Vec<u8>> {
    pack(head, head.more.as_ref())
}

pub(crate) fn unpack_head(bytes: &[u8]) -> rusqlite::Result<Head> {
    let (head, more) = unpack::<Head, HeadMore>(bytes)?;
    Ok(Head { more: more.map(Box::new), ..head })
}

pub(crate) fn pack_record(record: &Record) -> rusqlite::Result<Vec<u8>> {
    pack(record, record.more.as_ref())
}

pub(crate) fn unpack_record(bytes: &[u8]) -> rusqlite::Result<Record> {
    let (record, more) = unpack::<Record, RecordMore>(bytes)?;
    Ok(Record { more: more.map(Box::new), ..record })
}

pub(crate) fn pack_change(head: Option<&Head>, steps: &[(StepId, Record)]) -> rusqlite::Result<Vec<u8>> {
    let with_more = |(place, (_, record)): (usize, &(StepId, Record))| Some((place, record.more.clone()?));
    let more = More {
        head: head.and_then(|head| head.more.clone()),
        steps: steps.iter().enumerate().filter_map(with_more).collect(),
    };
    let has_more = more.head.is_some() || !more.steps.is_empty();
    pack(&Changing { head, steps }, has_more.then_some(&more))
}

pub(crate) fn unpack_change(bytes: &[u8]) -> rusqlite::Result<Change> {
    let (mut change, more) = unpack::<Change, More>(bytes)?;
    let more = more.unwrap_or_default();
    if let Some(head) = &mut change.head {
        head.more = more.head;
    }
    for (place, more) in more.steps {
        if let Some((_, record)) = change.steps.get_mut(place) {
            record.more = Some(more);
        }
    }
    Ok(change)
}

/// The number of a state in the file; from 4 on a task is at rest.
pub(crate) fn state(state: TaskState) -> u8 {
    match state {
        TaskState::Pending => 0,
        TaskState::Running => 1,
        // Who pauses is in the head.
        TaskState::Waiting | TaskState::Paused => 2,
        TaskState::Undoing => 3,
        TaskState::Failed => 4,
        TaskState::Completed => 5,
        TaskState::Undone => 6,
    }
}

pub(crate) fn millis(time: Time) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn time(millis: i64) -> Time {
    Time::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// What all have, and behind it what only some have.
fn pack(value: &impl Serialize, more: Option<&impl Serialize>) -> rusqlite::Result<Vec<u8>> {
    let mut packed = Vec::with_capacity(ROOM);
    packed.push(if more.is_some() { WITH_MORE } else { FORM });
    let packed = postcard::to_extend(value, packed);
    let packed = match more {
        None => packed,
        Some(more) => packed.and_then(|packed| postcard::to_extend(more, packed)),
    };
    packed.map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn unpack<T: DeserializeOwned, M: Grown>(bytes: &[u8]) -> rusqlite::Result<(T, Option<M>)> {
    let bad = |error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, error)
    };
    let read = match bytes.split_first() {
        Some((&FORM, packed)) => postcard::from_bytes(packed).map(|value| (value, None)),
        Some((&WITH_MORE, packed)) => postcard::take_from_bytes(packed)
            .and_then(|(value, packed)| Ok((value, Some(postcard::from_bytes(packed)?)))),
        Some((&WITH_MORE_FOUR, packed)) => postcard::take_from_bytes(packed)
            .and_then(|(value, packed)| Ok((value, Some(postcard::from_bytes::<M::Four>(packed)?.into())))),
        Some((&WITH_MORE_THREE, packed)) => postcard::take_from_bytes(packed)
            .and_then(|(value, packed)| Ok((value, Some(postcard::from_bytes::<M::Three>(packed)?.into())))),
        Some((&WITH_MORE_TWO, packed)) => postcard::take_from_bytes(packed)
            .and_then(|(value, packed)| Ok((value, Some(postcard::from_bytes::<M::Two>(packed)?.into())))),
        _ => return Err(bad(Box::new(FromSqlError::InvalidType))),
    };
    read.map_err(|error| bad(Box::new(error)))
}

pub(crate) fn id(bits: u128) -> [u8; 16] {
    bits.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use steadfast_engine::{Callback, Definition, Fan, Spent, Step, Task, Token};

    use super::*;

    fn task() -> Task {
        let step = Step::new("a", "s").nothing_to_undo();
        let definition = Definition::builder("w").complete_within(Duration::from_secs(9)).step(step).build();
        Task::new(&definition.unwrap(), Time::from_millis(5))
    }

    #[test]
    fn what_only_some_have_comes_back_and_costs_the_others_nothing() {
        let (plain, step) = (task(), StepId::at(0));
        let (mut head, mut record) = (plain.head().clone(), plain.step(step).clone());
        assert_eq!(pack_head(&head).unwrap(), [&[FORM][..], &postcard::to_stdvec(&head).unwrap()].concat());
        let packed = pack_change(Some(&head), &[(step, record.clone())]).unwrap();
        assert_eq!(packed[0], FORM);
        head.more = Some(Box::new(HeadMore {
            start_at: Some(Time::from_millis(7)),
            seen: vec!["id".into()],
            fans: vec![Fan {
                step,
                first: 100,
                count: 7,
                next: 6,
                busy: 1,
                done: 3,
                failed: 2,
                back: 5,
                stuck: 4,
            }],
            ..HeadMore::default()
        }));
        let token = Token::from_u128;
        let spent = Some(Spent { token: token(u128::MAX), said: Some(u64::MAX) });
        let more = RecordMore {
            since: Some(Time::from_millis(3)),
            rounds: 2,
            callback: Callback { open: Some(token(1)), spent },
            ..RecordMore::default()
        };
        record.more = Some(Box::new(more));
        assert_eq!(unpack_head(&pack_head(&head).unwrap()).unwrap(), head);
        assert_eq!(unpack_record(&pack_record(&record).unwrap()).unwrap(), record);
        let steps = [(step, plain.step(step).clone()), (step, record)];
        let change = unpack_change(&pack_change(Some(&head), &steps).unwrap()).unwrap();
        assert_eq!((change.head, &change.steps[..]), (Some(head), &steps[..]));
        let change = unpack_change(&pack_change(None, &steps).unwrap()).unwrap();
        assert_eq!((change.head, &change.steps[..]), (None, &steps[..]));
    }

    #[test]
    fn another_form_is_refused() {
        for bytes in [&[][..], &[0], &[6, 0], &[WITH_MORE, 0]] {
            assert!(unpack_head(bytes).is_err(), "{bytes:?}");
        }
    }
}
