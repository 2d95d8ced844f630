//! Code blocks: assertions on fields of the sender and on variables, in the subset of Python that
//! they need. Other code is refused.

use std::collections::{BTreeMap, BTreeSet};

use super::report::{Field, FIELDS};
use super::{shorten, DrillError};

/// A statement of a code block.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// An assertion.
    Check(Check),
    /// An assignment to a variable.
    Keep(String, Check),
}

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
}

/// The functions that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Absolute,
    Whole,
    Least,
    Most,
}

const FUNCTIONS: [(&str, Function); 4] = [
    ("abs", Function::Absolute),
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
const STATES: [(&str, u32); 19] = [
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

/// The result of an assertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Holds,
    Fails,
    DividesByZero,
}

/// An assertion has divided by zero.
struct DividedByZero;

impl Check {
    pub(super) fn value(&self, value: impl Fn(Field) -> f64, kept: &Variables) -> Option<f64> {
        self.expression.evaluate(&value, kept).ok()
    }

    pub(super) fn verdict(&self, value: impl Fn(Field) -> f64, kept: &Variables) -> Verdict {
        match self.expression.evaluate(&value, kept) {
            Ok(0.0) => Verdict::Fails,
            Ok(_) => Verdict::Holds,
            Err(DividedByZero) => Verdict::DividesByZero,
        }
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
        })
    }
}

impl Function {
    fn apply(self, values: &[f64]) -> f64 {
        let first = values.first().copied().unwrap_or(0.0);
        match self {
            Self::Absolute => first.abs(),
            Self::Whole => first.trunc(),
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
        })
    }
}

/// Reads a code block that starts on `line`; `known` are the variables of earlier blocks, to which
/// its own are added. Its print statements are skipped.
///
/// # Errors
/// [`DrillError`] for anything but assertions and assignments over known fields and variables.
pub(super) fn read_code(
    name: &str,
    line: u32,
    code: &str,
    known: &mut BTreeSet<String>,
) -> Result<(Vec<Step>, Vec<u32>), DrillError> {
    let mut steps = Vec::new();
    let mut prints = Vec::new();
    for (statement, line) in statements(code, line) {
        let statement = statement.trim();
        let first = statement
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .next();
        match first {
            _ if statement.is_empty() => {}
            Some("print") => prints.push(line),
            Some("assert") => {
                // The text after a comma is a message.
                let text = statement[..statement_end(statement)].trim_end();
                steps.push(Step::Check(read_check(name, line, text, 1, known)?));
            }
            Some(target) if is_assignment(target, statement) => {
                let (_, text) = statement.split_once('=').unwrap_or_default();
                let check = read_check(name, line, text.trim(), 0, known)?;
                known.insert(target.into());
                steps.push(Step::Keep(target.into(), check));
            }
            _ => {
                return Err(DrillError::refused(
                    name,
                    line,
                    format!("the code \"{}\"", shorten(statement)),
                    "code blocks hold assertions (assert tcpi_snd_cwnd == 10) and variables (before = tcpi_snd_cwnd)",
                ))
            }
        }
    }
    Ok((steps, prints))
}

/// Whether the statement assigns this variable.
fn is_assignment(target: &str, statement: &str) -> bool {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
    let rest = statement[target.len()..].trim_start();
    let is_field = FIELDS.iter().any(|(_, name, _)| *name == target);
    target.starts_with(starts) && !is_field && rest.starts_with('=') && !rest.starts_with("==")
}

/// Reads the expression after the first `skip` words of a statement.
fn read_check(
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
    let expression = reader.either(0)?;
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

/// Where the message of an assertion starts.
fn statement_end(statement: &str) -> usize {
    let mut depth = 0_i32;
    for (at, c) in statement.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => return at,
            _ => {}
        }
    }
    statement.len()
}

/// The statements of a block, with the lines on which they start: up to a
/// semicolon or the end of a line that is not in parentheses or quotes.
fn statements(code: &str, first: u32) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    let (mut current, mut line, mut starts) = (String::new(), first, first);
    let mut depth = 0_u32;
    let mut quote = None;
    let mut comment = false;
    let mut previous = ' ';
    for c in code.chars() {
        let before = std::mem::replace(&mut previous, c);
        if c == '\n' {
            line += 1;
            comment = false;
        }
        if comment {
            continue;
        }
        if current.trim().is_empty() {
            starts = line;
        }
        match c {
            _ if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(c),
            _ if quote.is_some() => {}
            '#' => {
                comment = true;
                continue;
            }
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            // At the end of a line it joins the next line.
            '\\' => continue,
            '\n' if before == '\\' => continue,
            ';' | '\n' if depth == 0 => {
                found.push((std::mem::take(&mut current), starts));
                continue;
            }
            _ => {}
        }
        current.push(c);
    }
    found.push((current, starts));
    found
}

/// A token of the code.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Word<'a> {
    Number(f64),
    Name(&'a str),
    Text,
    Symbol(&'a str),
}

const SYMBOLS: [&str; 17] = [
    "==", "!=", "<=", ">=", "//", "<", ">", "+", "-", "*", "/", "%", "(", ")", ",", "&", "|",
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
                "numbers, fields, and the operators == != < <= > >= + - * / // % & | and or not",
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
        Ok(if rest.is_empty() {
            first
        } else {
            Expression::Compare(Box::new(first), rest)
        })
    }

    /// `|` and `&`, which bind less than sums.
    fn bits(&mut self, depth: usize) -> Result<Expression, DrillError> {
        let mut left = self.common_bits(depth)?;
        while let Some(operator) = self.one_of(&[("|", Operator::BitOr)]) {
            let right = self.common_bits(depth)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn common_bits(&mut self, depth: usize) -> Result<Expression, DrillError> {
        let mut left = self.sum(depth)?;
        while let Some(operator) = self.one_of(&[("&", Operator::BitAnd)]) {
            let right = self.sum(depth)?;
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
        let mut left = self.operand(depth)?;
        while let Some(operator) = self.one_of(&PRODUCTS) {
            let right = self.operand(depth)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn operand(&mut self, depth: usize) -> Result<Expression, DrillError> {
        let depth = self.deeper(depth)?;
        let expression = match self.peek() {
            Some(Word::Symbol("-")) => {
                self.at += 1;
                return Ok(Expression::Negative(Box::new(self.operand(depth)?)));
            }
            Some(Word::Symbol("(")) => {
                self.at += 1;
                let inner = self.either(depth)?;
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
            arguments.push(self.either(depth)?);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(code: &str) -> Option<bool> {
        let (steps, _) = read_code("x.pkt", 1, code, &mut BTreeSet::new()).ok()?;
        let mut kept = Variables::new();
        let value = |field| match field {
            Field::Cwnd => 10.0,
            Field::Ssthresh => 7.0,
            _ => 0.0,
        };
        Some(steps.iter().all(|step| match step {
            Step::Check(check) => check.verdict(value, &kept) == Verdict::Holds,
            Step::Keep(name, check) => {
                let value = check.value(value, &kept).unwrap_or(f64::NAN);
                kept.insert(name.clone(), value);
                true
            }
        }))
    }

    fn checks(line: u32, code: &str) -> Vec<Check> {
        let read = read_code("x.pkt", line, code, &mut BTreeSet::new());
        let (steps, _) = read.unwrap_or_default();
        let checks = steps.into_iter().filter_map(|step| match step {
            Step::Check(check) => Some(check),
            Step::Keep(..) => None,
        });
        checks.collect()
    }

    #[test]
    fn variables_keep_what_they_are_given() {
        assert_eq!(
            holds("before = tcpi_snd_cwnd\nassert before == 10; before = before + 1\nassert before == 11"),
            Some(true)
        );
        assert_eq!(
            holds("assert abs(tcpi_snd_cwnd - 12) <= 2 and max(1, min(7, 9), 3) == 7"),
            Some(true)
        );
        assert_eq!(holds("assert int(7 / 2) == 3"), Some(true));
        for unknown in [
            "assert before == 1",
            "tcpi_snd_cwnd = 3",
            "x += 1",
            "assert abs 1",
        ] {
            assert_eq!(holds(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn precedence_is_that_of_python() {
        assert_eq!(holds("assert 1 + 2 * 3 == 7 and not 2 > 3"), Some(true));
        assert_eq!(holds("assert not 1 == 2 or 1 / 0 == 3"), Some(true));
        assert_eq!(
            holds("assert -7 % 3 == 2 and -7 // 2 == -4 and 7 / 2 == 3.5"),
            Some(true)
        );
        assert_eq!(holds("assert 5 <= tcpi_snd_cwnd < 10"), Some(false));
        assert_eq!(
            holds("assert 5 <= tcpi_snd_cwnd <= 10, tcpi_snd_cwnd"),
            Some(true)
        );
        assert_eq!(holds("assert 10 - 2 - 3 == 5"), Some(true));
    }

    #[test]
    fn a_division_by_zero_fails() {
        for code in [
            "1 / 0 == 1",
            "not 1 // tcpi_unacked",
            "1 % 0 != 1",
            "1 < 2 < 1 / 0",
        ] {
            let checks = checks(1, &format!("assert {code}"));
            let verdict = checks[0].verdict(|_| 0.0, &Variables::new());
            assert_eq!(verdict, Verdict::DividesByZero, "{code}");
        }
    }

    #[test]
    fn statements_end_at_lines_and_semicolons_outside_parentheses() {
        let code =
            "\nassert (tcpi_snd_cwnd ==\n 10), 'a; b'; assert tcpi_snd_ssthresh \\\n== 8 # (\n";
        let checks = checks(3, code);
        let lines: Vec<_> = checks.iter().map(|c| c.line).collect();
        assert_eq!(lines, [4, 5]);
        assert_eq!(holds(code), Some(false));
        assert_eq!(checks[1].text, "assert tcpi_snd_ssthresh == 8");
    }

    #[test]
    fn other_code_is_refused_by_name() {
        let said = |code: &str| {
            let read = read_code("x.pkt", 9, code, &mut BTreeSet::new());
            read.map_or_else(|e| e.to_string(), |_| String::new())
        };
        assert!(said("import os").contains("x.pkt:9: the code \"import os\""));
        assert!(said("assert tcpi_rcv_rtt == 0").contains("tcpi_rcv_rtt"));
        assert!(said("assert tcpi_rcv_rtt == 0").contains("tcpi_snd_cwnd"));
        assert!(said("assert (1").contains("closing parenthesis"));
        assert!(said("assert 1 == 1 2").contains("\"2\""));
        assert!(said(&format!("assert {}1", "(".repeat(99))).contains("too deeply"));
        assert!(said(&format!("assert {}1", "not ".repeat(99))).contains("too deeply"));
        assert!(said(&format!("assert 1{}", " + 1".repeat(99_999))).contains("words"));
        assert_eq!(said("print(tcpi_snd_cwnd)"), "");
    }
}
