//! One connection in relative sequence numbers: handshake with its negotiated options, data in both
//! directions, windows, FINs and resets (RFC 9293 sections 3.5, 3.6, 3.8 and 3.10). The sender and
//! the receiver are `midflight_tcp`'s. `arrivals.rs` processes arriving segments.

mod arrivals;
mod fast_open;
mod handoff;
mod keepalive;
mod mtu_probing;
mod options;
mod path_mtu;
mod patience;
mod queries;
mod settings;
mod urgent;
mod validity;
mod window;

use std::collections::VecDeque;

use midflight_tcp::{
    Ack, AckOption, AckRules, ConfigError, Content, Log, Profile, ReceiveSpace, Receiver,
    RecoveryKind, RttSampling, SackBlock, Segment, Sender, SenderConfig,
};
use midflight_units::{Duration, Instant, Seq};
use midflight_wire::{HEADER_BYTES, TIMESTAMP_BYTES};

use self::fast_open::EarlyData;
pub use self::fast_open::FastOpen;
pub use self::keepalive::Keepalive;
pub use self::mtu_probing::{MtuProbing, Probing};
pub use self::settings::{Ecn, Settings};
pub use self::urgent::UrgentByte;
pub use self::validity::Refusal;
use self::validity::Validity;
use crate::segment::{Arrival, Departure};
use crate::stream::Stream;

/// The retransmission timeout of a connection whose SYN was lost (TCP_TIMEOUT_FALLBACK).
const SYN_LOST_RTO: Duration = Duration::from_secs(3);

/// One connection, from the SYN on.
///
/// Pass in events; after each one, take segments from [`Self::poll_transmit`] until there is none, then
/// call [`Self::next_timeout`] to get the time of the next [`Self::on_timeout`]. A log gets the sender's
/// events.
#[derive(Clone, Debug)]
pub struct Connection {
    settings: Settings,
    sender: Sender,
    receiver: Receiver,
    stream: Stream,
    /// It was opened actively, and the SYN has no response yet.
    connecting: bool,
    opened: Instant,
    /// The SYN has been sent, and retransmitted at these times before there was a response.
    syn_sent: bool,
    early: Vec<Instant>,
    sack: bool,
    timestamps: bool,
    window_scaling: bool,
    /// Window scale of the other side (RFC 7323 section 2).
    shift: u64,
    /// The window of the last segment that arrived, and one past the last byte that it allows; the largest window.
    window: u64,
    edge: u64,
    largest_window: u64,
    /// Sequence and ACK number of that segment (SND.WL1 and SND.WL2).
    window_from: (u64, u64),
    /// When there was nothing more to transmit, the stream still had unsent data.
    had_unsent: bool,
    /// The byte that was acknowledged last, which may lie within a segment.
    una: u64,
    /// ACKs that are due, and further content of the next one.
    acks: VecDeque<Ack>,
    answer: Option<AckOption>,
    /// The position of the other side's FIN.
    end: Option<u64>,
    /// Bytes that the application has read, and one past the last byte that was advertised.
    read: u64,
    advertised: u64,
    /// The application closed first.
    closes_first: bool,
    time_wait_until: Option<Instant>,
    over: Option<Over>,
    congestion: Notification,
    /// Since when nothing has been acknowledged while something is outstanding or waiting.
    unanswered: Option<Instant>,
    /// When a short segment that the application holds back is sent.
    uncork_at: Option<Instant>,
    /// When a response to another SYN had ours sent again soon.
    hastened: Option<Instant>,
    /// The application does not read any more data: it has closed the connection, or has shut down reading.
    deaf: bool,
    shut: bool,
    /// An RST in response to a segment of no connection.
    refusal: Option<Refusal>,
    /// The response to the other side's SYN must be sent again.
    again: bool,
    /// ACKs of TIME-WAIT that are due, which have no SACK blocks.
    plain_acks: u32,
    validity: Validity,
    probing: keepalive::Probing,
    early_data: EarlyData,
    urgent: urgent::Urgent,
    window_probes: patience::WindowProbes,
    /// Bytes of data and options that the path takes.
    path_bytes: u64,
    /// Bytes of data and options of a segment that both sides take.
    agreed_bytes: u64,
    /// The search for the largest size that the path takes.
    search: mtu_probing::Search,
    /// The rest of a segment that is sent again in smaller ones.
    rest: Option<Departure>,
    /// A probe of the tail may send what Nagle's algorithm holds back (tcp_send_loss_probe()).
    probes_tail: bool,
}

/// Why a connection ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The other side reset it.
    Reset,
    /// The other side refused it: it responded to our SYN with an RST.
    Refused,
    /// Nothing was acknowledged for too long.
    TimedOut,
    /// An ICMP message says that the other side cannot be reached.
    Unreachable,
    /// This side aborts it; the RST has not been sent yet.
    Aborting,
    /// This side aborted it.
    Aborted,
}

/// Explicit congestion notification on a connection (RFC 3168 section 6.1).
#[derive(Clone, Copy, Debug, Default)]
struct Notification {
    /// Both sides have agreed.
    agreed: bool,
    /// The other side's SYN has requested it.
    asked: bool,
    /// A CE mark has arrived: ACKs echo it until the sender has responded.
    echoes: bool,
    /// The window has been reduced, which the next new segment reports (CWR).
    reduced: bool,
}

/// Linux sends data that an application holds back (MSG_MORE, TCP_CORK) after a timeout, and not earlier
/// than this (TCP_RTO_MIN in tcp_probe0_base()).
const CORKED: Duration = Duration::from_millis(200);

impl Connection {
    /// A connection whose SYN is sent now.
    ///
    /// # Errors
    /// [`ConfigError`] for a sender that needs an option that is not offered.
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

    /// A connection that responds to this SYN now.
    ///
    /// # Errors
    /// [`ConfigError`] for a sender that needs an option that was not negotiated.
    pub fn accept<L: Log>(
        settings: Settings,
        now: Instant,
        syn: &Arrival,
        log: &mut L,
    ) -> Result<Self, ConfigError> {
        let mut connection = Self::new(settings, now, false);
        connection.agree(now, syn, log)?;
        connection.take_early_data(now, syn);
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
            largest_window: 0,
            window_from: (0, 0),
            had_unsent: false,
            una: 0,
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
            hastened: None,
            deaf: false,
            shut: false,
            refusal: None,
            again: false,
            plain_acks: 0,
            validity: Validity::default(),
            probing: keepalive::Probing::new(now),
            early_data: EarlyData::default(),
            urgent: urgent::Urgent::default(),
            window_probes: patience::WindowProbes::default(),
            path_bytes: settings.mss,
            agreed_bytes: settings.mss,
            search: mtu_probing::Search::default(),
            rest: None,
            probes_tail: false,
            settings,
        }
    }

    /// Processes the options of the other side's SYN (RFC 9293 section 3.7.1, RFC 2018 section 2, RFC 7323
    /// sections 2.2 and 3.2), and the SYN itself.
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
        // RFC 9293 section 3.7.1: 536 if the other side does not send the option.
        let options = u64::from(TIMESTAMP_BYTES);
        // net.ipv4.tcp_min_snd_mss (__tcp_mtu_to_mss()).
        let least = if self.is_of_linux() { 48 } else { options + 1 };
        let asked = syn.mss.unwrap_or(536).max(least);
        self.agreed_bytes = self.settings.mss.min(asked);
        let largest = self.agreed_bytes.min(self.path_bytes);
        let options = if self.timestamps { options } else { 0 };
        // The data of our SYN that has arrived belongs to it.
        let arrived = self.early_data_arrived(syn);
        let size = largest.saturating_sub(options);
        let stream = Stream::from(1 + arrived, size, self.stream.nagle);
        let before = std::mem::replace(&mut self.stream, stream);
        self.stream.corked = before.corked;
        // Repeats the application's calls so far.
        let fin = u64::from(before.is_closed());
        self.stream.write(before.end() - 1 - fin - arrived, 1);
        if arrived < self.early_bytes() && self.is_of_linux() {
            self.stream.hide_short(1 + self.early_bytes());
        }
        if before.is_closed() {
            self.stream.close(1);
        }
        self.window = syn.window;
        // The window of a SYN is not scaled (RFC 7323 section 2.2).
        self.edge = 1 + self.window;
        self.begin_search(now, syn.ack.is_some());
        self.make_sender(log)?;
        let is_answer = syn.ack.is_some();
        self.congestion.asked = syn.ece && syn.cwr && !is_answer;
        // Only the Linux recovery responds to CE marks.
        self.congestion.agreed = self.recovers_as_linux()
            && match self.settings.ecn {
                Ecn::Off => false,
                Ecn::Ask if is_answer => syn.ece && !syn.cwr,
                Ecn::Accept | Ecn::Ask => self.congestion.asked,
            };
        // tcp_enter_loss() of the SYN that requested it.
        self.congestion.reduced = self.congestion.agreed && is_answer && !self.early.is_empty();
        self.answer = syn
            .request
            .and_then(|r| r.response())
            .map(AckOption::Approved);
        let block = SackBlock { left: 0, right: 1 };
        let ack = self.receiver.on_block(now, block, syn.stamp(), false, true);
        if is_answer && self.settings.receive_space.is_some() {
            self.receiver.finish_connect(now, self.opened);
        }
        Ok(ack)
    }

    /// Creates the sender and the receiver for the negotiated options, with the SYN sent at its actual
    /// time.
    fn make_sender<L: Log>(&mut self, log: &mut L) -> Result<(), ConfigError> {
        let mut profile = self.settings.built.profile;
        profile.receiver.timestamps = self.timestamps;
        if !self.sack {
            profile.receiver.sack_blocks = 0;
            profile.receiver.dsack = false;
        } else if !self.timestamps && self.is_of_linux() {
            // tcp_established_options(): there is room for one more.
            profile.receiver.sack_blocks = 4;
        }
        profile.sender = self.configuration(profile.sender);
        profile.receiver.segment_bytes = profile.sender.segment_bytes;
        if let AckRules::Linux { mss, .. } = &mut profile.receiver.acks {
            // tcp_advmss().
            let options = if self.timestamps { TIMESTAMP_BYTES } else { 0 };
            let bytes = self.settings.mss.saturating_sub(u64::from(options));
            *mss = u32::try_from(bytes).unwrap_or(u32::MAX);
        }
        profile.check()?;
        let policies = self.settings.built.policies.iter().cloned();
        let mut sender = Sender::new(&profile.sender, &profile.parts, policies);
        sender.set_end(1);
        if !self.connecting && !self.syn_sent {
            sender.answer_syn();
        }
        if let Some(most) = self.settings.pacing_limit {
            sender.limit_pacing(most);
        }
        if !self.settings.tail_probes {
            sender.leave_tails();
        }
        sender.set_linear_syns(self.settings.linear_syns);
        sender.limit_probe_doublings(self.settings.data_retries);
        sender.set_thin_linear(self.settings.thin_linear);
        sender.record_rate();
        if let Some(notice) = &self.settings.start_notice {
            sender.on_start_notice(self.opened, notice, log);
        }
        sender.open(self.opened, log);
        let drain = |sender: &mut Sender, at| while sender.poll_transmit(at).is_some() {};
        if self.syn_sent {
            drain(&mut sender, self.opened);
            if let Some(at) = self.hastened {
                sender.hasten_syn(at);
            }
            for &expiry in &self.early {
                sender.on_timer(expiry, log);
                drain(&mut sender, expiry);
            }
        }
        self.sender = sender;
        self.receiver = Receiver::of_bytes(profile.receiver, self.settings.receive_buffer);
        let (most, delay) = self.settings.compression;
        self.receiver.limit_compression(most, delay);
        if let Some(space) = self.settings.receive_space {
            let (scales, segment) = (self.window_scaling, self.stream.mss());
            self.receiver.set_space(ReceiveSpace {
                scales,
                segment,
                ..space
            });
        }
        Ok(())
    }

    fn configuration(&self, mut sender: SenderConfig) -> SenderConfig {
        if !self.sack && sender.recovery.uses_sack() {
            sender.sack = false;
            if sender.recovery != RecoveryKind::Linux {
                sender.recovery = RecoveryKind::NewReno;
            }
        }
        if !self.timestamps {
            sender.rtt_sampling = RttSampling::OnePerWindow;
            if sender.recovery == RecoveryKind::Linux {
                // A SYN that was sent again gives no RTT sample: RFC 6298 section 5.7 (tcp_init_metrics()).
                sender.rto_after_syn_timeout = Some(SYN_LOST_RTO);
            }
        }
        // Byte-based rules count a full segment at its size on the wire (RFC 6928).
        let options = if self.timestamps { TIMESTAMP_BYTES } else { 0 };
        let bytes = self.stream.mss() + u64::from(HEADER_BYTES + options);
        sender.segment_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        sender
    }

    // ---- sending -------------------------------------------------------------

    /// Limits the sender to available data that the other side accepts, when `una` is acknowledged.
    fn limit<L: Log>(&mut self, now: Instant, una: Seq, log: &mut L) {
        let end = self.sendable_end(una);
        if self.had_unsent {
            // The sender waited for the other side's window, not for the application.
            self.sender.set_end(end);
        } else {
            self.sender.write_until(now, end, log);
        }
    }

    fn sendable_end(&self, una: Seq) -> Seq {
        let end = if self.connecting {
            1
        } else {
            let at_once = self.has_urgent() || self.probes_tail;
            self.stream.sendable_end(self.window_end(), una, at_once)
        };
        end.max(self.sender.view().snd_max).max(1)
    }

    /// New data may be sent, after a probe for a larger size if one is due (tcp_write_xmit()).
    fn send_more<L: Log>(&mut self, now: Instant, log: &mut L) {
        self.limit(now, self.sender.view().snd_una, log);
        self.begin_size_probe(now, log);
    }

    /// The next segment to put on the network now, if any.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Departure> {
        if let Some(refusal) = self.refusal.take() {
            return Some(refusal.departure());
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
        if let Some(again) = self.response_again().or_else(|| self.next_piece()) {
            return Some(again);
        }
        if let Some(probe) = self.keepalive_probe() {
            return Some(probe);
        }
        if self.plain_acks > 0 {
            self.plain_acks -= 1;
            return Some(self.bare());
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
        // The handshake's ACK comes from the receiver.
        let mut next = self.sender.poll_transmit(now);
        if next.is_some_and(|s| s.content == Content::Acknowledgment) {
            next = self.sender.poll_transmit(now);
        }
        let Some(segment) = next else {
            if std::mem::take(&mut self.probes_tail) {
                let end = self.sendable_end(self.sender.view().snd_una);
                self.sender.set_end(end);
            }
            self.had_unsent = self.unsent_bytes() > 0;
            self.watch_cork(now);
            return None;
        };
        Some(self.departure(now, segment))
    }

    /// There is no more to transmit now: applies what the sender has decided meanwhile.
    pub fn settle<L: Log>(&mut self, now: Instant, log: &mut L) {
        self.sender.settle(now, log);
    }

    /// A segment without data that acknowledges everything received.
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

    /// The echo of a SYN. If both SYNs have crossed, ours has the option again, whatever that of the other side has
    /// (tcp_syn_options()).
    fn echo_of_syn(&self) -> Option<u64> {
        let repeats = self.has_crossed() && self.is_of_linux();
        let repeats = repeats && self.settings.timestamps && !self.timestamps;
        self.echo().or(repeats.then_some(0))
    }

    fn departure(&mut self, now: Instant, segment: Segment) -> Departure {
        let segment = self.with_others(segment);
        let (from, to, fin) = if segment.has_data() {
            // tcp_trim_head(): what is acknowledged is not sent again.
            let (from, to, fin) = self.stream.bytes(segment.seq).unwrap_or((0, 0, false));
            (from.max(self.una.min(to)), to, fin)
        } else {
            // Repeats the number of the last acknowledged byte, without data.
            let last = self.stream.byte_of(segment.seq + 1).saturating_sub(1);
            (last, last, false)
        };
        let syn = segment.seq == 0 && segment.has_data();
        let is_first = syn && !self.syn_sent;
        self.syn_sent |= syn;
        if !self.connecting {
            self.receiver.piggyback(now);
        }
        let answer = self.answer.take_if(|_| syn && !self.connecting);
        let is_again = segment.retransmission || !segment.has_data();
        let (ece, cwr, ect) = if syn {
            // A requesting SYN has both flags, but not a retransmitted one, because it may have been
            // dropped for them (RFC 3168 section 6.1.1); a responding SYN has ECE alone.
            let requests =
                self.connecting && self.settings.ecn == Ecn::Ask && !segment.retransmission;
            (
                requests || !self.connecting && self.congestion.agreed,
                requests,
                false,
            )
        } else {
            let reports = self.congestion.agreed && !is_again && to > from;
            let reduced = reports && std::mem::take(&mut self.congestion.reduced);
            (self.congestion.echoes, reduced, reports)
        };
        let again = segment.retransmission || self.was_sent(from, to);
        if again && !segment.retransmission && segment.has_data() {
            self.repeat_early_data(segment.seq, from);
        }
        let departure = Departure {
            syn,
            fin,
            ece,
            cwr,
            ect,
            retransmission: again && segment.has_data(),
            from,
            to,
            urgent: self.urgent_pointer(from),
            echo: if syn { self.echo_of_syn() } else { self.echo() },
            ack_option: answer.unwrap_or_default(),
            option: segment.option,
            ..self.bare()
        };
        if is_first {
            return self.with_early_data(now, departure);
        }
        self.first_piece(departure)
    }

    /// The window of an ACK with this number. Its edge never moves back, and does not move forward in small
    /// steps (RFC 9293 section 3.8.6.2.2).
    fn advertise(&mut self, ack: u64) -> u64 {
        self.validity.acknowledged = ack;
        if self.settings.receive_space.is_some() {
            let (window, _) = self.receiver.advertised();
            let most = self.receiver.window_limit().map_or(u64::MAX, u64::from);
            return window.min(most);
        }
        let edge = self.receive_edge();
        if edge - self.advertised >= self.step() {
            self.advertised = edge;
        }
        if self.receiver.is_closed() {
            return 0;
        }
        let window = self.advertised - ack.clamp(1, self.advertised);
        // A handoff signal may advertise less, and so move the edge back: that is its purpose.
        let most = self.receiver.window_limit().map_or(u64::MAX, u64::from);
        window.min(most)
    }

    fn step(&self) -> u64 {
        self.settings.mss.min(self.settings.receive_buffer / 2)
    }

    /// One past the last byte for which there is room.
    pub fn receive_edge(&self) -> u64 {
        if self.settings.receive_space.is_some() {
            return self.receiver.advertised().1;
        }
        1 + self.read + self.settings.receive_buffer
    }

    /// There is more data to send. If the window has no room for it and the sender was idle, the sender
    /// must probe.
    fn more_to_send<L: Log>(&mut self, now: Instant, log: &mut L) {
        let una = self.sender.view().snd_una;
        if self.is_established() && self.is_shut(una) {
            if !self.sender.has_zero_window() {
                let ack = self.window_ack(una);
                self.sender.on_ack(now, &ack, log);
            }
            self.sender.await_zero_window(now);
        }
        self.send_more(now, log);
        self.note_answers(now, false);
    }

    /// The application writes this many bytes.
    pub fn write<L: Log>(&mut self, now: Instant, bytes: u64, log: &mut L) {
        self.write_marked(now, bytes, false, log);
    }

    /// The same; with `is_urgent` the last byte is urgent (MSG_OOB).
    pub fn write_marked<L: Log>(&mut self, now: Instant, bytes: u64, is_urgent: bool, log: &mut L) {
        let from = self.stream.end();
        self.stream.write(bytes, self.sender.view().snd_max);
        self.fill_window(Some(from));
        if is_urgent {
            self.mark_urgent();
        }
        if self.window == 0 {
            // tcp_skb_entail(): of one buffer.
            self.end_idle(now, log);
        }
        self.more_to_send(now, log);
    }

    /// The application has no more to send.
    pub fn close<L: Log>(&mut self, now: Instant, log: &mut L) {
        if !self.stream.is_closed() {
            self.closes_first = !self.has_ended();
            self.stream.close(self.sender.view().snd_max);
            self.more_to_send(now, log);
        }
        self.note_end(now, false);
        self.end_half_closed(None);
    }

    /// The application aborts the connection: the other side, if it has responded, gets an RST.
    pub fn abort(&mut self) {
        if !self.is_done() {
            self.over = Some(if self.connecting {
                Over::Aborted
            } else {
                Over::Aborting
            });
        }
    }

    /// The application has read this many more bytes, so there is room for others. A window update is sent
    /// at once if the advertised window was less than half of the buffer and is twice as large now.
    pub fn consume(&mut self, now: Instant, bytes: u64) {
        self.read += bytes;
        if self.settings.receive_space.is_some() {
            let expects_more = !self.has_ended() && !self.shut;
            let ack = self.receiver.on_read_to(now, 1 + self.read, expects_more);
            self.acks.extend(ack);
            return;
        }
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

    /// The application wants ACKs at once for some time, or delayed ones (TCP_QUICKACK).
    pub fn set_quick_acks(&mut self, now: Instant, quick: bool) {
        let is_empty = self.unread() == 0;
        let ack = self.receiver.set_quick_acks(now, quick, is_empty);
        self.acks.extend(ack);
    }

    fn acknowledge_again(&mut self) {
        if self.receiver.next() > 0 {
            let ack = self.receiver.acknowledge_again();
            self.acks.push_back(ack);
        }
    }

    // ---- time ------------------------------------------------------------------

    /// When to call [`Self::on_timeout`]; none if the connection waits only for segments.
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.over.is_some() {
            return None;
        }
        if let Some(due) = self.response_timeout() {
            let of_receiver = self.receiver.poll_timer().map(|(due, _)| due);
            return of_receiver.into_iter().chain([due]).min();
        }
        let of_sender = self.sender.poll_timer().map(|(due, _)| due);
        let of_receiver = self.receiver.poll_timer().map(|(due, _)| due);
        let all = [
            of_sender.map(|due| self.patience(due)),
            of_receiver,
            self.time_wait_until,
            self.uncork_at,
            self.probing.due(),
        ];
        all.into_iter().flatten().min()
    }

    /// Updates since when something waits for an ACK; `is_answered` if there was one now.
    fn note_answers(&mut self, now: Instant, is_answered: bool) {
        let waits = self.sender.view().snd_una < self.stream.segments_end();
        if !waits || is_answered {
            self.unanswered = None;
        }
        if waits {
            self.unanswered.get_or_insert(now);
        }
    }

    /// A short segment that the application holds back is sent when nothing has been in flight for some
    /// time.
    fn watch_cork(&mut self, now: Instant) {
        let view = self.sender.view();
        let is_idle = view.snd_una == view.snd_max && view.snd_max < self.stream.segments_end();
        let is_held = self.stream.corked || self.stream.more;
        let waits = is_held && is_idle && self.is_established();
        if !waits {
            self.uncork_at = None;
        } else if self.uncork_at.is_none() {
            self.uncork_at = Some(now + view.rto.max(CORKED));
        }
    }

    /// Time has passed; returns whether the retransmission timer has expired. Does nothing before
    /// [`Self::next_timeout`].
    pub fn on_timeout<L: Log>(&mut self, now: Instant, log: &mut L) -> bool {
        if self.next_timeout().is_none_or(|due| due > now) {
            return false;
        }
        if self.response_timeout().is_some() {
            let of_receiver = self.receiver.on_timer(now);
            self.acks.extend(of_receiver);
            return self.respond_again_by(now, log);
        }
        self.time_wait_until.take_if(|until| *until <= now);
        let timer = self.sender.poll_timer().map(|(due, _)| due);
        let is_retransmission = timer.is_some_and(|due| self.patience(due) <= now);
        if is_retransmission && self.gives_up(now) {
            return true;
        }
        if self.uncork_at.take_if(|due| *due <= now).is_some() {
            self.stream.release();
            if self.is_of_linux() {
                // tcp_write_wakeup().
                self.stream.hide_short(self.stream.end());
            }
        }
        let of_receiver = self.receiver.on_timer(now);
        self.acks.extend(of_receiver);
        if self.probe_by(now) {
            return false;
        }
        let is_due = self.sender.poll_timer().is_some_and(|(due, _)| due <= now);
        self.send_part(now, log);
        if self.recovers_as_linux() && self.sender.is_tail_probe_due(now) {
            self.probes_tail = true;
            let una = self.sender.view().snd_una;
            let end = self.stream.sendable_end(self.window_end(), una, true);
            self.sender.offer_for_probe(end);
        }
        let ssthresh = self.sender.view().ssthresh;
        let expired = self.sender.on_timer(now, log);
        if expired && self.sender.view().ssthresh < ssthresh {
            self.congestion.reduced = self.congestion.agreed;
        }
        if self.connecting && is_due {
            self.early.push(now);
        } else if is_due && self.defers_response() {
            // The response is only counted as sent.
            while self.sender.poll_transmit(now).is_some() {}
        }
        if expired {
            self.suspect_path(now, log);
        }
        self.end_lost_probe(now, log);
        self.send_more(now, log);
        expired
    }
}
