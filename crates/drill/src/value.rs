//! The arguments of a system call: numbers, names separated by bars, texts, lists in brackets and
//! structures in braces. Notation: packetdrill's grammar of expressions.

use super::lexer::{Lexeme, Token};

/// Maximum nesting of lists and structures.
const DEEPEST: usize = 16;

/// An argument of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Value {
    /// `...`: any value.
    #[default]
    Any,
    /// A whole number.
    Number(i64),
    /// The text in quotation marks.
    Text(String),
    /// Names separated by bars: `O_RDWR|O_NONBLOCK`.
    Names(Vec<String>),
    /// `[...]`.
    List(Vec<Value>),
    /// `{name=value, ...}`; a value without a name has an empty one.
    Fields(Vec<(String, Value)>),
}

impl Value {
    pub(super) fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::List(items) if items.len() == 1 => items[0].number(),
            _ => None,
        }
    }

    /// The names, or none for the number 0.
    pub(super) fn names(&self) -> Option<&[String]> {
        match self {
            Self::Names(names) => Some(names),
            Self::Number(0) => Some(&[]),
            _ => None,
        }
    }

    pub(super) fn items(&self) -> &[Value] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// The field of a structure.
    pub(super) fn field(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Fields(fields) => fields.iter().find(|(n, _)| n == name).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The item at this position of a structure without names.
    pub(super) fn at(&self, index: usize) -> Option<&Value> {
        match self {
            Self::Fields(fields) => fields.get(index).map(|(_, v)| v),
            Self::List(items) => items.get(index),
            _ => None,
        }
    }
}

/// Parses one argument from its tokens.
pub(super) fn read(words: &[Lexeme<'_>]) -> Option<Value> {
    let mut reader = Reader { words, at: 0 };
    let value = reader.value(0)?;
    (reader.at == words.len()).then_some(value)
}

struct Reader<'a, 'w> {
    words: &'w [Lexeme<'a>],
    at: usize,
}

impl<'a> Reader<'a, '_> {
    fn peek(&self) -> Option<Token<'a>> {
        self.words.get(self.at).map(|word| word.token)
    }

    fn takes(&mut self, symbol: char) -> bool {
        let is_next = self.peek() == Some(Token::Symbol(symbol));
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        let token = self.peek()?;
        self.at += 1;
        match token {
            Token::Ellipsis => Some(Value::Any),
            Token::Number(digits) => digits.parse().ok().map(Value::Number),
            Token::Text(text) => Some(Value::Text(text.into())),
            Token::Word(word) => {
                if let Some(number) = hexadecimal(word) {
                    return Some(Value::Number(number));
                }
                self.names(word, depth)
            }
            Token::Symbol('[') => {
                let mut items = Vec::new();
                while !self.takes(']') {
                    items.push(self.value(depth + 1)?);
                    if !self.takes(',') && self.peek() != Some(Token::Symbol(']')) {
                        return None;
                    }
                }
                Some(Value::List(items))
            }
            Token::Symbol('{') => self.fields(depth),
            _ => None,
        }
    }

    /// Names separated by bars, or a function of an address or a port, which matches any.
    fn names(&mut self, first: &str, depth: usize) -> Option<Value> {
        if self.takes('(') {
            while !self.takes(')') {
                self.value(depth + 1)?;
                self.takes(',');
            }
            return Some(Value::Any);
        }
        let mut names = vec![first.to_string()];
        while self.takes('|') {
            match self.peek()? {
                Token::Word(word) => names.push(word.into()),
                Token::Number("0") => {}
                _ => return None,
            }
            self.at += 1;
        }
        Some(Value::Names(names))
    }

    fn fields(&mut self, depth: usize) -> Option<Value> {
        let mut fields = Vec::new();
        while !self.takes('}') {
            let start = self.at;
            let mut name = String::new();
            if let Some(Token::Word(word)) = self.peek() {
                self.at += 1;
                // A count or a type after the name: msg_iov(1), msg_name(...).
                if self.takes('(') {
                    while !self.takes(')') {
                        self.peek()?;
                        self.at += 1;
                    }
                }
                if self.takes('=') {
                    name = word.into();
                } else {
                    self.at = start;
                }
            }
            fields.push((name, self.value(depth + 1)?));
            if !self.takes(',') && self.peek() != Some(Token::Symbol('}')) {
                return None;
            }
        }
        Some(Value::Fields(fields))
    }
}

fn hexadecimal(word: &str) -> Option<i64> {
    i64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::super::lexer::lex;
    use super::*;

    fn read_text(text: &str) -> Option<Value> {
        let (words, _) = lex("x.pkt", text).ok()?;
        read(&words)
    }

    #[test]
    fn every_form_of_argument_is_read() {
        let names = |names: &[&str]| Value::Names(names.iter().map(|n| (*n).into()).collect());
        assert_eq!(read_text("..."), Some(Value::Any));
        assert_eq!(read_text("-1"), Some(Value::Number(-1)));
        assert_eq!(read_text("0x2"), Some(Value::Number(2)));
        assert_eq!(read_text("\"cubic\""), Some(Value::Text("cubic".into())));
        assert_eq!(
            read_text("POLLIN|POLLOUT"),
            Some(names(&["POLLIN", "POLLOUT"]))
        );
        assert_eq!(read_text("[1]").and_then(|v| v.number()), Some(1));
        let text = "{msg_name(...)=..., msg_iov(1)=[{..., 1000}], msg_flags=0,\n msg_control=[]}";
        let message = read_text(text).unwrap_or_default();
        let vector = message
            .field("msg_iov")
            .map(Value::items)
            .unwrap_or_default();
        assert_eq!(vector[0].at(1), Some(&Value::Number(1000)));
        assert_eq!(message.field("msg_control"), Some(&Value::List(Vec::new())));
        let address =
            "{sa_family = AF_INET, sin_port = htons(8080), sin_addr = inet_addr(\"1.2.3.4\")}";
        assert_eq!(
            read_text(address).and_then(|v| v.field("sin_port").cloned()),
            Some(Value::Any)
        );
    }

    #[test]
    fn non_arguments_are_not_read() {
        for text in ["", "1 2", "[1", "{a=}", "a|", "<", "[1 2]"] {
            assert_eq!(read_text(text), None, "{text}");
        }
        assert_eq!(read_text(&"[".repeat(99)), None);
    }
}
