//! Takes a script statement by statement: lets time pass, hands segments and
//! calls to the connection, and holds what it sends against what is expected.

use midflight_tcp::ConfigError;
use midflight_units::Instant;

use super::environment::Environment;
use super::expression::{Check, Verdict};
use super::report::{told_value, DrillRun, Failure};
use super::script::{Action, Call, Script, SegmentSpec, Statement, When};
use super::tested::{Carries, Sent, Tested};
use super::DrillError;

/// A script under way.
pub(super) struct Runner<'a> {
    pub(super) name: &'a str,
    script: &'a Script,
    pub(super) environment: Environment<'a>,
    pub(super) connection: Option<Tested>,
    pub(super) sockets: Sockets,
    /// The present, where there is no connection to ask.
    now: Instant,
    /// When the event before was, to which relative times refer.
    base: Instant,
    waiting: Option<Waiting<'a>>,
    /// The line and the text of what was not met, where a statement has several lines.
    missed: Option<(u32, String)>,
}

/// What the application has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sockets {
    pub(super) listening: Option<i64>,
    pub(super) connected: Option<i64>,
    pub(super) listens: bool,
    pub(super) non_blocking: bool,
    pub(super) nagle: bool,
}

/// A call that has not returned.
struct Waiting<'a> {
    statement: &'a Statement,
    returns: Instant,
}

/// What a statement comes to: nothing, or what was expected and what was seen.
pub(super) type Outcome = Result<(), (String, String)>;

impl<'a> Runner<'a> {
    pub(super) fn new(name: &'a str, script: &'a Script, environment: Environment<'a>) -> Self {
        Self {
            name,
            script,
            environment,
            connection: None,
            sockets: Sockets {
                listening: None,
                connected: None,
                listens: false,
                non_blocking: false,
                nagle: true,
            },
            now: Instant::ZERO,
            base: Instant::ZERO,
            waiting: None,
            missed: None,
        }
    }

    /// Runs the script to its end or its first failure.
    pub(super) fn run(mut self, mut run: DrillRun) -> Result<DrillRun, DrillError> {
        let script = self.script;
        for statement in &script.statements {
            let outcome = self.step(statement)?;
            if let Some((what, why)) = self.connection.as_ref().and_then(Tested::fault) {
                return self.refuse(statement.line, what, why);
            }
            run.failure = match outcome {
                Err((expected, seen)) => Some(self.failure(statement, expected, seen)),
                Ok(()) => self.overdue(false),
            };
            if run.failure.is_some() {
                break;
            }
        }
        if run.failure.is_none() {
            run.failure = self.overdue(true);
        }
        let unseen = self.connection.as_ref().map_or(0, |c| c.sent.len());
        if let (None, Some(last), 1..) = (&run.failure, script.statements.last(), unseen) {
            let sent = if unseen == 1 {
                "1 segment that was".into()
            } else {
                format!("{unseen} segments that were")
            };
            let text = format!("the script ends, and no line of it expects {sent} sent before");
            self.environment.note(last.line, text);
        }
        run.segments = self.connection.as_ref().map_or(0, |c| c.counts.sent);
        run.end = self.present();
        run.notes.append(&mut self.environment.notes);
        run.notes.sort();
        Ok(run)
    }

    pub(super) fn present(&self) -> Instant {
        self.connection.as_ref().map_or(self.now, |c| c.now)
    }

    fn failure(&self, statement: &Statement, expected: String, seen: String) -> Failure {
        let nothing = || vec![("time", self.present().to_string())];
        let whole = || (statement.line, statement.text.clone());
        let (line, statement) = self.missed.clone().unwrap_or_else(whole);
        Failure {
            line,
            statement,
            expected,
            seen,
            state: self.connection.as_ref().map_or_else(nothing, Tested::state),
        }
    }

    /// A call that should have returned by now, or at the end of the script.
    fn overdue(&mut self, end: bool) -> Option<Failure> {
        let latest = self.waiting.as_ref()?.returns + self.environment.tolerance;
        if !end && self.present() <= latest {
            return None;
        }
        let waiting = self.waiting.take()?;
        let expected = format!("the call returns at {}", waiting.returns);
        Some(self.failure(
            waiting.statement,
            expected,
            "it waits for the handshake".into(),
        ))
    }

    pub(super) fn refuse<T>(&self, line: u32, what: String, why: &str) -> Result<T, DrillError> {
        Err(DrillError::refused(self.name, line, what, why))
    }

    fn step(&mut self, statement: &'a Statement) -> Result<Outcome, DrillError> {
        let (from, until) = match statement.when {
            When::At(from, until) => (Instant::ZERO + from, Instant::ZERO + until),
            When::After(from, until) => (self.base + from, self.base + until),
            When::Any => (Instant::ZERO, Instant::NEVER),
        };
        let is_exact = from == until;
        if let Action::Expects(spec) = &statement.action {
            let (outcome, at) = self.expects(statement.line, spec, from, until)?;
            self.base = if is_exact { from } else { at };
            return Ok(outcome);
        }
        let now = self.present();
        if now.since(until) > self.environment.tolerance && now > until {
            let expected = format!("this happens at {until}");
            return Ok(Err((expected, format!("it is {now} already"))));
        }
        self.advance(statement.line, from)?;
        let outcome = match &statement.action {
            Action::Expects(_) => Ok(()),
            Action::Arrives(spec) => self.arrives(statement.line, spec)?,
            Action::Commands(commands) => {
                let started = self.connection.is_some();
                self.environment
                    .commands(statement.line, commands, started)?;
                Ok(())
            }
            Action::Checks(checks) => return self.checks(statement, checks),
            Action::Call(call) => self.starts(statement, call)?,
        };
        self.base = if is_exact { from } else { self.present() };
        Ok(outcome)
    }

    fn advance(&mut self, line: u32, to: Instant) -> Result<(), DrillError> {
        self.now = self.now.max(to);
        let in_time = self.connection.as_mut().is_none_or(|c| c.advance(to));
        if in_time {
            Ok(())
        } else {
            self.endless(line)
        }
    }

    fn endless(&self, line: u32) -> Result<(), DrillError> {
        let why =
            "the timer has expired too often by then; choose a longer timeout or an earlier time";
        self.refuse(line, "the time of this line".into(), why)
    }

    // ---- calls -------------------------------------------------------------------

    fn starts(&mut self, statement: &'a Statement, call: &'a Call) -> Result<Outcome, DrillError> {
        let outcome = self.call(statement.line, call)?;
        if let Some(after) = call.returns {
            if !matches!(call.name.as_str(), "accept" | "connect") {
                let what = format!("{} that blocks", call.name);
                return self.refuse(statement.line, what, "accept and connect may block here");
            }
            let start = match statement.when {
                When::After(..) => self.base,
                _ => Instant::ZERO,
            };
            self.waiting = Some(Waiting {
                statement,
                returns: start + after,
            });
            if let Err((expected, seen)) = self.returned() {
                return Ok(Err((expected, seen)));
            }
        }
        Ok(outcome)
    }

    /// A call that waits for the handshake returns when that is done.
    fn returned(&mut self) -> Outcome {
        let now = self.present();
        let is_done = self
            .connection
            .as_ref()
            .is_some_and(|c| c.tcp.is_established());
        let Some(waiting) = self.waiting.take_if(|_| is_done) else {
            return Ok(());
        };
        if now.since(waiting.returns) > self.environment.tolerance
            || waiting.returns.since(now) > self.environment.tolerance
        {
            let line = waiting.statement.line;
            let expected = format!("the call of line {line} returns at {}", waiting.returns);
            return Err((expected, format!("the handshake is done at {now}")));
        }
        Ok(())
    }

    // ---- segments that arrive ------------------------------------------------------

    fn arrives(&mut self, line: u32, spec: &SegmentSpec) -> Result<Outcome, DrillError> {
        let Some(connection) = &mut self.connection else {
            if !self.sockets.listens {
                return self.refuse(line, spec.to_string(), "nobody listens yet");
            }
            if !spec.syn || spec.dot || (spec.from, spec.to) != (0, 0) {
                return self.refuse(line, spec.to_string(), "the first segment is S 0:0(0)");
            }
            let opened = Tested::open(&self.environment, self.now, Some(spec), self.sockets.nagle);
            self.connection = Some(self.explain(line, opened)?);
            self.tell_without(line);
            return Ok(Ok(()));
        };
        let taken = connection.arrives(spec, &self.environment);
        if let Err((what, why)) = self.explain(line, taken)? {
            return self.refuse(line, what, why);
        }
        if spec.syn {
            self.tell_without(line);
        } else {
            self.tell_idle_options(line, spec);
        }
        Ok(self.returned())
    }

    fn tell_without(&mut self, line: u32) {
        let without = self
            .connection
            .as_ref()
            .and_then(|c| c.does_without(&self.environment));
        if let Some(text) = without {
            self.environment.note(line, text);
        }
    }

    /// Notes the options of a segment behind the handshake that nothing is made of.
    fn tell_idle_options(&mut self, line: u32, spec: &SegmentSpec) {
        let Some(connection) = &self.connection else {
            return;
        };
        let options = &spec.options;
        let not_agreed = [
            (
                "sack",
                "SACK is",
                !options.sack.is_empty() && !connection.tcp.has_sack(),
            ),
            (
                "TS",
                "timestamps are",
                options.timestamps.is_some() && !connection.tcp.has_timestamps(),
            ),
        ];
        let of_syns = [
            ("mss", options.mss.is_some()),
            ("wscale", options.window_scale.is_some()),
            ("sackOK", options.sack_permitted),
        ];
        for (option, what, is_idle) in not_agreed {
            if is_idle {
                let text = format!("{option} has no effect: {what} not agreed on");
                self.environment.note(line, text);
            }
        }
        for (option, _) in of_syns.iter().filter(|(_, is_idle)| *is_idle) {
            let text = format!("{option} has no effect: only a SYN agrees on options");
            self.environment.note(line, text);
        }
    }

    /// Names the line at which a sender cannot go without something.
    pub(super) fn explain<T>(
        &self,
        line: u32,
        outcome: Result<T, ConfigError>,
    ) -> Result<T, DrillError> {
        outcome.or_else(|error| {
            let what = "a connection without what was not agreed on".into();
            self.refuse(line, what, &error.to_string())
        })
    }

    // ---- segments that go out --------------------------------------------------------

    /// Holds the next segments against `spec`; also when they went.
    fn expects(
        &mut self,
        line: u32,
        spec: &SegmentSpec,
        from: Instant,
        until: Instant,
    ) -> Result<(Outcome, Instant), DrillError> {
        let tolerance = self.environment.tolerance;
        let latest = until + tolerance;
        if spec.window.is_some() {
            self.environment.note(
                line,
                "the window of a segment that goes out is not looked at",
            );
        }
        if spec.options.window_scale.is_some() {
            self.environment
                .note(line, "the value of a wscale that goes out is not looked at");
        }
        let expected = || {
            let at = match (from, until) {
                (_, Instant::NEVER) => "at any time".into(),
                _ if from == until => format!("at {from}"),
                _ => format!("from {from} to {until}"),
            };
            format!("{spec} {at}, to within {tolerance}")
        };
        let mut seen: Option<Sent> = None;
        loop {
            let next = self.next_sent(line, latest)?;
            let Some(next) = next else {
                let patient = if until == Instant::NEVER {
                    self.present()
                } else {
                    latest
                };
                self.advance(line, patient)?;
                let before = seen.map_or("nothing".into(), |s| format!("{s} and no more"));
                let outcome = Err((expected(), format!("{before} until {patient}")));
                return Ok((outcome, patient));
            };
            let told = |sent: &str| Err((expected(), format!("{sent} at {}", next.at)));
            let whole = seen.map_or(Some(next), |before| joined(&before, &next));
            let Some(whole) = whole else {
                let first = seen.map_or(String::new(), |s| format!("{s} at {} and then ", s.at));
                return Ok((told(&format!("{first}{next}")), next.at));
            };
            if !fits(spec, &whole) || next.at + tolerance < from || next.at > latest {
                return Ok((told(&whole.to_string()), next.at));
            }
            if whole.to == spec.to {
                let outcome = match self.differs(spec, &whole, next.at) {
                    Some((stated, sent)) => Err((
                        format!("{} with {stated}", expected()),
                        format!("{whole} with {sent}"),
                    )),
                    None => Ok(()),
                };
                return Ok((outcome, next.at));
            }
            seen = Some(whole);
        }
    }

    fn next_sent(&mut self, line: u32, latest: Instant) -> Result<Option<Sent>, DrillError> {
        let Some(connection) = &mut self.connection else {
            return Ok(None);
        };
        if !connection.wait(latest) {
            self.endless(line)?;
            return Ok(None);
        }
        Ok(connection.sent.pop_front())
    }

    /// What is different in the flags and options, as the script has it and as it was sent.
    fn differs(
        &mut self,
        spec: &SegmentSpec,
        sent: &Sent,
        at: Instant,
    ) -> Option<(String, String)> {
        let is_syn = sent.carries == Carries::Syn;
        let fin = sent.carries == Carries::Bytes { fin: true };
        let has = |has: bool, what: &str| format!("{}{what}", if has { "" } else { "no " });
        if spec.fin != fin {
            return Some((has(spec.fin, "FIN"), has(fin, "FIN")));
        }
        let connection = self.connection.as_mut()?;
        let options = &spec.options;
        if !options.stated {
            return None;
        }
        let switches = [
            ("sackOK", options.sack_permitted, sent.sack_permitted),
            (
                "timestamps",
                options.timestamps.is_some(),
                sent.echo.is_some(),
            ),
            (
                "wscale",
                options.window_scale.is_some(),
                is_syn && connection.tcp.has_window_scaling(),
            ),
            ("SACK blocks", !options.sack.is_empty(), false),
            ("mss", options.mss.is_some(), is_syn),
        ];
        if let Some((what, stated, seen)) = switches.iter().find(|(_, a, b)| a != b) {
            return Some((has(*stated, what), has(*seen, what)));
        }
        let largest = connection.tcp.settings().mss;
        if let Some(mss) = options.mss.filter(|&mss| mss != largest) {
            return Some((format!("mss {mss}"), format!("mss {largest}")));
        }
        if let (Some((value, echo)), Some(seen)) = (options.timestamps, sent.echo) {
            if echo != seen && sent.ack.is_some() {
                return Some((format!("ecr {echo}"), format!("ecr {seen}")));
            }
            if let Err(should) = connection.stamp(value, at, &self.environment) {
                return Some((format!("TS val {value}"), should));
            }
        }
        None
    }

    // ---- assertions -----------------------------------------------------------------------

    fn checks(&mut self, statement: &Statement, checks: &[Check]) -> Result<Outcome, DrillError> {
        self.base = match statement.when {
            When::At(from, until) if from == until => Instant::ZERO + from,
            When::After(from, until) if from == until => self.base + from,
            _ => self.present(),
        };
        for check in checks {
            let Some(connection) = &self.connection else {
                let what = format!("\"{}\"", check.text);
                return self.refuse(check.line, what, "there is no connection yet");
            };
            let verdict = check.verdict(|field| connection.value(field));
            if verdict != Verdict::Holds {
                let told = |&field| told_value(field, connection.value(field));
                let mut seen: Vec<_> = check.fields.iter().map(told).collect();
                if verdict == Verdict::DividesByZero {
                    seen.push("division by zero".into());
                } else if seen.is_empty() {
                    seen.push("it does not hold, whatever the sender does".into());
                }
                let expected = check.text.trim_start_matches("assert").trim_start();
                let outcome = Err((expected.to_string(), seen.join(", ")));
                self.missed = Some((check.line, check.text.clone()));
                return Ok(outcome);
            }
        }
        Ok(Ok(()))
    }

    pub(super) fn wait_until_now(&mut self, line: u32) -> Result<(), DrillError> {
        let now = self.now;
        self.advance(line, now)
    }
}

/// Two segments as one, as a sender that leaves cutting to its network card shows them.
fn joined(first: &Sent, second: &Sent) -> Option<Sent> {
    let plain = first.carries == Carries::Bytes { fin: false } && second.carries != Carries::Syn;
    let follows = first.to == second.from && second.to > second.from;
    (plain && follows && first.ack == second.ack).then_some(Sent {
        from: first.from,
        at: first.at,
        ..*second
    })
}

/// Whether the segment is the expected one, or its first part.
fn fits(spec: &SegmentSpec, sent: &Sent) -> bool {
    spec.syn == (sent.carries == Carries::Syn)
        && spec.from == sent.from
        && spec.to >= sent.to
        && spec.ack == sent.ack
        && spec.dot == sent.ack.is_some()
}

#[cfg(test)]
mod tests {
    use midflight_units::Duration;

    use super::*;

    fn sent(from: u64, to: u64) -> Sent {
        Sent {
            at: Instant::ZERO + Duration::from_millis(from),
            carries: Carries::Bytes { fin: false },
            from,
            to,
            ack: Some(1),
            echo: None,
            sack_permitted: false,
        }
    }

    #[test]
    fn segments_in_a_row_are_one_and_others_are_not() {
        let whole = joined(&sent(1, 1001), &sent(1001, 2001));
        assert_eq!(whole.map(|s| (s.from, s.to)), Some((1, 2001)));
        assert_eq!(joined(&sent(1, 1001), &sent(2001, 3001)), None);
        let spec = SegmentSpec {
            dot: true,
            from: 1,
            to: 2001,
            ack: Some(1),
            ..SegmentSpec::default()
        };
        assert!(fits(&spec, &sent(1, 1001)) && fits(&spec, &sent(1, 2001)));
        assert!(!fits(&spec, &sent(1, 3001)) && !fits(&spec, &sent(1001, 2001)));
    }
}
