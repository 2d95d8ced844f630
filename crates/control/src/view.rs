use midflight_units::{Duration, Instant, Seq};

use crate::{RateSample, Reordering};

/// The state of a sender that a policy may read. Sequence numbers and windows are in
/// segments.
#[derive(Clone, Copy, Debug)]
pub struct SenderView {
    /// The current time.
    pub now: Instant,
    /// First unacknowledged segment (RFC 9293 SND.UNA).
    pub snd_una: Seq,
    /// Next segment to send (RFC 9293 SND.NXT); falls back to `snd_una` after a timeout.
    pub snd_nxt: Seq,
    /// One past the highest segment ever sent.
    pub snd_max: Seq,
    /// When the first unacknowledged segment was last sent, if one is outstanding.
    pub una_sent: Option<Instant>,
    /// Congestion window.
    pub cwnd: f64,
    /// Slow-start threshold.
    pub ssthresh: f64,
    /// Estimated bandwidth in segments per second, if the congestion controller estimates it.
    pub bandwidth: Option<f64>,
    /// Window at the start of a connection.
    pub initial_window: f64,
    /// Slow-start threshold at the start of a connection.
    pub initial_ssthresh: f64,
    /// The recovery's estimate of segments in flight; equals `snd_max - snd_una` outside recovery.
    pub pipe: u64,
    /// The sender is in fast recovery.
    pub in_fast_recovery: bool,
    /// A retransmission timer has expired and no ACK for new data has come since.
    pub in_rto_recovery: bool,
    /// The segment for which the timer last expired, and the threshold after
    /// the first expiry for it.
    pub first_timeout: Option<(Seq, f64)>,
    /// Retransmission timeout with back-off, as if the timer were armed now.
    pub rto: Duration,
    /// Current lower bound of the retransmission timeout.
    pub min_rto: Duration,
    /// Retransmission timeout of a connection without a sample: that of RFC 2988 (2.1), 3 s, to which "as for a new
    /// connection" refers in Daniel & Kojo 2008, or the sender's own if that is smaller (RFC 6298: 1 s).
    pub new_connection_rto: Duration,
    /// Smoothed round-trip time, if there has been a sample.
    pub srtt: Option<Duration>,
    /// Mean deviation of the round-trip time, if there has been a sample.
    pub rttvar: Option<Duration>,
    /// The ACK being processed gave an RTT sample.
    pub rtt_sampled: bool,
    /// Duplicate ACKs since SND.UNA last advanced.
    pub dupacks: u32,
    /// New segments that limited transmit has sent since SND.UNA last advanced.
    pub limited_sent: u64,
    /// A new segment may be sent: there is one, and it is within the receiver's window.
    pub new_data: bool,
    /// Segments available to send that were never sent before, independent of the windows.
    pub unsent: u64,
    /// Number of the current train, which may be waiting for its report.
    pub train: Option<u16>,
    /// An order to send a train would take effect now: nothing is being retransmitted or probed, the SYN is
    /// acknowledged and the window is open.
    pub may_train: bool,
    /// An order to pace segments would take effect now: retransmissions after a timeout are paced too, but no fast
    /// recovery or probe is in progress.
    pub may_pace: bool,
    /// When the next segment may be sent, if one waits because of pacing.
    pub paced_until: Option<Instant>,
    /// The delivery rate at the last ACK, if a part uses it.
    pub rate: Option<RateSample>,
    /// The congestion window limits the sender, by the test of Linux (tcp_is_cwnd_limited()); other kinds of
    /// recovery do not test it, and it is true.
    pub window_limited: bool,
    /// Setting: size of a data segment on the wire, in bytes.
    pub segment_bytes: u32,
    /// Setting: the receiver's window.
    pub receiver_window: u64,
    /// Setting: recovery uses SACK.
    pub sack: bool,
    /// Duplicate ACKs that start fast retransmit: the setting (RFC 5681: 3), or the value of an order if the first
    /// unacknowledged segment may still be in flight.
    pub dup_threshold: u32,
    /// The expected reordering of an order.
    pub reordering: Option<Reordering>,
    /// Setting: a new segment is sent with the first duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
}

impl SenderView {
    /// Segments sent and not acknowledged: highest sent minus highest acknowledged.
    pub fn flight_size(&self) -> u64 {
        self.snd_max - self.snd_una
    }

    /// Number of segments SACKed above a segment after which it counts as lost (RFC 6675 DupThresh).
    pub fn lost_threshold(&self) -> u32 {
        self.reordering.map_or(self.dup_threshold, |r| r.sacked)
    }

    /// Segments sent since the window was last rewound: while the sender goes back after a timeout, `snd_max`
    /// overstates the data in flight.
    pub fn flight_since_rewind(&self) -> u64 {
        self.snd_nxt.min(self.snd_max).saturating_sub(self.snd_una)
    }
}
