//! Evaluates an expression over JSON. Every part that is evaluated, copied or made is paid for ([`Budget`]), so that it ends.

use serde_json::{Map, Value};

use super::budget::Budget;
use super::function::{self, name};
use super::node::{Function, Loop, Node, Operator, Variable};
use super::number::Num;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// It does not fit what it was given.
    Because(String),
    /// It was stopped: it would do too much. That nothing beside it makes good.
    Stopped(String),
}

impl Failed {
    pub(crate) fn because(why: impl Into<String>) -> Self {
        Self::Because(why.into())
    }

    pub(crate) fn message(self) -> String {
        match self {
            Self::Because(why) | Self::Stopped(why) => why,
        }
    }
}

/// What an expression may read, as far as it reads it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    values: [Option<Value>; Variable::ALL.len()],
    /// Outputs of steps by their places; `None` for one that has none.
    outputs: Vec<(usize, Option<Value>)>,
}

impl Variables {
    pub(crate) fn set(&mut self, variable: Variable, value: Value) {
        if let Some(place) = Variable::ALL.iter().position(|known| *known == variable) {
            self.values[place] = Some(value);
        }
    }

    pub(crate) fn set_output(&mut self, step: usize, output: Option<Value>) {
        self.outputs.push((step, output));
    }

    fn get(&self, variable: Variable) -> Result<&Value, Failed> {
        let place = Variable::ALL.iter().position(|known| *known == variable);
        let value = place.and_then(|place| self.values[place].as_ref());
        value.ok_or_else(|| Failed::because(format!("`{}` is not known here", variable.name())))
    }

    fn output(&self, step: usize) -> Option<&Value> {
        self.outputs.iter().find(|(of, _)| *of == step).and_then(|(_, output)| output.as_ref())
    }
}

/// A value on its way: one that is there already is not copied.
#[derive(Debug)]
pub(super) enum Val<'v> {
    Ref(&'v Value),
    Own(Value),
}

impl Val<'_> {
    pub(super) fn get(&self) -> &Value {
        match self {
            Val::Ref(value) => value,
            Val::Own(value) => value,
        }
    }
}

impl From<bool> for Val<'_> {
    fn from(flag: bool) -> Self {
        Val::Own(Value::Bool(flag))
    }
}

type Evaluated<'v> = Result<Val<'v>, Failed>;

/// One evaluation.
pub(super) struct Evaluation<'v> {
    variables: &'v Variables,
    pub(super) budget: &'v Budget,
    /// The elements of the loops around, the outermost first, and what they have gathered.
    loops: Vec<(Val<'v>, Value)>,
}

impl<'v> Evaluation<'v> {
    pub(super) fn new(variables: &'v Variables, budget: &'v Budget) -> Self {
        Self { variables, budget, loops: Vec::new() }
    }

    /// The value of a whole expression.
    pub(super) fn whole(&mut self, root: &'v Node) -> Result<Value, Failed> {
        let value = self.node(root)?;
        self.own(value)
    }

    pub(super) fn own(&self, value: Val<'_>) -> Result<Value, Failed> {
        match value {
            Val::Ref(value) => self.budget.copy(value),
            Val::Own(value) => Ok(value),
        }
    }

    fn node(&mut self, node: &'v Node) -> Evaluated<'v> {
        self.budget.work(1)?;
        match node {
            Node::Literal(value) => Ok(Val::Ref(value)),
            Node::Variable(variable) => self.variables.get(*variable).map(Val::Ref),
            Node::Output(step) => self.variables.output(*step).map(Val::Ref).ok_or_else(no_output),
            Node::HasOutput(step) => Ok(self.variables.output(*step).is_some().into()),
            Node::Element(depth) => match &self.loops[*depth].0 {
                Val::Ref(value) => Ok(Val::Ref(value)),
                Val::Own(value) => self.budget.copy(value).map(Val::Own),
            },
            Node::Gathered(depth) => self.budget.copy(&self.loops[*depth].1).map(Val::Own),
            Node::TakeGathered(depth) => Ok(Val::Own(self.loops[*depth].1.take())),
            Node::Select(of, field) => self.select(of, field),
            Node::Has(of, field) => {
                let of = self.node(of)?;
                let found =
                    of.get().as_object().map(|entries| entries.get(field).is_some_and(|v| !v.is_null()));
                found.map(Val::from).ok_or_else(|| not_a_table(of.get(), field))
            }
            Node::Index(of, at) => self.index(of, at),
            Node::Not(of) => Ok((!self.flag(of)?).into()),
            Node::Negate(of) => match self.node(of)?.get() {
                Value::Number(number) => {
                    Num::Whole(0).compute(Operator::Subtract, Num::of(number)).map(Val::Own)
                }
                other => Err(Failed::because(format!("`-` takes a number, and not {}", name(other)))),
            },
            Node::And(one, other) => self.and(one, other, false),
            Node::Or(one, other) => self.and(one, other, true),
            Node::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                if self.flag(condition)? { self.node(then) } else { self.node(otherwise) }
            }
            Node::Binary(operator, sides) => self.binary(*operator, &sides[0], &sides[1]),
            Node::Call(Function::NotFalse, arguments) => {
                let judged = arguments.first().map(|of| self.flag(of));
                Ok((judged != Some(Ok(false))).into())
            }
            Node::Call(called, arguments) => {
                let mut given = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    given.push(self.node(argument)?);
                }
                function::call(self.budget, *called, &given).map(Val::Own)
            }
            Node::List(elements) => {
                self.budget.make(elements.len() * size_of::<Value>())?;
                let mut list = Vec::with_capacity(elements.len());
                for element in elements {
                    let element = self.node(element)?;
                    list.push(self.own(element)?);
                }
                Ok(Val::Own(Value::Array(list)))
            }
            Node::Map(entries) => self.table(entries),
            Node::Loop(walk) => self.walk(walk),
        }
    }

    fn flag(&mut self, node: &'v Node) -> Result<bool, Failed> {
        match self.node(node)?.get() {
            Value::Bool(flag) => Ok(*flag),
            other => Err(Failed::because(format!("expected true or false, found {}", name(other)))),
        }
    }

    /// `&&`, or `||` where `decides` is true. The side that decides does so whatever the other one is, as CEL says.
    fn and(&mut self, one: &'v Node, other: &'v Node, decides: bool) -> Evaluated<'v> {
        match self.flag(one) {
            Ok(flag) if flag == decides => Ok(decides.into()),
            Ok(_) => Ok(self.flag(other)?.into()),
            Err(Failed::Stopped(why)) => Err(Failed::Stopped(why)),
            Err(failed) => match self.flag(other)? == decides {
                true => Ok(decides.into()),
                false => Err(failed),
            },
        }
    }

    fn select(&mut self, of: &'v Node, field: &str) -> Evaluated<'v> {
        // An element that a loop owns is not copied for one of its fields.
        if let Node::Element(depth) = of
            && let Val::Own(element) = &self.loops[*depth].0
        {
            return self.budget.copy(field_of(element, field)?).map(Val::Own);
        }
        match self.node(of)? {
            Val::Ref(value) => field_of(value, field).map(Val::Ref),
            Val::Own(mut value) => {
                field_of(&value, field)?;
                Ok(Val::Own(value.get_mut(field).map(Value::take).unwrap_or_default()))
            }
        }
    }

    fn index(&mut self, of: &'v Node, at: &'v Node) -> Evaluated<'v> {
        let of = self.node(of)?;
        let at = self.node(at)?;
        let wrong =
            |of: &Value| Failed::because(format!("{} has no entry {}", name(of), function::short(at.get())));
        let find = |of: &Value| match (of, at.get()) {
            (Value::Array(items), Value::Number(number)) => {
                let place = number.as_u64().and_then(|place| usize::try_from(place).ok());
                place.filter(|place| *place < items.len()).map(At::Place)
            }
            (Value::Object(entries), Value::String(key)) if entries.contains_key(key) => {
                Some(At::Key(key.clone()))
            }
            _ => None,
        };
        match (find(of.get()), of) {
            (Some(At::Place(place)), Val::Ref(value)) => Ok(Val::Ref(&value[place])),
            (Some(At::Place(place)), Val::Own(mut value)) => Ok(Val::Own(value[place].take())),
            (Some(At::Key(key)), Val::Ref(value)) => Ok(Val::Ref(&value[&key])),
            (Some(At::Key(key)), Val::Own(mut value)) => Ok(Val::Own(value[&key].take())),
            (None, of) => Err(wrong(of.get())),
        }
    }

    fn table(&mut self, entries: &'v [(Node, Node)]) -> Evaluated<'v> {
        let mut table = Map::new();
        for (key, value) in entries {
            let key = match self.node(key)?.get() {
                Value::String(key) => key.clone(),
                other => return Err(Failed::because(format!("a key is a text, and not {}", name(other)))),
            };
            self.budget.make(key.len() + size_of::<Value>())?;
            let value = self.node(value)?;
            let value = self.own(value)?;
            if table.insert(key, value).is_some() {
                return Err(Failed::because("a table has a key twice"));
            }
        }
        Ok(Val::Own(Value::Object(table)))
    }

    fn binary(&mut self, operator: Operator, one: &'v Node, other: &'v Node) -> Evaluated<'v> {
        let one = self.node(one)?;
        let other = self.node(other)?;
        function::binary(self.budget, operator, one, other).map(Val::Own)
    }

    fn walk(&mut self, walk: &'v Loop) -> Evaluated<'v> {
        let elements: Vec<Val<'v>> = match self.node(&walk.range)? {
            Val::Ref(Value::Array(items)) => items.iter().map(Val::Ref).collect(),
            Val::Own(Value::Array(items)) => items.into_iter().map(Val::Own).collect(),
            // Of a table it is the keys.
            range => match range.get() {
                Value::Object(entries) => {
                    self.budget.make(entries.keys().map(String::len).sum())?;
                    entries.keys().map(|key| Val::Own(Value::from(key.as_str()))).collect()
                }
                other => return Err(Failed::because(format!("expected a list, found {}", name(other)))),
            },
        };
        let start = self.node(&walk.start)?;
        let start = self.own(start)?;
        // Elements of an inner loop that was left by an error are of no use to anybody.
        self.loops.truncate(walk.depth);
        self.loops.push((Val::Own(Value::Null), start));
        for element in elements {
            self.loops[walk.depth].0 = element;
            let goes_on = self.flag(&walk.goes_on)?;
            if !goes_on {
                break;
            }
            let next = self.node(&walk.step)?;
            let next = self.own(next)?;
            self.loops[walk.depth].1 = next;
        }
        let result = self.node(&walk.result)?;
        let result = Val::Own(self.own(result)?);
        self.loops.truncate(walk.depth);
        Ok(result)
    }
}

enum At {
    Place(usize),
    Key(String),
}

fn no_output() -> Failed {
    Failed::because(
        "the step has no output: it was skipped, or failed and was left behind; ask with `has(..)`",
    )
}

fn field_of<'a>(of: &'a Value, field: &str) -> Result<&'a Value, Failed> {
    let entries = of.as_object().ok_or_else(|| not_a_table(of, field))?;
    entries.get(field).ok_or_else(|| {
        let known: Vec<_> = entries.keys().take(20).map(String::as_str).collect();
        let hint = match known.is_empty() {
            true => "it is empty".to_owned(),
            false => steadfast_form::hint(field, known.iter().copied()),
        };
        Failed::because(format!("there is no `{field}`: {hint}"))
    })
}

fn not_a_table(of: &Value, field: &str) -> Failed {
    Failed::because(format!("`{field}` is asked of {}, and only a table has such", name(of)))
}
