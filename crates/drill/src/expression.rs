//! The expressions of code blocks: fields of the sender, variables and numbers, with the operators and the precedences of
//! Python.

use std::collections::{BTreeMap, BTreeSet};

use super::report::{Field, FIELDS};
use super::DrillError;

/// Variables by name.
pub(super) type Variables = BTreeMap<String, f64>;

/// An assertion of a script, or the value of an assignment.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) line: u32,
    /// Its source text, without its message.
    pub(super) text: String,
    expression: Expression,
    /// The fields that it uses.
    pub(super) fields: Vec<Field>,
}

#[derive(Clone, Debug)]
enum Expression {
    Number(f64),
    Field(Field),
    Variable(String),
    Call(Function, Vec<Expression>),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// Chained comparisons, as in `5 <= x < 8`.
    Compare(Box<Expression>, Vec<(Operator, Expression)>),
    /// `x in (1, 2)`.
    Among(Box<Expression>, Vec<Expression>),
    /// `a if condition else b`: the condition and both values.
    Choice(Box<[Expression; 3]>),
}

/// The functions that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Absolute,
    Whole,
    Rounded,
    Least,
    Most,
}

const FUNCTIONS: [(&str, Function); 6] = [
    ("abs", Function::Absolute),
    ("float", Function::Most),
    ("round", Function::Rounded),
    ("int", Function::Whole),
    ("min", Function::Least),
    ("max", Function::Most),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Times,
    Divide,
    DivideWhole,
    Remainder,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

/// Maximum nesting of parentheses and signs.
const DEEPEST: usize = 64;

/// Maximum number of words of one assertion, which limits the depth of its expression.
const MOST_WORDS: usize = 1_000;

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
const STATES: [(&str, u32); 25] = [
    ("TCP_CA_OPEN", 0),
    ("TCP_CA_DISORDER", 1),
    ("TCP_CA_RECOVERY", 3),
    ("TCP_CA_LOSS", 4),
    ("TCP_INFINITE_SSTHRESH", 0x7fff_ffff),
    ("None", 0),
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

/// An assertion has divided by zero.
struct DividedByZero;

impl Check {
    /// Its value; none if it divides by zero.
    pub(super) fn value(&self, value: impl Fn(Field) -> f64, kept: &Variables) -> Option<f64> {
        self.expression.evaluate(&value, kept).ok()
    }
}

impl Expression {
    fn evaluate(
        &self,
        value: &impl Fn(Field) -> f64,
        kept: &Variables,
    ) -> Result<f64, DividedByZero> {
        let truth = |holds: bool| f64::from(u8::from(holds));
        Ok(match self {
            Self::Number(number) => *number,
            Self::Field(field) => value(*field),
            // It was assigned on an earlier line: `named` has checked that.
            Self::Variable(name) => kept.get(name).copied().unwrap_or(f64::NAN),
            Self::Call(function, arguments) => {
                let mut values = Vec::new();
                for argument in arguments {
                    values.push(argument.evaluate(value, kept)?);
                }
                function.apply(&values)
            }
            Self::Not(inner) => truth(inner.evaluate(value, kept)? == 0.0),
            Self::Negative(inner) => -inner.evaluate(value, kept)?,
            Self::Binary(operator, left, right) => {
                let left = left.evaluate(value, kept)?;
                // As in Python, the value of the operand that decides the result.
                match operator {
                    Operator::Or if left != 0.0 => left,
                    Operator::And if left == 0.0 => left,
                    _ => operator.apply(left, right.evaluate(value, kept)?)?,
                }
            }
            Self::Compare(first, rest) => {
                let mut left = first.evaluate(value, kept)?;
                for (operator, next) in rest {
                    let right = next.evaluate(value, kept)?;
                    if operator.apply(left, right)? == 0.0 {
                        return Ok(0.0);
                    }
                    left = right;
                }
                1.0
            }
            Self::Among(one, all) => {
                let one = one.evaluate(value, kept)?;
                for other in all {
                    if other.evaluate(value, kept)? == one {
                        return Ok(1.0);
                    }
                }
                0.0
            }
            Self::Choice(parts) => {
                let [condition, one, other] = &**parts;
                let holds = condition.evaluate(value, kept)? != 0.0;
                if holds { one } else { other }.evaluate(value, kept)?
            }
        })
    }
}

impl Function {
    fn apply(self, values: &[f64]) -> f64 {
        let first = values.first().copied().unwrap_or(0.0);
        match self {
            Self::Absolute => first.abs(),
            Self::Whole => first.trunc(),
            // Python rounds halves to even, to so many digits.
            Self::Rounded => {
                let digits = values.get(1).map_or(0, |digits| *digits as u32).min(9);
                let scale = f64::from(10_u32.pow(digits));
                (first * scale).round_ties_even() / scale
            }
            Self::Least => values.iter().copied().fold(first, f64::min),
            Self::Most => values.iter().copied().fold(first, f64::max),
        }
    }
}

impl Operator {
    fn apply(self, left: f64, right: f64) -> Result<f64, DividedByZero> {
        let truth = |holds: bool| f64::from(u8::from(holds));
        let divides = matches!(self, Self::Divide | Self::DivideWhole | Self::Remainder);
        if divides && right == 0.0 {
            return Err(DividedByZero);
        }
        Ok(match self {
            Self::Or | Self::And => right,
            Self::Equal => truth(left == right),
            Self::NotEqual => truth(left != right),
            Self::Less => truth(left < right),
            Self::LessOrEqual => truth(left <= right),
            Self::Greater => truth(left > right),
            Self::GreaterOrEqual => truth(left >= right),
            Self::Plus => left + right,
            Self::Minus => left - right,
            Self::Times => left * right,
            Self::Divide => left / right,
            Self::DivideWhole => (left / right).floor(),
            // The sign is that of the divisor, as in Python.
            Self::Remainder => left - right * (left / right).floor(),
            // Of whole numbers from 0 on, as flags are.
            Self::BitAnd => ((left as u64) & (right as u64)) as f64,
            Self::BitOr => ((left as u64) | (right as u64)) as f64,
            Self::BitXor => ((left as u64) ^ (right as u64)) as f64,
            Self::ShiftLeft => ((left as u64) << (right as u32).min(63)) as f64,
            Self::ShiftRight => ((left as u64) >> (right as u32).min(63)) as f64,
        })
    }
}

/// Reads the expression after the first `skip` words of a statement.
pub(super) fn read_check(
    name: &str,
    line: u32,
    text: &str,
    skip: usize,
    known: &BTreeSet<String>,
) -> Result<Check, DrillError> {
    let words = words(name, line, text)?;
    if words.len() > MOST_WORDS {
        let what = format!("an assertion of {} words", words.len());
        let why = "expected at most 1000";
        return Err(DrillError::refused(name, line, what, why));
    }
    let mut reader = Reader {
        name,
        line,
        words: &words[skip..],
        at: 0,
        fields: Vec::new(),
        known,
    };
    let expression = reader.choice(0)?;
    if reader.peek().is_some() {
        return Err(reader.unexpected("an operator, or a comma and a message"));
    }
    Ok(Check {
        line,
        text: text.into(),
        expression,
        fields: reader.fields,
    })
}

/// A token of the code.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Word<'a> {
    Number(f64),
    Name(&'a str),
    Text,
    Symbol(&'a str),
}

const SYMBOLS: [&str; 22] = [
    "==", "!=", "<=", ">=", "<<", ">>", "//", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[",
    "]", ",", "&", "|", "^",
];

fn words<'a>(name: &str, line: u32, statement: &'a str) -> Result<Vec<Word<'a>>, DrillError> {
    let mut found = Vec::new();
    let mut rest = statement.trim_start();
    while let Some(first) = rest.chars().next() {
        let taken = if first == '"' || first == '\'' {
            let inner = &rest[1..];
            let end = inner.find(first).map_or(inner.len(), |at| at + 1);
            found.push(Word::Text);
            1 + end
        } else if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            found.push(Word::Symbol(symbol));
            symbol.len()
        } else if first.is_ascii_alphanumeric() || first == '_' || first == '.' {
            let end = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
                .unwrap_or(rest.len());
            let word = &rest[..end];
            found.push(if first.is_ascii_digit() || first == '.' {
                Word::Number(read_number(name, line, word)?)
            } else {
                Word::Name(word)
            });
            end
        } else {
            return Err(DrillError::syntax(
                name,
                line,
                format!("\"{first}\" in a code block"),
                "numbers, fields, and the operators == != < <= > >= + - * / // % & | ^ << >> and or not in if else",
            ));
        };
        rest = rest[taken..].trim_start();
    }
    Ok(found)
}

fn read_number(name: &str, line: u32, word: &str) -> Result<f64, DrillError> {
    let whole = word
        .strip_prefix("0x")
        .map(|digits| u64::from_str_radix(digits, 16).map(|n| n as f64).ok());
    whole.unwrap_or_else(|| word.parse().ok()).ok_or_else(|| {
        DrillError::syntax(
            name,
            line,
            format!("the number \"{word}\""),
            "10, 0x1f, 0.5",
        )
    })
}

/// Reads one expression, with the precedences of Python.
struct Reader<'a> {
    name: &'a str,
    line: u32,
    words: &'a [Word<'a>],
    at: usize,
    fields: Vec<Field>,
    known: &'a BTreeSet<String>,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<Word<'a>> {
        self.words.get(self.at).copied()
    }

    fn takes(&mut self, word: Word<'_>) -> bool {
        let is_next = self.peek() == Some(word);
        self.at += usize::from(is_next);
        is_next
    }

    fn unexpected(&self, accepted: &str) -> DrillError {
        let found = match self.peek() {
            None => "the end of the statement".into(),
            Some(Word::Number(number)) => format!("\"{number}\""),
            Some(Word::Text) => "a text".into(),
            Some(Word::Name(text) | Word::Symbol(text)) => format!("\"{text}\""),
        };
        DrillError::syntax(
            self.name,
            self.line,
            format!("{found} in an assertion"),
            accepted,
        )
    }

    fn deeper(&self, depth: usize) -> Result<usize, DrillError> {
        if depth >= DEEPEST {
            return Err(DrillError::refused(
                self.name,
                self.line,
                "the assertion".into(),
                "its parentheses are nested too deeply",
            ));
        }
        Ok(depth + 1)
    }

    /// `a if condition else b`, or `a`.
    fn choice(&mut self, depth: usize) -> Result<Expression, DrillError> {
        let one = self.either(depth)?;
        if !self.takes(Word::Name("if")) {
            return Ok(one);
        }
        let depth = self.deeper(depth)?;
        let condition = self.either(depth)?;
        if !self.takes(Word::Name("else")) {
            return Err(self.unexpected("else, and the other value"));
        }
        let other = self.choice(depth)?;
        Ok(Expression::Choice(Box::new([condition, one, other])))
    }

    fn either(&mut self, depth: usize) -> Result<Expression, DrillError> {
        let mut left = self.both(depth)?;
        while self.takes(Word::Name("or")) {
            let right = self.both(depth)?;
            left = Expression::Binary(Operator::Or, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn both(&mut self, depth: usize) -> Result<Expression, DrillError> {
        let mut left = self.negation(depth)?;
        while self.takes(Word::Name("and")) {
            let right = self.negation(depth)?;
            left = Expression::Binary(Operator::And, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn negation(&mut self, depth: usize) -> Result<Expression, DrillError> {
        if self.takes(Word::Name("not")) {
            let depth = self.deeper(depth)?;
            return Ok(Expression::Not(Box::new(self.negation(depth)?)));
        }
        self.comparison(depth)
    }

    fn comparison(&mut self, depth: usize) -> Result<Expression, DrillError> {
        const COMPARISONS: [(&str, Operator); 6] = [
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let first = self.bits(depth)?;
        let mut rest = Vec::new();
        while let Some(operator) = self.one_of(&COMPARISONS) {
            rest.push((operator, self.bits(depth)?));
        }
        let is_not = self.peek() == Some(Word::Name("not"));
        self.at += usize::from(is_not);
        if self.takes(Word::Name("in")) {
            let among = Expression::Among(Box::new(first), self.members(depth)?);
            return Ok(if is_not {
                Expression::Not(Box::new(among))
            } else {
                among
            });
        }
        self.at -= usize::from(is_not);
        Ok(if rest.is_empty() {
            first
        } else {
            Expression::Compare(Box::new(first), rest)
        })
    }

    /// The members of a tuple or a list.
    fn members(&mut self, depth: usize) -> Result<Vec<Expression>, DrillError> {
        let depth = self.deeper(depth)?;
        let close = match self.peek() {
            Some(Word::Symbol("(")) => Word::Symbol(")"),
            Some(Word::Symbol("[")) => Word::Symbol("]"),
            _ => return Err(self.unexpected("a tuple or a list: (1, 2)")),
        };
        self.at += 1;
        let mut members = Vec::new();
        while !self.takes(close) {
            members.push(self.choice(depth)?);
            if !self.takes(Word::Symbol(",")) && self.peek() != Some(close) {
                return Err(self.unexpected("a comma, or the end of the tuple"));
            }
        }
        Ok(members)
    }

    /// `|`, `^`, `&` and shifts, in this order, which bind less than sums.
    fn bits(&mut self, depth: usize) -> Result<Expression, DrillError> {
        const LEVELS: [&[(&str, Operator)]; 4] = [
            &[("|", Operator::BitOr)],
            &[("^", Operator::BitXor)],
            &[("&", Operator::BitAnd)],
            &[("<<", Operator::ShiftLeft), (">>", Operator::ShiftRight)],
        ];
        self.bits_from(depth, &LEVELS)
    }

    fn bits_from(
        &mut self,
        depth: usize,
        levels: &[&[(&str, Operator)]],
    ) -> Result<Expression, DrillError> {
        let Some((first, rest)) = levels.split_first() else {
            return self.sum(depth);
        };
        let mut left = self.bits_from(depth, rest)?;
        while let Some(operator) = self.one_of(first) {
            let right = self.bits_from(depth, rest)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn one_of(&mut self, operators: &[(&str, Operator)]) -> Option<Operator> {
        let found = operators
            .iter()
            .find(|(symbol, _)| self.peek() == Some(Word::Symbol(symbol)))?;
        self.at += 1;
        Some(found.1)
    }

    fn sum(&mut self, depth: usize) -> Result<Expression, DrillError> {
        let mut left = self.product(depth)?;
        while let Some(operator) = self.one_of(&[("+", Operator::Plus), ("-", Operator::Minus)]) {
            let right = self.product(depth)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn product(&mut self, depth: usize) -> Result<Expression, DrillError> {
        const PRODUCTS: [(&str, Operator); 4] = [
            ("*", Operator::Times),
            ("//", Operator::DivideWhole),
            ("/", Operator::Divide),
            ("%", Operator::Remainder),
        ];
        let mut left = self.signed(depth)?;
        while let Some(operator) = self.one_of(&PRODUCTS) {
            let right = self.signed(depth)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    /// An operand, perhaps with a sign.
    fn signed(&mut self, depth: usize) -> Result<Expression, DrillError> {
        let depth = self.deeper(depth)?;
        if self.takes(Word::Symbol("-")) {
            return Ok(Expression::Negative(Box::new(self.signed(depth)?)));
        }
        self.operand(depth)
    }

    fn operand(&mut self, depth: usize) -> Result<Expression, DrillError> {
        let depth = self.deeper(depth)?;
        let expression = match self.peek() {
            Some(Word::Symbol("(")) => {
                self.at += 1;
                let inner = self.choice(depth)?;
                if self.peek() != Some(Word::Symbol(")")) {
                    return Err(self.unexpected("a closing parenthesis"));
                }
                inner
            }
            Some(Word::Number(number)) => Expression::Number(number),
            Some(Word::Name(word)) => {
                let function = FUNCTIONS.iter().find(|(name, _)| *name == word);
                if let Some((_, function)) = function {
                    self.at += 1;
                    return self.call(*function, depth);
                }
                self.named(word)?
            }
            _ => return Err(self.unexpected("a number, a field or a parenthesis")),
        };
        self.at += 1;
        Ok(expression)
    }

    /// The arguments of a function.
    fn call(&mut self, function: Function, depth: usize) -> Result<Expression, DrillError> {
        let mut arguments = Vec::new();
        if !self.takes(Word::Symbol("(")) {
            return Err(self.unexpected("the arguments of a function in parentheses"));
        }
        loop {
            arguments.push(self.choice(depth)?);
            if self.takes(Word::Symbol(")")) {
                return Ok(Expression::Call(function, arguments));
            }
            if !self.takes(Word::Symbol(",")) {
                return Err(self.unexpected("a comma, or a closing parenthesis"));
            }
        }
    }

    fn named(&mut self, word: &str) -> Result<Expression, DrillError> {
        let mut names = CA_STATES.iter().chain(&STATES);
        if let Some((_, value)) = names.find(|(name, _)| *name == word) {
            return Ok(Expression::Number(f64::from(*value)));
        }
        if let Some((field, ..)) = FIELDS.iter().find(|(_, name, _)| *name == word) {
            if !self.fields.contains(field) {
                self.fields.push(*field);
            }
            return Ok(Expression::Field(*field));
        }
        if self.known.contains(word) {
            return Ok(Expression::Variable(word.into()));
        }
        let known: Vec<_> = FIELDS.iter().map(|(_, name, _)| *name).collect();
        Err(DrillError::Field {
            file: self.name.into(),
            line: self.line,
            name: word.into(),
            known: known.join(", "),
        })
    }
}
