//! The statements of code blocks: assertions on fields of the sender and on variables, conditions, loops and functions, in the
//! subset of Python that they need. Other code is refused.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::expression::{field, Check, Operator};
use super::reader::read_check;
use super::{shorten, DrillError};

/// A statement of a code block.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// An assertion.
    Check(Check),
    /// An assignment to a variable, or to several.
    Assign(Vec<String>, Check),
    /// An assignment that changes a variable: `n += 1`.
    Update(String, Operator, Check),
    /// An expression for its effect.
    Value(Check),
    /// The steps of the first condition that holds; that of `else` is none.
    If(Vec<(Option<Check>, Vec<Step>)>),
    While(Check, Vec<Step>),
    /// The variables, the list and the steps for each of its items.
    For(Vec<String>, Check, Vec<Step>),
    /// `global`: names that are the script's in this function.
    Global(Vec<String>),
    Break,
    Continue,
    /// The name of a function, its parameters and its steps.
    Define(String, Vec<String>, Rc<[Step]>),
    Return(Option<Check>),
}

/// Maximum nesting of statements.
const DEEPEST: usize = 16;

/// Operators of an assignment that changes a variable.
const CHANGES: [(&str, Operator); 12] = [
    ("+=", Operator::Plus),
    ("-=", Operator::Minus),
    ("**=", Operator::Power),
    ("*=", Operator::Times),
    ("//=", Operator::DivideWhole),
    ("/=", Operator::Divide),
    ("%=", Operator::Remainder),
    ("&=", Operator::BitAnd),
    ("|=", Operator::BitOr),
    ("^=", Operator::BitXor),
    ("<<=", Operator::ShiftLeft),
    (">>=", Operator::ShiftRight),
];

/// A statement as text.
#[derive(Clone, Debug, Default)]
struct Line {
    text: String,
    number: u32,
    /// Blanks before it; none if it follows the start of the block or a semicolon.
    indent: Option<usize>,
}

/// Reads a code block that starts on `line`; `known` are the variables of earlier blocks, to which
/// its own are added. Its print statements are skipped; returns their lines.
///
/// # Errors
/// [`DrillError`] for code that is not in the subset, and for unknown fields and variables.
pub(super) fn read_code(
    name: &str,
    line: u32,
    code: &str,
    known: &mut BTreeSet<String>,
) -> Result<(Vec<Step>, Vec<u32>), DrillError> {
    let lines = statements(code, line);
    let mut block = Block {
        name,
        lines: &lines,
        at: 0,
        prints: Vec::new(),
        loops: 0,
        is_in_function: false,
        known,
    };
    let steps = block.steps(None, 0)?;
    Ok((steps, block.prints))
}

struct Block<'a, 'k> {
    name: &'a str,
    lines: &'a [Line],
    at: usize,
    prints: Vec<u32>,
    /// The loops around the statement, in its function.
    loops: usize,
    is_in_function: bool,
    known: &'k mut BTreeSet<String>,
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The first word of a statement.
fn first_word(statement: &str) -> &str {
    let end = statement.find(|c| !in_word(c));
    &statement[..end.unwrap_or(statement.len())]
}

/// A name that a variable or a function may have.
fn is_name(text: &str) -> bool {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(starts) && text.chars().all(in_word) && field(text).is_none()
}

/// The names behind commas, perhaps in parentheses; none if something else is among them.
fn names(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|t| t.strip_suffix(')'));
    let names = inner.unwrap_or(text).split(',').map(str::trim);
    let names: Vec<_> = names.filter(|n| !n.is_empty()).map(String::from).collect();
    names.iter().all(|name| is_name(name)).then_some(names)
}

impl Block<'_, '_> {
    /// The steps that are indented by more than `outer`; all of them without one.
    fn steps(&mut self, outer: Option<usize>, depth: usize) -> Result<Vec<Step>, DrillError> {
        let mut steps = Vec::new();
        while let Some(line) = self.lines.get(self.at).cloned() {
            let is_outside = outer.is_some_and(|outer| line.indent.is_some_and(|own| own <= outer));
            if is_outside {
                break;
            }
            self.at += 1;
            steps.extend(self.statement(&line, depth)?);
        }
        Ok(steps)
    }

    fn statement(&mut self, line: &Line, depth: usize) -> Result<Vec<Step>, DrillError> {
        let step = match first_word(&line.text) {
            "if" => self.condition(line, depth)?,
            "while" => {
                let (condition, rest) = self.head(line, depth)?;
                let check = self.check(line.number, condition, 1)?;
                Step::While(check, self.repeated(line, rest, depth)?)
            }
            "for" => {
                let (head, rest) = self.head(line, depth)?;
                let parts = head["for".len()..].split_once(" in ");
                let targets = parts.and_then(|(targets, _)| names(targets));
                let (Some(targets), Some((_, list))) = (targets, parts) else {
                    return self.refuse(line);
                };
                let list = self.check(line.number, list.trim(), 0)?;
                self.known.extend(targets.iter().cloned());
                Step::For(targets, list, self.repeated(line, rest, depth)?)
            }
            "def" => {
                let (head, rest) = self.head(line, depth)?;
                let head = head["def".len()..].trim().strip_suffix(')');
                let parts = head.and_then(|head| head.split_once('('));
                let parameters = parts.and_then(|(_, parameters)| names(parameters));
                let (Some((function, _)), Some(parameters)) = (parts, parameters) else {
                    return self.refuse(line);
                };
                let function = function.trim().to_string();
                if !is_name(&function) {
                    return self.refuse(line);
                }
                self.known.insert(function.clone());
                self.known.extend(parameters.iter().cloned());
                let outer = (self.loops, self.is_in_function);
                (self.loops, self.is_in_function) = (0, true);
                let steps = self.body(line, rest, depth);
                (self.loops, self.is_in_function) = outer;
                let steps = steps?;
                Step::Define(function, parameters, steps.into())
            }
            _ => return self.step(&line.text, line.number),
        };
        Ok(vec![step])
    }

    fn check(&self, line: u32, text: &str, skip: usize) -> Result<Check, DrillError> {
        read_check(self.name, line, text, skip, self.known)
    }

    /// The head of a statement with others in it, and what follows on the same line.
    fn head<'l>(&self, line: &'l Line, depth: usize) -> Result<(&'l str, &'l str), DrillError> {
        let end = place(&line.text, ':').filter(|_| depth < DEEPEST);
        let Some(end) = end else {
            return self.refuse(line);
        };
        let (head, rest) = line.text.split_at(end);
        Ok((head.trim(), rest[1..].trim()))
    }

    /// The statements in another one.
    fn body(&mut self, head: &Line, rest: &str, depth: usize) -> Result<Vec<Step>, DrillError> {
        let mut steps = Vec::new();
        if rest.is_empty() {
            steps = self.steps(Some(head.indent.unwrap_or(0)), depth + 1)?;
            if steps.is_empty() {
                return self.refuse(head);
            }
            return Ok(steps);
        }
        let is_one = !matches!(first_word(rest), "if" | "while" | "for" | "def");
        if !is_one {
            return self.refuse(head);
        }
        steps.extend(self.step(rest, head.number)?);
        // What follows on the same line belongs to it.
        while let Some(next) = self.lines.get(self.at).filter(|l| l.indent.is_none()) {
            self.at += 1;
            steps.extend(self.step(&next.text, next.number)?);
        }
        Ok(steps)
    }

    /// The statements in a loop.
    fn repeated(&mut self, head: &Line, rest: &str, depth: usize) -> Result<Vec<Step>, DrillError> {
        self.loops += 1;
        let steps = self.body(head, rest, depth);
        self.loops -= 1;
        steps
    }

    /// `if`, `elif` and `else` with their statements.
    fn condition(&mut self, first: &Line, depth: usize) -> Result<Step, DrillError> {
        let outer = first.indent.unwrap_or(0);
        let mut branches = Vec::new();
        let mut head = first.clone();
        loop {
            let (condition, rest) = self.head(&head, depth)?;
            let is_last = first_word(condition) == "else";
            let check = if is_last {
                None
            } else {
                Some(self.check(head.number, condition, 1)?)
            };
            branches.push((check, self.body(&head, rest, depth)?));
            let next = self.lines.get(self.at).filter(|_| !is_last);
            let continues = |line: &&Line| {
                let is_level = line.indent == Some(outer);
                is_level && matches!(first_word(&line.text), "elif" | "else")
            };
            let Some(next) = next.filter(continues) else {
                return Ok(Step::If(branches));
            };
            head = next.clone();
            self.at += 1;
        }
    }

    /// A statement without others in it; none if it does nothing.
    fn step(&mut self, statement: &str, line: u32) -> Result<Vec<Step>, DrillError> {
        let step = match first_word(statement) {
            "print" => {
                self.prints.push(line);
                return Ok(Vec::new());
            }
            // The functions that are known need no module.
            "import" | "from" | "pass" => return Ok(Vec::new()),
            "global" => match names(&statement["global".len()..]) {
                Some(names) if !names.is_empty() => Step::Global(names),
                _ => return self.refuse_text(statement, line),
            },
            "break" if self.loops > 0 => Step::Break,
            "continue" if self.loops > 0 => Step::Continue,
            "break" | "continue" => return self.refuse_text(statement, line),
            "return" if !self.is_in_function => return self.refuse_text(statement, line),
            "return" => {
                let is_bare = statement == "return";
                Step::Return(if is_bare {
                    None
                } else {
                    Some(self.check(line, statement, 1)?)
                })
            }
            "assert" => {
                // The text after a comma is a message.
                let end = place(statement, ',').unwrap_or(statement.len());
                Step::Check(self.check(line, statement[..end].trim_end(), 1)?)
            }
            target => match self.assignment(target, statement, line)? {
                Some(step) => step,
                None if self.is_call(statement) => Step::Value(self.check(line, statement, 0)?),
                None => return self.refuse_text(statement, line),
            },
        };
        Ok(vec![step])
    }

    /// Whether it calls a function of the script, or appends to a list.
    fn is_call(&self, statement: &str) -> bool {
        let first = first_word(statement);
        let rest = &statement[first.len()..];
        let calls = rest.starts_with('(') || rest.starts_with(".append(");
        self.known.contains(first) && calls
    }

    fn assignment(
        &mut self,
        target: &str,
        statement: &str,
        line: u32,
    ) -> Result<Option<Step>, DrillError> {
        let rest = statement[target.len()..].trim_start();
        let mut changes = CHANGES.iter();
        if let Some((sign, operator)) = changes.find(|(sign, _)| rest.starts_with(*sign)) {
            if !self.known.contains(target) {
                return Ok(None);
            }
            let check = self.check(line, rest[sign.len()..].trim(), 0)?;
            return Ok(Some(Step::Update(target.into(), *operator, check)));
        }
        let Some(at) = place(statement, '=') else {
            return Ok(None);
        };
        let (targets, value) = (&statement[..at], statement[at + 1..].trim());
        let Some(targets) = names(targets).filter(|t| !t.is_empty()) else {
            return Ok(None);
        };
        if value.starts_with('=') {
            return Ok(None);
        }
        let check = self.check(line, value, 0)?;
        self.known.extend(targets.iter().cloned());
        Ok(Some(Step::Assign(targets, check)))
    }

    fn refuse_text<T>(&self, statement: &str, number: u32) -> Result<T, DrillError> {
        self.refuse(&Line {
            text: statement.into(),
            number,
            indent: None,
        })
    }

    fn refuse<T>(&self, line: &Line) -> Result<T, DrillError> {
        Err(DrillError::refused(
            self.name,
            line.number,
            format!("the code \"{}\"", shorten(&line.text)),
            "code blocks hold assertions (assert tcpi_snd_cwnd == 10), variables (before = tcpi_snd_cwnd), if, while, for and def",
        ))
    }
}

/// Where this character is outside of parentheses and quotation marks.
fn place(statement: &str, wanted: char) -> Option<usize> {
    let (mut depth, mut quote) = (0_i32, None);
    for (at, c) in statement.char_indices() {
        match c {
            _ if quote == Some(c) => quote = None,
            _ if quote.is_some() => {}
            '"' | '\'' => quote = Some(c),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            c if c == wanted && depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// The statements of a block, with the lines on which they start: up to a
/// semicolon or the end of a line that is not in parentheses or quotes.
fn statements(code: &str, first: u32) -> Vec<Line> {
    let mut found = Vec::new();
    let (mut current, mut line, mut starts) = (String::new(), first, first);
    // Whether the statement is the first of its line.
    let mut begins = false;
    let mut depth = 0_u32;
    let mut quote = None;
    let mut comment = false;
    let mut previous = ' ';
    let mut push = |text: String, line, begins| {
        let indent = text.len() - text.trim_start().len();
        let text = text.trim().to_string();
        if !text.is_empty() {
            let indent = Some(indent).filter(|_| begins);
            found.push(Line {
                text,
                number: line,
                indent,
            });
        }
    };
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
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            // At the end of a line it joins the next line.
            '\\' => continue,
            '\n' if before == '\\' => continue,
            ';' | '\n' if depth == 0 => {
                push(std::mem::take(&mut current), starts, begins);
                begins = c == '\n';
                continue;
            }
            _ => {}
        }
        current.push(c);
    }
    push(current, starts, begins);
    found
}

#[cfg(test)]
mod tests {
    use super::super::machine::Machine;
    use super::super::report::Field;
    use super::*;

    fn holds(code: &str) -> Option<bool> {
        let (steps, _) = read_code("x.pkt", 1, code, &mut BTreeSet::new()).ok()?;
        let value = |field| match field {
            Field::Cwnd => Some(10.0),
            Field::Ssthresh => Some(7.0),
            _ => Some(0.0),
        };
        Some(Machine::default().run(&steps, &value).is_ok())
    }

    fn checks(line: u32, code: &str) -> Vec<Check> {
        let read = read_code("x.pkt", line, code, &mut BTreeSet::new());
        let (steps, _) = read.unwrap_or_default();
        let checks = steps.into_iter().filter_map(|step| match step {
            Step::Check(check) => Some(check),
            _ => None,
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
    fn the_first_condition_that_holds_has_its_statements_done() {
        let code = "\nimport math\nx = 1\nif tcpi_snd_cwnd in (1, 2):\n    assert 0\nelif tcpi_snd_cwnd not in [10,]:\n    x = 9\n\
                    else:\n    if x == 1: x += 4\n    x <<= 0 if x else 1\nassert x == 5";
        let code = code.replace(
            "x <<= 0 if x else 1\n",
            "x <<= 0 if x else 1\n    y = 7 if x == 5 else 8\n",
        );
        assert_eq!(holds(&code), Some(true));
        assert_eq!(holds(&format!("{code} and y == 8")), Some(false));
        assert_eq!(holds("if tcpi_snd_cwnd == 10: assert 0"), Some(false));
        assert_eq!(holds(" if 0: assert 0; assert 0\nassert 1"), Some(true));
        for wrong in [
            "if 1",
            "if 1:",
            "if 1:\nassert 1",
            "else: assert 1",
            "x = 1\nif x: y = 2\n  assert z",
        ] {
            assert_eq!(holds(wrong), None, "{wrong}");
        }
        let lines = (0..20).map(|n| " ".repeat(n) + "if 1:\n");
        let deep = lines.collect::<String>();
        assert_eq!(holds(&format!("\n{deep}{}assert 1", " ".repeat(20))), None);
    }

    #[test]
    fn shifts_and_roundings_are_those_of_python() {
        assert_eq!(
            holds("assert 1 << 3 | 1 == 9 and 9 >> 1 == 4 and 6 ^ 3 == 5 and 1 + 1 << 2 == 8"),
            Some(true)
        );
        assert_eq!(
            holds("assert round(2.5) == 2 and round(1.25, 1) == 1.2 and float(7) / 2 == 3.5"),
            Some(true)
        );
        assert_eq!(
            holds("assert not 3 in (1, 2) and 3 not in [1, 2], ('a %d' % 3, 4)"),
            Some(true)
        );
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
            assert_eq!(holds(&format!("assert {code}")), Some(false), "{code}");
        }
    }

    #[test]
    fn loops_lists_and_functions_are_those_of_python() {
        for code in [
            "n = 0\nfor i in range(2, 8, 2):\n  n += i\nassert n == 12",
            "for a, b in [(1, 2), (3, 4)]:\n  assert b - a == 1; c = b\nassert c == 4",
            "n = 0\nwhile True:\n  n += 1\n  if n % 2: continue\n  if n > 6:\n    break\nassert n == 8",
            "def f(x, y):\n  if x > y: return x\n  return y\nassert f(1, f(3, 2)) == 3",
            "a, b = 1, [2, 3]\nassert a == 1 and b[1] == 3 and b[-1] == 3 and b[:1] == [2] and len(b) == 2",
            "l = []\nl.append(4)\nl.append(5)\nassert l == [4, 5] and sum(l) == 9 and 5 in l, f'{l}'",
            "assert all(x < 3 for x in (1, 2)) and [x * 2 for x in range(3) if x] == [2, 4]",
            "assert None is None and 1 is not None and not None, 'a %d' % 1",
            "assert 'ab' + \"c\" == 'abc' and str(3) == '3' and ('%d' % 3) and 'x{}'.format(1)",
            "x = 6\nx **= 2; x //= 5; x |= 8; x &= ~1; x ^= 3\nassert x == 13 and 2 ** 3 == 8 and -2 ** 2 == -4",
            "assert sorted([3, 1, 2])[0] == 1 and max([1, 5]) == 5 and list(zip((1, 2), (3, 4)))[1] == [2, 4]",
            "assert(tcpi_snd_cwnd == 10), 'text, with a comma: %d' % tcpi_snd_cwnd",
            "assert (tcpi_snd_cwnd ==\n  10 and\n  True)",
            "import math; assert math.ceil(1.2) == 2 and int('4') == 4 and bool([]) == False",
        ] {
            assert_eq!(holds(code), Some(true), "{code}");
        }
        for code in [
            "assert [1][1] == 1",
            "while True: pass",
            "def f(x):\n  return f(x)\nf(1)",
            "def f(x):\n  assert x\nf(0)",
            "assert 'a' < 1",
            "def f(x): return x\nf()",
            "if 0: x = 1\nassert x",
            "for i in range(10 ** 9): pass",
            "l = [list(range(90000))] * 90000",
        ] {
            assert_eq!(holds(code), Some(false), "{code}");
        }
        for code in [
            "try:\n  pass\nexcept: pass",
            "class A: pass",
            "x = {1: 2}",
            "for 1 in (2,): pass",
            "assert x for x in (1,)",
            "f = lambda x: x",
        ] {
            assert_eq!(holds(code), None, "{code}");
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
    fn variables_of_functions_and_comprehensions_are_their_own() {
        for code in [
            "x = 5\ndef g():\n  x = 1\ng()\nassert x == 5",
            "x = 5\ndef g():\n  global x\n  x = 1\ng()\nassert x == 1",
            "def g():\n  global y\n  y = 7\ng()\nassert y == 7",
            "x = 9\nl = [x for x in range(3)]\nassert x == 9 and l == [0, 1, 2]",
            "def f(n):\n  l = [n + m for m in range(2)]\n  return l\nassert f(3) == [3, 4]",
            "assert sorted([3, 1, 2]) == [1, 2, 3] and 1 << 63 == 2 ** 63",
            "assert list(range(3, 0, -1)) == [3, 2, 1] and list(range(2, 0)) == []",
        ] {
            assert_eq!(holds(code), Some(true), "{code}");
        }
    }

    #[test]
    fn code_that_does_not_end_or_needs_too_much_fails() {
        for code in [
            "for i in range(2 ** 53, 2 ** 53 + 4): pass",
            "l = range(1e308, 1e309)",
            "l = [1]\nfor i in range(100): l = [l, l]",
            "l = 0\nfor i in range(100000): l = [l]",
            "l = list(range(100000))\nwhile True: x = l",
            "while True: pass",
        ] {
            assert_eq!(holds(code), Some(false), "{code}");
        }
    }

    #[test]
    fn other_code_is_refused_by_name() {
        let said = |code: &str| {
            let read = read_code("x.pkt", 9, code, &mut BTreeSet::new());
            read.map_or_else(|e| e.to_string(), |_| String::new())
        };
        assert!(said("import os; exit()").contains("x.pkt:9: the code \"exit()\""));
        assert!(said("assert tcpi_received_ce == 0").contains("tcpi_rehash"));
        assert!(said("assert tcpi_received_ce == 0").contains("tcpi_snd_cwnd"));
        assert!(said("assert (1").contains("closing parenthesis"));
        assert!(said("assert 1 == 1 2").contains("\"2\""));
        assert!(said(&format!("assert {}1", "(".repeat(99))).contains("too deeply"));
        assert!(said(&format!("assert {}1", "not ".repeat(99))).contains("too deeply"));
        assert!(said(&format!("assert 1{}", " + 1".repeat(99_999))).contains("words"));
        // Python does not accept these either; a block that they ended could not fail.
        for code in [
            "if 1:\n  break\nassert 1 == 2",
            "continue",
            "return\nassert 1 == 2",
        ] {
            assert!(said(code).contains("is refused"), "{code}");
        }
        assert!(said("def f():\n  break\nf()").contains("\"break\""));
        assert_eq!(said("print(tcpi_snd_cwnd)"), "");
    }
}
