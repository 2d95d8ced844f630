//! The delivery rate, measured at each ACK: Linux's rate sample (tcp_rate.c) and the identical one of
//! draft-ietf-ccwg-bbr, section 4.1.
//!
//! Each segment stores how much had been delivered when it was sent, when the last of that was delivered, and when the
//! newest segment of that was sent. When the segment itself is delivered, the difference is the number of segments
//! delivered in that time. The time is the longer one of sending the segments and receiving their ACKs, so that delayed
//! ACKs that arrive together do not give a high rate.
//!
//! It tracks the segments itself, from the numbers of each ACK, so it works with every kind of
//! recovery. A sender has one only if a part needs it.

use midflight_units::{Duration, Instant, Ring, Seq};

use crate::congestion::LostSegment;

/// The rate sample of an ACK (struct rate_sample). Counts are in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Delivered by this ACK: newly acknowledged or newly SACKed.
    pub newly: u64,
    /// Detected as lost at this ACK.
    pub lost: u64,
    /// In flight before the ACK.
    pub in_flight_before: u64,
    /// Delivered since the connection opened, including the SYN.
    pub total: u64,
    /// The same count when the newest segment of this ACK was sent; 0 if the ACK delivers none.
    pub prior: u64,
    /// Delivered since then; none if the ACK delivers nothing.
    pub delivered: Option<u64>,
    /// The time in which they were delivered, in whole microseconds; none if it is shorter than the minimum round trip.
    pub interval: Option<Duration>,
    /// The application had too little to send when that segment was sent.
    pub app_limited: bool,
    /// In flight when that segment was sent, including itself.
    pub tx_in_flight: u64,
    /// Detected as lost since then.
    pub lost_since: u64,
    /// RTT of the newest segment that was sent only once; none if the ACK delivers none.
    pub rtt: Option<Duration>,
}

impl RateSample {
    /// Segments per second; none if the ACK gives no valid sample.
    pub fn per_second(&self) -> Option<f64> {
        let (delivered, interval) = (self.delivered?, self.interval?);
        (interval > Duration::ZERO).then(|| delivered as f64 * 1e9 / interval.as_nanos() as f64)
    }
}

/// The values stored with a segment (tcp_skb_cb).
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    /// When the newest segment that had been delivered was sent, and when it was delivered.
    first_tx: Instant,
    delivered_at: Option<Instant>,
    delivered: u64,
    in_flight: u64,
    lost: u64,
    app_limited: bool,
    resent: bool,
    sacked: bool,
    /// It was sent over an earlier path.
    elsewhere: bool,
}

/// The newest segment of the current ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    in_flight: u64,
    lost: u64,
    prior: u64,
    prior_at: Option<Instant>,
    app_limited: bool,
    end: Seq,
    /// Microseconds in which the segments were sent.
    send_phase: u64,
}

/// Tracks deliveries.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    una: Seq,
    sent: Ring<Sent>,
    /// Blocks of the last ACK: their contents have been processed.
    known: [(Seq, Seq); 4],
    total: u64,
    lost: u64,
    at: Option<Instant>,
    first_tx: Instant,
    /// The delivered count at which the application-limited phase ends; 0 outside one.
    app_limited: u64,
    newest: Newest,
    rtt: Option<Duration>,
    before: u64,
    /// The minimum round trip, if no other part measures it.
    least: Option<u64>,
    recorded: Option<RecordedRate>,
}

/// The rate that a sender reports about itself (tcp_compute_delivery_rate()).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedRate {
    /// Segments delivered.
    pub delivered: u64,
    /// In this time.
    pub interval: Duration,
    /// The application had too little to send.
    pub app_limited: bool,
}

/// Whole microseconds between two instants, on a clock that counts microseconds.
fn micros(from: Instant, to: Instant) -> u64 {
    (to.as_nanos() / 1000).saturating_sub(from.as_nanos() / 1000)
}

impl Deliveries {
    /// Segment `seq` is sent, for the first time or again; `idle` if nothing else is in flight; `in_flight` includes
    /// the segment (tcp_rate_skb_sent()).
    pub fn sent(&mut self, seq: Seq, at: Instant, idle: bool, in_flight: u64) {
        // The SYN counts as in flight before it is sent, and gives no sample.
        if idle && seq > 0 {
            self.first_tx = at;
            self.at = Some(at);
        }
        let mut sent = Sent {
            at,
            first_tx: self.first_tx,
            delivered_at: self.at,
            delivered: self.total,
            in_flight,
            lost: self.lost,
            app_limited: self.app_limited > 0,
            resent: false,
            sacked: false,
            elsewhere: false,
        };
        if self.sent.is_empty() {
            // It is the first segment, or tracking began only now.
            self.una = seq;
        }
        let Some(index) = seq.checked_sub(self.una) else {
            return;
        };
        match self.sent.get_mut(index as usize) {
            Some(earlier) => {
                sent.resent = true;
                sent.sacked = earlier.sacked;
                *earlier = sent;
            }
            None => self.sent.push(sent),
        }
    }

    /// An ACK has arrived, with these blocks above its number, each excluding its right edge.
    pub fn take(&mut self, ack: Seq, blocks: &[(Seq, Seq)], now: Instant) {
        self.begin();
        let mut known = [(0, 0); 4];
        let mut ordered = [(0, 0); 4];
        for (block, place) in blocks.iter().zip(&mut ordered) {
            *place = *block;
        }
        ordered.sort_unstable();
        for ((left, right), place) in ordered.into_iter().zip(&mut known) {
            *place = (left, right);
            let within = |&&(l, r): &&(Seq, Seq)| l < r && left <= l && r <= right;
            let (l, r) = self
                .known
                .iter()
                .find(within)
                .copied()
                .unwrap_or((left, left));
            for seq in (left..l).chain(r..right) {
                self.deliver(seq, now);
            }
        }
        self.known = known;
        self.advance(ack, now);
    }

    /// A QUIC ACK has arrived that acknowledges these segments for the first time, in order, and all below `una`.
    /// Its number of ranges has no limit such as that of SACK blocks.
    pub fn take_segments(&mut self, una: Seq, segments: &[Seq], now: Instant) {
        self.begin();
        for seq in segments {
            self.deliver(*seq, now);
        }
        self.advance(una, now);
    }

    fn begin(&mut self) {
        self.newest = Newest::default();
        self.rtt = None;
        self.before = self.total;
    }

    fn advance(&mut self, ack: Seq, now: Instant) {
        while self.una < ack {
            self.deliver(self.una, now);
            if self.sent.pop().is_none() {
                break;
            }
            self.una += 1;
        }
        if let Some(rtt) = self.rtt {
            let rtt = (rtt.as_nanos() / 1000).max(1);
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// The current ACK delivers so many segments more, which were delivered before.
    pub fn count(&mut self, again: u64) {
        self.total += again;
    }

    /// The current ACK delivers so many segments; duplicates without SACK are among them.
    pub fn recount(&mut self, newly: u64) {
        self.total = self.before + newly;
    }

    /// What the current ACK delivers does not count.
    pub fn discount(&mut self) {
        self.total = self.before;
    }

    /// The path is another one: what is in flight was sent over the last one and does not count as delivered (RFC 9000
    /// section 9.4).
    pub fn begin_path(&mut self, now: Instant) {
        for index in 0..self.sent.len() {
            if let Some(sent) = self.sent.get_mut(index) {
                sent.elsewhere = true;
            }
        }
        self.first_tx = now;
        self.at = Some(now);
        self.app_limited = 0;
        self.least = None;
    }

    /// tcp_rate_skb_delivered().
    fn deliver(&mut self, seq: Seq, now: Instant) {
        let index = seq.checked_sub(self.una);
        let Some(sent) = index.and_then(|i| self.sent.get_mut(i as usize)) else {
            return;
        };
        if std::mem::replace(&mut sent.sacked, true) || sent.elsewhere {
            return;
        }
        self.total += 1;
        if !sent.resent {
            self.rtt = Some(Duration::from_micros(micros(sent.at, now)));
        }
        let Some(delivered_at) = sent.delivered_at else {
            return;
        };
        let order = |at: Instant, end: Seq| (at.as_nanos() / 1000, end);
        let is_first = self.newest.prior == 0;
        if is_first || order(sent.at, seq + 1) > order(self.first_tx, self.newest.end) {
            self.first_tx = sent.at;
            self.newest = Newest {
                in_flight: sent.in_flight,
                lost: sent.lost,
                prior: sent.delivered,
                prior_at: Some(delivered_at),
                app_limited: sent.app_limited,
                end: seq + 1,
                send_phase: micros(sent.first_tx, sent.at),
            };
        }
    }

    /// Segment `seq` is detected as lost.
    pub fn lose(&mut self, seq: Seq) -> Option<LostSegment> {
        self.lost += 1;
        let sent = self.sent.get(seq.checked_sub(self.una)? as usize)?;
        Some(LostSegment {
            seq,
            tx_in_flight: sent.in_flight,
            lost_since: self.lost - sent.lost,
            app_limited: sent.app_limited,
        })
    }

    /// The sample of the current ACK, at which `lost` segments were detected as lost. An interval below the minimum
    /// round trip, `min_rtt` in microseconds or the value measured here, gives no sample (tcp_rate_gen()).
    pub fn sample(
        &mut self,
        now: Instant,
        lost: u64,
        in_flight_before: u64,
        min_rtt: Option<u64>,
    ) -> RateSample {
        if self.total > self.app_limited {
            self.app_limited = 0;
        }
        let newly = self.total - self.before;
        if newly > 0 {
            self.at = Some(now);
        }
        let mut sample = RateSample {
            newly,
            lost,
            in_flight_before,
            total: self.total,
            prior: self.newest.prior,
            rtt: self.rtt,
            tx_in_flight: self.newest.in_flight,
            lost_since: self.lost - self.newest.lost,
            ..RateSample::default()
        };
        if let Some(prior_at) = self.newest.prior_at {
            let interval = self.newest.send_phase.max(micros(prior_at, now));
            let least = min_rtt.or(self.least).unwrap_or(0);
            sample.delivered = Some(self.total - self.newest.prior);
            sample.interval = (interval >= least).then(|| Duration::from_micros(interval));
            sample.app_limited = self.newest.app_limited;
            self.record(&sample);
        }
        sample
    }

    /// Records a rate that the application did not limit, or the highest one that it did limit (tcp_rate_gen()).
    fn record(&mut self, sample: &RateSample) {
        let (Some(delivered), Some(interval)) = (sample.delivered, sample.interval) else {
            return;
        };
        let product =
            |segments: u64, time: Duration| u128::from(segments) * u128::from(time.as_nanos());
        let is_higher = self.recorded.is_none_or(|last| {
            product(delivered, last.interval) >= product(last.delivered, interval)
        });
        if !sample.app_limited || is_higher {
            self.recorded = Some(RecordedRate {
                delivered,
                interval,
                app_limited: sample.app_limited,
            });
        }
    }

    /// The last recorded rate.
    pub fn recorded(&self) -> Option<RecordedRate> {
        self.recorded
    }

    /// The application has too little to send: segments sent from now until the data in flight is delivered give
    /// application-limited samples (tcp_rate_check_app_limited()).
    pub fn limit_by_application(&mut self, in_flight: u64) {
        self.app_limited = (self.total + in_flight).max(1);
    }

    /// Whether the application has too little to send.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// Segments delivered since the connection opened.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// When the last of them was delivered.
    pub fn at(&self) -> Option<Instant> {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// The SYN is delivered at 40 ms; ten segments are sent at once, and their ACKs arrive 10 ms apart from 80 ms on.
    fn ten() -> Deliveries {
        let mut d = Deliveries::default();
        d.sent(0, ms(0), true, 1);
        d.take(1, &[], ms(40));
        let syn = d.sample(ms(40), 0, 1, Some(40_000));
        assert_eq!((syn.newly, syn.total, syn.delivered), (1, 1, None));
        d.limit_by_application(0);
        for seq in 1..11 {
            d.sent(seq, ms(40), seq == 1, 1);
        }
        d
    }

    #[test]
    fn a_window_gives_the_rate_at_which_it_is_acknowledged() {
        let mut d = ten();
        d.take(2, &[], ms(80));
        let first = d.sample(ms(80), 0, 10, Some(40_000));
        // One segment in the round trip; the application had just begun.
        assert_eq!((first.newly, first.prior, first.delivered), (1, 1, Some(1)));
        assert_eq!(first.interval, Some(Duration::from_millis(40)));
        assert!(first.app_limited && !d.is_app_limited());
        d.sent(11, ms(80), false, 1);
        for n in 3..12 {
            d.take(n, &[], ms(80 + 10 * (n - 2)));
            d.sample(ms(80 + 10 * (n - 2)), 0, 10, Some(40_000));
        }
        // Segment 11 was sent when 2 had been delivered, at 80 ms; 10 more are delivered until 180 ms.
        d.take(12, &[], ms(180));
        let last = d.sample(ms(180), 0, 1, Some(40_000));
        assert_eq!((last.delivered, last.app_limited), (Some(10), false));
        assert_eq!(last.per_second(), Some(100.0));
        assert_eq!(last.rtt, Some(Duration::from_millis(100)));
    }

    /// Data delivered by a SACK is not counted again at the ACK; an ACK that arrives earlier than a round trip allows
    /// gives no rate.
    #[test]
    fn sacked_segments_count_once() {
        let mut d = ten();
        d.take(1, &[(3, 5)], ms(70));
        let early = d.sample(ms(70), 0, 10, Some(40_000));
        assert_eq!(
            (early.newly, early.delivered, early.interval),
            (2, Some(2), None)
        );
        d.take(1, &[(3, 6)], ms(80));
        assert_eq!(d.sample(ms(80), 2, 8, Some(40_000)).newly, 1);
        d.sent(1, ms(80), false, 1);
        d.take(6, &[], ms(120));
        let sample = d.sample(ms(120), 0, 7, Some(40_000));
        assert_eq!((sample.newly, sample.total), (2, 6));
        // The newest is the segment retransmitted at 80 ms, when four had been delivered.
        assert_eq!((sample.prior, sample.delivered), (4, Some(2)));
        assert_eq!(sample.interval, Some(Duration::from_millis(40)));
    }

    /// A QUIC ACK may report many ranges; one without news delivers nothing.
    #[test]
    fn segments_of_a_quic_ack_count_once_however_many_ranges_they_have() {
        let mut d = ten();
        d.take_segments(1, &[1, 3, 5, 6, 8, 10], ms(80));
        let sample = d.sample(ms(80), 0, 10, Some(40_000));
        assert_eq!((sample.newly, sample.total), (6, 7));
        d.take_segments(1, &[], ms(81));
        let none = d.sample(ms(81), 0, 4, Some(40_000));
        assert_eq!((none.newly, none.total, none.delivered), (0, 7, None));
        d.take_segments(2, &[2, 4], ms(82));
        d.take_segments(7, &[], ms(83));
        assert_eq!(
            (d.total(), d.sample(ms(83), 0, 2, Some(40_000)).newly),
            (9, 0)
        );
    }

    /// A segment that arrives twice is delivered twice, but gives no sample of its own; an ACK may be left out.
    #[test]
    fn duplicates_count_and_discounted_acks_do_not() {
        let mut d = ten();
        d.take(2, &[], ms(80));
        d.sample(ms(80), 0, 10, Some(40_000));
        d.sent(11, ms(80), false, 1);
        d.take(2, &[], ms(90));
        d.count(1);
        let again = d.sample(ms(90), 0, 10, Some(40_000));
        assert_eq!((again.newly, again.total, again.delivered), (1, 3, None));
        d.take(1, &[(4, 6)], ms(100));
        d.discount();
        assert_eq!(d.total(), 3);
        // Segments 2, 3 and 6 to 11 count; when 11 was sent, two were delivered.
        d.take(12, &[], ms(180));
        let last = d.sample(ms(180), 0, 10, Some(40_000));
        assert_eq!((last.newly, last.total, last.delivered), (8, 11, Some(9)));
    }

    /// Ten segments are sent over 90 ms, and all ACKs arrive together: the rate is the sending rate.
    #[test]
    fn acks_that_come_together_do_not_make_a_rate() {
        let mut d = Deliveries::default();
        d.sent(0, ms(0), true, 1);
        d.take(1, &[], ms(10));
        d.sample(ms(10), 0, 1, Some(10_000));
        for n in 0..10 {
            d.sent(n + 1, ms(100 + 10 * n), n == 0, 1);
        }
        d.take(2, &[], ms(200));
        d.sample(ms(200), 0, 10, Some(10_000));
        d.sent(11, ms(200), false, 1);
        d.take(11, &[], ms(201));
        d.sample(ms(201), 0, 10, Some(10_000));
        d.take(12, &[], ms(210));
        let sample = d.sample(ms(210), 0, 1, Some(10_000));
        // Sent from 100 ms (segment 1) to 200 ms (segment 11).
        assert_eq!(sample.interval, Some(Duration::from_millis(100)));
        assert_eq!(sample.per_second(), Some(100.0));
    }

    /// What was sent over the last path gives no sample; what is sent since counts from the change on.
    #[test]
    fn another_path_begins_anew() {
        let mut d = ten();
        d.take(3, &[], ms(80));
        assert_eq!(d.sample(ms(80), 0, 10, Some(40_000)).newly, 2);
        d.begin_path(ms(85));
        d.take(6, &[], ms(90));
        let sample = d.sample(ms(90), 0, 8, Some(40_000));
        assert_eq!(
            (sample.newly, sample.delivered, sample.rtt),
            (0, None, None)
        );
        // One is sent again over the new path, and two more.
        for seq in [7, 11, 12] {
            d.sent(seq, ms(100), false, 1);
        }
        d.take(13, &[], ms(400));
        let sample = d.sample(ms(400), 0, 7, Some(40_000));
        assert_eq!((sample.newly, sample.delivered), (3, Some(3)));
        assert_eq!(sample.interval, Some(Duration::from_millis(315)));
        assert_eq!(sample.rtt, Some(Duration::from_millis(300)));
    }
}
