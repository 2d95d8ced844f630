//! A controller that is defined outside this crate, such as one that a user writes in Python.
//!
//! It is not in the registry: it is a foreign policy that declares itself a controller
//! ([`crate::Interests::CONTROL`], [`crate::policy::ForeignPolicy::controller`]), so that it may use notices as
//! well. The sender calls it instead of the controller of its settings.

use crate::SenderView;

/// The decision of a foreign controller. Values that are none stay unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Control {
    /// The congestion window, at least one segment.
    pub cwnd: Option<f64>,
    /// The slow-start threshold, at least one segment.
    pub ssthresh: Option<f64>,
    /// Pacing rate in segments per second; 0 for no rate.
    pub pacing_rate: Option<f64>,
}

/// The hooks of a foreign controller. Each is called when the sender's state is up to date; the
/// view has the rate sample of the current ACK.
pub trait ForeignCongestion {
    /// Whether it also sets the window during a recovery; then it is called at the ACKs of the recovery.
    /// Otherwise the recovery reduces the window to the threshold.
    fn steers_recovery(&self) -> bool;

    /// The connection is open, with its initial window.
    fn on_open(&mut self, view: &SenderView) -> Control;

    /// An ACK has been processed, and lost segments are not yet retransmitted. With the Linux recovery it is
    /// called at every ACK, and while the recovery reduces the window only the returned rate is used; with other
    /// recoveries it is called at ACKs of new data outside fast recovery.
    fn on_ack(&mut self, view: &SenderView) -> Control;

    /// A loss is detected, and the sender reduces its window. If no threshold is returned, the threshold is half
    /// the window.
    fn on_loss(&mut self, view: &SenderView) -> Control;

    /// The retransmission timer has expired. If no threshold is returned, the threshold is half the window; if
    /// the window is already being reduced, or the timer expired before for the same segment, the sender keeps
    /// its present threshold.
    fn on_timeout(&mut self, view: &SenderView) -> Control;

    /// The last recovery or timeout was spurious; window and threshold have the values from before it.
    fn on_undo(&mut self, view: &SenderView) -> Control;
}
