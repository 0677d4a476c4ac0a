//! Texts and values with expressions in them.

use std::sync::Arc;

use serde_json::{Map, Value};
use steadfast_form::Place;

use crate::code::Code;
use crate::expression::names::Reads;
use crate::expression::{Budget, Expression, Failed, Variables, text_of};

/// Where something stands in its file, for failures at run time.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) file: Arc<str>,
    pub(crate) key: String,
    pub(crate) at: Place,
}

impl Origin {
    /// What went wrong, with its place and code.
    pub(crate) fn failed(&self, code: Code, why: &str) -> String {
        format!("{} ({}:{}): {why} ({code})", self.key, self.file, self.at)
    }

    fn failed_by(&self, expression: &Expression, failed: Failed) -> String {
        let why = format!("{}: {}", expression.shown(), failed.message());
        self.failed(Code::FailedExpression, &why)
    }
}

/// A condition, with its place.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) expression: Expression,
    pub(crate) origin: Arc<Origin>,
}

impl Test {
    pub(crate) fn holds(&self, variables: &Variables, budget: &Budget) -> Result<bool, String> {
        let holds = self.expression.holds(variables, budget);
        holds.map_err(|failed| self.origin.failed_by(&self.expression, failed))
    }
}

/// A text with expressions in it.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) parts: Vec<Part>,
    pub(crate) origin: Arc<Origin>,
}

#[derive(Clone, Debug)]
pub(crate) enum Part {
    Plain(String),
    Value(Expression),
}

/// Whether what comes out goes to a service: there a `secret://` must be the file's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goes {
    Out,
    Nowhere,
}

/// What stands for a secret that the agent puts in its place.
pub(crate) const SECRET: &str = "secret://";

impl Text {
    pub(crate) fn reads(&self, reads: &mut Reads) {
        for part in &self.parts {
            if let Part::Value(expression) = part {
                reads.add(expression.reads());
            }
        }
    }

    /// The expression that it is, if it is one and nothing else.
    fn whole(&self) -> Option<&Expression> {
        match &self.parts[..] {
            [Part::Value(expression)] => Some(expression),
            _ => None,
        }
    }

    /// Its value: of one expression that value, otherwise a text.
    pub(crate) fn value(&self, variables: &Variables, budget: &Budget, goes: Goes) -> Result<Value, String> {
        let Some(expression) = self.whole() else {
            return self.text(variables, budget, goes).map(Value::String);
        };
        let value = expression.value(variables, budget);
        let value = value.map_err(|failed| self.origin.failed_by(expression, failed))?;
        if goes == Goes::Out && has_secret(&value) {
            return Err(self.made_secret());
        }
        Ok(value)
    }

    /// As a text. `checked` sees each value that is put in.
    pub(crate) fn text_checked(
        &self,
        variables: &Variables,
        budget: &Budget,
        goes: Goes,
        checked: impl Fn(&str) -> Result<String, String>,
    ) -> Result<String, String> {
        let mut text = String::new();
        let mut own = Vec::new();
        for part in &self.parts {
            match part {
                Part::Plain(plain) => {
                    own.push((text.len(), text.len() + plain.len()));
                    text.push_str(plain);
                }
                Part::Value(expression) => {
                    let value = expression.value(variables, budget).and_then(|value| {
                        text_of(&value).ok_or_else(|| {
                            let found = crate::expression::name(&value);
                            Failed::because(format!("it is {found}, and cannot be put into a text"))
                        })
                    });
                    let value = value.and_then(|value| checked(&value).map_err(Failed::because));
                    let value = value.map_err(|failed| self.origin.failed_by(expression, failed))?;
                    let paid = budget.make(value.len());
                    paid.map_err(|failed| self.origin.failed_by(expression, failed))?;
                    text.push_str(&value);
                }
            }
        }
        // One that is not within what the file says was made by a value, or by one with the text beside it.
        let made = |at: usize| !own.iter().any(|(from, to)| *from <= at && at + SECRET.len() <= *to);
        if goes == Goes::Out && text.to_ascii_lowercase().match_indices(SECRET).any(|(at, _)| made(at)) {
            return Err(self.made_secret());
        }
        Ok(text)
    }

    pub(crate) fn text(&self, variables: &Variables, budget: &Budget, goes: Goes) -> Result<String, String> {
        self.text_checked(variables, budget, goes, |value| Ok(value.to_owned()))
    }

    fn made_secret(&self) -> String {
        let why =
            format!("a value has `{SECRET}` in it: secrets are named by the file, and never by a value");
        self.origin.failed(Code::SecretMade, &why)
    }
}

/// Whether a text anywhere in a value stands for a secret.
fn has_secret(value: &Value) -> bool {
    let is_one = |text: &str| text.to_ascii_lowercase().contains(SECRET);
    match value {
        Value::String(text) => is_one(text),
        Value::Array(items) => items.iter().any(has_secret),
        Value::Object(entries) => entries.iter().any(|(key, value)| is_one(key) || has_secret(value)),
        _ => false,
    }
}

/// A value with expressions in it.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    Plain(Value),
    Text(Text),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
}

impl Json {
    pub(crate) fn reads(&self, reads: &mut Reads) {
        match self {
            Self::Plain(_) => {}
            Self::Text(text) => text.reads(reads),
            Self::List(items) => items.iter().for_each(|item| item.reads(reads)),
            Self::Map(entries) => entries.iter().for_each(|(_, value)| value.reads(reads)),
        }
    }

    /// Its value.
    pub(crate) fn value(&self, variables: &Variables, budget: &Budget, goes: Goes) -> Result<Value, String> {
        match self {
            Self::Plain(value) => Ok(value.clone()),
            Self::Text(text) => text.value(variables, budget, goes),
            Self::List(items) => {
                let items = items.iter().map(|item| item.value(variables, budget, goes));
                items.collect::<Result<_, _>>().map(Value::Array)
            }
            Self::Map(entries) => {
                let mut table = Map::new();
                for (key, value) in entries {
                    table.insert(key.clone(), value.value(variables, budget, goes)?);
                }
                Ok(Value::Object(table))
            }
        }
    }
}
