//! The tested connection of a script: its sent segments, its counters, and the checks of a script's
//! input.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use midflight_control::congestion::AnyCongestion;
use midflight_control::signal::HandoffMark;
use midflight_control::PathUpdate;
use midflight_endpoint::{
    Arrival, Connection, Departure, FastOpen, FastOpenOption, Keepalive, Settings,
};
use midflight_tcp::{AckOption, ConfigError, Log, ReceiveSpace, SegmentOption, SenderEvent};
use midflight_units::{Duration, Instant};

use super::environment::Environment;
use super::handoff::HandoffEvent;
use super::report::{self, Counts, Field};
use super::script::{Ecn, Options, SegmentSpec};
use super::sockets;
use super::timestamps::{statistics, Stamps};

/// Maximum number of timer expiries in a script.
const MOST_TIMEOUTS: u64 = 100_000;
/// The default of net.ipv4.tcp_syn_retries, and the retries of a connection that the application has closed
/// (tcp_orphan_retries()).
const SYN_RETRIES: u32 = 6;
const ORPHAN_RETRIES: u32 = 8;
/// TCP_CA_Loss.
const CA_LOSS: u8 = 4;
/// Maximum number of segments in a script.
const MOST_SEGMENTS: u64 = 100_000;
/// The content of a sent segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carries {
    Syn,
    Reset,
    /// Bytes, perhaps none, with or without the FIN.
    Bytes {
        fin: bool,
    },
}

/// A segment that the sender has put on the network.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Its urgent pointer.
    pub(super) urgent: Option<u64>,
    /// ECE, CWR and ECT.
    pub(super) ece: bool,
    pub(super) cwr: bool,
    pub(super) ect: bool,
    /// Its SACK blocks.
    pub(super) sack: Vec<(u64, u64)>,
    /// Its option of TCP Fast Open.
    pub(super) fast_open: Option<FastOpenOption>,
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = match self.carries {
            Carries::Syn => "S",
            Carries::Reset => "R",
            Carries::Bytes { fin: true } => "F",
            Carries::Bytes { fin: false } => "",
        };
        let ecn = match (self.ece, self.cwr) {
            (true, true) => "EW",
            (true, false) => "E",
            (false, true) => "W",
            (false, false) => "",
        };
        let urg = if self.urgent.is_some() { "U" } else { "" };
        let dot = if self.ack.is_some() { "." } else { "" };
        let (from, to) = (self.from, self.to);
        write!(f, "{flags}{ecn}{urg}{dot} {from}:{to}({})", to - from)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        Ok(())
    }
}

/// Why an arriving segment is refused.
pub(super) type Refusal = (String, &'static str);

/// The sender's events that a drill needs.
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
                self.fault.get_or_insert((what, "at least 1 is accepted"));
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
    reports: SenderReports,
    pub(super) counts: Counts,
    /// Sent segments that are not yet checked.
    pub(super) sent: VecDeque<Sent>,
    timeouts: u64,
    /// The last segment of the other side, and the number of its marked segments.
    last: Option<Arrival>,
    marks: u32,
    /// The number of the last train that the other side measures, and the report that its next ACK carries.
    train: Option<u16>,
    report: Option<AckOption>,
    follows_linux: bool,
    /// Timestamps of what is sent.
    pub(super) stamps: Stamps,
    /// Send times of segments by their timestamps in the script.
    sent_stamps: BTreeMap<u64, Instant>,
}

impl Tested {
    /// A connection whose SYN is sent now: a response to `peer`, or a connection opened by us.
    ///
    /// # Errors
    /// [`ConfigError`] if the sender needs a feature that was not negotiated.
    pub(super) fn open(
        environment: &Environment<'_>,
        now: Instant,
        peer: Option<&SegmentSpec>,
        set: &sockets::Settings,
        fast_open: FastOpen,
    ) -> Result<Self, ConfigError> {
        let settings = Settings {
            mss: environment.mss,
            sack: environment.sack,
            timestamps: environment.timestamps,
            window_scaling: environment.window_scaling,
            nagle: set.nagle,
            ecn: environment.ecn,
            user_timeout: set.user_timeout,
            start_notice: environment.start_notice,
            // Segments that arrive after the end of a connection are not checked.
            time_wait: Duration::ZERO,
            fast_open,
            receive_buffer: set
                .receive_buffer
                .unwrap_or(u64::MAX)
                .min(set.window_clamp.unwrap_or(u64::MAX))
                .clamp(2 * environment.mss, 1 << 20),
            syn_retries: set
                .syn_retries
                .or(environment.syn_retries)
                .or(environment.is_linux().then_some(SYN_RETRIES)),
            linear_syns: environment.linear_syns,
            thin_linear: set.thin_linear || environment.thin_linear,
            response_retries: set.syn_retries.unwrap_or(environment.response_retries),
            data_retries: environment.data_retries,
            orphan_retries: match environment.orphan_retries {
                0 => ORPHAN_RETRIES,
                retries => retries,
            },
            tail_probes: environment.tail_probes,
            pacing_limit: set.pacing_limit,
            answer_pause: environment.answer_pause,
            deferred_timeouts: set.deferred_timeouts(),
            fin_timeout: set.linger.or(environment.fin_timeout),
            keepalive: set.keeps_alive.then_some(set.keepalive),
            mtu_probing: environment.mtu_probing,
            compression: environment.compression,
            ends_half_closed: set.ends_half_closed,
            keeps_time_wait: environment.keeps_time_wait,
            standard_urgent: environment.standard_urgent,
            joins_segments: environment.joins_segments,
            receive_space: environment
                .is_linux()
                .then(|| receive_space(environment, set)),
            ..Settings::new(environment.built.clone())
        };
        let mut reports = SenderReports::default();
        let early = settings.fast_open.bytes;
        let mut tcp = match peer {
            Some(syn) => Connection::accept(settings, now, &arrival(syn, None), &mut reports)?,
            None => Connection::connect(settings, now, &mut reports)?,
        };
        tcp.set_corked(now, set.corked, &mut reports);
        tcp.write_before_opening(early);
        let mut tested = Self {
            now,
            tcp,
            reports,
            counts: Counts {
                // Linux counts the SYN (tcp_create_openreq_child()).
                received: u64::from(peer.is_some() && environment.is_linux()),
                has_asked: peer.is_none() && environment.is_linux(),
                ..Counts::default()
            },
            sent: VecDeque::new(),
            timeouts: 0,
            last: None,
            marks: 0,
            train: None,
            report: None,
            follows_linux: environment.is_linux(),
            stamps: Stamps::default(),
            sent_stamps: BTreeMap::new(),
        };
        tested.transmit();
        Ok(tested)
    }

    /// Features that are not used because the other side does not have them.
    pub(super) fn does_without(&self, environment: &Environment<'_>) -> Option<&'static str> {
        let recovery = environment.built.profile.sender.recovery;
        let needs_sack = recovery.uses_sack() && !environment.is_linux();
        (environment.sack && !self.tcp.has_sack() && needs_sack)
            .then_some("SACK is not agreed on: recovery is newreno on this connection")
    }

    // ---- sending -------------------------------------------------------------

    /// Sends all segments that may be sent.
    fn transmit(&mut self) {
        let before = self.counts.data_sent;
        while let Some(departure) = self.tcp.poll_transmit(self.now) {
            self.record(&departure);
        }
        self.tcp.settle(self.now, &mut self.reports);
        self.count_busy();
        self.count_buffer(self.counts.data_sent > before);
        if self.tcp.sender().is_stuck() {
            let what = format!("a sender that stalled at {}", self.now);
            let why = "it has data to send, but no timer runs: a bug of one of its parts";
            self.reports.fault.get_or_insert((what, why));
        }
    }

    /// The time in which data waits or is not acknowledged, and in which the other side's window limits the sender
    /// (tcp_chrono_start(), TCP_CHRONO_BUSY and TCP_CHRONO_RWND_LIMITED).
    fn count_busy(&mut self) {
        let is_busy = self.tcp.unacknowledged_bytes() > 0 || self.tcp.is_busy();
        match self.counts.busy_since {
            Some(since) if !is_busy => {
                self.counts.busy = self.counts.busy + self.now.since(since);
                self.counts.busy_since = None;
            }
            None if is_busy => self.counts.busy_since = Some(self.now),
            _ => {}
        }
        let is_limited = self.tcp.is_limited_by_peer();
        match self.counts.limited_since {
            Some(since) if !is_limited => {
                self.counts.limited = self.counts.limited + self.now.since(since);
                self.counts.limited_since = None;
            }
            None if is_limited => self.counts.limited_since = Some(self.now),
            _ => {}
        }
    }

    /// A write has found no room for all of its data, or there is room again (tcp_check_space()).
    pub(super) fn note_room(&mut self, is_full: bool, has_pushed: bool) {
        self.counts.no_room = is_full;
        self.count_buffer(has_pushed);
    }

    /// The time in which only the send buffer keeps data from being sent (tcp_cwnd_validate(),
    /// TCP_CHRONO_SNDBUF_LIMITED).
    fn count_buffer(&mut self, has_sent: bool) {
        let view = self.tcp.sender().view();
        let has_room = (view.flight_size() as f64) < view.cwnd.floor();
        let begins = has_sent && self.tcp.unsent_bytes() == 0 && has_room;
        let is_limited = self.counts.no_room && (self.counts.buffer_since.is_some() || begins);
        match self.counts.buffer_since {
            Some(since) if !is_limited => {
                self.counts.buffer_limited = self.counts.buffer_limited + self.now.since(since);
                self.counts.buffer_since = None;
            }
            None if is_limited => self.counts.buffer_since = Some(self.now),
            _ => {}
        }
    }

    fn record(&mut self, departure: &Departure) {
        let &Departure {
            syn, rst, from, to, ..
        } = departure;
        let now = self.now;
        if to > from {
            self.counts.last_data_sent = Some(now);
            self.counts.bytes_sent += to - from;
            if departure.retransmission {
                self.counts.bytes_resent += to - from;
            }
        }
        if departure.ack.is_some() {
            self.counts.window = departure.window;
        }
        if let Some(SegmentOption::Train(mark)) = departure.option {
            self.train = Some(mark.number);
        }
        // An RST is not of the connection.
        self.counts.sent += u64::from(!rst || !self.follows_linux);
        self.counts.responses += u64::from(syn && departure.ack.is_some() && self.follows_linux);
        self.counts.data_sent += u64::from(to > from);
        self.counts.retransmitted += u64::from(departure.retransmission);
        if !self.stamps.is_idle() && to > from {
            let (values, queued) = self.statistics();
            self.stamps.sent(now, (from, to), &values, queued);
        }
        self.counts.syns += u32::from(syn);
        self.sent.push_back(Sent {
            at: self.now,
            carries: match (syn, rst) {
                (true, _) => Carries::Syn,
                (false, true) => Carries::Reset,
                (false, false) => Carries::Bytes { fin: departure.fin },
            },
            from,
            to,
            ack: departure.ack,
            echo: departure.echo,
            sack_permitted: syn && self.tcp.has_sack(),
            urgent: departure.urgent,
            ece: departure.ece,
            cwr: departure.cwr,
            ect: departure.ect,
            sack: departure.sack.clone(),
            fast_open: departure.fast_open.clone(),
        });
    }

    /// The application writes packets. Only the last may take more data; with `more` it is held back,
    /// with `ends` it also ends. Returns false if that exceeds the limits of a script.
    pub(super) fn write(
        &mut self,
        packets: &[u64],
        (more, ends): (bool, bool),
        (stamps, is_urgent): (i64, bool),
    ) -> bool {
        let stream = self.tcp.stream();
        let bytes: u64 = packets.iter().sum();
        if bytes / stream.mss() + stream.segments_end() > MOST_SEGMENTS {
            return false;
        }
        self.tcp.announce(more && !is_urgent);
        for (i, &packet) in packets.iter().enumerate() {
            self.tcp
                .write_marked(self.now, packet, is_urgent, &mut self.reports);
            if ends || i + 1 < packets.len() {
                self.tcp.end_record();
            }
        }
        let sent = self.sent_bytes();
        self.stamps.write(self.tcp.stream().end(), sent, stamps);
        self.transmit();
        true
    }

    /// One past the last byte that has been sent.
    fn sent_bytes(&self) -> u64 {
        self.tcp.stream().byte_of(self.tcp.sender().view().snd_max)
    }

    /// The values in a note of a timestamp, and the bytes that are not acknowledged.
    fn statistics(&self) -> (Vec<f64>, u64) {
        let values = statistics().map(|field| self.value(field));
        (values.collect(), self.tcp.unacknowledged_bytes())
    }

    /// The application has read.
    pub(super) fn read(&mut self, now: Instant, bytes: u64) {
        self.tcp.consume(now, bytes);
        self.transmit();
    }

    /// The application wants ACKs at once or delayed ones.
    pub(super) fn set_quick_acks(&mut self, quick: bool) {
        self.tcp.set_quick_acks(self.now, quick);
        self.transmit();
    }

    /// The application chooses another congestion controller.
    pub(super) fn set_congestion(&mut self, congestion: &AnyCongestion) {
        self.tcp.set_congestion(congestion);
        self.transmit();
    }

    /// When the connection is probed while nothing arrives.
    pub(super) fn set_keepalive(&mut self, keepalive: Option<Keepalive>) {
        self.tcp.set_keepalive(self.now, keepalive);
        self.transmit();
    }

    /// Whether the application holds short segments back.
    pub(super) fn set_corked(&mut self, corked: bool) {
        self.tcp.set_corked(self.now, corked, &mut self.reports);
        self.transmit();
    }

    /// The application aborts the connection.
    pub(super) fn abort(&mut self) {
        self.tcp.abort();
        self.transmit();
    }

    /// The application has no more to send.
    pub(super) fn close(&mut self) {
        self.tcp.close(self.now, &mut self.reports);
        self.transmit();
    }

    /// The application turns Nagle's algorithm on or off.
    pub(super) fn set_nagle(&mut self, nagle: bool) {
        self.tcp.set_nagle(self.now, nagle, &mut self.reports);
        self.transmit();
    }

    // ---- time ------------------------------------------------------------------

    /// When its next timer expires.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.tcp.next_timeout()
    }

    /// Advances to the connection's next timer, which then expires; returns false if one has expired
    /// too often.
    pub(super) fn expire(&mut self, due: Instant) -> bool {
        self.timeouts += 1;
        if self.timeouts > MOST_TIMEOUTS {
            return false;
        }
        self.now = self.now.max(due);
        let was_closed = self.tcp.sender().is_window_closed();
        self.counts.probes += u32::from(was_closed);
        if self.tcp.on_timeout(self.now, &mut self.reports) {
            // tcp_retransmit_timer(): with a window of zero it is a probe.
            if self.tcp.window() > 0 || !self.tcp.is_established() || !self.tcp.is_of_linux() {
                self.counts.note_timeout(self.now);
            }
            self.counts.loss_point = self.tcp.sender().view().snd_max;
        }
        self.transmit();
        true
    }

    /// An ICMP message: the path takes only packets with this many bytes of data and options.
    ///
    /// # Errors
    /// A sender that does not work with the new size.
    pub(super) fn reduce_path_mtu(&mut self, bytes: u64) -> Result<(), ConfigError> {
        self.tcp
            .reduce_path_mtu(self.now, bytes, &mut self.reports)?;
        self.transmit();
        Ok(())
    }

    /// An ICMP message: the path was broken when the timer expired.
    pub(super) fn revert_back_off(&mut self) {
        if self.tcp.revert_back_off(self.now, &mut self.reports) {
            self.counts.note_timeout(self.now);
        }
        self.transmit();
    }

    // ---- handoffs ----------------------------------------------------------------

    /// Processes an event around a handoff.
    ///
    /// # Errors
    /// A feature that the sender needs.
    pub(super) fn hand_off(&mut self, event: HandoffEvent) -> Result<(), ConfigError> {
        let now = self.now;
        match event {
            HandoffEvent::Notice(notice) => {
                self.tcp
                    .on_path_update(now, &PathUpdate::Notice(notice), &mut self.reports);
            }
            HandoffEvent::Warning(notice) => {
                self.tcp.on_links(now, &notice, false);
                self.tcp.on_warning(now);
            }
            HandoffEvent::Attached(notice) => {
                self.tcp.on_links(now, &notice, true);
                self.tcp.on_attached(now);
            }
            HandoffEvent::Mark(window) => {
                let Some(last) = &self.last else {
                    return Ok(());
                };
                self.marks += 1;
                let end = last.to + u64::from(last.syn) + u64::from(last.fin);
                let marked = Arrival {
                    syn: false,
                    fin: false,
                    from: end,
                    to: end,
                    window: window.unwrap_or(last.window),
                    option: AckOption::Moved(HandoffMark {
                        number: self.marks,
                        sent: now,
                    }),
                    ..last.clone()
                };
                self.tcp.on_segment(now, &marked, &mut self.reports)?;
            }
            HandoffEvent::Report(rate) => {
                let Some(train) = self.train else {
                    let what = format!("a report at {now}");
                    let why = "no train that the other side measures has been sent";
                    self.reports.fault.get_or_insert((what, why));
                    return Ok(());
                };
                self.report = Some(AckOption::Measured { train, rate });
            }
        }
        self.transmit();
        Ok(())
    }

    // ---- arrivals ----------------------------------------------------------------

    /// A segment of the other side arrives.
    ///
    /// # Errors
    /// The refusal and its reason, or a feature that the sender needs.
    pub(super) fn arrives(
        &mut self,
        spec: &SegmentSpec,
        environment: &Environment<'_>,
    ) -> Result<Result<(), Refusal>, ConfigError> {
        if spec.options.signed {
            // There is no key: signed segments are dropped (tcp_inbound_md5_hash()).
            return Ok(Ok(()));
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
        self.reports.undone = false;
        self.counts.received += 1;
        if spec.to > spec.from && !spec.syn {
            self.counts.data_received += 1;
            self.counts.last_data_received = Some(self.now);
        }
        let carries = spec.to > spec.from || spec.fin;
        let is_beyond = self.tcp.is_of_linux() && spec.from >= self.tcp.receive_edge();
        if carries && !spec.syn && spec.from > self.tcp.received() && !is_beyond {
            // tcp_data_queue_ofo().
            self.counts.out_of_order += 1;
        }
        if spec.dot {
            self.counts.last_ack_received = Some(self.now);
        }
        self.counts.probes = 0;
        let mut segment = arrival(spec, echo);
        if segment.ack.is_some() && !segment.syn {
            segment.option = self.report.take().unwrap_or_default();
        }
        let before = (!self.stamps.is_idle()).then(|| self.statistics().0);
        let was_established = self.tcp.is_established();
        self.tcp.on_segment(self.now, &segment, &mut self.reports)?;
        if self.tcp.is_established() && !was_established {
            // tcp_finish_connect(), tcp_create_openreq_child().
            self.counts.last_data_sent.get_or_insert(self.now);
            self.counts.last_data_received.get_or_insert(self.now);
        }
        self.last = Some(segment);
        if let Some(mut values) = before {
            // tcp_clean_rtx_queue() makes the notes before it takes the RTT and grows the window.
            let acknowledged = self.tcp.sender().view().snd_una;
            let una = self.tcp.stream().byte_of(acknowledged);
            for (value, field) in values.iter_mut().zip(statistics()) {
                if field == Field::Delivered || field == Field::BusyTime {
                    *value = self.value(field);
                }
            }
            let queued = self.tcp.unacknowledged_bytes();
            self.stamps.acknowledged(self.now, una, &values, queued);
        }
        if self.reports.undone {
            self.counts.loss_point = 0;
            // tcp_try_undo_loss().
            self.counts.timeouts = 0;
        }
        if self.tcp.sender().view().snd_una > una {
            self.counts.timeouts = 0;
            if !self.is_in_loss() {
                self.counts.end_timeouts(self.now);
            }
        }
        self.transmit();
        Ok(Ok(()))
    }

    /// The state is TCP_CA_Loss.
    fn is_in_loss(&self) -> bool {
        self.value(Field::CaState) == f64::from(CA_LOSS)
    }

    /// Whether the bytes that the segment acknowledges or reports lie within our segments.
    pub(super) fn is_within(&self, spec: &SegmentSpec) -> bool {
        let stream = self.tcp.stream();
        let is_edge = |byte| byte >= stream.end() || stream.segment_at(byte).is_some();
        let blocks = spec.options.sack.iter().filter(|_| self.tcp.has_sack());
        let edges = blocks.flat_map(|&(left, right)| [left, right]);
        !edges.chain(spec.ack).all(is_edge)
    }

    /// The send time of the segment whose timestamp has this value in the script: from the script's
    /// lines, or computed by the tick from the first of them.
    fn sent_at(&self, value: u64, tick: Duration) -> Option<Instant> {
        if let Some(&at) = self.sent_stamps.get(&value) {
            return Some(at);
        }
        let (&first, &at) = self.sent_stamps.first_key_value()?;
        let later = at + tick * value.checked_sub(first)?;
        (later <= self.now).then_some(later)
    }

    /// A line of the script states the timestamp of the segment sent at `at`; if that is impossible,
    /// returns the expected value.
    pub(super) fn stamp(
        &mut self,
        value: u64,
        at: Instant,
        environment: &Environment<'_>,
    ) -> Result<(), String> {
        let off = |a: Instant, b: Instant| a.since(b).max(b.since(a)) > environment.tolerance;
        if environment.timestamps_compared {
            let known = self.sent_stamps.first_key_value();
            if let Some((&first, &start)) = known {
                let ticks = at.since(start).as_nanos() / environment.timestamp_tick.as_nanos();
                let should = start + environment.timestamp_tick * value.saturating_sub(first);
                if off(should, at) {
                    return Err(format!("TS val {}", first + ticks));
                }
            }
        }
        match self.sent_stamps.get(&value) {
            Some(&other) if environment.timestamps_compared && off(other, at) => Err(format!(
                "another value, as TS val {value} was that of a segment sent at {other}"
            )),
            _ => {
                self.sent_stamps.insert(value, at);
                Ok(())
            }
        }
    }

    // ---- queries ----------------------------------------------------------------

    /// A report of a train waits for the next ACK of the script.
    pub(super) fn has_report(&self) -> bool {
        self.report.is_some()
    }

    /// A forbidden action of the sender, and the reason.
    pub(super) fn fault(&self) -> Option<Refusal> {
        self.reports.fault.clone()
    }

    pub(super) fn value(&self, field: Field) -> f64 {
        report::value(field, self.now, &self.tcp, &self.counts)
    }

    pub(super) fn state(&self) -> Vec<(&'static str, String)> {
        let stream = self.tcp.stream();
        report::state(self.now, self.tcp.sender(), |s| stream.byte_of(s))
    }
}

/// The receive buffer of a connection with these options: SO_RCVBUF is doubled (SOCK_MIN_RCVBUF), and does not grow.
fn receive_space(environment: &Environment<'_>, set: &sockets::Settings) -> ReceiveSpace {
    let locked = set
        .receive_buffer
        .map(|bytes| bytes.saturating_mul(2).max(2304));
    let buffer = locked.unwrap_or(environment.buffers.0);
    ReceiveSpace {
        buffer,
        most: locked.unwrap_or(environment.most_receive_buffer.max(buffer)),
        // SOCK_MIN_RCVBUF / 2.
        clamp: set.window_clamp.map(|clamp| clamp.max(1152)),
        scales: environment.window_scaling,
        segment: environment.mss,
    }
}

/// A segment of the script, which echoes the timestamp of the segment sent at `echo`.
pub(super) fn arrival(spec: &SegmentSpec, echo: Option<Instant>) -> Arrival {
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
        rst: spec.rst,
        push: spec.push,
        ece: spec.ece,
        cwr: spec.cwr,
        urgent: spec.urgent,
        congested: spec.ecn == Some(Ecn::Experienced),
        // Numbers of a script count from the SYN, whose own number is arbitrary.
        from: if spec.syn { 0 } else { spec.from },
        to: if spec.syn {
            spec.to - spec.from
        } else {
            spec.to
        },
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
