//! Connections without SACK: a duplicate ACK counts as a SACKed segment, although nobody knows which one has arrived, and a
//! recovery sends the first unacknowledged segment again for each partial ACK (NewReno, RFC 6582).

use super::board::Entry;
use super::{Ca, Linux, News, MOST_REORDERING};
use crate::sender::Core;

impl Linux {
    /// tcp_limit_reno_sacked(): segments that are lost have not arrived, and neither has the first one. Returns whether there
    /// are more duplicates than other segments.
    fn limit_duplicates(&mut self) -> bool {
        let out = self.board.packets_out();
        let holes = self.board.lost_out.max(1).min(out);
        let is_beyond = self.board.sacked_out + holes > out;
        if is_beyond {
            self.board.sacked_out = out - holes;
        }
        is_beyond
    }

    /// tcp_check_reno_reordering(): too many duplicates mean reordering.
    fn check_duplicates(&mut self, acknowledged: u64) {
        if self.limit_duplicates() {
            self.reordering = (self.board.packets_out() + acknowledged).min(MOST_REORDERING);
            self.reordering_seen += 1;
        }
    }

    /// tcp_reset_reno_sack(), if there is no SACK.
    pub(super) fn forget_duplicates(&mut self, core: &Core) {
        if !core.config.sack {
            self.board.sacked_out = 0;
        }
    }

    /// tcp_add_reno_sack(), if there is no SACK.
    pub(super) fn add_duplicates(&mut self, core: &Core, duplicates: u64) {
        if duplicates == 0 || core.config.sack {
            return;
        }
        let before = self.board.sacked_out;
        self.board.sacked_out += duplicates;
        self.check_duplicates(0);
        self.delivered += self.board.sacked_out.saturating_sub(before);
    }

    /// tcp_remove_reno_sacks(): one of the acknowledged segments was missing, and the others have caused duplicates.
    pub(super) fn remove_duplicates(&mut self, acknowledged: u64) {
        if acknowledged > 0 {
            let counted = self.board.sacked_out;
            self.delivered += acknowledged.saturating_sub(counted).max(1);
            self.board.sacked_out = counted.saturating_sub(acknowledged - 1);
        }
        self.check_duplicates(acknowledged);
    }

    /// tcp_newreno_mark_lost().
    pub(super) fn mark_first_lost(&mut self, advanced: bool) {
        let marks = if self.state == Ca::Recovery {
            advanced
        } else {
            self.state < Ca::Recovery && self.board.sacked_out >= self.reordering
        };
        let is_marked = self.board.head().is_none_or(Entry::is_lost);
        if marks && !is_marked {
            let una = self.board.una;
            self.board.mark_lost(una);
        }
    }

    /// tcp_is_non_sack_preventing_reopen(): the state is held until something above `high` is acknowledged, because
    /// duplicates of what was sent again could start a false recovery (RFC 6582 section 4.1).
    pub(super) fn holds_state(&mut self, core: &Core, news: &News) -> bool {
        let holds = self.is_without_sack(core, news) && self.board.una == self.high;
        if holds && !self.board.any_resent() {
            self.undo.first_resent = None;
        }
        holds
    }

    /// The connection has no SACK. Before a connection that answers a SYN is open, there is none.
    pub(super) fn is_without_sack(&self, core: &Core, news: &News) -> bool {
        !core.config.sack && (news.before > 0 || !self.answers_syn)
    }
}
