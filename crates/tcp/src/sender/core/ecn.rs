//! Explicit congestion notification of a sender (RFC 3168 section 6.1.2), as in Linux: new data carries ECT(0), and
//! CWR once after each reduction. The recovery makes the reduction itself.

use super::Core;
use crate::segment::EcnCodepoint;

impl Core {
    /// The ECN codepoint and CWR flag of a segment to send (tcp_ecn_send()): the SYN and retransmissions have
    /// neither.
    #[cold]
    pub(super) fn mark(&mut self, is_new_data: bool) -> (EcnCodepoint, bool) {
        if !is_new_data {
            return (EcnCodepoint::NotCapable, false);
        }
        let cwr = std::mem::take(&mut self.owes_cwr);
        (EcnCodepoint::Capable, cwr)
    }

    /// The window has been reduced (tcp_ecn_queue_cwr()).
    pub(crate) fn queue_cwr(&mut self) {
        self.owes_cwr = self.config.ecn;
    }

    /// The reduction is undone (tcp_ecn_withdraw_cwr()).
    pub(crate) fn withdraw_cwr(&mut self) {
        self.owes_cwr = false;
    }
}
