//! Expressions in CEL, bounded by construction.
//!
//! The `cel` crate parses; it can overflow the stack, cannot be interrupted and does not count, so that it gets small texts
//! only ([`scan`]), on a thread with a large stack ([`on_large_stack`]), and is not asked to evaluate. What it gives is turned
//! into a tree of our own ([`convert`]), in which names and functions are looked up, and that is evaluated over JSON as it is
//! ([`evaluate`]), with every part counted. An expression that would do too much fails; nothing waits for it.

mod budget;
mod convert;
mod evaluate;
mod function;
pub(crate) mod limit;
pub(crate) mod names;
pub(crate) mod node;
mod number;
pub(crate) mod scan;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

pub(crate) use budget::Budget;
pub(crate) use convert::Wrong;
use convert::{Converter, bad};
use evaluate::Evaluation;
pub(crate) use evaluate::{Failed, Variables};
pub(crate) use function::{name, text_of};
use names::{Names, Reads};
use node::Node;
use serde_json::Value;

/// How much of an expression stands in a message.
const SHOWN: usize = 80;

/// An expression that was read.
#[derive(Clone)]
pub(crate) struct Expression {
    inner: Arc<Inner>,
}

struct Inner {
    source: String,
    root: Node,
    reads: Reads,
}

impl Expression {
    /// Reads and checks an expression. Must be called [with a large stack](on_large_stack).
    pub(crate) fn read(source: &str, names: Names<'_>) -> Result<Self, Wrong> {
        scan::scan(source).map_err(|why| match source.trim().is_empty() {
            true => Wrong::Bad(why),
            false => Wrong::Large(why),
        })?;
        let parser =
            cel::parser::Parser::new().max_recursion_depth(limit::MAX_RECURSION).error_recovery_limit(1);
        let parsed = match parser.parse(source) {
            Ok(parsed) => parsed,
            Err(errors) if is_too_deep(&errors) => {
                return Err(Wrong::Large("it is nested too deep: make it flatter".to_owned()));
            }
            Err(errors) => return bad(words_of(&errors, source)),
        };
        let mut converter = Converter::new(names);
        let root = converter.node(&parsed, 0)?;
        let reads = converter.reads;
        Ok(Self { inner: Arc::new(Inner { source: source.trim().to_owned(), root, reads }) })
    }

    /// What it reads.
    pub(crate) fn reads(&self) -> &Reads {
        &self.inner.reads
    }

    /// Its value.
    pub(crate) fn value(&self, variables: &Variables, budget: &Budget) -> Result<Value, Failed> {
        Evaluation::new(variables, budget).whole(&self.inner.root)
    }

    /// Whether it holds.
    pub(crate) fn holds(&self, variables: &Variables, budget: &Budget) -> Result<bool, Failed> {
        match self.value(variables, budget)? {
            Value::Bool(holds) => Ok(holds),
            other => Err(Failed::because(format!("it is {}, and has to be true or false", name(&other)))),
        }
    }

    /// The expression, shortened for a message.
    pub(crate) fn shown(&self) -> String {
        shown(&self.inner.source)
    }
}

/// An expression for a message.
pub(crate) fn shown(source: &str) -> String {
    let short: String = source.trim().chars().take(SHOWN).collect();
    let more = if short.len() < source.trim().len() { "..." } else { "" };
    format!("`{}{more}`", steadfast_form::plain(&short))
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.inner.source).finish()
    }
}

/// Whether the parser has stopped at its limit.
fn is_too_deep(errors: &cel::ParseErrors) -> bool {
    errors.errors.iter().any(|error| error.msg.contains("Recursion limit"))
}

/// What the parser says, for people: the first mistake, and where it is.
fn words_of(errors: &cel::ParseErrors, source: &str) -> String {
    let Some(first) = errors.errors.first() else { return "it cannot be read".to_owned() };
    let column = usize::try_from(first.pos.1).unwrap_or(1).max(1);
    let said = first.msg.strip_prefix("Syntax error: ").unwrap_or(&first.msg);
    // The parser lists everything that could stand there, and prints its own insides.
    let said = said.split(" expecting ").next().unwrap_or(said);
    let said = said.replace("'<EOF>'", "the end").replace("token recognition error at: ", "not understood: ");
    let letters = source.chars().count();
    match column > letters {
        true => format!("at its end: {}", steadfast_form::plain(&said)),
        false => format!("at its character {column}: {}", steadfast_form::plain(&said)),
    }
}

/// Runs what reads expressions where the stack is large enough for that; `None` if it panicked, or no thread could be had.
pub(crate) fn on_large_stack<T: Send>(read: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("steadfast-flow".to_owned()).stack_size(limit::STACK);
        thread.spawn_scoped(scope, read).ok()?.join().ok()
    })
}
