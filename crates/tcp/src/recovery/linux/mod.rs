//! Loss recovery of Linux 6.12: RACK, tail loss probes, proportional rate reduction, F-RTO and undo, in the order
//! of tcp_ack(). SACK and timestamps are optional.
//!
//! | file | does | functions of the kernel |
//! |---|---|---|
//! | `board` | the retransmission queue | tcp_sacktag_one(), tcp_mark_skb_lost() |
//! | `ack` | an ACK, in order | tcp_ack(), tcp_sacktag_write_queue(), tcp_clean_rtx_queue() |
//! | `duplicates` | which are lost without SACK | tcp_add_reno_sack(), tcp_newreno_mark_lost() |
//! | `rack` | which segments are lost | tcp_recovery.c |
//! | `states` | the states and what undoes them | tcp_fastretrans_alert(), tcp_process_loss(), tcp_try_undo_*() |
//! | `prr` | the window in a recovery | tcp_cwnd_reduction() |
//! | `timers` | one slot for three timers | tcp_rearm_rto(), tcp_schedule_loss_probe(), tcp_retransmit_timer() |
//! | `queue` | the send buffer | tcp_sendmsg_locked(), tcp_sndbuf_expand(), tcp_grow_skb() |
//! | `send` | what goes next | tcp_write_xmit(), tcp_xmit_retransmit_queue() |
//! | `usage` | how far the window is used | tcp_cwnd_validate() |
//!
//! cwnd and the retransmission queue count segments; the send buffer and the receiver's window count bytes. The page
//! linux-behaviour.md lists what is the same as in the kernel and what is not.

mod ack;
mod board;
mod defer;
mod duplicates;
mod prr;
mod queue;
mod rack;
mod send;
mod states;
mod timers;
mod usage;

use educe::Educe;
use midflight_control::congestion::LossPhase;
use midflight_control::WindowedMin;
use midflight_units::{Instant, Seq};

use self::ack::News;
use self::board::{Board, Entry};
use self::prr::Prr;
use self::queue::Queue;
use self::rack::{Rack, Wait};
use self::send::Sending;
use self::usage::Usage;
use super::{LossRecovery, RecoveryInfo, RecoveryPart, SizeProbe, Tally};
use crate::event::Log;
use crate::recovery::Joined;
use crate::segment::Ack;
use crate::sender::{Core, Inside, RecoveryRequest, SlotKind};

/// Maximum reordering degree in segments (net.ipv4.tcp_max_reordering).
const MOST_REORDERING: u64 = 300;

/// Congestion states, in the kernel's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Ca {
    #[default]
    Open,
    Disorder,
    Cwr,
    Recovery,
    Loss,
}

/// The state that is needed to undo a reduction.
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    /// SND.UNA at the reduction; none if there is nothing to undo.
    marker: Option<Seq>,
    /// Retransmissions without a DSACK so far; none if there was no retransmission.
    unanswered: Option<u64>,
    /// The threshold before the reduction; none if it must not be restored.
    ssthresh: Option<f64>,
    cwnd: u64,
    /// The first retransmission (retrans_stamp).
    first_resent: Option<Instant>,
}

/// The tail loss probe.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// SND.NXT when it was sent.
    high: Seq,
    /// It was a retransmission.
    is_resent: bool,
}

/// The state in addition to the shared state.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
pub(crate) struct Linux {
    board: Board,
    queue: Queue,
    state: Ca,
    /// SND.NXT when the state was entered.
    high: Seq,
    undo: Undo,
    prr: Prr,
    /// A part has ordered that the window must not change in this recovery.
    keeps_window: bool,
    frto: bool,
    /// Timeouts since SND.UNA last advanced.
    timeouts: u32,
    rack: Rack,
    /// Reordering degree in segments, at first that of net.ipv4.tcp_reordering.
    reordering: u64,
    reordering_seen: u64,
    min_rtt: WindowedMin,
    probe: Option<Probe>,
    /// Segments acknowledged or SACKed.
    delivered: u64,
    /// That count before the current ACK or the current timer.
    delivered_before: u64,
    /// Of them, by ACKs that report a CE mark.
    delivered_marked: u64,
    /// Number of duplicates reported by DSACKs, and of all retransmissions.
    dsacked: u64,
    resent: u64,
    /// Blocks of the last ACK, which need not be processed again.
    known: [(Seq, Seq); 4],
    /// When the SYN was first sent.
    syn_sent: Option<Instant>,
    sending: Sending,
    usage: Usage,
    /// The SYN gives no RTT sample.
    untimed: bool,
    /// The SYN answers another one: all of its timeouts back off (reqsk_timeout()).
    answers_syn: bool,
    /// There are no tail loss probes (net.ipv4.tcp_early_retrans).
    leaves_tails: bool,
    /// How many timeouts of the SYN do not back off (net.ipv4.tcp_syn_linear_timeouts); none for the usual number.
    linear_syns: Option<u32>,
    /// Segments from this one on are beyond the window, which has shrunk.
    resend_end: Option<Seq>,
    /// Timeouts do not back off when little is in flight (net.ipv4.tcp_thin_linear_timeouts).
    thin_linear: bool,
    /// The segment that probes for a larger size (tcp_mtu_probe()).
    size_probe: SizeProbe,
    /// The other side's window is zero.
    zero_window: bool,
}

impl Linux {
    /// tcp_min_rtt(), in microseconds: the maximum value if nothing was measured.
    fn min_rtt(&self) -> u64 {
        self.min_rtt.get().unwrap_or(u64::from(u32::MAX))
    }

    /// The input of a controller that sets the window itself.
    fn inside(&self) -> Inside {
        Inside {
            phase: match self.state {
                Ca::Open => LossPhase::Open,
                Ca::Disorder => LossPhase::Disorder,
                Ca::Cwr => LossPhase::Reducing,
                Ca::Recovery => LossPhase::Recovery,
                Ca::Loss => LossPhase::Loss,
            },
            in_flight: self.board.in_flight(),
            lost: self.board.lost_ever,
            min_rtt: self.min_rtt(),
            window_limited: self.usage.is_limited(),
        }
    }

    fn wait(&self, core: &Core) -> Wait {
        Wait {
            reordering_seen: self.reordering_seen > 0,
            in_recovery: self.state >= Ca::Recovery,
            reordering: self.reordering,
            min_rtt: self.min_rtt(),
            srtt: core
                .path
                .rto
                .srtt()
                .map_or(0, |srtt| srtt.as_nanos() / 1000),
        }
    }

    /// tcp_check_sack_reordering(): a segment from `low` on has arrived after higher ones.
    fn check_reordering(&mut self, low: Seq) {
        let fack = self.board.fack();
        if low >= fack {
            return;
        }
        let extent = (fack - low).min(MOST_REORDERING);
        self.reordering = self.reordering.max(extent);
        self.reordering_seen += 1;
    }

    /// Passes newly marked lost segments to the controller, if it uses them.
    fn report_losses(&mut self, core: &mut Core) {
        if !self.board.marked.is_empty() {
            for seq in std::mem::take(&mut self.board.marked) {
                core.control_lost(seq, self.inside());
            }
        }
    }

    /// The next segment where it is not one within a burst.
    #[inline(never)]
    fn start_segment(&mut self, core: &mut Core) -> Option<Seq> {
        let next = self.choose(core);
        if let Some(seq) = next {
            let is_again = seq < core.books.max();
            let push = self.queue.pushes(seq, is_again);
            core.set_push(push);
        }
        core.loss.set_pipe(self.board.in_flight() as i64);
        next
    }

    /// An ACK has arrived, or a timer that shares the slot has expired.
    #[inline(always)]
    fn begin_event(&mut self, by_ack: bool, core: &mut Core, log: &mut impl Log) {
        self.sending.begin_turn(by_ack);
        self.delivered_before = self.delivered;
        self.shrink_unused(core, log);
    }

    fn in_reduction(&self) -> bool {
        matches!(self.state, Ca::Cwr | Ca::Recovery)
    }

    /// Updates the shared state from the state of this recovery.
    fn show(&self, core: &mut Core) {
        // The SYN is retransmitted from the start.
        let syn_again = core.books.una() == 0 && self.sending.once.is_some();
        if syn_again {
            core.books.go_back();
        } else {
            core.books.resume();
        }
        if self.state == Ca::Recovery {
            core.loss.enter_fast_recovery();
        } else {
            core.loss.leave_fast_recovery();
        }
        core.loss.set_repairs(self.state >= Ca::Recovery);
        core.loss.set_pipe(self.board.in_flight() as i64);
    }
}

impl RecoveryPart for Linux {
    const INFO: RecoveryInfo = RecoveryInfo {
        refuses_responses: Some(
            "recovery linux detects losses by time (RACK) and does not count duplicates; the profiles rfc and ns2 do",
        ),
        refuses_detectors: Some(
            "recovery linux has its own F-RTO, Eifel and DSACK undo; the profiles rfc and ns2 do not",
        ),
        always_has_pipe: true,
        reports_idle_end: true,
        asks_for_bursts: true,
        goes_on_in_closed_window: true,
        ..RecoveryInfo::with_sack(
            "linux",
            "RACK, tail loss probes, proportional rate reduction, F-RTO and undo",
            "Linux 6.12; RFC 8985, RFC 6937",
        )
    };
}

impl LossRecovery for Linux {
    fn on_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        self.begin_event(true, core, log);
        self.take_ack(core, ack, log);
        self.show(core);
    }

    fn on_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        self.sending.begin_turn(false);
        self.shrink_unused(core, log);
        self.retransmission_timeout(core, log);
        self.show(core);
    }

    fn on_slot(&mut self, core: &mut Core, kind: SlotKind, log: &mut impl Log) {
        self.begin_event(false, core, log);
        match kind {
            SlotKind::Reordering => self.reordering_timeout(core, log),
            SlotKind::LossProbe => self.send_probe(core),
            SlotKind::SmallWindow => self.probe_window(core),
            SlotKind::Retransmission => {}
        }
        self.show(core);
    }

    #[inline(always)]
    fn next_segment(&mut self, core: &mut Core) -> Option<Seq> {
        if let Some(seq) = self.continue_burst(core) {
            return Some(seq);
        }
        if self.sending.is_over() {
            return None;
        }
        self.start_segment(core)
    }

    fn on_resend(&mut self, core: &mut Core, seq: Seq) {
        self.queue.leaves_again(seq, 1);
        self.depart(core, seq, 1);
        self.resend(core, seq, false);
    }

    fn on_early_open(&mut self) {
        self.untimed = true;
    }

    fn on_passive_open(&mut self) {
        self.answers_syn = true;
    }

    /// tcp_current_ssthresh().
    fn ssthresh_of_other_loss(&self, core: &Core) -> Option<f64> {
        Some(self.current_ssthresh(core))
    }

    /// tcp_non_congestion_loss_retransmit().
    fn begin_other_loss(&mut self, high: Seq, before: Tally) {
        self.state = Ca::Loss;
        self.high = high;
        self.timeouts = before.timeouts;
        self.undo.first_resent = before.first_resent;
    }

    /// tcp_mark_skb_lost(), tcp_retransmit_skb().
    fn count_as_lost(&mut self, seq: Seq) {
        let entry = self.board.get(seq).filter(|entry| !entry.is_lost());
        let Some(&Entry {
            sent, delivered, ..
        }) = entry
        else {
            return;
        };
        self.board.mark_lost(seq);
        self.board.resend(seq, sent, delivered, false);
        self.undo.first_resent.get_or_insert(sent);
    }

    fn leave_tails(&mut self) {
        self.leaves_tails = true;
    }

    fn set_linear_syns(&mut self, timeouts: u32) {
        self.linear_syns = Some(timeouts);
    }

    fn set_thin_linear(&mut self, is_linear: bool) {
        self.thin_linear = is_linear;
    }

    fn set_size_probe(&mut self, probe: SizeProbe) {
        self.size_probe = probe;
    }

    fn size_probe(&self) -> SizeProbe {
        self.size_probe
    }

    /// tcp_rcv_synrecv_state_fastopen().
    fn on_early_end(&mut self, core: &mut Core) {
        core.timers.clear_slot();
        self.rearm(core);
        self.sending.lost |= self.state == Ca::Loss;
    }

    fn resend_below(&mut self, end: Seq) {
        self.resend_end = Some(end);
    }

    fn has_room_in_burst(&self, core: &Core, segments: u64, of_buffer: u64) -> bool {
        // tcp_mss_split_point(), burst by burst.
        let room = self.room(core);
        let (mut sent, mut left) = (segments - of_buffer.min(segments), of_buffer);
        loop {
            let unsent = room.segments.saturating_sub(sent);
            let quota = send::quota(room.cwnd, unsent, room.burst);
            if quota == 0 || left < quota {
                return 0 < left && left < quota;
            }
            sent += quota;
            left -= quota;
        }
    }

    fn skip_tail_probe(&mut self) {
        self.sending.no_tail = true;
    }

    /// tcp_collapse_retrans().
    fn join(&mut self, core: &mut Core, joined: Joined) {
        self.board.join(joined);
        self.queue.renumber(joined);
        self.rack.join(joined);
        self.usage.join(joined);
        joined.update(&mut self.high);
        if let Some(marker) = &mut self.undo.marker {
            joined.update(marker);
        }
        if let Some(probe) = &mut self.probe {
            joined.update(&mut probe.high);
        }
        self.known = [(0, 0); 4];
        self.sending.join(joined);
        core.join(joined);
        core.loss.set_pipe(self.board.in_flight() as i64);
    }

    fn settle(&mut self, core: &mut Core, log: &mut impl Log) {
        self.shrink_unused(core, log);
    }

    fn offer(&mut self, core: &mut Core) {
        self.offer_to_probe(core);
    }

    fn may_join(&self, seq: Seq) -> bool {
        let is_sacked = self.board.get(seq).is_some_and(board::Entry::is_sacked);
        !is_sacked && self.queue.is_alone(seq)
    }

    fn set_zero_window(&mut self, is_zero: bool) {
        self.zero_window = is_zero;
    }

    /// tcp_fastopen_synack_timer().
    fn on_response_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        self.enter_loss(core, log);
    }

    fn on_unreachable(&mut self, core: &mut Core, log: &mut impl Log) -> bool {
        self.revert_back_off(core, log)
    }

    /// tcp_tsq_write().
    fn on_gate(&mut self, core: &mut Core) {
        self.sending.begin_turn(false);
        let board = &self.board;
        self.sending.lost |=
            board.lost_out > board.retrans_out && (core.cwnd() as u64) > board.in_flight();
        self.sending.new = true;
    }

    fn on_window_open(&mut self) {
        self.sending.new = true;
    }

    /// For a delayed response to duplicate ACKs. The kernel has none; this is how it handles a loss.
    fn retransmit(&mut self, core: &mut Core, log: &mut impl Log) {
        let una = self.board.una;
        self.sending.interrupt_burst();
        if self.board.mark_lost_and_unlist(una) {
            self.enter_recovery(core, log);
            self.sending.lost = true;
            self.show(core);
        }
    }

    fn tally(&self) -> Option<Tally> {
        Some(Tally {
            state: self.state as u8,
            sacked: self.board.sacked_out,
            lost: self.board.lost_out,
            resent: self.board.retrans_out,
            reordering: self.reordering,
            reordering_seen: self.reordering_seen,
            delivered: self.delivered,
            delivered_marked: self.delivered_marked,
            dsacked: self.dsacked,
            min_rtt: self.min_rtt.get(),
            timeouts: self.timeouts,
            first_resent: self.undo.first_resent,
        })
    }

    fn on_request(&mut self, core: &Core, request: RecoveryRequest) {
        match request {
            RecoveryRequest::Again => self.board.reports_lost = core.reports_losses(),
            RecoveryRequest::Forget | RecoveryRequest::Count => self.forget(),
            RecoveryRequest::Rewind => self.rewind(core),
        }
        self.sending.end_burst();
        self.sending.new = true;
    }
}
