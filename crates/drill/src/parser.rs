//! Parses tokens to statements. Notation: packetdrill's grammar, in its `Syntax.md`, as far as one
//! TCP connection needs it.

use std::collections::BTreeSet;

use midflight_units::Duration;

use super::code::read_code;
use super::icmp::Icmp;
use super::lexer::{lex, Lexeme, Token};
use super::script::{Action, Call, Ecn, Options, Script, SegmentSpec, Statement, When};
use super::value::{self, Value};
use super::{shorten, DrillError, Note};

/// Maximum length of a script; otherwise a sender's timers would expire endlessly.
const LONGEST: Duration = Duration::from_secs(86_400);

/// Maximum number of bytes of a script with its definitions.
const LONGEST_TEXT: usize = 1 << 20;

/// Parses a script; adds notes on parts without an effect.
///
/// # Errors
/// [`DrillError`] with file, line, what was read and what is accepted.
pub(super) fn parse(name: &str, text: &str, notes: &mut Vec<Note>) -> Result<Script, DrillError> {
    let text = &define(text);
    let (words, comments) = lex(name, text)?;
    let mut parser = Parser {
        name,
        text,
        words: &words,
        at: 0,
        first: 0,
        notes,
        variables: BTreeSet::new(),
    };
    let headers = comments
        .iter()
        .filter_map(|c| Some((c.line, header(c.text)?.to_string())));
    let mut script = Script {
        headers: headers.collect(),
        ..Script::default()
    };
    while let Some(Token::Flag(flag, value)) = parser.peek() {
        let line = parser.line();
        parser.at += 1;
        if flag == "define" && value.is_some_and(|value| value.contains('=')) {
            continue;
        }
        let value = value.map(|v| v.trim_matches('"').to_string());
        script.flags.push((line, flag.to_string(), value));
    }
    while parser.peek().is_some() {
        let statement = parser.statement()?;
        script.statements.push(statement);
    }
    if script.statements.is_empty() {
        return Err(DrillError::Empty { file: name.into() });
    }
    Ok(script)
}

/// The text with the names of `--define=NAME=VALUE` replaced by their values.
fn define(text: &str) -> String {
    let mut whole = text.to_string();
    let definitions = text.split_whitespace();
    for definition in definitions.filter_map(|word| word.strip_prefix("--define=")) {
        let Some((symbol, value)) = definition.split_once('=').filter(|(s, _)| !s.is_empty())
        else {
            continue;
        };
        let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut replaced = String::new();
        let mut rest = whole.as_str();
        while let Some(at) = rest.find(symbol) {
            let end = at + symbol.len();
            let alone = !rest[..at].ends_with(in_word) && !rest[end..].starts_with(in_word);
            let is_definition = rest[..at].ends_with("--define=");
            replaced += &rest[..at];
            replaced += if alone && !is_definition {
                value
            } else {
                symbol
            };
            rest = &rest[end..];
        }
        replaced += rest;
        if replaced.len() <= LONGEST_TEXT {
            whole = replaced;
        }
    }
    whole
}

/// The configurations of the script, from a comment whose first word is midflight.
fn header(comment: &str) -> Option<&str> {
    let comment = comment.trim_start();
    let in_word = |c: char| c.is_alphanumeric() || "_-'\u{2019}".contains(c);
    let end = comment.find(|c| !in_word(c)).unwrap_or(comment.len());
    let (first, rest) = comment.split_at(end);
    first.eq_ignore_ascii_case("midflight").then(|| {
        let rest = rest.trim();
        rest.strip_prefix(':').unwrap_or(rest)
    })
}

struct Parser<'a, 'n> {
    name: &'a str,
    text: &'a str,
    words: &'a [Lexeme<'a>],
    at: usize,
    /// Index of the first token of the current statement.
    first: usize,
    notes: &'n mut Vec<Note>,
    /// The variables of the code blocks so far.
    variables: BTreeSet<String>,
}

impl<'a> Parser<'a, '_> {
    fn peek(&self) -> Option<Token<'a>> {
        self.words.get(self.at).map(|w| w.token)
    }

    /// The line of the next token, or of the last.
    fn line(&self) -> u32 {
        let word = self.words.get(self.at).or(self.words.last());
        word.map_or(1, |w| w.line)
    }

    fn takes(&mut self, token: Token<'_>) -> bool {
        let is_next = self.peek() == Some(token);
        self.at += usize::from(is_next);
        is_next
    }

    fn unexpected<T>(&self, accepted: &str) -> Result<T, DrillError> {
        let Some(word) = self.words.get(self.at) else {
            let found = "the end of the script".into();
            return Err(DrillError::syntax(self.name, self.line(), found, accepted));
        };
        let before = self.at.checked_sub(1).map(|at| &self.words[at]);
        let before = before.filter(|w| self.at > self.first && w.line < word.line);
        let (line, found) = match (before, word.token) {
            // An error at the end of a line is not reported on the next one.
            (Some(before), _) => {
                let end = &self.text[before.start..before.end];
                let found = format!("the end of the line after \"{}\"", shorten(end));
                (before.line, found)
            }
            (None, Token::Symbol('\u{feff}')) => (
                word.line,
                "a byte-order mark (U+FEFF), which text in UTF-8 does not need,".into(),
            ),
            (None, Token::Symbol(c)) if !is_visible(c) => {
                (word.line, format!("the character U+{:04X}", u32::from(c)))
            }
            _ => {
                let found = shorten(&self.text[word.start..word.end]);
                (word.line, format!("\"{found}\""))
            }
        };
        Err(DrillError::syntax(self.name, line, found, accepted))
    }

    fn refuse<T>(&self, what: &str, why: &str) -> Result<T, DrillError> {
        Err(DrillError::refused(
            self.name,
            self.line(),
            what.into(),
            why,
        ))
    }

    fn expect(&mut self, symbol: char, accepted: &str) -> Result<(), DrillError> {
        if self.takes(Token::Symbol(symbol)) {
            return Ok(());
        }
        self.unexpected(accepted)
    }

    /// A non-negative integer.
    fn whole(&mut self, what: &str) -> Result<u64, DrillError> {
        let number = match self.peek() {
            Some(Token::Number(digits)) => digits.parse().ok(),
            Some(Token::Word(word)) => word
                .strip_prefix("0x")
                .and_then(|digits| u64::from_str_radix(digits, 16).ok()),
            _ => None,
        };
        // Integers that fit into a sequence number, a window or a timestamp.
        match number.filter(|&n: &u64| u32::try_from(n).is_ok()) {
            Some(number) => {
                self.at += 1;
                Ok(number)
            }
            None => self.unexpected(what),
        }
    }

    fn statement(&mut self) -> Result<Statement, DrillError> {
        let (line, first) = (self.line(), self.at);
        self.first = first;
        // The commands at the start and at the end of a script have no time.
        let when = if matches!(self.peek(), Some(Token::Command(_))) {
            When::After(Duration::ZERO, Duration::ZERO)
        } else {
            self.when()?
        };
        let action = match self.peek() {
            Some(Token::Symbol(direction @ ('<' | '>'))) => {
                self.at += 1;
                let mut segment = SegmentSpec::default();
                self.ip_information(&mut segment)?;
                let is_icmp = self.takes(Token::Word("icmp"));
                if is_icmp && direction == '>' {
                    self.at -= 1;
                    return self.refuse("icmp", "no ICMP is sent here");
                }
                if !is_icmp {
                    self.segment(&mut segment, direction == '<')?;
                }
                if is_icmp {
                    Action::Icmp(self.icmp()?)
                } else if direction == '<' {
                    Action::Arrives(segment)
                } else {
                    Action::Expects(segment)
                }
            }
            Some(Token::Command(commands)) => {
                self.at += 1;
                Action::Commands(commands.into())
            }
            Some(Token::Code(code)) => {
                let (steps, prints) = read_code(self.name, self.line(), code, &mut self.variables)?;
                self.at += 1;
                for line in prints {
                    let text = "print prints nothing here".into();
                    self.notes.push(Note { line, text });
                }
                Action::Code(steps)
            }
            Some(Token::Word(_) | Token::Ellipsis) => Action::Call(self.call()?),
            _ => {
                return self.unexpected(
                    "a segment (< or >), a system call, `commands` or %{ assertions }%",
                )
            }
        };
        let (start, end) = (self.words[first].start, self.words[self.at - 1].end);
        Ok(Statement {
            line,
            text: self.text[start..end].into(),
            when,
            action,
        })
    }

    // ---- times ------------------------------------------------------------

    fn when(&mut self) -> Result<When, DrillError> {
        const ACCEPTED: &str = "the time of an event: 0.1, +0, +.1, +.1~+.2 or *";
        if self.takes(Token::Symbol('*')) {
            return Ok(When::Any);
        }
        let relative = self.takes(Token::Symbol('+'));
        let from = self.time(ACCEPTED)?;
        let until = if self.takes(Token::Symbol('~')) {
            if self.takes(Token::Symbol('+')) != relative {
                return self
                    .unexpected("a range whose two times are both relative or both absolute");
            }
            self.time(ACCEPTED)?
        } else {
            from
        };
        if until < from {
            self.at -= 1;
            return self.unexpected("a range that does not end before it starts");
        }
        Ok(if relative {
            When::After(from, until)
        } else {
            When::At(from, until)
        })
    }

    fn time(&mut self, accepted: &str) -> Result<Duration, DrillError> {
        let Some(Token::Number(digits)) = self.peek() else {
            return self.unexpected(accepted);
        };
        match seconds(digits).filter(|&t| t <= LONGEST) {
            Some(time) => {
                self.at += 1;
                Ok(time)
            }
            None => self.unexpected("a time in seconds, from 0 to 86400"),
        }
    }

    // ---- segments -----------------------------------------------------------

    /// The type, the code, the MTU and the segment of an ICMP message, after its name.
    fn icmp(&mut self) -> Result<Icmp, DrillError> {
        let Some(Token::Word(name)) = self.peek() else {
            return self.unexpected("the type of an ICMP message: unreachable, time_exceeded");
        };
        let message = if name == "unreachable" {
            self.at += 1;
            match self.peek() {
                Some(Token::Word(code)) => (Icmp::of_code(code), Icmp::codes()),
                Some(Token::Number(code)) => (Icmp::of_number(code), Icmp::codes()),
                _ => (None, Icmp::codes()),
            }
        } else {
            (Icmp::of_type(name), Icmp::types())
        };
        let (Some(mut message), _) = message else {
            return self.unexpected(&message.1);
        };
        self.at += 1;
        // Both codes of this type have the same effect.
        if name == "time_exceeded" {
            let codes = [
                "ttl_exceeded",
                "reassembly_exceeded",
                "ttl",
                "exc_ttl",
                "exc_fragtime",
            ];
            let is_code = matches!(self.peek(), Some(Token::Word(word)) if codes.contains(&word));
            self.at += usize::from(is_code);
        }
        if self.takes(Token::Word("mtu")) {
            message.mtu = Some(self.whole("an MTU in bytes")?);
        }
        self.expect('[', "the segment that it is about, as in [1:1001(1000)]")?;
        message.from = self.range()?.0;
        self.expect(']', "a closing bracket")?;
        Ok(message)
    }

    /// `1:1001(1000)`
    fn range(&mut self) -> Result<(u64, u64), DrillError> {
        let from = self.whole("the first sequence number of a segment, as in 1:1001(1000)")?;
        self.expect(':', "a range of sequence numbers, as in 1:1001(1000)")?;
        let to = self.whole("the end of a range of sequence numbers, as in 1:1001(1000)")?;
        self.expect('(', "the bytes of a segment, as in 1:1001(1000)")?;
        let bytes = self.whole("the bytes of a segment, as in 1:1001(1000)")?;
        if from.checked_add(bytes) != Some(to) {
            self.at -= 1;
            return self.unexpected("as many bytes as the range of sequence numbers has");
        }
        self.expect(')', "a closing parenthesis")?;
        Ok((from, to))
    }

    fn segment(&mut self, segment: &mut SegmentSpec, arrives: bool) -> Result<(), DrillError> {
        let has_urg = self.flags(segment)?;
        (segment.from, segment.to) = self.range()?;
        if self.takes(Token::Word("ack")) {
            segment.ack = Some(self.whole("an ACK number")?);
        }
        if self.takes(Token::Word("win")) {
            segment.window = Some(self.whole("a window in bytes, as the header carries it")?);
        }
        if self.takes(Token::Word("urg")) {
            segment.urgent = Some(self.whole("an urgent pointer")?);
        }
        if has_urg != segment.urgent.is_some_and(|pointer| pointer > 0) {
            return self.refuse(
                &segment.to_string(),
                "a segment has the flag U exactly when it has an urgent pointer: urg 1",
            );
        }
        if self.takes(Token::Symbol('<')) {
            segment.options = self.options()?;
        } else {
            segment.options.stated = true;
        }
        if segment.dot != segment.ack.is_some() {
            return self.refuse(
                &segment.to_string(),
                "a segment has the flag . exactly when it has an ACK number",
            );
        }
        if arrives && segment.window.is_none() && !segment.rst {
            return self.refuse(
                &segment.to_string(),
                "a segment that arrives says its window: win 257",
            );
        }
        Ok(())
    }

    /// The text before the flags: `[ect0]`, `[ce]`, `[noecn]`, and ignored fields (`tos`, `ttl`,
    /// `flowlabel`).
    fn ip_information(&mut self, segment: &mut SegmentSpec) -> Result<(), DrillError> {
        let close = match self.peek() {
            Some(Token::Symbol('[')) => ']',
            Some(Token::Symbol('(')) => ')',
            Some(Token::Word(what @ ("udp" | "ipv4" | "ipv6" | "gre" | "mpls"))) => {
                return self.refuse(what, "there are TCP connections and nothing else");
            }
            _ => return Ok(()),
        };
        self.at += 1;
        while !self.takes(Token::Symbol(close)) {
            match self.peek() {
                Some(Token::Word("noecn")) => segment.ecn = Some(Ecn::Not),
                Some(Token::Word("ect0" | "ect1" | "ect01")) => segment.ecn = Some(Ecn::Capable),
                Some(Token::Word("ce")) => segment.ecn = Some(Ecn::Experienced),
                Some(Token::Word(field @ ("tos" | "ttl" | "flowlabel"))) => {
                    self.at += 1;
                    let value = self.whole("the number of a field of the IP header")?;
                    if field == "tos" {
                        // The lower two bits are the ECN field.
                        segment.ecn = Some(match value & 3 {
                            0 => Ecn::Not,
                            3 => Ecn::Experienced,
                            _ => Ecn::Capable,
                        });
                    }
                    let line = self.line();
                    let text = format!("{field} of the IP header has no effect here");
                    self.notes.push(Note { line, text });
                    self.at -= 1;
                }
                _ => return self.unexpected("noecn, ect0, ect1, ce, tos, ttl or flowlabel"),
            }
            self.at += 1;
            self.takes(Token::Symbol(','));
        }
        Ok(())
    }

    /// Returns whether they include URG.
    fn flags(&mut self, segment: &mut SegmentSpec) -> Result<bool, DrillError> {
        const ACCEPTED: &str = "flags: S, S., ., P., F., FP., R, R., SEW, E. or -";
        let letters = match self.peek() {
            Some(Token::Word(letters)) => {
                self.at += 1;
                letters
            }
            Some(Token::Symbol('-')) => {
                self.at += 1;
                return Ok(false);
            }
            Some(Token::Symbol('.')) => "",
            Some(Token::Number(_)) => {
                let why = "there are no addresses and ports: a script has one connection";
                return self.refuse("an address or a number before the flags", why);
            }
            _ => return self.unexpected(ACCEPTED),
        };
        let mut has_urg = false;
        for letter in letters.chars() {
            match letter {
                'S' => segment.syn = true,
                'F' => segment.fin = true,
                'R' => segment.rst = true,
                'P' => segment.push = true,
                'E' => segment.ece = true,
                'W' => segment.cwr = true,
                'A' => {
                    self.at -= 1;
                    return self.refuse("the flag A", "accurate ECN is not modelled");
                }
                'U' => has_urg = true,
                _ => {
                    self.at -= 1;
                    return self.unexpected(ACCEPTED);
                }
            }
        }
        segment.dot = self.takes(Token::Symbol('.'));
        Ok(has_urg)
    }

    /// The options of a segment, after the opening bracket.
    fn options(&mut self) -> Result<Options, DrillError> {
        let mut options = Options::default();
        if self.takes(Token::Ellipsis) {
            self.expect('>', "a closing bracket")?;
            return Ok(options);
        }
        options.stated = true;
        loop {
            match self.peek() {
                Some(Token::Word(word)) => {
                    self.at += 1;
                    self.option(word, &mut options)?;
                }
                _ => {
                    return self
                        .unexpected("an option: mss, wscale, sackOK, sack, TS, FO, md5, nop, eol")
                }
            }
            if self.takes(Token::Symbol('>')) {
                return Ok(options);
            }
            self.expect(',', "a comma, or a closing bracket")?;
        }
    }

    fn option(&mut self, word: &str, options: &mut Options) -> Result<(), DrillError> {
        match word {
            "nop" | "eol" => {}
            "sackOK" => options.sack_permitted = true,
            "mss" => options.mss = Some(self.whole("a segment size in bytes")?),
            "wscale" => {
                let scale = self.whole("a window scale from 0 to 14")?;
                if scale > 14 {
                    self.at -= 1;
                    return self.unexpected("a window scale from 0 to 14 (RFC 7323 section 2.3)");
                }
                options.window_scale = Some(scale);
            }
            "TS" => {
                if !self.takes(Token::Word("val")) {
                    return self.unexpected("TS val 100 ecr 0");
                }
                let value = self.whole("the value of a timestamp")?;
                if !self.takes(Token::Word("ecr")) {
                    return self.unexpected("TS val 100 ecr 0");
                }
                let echo = self.whole("the echo of a timestamp")?;
                options.timestamps = Some((value, echo));
            }
            "sack" => {
                while let Some(Token::Number(_)) = self.peek() {
                    let left = self.whole("the left edge of a block")?;
                    self.expect(':', "the edges of a block, as in 1001:2001")?;
                    let right = self.whole("the right edge of a block")?;
                    options.sack.push((left, right));
                }
                if !(1..=4).contains(&options.sack.len()) {
                    return self.unexpected("one to four blocks, as in sack 1001:2001 3001:4001");
                }
            }
            "FO" | "FOEXP" => {
                let digits = match self.peek() {
                    Some(Token::Word(digits) | Token::Number(digits)) => Some(digits),
                    _ => None,
                };
                let is_cookie = |d: &str| {
                    let is_hex =
                        d.bytes().all(|b| b.is_ascii_hexdigit()) && d.len().is_multiple_of(2);
                    is_hex || matches!(d, "TFO_COOKIE" | "TFO_COOKIE_ZERO")
                };
                if digits.is_some_and(|d| !is_cookie(d)) {
                    return self.unexpected("a cookie of whole bytes, as in FO abcd1234");
                }
                self.at += usize::from(digits.is_some());
                let digits = digits.unwrap_or_default();
                options.cookie = Some((digits.into(), word == "FOEXP"));
            }
            "md5" => {
                options.signed = true;
                self.at += usize::from(matches!(
                    self.peek(),
                    Some(Token::Word(_) | Token::Number(_))
                ));
            }
            _ => {
                self.at -= 1;
                return self.refuse(
                    &format!("the option {word}"),
                    "expected mss, wscale, sackOK, sack, TS, FO, FOEXP, md5, nop and eol",
                );
            }
        }
        Ok(())
    }

    // ---- system calls -------------------------------------------------------

    fn call(&mut self) -> Result<Call, DrillError> {
        let mut call = Call::default();
        if self.takes(Token::Ellipsis) {
            self.takes(Token::Symbol('+'));
            call.returns = Some(self.time("the time at which the call returns")?);
        }
        let Some(Token::Word(name)) = self.peek() else {
            return self.unexpected("the name of a system call");
        };
        self.at += 1;
        call.name = name.into();
        self.expect('(', "the arguments of a system call, in parentheses")?;
        (call.arguments, call.values) = self.arguments()?;
        self.expect('=', "what the call returns, as in = 0")?;
        match self.peek() {
            Some(Token::Ellipsis) => {}
            Some(Token::Number(digits)) if digits.parse::<i64>().is_ok() => {
                call.result = digits.parse().ok();
            }
            Some(Token::Word(word)) if word.starts_with("0x") => {
                call.result = i64::from_str_radix(&word[2..], 16).ok();
            }
            _ => return self.unexpected("what the call returns, a whole number"),
        }
        self.at += 1;
        if let Some(Token::Word(error)) = self.peek() {
            call.error = Some(error.into());
            self.at += 1;
        }
        if self.takes(Token::Symbol('(')) {
            // A comment for readers, such as (Operation now in progress).
            while !self.takes(Token::Symbol(')')) {
                if self.peek().is_none() {
                    return self.unexpected("a closing parenthesis");
                }
                self.at += 1;
            }
        }
        Ok(call)
    }

    /// The arguments of a call up to its closing parenthesis, each as text and as a value.
    fn arguments(&mut self) -> Result<(Vec<String>, Vec<Option<Value>>), DrillError> {
        let (mut texts, mut values) = (Vec::new(), Vec::new());
        let mut start = self.at;
        let mut depth = 0_usize;
        loop {
            let Some(word) = self.words.get(self.at) else {
                return self.unexpected("a closing parenthesis");
            };
            self.at += 1;
            match word.token {
                Token::Symbol(mark @ (')' | ',')) if depth == 0 => {
                    let words = &self.words[start..self.at - 1];
                    if !(words.is_empty() && texts.is_empty() && mark == ')') {
                        texts.push(words.iter().map(|w| &self.text[w.start..w.end]).collect());
                        values.push(value::read(words));
                    }
                    if mark == ')' {
                        return Ok((texts, values));
                    }
                    start = self.at;
                }
                Token::Symbol('(' | '[' | '{') => depth += 1,
                Token::Symbol(')' | ']' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
}

/// Whether a character is visible; covers the invisible ones that editors leave in files.
fn is_visible(c: char) -> bool {
    !(c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}'
        ))
}

/// Seconds with decimals, exact to the nanosecond.
fn seconds(digits: &str) -> Option<Duration> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let nanos: String = fraction
        .chars()
        .chain("000000000".chars())
        .take(9)
        .collect();
    let nanos = whole
        .checked_mul(1_000_000_000)?
        .checked_add(nanos.parse().ok()?)?;
    Some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Script, String> {
        parse("x.pkt", text, &mut Vec::new()).map_err(|e| e.to_string())
    }

    fn only(text: &str) -> Statement {
        read(text)
            .ok()
            .and_then(|s| s.statements.into_iter().next())
            .unwrap_or_else(|| unreachable!("{text}"))
    }

    #[test]
    fn every_form_of_time_is_read() {
        let ms = Duration::from_millis;
        for (text, when) in [
            ("0 close(3) = 0", When::At(ms(0), ms(0))),
            ("0.200 close(3) = 0", When::At(ms(200), ms(200))),
            ("+.1 close(3) = 0", When::After(ms(100), ms(100))),
            ("+0~+.1 close(3) = 0", When::After(ms(0), ms(100))),
            ("1~1.5 close(3) = 0", When::At(ms(1000), ms(1500))),
            ("* close(3) = 0", When::Any),
        ] {
            assert_eq!(only(text).when, when, "{text}");
        }
        assert!(read("+0~.1 close(3) = 0").is_err_and(|e| e.contains("both relative")));
        assert!(read("2~1 close(3) = 0").is_err_and(|e| e.contains("before it starts")));
        assert!(read("-1 close(3) = 0").is_err_and(|e| e.contains("from 0 to 86400")));
        assert!(read("99999999 close(3) = 0").is_err_and(|e| e.contains("from 0 to 86400")));
    }

    #[test]
    fn a_segment_is_read_with_its_options() {
        let text =
            "+0 < . 1:1(0) ack 1001 win 257 <nop,nop,TS val 7 ecr 9,sack 2001:3001 4001:5001>";
        let Action::Arrives(segment) = only(text).action else {
            unreachable!()
        };
        assert_eq!((segment.ack, segment.window), (Some(1001), Some(257)));
        assert_eq!(segment.options.timestamps, Some((7, 9)));
        assert_eq!(segment.options.sack, [(2001, 3001), (4001, 5001)]);
        let Action::Expects(segment) = only("+0 > FP. 1:1001(1000) ack 1 <...>").action else {
            unreachable!()
        };
        assert!(segment.fin && segment.push && segment.dot && !segment.options.stated);
    }

    #[test]
    fn a_call_is_read_with_its_arguments_and_its_error() {
        let Action::Call(call) =
            only("0...0.2 connect(3, {a = htons(80), b}, ...) = -1 EINPROGRESS (Operation now)")
                .action
        else {
            unreachable!()
        };
        assert_eq!(call.arguments, ["3", "{a=htons(80),b}", "..."]);
        assert_eq!(
            (call.result, call.error.as_deref()),
            (Some(-1), Some("EINPROGRESS"))
        );
        assert_eq!(call.returns, Some(Duration::from_millis(200)));
    }

    #[test]
    fn a_script_without_an_event_says_so() {
        for text in ["", "// midflight: recovery=sack\n", "--mtu=1500"] {
            let said = read(text).err().unwrap_or_default();
            assert!(said.starts_with("x.pkt: there is nothing to run"), "{said}");
        }
    }

    #[test]
    fn unreadable_input_is_named_with_its_line() {
        for (text, words) in [
            ("\n+0 > . 1:1001(999) ack 1", "as many bytes"),
            ("\n+0 < . 1:1(0) ack 1", "win 257"),
            ("\n+0 > SA 0:0(0)", "accurate ECN"),
            ("\n+0 > UP. 1:2(1) ack 1", "urgent pointer"),
            ("\n+0 > [ecx] . 1:1(0) ack 1", "ect0"),
            ("\n+0 < udp (100)", "TCP connections and nothing else"),
            ("\n+0 > icmp unreachable", "no ICMP is sent here"),
            ("\n+0 < icmp teapot [1:1(0)]", "packet_too_big"),
            ("\n+0 < icmp unreachable x [1:1(0)]", "frag_needed"),
            (
                "\n+0 < icmp time_exceeded 1:1(0)",
                "the segment that it is about",
            ),
            ("\n+0 > S 0:0(0) <mss 1460,exp x>", "the option exp"),
            ("\n+0 > S 0:0(0) <wscale 15>", "0 to 14"),
            ("\n+0 < . 1:1(0) ack 1 win 9 <sack>", "one to four"),
            ("\nhello", "\"hello\""),
            ("\n+0 ", "end of the script"),
            ("\n+0 close(3", "closing parenthesis"),
            (
                "\n+0 < . 1:1(0) ack 1 win\n+0 close(3) = 0",
                "line after \"win\" is not",
            ),
            (
                "\n+0 close(3) =\n\n+0 close(3) = 0",
                "line after \"=\" is not",
            ),
            ("\n\u{feff}+0 close(3) = 0", "a byte-order mark (U+FEFF)"),
            ("\n\u{200b}+0 close(3) = 0", "the character U+200B"),
        ] {
            let said = read(text).err().unwrap_or_default();
            assert!(
                said.starts_with("x.pkt:2: ") && said.contains(words),
                "{text}: {said}"
            );
        }
    }
}
