//! Input and output of a controller such as BBR that sets the window and the sending rate itself
//! (cong_control() of Linux). The recovery does not reduce the window for it.

use midflight_units::{Instant, Seq};

use crate::jiffies::Jiffies;

/// The state of a sender's loss recovery: the states of Linux, in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossPhase {
    /// No loss is suspected.
    #[default]
    Open,
    /// Segments have arrived out of order.
    Disorder,
    /// The window is being reduced, but nothing is lost.
    Reducing,
    /// Lost segments are retransmitted.
    Recovery,
    /// The retransmission timer has expired.
    Loss,
}

/// The sender's state when the controller is called. Counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The current time.
    pub now: Instant,
    /// The clock of the sender's timers.
    pub clock: Jiffies,
    /// The state of the recovery.
    pub phase: LossPhase,
    /// Segments in flight.
    pub in_flight: u64,
    /// Segments delivered since the connection opened.
    pub delivered: u64,
    /// When the last of them was delivered.
    pub delivered_at: Instant,
    /// Segments detected as lost since the connection opened.
    pub lost: u64,
    /// The application has too little to send.
    pub app_limited: bool,
    /// The window has been fully used (tcp_is_cwnd_limited()).
    pub window_limited: bool,
    /// Smoothed round-trip time in microseconds, if there has been a sample.
    pub srtt: Option<u64>,
    /// The minimum round-trip time of the recovery, in microseconds; `u32::MAX` for none.
    pub min_rtt: u64,
    /// Bytes of data in a segment.
    pub mss: u64,
    /// When the next burst may be sent.
    pub departure: Instant,
}

/// A segment that is detected as lost. Counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Its number.
    pub seq: Seq,
    /// In flight when it was sent, including itself.
    pub tx_in_flight: u64,
    /// Lost since then, including itself.
    pub lost_since: u64,
    /// The application had too little to send at that time.
    pub app_limited: bool,
}

/// The decision of such a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steer {
    /// Pacing rate in bytes of data per second.
    pub rate: u64,
    /// Samples count as application-limited until the data in flight has been delivered.
    pub ignore_samples: bool,
}
