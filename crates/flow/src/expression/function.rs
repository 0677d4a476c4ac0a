//! What operators and functions do with values.

use serde_json::Value;

use super::budget::Budget;
use super::evaluate::{Failed, Val};
use super::node::{FUNCTIONS, Function, Operator};
use super::number::Num;

/// What a byte of a text that is looked for is worth, in bytes that are gone over.
const TO_SEEK: usize = 8;
/// The longest text that is read as a number: a thousand digits are no number that anybody means.
const LONGEST_NUMBER: usize = 1_000;

/// How many letters of a value stand in a message: it may be a secret of somebody's.
const SHOWN: usize = 20;

/// What a value is, in words.
pub(crate) fn name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing (null)",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

/// A key or place, for a message.
pub(super) fn short(value: &Value) -> String {
    match value {
        Value::String(text) => {
            format!("`{}`", steadfast_form::plain(&text.chars().take(SHOWN).collect::<String>()))
        }
        Value::Number(number) => number.to_string(),
        other => name(other).to_owned(),
    }
}

/// A value as a text; a list, a table and nothing are none.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(match Num::of(number) {
            Num::Whole(whole) => whole.to_string(),
            Num::Fraction(fraction) => fraction.to_string(),
        }),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

pub(super) fn binary(
    budget: &Budget,
    operator: Operator,
    one: Val<'_>,
    other: Val<'_>,
) -> Result<Value, Failed> {
    match operator {
        Operator::Equal => Ok(equal(budget, one.get(), other.get())?.into()),
        Operator::NotEqual => Ok((!equal(budget, one.get(), other.get())?).into()),
        Operator::In => is_in(budget, one.get(), other.get()).map(Value::Bool),
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            compare(budget, operator, one.get(), other.get()).map(Value::Bool)
        }
        Operator::Add => add(budget, one, other),
        Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
            compute(operator, one.get(), other.get())
        }
    }
}

fn compute(operator: Operator, one: &Value, other: &Value) -> Result<Value, Failed> {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => Num::of(one).compute(operator, Num::of(other)),
        _ => Err(unfit(operator, one, other)),
    }
}

fn unfit(operator: Operator, one: &Value, other: &Value) -> Failed {
    Failed::because(format!("`{}` does not go with {} and {}", operator.sign(), name(one), name(other)))
}

fn add(budget: &Budget, one: Val<'_>, other: Val<'_>) -> Result<Value, Failed> {
    match (one, other) {
        // What a loop gathers grows in its place.
        (Val::Own(Value::Array(mut list)), other) if other.get().is_array() => {
            match other {
                Val::Own(Value::Array(more)) => {
                    budget.make(more.len() * size_of::<Value>())?;
                    list.extend(more);
                }
                more => {
                    for item in more.get().as_array().into_iter().flatten() {
                        list.push(budget.copy(item)?);
                    }
                }
            }
            Ok(Value::Array(list))
        }
        (one, other) => match (one.get(), other.get()) {
            (Value::String(one), Value::String(other)) => {
                budget.make(one.len() + other.len())?;
                Ok(Value::String([one.as_str(), other].concat()))
            }
            (Value::Array(one), Value::Array(other)) => {
                budget.make((one.len() + other.len()) * size_of::<Value>())?;
                let both = one.iter().chain(other).map(|item| budget.copy(item));
                both.collect::<Result<_, _>>().map(Value::Array)
            }
            (one @ Value::String(_), other) | (other, one @ Value::String(_)) => {
                let failed = unfit(Operator::Add, one, other);
                Err(Failed::because(format!("{}: make it a text with `string(..)`", failed.message())))
            }
            (one, other) => compute(Operator::Add, one, other),
        },
    }
}

fn compare(budget: &Budget, operator: Operator, one: &Value, other: &Value) -> Result<bool, Failed> {
    let ordering = match (one, other) {
        (Value::Number(one), Value::Number(other)) => Num::of(one).compare(Num::of(other)),
        (Value::String(one), Value::String(other)) => {
            budget.look(one.len().min(other.len()))?;
            Some(one.cmp(other))
        }
        (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
        _ => return Err(unfit(operator, one, other)),
    };
    Ok(ordering.is_some_and(|ordering| match operator {
        Operator::Less => ordering.is_lt(),
        Operator::LessOrEqual => ordering.is_le(),
        Operator::Greater => ordering.is_gt(),
        _ => ordering.is_ge(),
    }))
}

/// Whether two values are the same; `1` and `1.0` are.
fn equal(budget: &Budget, one: &Value, other: &Value) -> Result<bool, Failed> {
    budget.work(1)?;
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            Ok(Num::of(one).compare(Num::of(other)).is_some_and(std::cmp::Ordering::is_eq))
        }
        (Value::String(one), Value::String(other)) => {
            budget.look(one.len().min(other.len()))?;
            Ok(one == other)
        }
        (Value::Array(one), Value::Array(other)) => {
            if one.len() != other.len() {
                return Ok(false);
            }
            for (one, other) in one.iter().zip(other) {
                if !equal(budget, one, other)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(one), Value::Object(other)) => {
            if one.len() != other.len() {
                return Ok(false);
            }
            for (key, one) in one {
                budget.look(key.len())?;
                match other.get(key) {
                    Some(other) if equal(budget, one, other)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (one, other) => Ok(one == other),
    }
}

fn is_in(budget: &Budget, one: &Value, other: &Value) -> Result<bool, Failed> {
    match (one, other) {
        (one, Value::Array(items)) => {
            for item in items {
                if equal(budget, one, item)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        (Value::String(key), Value::Object(entries)) => {
            budget.look(key.len())?;
            Ok(entries.contains_key(key))
        }
        (_, Value::Object(_)) => Ok(false),
        _ => Err(unfit(Operator::In, one, other)),
    }
}

pub(super) fn call(budget: &Budget, function: Function, given: &[Val<'_>]) -> Result<Value, Failed> {
    let given: Vec<&Value> = given.iter().map(Val::get).collect();
    match (function, &given[..]) {
        (Function::Size, [of]) => match of {
            Value::String(text) => {
                budget.look(text.len())?;
                Ok(Value::from(text.chars().count()))
            }
            Value::Array(items) => Ok(Value::from(items.len())),
            Value::Object(entries) => Ok(Value::from(entries.len())),
            other => Err(wrong(function, other)),
        },
        (Function::Text, [of]) => {
            let text = text_of(of).ok_or_else(|| wrong(function, of))?;
            budget.make(text.len())?;
            Ok(Value::String(text))
        }
        (Function::Whole | Function::Fraction, [Value::String(text)]) if text.len() > LONGEST_NUMBER => {
            Err(Failed::because("the text is no number: it is too long"))
        }
        (Function::Whole, [of]) => whole(of),
        (Function::Fraction, [of]) => match of {
            Value::Number(number) => Num::Fraction(Num::of(number).as_fraction()).value(),
            Value::String(text) => {
                let number = text.trim().parse().map_err(|_| Failed::because("the text is no number"))?;
                Num::Fraction(number).value()
            }
            other => Err(wrong(function, other)),
        },
        (Function::Join, [Value::Array(items), Value::String(between)]) => join(budget, items, between),
        (_, [Value::String(text), rest @ ..]) => of_text(budget, function, text, rest),
        (_, given) => Err(wrong(function, given.first().copied().unwrap_or(&Value::Null))),
    }
}

fn wrong(function: Function, given: &Value) -> Failed {
    let known = FUNCTIONS.iter().find(|known| known.function == function);
    let (called, doc) = known.map_or(("it", ""), |known| (known.name, known.doc));
    Failed::because(format!("`{called}` does not go with {}: {doc}", name(given)))
}

fn whole(of: &Value) -> Result<Value, Failed> {
    match of {
        Value::Number(number) => match Num::of(number) {
            whole @ Num::Whole(_) => whole.value(),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "one that does not fit is refused by `value`"
            )]
            Num::Fraction(fraction) => Num::Whole(fraction.trunc() as i128).value(),
        },
        Value::String(text) => {
            let number: i64 =
                text.trim().parse().map_err(|_| Failed::because("the text is no whole number"))?;
            Ok(Value::from(number))
        }
        other => Err(wrong(Function::Whole, other)),
    }
}

fn join(budget: &Budget, items: &[Value], between: &str) -> Result<Value, Failed> {
    let mut joined = String::new();
    for (nth, item) in items.iter().enumerate() {
        let text = item.as_str().ok_or_else(|| Failed::because("`join` takes a list of texts"))?;
        let between = if nth == 0 { "" } else { between };
        budget.make(between.len() + text.len())?;
        joined.extend([between, text]);
    }
    Ok(Value::String(joined))
}

fn of_text(budget: &Budget, function: Function, text: &str, rest: &[&Value]) -> Result<Value, Failed> {
    let rest = rest.iter().map(|value| value.as_str().ok_or_else(|| wrong(function, value)));
    let rest = rest.collect::<Result<Vec<_>, _>>()?;
    // To look for a text takes longer than to go over it: the search is made ready for it first.
    budget.look(text.len() + rest.iter().map(|part| part.len() * TO_SEEK).sum::<usize>())?;
    let may_hold = |part: &str| part.len() <= text.len();
    match (function, &rest[..]) {
        (Function::Contains, [part]) => Ok((may_hold(part) && text.contains(part)).into()),
        (Function::StartsWith, [part]) => Ok(text.starts_with(part).into()),
        (Function::EndsWith, [part]) => Ok(text.ends_with(part).into()),
        (Function::LowerAscii, []) => made(budget, text.to_ascii_lowercase()),
        (Function::UpperAscii, []) => made(budget, text.to_ascii_uppercase()),
        (Function::Trim, []) => made(budget, text.trim().to_owned()),
        (Function::Split, [between]) => {
            // What comes out is paid for before it is made. Without anything between there is a text for each letter.
            if !may_hold(between) {
                budget.make(text.len() + size_of::<Value>())?;
                return Ok(Value::Array(vec![Value::from(text)]));
            }
            let letters = between.is_empty();
            let count = if letters { text.chars().count() } else { text.matches(between).count() + 1 };
            budget.make(text.len() + count * size_of::<Value>())?;
            let parts = match letters {
                true => text.chars().map(|letter| Value::String(letter.into())).collect(),
                false => text.split(between).map(Value::from).collect(),
            };
            Ok(Value::Array(parts))
        }
        (Function::Replace, [old, _]) if !may_hold(old) => made(budget, text.to_owned()),
        (Function::Replace, [old, new]) => {
            let count = text.matches(old).count();
            budget.make(text.len() + count.saturating_mul(new.len()))?;
            Ok(Value::String(text.replace(old, new)))
        }
        _ => Err(wrong(function, &Value::Null)),
    }
}

fn made(budget: &Budget, text: String) -> Result<Value, Failed> {
    budget.make(text.len())?;
    Ok(Value::String(text))
}
