//! The loss state shared by all kinds of recovery: duplicate ACKs, the estimate of the data in
//! flight, and whether the sender is in fast recovery or has timed out.

use midflight_units::Seq;

/// The state of a loss that is suspected or being repaired.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossState {
    dupacks: u32,
    pipe: i64,
    in_fast_recovery: bool,
    timed_out: bool,
    repeated_timeout: bool,
    timeout_point: Seq,
    resend: Option<Seq>,
    /// Recovery has more to retransmit than `resend`, and SND.NXT does not show it.
    repairs: bool,
}

impl LossState {
    /// Duplicate ACKs counted since SND.UNA last advanced.
    #[inline(always)]
    pub(crate) fn dupacks(&self) -> u32 {
        self.dupacks
    }

    /// Recovery's estimate of the segments in flight (RFC 6675); may become negative as in ns-2.
    #[inline(always)]
    pub(crate) fn pipe(&self) -> i64 {
        self.pipe
    }

    /// The sender is in fast recovery.
    #[inline(always)]
    pub(crate) fn in_fast_recovery(&self) -> bool {
        self.in_fast_recovery
    }

    /// The timer has expired and no ACK of new data has come since.
    #[inline(always)]
    pub(crate) fn timed_out(&self) -> bool {
        self.timed_out
    }

    /// The timer expired again before an ACK of new data came.
    pub(super) fn timed_out_again(&self) -> bool {
        self.repeated_timeout
    }

    /// One past the highest segment sent when the timer last expired.
    #[inline(always)]
    pub(super) fn timeout_point(&self) -> Seq {
        self.timeout_point
    }

    /// Whether segments must be retransmitted that SND.NXT does not show.
    pub(super) fn repairs(&self) -> bool {
        self.repairs
    }

    /// Sets whether there are such segments.
    pub(crate) fn set_repairs(&mut self, repairs: bool) {
        self.repairs = repairs;
    }

    /// Whether a segment must be sent before anything else.
    pub(super) fn has_resend(&self) -> bool {
        self.resend.is_some()
    }

    /// Counts another duplicate ACK.
    #[inline(always)]
    pub(crate) fn count_duplicate(&mut self) {
        self.dupacks += 1;
    }

    /// Sets the number of duplicate ACKs.
    #[inline(always)]
    pub(crate) fn set_dupacks(&mut self, dupacks: u32) {
        self.dupacks = dupacks;
    }

    /// Sets the estimate of the data in flight.
    #[inline(always)]
    pub(crate) fn set_pipe(&mut self, pipe: i64) {
        self.pipe = pipe;
    }

    /// One more segment is in flight.
    #[inline(always)]
    pub(crate) fn pipe_sent(&mut self) {
        self.pipe += 1;
    }

    /// This many segments have left the network.
    #[inline(always)]
    pub(crate) fn pipe_left(&mut self, segments: u64) {
        self.pipe -= segments as i64;
    }

    /// Fast recovery begins.
    pub(crate) fn enter_fast_recovery(&mut self) {
        self.in_fast_recovery = true;
    }

    /// Fast recovery is over; returns whether it was in progress.
    pub(crate) fn leave_fast_recovery(&mut self) -> bool {
        std::mem::replace(&mut self.in_fast_recovery, false)
    }

    /// This segment is sent before anything else.
    pub(crate) fn resend(&mut self, seq: Seq) {
        self.resend = Some(seq);
    }

    /// Whether a segment is sent before anything else.
    #[inline(always)]
    pub(crate) fn resends(&self) -> bool {
        self.resend.is_some()
    }

    /// Removes and returns the segment to send before anything else.
    pub(crate) fn take_resend(&mut self) -> Option<Seq> {
        self.resend.take()
    }

    /// The timer has expired; the highest segment sent is below `max`.
    pub(super) fn begin_timeout(&mut self, max: Seq) {
        self.repeated_timeout = self.timed_out;
        self.timed_out = true;
        self.timeout_point = max;
        self.dupacks = 0;
    }

    /// The recovery from the timeout is over.
    pub(crate) fn end_timeout(&mut self) {
        self.timed_out = false;
    }

    /// SND.UNA has advanced to `una` by this many segments.
    #[inline(always)]
    pub(super) fn acknowledge(&mut self, una: Seq, segments: u64) {
        self.resend = self.resend.filter(|&seq| seq >= una);
        self.timed_out &= segments == 0;
    }

    /// Nothing is lost, or everything is considered lost: no recovery is in progress.
    pub(super) fn reset(&mut self) {
        self.resend = None;
        self.timed_out = false;
        self.in_fast_recovery = false;
    }
}
