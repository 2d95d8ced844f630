//! Which packets are lost (RFC 9002 section 6.1), probe timeouts (6.2) and the reaction to losses (7).

use midflight_units::{Duration, Instant};

use super::packets::Fate;
use super::{tell, Quic};
use crate::event::{Author, Log, PathEvent, SenderEvent};
use crate::sender::{Core, Inside, SlotKind};
use midflight_control::congestion::LossPhase;

/// kGranularity.
const GRANULARITY: Duration = Duration::from_millis(1);
/// kPersistentCongestionThreshold.
const PERSISTENT: u64 = 3;
/// kMinimumWindow, in packets.
const LEAST_WINDOW: f64 = 2.0;
/// Packets sent at a probe timeout.
const PROBES: u32 = 2;

/// Packets that have just been declared lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    packets: u64,
    /// Those that count in the window: packets of an old path do not (RFC 9000 section 9.4).
    pub(super) counted: u64,
    /// When the last lost packet that counts in the window was sent.
    last_sent: Option<Instant>,
    /// The losses span long enough for persistent congestion.
    persistent: bool,
}

/// The probe timeout without back-off.
pub(super) fn probe_period(core: &Core) -> Duration {
    let base = core.path.rto.timeout().as_nanos() / u64::from(core.path.rto.backoff().max(1));
    let base = Duration::from_nanos(base);
    if core.books.una() == 0 {
        // Section 6.2.1: no max_ack_delay in the handshake.
        return base;
    }
    base + core.config.max_ack_delay
}

impl Quic {
    /// DetectAndRemoveLostPackets (A.10). `acked` is the send time of a packet that this ACK acknowledges, if there is
    /// one.
    pub(super) fn detect(&mut self, core: &mut Core, acked: Option<Instant>) -> Losses {
        let mut losses = Losses::default();
        self.loss_time = None;
        let Some(largest) = self.packets.acked_below().checked_sub(1) else {
            return losses;
        };
        let srtt = core.path.rto.srtt().unwrap_or(Duration::ZERO);
        let rtt = srtt.max(self.path.latest_rtt);
        let wait = Duration::from_nanos(rtt.as_nanos() / 8 * 9).max(GRANULARITY);
        let threshold = u64::from(core.dup_threshold);
        let period = probe_period(core) * PERSISTENT;
        // `stretch`: when the first packet was sent of the current run of losses without an acknowledged packet in
        // between.
        let (mut stretch, mut lost): (Option<Instant>, Vec<u64>) = (None, Vec::new());
        for (number, packet) in self.packets.below(largest) {
            match packet.fate {
                Fate::Acked => stretch = None,
                Fate::Lost => {}
                Fate::InFlight => {
                    let is_old = core.now.since(packet.sent) >= wait;
                    if !is_old && largest < number + threshold {
                        let due = packet.sent + wait;
                        self.loss_time = Some(self.loss_time.map_or(due, |time| time.min(due)));
                        stretch = None;
                        continue;
                    }
                    lost.push(number);
                    let after_sample = self.first_sample.is_some_and(|at| packet.sent > at);
                    if acked.is_some() && packet.counts && after_sample {
                        let begun = *stretch.get_or_insert(packet.sent);
                        losses.persistent |= packet.sent.since(begun) > period;
                    }
                }
            }
        }
        for number in lost {
            let Some(packet) = self.packets.change(number, Fate::Lost) else {
                continue;
            };
            losses.packets += 1;
            if packet.counts {
                losses.counted += 1;
                losses.last_sent = losses.last_sent.max(Some(packet.sent));
                self.lost_total += 1;
                if let Some(seq) = packet.seq.filter(|_| core.reports_losses()) {
                    core.control_lost(seq, self.inside());
                }
            }
            let missing = packet.seq.filter(|seq| {
                let is_acked = *seq < core.books.una() || self.acked.contains(seq);
                !is_acked
            });
            self.lost.extend(missing);
        }
        losses
    }

    /// OnPacketsLost (B.8).
    pub(super) fn answer_losses(&mut self, core: &mut Core, losses: Losses, log: &mut impl Log) {
        let Losses {
            packets,
            counted: _,
            last_sent,
            persistent,
        } = losses;
        let event = SenderEvent::Path(PathEvent::Lost(packets));
        tell(core, packets, event, log);
        let Some(sent) = last_sent else {
            return;
        };
        self.reduce(core, sent, log);
        if persistent {
            let event = SenderEvent::Path(PathEvent::PersistentCongestion);
            log.record(core.now, event);
            if core.controls() {
                let phase = LossPhase::Loss;
                core.control_loss(Inside {
                    phase,
                    ..self.inside()
                });
            }
            core.set_cwnd(LEAST_WINDOW, Author::Recovery, log);
            self.recovery_start = None;
            self.recovering = false;
        }
    }

    /// OnCongestionEvent (B.6): once for all losses of packets sent before it.
    pub(super) fn reduce(&mut self, core: &mut Core, sent: Instant, log: &mut impl Log) {
        if self.recovery_start.is_some_and(|start| sent <= start) {
            return;
        }
        self.recovery_start = Some(core.now);
        self.recovering = true;
        core.loss.enter_fast_recovery();
        core.loss.set_pipe(self.packets.in_flight() as i64);
        let first = self.lost.first().copied().unwrap_or(core.books.una());
        log.record(core.now, SenderEvent::FastRetransmit(first));
        if core.consult_recovery(log) {
            return;
        }
        core.reduce_from_window(false, Author::Recovery, log);
        if core.controls() && !core.leaves_reductions() {
            return;
        }
        let cwnd = core.ssthresh().max(LEAST_WINDOW);
        core.set_cwnd(cwnd, Author::Recovery, log);
    }

    /// OnLossDetectionTimeout (A.9), for a probe timeout.
    pub(super) fn probe_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        self.probes = PROBES;
        core.path.rto.back_off();
        let backoff = core.path.rto.backoff();
        log.record(core.now, SenderEvent::Backoff(backoff));
        if !self.path.is_validated() && !self.is_blocked() {
            self.challenge_path(core, log);
        }
        self.set_timer(core);
    }

    /// SetLossDetectionTimer (A.8), and the deadline of a path validation.
    pub(super) fn set_timer(&mut self, core: &mut Core) {
        let candidate = self.candidate.and_then(|(_, state)| state.deadline());
        let deadline = self.path.deadline().or(candidate);
        let earlier = match (self.loss_time, deadline) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let probe = self.probe_due(core).filter(|_| self.loss_time.is_none());
        let (kind, due) = match (earlier, probe) {
            (Some(at), Some(probe)) if probe < at => (SlotKind::Retransmission, probe),
            (Some(at), _) => (SlotKind::Reordering, at),
            (None, Some(probe)) => (SlotKind::Retransmission, probe),
            (None, None) => {
                core.timers.clear_slot();
                return;
            }
        };
        core.set_slot(kind, due.since(core.now));
    }

    /// Section 6.2.2.1: no probe timeout while nothing may be sent.
    fn probe_due(&self, core: &Core) -> Option<Instant> {
        if !self.packets.is_awaiting() || self.is_blocked() {
            return None;
        }
        let backoff = u64::from(core.path.rto.backoff());
        Some(self.last_eliciting? + probe_period(core) * backoff)
    }
}
