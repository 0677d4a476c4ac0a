//! An expression that was read and checked: what is evaluated.

use serde_json::Value;

/// A part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// A value that stands in the file.
    Literal(Value),
    Variable(Variable),
    /// The output of the step at this place.
    Output(usize),
    /// Whether the step at this place has an output.
    HasOutput(usize),
    /// The element that the loop at this depth is at.
    Element(usize),
    /// What the loop at this depth has gathered.
    Gathered(usize),
    /// The same, which nobody reads afterwards.
    TakeGathered(usize),
    Select(Box<Node>, String),
    Has(Box<Node>, String),
    Index(Box<Node>, Box<Node>),
    Not(Box<Node>),
    Negate(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    If(Box<[Node; 3]>),
    Binary(Operator, Box<[Node; 2]>),
    Call(Function, Vec<Node>),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    Loop(Box<Loop>),
}

/// A walk over a list, or over the keys of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loop {
    pub(crate) range: Node,
    pub(crate) depth: usize,
    pub(crate) start: Node,
    pub(crate) goes_on: Node,
    pub(crate) step: Node,
    pub(crate) result: Node,
}

/// What an expression may read beside outputs of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    Input,
    Output,
    Item,
    Index,
    Response,
    Step,
    Task,
}

impl Variable {
    pub(crate) const ALL: [Self; 7] =
        [Self::Input, Self::Output, Self::Item, Self::Index, Self::Response, Self::Step, Self::Task];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::Item => "item",
            Self::Index => "index",
            Self::Response => "response",
            Self::Step => "step",
            Self::Task => "task",
        }
    }

    /// The parts of one that the engine makes; empty for one that may have any.
    pub(crate) const fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Response => &["status", "headers", "body"],
            Self::Step => &["name", "key", "attempt", "round", "callback"],
            Self::Task => &["id"],
            _ => &[],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

impl Operator {
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
        }
    }
}

/// The functions that there are. What a method is called on is its first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Size,
    Text,
    Whole,
    Fraction,
    Contains,
    StartsWith,
    EndsWith,
    LowerAscii,
    UpperAscii,
    Trim,
    Split,
    Join,
    Replace,
    /// What a loop asks whether it is to go on; written by the parser alone.
    NotFalse,
}

/// A function as it is written: its name, how many arguments a method of it has, and a function, if it is one.
pub(crate) struct Signature {
    pub(crate) name: &'static str,
    pub(crate) function: Function,
    pub(crate) method: Option<usize>,
    pub(crate) global: Option<usize>,
    /// For the reference.
    pub(crate) doc: &'static str,
}

const fn method(name: &'static str, function: Function, arguments: usize, doc: &'static str) -> Signature {
    Signature { name, function, method: Some(arguments), global: None, doc }
}

const fn global(name: &'static str, function: Function, doc: &'static str) -> Signature {
    Signature { name, function, method: None, global: Some(1), doc }
}

/// All functions, as they are written.
pub(crate) const FUNCTIONS: &[Signature] = &[
    Signature {
        name: "size",
        function: Function::Size,
        method: Some(0),
        global: Some(1),
        doc: "`size(x)` or `x.size()`: characters of a text, entries of a list or table.",
    },
    global("string", Function::Text, "`string(x)`: a number, flag or text as a text."),
    global("int", Function::Whole, "`int(x)`: a number without its fraction, or the number that a text is."),
    global("double", Function::Fraction, "`double(x)`: a number with a fraction, or the one that a text is."),
    method("contains", Function::Contains, 1, "`text.contains(part)`."),
    method("startsWith", Function::StartsWith, 1, "`text.startsWith(part)`."),
    method("endsWith", Function::EndsWith, 1, "`text.endsWith(part)`."),
    method("lowerAscii", Function::LowerAscii, 0, "`text.lowerAscii()`: A to Z as a to z."),
    method("upperAscii", Function::UpperAscii, 0, "`text.upperAscii()`: a to z as A to Z."),
    method("trim", Function::Trim, 0, "`text.trim()`: without the space around it."),
    method("split", Function::Split, 1, "`text.split(between)`: a list of texts."),
    method("join", Function::Join, 1, "`list.join(between)`: one text of many."),
    method("replace", Function::Replace, 2, "`text.replace(old, new)`: every `old` as `new`."),
];
