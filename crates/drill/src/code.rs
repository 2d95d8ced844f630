//! Code blocks: assertions on fields of the sender and on variables, in the subset of Python that they need. Other code is
//! refused.

use std::collections::BTreeSet;

use super::expression::{read_check, Check};
use super::report::FIELDS;
use super::{shorten, DrillError};

/// A statement of a code block.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// An assertion.
    Check(Check),
    /// An assignment to a variable.
    Keep(String, Check),
    /// The steps of the first condition that holds; that of `else` is none.
    If(Vec<(Option<Check>, Vec<Step>)>),
}

/// Maximum nesting of conditions.
const DEEPEST: usize = 16;

/// Operators of an assignment that changes a variable.
const CHANGES: [&str; 6] = ["+=", "-=", "*=", "//=", "/=", "%="];

/// A statement as text.
#[derive(Clone, Debug, Default)]
struct Line {
    text: String,
    number: u32,
    /// Blanks before it; none if it follows the start of the block or a semicolon.
    indent: Option<usize>,
}

/// Reads a code block that starts on `line`; `known` are the variables of earlier blocks, to which
/// its own are added. Its print statements are skipped.
///
/// # Errors
/// [`DrillError`] for anything but conditions, assertions and assignments over known fields and variables.
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
    known: &'k mut BTreeSet<String>,
}

/// The first word of a statement.
fn first_word(statement: &str) -> &str {
    let end = statement.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    &statement[..end.unwrap_or(statement.len())]
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
            if first_word(&line.text) == "if" {
                steps.push(self.condition(&line, depth)?);
            } else {
                steps.extend(self.step(&line.text, line.number)?);
            }
        }
        Ok(steps)
    }

    /// `if`, `elif` and `else` with their statements.
    fn condition(&mut self, first: &Line, depth: usize) -> Result<Step, DrillError> {
        let outer = first.indent.unwrap_or(0);
        let mut branches = Vec::new();
        let mut head = first.clone();
        loop {
            let Some((condition, rest)) = split_head(&head.text).filter(|_| depth < DEEPEST) else {
                return self.refuse(&head);
            };
            let is_last = first_word(condition) == "else";
            let check = if is_last {
                None
            } else {
                Some(read_check(
                    self.name,
                    head.number,
                    condition,
                    1,
                    self.known,
                )?)
            };
            let mut steps = self.step(rest, head.number)?;
            // What follows on the same line belongs to it.
            while let Some(next) = self.lines.get(self.at).filter(|l| l.indent.is_none()) {
                self.at += 1;
                steps.extend(self.step(&next.text, next.number)?);
            }
            if rest.is_empty() {
                steps = self.steps(Some(outer), depth + 1)?;
                if steps.is_empty() {
                    return self.refuse(&head);
                }
            }
            branches.push((check, steps));
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
        let first = first_word(statement);
        let step = match first {
            _ if statement.is_empty() => return Ok(Vec::new()),
            "print" => {
                self.prints.push(line);
                return Ok(Vec::new());
            }
            // The functions that are known need no module.
            "import" | "pass" => return Ok(Vec::new()),
            "assert" => {
                // The text after a comma is a message.
                let text = statement[..statement_end(statement)].trim_end();
                Step::Check(read_check(self.name, line, text, 1, self.known)?)
            }
            target if is_assignment(target, statement) => {
                let (_, text) = statement.split_once('=').unwrap_or_default();
                let check = read_check(self.name, line, text.trim(), 0, self.known)?;
                self.known.insert(target.into());
                Step::Keep(target.into(), check)
            }
            target => {
                let rest = statement[target.len()..].trim_start();
                let change = CHANGES.iter().find(|change| rest.starts_with(**change));
                let Some(change) = change.filter(|_| self.known.contains(target)) else {
                    let text = statement.into();
                    return self.refuse(&Line {
                        text,
                        number: line,
                        indent: None,
                    });
                };
                let operator = change.trim_end_matches('=');
                let text = format!("{target} {operator} ({})", rest[change.len()..].trim());
                let check = read_check(self.name, line, &text, 0, self.known)?;
                Step::Keep(target.into(), check)
            }
        };
        Ok(vec![step])
    }

    fn refuse<T>(&self, line: &Line) -> Result<T, DrillError> {
        Err(DrillError::refused(
            self.name,
            line.number,
            format!("the code \"{}\"", shorten(&line.text)),
            "code blocks hold assertions (assert tcpi_snd_cwnd == 10), variables (before = tcpi_snd_cwnd) and conditions (if)",
        ))
    }
}

/// The condition of `if`, `elif` or `else`, and the statement on the same line.
fn split_head(statement: &str) -> Option<(&str, &str)> {
    let (condition, rest) = statement.split_once(':')?;
    Some((condition.trim(), rest.trim()))
}

/// Whether the statement assigns this variable.
fn is_assignment(target: &str, statement: &str) -> bool {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
    let rest = statement[target.len()..].trim_start();
    let is_field = FIELDS.iter().any(|(_, name, _)| *name == target);
    target.starts_with(starts) && !is_field && rest.starts_with('=') && !rest.starts_with("==")
}

/// Where the message of an assertion starts.
fn statement_end(statement: &str) -> usize {
    let mut depth = 0_i32;
    for (at, c) in statement.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => return at,
            _ => {}
        }
    }
    statement.len()
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
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
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
    use super::super::expression::Variables;
    use super::super::report::Field;
    use super::*;

    fn holds(code: &str) -> Option<bool> {
        let (steps, _) = read_code("x.pkt", 1, code, &mut BTreeSet::new()).ok()?;
        let mut kept = Variables::new();
        let value = |field| match field {
            Field::Cwnd => 10.0,
            Field::Ssthresh => 7.0,
            _ => 0.0,
        };
        Some(all_hold(&steps, &value, &mut kept))
    }

    fn all_hold(steps: &[Step], value: &impl Fn(Field) -> f64, kept: &mut Variables) -> bool {
        let holds = |check: &Check, kept: &Variables| check.value(value, kept) != Some(0.0);
        steps.iter().all(|step| match step {
            Step::Check(check) => holds(check, kept),
            Step::Keep(name, check) => {
                let value = check.value(value, kept).unwrap_or(f64::NAN);
                kept.insert(name.clone(), value);
                true
            }
            Step::If(branches) => {
                let taken = branches.iter().find(|(condition, _)| {
                    condition.as_ref().is_none_or(|check| holds(check, kept))
                });
                taken.is_none_or(|(_, steps)| all_hold(steps, value, kept))
            }
        })
    }

    fn checks(line: u32, code: &str) -> Vec<Check> {
        let read = read_code("x.pkt", line, code, &mut BTreeSet::new());
        let (steps, _) = read.unwrap_or_default();
        let checks = steps.into_iter().filter_map(|step| match step {
            Step::Check(check) => Some(check),
            Step::Keep(..) | Step::If(..) => None,
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
        assert_eq!(holds(code), None, "<<= is refused");
        let code = code.replace("    x <<= 0 if x else 1\n", "    y = 7 if x == 5 else 8\n");
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
            let checks = checks(1, &format!("assert {code}"));
            assert_eq!(checks[0].value(|_| 0.0, &Variables::new()), None, "{code}");
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
        assert!(said("import os; exit()").contains("x.pkt:9: the code \"exit()\""));
        assert!(said("assert tcpi_rehash == 0").contains("tcpi_rehash"));
        assert!(said("assert tcpi_rehash == 0").contains("tcpi_snd_cwnd"));
        assert!(said("assert (1").contains("closing parenthesis"));
        assert!(said("assert 1 == 1 2").contains("\"2\""));
        assert!(said(&format!("assert {}1", "(".repeat(99))).contains("too deeply"));
        assert!(said(&format!("assert {}1", "not ".repeat(99))).contains("too deeply"));
        assert!(said(&format!("assert 1{}", " + 1".repeat(99_999))).contains("words"));
        assert_eq!(said("print(tcpi_snd_cwnd)"), "");
    }
}
