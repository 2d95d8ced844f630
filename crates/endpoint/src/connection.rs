//! One connection in relative sequence numbers: handshake with its negotiated options, data in both
//! directions, windows, FINs and resets (RFC 9293 sections 3.5, 3.6, 3.8 and 3.10). The sender and
//! the receiver are `midflight_tcp`'s. `arrivals.rs` processes arriving segments.

mod arrivals;
mod handoff;

use std::collections::VecDeque;

use midflight_control::StartNotice;
use midflight_tcp::scheme::Built;
use midflight_tcp::{
    Ack, AckOption, ConfigError, Content, Log, Profile, Receiver, RecoveryKind, RttSampling,
    SackBlock, SackBlocks, Segment, Sender, SenderConfig,
};
use midflight_units::{Duration, Instant, Seq};
use midflight_wire::{HEADER_BYTES, TIMESTAMP_BYTES};

use crate::segment::{Arrival, Departure};
use crate::stream::Stream;

/// Twice the maximum segment lifetime (RFC 9293 section 3.4.2).
const TIME_WAIT: Duration = Duration::from_secs(240);

/// The settings of a connection.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The sender and the receiver.
    pub built: Built,
    /// The notice of the sender's access link before it opens.
    pub start_notice: Option<StartNotice>,
    /// Bytes of data in the largest segment without options, sent or received.
    pub mss: u64,
    /// SACK is offered.
    pub sack: bool,
    /// Timestamps are offered.
    pub timestamps: bool,
    /// Window scaling is offered.
    pub window_scaling: bool,
    /// Nagle's algorithm is used.
    pub nagle: bool,
    /// Bytes that may wait until the application reads them.
    pub receive_buffer: u64,
    /// How long the side that closes first still answers (TIME-WAIT).
    pub time_wait: Duration,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: Ecn,
    /// How long data or probes may go without an answer before the connection is given up (RFC 9293
    /// section 3.8.3, TCP_USER_TIMEOUT); none for ever.
    pub user_timeout: Option<Duration>,
}

/// The use of explicit congestion notification on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Nothing.
    #[default]
    Off,
    /// It agrees if the other side asks for it.
    Accept,
    /// It asks for it.
    Ask,
}

impl Settings {
    /// This sender and receiver, with segments for an MTU of 1500 bytes, everything offered that
    /// they have, and a buffer of 1 MiB.
    pub fn new(built: Built) -> Self {
        Self {
            start_notice: None,
            mss: u64::from(1500 - HEADER_BYTES),
            sack: built.profile.sender.recovery.uses_sack(),
            timestamps: built.profile.receiver.timestamps,
            window_scaling: true,
            nagle: true,
            receive_buffer: 1 << 20,
            time_wait: TIME_WAIT,
            ecn: Ecn::Off,
            user_timeout: None,
            built,
        }
    }
}

/// One connection, from the SYN on.
///
/// Hand in what happens; after each, take segments from [`Self::poll_transmit`] until there is
/// none, then ask [`Self::next_timeout`] when to call [`Self::on_timeout`]. A log gets the sender's events.
#[derive(Clone, Debug)]
pub struct Connection {
    settings: Settings,
    sender: Sender,
    receiver: Receiver,
    stream: Stream,
    /// It was opened from here, and the SYN has no answer yet.
    connecting: bool,
    opened: Instant,
    /// The SYN has been sent, and again at these times before there was an answer.
    syn_sent: bool,
    early: Vec<Instant>,
    sack: bool,
    timestamps: bool,
    window_scaling: bool,
    /// Places to shift the other side's window by (RFC 7323 section 2).
    shift: u64,
    /// The window of the last segment that arrived, and one past the last byte that it allows.
    window: u64,
    edge: u64,
    /// Sequence and ACK number of that segment (SND.WL1 and SND.WL2).
    window_from: (u64, u64),
    /// When there was nothing more to transmit, there was more in the stream.
    had_unsent: bool,
    /// ACKs that are due, and what else the next one is to say.
    acks: VecDeque<Ack>,
    answer: Option<AckOption>,
    /// The other side's FIN.
    end: Option<u64>,
    /// Bytes that the application has read, and one past the last byte that was advertised.
    read: u64,
    advertised: u64,
    /// The application closed before the other side did.
    closes_first: bool,
    time_wait_until: Option<Instant>,
    over: Option<Over>,
    congestion: Notification,
    /// Since when nothing has been acknowledged, with something outstanding or waiting.
    unanswered: Option<Instant>,
    /// When a short segment is sent that the application holds back.
    uncork_at: Option<Instant>,
    /// The application reads no more data.
    deaf: bool,
    /// An RST that answers a segment which is not of the connection: its sequence number.
    refusal: Option<u64>,
}

/// How a connection ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The other side reset it.
    Reset,
    /// The other side refused it: its answer to our SYN was an RST.
    Refused,
    /// Nothing was acknowledged for too long.
    TimedOut,
    /// We do; the RST is still to go.
    Aborting,
    /// We did.
    Aborted,
}

/// Explicit congestion notification on a connection (RFC 3168 section 6.1).
#[derive(Clone, Copy, Debug, Default)]
struct Notification {
    /// Both sides have agreed.
    agreed: bool,
    /// The SYN of the other side has asked for it.
    asked: bool,
    /// A mark has arrived: ACKs echo it until the sender has answered.
    echoes: bool,
    /// The window has been reduced, which the next new segment says.
    reduced: bool,
}

/// Linux sends what an application holds back (MSG_MORE, TCP_CORK) after a timeout, and not before this
/// time (TCP_RTO_MIN in tcp_probe0_base()).
const CORKED: Duration = Duration::from_millis(200);

impl Connection {
    /// A connection whose SYN is sent now.
    ///
    /// # Errors
    /// [`ConfigError`] for a sender that cannot do without what is not offered.
    pub fn connect<L: Log>(
        settings: Settings,
        now: Instant,
        log: &mut L,
    ) -> Result<Self, ConfigError> {
        let mut connection = Self::new(settings, now, true);
        connection.make_sender(log)?;
        connection.limit(now, 0, log);
        Ok(connection)
    }

    /// A connection that answers this SYN now.
    ///
    /// # Errors
    /// [`ConfigError`] for a sender that cannot do without what is not agreed on.
    pub fn accept<L: Log>(
        settings: Settings,
        now: Instant,
        syn: &Arrival,
        log: &mut L,
    ) -> Result<Self, ConfigError> {
        let mut connection = Self::new(settings, now, false);
        connection.agree(now, syn, log)?;
        connection.limit(now, 0, log);
        Ok(connection)
    }

    fn new(settings: Settings, now: Instant, connecting: bool) -> Self {
        let Profile {
            sender,
            parts,
            receiver,
            ..
        } = &settings.built.profile;
        Self {
            sender: Sender::new(sender, parts, []),
            receiver: Receiver::of_bytes(*receiver, settings.receive_buffer),
            stream: Stream::new(settings.mss, settings.nagle),
            connecting,
            opened: now,
            syn_sent: false,
            early: Vec::new(),
            sack: settings.sack,
            timestamps: settings.timestamps,
            window_scaling: settings.window_scaling,
            shift: 0,
            window: 0,
            edge: 0,
            window_from: (0, 0),
            had_unsent: false,
            acks: VecDeque::new(),
            answer: None,
            end: None,
            read: 0,
            advertised: 1 + settings.receive_buffer,
            closes_first: false,
            time_wait_until: None,
            over: None,
            congestion: Notification::default(),
            unanswered: None,
            uncork_at: None,
            deaf: false,
            refusal: None,
            settings,
        }
    }

    /// Takes the options of the other side's SYN (RFC 9293 section 3.7.1, RFC
    /// 2018 section 2, RFC 7323 sections 2.2 and 3.2), and the SYN itself.
    fn agree<L: Log>(
        &mut self,
        now: Instant,
        syn: &Arrival,
        log: &mut L,
    ) -> Result<Option<Ack>, ConfigError> {
        self.sack &= syn.sack_permitted;
        self.timestamps &= syn.timestamp.is_some();
        self.window_scaling &= syn.window_scale.is_some();
        self.shift = syn
            .window_scale
            .filter(|_| self.window_scaling)
            .unwrap_or(0);
        // RFC 9293 section 3.7.1: 536 if the other side says nothing.
        let options = u64::from(TIMESTAMP_BYTES);
        let largest = self
            .settings
            .mss
            .min(syn.mss.unwrap_or(536).max(options + 1));
        let options = if self.timestamps { options } else { 0 };
        let stream = Stream::new(largest.saturating_sub(options), self.stream.nagle);
        let before = std::mem::replace(&mut self.stream, stream);
        // The application's calls so far.
        let fin = u64::from(before.is_closed());
        self.stream.write(before.end() - 1 - fin, 1);
        if before.is_closed() {
            self.stream.close(1);
        }
        self.window = syn.window;
        // The window of a SYN is not scaled (RFC 7323 section 2.2).
        self.edge = 1 + self.window;
        self.make_sender(log)?;
        let is_answer = syn.ack.is_some();
        self.congestion.asked = syn.ece && syn.cwr && !is_answer;
        // Of the kinds of recovery, that of Linux answers marks.
        let answers =
            self.sack && self.settings.built.profile.sender.recovery == RecoveryKind::Linux;
        self.congestion.agreed = answers
            && match self.settings.ecn {
                Ecn::Off => false,
                Ecn::Ask if is_answer => syn.ece && !syn.cwr,
                Ecn::Accept | Ecn::Ask => self.congestion.asked,
            };
        self.answer = syn
            .request
            .and_then(|r| r.response())
            .map(AckOption::Approved);
        let block = SackBlock { left: 0, right: 1 };
        Ok(self.receiver.on_block(now, block, syn.stamp(), false, true))
    }

    /// The sender and the receiver for what is agreed on, with the SYN sent when it was.
    fn make_sender<L: Log>(&mut self, log: &mut L) -> Result<(), ConfigError> {
        let mut profile = self.settings.built.profile;
        profile.receiver.timestamps = self.timestamps;
        if !self.sack {
            profile.receiver.sack_blocks = 0;
            profile.receiver.dsack = false;
        }
        profile.sender = self.configuration(profile.sender);
        profile.check()?;
        let policies = self.settings.built.policies.iter().cloned();
        let mut sender = Sender::new(&profile.sender, &profile.parts, policies);
        sender.set_end(1);
        if let Some(notice) = &self.settings.start_notice {
            sender.on_start_notice(self.opened, notice, log);
        }
        sender.open(self.opened, log);
        let drain = |sender: &mut Sender, at| while sender.poll_transmit(at).is_some() {};
        if self.syn_sent {
            drain(&mut sender, self.opened);
            for &expiry in &self.early {
                sender.on_timer(expiry, log);
                drain(&mut sender, expiry);
            }
        }
        self.sender = sender;
        self.receiver = Receiver::of_bytes(profile.receiver, self.settings.receive_buffer);
        Ok(())
    }

    fn configuration(&self, mut sender: SenderConfig) -> SenderConfig {
        if !self.sack && sender.recovery.uses_sack() {
            sender.recovery = RecoveryKind::NewReno;
        }
        if !self.timestamps {
            sender.rtt_sampling = RttSampling::OnePerWindow;
        }
        // Rules of bytes count a full segment as it is on the wire (RFC 6928).
        let options = if self.timestamps { TIMESTAMP_BYTES } else { 0 };
        let bytes = self.stream.mss() + u64::from(HEADER_BYTES + options);
        sender.segment_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        sender
    }

    // ---- sending -------------------------------------------------------------

    /// Limits the sender to the available data that the other side accepts, when `una` is
    /// acknowledged.
    fn limit<L: Log>(&mut self, now: Instant, una: Seq, log: &mut L) {
        let end = if self.connecting {
            1
        } else {
            self.stream.sendable_end(self.edge, una)
        };
        let end = end.max(self.sender.view().snd_max).max(1);
        if self.had_unsent {
            // The other side's window was what it waited for, not the application.
            self.sender.set_end(end);
        } else {
            self.sender.write_until(now, end, log);
        }
    }

    /// The next segment to put on the network now, if any.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Departure> {
        if let Some(from) = self.refusal.take() {
            return Some(Departure {
                rst: true,
                from,
                to: from,
                ..Departure::default()
            });
        }
        match self.over {
            None => {}
            Some(Over::Aborting) => {
                self.over = Some(Over::Aborted);
                let rst = true;
                return Some(Departure { rst, ..self.bare() });
            }
            Some(_) => return None,
        }
        if let Some(ack) = self.acks.pop_front() {
            return Some(Departure {
                ack: Some(ack.ack),
                window: self.advertise(ack.ack),
                sack: ack.sack.iter(ack.ack).map(|b| (b.left, b.right)).collect(),
                ack_option: ack.option,
                ece: self.congestion.echoes,
                ..self.bare()
            });
        }
        // The handshake's ACK is among those of the receiver.
        let mut next = self.sender.poll_transmit(now);
        if next.is_some_and(|s| s.content == Content::Acknowledgment) {
            next = self.sender.poll_transmit(now);
        }
        let Some(segment) = next else {
            self.had_unsent = self.unsent_bytes() > 0;
            self.watch_cork(now);
            return None;
        };
        Some(self.departure(now, segment))
    }

    /// A segment without data that acknowledges what has arrived.
    fn bare(&mut self) -> Departure {
        let next = self.stream.byte_of(self.sender.view().snd_max);
        let received = self.receiver.next();
        Departure {
            from: next,
            to: next,
            ack: (!self.connecting).then_some(received),
            window: self.advertise(received),
            echo: self.echo(),
            ..Departure::default()
        }
    }

    fn echo(&self) -> Option<u64> {
        self.timestamps.then(|| self.recent())
    }

    fn departure(&mut self, now: Instant, segment: Segment) -> Departure {
        let (from, to, fin) = if segment.has_data() {
            self.stream.bytes(segment.seq).unwrap_or((0, 0, false))
        } else {
            // The last byte that is acknowledged, and none of it.
            let last = self.stream.byte_of(segment.seq + 1).saturating_sub(1);
            (last, last, false)
        };
        let syn = segment.seq == 0 && segment.has_data();
        self.syn_sent |= syn;
        if !self.connecting {
            self.receiver.piggyback(now);
        }
        let answer = self.answer.take_if(|_| syn && !self.connecting);
        let is_again = segment.retransmission || !segment.has_data();
        let (ece, cwr, ect) = if syn {
            // A SYN asks with both, and not again where it may have been dropped for that (RFC 3168 section
            // 6.1.1); one that answers agrees with ECE alone.
            let asks = self.connecting && self.settings.ecn == Ecn::Ask && !segment.retransmission;
            (
                asks || !self.connecting && self.congestion.agreed,
                asks,
                false,
            )
        } else {
            let reports = self.congestion.agreed && !is_again && to > from;
            let reduced = reports && std::mem::take(&mut self.congestion.reduced);
            (self.congestion.echoes, reduced, reports)
        };
        Departure {
            syn,
            fin,
            ece,
            cwr,
            ect,
            retransmission: segment.retransmission && segment.has_data(),
            from,
            to,
            ack_option: answer.unwrap_or_default(),
            option: segment.option,
            ..self.bare()
        }
    }

    /// The window of an ACK with this number. Its edge never moves back, and moves on in no small
    /// steps (RFC 9293 section 3.8.6.2.2).
    fn advertise(&mut self, ack: u64) -> u64 {
        let edge = self.receive_edge();
        if edge - self.advertised >= self.step() {
            self.advertised = edge;
        }
        if self.receiver.is_closed() {
            return 0;
        }
        self.advertised - ack.clamp(1, self.advertised)
    }

    fn step(&self) -> u64 {
        self.settings.mss.min(self.settings.receive_buffer / 2)
    }

    /// One past the last byte for which there is room.
    fn receive_edge(&self) -> u64 {
        1 + self.read + self.settings.receive_buffer
    }

    /// The other side's window closes the sender's when `una` is acknowledged:
    /// there is a segment to be acknowledged, and it holds less than that one.
    fn is_shut(&self, una: Seq) -> bool {
        una < self.stream.segments_end() && self.stream.window_end(self.edge) <= una
    }

    /// There is more to send. Tells a sender that had nothing to send that the window has no room
    /// for its new data: it must probe.
    fn more_to_send<L: Log>(&mut self, now: Instant, log: &mut L) {
        let una = self.sender.view().snd_una;
        if self.is_established() && self.is_shut(una) && !self.sender.is_window_closed() {
            let ack = Ack {
                ack: una,
                sack: SackBlocks::default(),
                echo: None,
                cause_sent: self.opened,
                offset: 0,
                option: AckOption::ZeroWindow,
                window: None,
                stamp_ms: 0,
                extra_bytes: 0,
            };
            self.sender.on_ack(now, &ack, log);
        }
        self.limit(now, una, log);
        self.note_answers(now, false);
    }

    /// The application writes this many bytes.
    pub fn write<L: Log>(&mut self, now: Instant, bytes: u64, log: &mut L) {
        self.stream.write(bytes, self.sender.view().snd_max);
        self.more_to_send(now, log);
    }

    /// The next data of the application begin a new segment (MSG_EOR).
    pub fn end_record(&mut self) {
        self.stream.seal();
    }

    /// More will be written soon, or no more, of which what is written next tells (MSG_MORE).
    pub fn announce(&mut self, more: bool) {
        self.stream.corked = more;
        self.uncork_at = None;
    }

    /// The application holds a short segment back, or no more (TCP_CORK): it goes when it is
    /// full, or when nothing has been in flight for a timeout.
    pub fn set_corked<L: Log>(&mut self, now: Instant, corked: bool, log: &mut L) {
        self.stream.corked = corked;
        self.uncork_at = None;
        self.more_to_send(now, log);
    }

    /// How long data may be sent without an answer; none for ever.
    pub fn set_user_timeout(&mut self, most: Option<Duration>) {
        self.settings.user_timeout = most;
    }

    /// The application reads no more: data that arrives is answered with an RST (`tcp_close()`, RFC 9293
    /// section 3.10.4 and RFC 1122 section 4.2.2.13).
    pub fn set_deaf(&mut self) {
        self.deaf = true;
    }

    /// The application has no more to send.
    pub fn close<L: Log>(&mut self, now: Instant, log: &mut L) {
        if !self.stream.is_closed() {
            self.closes_first = !self.has_ended();
            self.stream.close(self.sender.view().snd_max);
            self.more_to_send(now, log);
        }
    }

    /// The application gives the connection up: the other side, if it has answered, gets an RST.
    pub fn abort(&mut self) {
        if !self.is_done() {
            self.over = Some(if self.connecting {
                Over::Aborted
            } else {
                Over::Aborting
            });
        }
    }

    /// The application has read this many bytes more: there is room for others. A window update is
    /// sent at once if the advertised window was less than half of the buffer and is twice as large
    /// now.
    pub fn consume(&mut self, now: Instant, bytes: u64) {
        self.read += bytes;
        let ack = self.receiver.on_read(now);
        self.acks.extend(ack);
        let next = self.receiver.next();
        let window = self.advertised.saturating_sub(next);
        let room = self.receive_edge().saturating_sub(next);
        let is_news = room >= window + self.step().max(window);
        if self.end.is_none() && 2 * window <= self.settings.receive_buffer && is_news {
            self.acknowledge_again();
        }
    }

    fn acknowledge_again(&mut self) {
        if self.receiver.next() > 0 {
            let ack = self.receiver.acknowledge_again();
            self.acks.push_back(ack);
        }
    }

    /// The application changes its mind about Nagle's algorithm.
    pub fn set_nagle<L: Log>(&mut self, now: Instant, nagle: bool, log: &mut L) {
        self.stream.nagle = nagle;
        self.limit(now, self.sender.view().snd_una, log);
    }

    // ---- time ------------------------------------------------------------------

    /// When to call [`Self::on_timeout`]; none if the connection waits only for others.
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.over.is_some() {
            return None;
        }
        let of_sender = self.sender.poll_timer().map(|(due, _)| due);
        let of_receiver = self.receiver.poll_timer().map(|(due, _)| due);
        let all = [
            of_sender.map(|due| self.patience(due)),
            of_receiver,
            self.time_wait_until,
            self.uncork_at,
        ];
        all.into_iter().flatten().min()
    }

    /// When the sender's timer that is due then expires: no later than the user's patience ends
    /// (tcp_clamp_rto_to_user_timeout(), tcp_clamp_probe0_to_user_timeout()).
    fn patience(&self, due: Instant) -> Instant {
        match (self.unanswered, self.settings.user_timeout) {
            (Some(since), Some(most)) => due.min(since + most),
            _ => due,
        }
    }

    /// Follows whether something waits for an answer, of which news has just come or not.
    fn note_answers(&mut self, now: Instant, is_answered: bool) {
        let waits = self.sender.view().snd_una < self.stream.segments_end();
        if !waits || is_answered {
            self.unanswered = None;
        }
        if waits {
            self.unanswered.get_or_insert(now);
        }
    }

    /// A short segment that the application holds back goes when nothing is in flight for a while.
    fn watch_cork(&mut self, now: Instant) {
        let view = self.sender.view();
        let is_idle = view.snd_una == view.snd_max && view.snd_max < self.stream.segments_end();
        let waits = self.stream.corked && is_idle && self.is_established();
        if !waits {
            self.uncork_at = None;
        } else if self.uncork_at.is_none() {
            self.uncork_at = Some(now + view.rto.max(CORKED));
        }
    }

    /// Time has passed; whether the retransmission timer has expired. Does nothing before
    /// [`Self::next_timeout`].
    pub fn on_timeout<L: Log>(&mut self, now: Instant, log: &mut L) -> bool {
        if self.next_timeout().is_none_or(|due| due > now) {
            return false;
        }
        self.time_wait_until.take_if(|until| *until <= now);
        if let (Some(since), Some(most)) = (self.unanswered, self.settings.user_timeout) {
            let is_due = self.sender.poll_timer().is_some();
            if is_due && now >= since + most {
                self.over = Some(Over::TimedOut);
                return true;
            }
        }
        if self.uncork_at.take_if(|due| *due <= now).is_some() {
            self.stream.release();
        }
        let of_receiver = self.receiver.on_timer(now);
        self.acks.extend(of_receiver);
        let is_due = self.sender.poll_timer().is_some_and(|(due, _)| due <= now);
        let ssthresh = self.sender.view().ssthresh;
        let expired = self.sender.on_timer(now, log);
        if expired && self.sender.view().ssthresh < ssthresh {
            self.congestion.reduced = self.congestion.agreed;
        }
        if self.connecting && is_due {
            self.early.push(now);
        }
        self.limit(now, self.sender.view().snd_una, log);
        expired
    }

    // ---- what can be asked ------------------------------------------------------

    /// The handshake is done.
    pub fn is_established(&self) -> bool {
        self.sender.view().snd_una > 0
    }

    /// The other side has no more to send, and all of it has arrived.
    pub fn has_ended(&self) -> bool {
        self.end.is_some_and(|end| self.receiver.next() > end)
    }

    /// The connection was reset, by the other side or from here.
    pub fn is_reset(&self) -> bool {
        self.over.is_some()
    }

    /// How it ended before its time, if it did.
    pub fn over(&self) -> Option<Over> {
        self.over
    }

    /// Bytes that have arrived in order and that the application has not read.
    pub fn unread(&self) -> u64 {
        let fin = u64::from(self.has_ended());
        (self.receiver.next().max(1) - 1 - fin).saturating_sub(self.read)
    }

    /// Explicit congestion notification is agreed on.
    pub fn has_ecn(&self) -> bool {
        self.congestion.agreed
    }

    /// Both sides have closed, and everything is acknowledged, for long enough; or it was reset.
    pub fn is_done(&self) -> bool {
        if let Some(over) = self.over {
            return over != Over::Aborting && self.refusal.is_none();
        }
        let waits = self.time_wait_until.is_some() || !self.acks.is_empty();
        self.is_closed_both_ways() && !waits
    }

    fn is_closed_both_ways(&self) -> bool {
        let all = self.sender.view().snd_una >= self.stream.segments_end();
        self.stream.is_closed() && all && self.has_ended()
    }

    /// SACK is agreed on, or offered.
    pub fn has_sack(&self) -> bool {
        self.sack
    }

    /// Timestamps are agreed on, or offered.
    pub fn has_timestamps(&self) -> bool {
        self.timestamps
    }

    /// Window scaling is agreed on, or offered.
    pub fn has_window_scaling(&self) -> bool {
        self.window_scaling
    }

    /// Our SYN has no answer yet.
    pub fn is_connecting(&self) -> bool {
        self.connecting
    }

    /// The next byte that is expected; all before have arrived.
    pub fn received(&self) -> u64 {
        self.receiver.next()
    }

    /// The other side's last timestamp (TS.Recent); 0 before the first.
    pub fn recent(&self) -> u64 {
        self.receiver.ts_recent().as_nanos()
    }

    /// Bytes that the application has written and that were not sent.
    pub fn unsent_bytes(&self) -> u64 {
        let end = self.stream.end();
        end - self.stream.byte_of(self.sender.view().snd_max).min(end)
    }

    /// Bytes that the application has written and that are not acknowledged.
    pub fn unacknowledged_bytes(&self) -> u64 {
        let (stream, una) = (&self.stream, self.sender.view().snd_una);
        let fin = u64::from(stream.is_closed());
        (stream.end() - fin).saturating_sub(stream.byte_of(una).max(1))
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The sender.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The data that the application has written, in segments.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }
}
