//! Input and output of a controller that sets the window and the sending rate itself
//! (cong_control() of Linux), like BBR. No recovery reduces the window for it.

use midflight_units::{Instant, Seq};

use crate::jiffies::Jiffies;

/// The state of a sender's loss recovery: the states of Linux, in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossPhase {
    /// Nothing is suspected.
    #[default]
    Open,
    /// Segments have arrived out of order.
    Disorder,
    /// The window is being reduced, and nothing is lost.
    Reducing,
    /// Lost segments are sent again.
    Recovery,
    /// The retransmission timer has expired.
    Loss,
}

/// The sender's state when the controller is called. Counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The present.
    pub now: Instant,
    /// The clock of the sender's timers.
    pub clock: Jiffies,
    /// In its recovery.
    pub phase: LossPhase,
    /// In flight now.
    pub in_flight: u64,
    /// Delivered since the connection opened, and when the last of it was.
    pub delivered: u64,
    /// When the last of it was delivered.
    pub delivered_at: Instant,
    /// Found to be lost since the connection opened.
    pub lost: u64,
    /// The application has too little to send.
    pub app_limited: bool,
    /// The window has been in full use (tcp_is_cwnd_limited()).
    pub window_limited: bool,
    /// Smoothed round-trip time in microseconds, if there has been a sample.
    pub srtt: Option<u64>,
    /// The least round-trip time that the recovery knows, in microseconds; `u32::MAX` for none.
    pub min_rtt: u64,
    /// Bytes of data in a segment.
    pub mss: u64,
    /// When the next burst may leave.
    pub departure: Instant,
}

/// A segment that is found to be lost. Counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Its number.
    pub seq: Seq,
    /// In flight when it was sent, itself included.
    pub tx_in_flight: u64,
    /// Lost since then, itself included.
    pub lost_since: u64,
    /// The application had too little to send then.
    pub app_limited: bool,
}

/// The answer of such a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steer {
    /// Bytes of data a second at which bursts leave.
    pub rate: u64,
    /// Samples are application-limited until the data in flight have been delivered.
    pub ignore_samples: bool,
}
