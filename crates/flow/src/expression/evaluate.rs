//! Evaluates an expression over JSON. Every part that is evaluated, copied or made is paid for ([`Budget`]), so that it ends.

use serde_json::{Map, Value};

use super::budget::Budget;
use super::function::{self, name};
use super::node::{Function, Loop, Node, Operator, Variable};
use super::number::Num;

/// The longest name that is compared with one that is not there.
const LONGEST_NAME: usize = 64;

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
    /// How many parts are around this one that may go on without its value. Which name was meant is not looked for in them: it takes
    /// long, and can be asked of each element of a list.
    quiet: u32,
}

impl<'v> Evaluation<'v> {
    pub(super) fn new(variables: &'v Variables, budget: &'v Budget) -> Self {
        Self { variables, budget, loops: Vec::new(), quiet: 0 }
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
                let judged = arguments.first().map(|of| self.quiet_flag(of));
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

    /// The same where the expression may have a value without it.
    fn quiet_flag(&mut self, node: &'v Node) -> Result<bool, Failed> {
        self.quiet += 1;
        let flag = self.flag(node);
        self.quiet -= 1;
        flag
    }

    fn is_quiet(&self) -> bool {
        self.quiet > 0
    }

    /// `&&`, or `||` where `decides` is true. The side that decides does so whatever the other one is, as CEL says.
    fn and(&mut self, one: &'v Node, other: &'v Node, decides: bool) -> Evaluated<'v> {
        match self.quiet_flag(one) {
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
            return self.budget.copy(field_of(self.is_quiet(), element, field)?).map(Val::Own);
        }
        match self.node(of)? {
            Val::Ref(value) => field_of(self.is_quiet(), value, field).map(Val::Ref),
            Val::Own(mut value) => {
                field_of(self.is_quiet(), &value, field)?;
                Ok(Val::Own(value.get_mut(field).map(Value::take).unwrap_or_default()))
            }
        }
    }

    fn index(&mut self, of: &'v Node, at: &'v Node) -> Evaluated<'v> {
        let of = self.node(of)?;
        let at = self.node(at)?;
        if let Value::String(key) = at.get() {
            self.budget.look(key.len())?;
        }
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
        let elements = Elements::of(self.node(&walk.range)?)?;
        let start = self.node(&walk.start)?;
        let start = self.own(start)?;
        // Elements of an inner loop that was left by an error are of no use to anybody.
        self.loops.truncate(walk.depth);
        self.loops.push((Val::Own(Value::Null), start));
        for element in elements {
            self.loops[walk.depth].0 = element.paid_for(self.budget)?;
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

/// What a loop goes over, taken one by one: what comes behind the element at which it ends costs nothing.
enum Elements<'v> {
    There(std::slice::Iter<'v, Value>),
    Made(std::vec::IntoIter<Value>),
    Keys(serde_json::map::Keys<'v>),
    MadeKeys(serde_json::map::IntoIter),
}

impl<'v> Elements<'v> {
    fn of(range: Val<'v>) -> Result<Self, Failed> {
        Ok(match range {
            Val::Ref(Value::Array(items)) => Self::There(items.iter()),
            Val::Own(Value::Array(items)) => Self::Made(items.into_iter()),
            // Of a table it is the keys.
            Val::Ref(Value::Object(entries)) => Self::Keys(entries.keys()),
            Val::Own(Value::Object(entries)) => Self::MadeKeys(entries.into_iter()),
            other => {
                return Err(Failed::because(format!("expected a list, found {}", name(other.get()))));
            }
        })
    }
}

/// An element, as it was found.
enum Element<'v> {
    Is(Val<'v>),
    Key(&'v str),
}

impl<'v> Element<'v> {
    /// The name of an entry is copied, and that is paid for.
    fn paid_for(self, budget: &Budget) -> Evaluated<'v> {
        match self {
            Self::Is(value) => Ok(value),
            Self::Key(key) => {
                budget.make(key.len())?;
                Ok(Val::Own(Value::from(key)))
            }
        }
    }
}

impl<'v> Iterator for Elements<'v> {
    type Item = Element<'v>;

    fn next(&mut self) -> Option<Element<'v>> {
        match self {
            Self::There(items) => items.next().map(|item| Element::Is(Val::Ref(item))),
            Self::Made(items) => items.next().map(|item| Element::Is(Val::Own(item))),
            Self::Keys(keys) => keys.next().map(|key| Element::Key(key)),
            Self::MadeKeys(entries) => {
                entries.next().map(|(key, _)| Element::Is(Val::Own(Value::String(key))))
            }
        }
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

fn field_of<'a>(is_quiet: bool, of: &'a Value, field: &str) -> Result<&'a Value, Failed> {
    let entries = of.as_object().ok_or_else(|| not_a_table(of, field))?;
    if let Some(value) = entries.get(field) {
        return Ok(value);
    }
    if is_quiet {
        return Err(Failed::because(format!("there is no `{field}`")));
    }
    let known: Vec<_> =
        entries.keys().map(String::as_str).take(20).filter(|name| name.len() <= LONGEST_NAME).collect();
    let hint = match entries.is_empty() {
        true => "it is empty".to_owned(),
        false if known.is_empty() => "it has other fields".to_owned(),
        false => steadfast_form::hint(field, known.iter().copied()),
    };
    Err(Failed::because(format!("there is no `{field}`: {hint}")))
}

fn not_a_table(of: &Value, field: &str) -> Failed {
    Failed::because(format!("`{field}` is asked of {}, and only a table has such", name(of)))
}
