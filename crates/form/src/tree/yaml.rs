//! YAML, one document. Anchors and aliases are followed, each use counted: a bomb ends at the limit.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};

use super::{Key, Limits, MAX_DEPTH, Node, Place, Syntax, Value, table};

pub(super) fn parse(text: &str) -> Result<Node, Syntax> {
    let mut reader =
        Reader { events: Parser::new_from_str(text), anchors: HashMap::new(), limits: Limits::default() };
    let root = reader.document()?;
    Ok(root.unwrap_or(Node { value: Value::Null, at: Place::START }))
}

struct Reader<'a> {
    events: Parser<'a, saphyr_parser::StrInput<'a>>,
    /// What an anchor stands for, and how many values that is.
    anchors: HashMap<usize, (Node, usize)>,
    limits: Limits,
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Option<Node>, Syntax> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root),
                Event::Nothing | Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
                _ if root.is_some() => {
                    return Err(Syntax::new(place(span), "a second document: put one into each file"));
                }
                event => root = Some(self.node(event, span, 0)?),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Syntax> {
        match self.events.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(syntax(&error)),
            None => Ok((Event::StreamEnd, Span::empty(Marker::new(0, 1, 0)))),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Syntax> {
        let at = place(span);
        let before = self.limits.nodes;
        self.limits.count(at, depth)?;
        let (anchor, value) = match event {
            Event::Alias(anchor) => return self.alias(anchor, at, depth),
            Event::Scalar(text, style, anchor, None) => (anchor, scalar(&text, style)),
            Event::SequenceStart(anchor, None) => (anchor, self.list(depth)?),
            Event::MappingStart(anchor, None) => (anchor, self.map(depth)?),
            Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) => {
                return Err(Syntax::new(at, "tags (`!name`) mean nothing here: remove it"));
            }
            _ => return Err(Syntax::new(at, "expected a value")),
        };
        let node = Node { value, at };
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), self.limits.nodes - before));
        }
        Ok(node)
    }

    fn alias(&mut self, anchor: usize, at: Place, depth: usize) -> Result<Node, Syntax> {
        let Some((node, size)) = self.anchors.get(&anchor) else {
            return Err(Syntax::new(at, "this alias stands for something that contains it"));
        };
        self.limits.nodes += size;
        let node = node.clone();
        self.limits.count(at, depth + depth_of(&node))?;
        Ok(Node { at, ..node })
    }

    fn list(&mut self, depth: usize) -> Result<Value, Syntax> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::List(items)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, Syntax> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.next()?;
            let at = place(span);
            let name = match event {
                Event::MappingEnd => return table(entries),
                Event::Scalar(name, _, _, None) => name.into_owned(),
                _ => return Err(Syntax::new(at, "a key must be a plain text")),
            };
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            entries.push((Key { name, at }, value));
        }
    }
}

fn depth_of(node: &Node) -> usize {
    let deepest = |nodes: &mut dyn Iterator<Item = &Node>| nodes.map(depth_of).max().unwrap_or(0);
    match &node.value {
        Value::List(items) => 1 + deepest(&mut items.iter()),
        Value::Map(entries) => 1 + deepest(&mut entries.iter().map(|(_, node)| node)),
        _ => 0,
    }
    .min(MAX_DEPTH + 1)
}

/// The core schema of YAML 1.2: `no` and `on` are texts, and 010 is ten.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::Text(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Value::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" => Value::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Value::Float(f64::NEG_INFINITY),
        _ => number(text).unwrap_or_else(|| Value::Text(text.to_owned())),
    }
}

fn number(text: &str) -> Option<Value> {
    if !text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) {
        return None; // Rust would read `infinity` as a number
    }
    text.parse().map(Value::Int).or_else(|_| text.parse().map(Value::Float)).ok()
}

fn place(span: Span) -> Place {
    Place { line: span.start.line(), column: span.start.col() + 1 }
}

fn syntax(error: &ScanError) -> Syntax {
    let marker = error.marker();
    Syntax::new(Place { line: marker.line(), column: marker.col() + 1 }, error.info())
}
