//! A controller that is defined outside this crate, such as one that a user writes in Python.
//!
//! It has no place in the registry: it is a policy from elsewhere that says it is one
//! ([`crate::Listens::CONTROL`], [`crate::policy::ForeignPolicy::controller`]), so that it may heed
//! notices as well. The sender asks it in place of the controller of its settings.

use crate::SenderView;

/// What it decides. What is none stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Control {
    /// The congestion window, at least one segment.
    pub cwnd: Option<f64>,
    /// The slow-start threshold, at least one segment.
    pub ssthresh: Option<f64>,
    /// Segments a second at which data leaves; 0 for no rate.
    pub pacing_rate: Option<f64>,
}

/// The hooks of a controller from elsewhere. Each is asked when the sender's books are up to date; the
/// view has the rate sample of the ACK at hand.
pub trait ForeignCongestion {
    /// It sets the window in a recovery as well, and is asked at the ACKs there. Otherwise the recovery
    /// brings the window down to the threshold.
    fn steers_recovery(&self) -> bool;

    /// The connection is open, with its initial window.
    fn on_open(&mut self, view: &SenderView) -> Control;

    /// An ACK has been processed, and what is lost is not yet sent again. With the recovery of Linux every ACK,
    /// of whose answer only the rate counts where the recovery reduces the window; with others those of new data
    /// outside fast recovery.
    fn on_ack(&mut self, view: &SenderView) -> Control;

    /// A loss is found, and the sender reduces its window. No threshold for half the window.
    fn on_loss(&mut self, view: &SenderView) -> Control;

    /// The retransmission timer has expired. No threshold for half the window; where the window is already being
    /// reduced, or expired before for the same segment, the sender keeps the threshold that it has.
    fn on_timeout(&mut self, view: &SenderView) -> Control;

    /// The last recovery or timeout has proved to be unneeded; window and threshold are those of before.
    fn on_undo(&mut self, view: &SenderView) -> Control;
}
