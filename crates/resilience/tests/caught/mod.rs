//! A subscriber that keeps everything: events and spans with their fields, and where they belong.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Fields by name, as text.
pub(crate) type Fields = BTreeMap<String, String>;

#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) level: Level,
    pub(crate) target: String,
    pub(crate) fields: Fields,
    /// The number of the span that it belongs to.
    pub(crate) span: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) name: String,
    pub(crate) level: Level,
    pub(crate) fields: Fields,
    pub(crate) parent: Option<u64>,
    pub(crate) closed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Caught {
    pub(crate) lines: Vec<Line>,
    /// A span's number is its place here, from 1.
    pub(crate) spans: Vec<Seen>,
    entered: Vec<u64>,
}

impl Line {
    /// The field's text; panics where there is none.
    pub(crate) fn get(&self, field: &str) -> &str {
        self.fields.get(field).unwrap_or_else(|| panic!("{field} in {self:?}"))
    }
}

#[derive(Clone)]
struct Catcher {
    most: Level,
    caught: Arc<Mutex<Caught>>,
}

struct Reader<'a>(&'a mut Fields);

impl Visit for Reader<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Catcher {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.most
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(self.most.into())
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut caught = self.caught.lock().unwrap();
        let mut fields = Fields::new();
        span.record(&mut Reader(&mut fields));
        let parent = match span.parent() {
            Some(parent) => Some(parent.into_u64()),
            None => caught.entered.last().copied(),
        };
        let metadata = span.metadata();
        let (name, level) = (metadata.name().to_owned(), *metadata.level());
        caught.spans.push(Seen { name, level, fields, parent, closed: false });
        Id::from_u64(caught.spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut caught = self.caught.lock().unwrap();
        let place = usize::try_from(span.into_u64()).unwrap() - 1;
        values.record(&mut Reader(&mut caught.spans[place].fields));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::new();
        event.record(&mut Reader(&mut fields));
        let mut caught = self.caught.lock().unwrap();
        let span = caught.entered.last().copied();
        let metadata = event.metadata();
        let target = metadata.target().to_owned();
        caught.lines.push(Line { level: *metadata.level(), target, fields, span });
    }

    fn enter(&self, span: &Id) {
        self.caught.lock().unwrap().entered.push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        assert_eq!(self.caught.lock().unwrap().entered.pop(), Some(span.into_u64()), "left as entered");
    }

    fn try_close(&self, span: Id) -> bool {
        let place = usize::try_from(span.into_u64()).unwrap() - 1;
        self.caught.lock().unwrap().spans[place].closed = true;
        true
    }
}

/// Everything up to this level that `work` logs on this thread.
pub(crate) fn caught(most: Level, work: impl FnOnce()) -> Caught {
    let catcher = Catcher { most, caught: Arc::default() };
    tracing::subscriber::with_default(catcher.clone(), work);
    std::mem::take(&mut catcher.caught.lock().unwrap())
}
