//! The tokens of a script. Notation: packetdrill's lexical structure, in its `Syntax.md`.

use super::DrillError;

/// A token of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Digits, with or without a decimal point.
    Number(&'a str),
    /// Letters, digits and underscores.
    Word(&'a str),
    /// The text between double quotes.
    Text(&'a str),
    /// The text between back quotes: shell commands.
    Command(&'a str),
    /// The text between `%{` and `}%`.
    Code(&'a str),
    /// `--name` or `--name=value`.
    Flag(&'a str, Option<&'a str>),
    /// `...`
    Ellipsis,
    /// Any other character.
    Symbol(char),
}

/// A token and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme<'a> {
    pub(super) token: Token<'a>,
    pub(super) line: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A comment and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comment<'a> {
    pub(super) line: u32,
    /// Without the comment characters.
    pub(super) text: &'a str,
}

/// A cursor over the text.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Skips `bytes` bytes, which end at the end of a character.
    fn skip(&mut self, bytes: usize) -> &'a str {
        let taken = &self.text[self.at..self.at + bytes];
        self.line += taken.bytes().filter(|&b| b == b'\n').count() as u32;
        self.at += bytes;
        taken
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.skip(end)
    }

    /// The text before `close`, which is skipped too.
    fn until(&mut self, open: usize, close: &str) -> Option<&'a str> {
        let inner = self.rest().get(open..)?;
        let length = inner.find(close)?;
        self.skip(open + length + close.len());
        Some(&inner[..length])
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a number starts here: a digit, or a point and a digit, optionally after a sign.
fn starts_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let digits = digits.strip_prefix('.').unwrap_or(digits);
    digits.starts_with(|c: char| c.is_ascii_digit())
}

/// Splits a script into tokens and comments.
///
/// # Errors
/// [`DrillError::Syntax`] when a quotation, a code block or a comment does not end.
pub(super) fn lex<'a>(
    name: &str,
    text: &'a str,
) -> Result<(Vec<Lexeme<'a>>, Vec<Comment<'a>>), DrillError> {
    let mut cursor = Cursor {
        text,
        at: 0,
        line: 1,
    };
    let mut words = Vec::new();
    let mut comments = Vec::new();
    while let Some(first) = cursor.peek() {
        let (line, start) = (cursor.line, cursor.at);
        let rest = cursor.rest();
        let open = |what: &str, accepted: &str| {
            DrillError::syntax(name, line, format!("{what} that does not end"), accepted)
        };
        let token = if first.is_whitespace() {
            cursor.skip(first.len_utf8());
            continue;
        } else if rest.starts_with("//") || first == '#' {
            let mark = if first == '#' { '#' } else { '/' };
            let text = cursor.take_while(|c| c != '\n').trim_start_matches(mark);
            comments.push(Comment { line, text });
            continue;
        } else if rest.starts_with("/*") {
            let text = cursor
                .until(2, "*/")
                .ok_or_else(|| open("a comment", "*/ at its end"))?;
            let text = text.trim_matches('*');
            comments.push(Comment { line, text });
            continue;
        } else if rest.starts_with("%{") {
            Token::Code(
                cursor
                    .until(2, "}%")
                    .ok_or_else(|| open("a code block", "}% at its end"))?,
            )
        } else if first == '`' {
            Token::Command(
                cursor
                    .until(1, "`")
                    .ok_or_else(|| open("a command", "a back quote at its end"))?,
            )
        } else if first == '"' {
            Token::Text(
                cursor
                    .until(1, "\"")
                    .ok_or_else(|| open("a text", "a quotation mark at its end"))?,
            )
        } else if rest.starts_with("...") {
            cursor.skip(3);
            Token::Ellipsis
        } else if rest.starts_with("--") {
            cursor.skip(2);
            let flag = cursor.take_while(is_word);
            let value = cursor.rest().starts_with('=').then(|| {
                cursor.skip(1);
                cursor.take_while(|c| !c.is_whitespace())
            });
            Token::Flag(flag, value)
        } else if starts_number(rest) {
            number(&mut cursor)
        } else if is_word(first) {
            Token::Word(cursor.take_while(is_word))
        } else {
            cursor.skip(first.len_utf8());
            Token::Symbol(first)
        };
        words.push(Lexeme {
            token,
            line,
            start,
            end: cursor.at,
        });
    }
    Ok((words, comments))
}

/// A number, or a word that starts with a digit.
fn number<'a>(cursor: &mut Cursor<'a>) -> Token<'a> {
    let start = cursor.at;
    if cursor.peek() == Some('-') {
        cursor.skip(1);
    }
    cursor.take_while(|c| c.is_ascii_digit());
    let fraction = cursor.rest().strip_prefix('.');
    if fraction.is_some_and(|f| f.starts_with(|c: char| c.is_ascii_digit())) {
        cursor.skip(1);
        cursor.take_while(|c| c.is_ascii_digit());
    } else if !cursor.take_while(is_word).is_empty() {
        return Token::Word(&cursor.text[start..cursor.at]);
    }
    Token::Number(&cursor.text[start..cursor.at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let (words, _) = lex("x.pkt", text).unwrap_or_default();
        words.iter().map(|l| l.token).collect()
    }

    #[test]
    fn times_and_ranges_of_times_are_distinguished_from_ellipses() {
        use Token::{Ellipsis, Number, Symbol};
        assert_eq!(tokens("0...0.2"), [Number("0"), Ellipsis, Number("0.2")]);
        assert_eq!(
            tokens("+.3~+.303 >"),
            [
                Symbol('+'),
                Number(".3"),
                Symbol('~'),
                Symbol('+'),
                Number(".303"),
                Symbol('>')
            ]
        );
        assert_eq!(tokens("(-1)")[1], Number("-1"));
    }

    #[test]
    fn lines_are_counted_through_comments_and_blocks() {
        let text = "/* two\nlines */ `a\nb` // end\n%{ c\n}% word # 1\n# 2";
        let (words, comments) = lex("x.pkt", text).unwrap_or_default();
        let lines: Vec<_> = words.iter().map(|l| l.line).collect();
        assert_eq!(lines, [2, 4, 5]);
        let comments: Vec<_> = comments.iter().map(|c| (c.line, c.text)).collect();
        let all = [(1, " two\nlines "), (3, " end"), (5, " 1"), (6, " 2")];
        assert_eq!(comments, all);
    }

    #[test]
    fn unterminated_text_is_an_error_with_its_line() {
        for text in ["\n`a", "\n%{ a", "\n\"a", "\n/* a"] {
            let said = lex("x.pkt", text).map_or_else(|e| e.to_string(), |_| String::new());
            assert!(said.starts_with("x.pkt:2: "), "{said}");
        }
    }
}
