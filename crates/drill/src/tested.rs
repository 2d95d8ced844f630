//! The connection that a script tests: what it has put on the network, what is
//! counted of it, and what a script may not hand it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use midflight_endpoint::{Arrival, Connection, Departure, Settings};
use midflight_tcp::{ConfigError, Log, SenderEvent};
use midflight_units::{Duration, Instant};

use super::environment::Environment;
use super::report::{self, Counts, Field};
use super::script::{Options, SegmentSpec};

/// Expiries of the timer after which a script is given up.
const MOST_TIMEOUTS: u64 = 100_000;
/// More segments than any script needs.
const MOST_SEGMENTS: u64 = 100_000;

/// What a segment that was sent carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carries {
    Syn,
    /// Bytes, perhaps none, and the FIN or not.
    Bytes {
        fin: bool,
    },
}

/// A segment that the sender has put on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) at: Instant,
    pub(super) carries: Carries,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) ack: Option<u64>,
    /// It has a timestamps option with this echo.
    pub(super) echo: Option<u64>,
    /// Its SYN permits SACK.
    pub(super) sack_permitted: bool,
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = match self.carries {
            Carries::Syn => "S",
            Carries::Bytes { fin: true } => "F",
            Carries::Bytes { fin: false } => "",
        };
        let dot = if self.ack.is_some() { "." } else { "" };
        let (from, to) = (self.from, self.to);
        write!(f, "{flags}{dot} {from}:{to}({})", to - from)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        Ok(())
    }
}

/// Why a segment that arrives cannot be taken.
pub(super) type Refusal = (String, &'static str);

/// What a drill has to know of what its sender reports.
#[derive(Debug, Default)]
struct SenderReports {
    undone: bool,
    fault: Option<Refusal>,
}

impl Log for SenderReports {
    fn record(&mut self, at: Instant, event: SenderEvent<'_>) {
        match event {
            SenderEvent::SpuriousTimeout | SenderEvent::SpuriousRetransmit => self.undone = true,
            SenderEvent::WindowRefused { author, cwnd } => {
                let what = format!(
                    "a congestion window of {cwnd} segments, which {author} ordered at {at},"
                );
                self.fault.get_or_insert((what, "the least is 1"));
            }
            _ => {}
        }
    }
}

/// One connection, from the SYN on.
#[derive(Debug)]
pub(super) struct Tested {
    pub(super) now: Instant,
    pub(super) tcp: Connection,
    told: SenderReports,
    pub(super) counts: Counts,
    /// What was sent and not yet looked at.
    pub(super) sent: VecDeque<Sent>,
    timeouts: u64,
    /// When the segments were sent that had these timestamps in the script.
    stamps: BTreeMap<u64, Instant>,
}

impl Tested {
    /// A connection whose SYN goes now: an answer to `peer`, or one of our own.
    ///
    /// # Errors
    /// [`ConfigError`] if the sender cannot do without what is not agreed on.
    pub(super) fn open(
        environment: &Environment<'_>,
        now: Instant,
        peer: Option<&SegmentSpec>,
        nagle: bool,
    ) -> Result<Self, ConfigError> {
        let settings = Settings {
            mss: environment.mss,
            sack: environment.sack,
            timestamps: environment.timestamps,
            window_scaling: environment.window_scaling,
            nagle,
            // What comes when a connection is over is not looked at.
            time_wait: Duration::ZERO,
            ..Settings::new(environment.built.clone())
        };
        let mut told = SenderReports::default();
        let tcp = match peer {
            Some(syn) => Connection::accept(settings, now, &arrival(syn, None), &mut told)?,
            None => Connection::connect(settings, now, &mut told)?,
        };
        let mut tested = Self {
            now,
            tcp,
            told,
            counts: Counts::default(),
            sent: VecDeque::new(),
            timeouts: 0,
            stamps: BTreeMap::new(),
        };
        tested.transmit();
        Ok(tested)
    }

    /// What is done without because the other side has not got it.
    pub(super) fn does_without(&self, environment: &Environment<'_>) -> Option<&'static str> {
        let recovery = environment.built.profile.sender.recovery;
        (environment.sack && !self.tcp.has_sack() && recovery.uses_sack())
            .then_some("SACK is not agreed on: recovery is newreno on this connection")
    }

    // ---- sending -------------------------------------------------------------

    /// Everything that may go, goes.
    fn transmit(&mut self) {
        while let Some(departure) = self.tcp.poll_transmit(self.now) {
            self.record(&departure);
        }
        if self.tcp.sender().is_stuck() {
            let what = format!("a sender that stopped for ever at {}", self.now);
            let why = "it has data to send, but no timer runs: a bug of one of its parts";
            self.told.fault.get_or_insert((what, why));
        }
    }

    fn record(&mut self, departure: &Departure) {
        let &Departure { syn, from, to, .. } = departure;
        self.counts.sent += 1;
        self.counts.data_sent += u64::from(to > from);
        self.counts.retransmitted += u64::from(departure.retransmission);
        self.sent.push_back(Sent {
            at: self.now,
            carries: if syn {
                Carries::Syn
            } else {
                Carries::Bytes { fin: departure.fin }
            },
            from,
            to,
            ack: departure.ack,
            echo: departure.echo,
            sack_permitted: syn && self.tcp.has_sack(),
        });
    }

    /// The application writes; false if that is more than a script may.
    pub(super) fn write(&mut self, bytes: u64) -> bool {
        let stream = self.tcp.stream();
        if bytes / stream.mss() + stream.segments_end() > MOST_SEGMENTS {
            return false;
        }
        self.tcp.write(self.now, bytes, &mut self.told);
        self.transmit();
        true
    }

    /// The application has no more to send.
    pub(super) fn close(&mut self) {
        self.tcp.close(self.now, &mut self.told);
        self.transmit();
    }

    /// The application changes its mind about Nagle's algorithm.
    pub(super) fn set_nagle(&mut self, nagle: bool) {
        self.tcp.set_nagle(self.now, nagle, &mut self.told);
        self.transmit();
    }

    // ---- time ------------------------------------------------------------------

    /// Lets time pass until `to`; false if the timer has expired too often.
    pub(super) fn advance(&mut self, to: Instant) -> bool {
        while let Some(due) = self.tcp.next_timeout().filter(|&due| due <= to) {
            if !self.expire(due) {
                return false;
            }
        }
        self.now = self.now.max(to);
        true
    }

    /// Lets time pass until something is sent, at most until `latest`; false
    /// if the timer has expired too often.
    pub(super) fn wait(&mut self, latest: Instant) -> bool {
        while self.sent.is_empty() {
            match self.tcp.next_timeout() {
                Some(due) if due <= latest => {
                    if !self.expire(due) {
                        return false;
                    }
                }
                _ => break,
            }
        }
        true
    }

    fn expire(&mut self, due: Instant) -> bool {
        self.timeouts += 1;
        if self.timeouts > MOST_TIMEOUTS {
            return false;
        }
        self.now = self.now.max(due);
        if self.tcp.on_timeout(self.now, &mut self.told) {
            self.counts.timeouts += 1;
            self.counts.loss_point = self.tcp.sender().view().snd_max;
        }
        self.transmit();
        true
    }

    // ---- arrivals ----------------------------------------------------------------

    /// A segment of the other side arrives.
    ///
    /// # Errors
    /// What is refused and why, or what the sender cannot do without.
    pub(super) fn arrives(
        &mut self,
        spec: &SegmentSpec,
        environment: &Environment<'_>,
    ) -> Result<Result<(), Refusal>, ConfigError> {
        if let Some(refusal) = self.refusal(spec) {
            return Ok(Err(refusal));
        }
        let echo = match spec.options.timestamps {
            Some((_, echo)) if self.tcp.has_timestamps() => {
                let sent = self.sent_at(echo, environment.timestamp_tick);
                if sent.is_none() {
                    let why = "no segment of ours had that timestamp; give the timestamps of what is sent";
                    return Ok(Err((format!("ecr {echo}"), why)));
                }
                sent
            }
            _ => None,
        };
        let una = self.tcp.sender().view().snd_una;
        self.told.undone = false;
        let segment = arrival(spec, echo);
        self.tcp.on_segment(self.now, &segment, &mut self.told)?;
        if self.told.undone {
            self.counts.loss_point = 0;
        }
        if self.tcp.sender().view().snd_una > una {
            self.counts.timeouts = 0;
        }
        self.transmit();
        Ok(Ok(()))
    }

    /// Why the segment cannot be taken, if so.
    fn refusal(&self, spec: &SegmentSpec) -> Option<Refusal> {
        let connection = &self.tcp;
        let refuse = |what: String, why| Some((what, why));
        let connecting = connection.is_connecting();
        if spec.syn && !(connecting && spec.dot && spec.ack == Some(1)) {
            return refuse(spec.to_string(), "this connection has its SYN");
        }
        if connecting && !spec.syn {
            return refuse(
                spec.to_string(),
                "the answer to our SYN comes first: S. 0:0(0) ack 1",
            );
        }
        let Some(ack) = spec.ack else {
            return refuse(spec.to_string(), "a segment of a connection carries an ACK");
        };
        if spec.to > spec.from {
            return refuse(
                format!("data that arrives, {}:{}", spec.from, spec.to),
                "the simulated sender sends and does not receive",
            );
        }
        if !spec.syn && spec.from != connection.received() {
            return refuse(
                spec.to_string(),
                "it is not in sequence; keep-alives and late segments are not modelled",
            );
        }
        // What is in the stream and was never sent.
        let stream = connection.stream();
        let sent = stream.byte_of(connection.sender().view().snd_max);
        if ack > sent {
            return refuse(format!("ack {ack}"), "it acknowledges what was never sent");
        }
        let blocks = &spec.options.sack;
        if blocks.iter().any(|&(_, right)| right > sent) {
            return refuse(spec.to_string(), "it reports what was never sent");
        }
        if blocks.iter().any(|&(left, right)| left >= right) {
            return refuse(spec.to_string(), "a block ends after it starts");
        }
        if !connecting && connection.has_timestamps() && spec.options.timestamps.is_none() {
            return refuse(
                spec.to_string(),
                "timestamps are agreed on, so every segment has them (RFC 7323 section 3.2)",
            );
        }
        if stream.segment_at(ack).is_none() {
            return refuse("an ACK within a segment".into(), ON_EDGES);
        }
        let is_edge = |byte| stream.segment_at(byte).is_some();
        let within = |&&(left, right): &&(u64, u64)| !(is_edge(left) && is_edge(right));
        let within = blocks.iter().find(within);
        match within.filter(|_| connection.has_sack()) {
            Some((left, right)) => refuse(format!("the block {left}:{right}"), ON_EDGES),
            None => None,
        }
    }

    /// When the segment was sent whose timestamp has this value in the script:
    /// as its lines say, or else by the tick from the first that they say.
    fn sent_at(&self, value: u64, tick: Duration) -> Option<Instant> {
        if let Some(&at) = self.stamps.get(&value) {
            return Some(at);
        }
        let (&first, &at) = self.stamps.first_key_value()?;
        let later = at + tick * value.checked_sub(first)?;
        (later <= self.now).then_some(later)
    }

    /// A line of the script says that what was sent at `at` had this timestamp;
    /// what it should be if that cannot be.
    pub(super) fn stamp(
        &mut self,
        value: u64,
        at: Instant,
        environment: &Environment<'_>,
    ) -> Result<(), String> {
        let off = |a: Instant, b: Instant| a.since(b).max(b.since(a)) > environment.tolerance;
        if environment.timestamps_compared {
            let known = self.stamps.first_key_value();
            if let Some((&first, &start)) = known {
                let ticks = at.since(start).as_nanos() / environment.timestamp_tick.as_nanos();
                let should = start + environment.timestamp_tick * value.saturating_sub(first);
                if off(should, at) {
                    return Err(format!("TS val {}", first + ticks));
                }
            }
        }
        match self.stamps.get(&value) {
            Some(&other) if off(other, at) => Err(format!(
                "another value, as TS val {value} was that of a segment sent at {other}"
            )),
            _ => {
                self.stamps.insert(value, at);
                Ok(())
            }
        }
    }

    // ---- what can be asked ------------------------------------------------------

    /// What the sender did that no sender may, and why not.
    pub(super) fn fault(&self) -> Option<Refusal> {
        self.told.fault.clone()
    }

    pub(super) fn value(&self, field: Field) -> f64 {
        report::value(field, &self.tcp, &self.counts)
    }

    pub(super) fn state(&self) -> Vec<(&'static str, String)> {
        let stream = self.tcp.stream();
        report::state(self.now, self.tcp.sender(), |s| stream.byte_of(s))
    }
}

/// A segment of the script, which echoes the timestamp of what was sent then.
fn arrival(spec: &SegmentSpec, echo: Option<Instant>) -> Arrival {
    let Options {
        mss,
        window_scale,
        sack_permitted,
        timestamps,
        ref sack,
        ..
    } = spec.options;
    Arrival {
        syn: spec.syn,
        fin: spec.fin,
        from: spec.from,
        to: spec.to,
        ack: spec.ack,
        window: spec.window.unwrap_or(0),
        mss,
        window_scale,
        sack_permitted,
        timestamp: timestamps.map(|(value, _)| value),
        echo,
        sack: sack.clone(),
        ..Arrival::default()
    }
}

/// Why bytes within a segment are refused.
const ON_EDGES: &str = "the simulated sender counts whole segments, of which it lies within one";
