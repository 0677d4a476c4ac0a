//! Numbers of JSON: whole ones are exact, others are as near as 64 bits allow.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::evaluate::Failed;
use super::node::Operator;

/// A number to compute with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Num {
    Whole(i128),
    Fraction(f64),
}

impl Num {
    pub(super) fn of(number: &Number) -> Self {
        match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Self::Whole(whole.into()),
            (None, Some(whole)) => Self::Whole(whole.into()),
            (None, None) => Self::Fraction(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "that is what a fraction is")]
    pub(super) fn as_fraction(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Fraction(fraction) => fraction,
        }
    }

    /// As JSON has it.
    pub(super) fn value(self) -> Result<Value, Failed> {
        let number = match self {
            Self::Whole(whole) => i64::try_from(whole)
                .map(Number::from)
                .or_else(|_| u64::try_from(whole).map(Number::from))
                .map_err(|_| Failed::because("a whole number is too large"))?,
            Self::Fraction(fraction) => {
                Number::from_f64(fraction).ok_or_else(|| Failed::because("a number is too large, or none"))?
            }
        };
        Ok(Value::Number(number))
    }

    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => Some(one.cmp(&other)),
            (one, other) => one.as_fraction().partial_cmp(&other.as_fraction()),
        }
    }

    /// Computes with two numbers.
    pub(super) fn compute(self, operator: Operator, other: Self) -> Result<Value, Failed> {
        let computed = match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => Self::Whole(whole(operator, one, other)?),
            (one, other) => {
                let (one, other) = (one.as_fraction(), other.as_fraction());
                Self::Fraction(match operator {
                    Operator::Add => one + other,
                    Operator::Subtract => one - other,
                    Operator::Multiply => one * other,
                    Operator::Divide => one / other,
                    _ => return Err(Failed::because("`%` takes whole numbers")),
                })
            }
        };
        computed.value()
    }
}

fn whole(operator: Operator, one: i128, other: i128) -> Result<i128, Failed> {
    let computed = match operator {
        Operator::Add => one.checked_add(other),
        Operator::Subtract => one.checked_sub(other),
        Operator::Multiply => one.checked_mul(other),
        _ if other == 0 => return Err(Failed::because(format!("`{}` by zero", operator.sign()))),
        Operator::Divide => one.checked_div(other),
        _ => one.checked_rem(other),
    };
    computed.ok_or_else(|| Failed::because("a whole number is too large"))
}
