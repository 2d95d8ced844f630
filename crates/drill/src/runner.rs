//! Runs a script statement by statement: advances time, passes segments and calls to the
//! connection, and compares its segments with the expected ones.

use std::collections::VecDeque;

use midflight_endpoint::{FastOpenOption, Refusal};
use midflight_tcp::ConfigError;
use midflight_units::Instant;

use super::call::held_against;
use super::code::Step;
use super::data::Seen;
use super::environment::Environment;
use super::expression::Fault;
use super::fast_open::{Cache, Client};
use super::machine::{Machine, Missed};
use super::report::{value_text, DrillRun, Failure};
use super::script::{Action, Call, Ecn, Script, SegmentSpec, Statement, When};
use super::sockets::Sockets;
use super::tested::{arrival, Carries, Sent, Tested};
use super::DrillError;

/// A running script.
pub(super) struct Runner<'a> {
    pub(super) name: &'a str,
    script: &'a Script,
    pub(super) environment: Environment<'a>,
    pub(super) connection: Option<Tested>,
    pub(super) sockets: Sockets,
    /// TCP Fast Open, and what was kept for it.
    pub(super) client: Client,
    /// The waiting call sends data in our SYN.
    pub(super) writes_fast: bool,
    /// The current time while there is no connection.
    now: Instant,
    /// The time of the previous event, for relative times.
    base: Instant,
    waiting: Option<Waiting<'a>>,
    /// The line and the text of the failed expectation, if a statement has several lines.
    missed: Option<(u32, String)>,
    /// The result of a call, if it differs from the script's.
    pub(super) differs: Option<(String, String)>,
    /// The waiting call is attempted again, and its own time limit has passed.
    pub(super) retrying: bool,
    pub(super) patience_over: bool,
    /// The observed state of the connection.
    pub(super) seen: Seen,
    machine: Machine,
    /// RSTs that answer segments of no connection.
    strays: VecDeque<Sent>,
    /// The result of the blocked call, if it differs from the script's.
    late: Option<Failure>,
    /// Only commands follow.
    is_over: bool,
}

/// A waiting call.
struct Waiting<'a> {
    statement: &'a Statement,
    call: &'a Call,
    returns: Instant,
    /// The end of its own time limit.
    until: Option<Instant>,
}

/// The result of a statement: success, or the expected and the observed value.
pub(super) type Outcome = Result<(), (String, String)>;

impl<'a> Runner<'a> {
    pub(super) fn new(name: &'a str, script: &'a Script, environment: Environment<'a>) -> Self {
        Self {
            name,
            script,
            environment,
            connection: None,
            sockets: Sockets::default(),
            client: Client::default(),
            writes_fast: false,
            now: Instant::ZERO,
            base: Instant::ZERO,
            waiting: None,
            missed: None,
            differs: None,
            retrying: false,
            patience_over: false,
            seen: Seen::default(),
            machine: Machine::default(),
            strays: VecDeque::new(),
            late: None,
            is_over: false,
        }
    }

    /// Runs the script to its end or its first failure.
    pub(super) fn run(mut self, mut run: DrillRun) -> Result<DrillRun, DrillError> {
        let script = self.script;
        let is_command = |statement: &Statement| matches!(statement.action, Action::Commands(_));
        let after = script.statements.iter().rposition(|s| !is_command(s));
        for (index, statement) in script.statements.iter().enumerate() {
            self.is_over = after.is_none_or(|last| index > last);
            let outcome = self.step(statement)?;
            if let Some((what, why)) = self.connection.as_ref().and_then(Tested::fault) {
                return self.refuse(statement.line, what, why);
            }
            run.failure = match outcome {
                Err((expected, seen)) => Some(self.failure(statement, expected, seen)),
                Ok(()) => self.late.take().or_else(|| self.overdue(false)),
            };
            if run.failure.is_some() {
                break;
            }
        }
        if run.failure.is_none() {
            run.failure = self.overdue(true);
        }
        let unseen = self.strays.len() + self.connection.as_ref().map_or(0, |c| c.sent.len());
        if let (None, Some(last), 1..) = (&run.failure, script.statements.last(), unseen) {
            let sent = if unseen == 1 {
                "1 segment that was".into()
            } else {
                format!("{unseen} segments that were")
            };
            let text = format!("the script ends, and no line of it expects {sent} sent before");
            self.environment.note(last.line, text);
        }
        let waits = self.connection.as_ref().is_some_and(Tested::has_report);
        if let (None, Some(last), true) = (&run.failure, script.statements.last(), waits) {
            let text = "the script ends, and no ACK of it carries the report before";
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

    /// Reports a call that should have returned by now, or by the end of the script.
    fn overdue(&mut self, end: bool) -> Option<Failure> {
        let latest = self.waiting.as_ref()?.returns + self.environment.tolerance;
        if !end && self.present() <= latest {
            return None;
        }
        let waiting = self.waiting.take()?;
        let expected = format!("the call returns at {}", waiting.returns);
        Some(self.failure(waiting.statement, expected, "it still waits".into()))
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
            Action::Icmp(message) => self.icmp(statement.line, message)?,
            Action::Commands(commands) => {
                let over = |c: &Tested| c.tcp.is_done() || c.tcp.is_reset();
                let started = self.connection.as_ref().is_some_and(|c| !over(c));
                // Scripts end by restoring settings, which has no effect.
                if started && self.is_over {
                    let text = "settings at the end of a script have no effect";
                    self.environment.note(statement.line, text);
                }
                let started = started && !self.is_over;
                self.environment
                    .commands(statement.line, commands, started)?;
                if std::mem::take(&mut self.environment.forgets) {
                    self.client.cache = Cache::default();
                }
                let events = std::mem::take(&mut self.environment.handoff_events);
                if let Some(connection) = &mut self.connection {
                    for event in events {
                        if let Err(error) = connection.hand_off(event) {
                            return self.explain(statement.line, Err(error));
                        }
                    }
                }
                Ok(())
            }
            Action::Code(steps) => return self.code(statement, steps),
            Action::Call(call) => self.starts(statement, call)?,
        };
        self.base = if is_exact { from } else { self.present() };
        Ok(outcome)
    }

    fn advance(&mut self, line: u32, to: Instant) -> Result<(), DrillError> {
        while self.next_event(line, to)? {}
        self.now = self.now.max(to);
        if let Some(connection) = &mut self.connection {
            connection.now = connection.now.max(to);
        }
        Ok(())
    }

    /// Advances to the next timer or a call's own time limit, at most to `to`; returns whether
    /// there was one.
    fn next_event(&mut self, line: u32, to: Instant) -> Result<bool, DrillError> {
        let of_connection = self.connection.as_ref().and_then(Tested::next_timeout);
        let of_call = self.waiting.as_ref().and_then(|waiting| waiting.until);
        let due = of_connection.into_iter().chain(of_call).min();
        let Some(due) = due.filter(|&due| due <= to) else {
            return Ok(false);
        };
        self.now = self.now.max(due);
        if let Some(connection) = &mut self.connection {
            if of_connection == Some(due) {
                if !connection.expire(due) {
                    self.endless(line)?;
                }
            } else {
                connection.now = connection.now.max(due);
            }
        }
        self.settle()?;
        Ok(true)
    }

    fn endless(&self, line: u32) -> Result<(), DrillError> {
        let why =
            "the timer has expired too often by then; choose a longer timeout or an earlier time";
        self.refuse(line, "the time of this line".into(), why)
    }

    // ---- calls -------------------------------------------------------------------

    fn starts(&mut self, statement: &'a Statement, call: &'a Call) -> Result<Outcome, DrillError> {
        let now = self.present();
        let reply = self.attempt(statement.line, call)?;
        self.wake();
        let start = match statement.when {
            When::After(..) => self.base,
            _ => Instant::ZERO,
        };
        let returns = call.returns.map(|after| start + after);
        match (reply, returns) {
            (Some(returned), None) => Ok(self.held(call, returned)),
            (Some(returned), Some(returns)) => {
                let outcome = self.held(call, returned);
                Ok(outcome.and_then(|()| self.in_time(statement.line, returns)))
            }
            (None, Some(returns)) => {
                let until = self.patience(call, now);
                self.waiting = Some(Waiting {
                    statement,
                    call,
                    returns,
                    until,
                });
                Ok(Ok(()))
            }
            (None, None) => self.refuse(
                statement.line,
                format!("{} that waits", call.name),
                "say when it returns, as in +0...+0.1 connect(...) = 0, or set O_NONBLOCK before",
            ),
        }
    }

    fn held(&mut self, call: &Call, returned: super::call::Returned) -> Outcome {
        let differs = self.differs.take();
        held_against(call, returned)?;
        differs.map_or(Ok(()), Err)
    }

    /// Checks the time at which a call returns.
    fn in_time(&self, line: u32, returns: Instant) -> Outcome {
        let (now, tolerance) = (self.present(), self.environment.tolerance);
        if now.since(returns).max(returns.since(now)) > tolerance {
            let expected = format!("the call of line {line} returns at {returns}");
            return Err((expected, format!("it returns at {now}")));
        }
        Ok(())
    }

    /// The state has changed: notifies watches, and attempts the waiting call again.
    pub(super) fn settle(&mut self) -> Result<(), DrillError> {
        self.wake();
        let Some(mut waiting) = self.waiting.take() else {
            return Ok(());
        };
        let line = waiting.statement.line;
        self.retrying = true;
        self.patience_over = waiting.until.is_some_and(|until| until <= self.present());
        let reply = self.attempt(line, waiting.call)?;
        let is_over = self.patience_over;
        (self.retrying, self.patience_over) = (false, false);
        let Some(returned) = reply else {
            if is_over {
                waiting.until = None;
            }
            self.waiting = Some(waiting);
            return Ok(());
        };
        let outcome = self.held(waiting.call, returned);
        let outcome = outcome.and_then(|()| self.in_time(line, waiting.returns));
        if let Err((expected, seen)) = outcome {
            self.late = Some(self.failure(waiting.statement, expected, seen));
        }
        Ok(())
    }

    // ---- arriving segments ---------------------------------------------------------

    fn arrives(&mut self, line: u32, spec: &SegmentSpec) -> Result<Outcome, DrillError> {
        let is_new = spec.syn && !spec.dot && self.sockets.connected.is_none();
        let is_gone = |c: &Tested| is_new && (c.tcp.is_done() || c.tcp.is_reset());
        let present = self.connection.as_mut().filter(|c| !is_gone(c));
        let Some(connection) = present else {
            if !self.sockets.listens {
                return self.refuse(line, spec.to_string(), "nobody listens yet");
            }
            if !spec.syn || spec.dot || spec.rst {
                // A listener answers a segment of no connection (tcp_v4_send_reset()).
                let answer = Refusal::of(&arrival(spec, None));
                self.strays.extend(answer.map(|a| stray(self.now, a)));
                return Ok(Ok(()));
            }
            let now = self.present();
            let queue = self.sockets.fast_open_queue;
            let answer = self
                .environment
                .fast_open
                .answer(spec, queue, self.sockets.no_cookie);
            let opened = Tested::open(
                &self.environment,
                now,
                Some(spec),
                &self.sockets.set,
                answer,
            );
            self.connection = Some(self.explain(line, opened)?);
            self.report_without(line);
            self.settle()?;
            return Ok(Ok(()));
        };
        if !self.environment.is_linux() && connection.is_within(spec) {
            let text = "an edge within a segment stands for that of the segment: the sender counts whole ones";
            self.environment.note(line, text);
        }
        let was_connecting = connection.tcp.is_connecting();
        let taken = connection.arrives(spec, &self.environment);
        let is_answered = was_connecting && !connection.tcp.is_connecting();
        if let Err((what, why)) = self.explain(line, taken)? {
            return self.refuse(line, what, why);
        }
        if is_answered && spec.dot {
            self.keep_cookie(spec);
        }
        if spec.syn {
            self.report_without(line);
        } else {
            self.report_idle_options(line, spec);
        }
        self.settle()?;
        Ok(Ok(()))
    }

    fn report_without(&mut self, line: u32) {
        let without = self
            .connection
            .as_ref()
            .and_then(|c| c.does_without(&self.environment));
        if let Some(text) = without {
            self.environment.note(line, text);
        }
    }

    /// Adds a note on the ignored options of a segment after the handshake.
    fn report_idle_options(&mut self, line: u32, spec: &SegmentSpec) {
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

    /// Names the line at which a sender lacks a feature that it needs.
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

    // ---- sent segments ---------------------------------------------------------------

    /// Compares the next segments with `spec`; also returns when they were sent.
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
                let before = seen.map_or("nothing".into(), |s: Sent| format!("{s} and no more"));
                let outcome = Err((expected(), format!("{before} until {patient}")));
                return Ok((outcome, patient));
            };
            let differs = |sent: &str| Err((expected(), format!("{sent} at {}", next.at)));
            let whole = match &seen {
                None => Some(next.clone()),
                Some(before) => joined(before, &next),
            };
            let Some(whole) = whole else {
                let first = seen.map_or(String::new(), |s| format!("{s} at {} and then ", s.at));
                return Ok((differs(&format!("{first}{next}")), next.at));
            };
            if !fits(spec, &whole) || next.at + tolerance < from || next.at > latest {
                return Ok((differs(&whole.to_string()), next.at));
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
        loop {
            let stray = self.strays.pop_front();
            let sent = stray.or_else(|| self.connection.as_mut()?.sent.pop_front());
            if sent.is_some() || !self.next_event(line, latest)? {
                return Ok(sent);
            }
        }
    }

    /// The differences of flags and options, as in the script and as sent.
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
        let flags = [("ECE", spec.ece, sent.ece), ("CWR", spec.cwr, sent.cwr)];
        if let Some((what, stated, seen)) = flags.iter().find(|(_, a, b)| a != b) {
            return Some((has(*stated, what), has(*seen, what)));
        }
        if spec.urgent != sent.urgent {
            let tell =
                |pointer: Option<u64>| pointer.map_or("no URG".into(), |p| format!("urg {p}"));
            return Some((tell(spec.urgent), tell(sent.urgent)));
        }
        let ect = spec.ecn.map(|ecn| ecn == Ecn::Capable);
        if let Some(ect) = ect.filter(|&ect| ect != sent.ect) {
            return Some((has(ect, "ECT"), has(sent.ect, "ECT")));
        }
        let connection = self.connection.as_mut()?;
        let options = &spec.options;
        if !options.stated || sent.carries == Carries::Reset {
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
            (
                "SACK blocks",
                !options.sack.is_empty(),
                !sent.sack.is_empty(),
            ),
            (
                "FO or FOEXP",
                options.cookie.is_some(),
                sent.fast_open.is_some(),
            ),
            ("a signature", options.signed, false),
            ("mss", options.mss.is_some(), is_syn),
        ];
        if let Some((what, stated, seen)) = switches.iter().find(|(_, a, b)| a != b) {
            return Some((has(*stated, what), has(*seen, what)));
        }
        if options.sack != sent.sack {
            let written = |blocks: &[(u64, u64)]| {
                let blocks = blocks.iter().map(|(left, right)| format!("{left}:{right}"));
                format!("sack {}", blocks.collect::<Vec<_>>().join(" "))
            };
            return Some((written(&options.sack), written(&sent.sack)));
        }
        let cookie = self.environment.fast_open.option(spec);
        if cookie != sent.fast_open {
            return Some((cookie_text(cookie), cookie_text(sent.fast_open.clone())));
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

    fn code(&mut self, statement: &Statement, steps: &[Step]) -> Result<Outcome, DrillError> {
        self.base = match statement.when {
            When::At(from, until) if from == until => Instant::ZERO + from,
            When::After(from, until) if from == until => self.base + from,
            _ => self.present(),
        };
        let connection = self.connection.as_ref();
        let value = |field| connection.map(|c| c.value(field));
        let Err(missed) = self.machine.run(steps, &value) else {
            return Ok(Ok(()));
        };
        let Missed { check, fault } = *missed;
        let mut seen: Vec<_> = check
            .fields
            .iter()
            .filter_map(|&field| Some(value_text(field, value(field)?)))
            .collect();
        match fault {
            Some(Fault::NoConnection) => {
                let what = format!("\"{}\"", check.text);
                return self.refuse(check.line, what, "there is no connection yet");
            }
            Some(Fault::Wrong(reason)) => seen.push(reason),
            _ if seen.is_empty() => seen.push("it does not hold, whatever the sender does".into()),
            _ => {}
        }
        let expected = check.text.trim_start_matches("assert").trim_start();
        let outcome = Err((expected.to_string(), seen.join(", ")));
        self.missed = Some((check.line, check.text.clone()));
        Ok(outcome)
    }

    pub(super) fn wait_until_now(&mut self, line: u32) -> Result<(), DrillError> {
        let now = self.now;
        self.advance(line, now)
    }
}

/// An RST that is sent now.
fn stray(at: Instant, refusal: Refusal) -> Sent {
    Sent {
        at,
        carries: Carries::Reset,
        from: refusal.from,
        to: refusal.from,
        ack: refusal.ack,
        echo: None,
        sack_permitted: false,
        urgent: None,
        ece: false,
        cwr: false,
        ect: false,
        sack: Vec::new(),
        fast_open: None,
    }
}

/// Merges two segments into one, as seen from a sender that leaves segmentation to its network card.
fn joined(first: &Sent, second: &Sent) -> Option<Sent> {
    let is_data = matches!(second.carries, Carries::Bytes { .. });
    let plain = first.carries == Carries::Bytes { fin: false } && is_data;
    let follows = first.to == second.from && second.to > second.from;
    (plain && follows && first.ack == second.ack).then_some(Sent {
        from: first.from,
        at: first.at,
        // Only the first packet of an offloaded segment carries it.
        cwr: first.cwr,
        ..second.clone()
    })
}

/// An option of TCP Fast Open in the notation of a script.
fn cookie_text(option: Option<FastOpenOption>) -> String {
    let option = option.unwrap_or_default();
    let name = if option.is_experimental {
        "FOEXP"
    } else {
        "FO"
    };
    let digits = option.cookie.iter().map(|byte| format!("{byte:02x}"));
    format!("{name} {}", digits.collect::<String>())
}

/// Whether the segment is the expected one, or its first part.
fn fits(spec: &SegmentSpec, sent: &Sent) -> bool {
    spec.syn == (sent.carries == Carries::Syn)
        && spec.rst == (sent.carries == Carries::Reset)
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
            urgent: None,
            ece: false,
            cwr: false,
            ect: false,
            sack: Vec::new(),
            fast_open: None,
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
