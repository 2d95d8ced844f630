//! Reads the expressions of code blocks, with the precedences of Python.

use std::collections::BTreeSet;

use super::expression::{
    constant, field, Check, Expression, Function, Object, Operator, FUNCTIONS,
};
use super::report::{Field, FIELDS};
use super::DrillError;

/// Maximum nesting of parentheses and signs.
const DEEPEST: usize = 64;

/// Maximum number of words of one assertion, which limits the depth of its expression.
const MOST_WORDS: usize = 1_000;

/// Reads the expression after the first `skip` words of a statement; with several behind commas, their list.
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
        known: known.clone(),
    };
    reader.know_targets();
    let mut expression = reader.choice(0)?;
    if reader.peek() == Some(Word::Symbol(",")) {
        let mut items = vec![expression];
        while reader.takes(Word::Symbol(",")) && reader.peek().is_some() {
            items.push(reader.choice(0)?);
        }
        expression = Expression::List(items);
    }
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
    Text(&'a str),
    Symbol(&'a str),
}

const SYMBOLS: [&str; 25] = [
    "==", "!=", "<=", ">=", "<<", ">>", "//", "**", "<", ">", "+", "-", "*", "/", "%", "(", ")",
    "[", "]", ",", "&", "|", "^", "~", ":",
];

fn words<'a>(name: &str, line: u32, statement: &'a str) -> Result<Vec<Word<'a>>, DrillError> {
    let mut found = Vec::new();
    let mut rest = statement.trim_start();
    while let Some(first) = rest.chars().next() {
        // Texts with values in them are only shown.
        let prefix = usize::from(
            rest.starts_with(['f', 'r', 'b', 'u']) && rest[1..].starts_with(['"', '\'']),
        );
        let quote = rest[prefix..].chars().next().unwrap_or(first);
        let taken = if quote == '"' || quote == '\'' {
            let inner = &rest[prefix + 1..];
            let end = inner.find(quote).unwrap_or(inner.len());
            found.push(Word::Text(&inner[..end]));
            (prefix + 1 + end + 1).min(rest.len())
        } else if rest.starts_with(".format(") {
            // It makes another text, which is only shown.
            found.push(Word::Name(".format"));
            7
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
                "numbers, fields, texts, lists, and the operators == != < <= > >= + - * / // % ** & | ^ ~ << >> and or not in is if else",
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
    known: BTreeSet<String>,
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
            Some(Word::Text(_)) => "a text".into(),
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
        loop {
            let operator = if let Some(operator) = self.one_of(&COMPARISONS) {
                operator
            } else if self.takes(Word::Name("in")) {
                Operator::In
            } else if self.takes(Word::Name("is")) {
                if self.takes(Word::Name("not")) {
                    Operator::NotEqual
                } else {
                    Operator::Equal
                }
            } else if self.peek() == Some(Word::Name("not"))
                && self.words.get(self.at + 1) == Some(&Word::Name("in"))
            {
                self.at += 2;
                Operator::NotIn
            } else {
                break;
            };
            rest.push((operator, self.bits(depth)?));
        }
        Ok(if rest.is_empty() {
            first
        } else {
            Expression::Compare(Box::new(first), rest)
        })
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
        if self.takes(Word::Symbol("+")) {
            return self.signed(depth);
        }
        if self.takes(Word::Symbol("~")) {
            return Ok(Expression::Inverted(Box::new(self.signed(depth)?)));
        }
        let base = self.item(depth)?;
        if self.takes(Word::Symbol("**")) {
            let power = self.signed(depth)?;
            let operator = Operator::Power;
            return Ok(Expression::Binary(
                operator,
                Box::new(base),
                Box::new(power),
            ));
        }
        Ok(base)
    }

    /// An operand with the index of an item or of a part.
    fn item(&mut self, depth: usize) -> Result<Expression, DrillError> {
        let mut of = self.operand(depth)?;
        loop {
            if self.takes(Word::Name(".format")) {
                self.at += 1;
                self.items(Word::Symbol(")"), depth)?;
            } else if self.takes(Word::Symbol("[")) {
                let from = self.edge(depth)?;
                let is_part = self.takes(Word::Symbol(":"));
                let to = if is_part { self.edge(depth)? } else { None };
                if !self.takes(Word::Symbol("]")) {
                    return Err(self.unexpected("a closing bracket"));
                }
                of = match from {
                    Some(index) if !is_part => Expression::Item(Box::new(of), index),
                    from => Expression::Slice(Box::new(of), from, to),
                };
            } else {
                return Ok(of);
            }
        }
    }

    /// An index before a colon or a bracket, if there is one.
    fn edge(&mut self, depth: usize) -> Result<Option<Box<Expression>>, DrillError> {
        if matches!(self.peek(), Some(Word::Symbol(":" | "]"))) {
            return Ok(None);
        }
        Ok(Some(Box::new(self.choice(depth)?)))
    }

    fn operand(&mut self, depth: usize) -> Result<Expression, DrillError> {
        let depth = self.deeper(depth)?;
        let Some(word) = self.peek() else {
            return Err(self.unexpected("a number, a field or a parenthesis"));
        };
        self.at += 1;
        match word {
            Word::Symbol("(") => {
                let (mut items, is_list) = self.items(Word::Symbol(")"), depth)?;
                Ok(match items.pop() {
                    Some(inner) if items.is_empty() && !is_list => inner,
                    last => {
                        items.extend(last);
                        Expression::List(items)
                    }
                })
            }
            Word::Symbol("[") => {
                let (mut items, _) = self.items(Word::Symbol("]"), depth)?;
                Ok(match items.pop() {
                    Some(each @ Expression::Each { .. }) if items.is_empty() => each,
                    last => {
                        items.extend(last);
                        Expression::List(items)
                    }
                })
            }
            Word::Number(number) => Ok(Expression::Constant(Object::Number(number))),
            Word::Text(text) => {
                let mut whole = text.to_string();
                // Texts in a row are one.
                while let Some(Word::Text(more)) = self.peek() {
                    whole.push_str(more);
                    self.at += 1;
                }
                Ok(Expression::Constant(Object::Text(whole)))
            }
            Word::Name(word) => self.named(word, depth),
            Word::Symbol(_) => {
                self.at -= 1;
                Err(self.unexpected("a number, a field or a parenthesis"))
            }
        }
    }

    /// Items behind commas up to `close`, and whether there is a comma. `value for target in list` is one item.
    fn items(
        &mut self,
        close: Word<'_>,
        depth: usize,
    ) -> Result<(Vec<Expression>, bool), DrillError> {
        let (mut items, mut has_comma) = (Vec::new(), false);
        while !self.takes(close) {
            let item = self.choice(depth)?;
            if self.takes(Word::Name("for")) {
                let mut targets = Vec::new();
                while let Some(Word::Name(target)) = self.peek().filter(|w| *w != Word::Name("in"))
                {
                    targets.push(target.to_string());
                    self.at += 1;
                    self.takes(Word::Symbol(","));
                }
                if targets.is_empty() || !self.takes(Word::Name("in")) {
                    return Err(self.unexpected("a variable and its list: for x in range(3)"));
                }
                let list = Box::new(self.either(depth)?);
                let condition = if self.takes(Word::Name("if")) {
                    Some(Box::new(self.either(depth)?))
                } else {
                    None
                };
                let value = Box::new(item);
                items.push(Expression::Each {
                    value,
                    targets,
                    list,
                    condition,
                });
            } else {
                items.push(item);
            }
            if self.takes(Word::Symbol(",")) {
                has_comma = true;
            } else if self.peek() != Some(close) {
                let Word::Symbol(close) = close else { continue };
                let what = match close {
                    ")" => "a comma, or a closing parenthesis",
                    _ => "a comma, or a closing bracket",
                };
                return Err(self.unexpected(what));
            }
        }
        has_comma |= items.is_empty();
        Ok((items, has_comma))
    }

    /// The targets of `for` in the expression are variables of it.
    fn know_targets(&mut self) {
        let mut is_target = false;
        for word in self.words {
            match word {
                Word::Name("for") => is_target = true,
                Word::Name("in") => is_target = false,
                Word::Name(name) if is_target => {
                    self.known.insert((*name).into());
                }
                _ => {}
            }
        }
    }

    /// A function with its arguments, a constant, a field or a variable.
    fn named(&mut self, word: &str, depth: usize) -> Result<Expression, DrillError> {
        let is_call = self.peek() == Some(Word::Symbol("("));
        let function = FUNCTIONS.iter().find(|(name, _)| *name == word);
        if let Some(&(_, function)) = function {
            if !is_call {
                return Err(self.unexpected("the arguments of a function in parentheses"));
            }
            self.at += 1;
            return self.call(function, depth);
        }
        if let Some(list) = word.strip_suffix(".append").filter(|_| is_call) {
            if self.known.contains(list) {
                self.at += 1;
                let (mut items, _) = self.items(Word::Symbol(")"), depth)?;
                return match (items.pop(), items.is_empty()) {
                    (Some(item), true) => Ok(Expression::Append(list.into(), Box::new(item))),
                    _ => Err(self.unexpected("one item to append")),
                };
            }
        }
        if let Some(object) = constant(word) {
            return Ok(Expression::Constant(object));
        }
        if let Some(field) = field(word) {
            if !self.fields.contains(&field) {
                self.fields.push(field);
            }
            return Ok(Expression::Field(field));
        }
        if self.known.contains(word) {
            if is_call {
                self.at += 1;
                let (items, _) = self.items(Word::Symbol(")"), depth)?;
                return Ok(Expression::Own(word.into(), items));
            }
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

    /// The arguments of a function.
    fn call(&mut self, function: Function, depth: usize) -> Result<Expression, DrillError> {
        let (arguments, _) = self.items(Word::Symbol(")"), depth)?;
        Ok(Expression::Call(function, arguments))
    }
}
