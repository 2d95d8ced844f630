//! How far the congestion window is used, and what becomes of a window that is not: tcp_cwnd_validate().

use midflight_units::{Instant, Seq};

use super::send::whole;
use super::{Ca, Linux};
use crate::event::{Author, Log};
use crate::recovery::joined::Joined;
use crate::sender::Core;

/// How far the window is used (tcp_cwnd_validate()).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    limited: bool,
    most_out: u64,
    /// SND.NXT when that was recorded.
    until: Seq,
    used: u64,
    /// When the window was last fully used, or changed.
    since: Instant,
    /// A smaller window and its threshold, which the next event sets: the application has nothing to send.
    shrunk: Option<(u64, f64)>,
}

impl Usage {
    pub(super) fn is_limited(&self) -> bool {
        self.limited
    }

    pub(super) fn join(&mut self, joined: Joined) {
        joined.update(&mut self.until);
    }
}

impl Linux {
    /// tcp_is_cwnd_limited().
    #[inline]
    pub(super) fn is_window_limited(&self, core: &Core) -> bool {
        let in_slow_start = core.cwnd() < core.ssthresh();
        self.usage.limited || in_slow_start && whole(core) < 2 * self.usage.most_out
    }

    pub(super) fn stamp_window(&mut self, core: &Core) {
        self.usage.since = core.now;
    }

    /// tcp_cwnd_validate().
    #[inline]
    pub(super) fn validate(&mut self, core: &mut Core, limited: bool) {
        let out = self.board.packets_out();
        let usage = &mut self.usage;
        if self.board.una >= usage.until || limited || !usage.limited && out > usage.most_out {
            usage.limited = limited;
            usage.most_out = out;
            usage.until = self.board.nxt();
        }
        if self.is_window_limited(core) {
            self.usage.used = 0;
            self.stamp_window(core);
            return;
        }
        self.usage.used = self.usage.used.max(out);
        let unused = core.now.since(self.usage.since);
        if core.config.restarts_after_idle()
            && !core.controls()
            && unused >= core.path.rto.timeout()
        {
            self.application_limited(core);
        }
    }

    /// tcp_cwnd_application_limited(), if the application has no more to send.
    fn application_limited(&mut self, core: &Core) {
        if self.state == Ca::Open && self.board.nxt() >= core.books.end() {
            let used = self.usage.used.max(core.config.initial_window() as u64);
            let cwnd = whole(core);
            if used < cwnd {
                self.usage.shrunk = Some((u64::midpoint(cwnd, used), self.current_ssthresh(core)));
            }
            self.usage.used = 0;
        }
        self.stamp_window(core);
    }

    /// The window that it has set; nothing has been sent since.
    #[inline(always)]
    pub(super) fn shrink_unused(&mut self, core: &mut Core, log: &mut impl Log) {
        if self.sending.unreported || self.usage.shrunk.is_some() {
            self.report_shrunk(core, log);
        }
    }

    #[cold]
    fn report_shrunk(&mut self, core: &mut Core, log: &mut impl Log) {
        if std::mem::take(&mut self.sending.unreported) {
            core.report_window(log);
        }
        if let Some((cwnd, ssthresh)) = self.usage.shrunk.take() {
            core.set_ssthresh(ssthresh, Author::Idle, log);
            core.set_cwnd(cwnd as f64, Author::Idle, log);
        }
    }
}
