//! The one connection of a script: the sender, its bytes, what it has put on
//! the network, and the little of a receiver that a handshake and the other
//! side's FIN need (RFC 9293 sections 3.5 and 3.6).

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use midflight_tcp::scheme::SchemeError;
use midflight_tcp::{
    Ack, Log, RecoveryKind, RttSampling, SackBlock, SackBlocks, Says, Segment, Sender,
    SenderConfig, SenderEvent,
};
use midflight_units::{Duration, Instant, Seq};

use super::environment::{Environment, HEADERS};
use super::report::{self, Counts, Field};
use super::script::{Options, SegmentSpec};
use super::stream::Stream;
use crate::error::StudyError;

/// Expiries of the timer after which a script is given up.
const MOST_TIMEOUTS: u64 = 100_000;
/// What the timestamps option takes of a segment (RFC 7323 appendix A).
const TIMESTAMP_BYTES: u64 = 12;

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
struct Told {
    undone: bool,
    fault: Option<Refusal>,
}

impl Log for Told {
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
pub(super) struct Connection {
    pub(super) now: Instant,
    sender: Sender,
    told: Told,
    pub(super) stream: Stream,
    pub(super) counts: Counts,
    /// What was sent and not yet looked at.
    pub(super) sent: VecDeque<Sent>,
    /// It was opened from here, and the SYN has no answer yet.
    connecting: bool,
    opened: Instant,
    /// Expiries of the timer before the answer to our SYN.
    early: Vec<Instant>,
    timeouts: u64,
    sack: bool,
    timestamps: bool,
    window_scaling: bool,
    mss: u64,
    /// Places to shift the other side's window by (RFC 7323 section 2).
    shift: u64,
    /// The window of the last segment that arrived, and one past the last byte that it allows.
    window: u64,
    edge: u64,
    /// RCV.NXT
    received: u64,
    /// TS.Recent
    recent: u64,
    /// When the segments were sent that had these timestamps in the script.
    stamps: BTreeMap<u64, Instant>,
}

impl Connection {
    /// A connection whose SYN goes now: an answer to `peer`, or one of our own.
    ///
    /// # Errors
    /// [`StudyError::Config`] if the sender cannot do without what is not agreed on.
    pub(super) fn open(
        environment: &Environment<'_>,
        now: Instant,
        peer: Option<&SegmentSpec>,
        nagle: bool,
    ) -> Result<Self, StudyError> {
        let mut connection = Self {
            now,
            sender: Sender::new(&environment.built.profile.sender, []),
            told: Told::default(),
            stream: Stream::new(1, nagle),
            counts: Counts::default(),
            sent: VecDeque::new(),
            connecting: peer.is_none(),
            opened: now,
            early: Vec::new(),
            timeouts: 0,
            sack: environment.sack,
            timestamps: environment.timestamps,
            window_scaling: environment.window_scaling,
            mss: environment.mss,
            shift: 0,
            window: 0,
            edge: 0,
            received: 0,
            recent: 0,
            stamps: BTreeMap::new(),
        };
        if let Some(syn) = peer {
            connection.agree(syn);
        }
        connection.sender = connection.make_sender(environment)?;
        connection.transmit();
        Ok(connection)
    }

    /// Takes the options of the other side's SYN (RFC 9293 section 3.7.1, RFC
    /// 2018 section 2, RFC 7323 sections 2.2 and 3.2).
    fn agree(&mut self, syn: &SegmentSpec) {
        let Options {
            mss,
            window_scale,
            sack_permitted,
            timestamps,
            ..
        } = syn.options;
        self.sack &= sack_permitted;
        self.timestamps &= timestamps.is_some();
        self.window_scaling &= window_scale.is_some();
        self.recent = timestamps.map_or(0, |(value, _)| value);
        self.shift = window_scale.filter(|_| self.window_scaling).unwrap_or(0);
        // RFC 9293 section 3.7.1: 536 if the other side says nothing.
        let largest = self.mss.min(mss.unwrap_or(536).max(TIMESTAMP_BYTES + 1));
        let options = if self.timestamps { TIMESTAMP_BYTES } else { 0 };
        self.stream = Stream::new(largest.saturating_sub(options), self.stream.nagle);
        self.counts.mss = self.stream.mss();
        self.received = 1;
        self.window = syn.window.unwrap_or(0);
        // The window of a SYN is not scaled (RFC 7323 section 2.2).
        self.edge = 1 + self.window;
    }

    /// The sender for what is agreed on, with its SYN sent when it was.
    fn make_sender(&mut self, environment: &Environment<'_>) -> Result<Sender, StudyError> {
        let mut profile = environment.built.profile;
        profile.receiver.timestamps = self.timestamps;
        if !self.sack {
            profile.receiver.sack_blocks = 0;
            profile.receiver.dsack = false;
        }
        profile.sender = self.configuration(profile.sender);
        profile.check().map_err(SchemeError::from)?;
        let mut sender = Sender::new(&profile.sender, environment.built.policies.iter().cloned());
        sender.set_end(1);
        sender.open(self.opened, &mut self.told);
        let drain = |sender: &mut Sender, at| while sender.poll_transmit(at).is_some() {};
        if self.counts.sent > 0 {
            drain(&mut sender, self.opened);
            for &expiry in &self.early {
                sender.on_timer(expiry, &mut self.told);
                drain(&mut sender, expiry);
            }
        }
        Ok(sender)
    }

    fn configuration(&self, mut sender: SenderConfig) -> SenderConfig {
        if !self.sack && sender.recovery.uses_sack() {
            sender.recovery = RecoveryKind::NewReno;
        }
        if !self.timestamps {
            sender.rtt_sampling = RttSampling::OnePerWindow;
        }
        // The initial window is a rule of bytes (RFC 6928).
        sender.segment_bytes = u32::try_from(self.stream.mss() + HEADERS).unwrap_or(u32::MAX);
        sender
    }

    /// What is done without because the other side has not got it.
    pub(super) fn does_without(&self, environment: &Environment<'_>) -> Option<&'static str> {
        let recovery = environment.built.profile.sender.recovery;
        (environment.sack && !self.sack && recovery.uses_sack())
            .then_some("SACK is not agreed on: recovery is newreno on this connection")
    }

    pub(super) fn is_established(&self) -> bool {
        self.sender.view().snd_una > 0
    }

    /// SACK is agreed on.
    pub(super) fn has_sack(&self) -> bool {
        self.sack
    }

    /// Timestamps are agreed on.
    pub(super) fn has_timestamps(&self) -> bool {
        self.timestamps
    }

    /// The other side has no more to send.
    pub(super) fn has_ended(&self) -> bool {
        self.received > 1
    }

    // ---- sending -------------------------------------------------------------

    /// Limits the sender to what there is and the other side takes, when `una` is acknowledged.
    fn limit(&mut self, una: Seq) {
        let end = if self.connecting {
            1
        } else {
            self.stream.sendable_end(self.edge, una)
        };
        let end = end.max(self.sender.view().snd_max).max(1);
        if self.counts.unsent_bytes > 0 {
            // The other side's window was what it waited for, not the application.
            self.sender.set_end(end);
        } else {
            self.sender.write_until(self.now, end, &mut self.told);
        }
    }

    /// Everything that may go, goes.
    fn transmit(&mut self) {
        self.limit(self.sender.view().snd_una);
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.record(segment);
        }
        if self.sender.is_stuck() {
            let what = format!("a sender that stopped for ever at {}", self.now);
            let why = "it has data to send, but no timer runs: a bug of one of its parts";
            self.told.fault.get_or_insert((what, why));
        }
        let end = self.stream.end();
        self.counts.unsent_bytes = end - self.stream.byte_of(self.sender.view().snd_max).min(end);
    }

    fn record(&mut self, segment: Segment) {
        let (from, to, fin) = if segment.probe {
            // The last byte that is acknowledged, and none of it.
            let last = self.stream.byte_of(segment.seq + 1).saturating_sub(1);
            (last, last, false)
        } else {
            self.stream.bytes(segment.seq).unwrap_or((0, 0, false))
        };
        let is_syn = segment.seq == 0 && !segment.probe;
        self.counts.sent += 1;
        self.counts.data_sent += u64::from(to > from);
        self.counts.retransmitted += u64::from(segment.retransmission && !segment.probe);
        self.sent.push_back(Sent {
            at: self.now,
            carries: if is_syn {
                Carries::Syn
            } else {
                Carries::Bytes { fin }
            },
            from,
            to,
            ack: (!self.connecting).then_some(self.received),
            echo: self.timestamps.then_some(self.recent),
            sack_permitted: is_syn && self.sack,
        });
    }

    /// An ACK of our own, without data.
    fn acknowledge(&mut self) {
        let next = self.stream.byte_of(self.sender.view().snd_max);
        self.counts.sent += 1;
        self.sent.push_back(Sent {
            at: self.now,
            carries: Carries::Bytes { fin: false },
            from: next,
            to: next,
            ack: Some(self.received),
            echo: self.timestamps.then_some(self.recent),
            sack_permitted: false,
        });
    }

    /// The other side's window closes the sender's when `una` is acknowledged:
    /// there is a segment to be acknowledged, and it holds less than that one.
    fn is_shut(&self, una: Seq) -> bool {
        una < self.stream.segments_end() && self.stream.window_end(self.edge) <= una
    }

    /// Tells a sender that had nothing to send that the window takes none of
    /// what it has now: it is to probe.
    fn tell_of_window(&mut self) {
        let una = self.sender.view().snd_una;
        if self.is_established() && self.is_shut(una) && !self.sender.is_window_closed() {
            let ack = Ack {
                ack: una,
                sack: SackBlocks::default(),
                echo: None,
                cause_sent: self.opened,
                says: Says::ZeroWindow,
            };
            self.sender.on_ack(self.now, &ack, &mut self.told);
        }
    }

    /// The application writes; false if that is more than a script may.
    pub(super) fn write(&mut self, bytes: u64) -> bool {
        let taken = self.stream.write(bytes, self.sender.view().snd_max);
        self.tell_of_window();
        self.transmit();
        taken
    }

    /// The application has no more to send.
    pub(super) fn close(&mut self) {
        if !self.stream.is_closed() {
            self.stream.close(self.sender.view().snd_max);
            self.tell_of_window();
            self.transmit();
        }
    }

    /// The application changes its mind about Nagle's algorithm.
    pub(super) fn set_nagle(&mut self, nagle: bool) {
        self.stream.nagle = nagle;
        self.transmit();
    }

    // ---- time ------------------------------------------------------------------

    /// Lets time pass until `to`; false if the timer has expired too often.
    pub(super) fn advance(&mut self, to: Instant) -> bool {
        while let Some((due, _)) = self.sender.poll_timer().filter(|&(due, _)| due <= to) {
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
            match self.sender.poll_timer() {
                Some((due, _)) if due <= latest => {
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
        if self.sender.on_timer(self.now, &mut self.told) {
            self.counts.timeouts += 1;
            self.counts.loss_point = self.sender.view().snd_max;
        }
        if self.connecting {
            self.early.push(self.now);
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
    ) -> Result<Result<(), Refusal>, StudyError> {
        if let Some(refusal) = self.refusal(spec) {
            return Ok(Err(refusal));
        }
        if spec.syn {
            self.agree(spec);
            self.sender = self.make_sender(environment)?;
            self.connecting = false;
        }
        let echo = match (spec.options.timestamps, self.timestamps) {
            (Some((value, echo)), true) => {
                self.recent = value;
                match self.sent_at(echo, environment.timestamp_tick) {
                    None => {
                        let why = "no segment of ours had that timestamp; give the timestamps of what is sent";
                        return Ok(Err((format!("ecr {echo}"), why)));
                    }
                    known => known,
                }
            }
            _ => None,
        };
        let acked = spec.ack.and_then(|byte| self.stream.segment_at(byte));
        let Some(ack) = acked else {
            return Ok(Err(("an ACK within a segment".into(), ON_EDGES)));
        };
        let mut sack = SackBlocks::default();
        if self.sack {
            for &(left, right) in &spec.options.sack {
                let edges = (self.stream.segment_at(left), self.stream.segment_at(right));
                let (Some(left), Some(right)) = edges else {
                    return Ok(Err((format!("the block {left}:{right}"), ON_EDGES)));
                };
                sack.push(ack, SackBlock { left, right });
            }
        }
        let before = self.sender.view();
        let window = spec.window.unwrap_or(0);
        let was_shut = self.sender.is_window_closed();
        let moved = self.take_window(spec, window, before.snd_una <= ack);
        // RFC 5681 section 2: a duplicate carries no FIN and moves no window. What
        // shuts the window or opens it again is the sender's affair.
        let counts = self.sender.config().count_window_updates;
        let shuts = self.is_shut(before.snd_una.max(ack));
        let is_update = ack == before.snd_una
            && (moved && !counts || spec.fin)
            && sack.is_empty()
            && !shuts
            && !was_shut;
        self.limit(before.snd_una.max(ack));
        if !is_update {
            let ack = Ack {
                ack,
                sack,
                echo,
                cause_sent: echo.unwrap_or(self.opened),
                says: if shuts {
                    Says::ZeroWindow
                } else {
                    Says::Nothing
                },
            };
            self.told.undone = false;
            self.sender.on_ack(self.now, &ack, &mut self.told);
            if self.told.undone {
                self.counts.loss_point = 0;
            }
            if self.sender.view().snd_una > before.snd_una {
                self.counts.timeouts = 0;
            }
        }
        if spec.syn {
            self.acknowledge();
        }
        if spec.fin && self.received == spec.to {
            self.received += 1;
            self.acknowledge();
        }
        self.transmit();
        Ok(Ok(()))
    }

    /// Why the segment cannot be taken, if so.
    fn refusal(&self, spec: &SegmentSpec) -> Option<Refusal> {
        let view = self.sender.view();
        let refuse = |what: String, why| Some((what, why));
        if spec.syn && !(self.connecting && spec.dot && spec.ack == Some(1)) {
            return refuse(spec.to_string(), "this connection has its SYN");
        }
        if self.connecting && !spec.syn {
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
        if !spec.syn && spec.from != self.received {
            return refuse(
                spec.to_string(),
                "it is not in sequence; keep-alives and late segments are not modelled",
            );
        }
        // What is in the stream and was never sent.
        let sent = self.stream.byte_of(view.snd_max);
        if ack > sent {
            return refuse(format!("ack {ack}"), "it acknowledges what was never sent");
        }
        if spec.options.sack.iter().any(|&(_, right)| right > sent) {
            return refuse(spec.to_string(), "it reports what was never sent");
        }
        if spec.options.sack.iter().any(|&(left, right)| left >= right) {
            return refuse(spec.to_string(), "a block ends after it starts");
        }
        if !self.connecting && self.timestamps && spec.options.timestamps.is_none() {
            return refuse(
                spec.to_string(),
                "timestamps are agreed on, so every segment has them (RFC 7323 section 3.2)",
            );
        }
        None
    }

    /// Takes the window of a segment; whether it differs from the last.
    fn take_window(&mut self, spec: &SegmentSpec, window: u64, current: bool) -> bool {
        let shift = if spec.syn { 0 } else { self.shift };
        let scaled = window << shift;
        if !current {
            return false;
        }
        self.edge = spec.ack.unwrap_or(0) + scaled;
        std::mem::replace(&mut self.window, scaled) != scaled
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
        report::value(field, &self.sender, &self.counts)
    }

    pub(super) fn state(&self) -> Vec<(&'static str, String)> {
        report::state(self.now, &self.sender, |s| self.stream.byte_of(s))
    }

    pub(super) fn largest(&self) -> u64 {
        self.mss
    }

    pub(super) fn scales(&self) -> bool {
        self.window_scaling
    }
}

/// Why bytes within a segment are refused.
const ON_EDGES: &str = "the simulated sender counts whole segments, of which it lies within one";
