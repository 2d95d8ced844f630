//! Tracks the delivery rate, for controllers that set a sending rate and for policies that use it.

use midflight_control::{Interests, RecordedRate};
use midflight_units::{Duration, Seq};
use smallvec::SmallVec;

use super::policies::sack_and_dsack;
use super::Core;
use crate::segment::{Ack, Segment};

impl Core {
    /// Starts tracking, because a part uses the rate.
    pub(super) fn begin_to_follow(&mut self) {
        if self.interests.includes(Interests::RATES) && self.deliveries.is_none() {
            self.deliveries = Some(Box::default());
            self.hold();
        }
    }

    /// Tracks the rate from the start, although no part uses it.
    pub(crate) fn record_rate(&mut self) {
        self.deliveries.get_or_insert_default();
        self.hold();
    }

    /// The rate that was recorded last.
    pub(crate) fn recorded_rate(&self) -> Option<RecordedRate> {
        self.deliveries.as_ref()?.recorded()
    }

    /// A segment has just been returned for sending; nothing else is in flight if `idle`.
    pub(crate) fn follow_segment(&mut self, segment: &Segment, idle: bool) {
        let stamp = self.stamp();
        let in_flight = self.loss.pipe().max(1) as u64;
        if let Some(deliveries) = self.deliveries.as_mut().filter(|_| segment.has_data()) {
            deliveries.sent(segment.seq, stamp, idle, in_flight);
        }
    }

    /// An ACK has arrived and is not processed yet.
    pub(super) fn follow_deliveries(&mut self, ack: &Ack) {
        self.rate = None;
        if let Some(deliveries) = &mut self.deliveries {
            if ack.is_quic() {
                // The QUIC recovery maps packet numbers to segments and calls `follow_segments` if there are any. Until
                // then the ACK delivers nothing.
                deliveries.take_segments(0, &[], self.now);
                return;
            }
            let (blocks, _) = sack_and_dsack(ack);
            deliveries.take(ack.ack, &blocks, self.now);
        }
    }

    /// The delivery rate at the current ACK, in bits of data per second, and whether the application had too
    /// little to send.
    pub(crate) fn delivery_rate(&self) -> Option<(f64, bool)> {
        let sample = self.rate.as_ref()?;
        let bits = f64::from(self.config.payload_bytes()) * 8.0;
        Some((sample.per_second()? * bits, sample.app_limited))
    }

    /// A QUIC ACK acknowledges these segments, and all below SND.UNA.
    pub(crate) fn follow_segments(&mut self, una: Seq, segments: &[Seq]) {
        if let Some(deliveries) = &mut self.deliveries {
            let mut ordered: SmallVec<[Seq; 8]> = segments.into();
            ordered.sort_unstable();
            deliveries.take_segments(una, &ordered, self.now);
        }
    }

    /// The current ACK reports so many duplicates of retransmissions, which count as delivered (tcp_dsack_seen()).
    pub(crate) fn follow_duplicates(&mut self, segments: u64) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.count(segments);
        }
    }

    /// The path is another one: what is in flight gives no samples for it.
    pub(crate) fn begin_deliveries_of_path(&mut self) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.begin_path(self.now);
        }
    }

    /// Without SACK the recovery knows how many segments the current ACK delivers: duplicate ACKs count.
    pub(crate) fn recount_deliveries(&mut self, newly: u64) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.recount(newly);
        }
    }

    /// What the current ACK delivers does not count.
    pub(crate) fn discount_deliveries(&mut self) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.discount();
        }
    }

    /// Makes the rate sample of the current ACK, if anybody listens and it is not made yet. A recovery that finds
    /// losses and measures round trips at the ACK makes it itself; `latest` is the round trip of what was sent
    /// last, in microseconds like `min_rtt`.
    pub(crate) fn take_rate(
        &mut self,
        lost: u64,
        in_flight_before: u64,
        measured: Option<(Option<u64>, u64)>,
    ) {
        let now = self.now;
        let Some(deliveries) = self.deliveries.as_mut().filter(|_| self.rate.is_none()) else {
            return;
        };
        let min_rtt = measured.map(|(_, min_rtt)| min_rtt);
        let mut sample = deliveries.sample(now, lost, in_flight_before, min_rtt);
        if let Some((latest, _)) = measured {
            sample.rtt = latest.map(Duration::from_micros);
        }
        self.rate = Some(sample);
    }

    /// The application has too little to send.
    pub(crate) fn limit_by_application(&mut self, in_flight: u64) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.limit_by_application(in_flight);
        }
    }

    /// The application is about to write: checks whether it has had too little to send
    /// (tcp_rate_check_app_limited()).
    pub(crate) fn note_write(&mut self) {
        let in_flight = self.view().pipe;
        let nothing_left = self.books.max() >= self.books.end();
        if nothing_left && (in_flight as f64) < self.cwnd().trunc() {
            self.limit_by_application(in_flight);
        }
    }
}
