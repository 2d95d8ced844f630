//! The expressions of code blocks and their values: fields of the sender, variables, numbers, texts and lists, with the operators
//! of Python.

use std::cmp::Ordering;

use super::machine::{Machine, Missed};
use super::report::{Field, FIELDS};
use crate::shorten;

/// An expression of a script with its position.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) line: u32,
    /// Its source text, without its message.
    pub(super) text: String,
    pub(super) expression: Expression,
    /// The fields that it uses.
    pub(super) fields: Vec<Field>,
}

/// The value of an expression.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Object {
    /// `None`.
    #[default]
    Nothing,
    Number(f64),
    Text(String),
    /// A list or a tuple.
    List(Vec<Object>),
}

impl Object {
    /// How many values it is made of.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::List(items) => 1 + items.iter().map(Self::size).sum::<u64>(),
            Self::Text(text) => 1 + text.len() as u64 / 64,
            _ => 1,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Expression {
    Constant(Object),
    Field(Field),
    Variable(String),
    List(Vec<Expression>),
    /// `[value for target in list if condition]`.
    Each {
        value: Box<Expression>,
        targets: Vec<String>,
        list: Box<Expression>,
        condition: Option<Box<Expression>>,
    },
    Call(Function, Vec<Expression>),
    /// A function that the script defines.
    Own(String, Vec<Expression>),
    /// `variable.append(value)`.
    Append(String, Box<Expression>),
    /// `list[index]`.
    Item(Box<Expression>, Box<Expression>),
    /// `list[from:to]`.
    Slice(
        Box<Expression>,
        Option<Box<Expression>>,
        Option<Box<Expression>>,
    ),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    Inverted(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// Chained comparisons, as in `5 <= x < 8`.
    Compare(Box<Expression>, Vec<(Operator, Expression)>),
    /// `a if condition else b`: the condition and both values.
    Choice(Box<[Expression; 3]>),
}

/// The functions that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Absolute,
    All,
    Any,
    Bool,
    Ceiling,
    Float,
    Floor,
    Int,
    Length,
    List,
    Max,
    Min,
    Numbered,
    Range,
    Reversed,
    Root,
    Rounded,
    Sorted,
    Sum,
    Text,
    Zip,
}

pub(super) const FUNCTIONS: [(&str, Function); 23] = [
    ("abs", Function::Absolute),
    ("all", Function::All),
    ("any", Function::Any),
    ("bool", Function::Bool),
    ("enumerate", Function::Numbered),
    ("float", Function::Float),
    ("int", Function::Int),
    ("len", Function::Length),
    ("list", Function::List),
    ("math.ceil", Function::Ceiling),
    ("math.floor", Function::Floor),
    ("math.sqrt", Function::Root),
    ("max", Function::Max),
    ("min", Function::Min),
    ("range", Function::Range),
    ("repr", Function::Text),
    ("reversed", Function::Reversed),
    ("round", Function::Rounded),
    ("sorted", Function::Sorted),
    ("str", Function::Text),
    ("sum", Function::Sum),
    ("tuple", Function::List),
    ("zip", Function::Zip),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
    Plus,
    Minus,
    Times,
    Divide,
    DivideWhole,
    Remainder,
    Power,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

/// Most items of a list, and characters of a text.
pub(super) const MOST_ITEMS: usize = 100_000;

/// The names of Linux's `enum tcp_ca_state`.
pub(super) const CA_STATES: [(&str, u32); 5] = [
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
];

/// The names of Linux's connection states (include/net/tcp_states.h), of the bits of `tcpi_options`
/// (include/uapi/linux/tcp.h), and of Python's truth values.
const STATES: [(&str, u32); 24] = [
    ("TCP_CA_OPEN", 0),
    ("TCP_CA_DISORDER", 1),
    ("TCP_CA_RECOVERY", 3),
    ("TCP_CA_LOSS", 4),
    ("TCP_INFINITE_SSTHRESH", 0x7fff_ffff),
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
    ("TCPI_OPT_SYN_DATA", 32),
    ("True", 1),
    ("False", 0),
];

/// Why an expression has no value.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// Its reason.
    Wrong(String),
    /// A field is used, and there is no connection yet.
    NoConnection,
    /// An assertion in a function of the script has failed.
    Missed(Box<Missed>),
}

fn wrong<T>(text: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Wrong(shorten(&text.into())))
}

pub(super) fn truth(holds: bool) -> Object {
    Object::Number(f64::from(u8::from(holds)))
}

impl Object {
    /// Whether a condition with this value holds.
    pub(super) fn holds(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Number(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
        }
    }

    /// In the notation of Python.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Nothing => "None".into(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => format!("'{text}'"),
            Self::List(items) => {
                let items: Vec<_> = items.iter().map(Self::text).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }

    fn number(&self) -> Result<f64, Fault> {
        match self {
            Self::Number(number) => Ok(*number),
            other => wrong(format!("{} is not a number", other.text())),
        }
    }

    pub(super) fn items(self) -> Result<Vec<Self>, Fault> {
        match self {
            Self::List(items) => Ok(items),
            Self::Text(text) => Ok(text.chars().map(|c| Self::Text(c.into())).collect()),
            other => wrong(format!("{} is not a list", other.text())),
        }
    }

    fn item(self, index: &Self) -> Result<Self, Fault> {
        let (index, items) = (index.number()?, self.items()?);
        let at = if index < 0.0 {
            index + items.len() as f64
        } else {
            index
        };
        let item = (at >= 0.0).then(|| items.get(at as usize).cloned());
        item.flatten()
            .map_or_else(|| wrong(format!("there is no item {index}")), Ok)
    }

    fn order(&self, other: &Self) -> Result<std::cmp::Ordering, Fault> {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => Ok(a.total_cmp(b)),
            (Self::Text(a), Self::Text(b)) => Ok(a.cmp(b)),
            (Self::List(a), Self::List(b)) => {
                for (a, b) in a.iter().zip(b) {
                    let order = a.order(b)?;
                    if order.is_ne() {
                        return Ok(order);
                    }
                }
                Ok(a.len().cmp(&b.len()))
            }
            _ => wrong(format!(
                "{} and {} cannot be ordered",
                self.text(),
                other.text()
            )),
        }
    }
}

impl Expression {
    /// Its value; fields are those that `value` gives.
    pub(super) fn evaluate(
        &self,
        value: &dyn Fn(Field) -> Option<f64>,
        machine: &mut Machine,
    ) -> Result<Object, Fault> {
        machine.count_step()?;
        let all = |expressions: &[Self], machine: &mut Machine| {
            let each = expressions.iter().map(|e| e.evaluate(value, machine));
            each.collect::<Result<Vec<_>, _>>()
        };
        Ok(match self {
            Self::Constant(object) => object.clone(),
            Self::Field(field) => Object::Number(value(*field).ok_or(Fault::NoConnection)?),
            Self::Variable(name) => match machine.variable(name) {
                Some(object) => {
                    let object = object.clone();
                    machine.count_steps(object.size())?;
                    object
                }
                None => return wrong(format!("{name} has no value yet")),
            },
            Self::List(items) => Object::List(all(items, machine)?),
            Self::Each {
                value: each,
                targets,
                list,
                condition,
            } => {
                let mut made = Vec::new();
                let items = list.evaluate(value, machine)?.items()?;
                // Its variables are its own.
                machine.begin_scope(targets);
                let walk = || {
                    for item in items {
                        machine.assign(targets, item)?;
                        let is_wanted = match condition {
                            Some(condition) => condition.evaluate(value, machine)?.holds(),
                            None => true,
                        };
                        if is_wanted {
                            made.push(each.evaluate(value, machine)?);
                        }
                    }
                    Ok(())
                };
                let walked: Result<(), Fault> = walk();
                machine.end_scope();
                walked?;
                Object::List(made)
            }
            Self::Call(function, arguments) => function.apply(all(arguments, machine)?)?,
            Self::Own(name, arguments) => {
                let arguments = all(arguments, machine)?;
                machine.call(name, arguments, value)?
            }
            Self::Append(name, item) => {
                let item = item.evaluate(value, machine)?;
                machine.append(name, item)?;
                Object::Nothing
            }
            Self::Item(list, index) => {
                let list = list.evaluate(value, machine)?;
                list.item(&index.evaluate(value, machine)?)?
            }
            Self::Slice(list, from, to) => {
                let list = list.evaluate(value, machine)?;
                let mut edge = |edge: &Option<Box<Self>>| match edge {
                    Some(edge) => edge.evaluate(value, machine)?.number().map(Some),
                    None => Ok(None),
                };
                let (from, to) = (edge(from)?, edge(to)?);
                let is_text = matches!(list, Object::Text(_));
                let items = list.items()?;
                let length = items.len() as f64;
                let place =
                    |at: f64| if at < 0.0 { at + length } else { at }.clamp(0.0, length) as usize;
                let (from, to) = (place(from.unwrap_or(0.0)), place(to.unwrap_or(length)));
                let part = items.get(from..to.max(from)).unwrap_or_default().to_vec();
                if is_text {
                    let letters = part.iter().filter_map(|letter| match letter {
                        Object::Text(letter) => Some(letter.as_str()),
                        _ => None,
                    });
                    Object::Text(letters.collect())
                } else {
                    Object::List(part)
                }
            }
            Self::Not(inner) => truth(!inner.evaluate(value, machine)?.holds()),
            Self::Negative(inner) => Object::Number(-inner.evaluate(value, machine)?.number()?),
            Self::Inverted(inner) => {
                Object::Number(-1.0 - inner.evaluate(value, machine)?.number()?)
            }
            Self::Binary(operator, left, right) => {
                let left = left.evaluate(value, machine)?;
                // As in Python, the value of the operand that decides the result.
                match operator {
                    Operator::Or if left.holds() => left,
                    Operator::And if !left.holds() => left,
                    Operator::Or | Operator::And => right.evaluate(value, machine)?,
                    _ => operator.apply(&left, &right.evaluate(value, machine)?)?,
                }
            }
            Self::Compare(first, rest) => {
                let mut left = first.evaluate(value, machine)?;
                for (operator, next) in rest {
                    let right = next.evaluate(value, machine)?;
                    if !operator.apply(&left, &right)?.holds() {
                        return Ok(truth(false));
                    }
                    left = right;
                }
                truth(true)
            }
            Self::Choice(parts) => {
                let [condition, one, other] = &**parts;
                let holds = condition.evaluate(value, machine)?.holds();
                if holds { one } else { other }.evaluate(value, machine)?
            }
        })
    }
}

/// The numbers of `range(...)`.
fn range(values: &[Object]) -> Result<Object, Fault> {
    let numbers: Result<Vec<_>, _> = values.iter().map(Object::number).collect();
    let (from, to, step) = match numbers?[..] {
        [to] => (0.0, to, 1.0),
        [from, to] => (from, to, 1.0),
        [from, to, step] => (from, to, step),
        _ => return wrong("range has one to three arguments"),
    };
    let count = ((to - from) / step).ceil();
    if step == 0.0
        || !count.is_finite()
        || count > MOST_ITEMS as f64
        || !is_exact(from.abs().max(to.abs()))
    {
        return wrong("this range is too long, or its numbers are too large");
    }
    let numbers = (0..count.max(0.0) as u32).map(|n| Object::Number(from + f64::from(n) * step));
    Ok(Object::List(numbers.collect()))
}

/// Whether whole numbers up to this one are exact: those of Python have any size.
fn is_exact(number: f64) -> bool {
    number.abs() <= 2_f64.powi(53)
}

impl Function {
    fn apply(self, mut values: Vec<Object>) -> Result<Object, Fault> {
        if self == Self::Range {
            return range(&values);
        }
        let Some(first) = values.first().cloned() else {
            return match self {
                Self::List => Ok(Object::List(Vec::new())),
                _ => wrong("a function has no argument"),
            };
        };
        let number = || first.number();
        let items = || first.clone().items();
        Ok(match self {
            Self::Absolute => Object::Number(number()?.abs()),
            Self::Int => match &first {
                Object::Text(text) => match text.trim().parse() {
                    Ok(number) => Object::Number(number),
                    Err(_) => return wrong(format!("'{text}' is not a number")),
                },
                _ => Object::Number(number()?.trunc()),
            },
            Self::Float => Object::Number(number()?),
            Self::Floor => Object::Number(number()?.floor()),
            Self::Ceiling => Object::Number(number()?.ceil()),
            Self::Root => Object::Number(number()?.sqrt()),
            // Python rounds halves to even, to so many digits.
            Self::Rounded => {
                let digits = match values.get(1) {
                    Some(digits) => match digits.number()? {
                        digits if (0.0..=9.0).contains(&digits) => digits as u32,
                        _ => return wrong("round takes 0 to 9 digits"),
                    },
                    None => 0,
                };
                let scale = f64::from(10_u32.pow(digits));
                Object::Number((number()? * scale).round_ties_even() / scale)
            }
            Self::Bool => truth(first.holds()),
            Self::Text => match first {
                Object::Text(text) => Object::Text(text),
                other => Object::Text(other.text()),
            },
            Self::Length => Object::Number(items()?.len() as f64),
            Self::List => Object::List(items()?),
            Self::All => truth(items()?.iter().all(Object::holds)),
            Self::Any => truth(items()?.iter().any(Object::holds)),
            Self::Sum => {
                let numbers: Result<Vec<_>, _> = items()?.iter().map(Object::number).collect();
                Object::Number(numbers?.iter().sum())
            }
            Self::Sorted => {
                let mut sorted = items()?;
                let mut fault = None;
                sorted.sort_by(|a, b| {
                    a.order(b).unwrap_or_else(|why| {
                        fault = Some(why);
                        Ordering::Equal
                    })
                });
                match fault {
                    Some(why) => return Err(why),
                    None => Object::List(sorted),
                }
            }
            Self::Reversed => Object::List(items()?.into_iter().rev().collect()),
            Self::Numbered => {
                let numbered = items()?.into_iter().enumerate();
                let pair = |(n, item)| Object::List(vec![Object::Number(n as f64), item]);
                Object::List(numbered.map(pair).collect())
            }
            Self::Zip => {
                let lists: Result<Vec<_>, _> = values.drain(..).map(Object::items).collect();
                let lists = lists?;
                let length = lists.iter().map(Vec::len).min().unwrap_or(0);
                let row = |at: usize| Object::List(lists.iter().map(|l| l[at].clone()).collect());
                Object::List((0..length).map(row).collect())
            }
            Self::Min | Self::Max => {
                let all = if values.len() == 1 { items()? } else { values };
                let mut all = all.into_iter();
                let Some(mut best) = all.next() else {
                    return wrong("an empty list has no least and no largest item");
                };
                for item in all {
                    let order = item.order(&best)?;
                    if order.is_lt() && self == Self::Min || order.is_gt() && self == Self::Max {
                        best = item;
                    }
                }
                best
            }
            Self::Range => Object::Nothing,
        })
    }
}

impl Operator {
    /// What it makes of two values.
    pub(super) fn apply(self, left: &Object, right: &Object) -> Result<Object, Fault> {
        match self {
            Self::Equal => return Ok(truth(left == right)),
            Self::NotEqual => return Ok(truth(left != right)),
            Self::In | Self::NotIn => {
                let is_in = match (left, right) {
                    (Object::Text(part), Object::Text(text)) => text.contains(part.as_str()),
                    _ => right.clone().items()?.contains(left),
                };
                return Ok(truth(is_in == (self == Self::In)));
            }
            Self::Less => return Ok(truth(left.order(right)?.is_lt())),
            Self::LessOrEqual => return Ok(truth(left.order(right)?.is_le())),
            Self::Greater => return Ok(truth(left.order(right)?.is_gt())),
            Self::GreaterOrEqual => return Ok(truth(left.order(right)?.is_ge())),
            _ => {}
        }
        match (self, left, right) {
            (Self::Plus, Object::Text(a), Object::Text(b)) if a.len() + b.len() < MOST_ITEMS => {
                return Ok(Object::Text(format!("{a}{b}")))
            }
            (Self::Plus, Object::List(a), Object::List(b)) if a.len() + b.len() < MOST_ITEMS => {
                return Ok(Object::List(a.iter().chain(b).cloned().collect()))
            }
            (Self::Times, Object::List(items), Object::Number(times))
                if left.size() as f64 * times < MOST_ITEMS as f64 =>
            {
                let times = times.max(0.0) as usize;
                let all = std::iter::repeat_n(items, times).flatten();
                return Ok(Object::List(all.cloned().collect()));
            }
            // A text with values in it is only shown.
            (Self::Remainder, Object::Text(text), _) => return Ok(Object::Text(text.clone())),
            _ => {}
        }
        let (left, right) = (left.number()?, right.number()?);
        let found = self.of_numbers(left, right)?;
        Ok(Object::Number(found))
    }

    fn of_numbers(self, left: f64, right: f64) -> Result<f64, Fault> {
        let divides = matches!(self, Self::Divide | Self::DivideWhole | Self::Remainder);
        if divides && right == 0.0 {
            return wrong("division by zero");
        }
        // Of whole numbers, as flags are; negative ones in the two's complement.
        let (a, b) = (left as i128, right as i128);
        let shift = b.clamp(0, 64) as u32;
        Ok(match self {
            Self::Minus => left - right,
            Self::Times => left * right,
            Self::Divide => left / right,
            Self::DivideWhole => (left / right).floor(),
            // The sign is that of the divisor, as in Python.
            Self::Remainder => left - right * (left / right).floor(),
            Self::Power => {
                let whole = (0.0..=64.0).contains(&right) && right.fract() == 0.0;
                if !whole {
                    return wrong("a power has a whole exponent from 0 to 64");
                }
                (0..b).fold(1.0, |power, _| power * left)
            }
            Self::BitAnd => (a & b) as f64,
            Self::BitOr => (a | b) as f64,
            Self::BitXor => (a ^ b) as f64,
            Self::ShiftLeft => left.trunc() * 2_f64.powi(shift as i32),
            Self::ShiftRight => (a >> shift) as f64,
            _ => left + right,
        })
    }
}

/// The number for which a name of Linux stands, or the value of a name of Python.
pub(super) fn constant(word: &str) -> Option<Object> {
    if word == "None" {
        return Some(Object::Nothing);
    }
    let mut names = CA_STATES.iter().chain(&STATES);
    let value = names.find(|(name, _)| *name == word)?.1;
    Some(Object::Number(f64::from(value)))
}

/// The field with this name.
pub(super) fn field(word: &str) -> Option<Field> {
    let mut fields = FIELDS.iter();
    fields.find(|(_, name, _)| *name == word).map(|f| f.0)
}
