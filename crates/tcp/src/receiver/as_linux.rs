//! How the Linux receiver processes segments: tcp_rcv_established(), tcp_validate_incoming(), tcp_data_queue().
//! When it sends an ACK, and with which window, is in `linux.rs`.

use midflight_units::{Duration, Instant, Seq};

use super::gro::Packet;
use super::linux::{of_tun, Data, Held, Place, ReceiveSpace, Syn};
use super::memory::Merged;
use super::usual::{Usual, NOT_PREDICTED};
use super::{Linux, Receiver};
use crate::segment::{
    Ack, AckOption, Content, EcnCodepoint, SackBlock, SackBlocks, Segment, SegmentOption,
    SYN_OPTIONS,
};
use crate::sizes::segment_of;

/// Bytes of the SACK option's padding and header.
const SACK_HEAD: u8 = 4;

impl Linux {
    /// The blocks of an ACK of this number.
    #[inline(never)]
    fn blocks(&mut self, number: Seq, most: usize, unit: u64) -> SackBlocks {
        let mut sack = SackBlocks::default();
        for block in self.acks.take_blocks(most) {
            if self.has_short {
                let in_bytes = SackBlocks::of_bytes(unit as u16);
                if sack.is_empty() {
                    sack = in_bytes;
                }
                sack.push_bytes(number, block);
            } else {
                let of = |byte| segment_of(byte, unit).0;
                let (left, right) = (of(block.left), of(block.right));
                sack.push(number, SackBlock { left, right });
            }
        }
        sack
    }
}

impl Receiver {
    #[inline]
    pub(super) fn on_segment_of_linux(&mut self, now: Instant, segment: &Segment) -> Option<Ack> {
        match segment.option {
            None => self.take_as_linux(now, segment),
            Some(option) => self.measure_as_linux(now, segment, option),
        }
    }

    #[cold]
    #[inline(never)]
    fn measure_as_linux(
        &mut self,
        now: Instant,
        segment: &Segment,
        option: SegmentOption,
    ) -> Option<Ack> {
        let report = self.measurement.on_segment(now, segment);
        let option = match option {
            SegmentOption::Request(request) => request.response().map(AckOption::Approved),
            _ => report.map(AckOption::from),
        };
        let mut ack = self.take_as_linux(now, segment);
        if let (Some(option), false) = (option, self.is_closed()) {
            // A measurement report is not delayed.
            let answer = ack.get_or_insert_with(|| self.acknowledge_as_linux());
            answer.option = option;
        }
        ack
    }

    /// A segment arrives, and may be merged with others before TCP gets it.
    #[inline(always)]
    pub(super) fn take_as_linux(&mut self, now: Instant, segment: &Segment) -> Option<Ack> {
        let len = u64::from(
            segment
                .bytes
                .saturating_sub(self.config.bare_bytes())
                .max(1),
        );
        let left = self.place(segment.seq, segment.offset);
        let right = left + len;
        let block = SackBlock { left, right };
        if self.gro.is_some() {
            return self.aggregate(now, segment, block);
        }
        self.take_one(now, segment, block, len, None)
    }

    /// The timer of GRO, if it is the next one.
    #[inline]
    pub(super) fn gro_timer(&self) -> Option<(Instant, Instant)> {
        let timer = self.gro.as_deref()?.poll_timer()?;
        let of_acks = self.linux.as_deref()?.acks.poll_timer();
        of_acks
            .is_none_or(|acks| timer.0 <= acks.0)
            .then_some(timer)
    }

    /// Whether the next deadline belongs to a high-resolution timer, which expires after a kernel has processed
    /// the packets of the same instant.
    pub fn awaits_high_resolution(&self) -> bool {
        let linux = self.linux.as_deref();
        linux.is_some_and(|linux| {
            let of_acks = || linux.acks.awaits_high_resolution();
            linux.more.is_empty() && (self.gro_timer().is_some() || of_acks())
        })
    }

    /// napi_gro_receive().
    #[cold]
    #[inline(never)]
    fn aggregate(&mut self, now: Instant, segment: &Segment, block: SackBlock) -> Option<Ack> {
        let packets = self.gro.as_deref_mut()?.arrive(now, segment, block);
        let mut ack = None;
        for packet in packets.iter().flatten() {
            self.take_packet(now, packet, &mut ack);
        }
        ack
    }

    /// Takes a packet that GRO has let go. Its ACKs follow those of another one of the same instant.
    #[cold]
    fn take_packet(&mut self, now: Instant, packet: &Packet, first: &mut Option<Ack>) {
        let Packet { segment, block, .. } = packet;
        let len = block.right - block.left;
        let before = self.linux.as_deref().map_or(0, |linux| linux.more.len());
        let ack = self.take_one(now, segment, *block, len, packet.merged);
        match (ack, self.linux.as_deref_mut()) {
            (Some(ack), Some(linux)) if first.is_some() => linux.more.insert(before, ack),
            (Some(ack), _) => *first = Some(ack),
            (None, _) => {}
        }
    }

    /// The next segment, if a full one would be one of many alike (tcp_fast_path_check()) and is within the window.
    fn predict(&self) -> Option<Seq> {
        let linux = self.linux.as_deref()?;
        let (number, offset) = segment_of(self.next, self.unit);
        let is_likely =
            self.usual == Usual::Linux && self.above.is_empty() && linux.acks.predicts(self.unit);
        let may = is_likely && offset == 0 && linux.acks.left(self.next) > 0;
        may.then_some(number)
    }

    /// Only a segment that was not predicted, or one that fills the window, can change that.
    pub(super) fn update_prediction(&mut self) {
        self.predicted = self.predict().unwrap_or(NOT_PREDICTED);
    }

    /// Header prediction: a full segment in order and within the window.
    #[inline(always)]
    pub(super) fn is_predicted(&self, segment: &Segment) -> bool {
        let is_plain =
            segment.has_data() && segment.ecn == EcnCodepoint::NotCapable && !segment.cwr;
        let is_full = segment.bytes == self.full_bytes && segment.offset == 0;
        segment.seq == self.predicted
            && is_plain
            && is_full
            && segment.option.is_none()
            && segment.sent >= self.ts_recent
    }

    /// The fast path of tcp_rcv_established().
    #[inline(never)]
    pub(super) fn take_predicted(
        &mut self,
        now: Instant,
        sent: Instant,
        push: bool,
        echo_ms: u32,
    ) -> Option<Ack> {
        debug_assert_eq!(self.predict(), Some(self.predicted));
        let (left, len) = (self.next, self.unit);
        let right = left + len;
        self.on_empty(left, sent);
        self.last_cause = sent;
        self.next = right;
        self.highest = self.highest.max(right);
        let number = self.predicted + 1;
        self.predicted = number;
        let held = Held {
            next: right,
            has_gaps: false,
        };
        let linux = self.linux.as_deref_mut()?;
        linux.at = now;
        linux.acks.refresh(now);
        let data = Data {
            block: SackBlock { left, right },
            len,
            push,
            echo_ms,
            ecn: EcnCodepoint::NotCapable,
            cwr: false,
            merged: None,
        };
        if linux.acks.take_predicted(now, &data, held) {
            return self.acknowledge_and_read(now, held);
        }
        let is_due = linux.acks.read(now, held);
        self.keeps_timer = linux.acks.keeps_timer() && linux.more.is_empty();
        if linux.acks.left(right) == 0 {
            self.predicted = NOT_PREDICTED;
        }
        is_due.then(|| self.acknowledge_predicted(number, held))
    }

    /// Acknowledges a segment that was predicted before the application reads it.
    #[cold]
    #[inline(never)]
    fn acknowledge_and_read(&mut self, now: Instant, held: Held) -> Option<Ack> {
        let mut ack = Some(self.acknowledge_as_linux());
        if self.linux.as_deref_mut()?.acks.read(now, held) {
            self.hand_out(&mut ack);
        }
        self.update_prediction();
        self.keeps_timer = false;
        ack
    }

    /// As [`Self::acknowledge_as_linux`], right after a segment that was predicted.
    #[inline(always)]
    fn acknowledge_predicted(&mut self, number: Seq, held: Held) -> Ack {
        self.last_ack_sent = held.next;
        let (mut window, mut stamp_ms) = (None, 0);
        if let Some(linux) = self.linux.as_deref_mut() {
            window = linux.acks.sent(held);
            stamp_ms = linux.acks.stamp();
        }
        Ack {
            ack: number,
            offset: 0,
            sack: SackBlocks::default(),
            echo: self.config.timestamps.then_some(self.ts_recent),
            cause_sent: self.last_cause,
            option: match window {
                None => AckOption::ZeroWindow,
                Some(_) => self.window_option(),
            },
            window,
            stamp_ms,
            extra_bytes: 0,
        }
    }

    #[inline(never)]
    fn take_one(
        &mut self,
        now: Instant,
        segment: &Segment,
        block: SackBlock,
        len: u64,
        merged: Option<Merged>,
    ) -> Option<Ack> {
        let ack = self.take_unpredicted(now, segment, block, len, merged);
        self.update_prediction();
        ack
    }

    /// tcp_rcv_established(), tcp_validate_incoming() and tcp_data_queue().
    fn take_unpredicted(
        &mut self,
        now: Instant,
        segment: &Segment,
        block: SackBlock,
        len: u64,
        merged: Option<Merged>,
    ) -> Option<Ack> {
        let (next, recent) = (self.next, self.ts_recent);
        let (left, unit) = (block.left, self.unit);
        let linux = self.linux.as_deref_mut()?;
        linux.at = now;
        linux.has_short |= segment.offset != 0
            || segment.has_data() && segment.seq > 0 && !len.is_multiple_of(unit);
        let acks = &mut linux.acks;
        acks.refresh(now);
        if segment.seq == 0 && segment.has_data() {
            let syn = acks.on_syn(now);
            if syn == Syn::First {
                self.on_empty(0, segment.sent);
            }
            self.next = self.next.max(1);
            self.highest = self.highest.max(1);
            self.last_cause = segment.sent;
            return (syn != Syn::Ignored).then(|| self.acknowledge_as_linux());
        }
        acks.establish(now, segment.echo_ms, segment.has_data());
        if !segment.has_data() {
            self.on_empty(left, segment.sent);
            let acks = &mut self.linux.as_deref_mut()?.acks;
            let is_answered =
                segment.content == Content::WindowProbe || acks.answers_old(now, left);
            self.last_cause = segment.sent;
            return is_answered.then(|| self.acknowledge_as_linux());
        }
        let is_stale = self.config.timestamps && acks.is_stale(segment.sent, recent);
        let is_old = block.right < acks.acked() || next == 0;
        self.last_cause = segment.sent;
        if is_stale || is_old {
            acks.refuse(block, next);
            return Some(self.acknowledge_as_linux());
        }
        self.on_empty(block.left, segment.sent);
        let data = Data {
            block,
            len,
            push: segment.push,
            echo_ms: segment.echo_ms,
            ecn: segment.ecn,
            cwr: segment.cwr,
            merged,
        };
        let mut ack = None;
        let (is_new, _) = self.take_data_as_linux(now, &data, &mut ack);
        let held = self.held();
        if is_new && self.linux.as_deref_mut()?.acks.read(now, held) {
            self.hand_out(&mut ack);
        }
        ack
    }

    /// Sends an ACK now, or right after one that is sent already.
    fn hand_out(&mut self, first: &mut Option<Ack>) {
        if first.is_none() {
            *first = Some(self.acknowledge_as_linux());
            return;
        }
        let ack = self.acknowledge_as_linux();
        if let Some(linux) = self.linux.as_deref_mut() {
            linux.more.push_back(ack);
        }
    }

    /// tcp_data_queue(): produces the ACKs to send before and after the data is queued. Returns whether the
    /// data is in order, and whether an ACK is sent afterwards.
    pub(super) fn take_data_as_linux(
        &mut self,
        now: Instant,
        data: &Data,
        ack: &mut Option<Ack>,
    ) -> (bool, bool) {
        let (block, next) = (data.block, self.next);
        let Some(linux) = self.linux.as_deref_mut() else {
            return (false, false);
        };
        let acks = &mut linux.acks;
        // A pending DSACK is dropped.
        acks.dsack = None;
        let place = if block.right <= next {
            Place::Old
        } else if acks.is_beyond(block.left, next)
            || self.is_of_bytes && block.left <= next && !acks.has_memory(next)
        {
            Place::Beyond
        } else if block.left > next {
            let kept = acks.queue_above(data);
            let flushed = acks.flushes(block);
            Place::Above { kept, flushed }
        } else {
            if block.left < next {
                let SackBlock { left, .. } = block;
                acks.dsack = Some(SackBlock { left, right: next });
            }
            Place::InOrder { ends_gaps: false }
        };
        if matches!(place, Place::Above { flushed: true, .. }) {
            self.hand_out(ack);
        }
        let had_gaps = !self.above.is_empty();
        if !matches!(place, Place::Old | Place::Beyond) {
            self.insert(block);
        }
        let place = match place {
            Place::InOrder { .. } => {
                let ends_gaps = had_gaps && self.above.is_empty();
                Place::InOrder { ends_gaps }
            }
            place => place,
        };
        let held = self.held();
        let linux = self.linux.as_deref_mut();
        let is_due = linux.is_some_and(|linux| linux.acks.take(now, data, place, held));
        if is_due {
            self.hand_out(ack);
        }
        (matches!(place, Place::InOrder { .. }), is_due)
    }

    /// The SYN, or data that may be old, if sequence numbers count bytes.
    #[cold]
    pub(super) fn on_block_of_linux(
        &mut self,
        now: Instant,
        block: SackBlock,
        sent: Instant,
        (push, at_once): (bool, bool),
    ) -> Option<Ack> {
        let linux = self.linux.as_deref_mut()?;
        linux.at = now;
        linux.acks.refresh(now);
        self.on_empty(block.left, sent);
        self.last_cause = sent;
        if block.left == 0 {
            self.next = self.next.max(1);
            self.highest = self.highest.max(1);
            self.linux.as_deref_mut()?.acks.on_syn(now);
            return Some(self.acknowledge_as_linux());
        }
        self.linux.as_deref_mut()?.acks.establish(now, 0, true);
        let data = Data {
            block,
            len: block.right - block.left,
            push,
            echo_ms: 0,
            ecn: EcnCodepoint::NotCapable,
            cwr: false,
            merged: self.as_from_tun(block.right - block.left),
        };
        let mut ack = None;
        let (_, is_acked) = self.take_data_as_linux(now, &data, &mut ack);
        if at_once && !is_acked {
            self.hand_out(&mut ack);
        }
        ack
    }

    /// A packet of an endpoint whose application reads when it wants to.
    pub(super) fn as_from_tun(&self, len: u64) -> Option<Merged> {
        let has_store = self.linux.as_deref()?.acks.has_store();
        has_store.then(|| of_tun(len))
    }

    /// The application reads when it wants to ([`Self::on_read_to`]), from a buffer of this size. Only Linux receivers have
    /// this.
    pub fn set_space(&mut self, space: ReceiveSpace) {
        if let Some(linux) = self.linux.as_deref_mut() {
            linux.acks.set_space(space);
        }
    }

    /// The application waits until this many bytes are there (SO_RCVLOWAT), of a receiver with [`Self::set_space`].
    pub fn expect(&mut self, bytes: u64) {
        if let Some(linux) = self.linux.as_deref_mut() {
            linux.acks.expect(bytes);
        }
    }

    /// The SYN, which was sent at `opened`, is answered: the connection is open (tcp_finish_connect()).
    pub fn finish_connect(&mut self, now: Instant, opened: Instant) {
        if let Some(linux) = self.linux.as_deref_mut() {
            linux.acks.connect(now, opened);
        }
    }

    /// The window that was advertised last, and one past the last byte of it, of a receiver with [`Self::set_space`].
    pub fn advertised(&self) -> (u64, u64) {
        let of_linux = self.linux.as_deref();
        of_linux.map_or((0, 0), |linux| {
            (
                linux.acks.advertised(),
                self.next + linux.acks.left(self.next),
            )
        })
    }

    /// The application has read everything before byte `read`, and whether more data may arrive (no RCV_SHUTDOWN); returns
    /// the ACK that is sent then, if any.
    pub fn on_read_to(&mut self, now: Instant, read: Seq, expects_more: bool) -> Option<Ack> {
        let held = self.held();
        let acks = &mut self.linux.as_deref_mut()?.acks;
        let is_due = acks.is_established() && acks.read_to(now, (read, expects_more), held);
        is_due.then(|| self.acknowledge_as_linux())
    }

    /// The application wants ACKs at once for some time, or delayed ones (TCP_QUICKACK); returns the ACK that is sent now:
    /// none unless all data has been read (tcp_cleanup_rbuf()). Only Linux receivers have this.
    pub fn set_quick_acks(&mut self, now: Instant, quick: bool, is_empty: bool) -> Option<Ack> {
        let is_due = self.linux.as_deref_mut()?.acks.set_quick(quick);
        if is_due && is_empty {
            return self.on_read(now);
        }
        None
    }

    /// One compressed ACK stands for at most so many, and waits at most so long (`net.ipv4.tcp_comp_sack_nr`,
    /// `net.ipv4.tcp_comp_sack_delay_ns`). Only Linux receivers have this.
    pub fn limit_compression(&mut self, most: u32, delay: Duration) {
        if let Some(linux) = self.linux.as_deref_mut() {
            linux.acks.compression = (most, delay.as_nanos());
        }
    }

    pub(super) fn held(&self) -> Held {
        Held {
            next: self.next,
            has_gaps: !self.above.is_empty(),
        }
    }

    pub(super) fn acknowledge_as_linux(&mut self) -> Ack {
        let held = self.held();
        let most = usize::from(self.config.sack_blocks);
        let unit = self.unit;
        let mut number = (0, 0);
        let mut sack = SackBlocks::default();
        let (mut window, mut stamp_ms, mut extra_bytes) = (None, 0, 0);
        let mut echoes = false;
        if let Some(linux) = self.linux.as_deref_mut() {
            number = segment_of(held.next, unit);
            let is_syn = !linux.acks.is_established();
            if linux.acks.has_blocks() {
                sack = linux.blocks(number.0, most, unit);
            }
            window = linux.acks.sent(held);
            stamp_ms = linux.acks.stamp();
            echoes = linux.acks.echoes();
            extra_bytes = match (is_syn, sack.is_empty()) {
                (true, _) => SYN_OPTIONS,
                (false, true) => 0,
                (false, false) => SACK_HEAD,
            };
        }
        let (number, offset) = number;
        self.last_ack_sent = self.next;
        let option = match window {
            None => AckOption::ZeroWindow,
            // The option is repeated until the sender responds.
            Some(_) => match self.window_option() {
                AckOption::Nothing if echoes => AckOption::Congested,
                option => option,
            },
        };
        Ack {
            ack: number,
            offset,
            sack,
            echo: self.config.timestamps.then_some(self.ts_recent),
            cause_sent: self.last_cause,
            option,
            window,
            stamp_ms,
            extra_bytes,
        }
    }

    pub(super) fn on_timer_of_linux(&mut self, now: Instant) -> Option<Ack> {
        let linux = self.linux.as_deref_mut()?;
        if let Some(ack) = linux.more.pop_front() {
            return Some(ack);
        }
        if let Some(packet) = self.gro.as_deref_mut().and_then(|gro| gro.on_timer(now)) {
            let mut ack = None;
            self.take_packet(now, &packet, &mut ack);
            if ack.is_some() {
                return ack;
            }
        }
        let is_due = self.linux.as_deref_mut()?.acks.on_timer(now);
        is_due.then(|| self.acknowledge_as_linux())
    }
}
