//! A task as a line of JSON. What was shipped stays readable: the header has the number of the form.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use steadfast_engine::{Head, HeadMore, Record, RecordMore, StepId, Task, Time};
use steadfast_store::{Entry, Labels, Letter, MailId, Payload, Stored, TaskId, Whole};

use super::base64;

/// The form that is written, and the only one that is read so far.
const FORM: u32 = 1;

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    /// What follows.
    steadfast: String,
    form: u32,
}

impl Header {
    pub(super) fn new() -> Self {
        Self { steadfast: "tasks".to_owned(), form: FORM }
    }

    /// Whether what follows can be read.
    pub(super) fn check(line: &[u8]) -> Result<(), String> {
        let header: Self = serde_json::from_slice(line).map_err(|_| {
            "it does not begin with `{\"steadfast\":\"tasks\",\"form\":1}`: is it an export of tasks?"
                .to_owned()
        })?;
        match (&*header.steadfast, header.form) {
            ("tasks", FORM) => Ok(()),
            ("tasks", form) => {
                Err(format!("its form is {form}, this version reads {FORM}: use a newer version"))
            }
            (other, _) => Err(format!("it has `{other}` in it, and no tasks")),
        }
    }
}

/// A task, without what is of a place and not of the task: its owner, and the circuit that it waited for.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: TaskId,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    namespace: String,
    workflow: String,
    version: u32,
    /// In hexadecimal digits: as a number it is too large for many who read JSON.
    shape: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default)]
    priority: i8,
    /// The task that has asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<TaskId>,
    submitted_at_ms: u64,
    wake_at_ms: u64,
    epoch: u64,
    revision: u64,
    mail_last: u64,
    mail_read: u64,
    head: Row<Head, HeadMore>,
    steps: Vec<Row<Record, RecordMore>>,
    /// Items of lists that have begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    items: Vec<(u16, Row<Record, RecordMore>)>,
    payloads: Vec<Body>,
    history: Vec<Written>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    mail: Vec<Post>,
}

/// A row, with what only some have.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row<T, M> {
    row: T,
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    more: Option<Box<M>>,
}

/// Bytes: as JSON if they are, byte for byte; as a text if they are one; otherwise in base 64.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    /// The place of a step, or beyond; without one it is the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    json: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    revision: u64,
    at_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    head: Option<Row<Head, HeadMore>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<(u16, Row<Record, RecordMore>)>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Post {
    number: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<String>,
    body: Body,
}

/// What is there, also if it is `null`.
fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// A task as a line, without its end.
pub(super) fn write(whole: Whole) -> Result<Vec<u8>, serde_json::Error> {
    let Whole { stored, payloads, history, mail } = whole.arriving();
    let place = |step: StepId| u16::try_from(step.ordinal()).unwrap_or(u16::MAX);
    let line = Line {
        id: stored.id,
        namespace: stored.namespace.to_string(),
        workflow: stored.workflow.to_string(),
        version: stored.version,
        shape: format!("{:016x}", stored.shape),
        key: stored.key.as_deref().map(str::to_owned),
        priority: stored.priority,
        parent: stored.parent,
        submitted_at_ms: stored.submitted_at.as_millis(),
        wake_at_ms: stored.wake_at.as_millis(),
        epoch: stored.epoch,
        revision: stored.revision,
        mail_last: stored.mail_last.0,
        mail_read: stored.mail_read.0,
        head: of_head(stored.task.head()),
        steps: stored.task.steps().iter().map(of_record).collect(),
        items: stored.task.items().map(|(item, record)| (place(item), of_record(record))).collect(),
        payloads: payloads.iter().map(|(step, bytes)| Body::new(step.map(place), bytes)).collect(),
        history: history
            .iter()
            .map(|entry| Written {
                revision: entry.revision,
                at_ms: entry.at.as_millis(),
                head: entry.head.as_ref().map(of_head),
                steps: entry.steps.iter().map(|(step, record)| (place(*step), of_record(record))).collect(),
            })
            .collect(),
        mail: mail
            .iter()
            .map(|mail| Post {
                number: mail.id.0,
                asked: mail.asked.map(|asked| asked.to_string()),
                body: Body::new(None, &mail.body),
            })
            .collect(),
    };
    serde_json::to_vec(&line)
}

fn of_head(head: &Head) -> Row<Head, HeadMore> {
    Row { row: head.clone(), more: head.more.clone() }
}

fn of_record(record: &Record) -> Row<Record, RecordMore> {
    Row { row: record.clone(), more: record.more.clone() }
}

fn head(row: Row<Head, HeadMore>) -> Head {
    Head { more: row.more, ..row.row }
}

fn record(row: Row<Record, RecordMore>) -> Record {
    Record { more: row.more, ..row.row }
}

/// Reads a line, and looks whether it makes sense.
pub(super) fn read(line: &[u8]) -> Result<Whole, String> {
    let line: Line = serde_json::from_slice(line).map_err(|error| format!("it is no task: {error}"))?;
    let shape = u64::from_str_radix(&line.shape, 16);
    let payload = |body: Body| Ok::<_, String>((body.step.map(StepId::at), body.bytes()?));
    let steps = line.steps.into_iter().map(record).collect();
    let items = line.items.into_iter().map(|(place, row)| (StepId::at(place), record(row)));
    let items: Vec<_> = items.filter(|(item, _)| item.item().is_some()).collect();
    let stored = Stored {
        id: line.id,
        namespace: Arc::from(line.namespace),
        workflow: Arc::from(line.workflow),
        version: line.version,
        shape: shape.map_err(|_| "its `shape` is no number in hexadecimal digits".to_owned())?,
        key: line.key.map(Arc::from),
        priority: line.priority,
        parent: line.parent,
        task: Task::from_rows(head(line.head), steps, items),
        epoch: line.epoch,
        revision: line.revision,
        owner: None,
        wake_at: Time::from_millis(line.wake_at_ms),
        parked_on: None,
        mail_last: MailId(line.mail_last),
        mail_read: MailId(line.mail_read),
        submitted_at: Time::from_millis(line.submitted_at_ms),
    };
    let whole = Whole {
        stored,
        payloads: line.payloads.into_iter().map(payload).collect::<Result<_, _>>()?,
        history: line.history.into_iter().map(Written::read).collect(),
        mail: line.mail.into_iter().map(Post::read).collect::<Result<_, _>>()?,
    };
    if let Some(finding) = whole.check().first() {
        return Err(format!("it contradicts itself: {}", finding.words));
    }
    whole.check_sizes().map_err(|error| error.to_string())?;
    let labels = whole.payloads.iter().filter(|(place, _)| *place == Some(StepId::OF_LABELS));
    labels.into_iter().try_for_each(|(_, labels)| Labels::check(labels))?;
    Ok(whole.arriving())
}

impl Body {
    fn new(step: Option<u16>, bytes: &[u8]) -> Self {
        let text = str::from_utf8(bytes).ok();
        // A line has no other lines in it.
        let plain = |text: &&str| !text.bytes().any(|byte| byte < b' ');
        let json = text.filter(plain).and_then(|text| RawValue::from_string(text.to_owned()).ok());
        // Spaces around it would be lost.
        let json = json.filter(|json| json.get().as_bytes() == bytes);
        let text = text.filter(|_| json.is_none()).map(str::to_owned);
        let base64 = (json.is_none() && text.is_none()).then(|| base64::encode(bytes));
        Self { step, json, text, base64 }
    }

    fn bytes(self) -> Result<Payload, String> {
        match (self.json, self.text, self.base64) {
            (Some(json), None, None) => Ok(Payload::from(json.get().as_bytes())),
            (None, Some(text), None) => Ok(Payload::from(text.into_bytes())),
            (None, None, Some(base64)) => {
                let bytes = base64::decode(&base64).ok_or_else(|| "its `base64` is none".to_owned())?;
                Ok(Payload::from(bytes))
            }
            _ => Err("a payload is one of `json`, `text` and `base64`".to_owned()),
        }
    }
}

impl Written {
    fn read(self) -> Entry {
        Entry {
            revision: self.revision,
            at: Time::from_millis(self.at_ms),
            head: self.head.map(head),
            steps: self.steps.into_iter().map(|(step, row)| (StepId::at(step), record(row))).collect(),
        }
    }
}

impl Post {
    fn read(self) -> Result<Letter, String> {
        let asked = self.asked.map(|asked| asked.parse()).transpose();
        let asked = asked.map_err(|bad: steadfast_store::BadId| bad.to_string())?;
        Ok(Letter { id: MailId(self.number), body: self.body.bytes()?, asked })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were_whatever_they_are() {
        for (bytes, shown) in [
            (&br#"{"b":1,"a":[2.50,"x"]}"#[..], r#"{"step":3,"json":{"b":1,"a":[2.50,"x"]}}"#),
            (b"null", r#"{"step":3,"json":null}"#),
            (b" 1", r#"{"step":3,"text":" 1"}"#),
            (b"{\n}", r#"{"step":3,"text":"{\n}"}"#),
            (b"", r#"{"step":3,"text":""}"#),
            (b"\xff\x00", r#"{"step":3,"base64":"/wA="}"#),
        ] {
            let text = serde_json::to_string(&Body::new(Some(3), bytes)).unwrap();
            assert_eq!(text, shown);
            let body: Body = serde_json::from_str(&text).unwrap();
            assert_eq!(&*body.bytes().unwrap(), bytes);
        }
        for bad in [r#"{"step":3}"#, r#"{"json":1,"text":"1"}"#, r#"{"base64":"A"}"#] {
            assert!(serde_json::from_str::<Body>(bad).unwrap().bytes().is_err(), "{bad}");
        }
    }

    #[test]
    fn another_header_is_refused_with_what_to_do() {
        assert_eq!(Header::check(&serde_json::to_vec(&Header::new()).unwrap()), Ok(()));
        for (line, words) in [
            (
                &br#"{"steadfast":"tasks","form":2}"#[..],
                "its form is 2, this version reads 1: use a newer version",
            ),
            (br#"{"steadfast":"audits","form":1}"#, "it has `audits` in it, and no tasks"),
            (b"id,name", "it does not begin with"),
        ] {
            assert!(Header::check(line).unwrap_err().starts_with(words));
        }
    }
}
