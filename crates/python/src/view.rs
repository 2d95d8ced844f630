//! What a policy sees: its sender, and the notices that reach it.

use midflight_units::{Duration, Instant};
use pyo3::prelude::*;

/// The state of a sender as a policy sees it; windows in segments, times in nanoseconds.
#[pyclass(frozen, module = "midflight", name = "SenderView")]
pub(crate) struct View(pub(crate) midflight_control::SenderView);

pub(crate) fn ns(duration: Duration) -> u64 {
    duration.as_nanos()
}

#[pymethods]
impl View {
    /// The present.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now.as_nanos()
    }

    /// First unacknowledged segment (SND.UNA).
    #[getter]
    fn snd_una(&self) -> u64 {
        self.0.snd_una
    }

    /// Next segment to send (SND.NXT); falls back to `snd_una` after a timeout.
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.0.snd_nxt
    }

    /// One past the highest segment ever sent.
    #[getter]
    fn snd_max(&self) -> u64 {
        self.0.snd_max
    }

    /// Segments sent and not acknowledged.
    #[getter]
    fn flight_size(&self) -> u64 {
        self.0.flight_size()
    }

    /// The same since the window was last rewound by a timeout.
    #[getter]
    fn flight_since_rewind(&self) -> u64 {
        self.0.flight_since_rewind()
    }

    /// The recovery's estimate of segments in flight.
    #[getter]
    fn pipe(&self) -> u64 {
        self.0.pipe
    }

    /// Congestion window.
    #[getter]
    fn cwnd(&self) -> f64 {
        self.0.cwnd
    }

    /// Slow-start threshold.
    #[getter]
    fn ssthresh(&self) -> f64 {
        self.0.ssthresh
    }

    /// Window at the start of a connection.
    #[getter]
    fn initial_window(&self) -> f64 {
        self.0.initial_window
    }

    /// Estimated bandwidth in segments a second, if the congestion controller estimates it.
    #[getter]
    fn bandwidth(&self) -> Option<f64> {
        self.0.bandwidth
    }

    /// The sender is in fast recovery.
    #[getter]
    fn in_fast_recovery(&self) -> bool {
        self.0.in_fast_recovery
    }

    /// A retransmission timer has expired and no ACK for new data has come since.
    #[getter]
    fn in_rto_recovery(&self) -> bool {
        self.0.in_rto_recovery
    }

    /// For which segment the timer last expired, and the threshold after its first expiry.
    #[getter]
    fn first_timeout(&self) -> Option<(u64, f64)> {
        self.0.first_timeout
    }

    /// When the first unacknowledged segment was sent last, if one is outstanding.
    #[getter]
    fn una_sent_ns(&self) -> Option<u64> {
        self.0.una_sent.map(Instant::as_nanos)
    }

    /// Retransmission timeout with back-off.
    #[getter]
    fn rto_ns(&self) -> u64 {
        ns(self.0.rto)
    }

    /// Lower bound of the retransmission timeout in force.
    #[getter]
    fn min_rto_ns(&self) -> u64 {
        ns(self.0.min_rto)
    }

    /// Retransmission timeout of a connection that has no sample: 3 s (RFC 2988), or the
    /// profile's initial one where that is less.
    #[getter]
    fn new_connection_rto_ns(&self) -> u64 {
        ns(self.0.new_connection_rto)
    }

    /// Smoothed round-trip time, if there has been a sample.
    #[getter]
    fn srtt_ns(&self) -> Option<u64> {
        self.0.srtt.map(ns)
    }

    /// Mean deviation of the round-trip time, if there has been a sample.
    #[getter]
    fn rttvar_ns(&self) -> Option<u64> {
        self.0.rttvar.map(ns)
    }

    /// The ACK being processed gave an RTT sample.
    #[getter]
    fn rtt_sampled(&self) -> bool {
        self.0.rtt_sampled
    }

    /// Duplicate ACKs since `snd_una` last advanced.
    #[getter]
    fn dupacks(&self) -> u32 {
        self.0.dupacks
    }

    /// Duplicate ACKs that start fast retransmit.
    #[getter]
    fn dup_threshold(&self) -> u32 {
        self.0.dup_threshold
    }

    /// Segments available to send that were never sent before, independent of the windows.
    #[getter]
    fn unsent(&self) -> u64 {
        self.0.unsent
    }

    /// Size of a data segment on the wire, in bytes.
    #[getter]
    fn segment_bytes(&self) -> u32 {
        self.0.segment_bytes
    }

    /// The receiver's window, in segments.
    #[getter]
    fn receiver_window(&self) -> u64 {
        self.0.receiver_window
    }

    /// Recovery uses SACK.
    #[getter]
    fn sack(&self) -> bool {
        self.0.sack
    }

    /// Delivery rate in segments a second, as measured at the last ACK; None for a policy
    /// without `on_ack`, and if the ACK gives no valid sample.
    #[getter]
    fn delivery_rate(&self) -> Option<f64> {
        self.0.rate?.per_second()
    }

    /// The time of that sample, from which the rate follows.
    #[getter]
    fn delivery_interval_ns(&self) -> Option<u64> {
        self.0.rate?.interval.map(ns)
    }

    /// Segments delivered since the connection opened, the SYN included; None as above.
    #[getter]
    fn delivered(&self) -> Option<u64> {
        self.0.rate.map(|rate| rate.total)
    }

    /// Segments that the last ACK delivers: acknowledged, or SACKed for the first time.
    #[getter]
    fn newly_delivered(&self) -> Option<u64> {
        self.0.rate.map(|rate| rate.newly)
    }

    /// The application had too little to send when the segments delivered by the last ACK were
    /// sent.
    #[getter]
    fn app_limited(&self) -> Option<bool> {
        self.0.rate.map(|rate| rate.app_limited)
    }

    /// The value of `delivered` when the newest segment delivered by the last ACK was sent: a
    /// round trip ends when this reaches the value that `delivered` had at its start.
    #[getter]
    fn prior_delivered(&self) -> Option<u64> {
        self.0.rate.map(|rate| rate.prior)
    }

    /// Segments that the last ACK shows to be lost; None as above.
    #[getter]
    fn newly_lost(&self) -> Option<u64> {
        self.0.rate.map(|rate| rate.lost)
    }

    /// Round-trip time of the newest segment that the last ACK delivers; None if it was sent
    /// more than once.
    #[getter]
    fn latest_rtt_ns(&self) -> Option<u64> {
        self.0.rate?.rtt.map(ns)
    }

    /// The congestion window limits the sender, by Linux's rule; always true with other
    /// recoveries than that of `linux`.
    #[getter]
    fn window_limited(&self) -> bool {
        self.0.window_limited
    }

    /// When the next segment may leave, if one waits because sending is paced.
    #[getter]
    fn paced_until_ns(&self) -> Option<u64> {
        self.0.paced_until.map(Instant::as_nanos)
    }

    fn __repr__(&self) -> String {
        let v = &self.0;
        format!(
            "<sender at {}: cwnd {}, ssthresh {}, {} in flight from segment {}>",
            v.now,
            v.cwnd,
            v.ssthresh,
            v.flight_size(),
            v.snd_una
        )
    }
}

/// What a notice says of one access link.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct LinkInfo {
    link: midflight_control::LinkInfo,
    segment_bytes: u32,
}

#[pymethods]
impl LinkInfo {
    /// Rate in bit/s.
    #[getter]
    fn rate_bps(&self) -> u64 {
        self.link.rate.as_bps()
    }

    /// One-way delay.
    #[getter]
    fn delay_ns(&self) -> u64 {
        ns(self.link.delay)
    }

    /// The link's own part of the round trip: 2 delay, a data packet and an ACK.
    #[getter]
    fn round_trip_ns(&self) -> u64 {
        ns(self.link.round_trip())
    }

    /// Rate times that, in whole packets of the sender (`segment_bytes` on the wire).
    #[getter]
    fn bdp_packets(&self) -> u64 {
        self.link.bdp_segments(self.segment_bytes)
    }
}

/// Throughput advice of the network (SCONE): a rate of the path and nothing else.
///
/// The rate is a ceiling for a flow, and no signal of congestion. Advice within the life of lower
/// advice on the same path has the lower rate (draft-ietf-scone-protocol, "Following Throughput
/// Advice").
#[pyclass(frozen, module = "midflight", name = "Advice")]
pub(crate) struct Advice(pub(crate) midflight_control::Advice);

#[pymethods]
impl Advice {
    /// Bits a second: 100 kbit/s times 10^(n / 20).
    #[getter]
    fn rate_bps(&self) -> u64 {
        self.0.rate.as_bps()
    }

    /// When it expires: 67 s after it came (the lowest of several).
    #[getter]
    fn expires_ns(&self) -> u64 {
        self.0.until.as_nanos()
    }

    /// Whether it is of another path than earlier advice, as after a handoff.
    #[getter]
    fn anew(&self) -> bool {
        self.0.anew
    }
}

/// The message that tells a sender of a handoff, or before it opens of its link.
///
/// Of a handoff `old` is the link that the flow leaves; at the start of a connection it is None.
#[pyclass(frozen, module = "midflight", name = "HandoffNotice")]
pub(crate) struct Notice {
    pub(crate) old: Option<midflight_control::LinkInfo>,
    pub(crate) new: midflight_control::LinkInfo,
    pub(crate) flows: u32,
    /// Bytes of the sender's packets on the wire.
    pub(crate) segment_bytes: u32,
}

impl Notice {
    fn link(&self, link: midflight_control::LinkInfo) -> LinkInfo {
        let segment_bytes = self.segment_bytes;
        LinkInfo {
            link,
            segment_bytes,
        }
    }
}

#[pymethods]
impl Notice {
    /// The link that the flow leaves.
    #[getter]
    fn old(&self) -> Option<LinkInfo> {
        self.old.map(|link| self.link(link))
    }

    /// The link that it moves to, or starts on.
    #[getter(new)]
    fn new_link(&self) -> LinkInfo {
        self.link(self.new)
    }

    /// How many flows move or start together.
    #[getter]
    fn flows(&self) -> u32 {
        self.flows
    }
}
