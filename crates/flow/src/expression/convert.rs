//! From what the parser gives to what is evaluated: names and functions looked up, size and depth held.

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue, SelectExpr,
    operators,
};
use serde_json::{Number, Value};
use steadfast_form::{hint, plain};

use super::limit::{MAX_DEPTH, MAX_LOOPS, MAX_NODES};
use super::names::{Names, Reads};
use super::node::{FUNCTIONS, Function, Loop, Node, Operator, Variable};

/// Why an expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It makes no sense.
    Bad(String),
    /// It is larger than it may be.
    Large(String),
    /// It reads the output of a step that is not there, or does not come before.
    Step(String),
}

pub(super) type Made<T> = Result<T, Wrong>;

pub(super) fn bad<T>(message: impl Into<String>) -> Made<T> {
    Err(Wrong::Bad(message.into()))
}

/// Reads the tree of an expression.
pub(super) struct Converter<'n> {
    pub(super) names: Names<'n>,
    pub(super) reads: Reads,
    nodes: usize,
    /// The names of the elements of loops, the outermost first, and of what they gather.
    loops: Vec<(String, String)>,
    /// Whether what a loop gathers may be taken: in its step it is read once.
    takes: bool,
}

impl<'n> Converter<'n> {
    pub(super) fn new(names: Names<'n>) -> Self {
        Self { names, reads: Reads::default(), nodes: 0, loops: Vec::new(), takes: false }
    }

    pub(super) fn node(&mut self, expression: &IdedExpr, depth: usize) -> Made<Node> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(Wrong::Large(format!("it has more than {MAX_NODES} parts: make it shorter")));
        }
        if depth > MAX_DEPTH {
            return Err(Wrong::Large(format!("it is more than {MAX_DEPTH} levels deep: make it flatter")));
        }
        let depth = depth + 1;
        match &expression.expr {
            Expr::Literal(literal) => literal_of(literal).map(Node::Literal),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => self.select(select, depth),
            Expr::Call(_) if self.step_of(expression)?.is_some() => {
                bad("a step alone says nothing: write `steps[\"NAME\"].output`")
            }
            Expr::Call(call) => self.call(call, depth),
            Expr::List(list) => {
                let elements = list.elements.iter().map(|element| self.node(element, depth));
                elements.collect::<Made<_>>().map(Node::List)
            }
            Expr::Map(map) => {
                let entries = map.entries.iter().map(|entry| self.entry(entry, depth));
                entries.collect::<Made<_>>().map(Node::Map)
            }
            Expr::Comprehension(comprehension) => self.walk(comprehension, depth),
            Expr::Struct(of) => {
                bad(format!("there is no type `{}`: write a table, `{{'a': 1}}`", plain(&of.type_name)))
            }
            Expr::Unspecified => bad("a part of it is missing"),
        }
    }

    fn boxed(&mut self, expression: &IdedExpr, depth: usize) -> Made<Box<Node>> {
        self.node(expression, depth).map(Box::new)
    }

    fn entry(&mut self, entry: &IdedEntryExpr, depth: usize) -> Made<(Node, Node)> {
        match &entry.expr {
            EntryExpr::MapEntry(entry) if !entry.optional => {
                Ok((self.node(&entry.key, depth)?, self.node(&entry.value, depth)?))
            }
            _ => bad("an entry of a table is `'key': value`"),
        }
    }

    // ---- names ----

    fn name(&mut self, name: &str) -> Made<Node> {
        let at = |names: &dyn Fn(&(String, String)) -> bool| self.loops.iter().rposition(names);
        if let Some(depth) = at(&|(element, _)| element == name) {
            return Ok(Node::Element(depth));
        }
        if let Some(depth) = at(&|(_, gathered)| gathered == name) {
            let own = depth + 1 == self.loops.len() && self.takes;
            return Ok(if own { Node::TakeGathered(depth) } else { Node::Gathered(depth) });
        }
        if let Some(variable) = self.names.variables.iter().find(|known| known.name() == name) {
            self.reads.note(*variable);
            return Ok(Node::Variable(*variable));
        }
        if name == "steps" && !self.names.before.is_empty() {
            return bad("`steps` alone says nothing: write `steps.NAME.output`");
        }
        if let Some(elsewhere) = Variable::ALL.iter().find(|known| known.name() == name) {
            return bad(format!("{} is not known here: there are {}", why_not(*elsewhere), self.known()));
        }
        let known: Vec<_> = self.known_names().collect();
        let own = self.loops.iter().map(|(element, _)| element.as_str());
        let hint = hint(name, known.iter().copied().chain(own));
        bad(format!("there is no `{}`: {hint}", plain(name)))
    }

    fn known_names(&self) -> impl Iterator<Item = &'static str> + use<'n> {
        let steps = (!self.names.before.is_empty()).then_some("steps");
        self.names.variables.iter().map(|variable| variable.name()).chain(steps)
    }

    fn known(&self) -> String {
        steadfast_form::listed(self.known_names())
    }

    fn select(&mut self, select: &SelectExpr, depth: usize) -> Made<Node> {
        if let Some(step) = self.step_of(&select.operand)? {
            if select.field != "output" {
                return Err(Wrong::Step(format!(
                    "a step has an `output`, and no `{}`: write `steps.NAME.output`",
                    plain(&select.field)
                )));
            }
            self.reads.steps.insert(step);
            return Ok(if select.test { Node::HasOutput(step) } else { Node::Output(step) });
        }
        if self.is_steps(&select.operand) {
            let name = &self.names.steps[self.step(&select.field)?].name;
            return bad(format!("`steps.{name}` alone says nothing: write `steps.{name}.output`"));
        }
        if let Expr::Ident(name) = &select.operand.expr
            && let Some(variable) = self.names.variables.iter().find(|known| known.name() == name)
            && !variable.parts().is_empty()
            && !variable.parts().contains(&&*select.field)
        {
            let hint = hint(&select.field, variable.parts().iter().copied());
            return bad(format!("`{name}` has no `{}`: {hint}", plain(&select.field)));
        }
        if matches!(&select.operand.expr, Expr::Ident(name) if name == "step")
            && select.field == "callback"
            && self.names.variables.contains(&Variable::Step)
            && !self.names.has_callback
        {
            return bad(
                "`step.callback` is known in the `request` of a step with `callback`: add that, or remove it"
                    .to_owned(),
            );
        }
        let operand = self.boxed(&select.operand, depth)?;
        let field = select.field.clone();
        Ok(if select.test { Node::Has(operand, field) } else { Node::Select(operand, field) })
    }

    fn is_steps(&self, of: &IdedExpr) -> bool {
        let hidden = || self.loops.iter().any(|(element, _)| element == "steps");
        matches!(&of.expr, Expr::Ident(name) if name == "steps") && !hidden()
    }

    /// The step that `steps.NAME` or `steps["NAME"]` is; `None` for something else.
    fn step_of(&self, expression: &IdedExpr) -> Made<Option<usize>> {
        let name = match &expression.expr {
            Expr::Select(select) if self.is_steps(&select.operand) => select.field.clone(),
            Expr::Call(call)
                if call.func_name == operators::INDEX
                    && call.args.first().is_some_and(|of| self.is_steps(of)) =>
            {
                match call.args.get(1).map(|name| &name.expr) {
                    Some(Expr::Literal(LiteralValue::String(name))) => name.inner().to_owned(),
                    _ => return bad("a step is named by a text that stands there: `steps[\"NAME\"].output`"),
                }
            }
            _ => return Ok(None),
        };
        self.step(&name).map(Some)
    }

    /// The place of a step that comes before.
    fn step(&self, name: &str) -> Made<usize> {
        let Names { steps, before, whose, .. } = self.names;
        if before.is_empty() {
            return bad(format!("outputs of steps are not known here: there are {}", self.known()));
        }
        let Some(place) = steps.iter().position(|step| step.name == name) else {
            let hint = hint(name, steps.iter().map(|step| step.name.as_str()));
            let dashes = steps.iter().any(|step| step.name.starts_with(&format!("{name}-")));
            let more = if dashes { "; a name with `-` in it is written `steps[\"NAME\"]`" } else { "" };
            return Err(Wrong::Step(format!("there is no step `{}`: {hint}{more}", plain(name))));
        };
        if !before.get(place).copied().unwrap_or(false) {
            return Err(Wrong::Step(format!(
                "{whose} reads the output of `{name}`, which does not come before it: add `{name}` to its `after`"
            )));
        }
        if self.names.of_item && steps[place].is_each {
            return Err(Wrong::Step(format!(
                "what became of the items of `{name}` is not known to a single item: read it in a step behind"
            )));
        }
        Ok(place)
    }

    // ---- calls ----

    fn call(&mut self, call: &CallExpr, depth: usize) -> Made<Node> {
        let CallExpr { func_name, target, args } = call;
        if let (None, [one, other]) = (target, &args[..])
            && let Some(operator) = operator(func_name)
        {
            // What is gathered is taken by the left side alone, so that a list grows in its place.
            let one = self.node(one, depth)?;
            return Ok(Node::Binary(operator, Box::new([one, self.node(other, depth)?])));
        }
        match (&**func_name, target, &args[..]) {
            (operators::LOGICAL_AND, None, [one, other]) => {
                Ok(Node::And(self.boxed(one, depth)?, self.boxed(other, depth)?))
            }
            (operators::LOGICAL_OR, None, [one, other]) => {
                Ok(Node::Or(self.boxed(one, depth)?, self.boxed(other, depth)?))
            }
            (operators::LOGICAL_NOT, None, [of]) => Ok(Node::Not(self.boxed(of, depth)?)),
            (operators::NEGATE, None, [of]) => Ok(Node::Negate(self.boxed(of, depth)?)),
            (operators::INDEX, None, [of, at]) => {
                Ok(Node::Index(self.boxed(of, depth)?, self.boxed(at, depth)?))
            }
            (operators::CONDITIONAL, None, [condition, then, otherwise]) => {
                let condition = self.node(condition, depth)?;
                Ok(Node::If(Box::new([condition, self.node(then, depth)?, self.node(otherwise, depth)?])))
            }
            (operators::NOT_STRICTLY_FALSE, None, [of]) => {
                Ok(Node::Call(Function::NotFalse, vec![self.node(of, depth)?]))
            }
            _ => self.function(call, depth),
        }
    }

    fn function(&mut self, call: &CallExpr, depth: usize) -> Made<Node> {
        let CallExpr { func_name, target, args } = call;
        let Some(signature) = FUNCTIONS.iter().find(|known| known.name == func_name) else {
            const LOOPS: [&str; 6] = ["has", "all", "exists", "exists_one", "map", "filter"];
            let known = FUNCTIONS.iter().map(|known| known.name).chain(LOOPS);
            return bad(format!("there is no function `{}`: {}", plain(func_name), hint(func_name, known)));
        };
        let takes = if target.is_some() { signature.method } else { signature.global };
        if takes != Some(args.len()) {
            return bad(format!("`{func_name}` is not called like this: {}", signature.doc));
        }
        let arguments = target.as_deref().into_iter().chain(args).map(|argument| self.node(argument, depth));
        Ok(Node::Call(signature.function, arguments.collect::<Made<_>>()?))
    }

    fn walk(&mut self, walk: &ComprehensionExpr, depth: usize) -> Made<Node> {
        if walk.iter_var2.is_some() {
            return bad("a loop names one element");
        }
        let range = self.node(&walk.iter_range, depth)?;
        let start = self.node(&walk.accu_init, depth)?;
        let level = self.loops.len();
        if level >= MAX_LOOPS {
            return Err(Wrong::Large(format!(
                "loops over lists are more than {MAX_LOOPS} deep in each other: let a service compute it"
            )));
        }
        let takes = self.takes;
        self.loops.push((walk.iter_var.clone(), walk.accu_var.clone()));
        self.takes = false;
        let goes_on = self.node(&walk.loop_cond, depth)?;
        self.takes = true;
        let step = self.node(&walk.loop_step, depth)?;
        let result = self.node(&walk.result, depth)?;
        self.takes = takes;
        self.loops.pop();
        Ok(Node::Loop(Box::new(Loop { range, depth: level, start, goes_on, step, result })))
    }
}

/// Why a variable that exists is not known at a place.
fn why_not(variable: Variable) -> &'static str {
    match variable {
        Variable::Input => "`input`",
        Variable::Output => "`output`, which undo and `until` know,",
        Variable::Item => "`item`, which steps with `each` know,",
        Variable::Index => "`index`, which steps with `each` know,",
        Variable::Response => "`response`, which `output` knows,",
        Variable::Step => "`step`, which requests know,",
        Variable::Task => "`task`, which requests know,",
    }
}

fn operator(name: &str) -> Option<Operator> {
    Some(match name {
        operators::ADD => Operator::Add,
        operators::SUBSTRACT => Operator::Subtract,
        operators::MULTIPLY => Operator::Multiply,
        operators::DIVIDE => Operator::Divide,
        operators::MODULO => Operator::Remainder,
        operators::EQUALS => Operator::Equal,
        operators::NOT_EQUALS => Operator::NotEqual,
        operators::LESS => Operator::Less,
        operators::LESS_EQUALS => Operator::LessOrEqual,
        operators::GREATER => Operator::Greater,
        operators::GREATER_EQUALS => Operator::GreaterOrEqual,
        operators::IN => Operator::In,
        _ => return None,
    })
}

fn literal_of(literal: &LiteralValue) -> Made<Value> {
    Ok(match literal {
        LiteralValue::Null => Value::Null,
        LiteralValue::Boolean(flag) => Value::Bool(*flag.inner()),
        LiteralValue::Int(number) => Value::from(*number.inner()),
        LiteralValue::UInt(number) => Value::from(*number.inner()),
        LiteralValue::Double(number) => match Number::from_f64(*number.inner()) {
            Some(number) => Value::Number(number),
            None => return bad("a number in it is too large"),
        },
        LiteralValue::String(text) => Value::from(text.inner()),
        LiteralValue::Bytes(_) => return bad("bytes (`b'..'`) cannot be written as JSON: use a text"),
    })
}
