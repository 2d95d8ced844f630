//! The next packet to send.

use midflight_units::Seq;

use super::packets::{Fate, Packet};
use super::Quic;
use crate::sender::Core;

impl Quic {
    /// The segment of the next packet. Lost data is sent before new data (RFC 9000 section 13.3), and a
    /// probe repeats the oldest data only if there is nothing else (RFC 9002 section 6.2.4).
    pub(super) fn choose(&mut self, core: &mut Core) -> Option<Seq> {
        if core.books.una() == 0 {
            let is_due = core.books.nxt() == 0;
            self.probes = 0;
            return is_due.then_some(0);
        }
        let lost = self.lost.first().copied();
        let fresh = core.may_send_new().then(|| core.books.max());
        let next = lost.or(fresh).or_else(|| {
            let is_missing = |seq| !self.acked.contains(&seq) && seq >= core.books.una();
            let again = || self.packets.oldest_segment(is_missing);
            (self.probes > 0).then(again).flatten()
        });
        let Some(seq) = next else {
            self.limited = false;
            self.probes = 0;
            if core.controls() && !self.is_full {
                core.limit_by_application(self.packets.in_flight());
            }
            return None;
        };
        if self.is_blocked() {
            return None;
        }
        if self.probes > 0 {
            self.probes -= 1;
        } else if self.is_stopped(core) {
            self.limited = true;
            return None;
        }
        self.lost.remove(&seq);
        Some(seq)
    }

    /// Whether the window or the pacer holds the next packet back.
    fn is_stopped(&mut self, core: &mut Core) -> bool {
        let (next, cwnd) = ((self.packets.in_flight() + 1) as f64, core.cwnd());
        self.is_full = next > cwnd || next >= cwnd && !core.config.fills_window;
        if self.is_full {
            return true;
        }
        if !core.is_paced() || core.in_train() {
            return false;
        }
        // An order has set a pacing rate.
        if core.gate_is_closed() {
            return true;
        }
        if !core.config.pacing || core.controls() {
            return false;
        }
        let srtt = core.path.rto.srtt().unwrap_or(self.path.initial_rtt(core));
        match self.bucket.wait(core.now, core.cwnd(), srtt) {
            None => false,
            Some(until) => {
                core.wait_for_gate(until);
                true
            }
        }
    }

    /// Records that a packet with a segment is sent.
    pub(super) fn depart(&mut self, core: &mut Core, seq: Seq) {
        if core.books.una() > 0 && self.packets.in_flight() == 0 && seq > 1 {
            core.report_idle_end();
            if core.controls() {
                self.unreported = core.restart_control(self.inside(), &mut ());
            }
        }
        self.bucket.take();
        core.leave(1, core.sizes.full());
        self.path.count_sent(core.config.segment_bytes);
        self.last_eliciting = Some(core.now);
        let number = self.packets.send(Packet {
            sent: core.now,
            seq: Some(seq),
            epoch: self.path.epoch,
            fate: Fate::InFlight,
            counts: true,
        });
        core.set_packet_number(number);
        core.set_destination(self.path.address);
    }
}
