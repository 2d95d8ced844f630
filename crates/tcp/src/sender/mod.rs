//! The sender: one flow's state machine, polled by its caller.

mod core;

use educe::Educe;
use midflight_control::policy::Policy;
use midflight_control::{Notice, SenderView};
use midflight_units::{Instant, Seq};

pub(crate) use self::core::Core;
use crate::config::SenderConfig;
use crate::event::Log;
use crate::recovery::Recovery;
use crate::segment::{Ack, Segment};

/// A TCP sender without I/O.
///
/// Hand in what happens ([`Self::open`], [`Self::on_ack`], [`Self::on_notice`],
/// [`Self::on_timer`]); after each, take segments from
/// [`Self::poll_transmit`] until there is none, then ask
/// [`Self::poll_timer`] when to call [`Self::on_timer`]. Early or repeated
/// calls do nothing.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub struct Sender {
    core: Core,
    recovery: Recovery,
}

impl Sender {
    /// A closed sender with unlimited data to send.
    pub fn new(config: SenderConfig, policies: impl IntoIterator<Item = Policy>) -> Self {
        Self {
            recovery: Recovery::new(config.recovery),
            core: Core::new(config, policies),
        }
    }

    /// Replaces the policies, for a run that forks from a common past. Only
    /// before the first notice, as long as policies have only watched.
    pub fn set_policies(&mut self, policies: impl IntoIterator<Item = Policy>) {
        self.core.set_policies(policies);
    }

    /// Limits the flow to segments below `end` (the SYN counts).
    pub fn set_end(&mut self, end: Seq) {
        self.core.end = end;
    }

    /// Starts the connection: the SYN may go.
    pub fn open(&mut self, now: Instant, log: &mut impl Log) {
        self.core.open(now, log);
        self.recovery.on_open(&self.core);
    }

    /// An ACK has arrived.
    #[inline]
    pub fn on_ack(&mut self, now: Instant, ack: &Ack, log: &mut impl Log) {
        if !self.core.begin_ack(now, ack) {
            return;
        }
        self.recovery.on_ack(&mut self.core, ack, log);
        self.core.consult_after_ack(log);
    }

    /// A handoff notice has arrived.
    pub fn on_notice(&mut self, now: Instant, notice: &Notice, log: &mut impl Log) {
        if self.core.consult_notice(now, notice, log) {
            self.recovery.on_orders(&self.core);
        }
    }

    /// Time has passed. Does nothing before the deadline of [`Self::poll_timer`].
    pub fn on_timer(&mut self, now: Instant, log: &mut impl Log) {
        if self.core.timer_expired(now, log) {
            self.recovery.on_timeout(&mut self.core, log);
            self.core.consult_timeout(log);
        }
    }

    /// The next segment to put on the network now, if any.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        self.core.now = now;
        if let Some(seq) = self.core.resend.take() {
            return Some(self.core.transmit(seq));
        }
        if self.core.una == 0 && self.core.nxt > 0 {
            // The handshake is under way: nothing but the SYN may go.
            return None;
        }
        let seq = self.recovery.next_segment(&mut self.core)?;
        Some(self.core.transmit(seq))
    }

    /// When the retransmission timer is due, and when it was armed; none if nothing is in flight.
    #[inline]
    pub fn poll_timer(&self) -> Option<(Instant, Instant)> {
        self.core.timer
    }

    /// Whether everything up to the end is acknowledged.
    pub fn is_done(&self) -> bool {
        self.core.una >= self.core.end
    }

    /// The state as a policy sees it.
    pub fn view(&self) -> SenderView {
        self.core.view()
    }

    /// Duplicate ACKs counted since the last advance.
    pub fn dupacks(&self) -> u32 {
        self.core.dupacks
    }

    /// The timer's back-off factor.
    pub fn backoff(&self) -> u32 {
        self.core.rto.backoff()
    }

    /// The parameters.
    pub fn config(&self) -> &SenderConfig {
        &self.core.config
    }
}
