//! Loss recovery of QUIC (RFC 9002), and the sender's reaction to another address of its peer (RFC
//! 9000 section 9).
//!
//! | file | does | where that is defined |
//! |---|---|---|
//! | `packets` | packets by their numbers, none of which is used twice | RFC 9002 section 2, A.1 |
//! | `ack` | an ACK of ranges of numbers | A.7, B.5 |
//! | `loss` | lost packets, probe timeouts, persistent congestion | 6.1, 6.2, 7.6, A.8 to A.10 |
//! | `path` | validation, the limit of amplification, migration | RFC 9000 sections 8 and 9 |
//! | `bucket` | pacing | RFC 9002 section 7.7 |
//! | `send` | the next packet | sections 6.2.4 and 7 |
//!
//! Everything counts whole packets, each of which has one segment of the data: a lost segment is retransmitted in a
//! packet of another number. The handshake is that of the other senders, one packet and its ACK. Not in it: ECN, and the undo of a
//! reduction that was not needed, which RFC 9002 does not have.

mod ack;
mod bucket;
mod loss;
mod packets;
mod path;
mod send;

use std::collections::BTreeSet;

use midflight_units::{Instant, Seq};

use self::bucket::Bucket;
use self::packets::Packets;
use self::path::{Known, PathState, Previous};
use super::{LossRecovery, RecoveryInfo, RecoveryPart};
use crate::event::{Log, SenderEvent};
use crate::segment::{Ack, Source};
use crate::sender::{Core, RecoveryRequest, SlotKind};

/// The state in addition to the shared state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quic {
    packets: Packets,
    /// Segments from SND.UNA on that are acknowledged, and those that must be sent again.
    acked: BTreeSet<Seq>,
    lost: BTreeSet<Seq>,
    /// Packets that may be sent independent of the window.
    probes: u32,
    /// When the earliest packet becomes lost by time.
    loss_time: Option<Instant>,
    /// When an ack-eliciting packet was last sent.
    last_eliciting: Option<Instant>,
    /// When the last recovery began, and whether it is under way.
    recovery_start: Option<Instant>,
    recovering: bool,
    /// When the first RTT sample was taken. Packets sent before it do not count for persistent congestion.
    first_sample: Option<Instant>,
    /// The window is what has stopped the sender.
    limited: bool,
    bucket: Bucket,
    path: PathState,
    /// An address that must be validated before anything is sent there.
    candidate: Option<(Source, PathState)>,
    /// The path before, as long as this one may turn out not to be one.
    previous: Option<Box<Previous>>,
    /// Paths that were left, by the numbers of their addresses.
    known: Vec<Known>,
}

impl RecoveryPart for Quic {
    const INFO: RecoveryInfo = RecoveryInfo {
        refuses_responses: Some(
            "recovery quic has ACKs of packet numbers and no duplicates to count; the profiles rfc and ns2 do",
        ),
        refuses_detectors: Some(
            "recovery quic knows from packet numbers which transmission arrived; the profiles rfc and ns2 do not",
        ),
        refuses_classifiers: Some(
            "recovery quic has no duplicate ACKs for a classifier to look at; the profiles rfc and ns2 do",
        ),
        refuses_control: Some(
            "recovery quic leaves windows to controllers that answer to losses; choose recovery linux, or cubic, reno, westwood or westwood-plus",
        ),
        always_has_pipe: true,
        asks_for_bursts: true,
        ..RecoveryInfo::with_sack(
            "quic",
            "packet numbers, losses by packet and time thresholds, probe timeouts, migration",
            "RFC 9002; RFC 9000, section 9",
        )
    };
}

impl Quic {
    /// Tells the shared state where this one is.
    fn show(&self, core: &mut Core) {
        // The handshake's packet is retransmitted from the start.
        if core.books.una() == 0 && self.probes > 0 {
            core.books.go_back();
        } else {
            core.books.resume();
        }
        if self.recovering {
            core.loss.enter_fast_recovery();
        } else {
            core.loss.leave_fast_recovery();
        }
        core.loss.set_repairs(!self.lost.is_empty());
        core.loss.set_pipe(self.packets.in_flight() as i64);
    }
}

impl LossRecovery for Quic {
    fn on_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        self.take_packet(core, ack, log);
        self.tell_limit(core, log);
        self.show(core);
        if !self.packets.is_awaiting() {
            // As A.7 does after every ACK; with packets on their way the question for the next segment does it.
            self.set_timer(core);
        }
    }

    fn on_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        self.probe_timeout(core, log);
        self.show(core);
    }

    fn on_slot(&mut self, core: &mut Core, _kind: SlotKind, log: &mut impl Log) {
        self.check_validation(core, log);
        if self.loss_time.is_some_and(|due| due <= core.now) {
            let lost = self.detect(core, None);
            self.answer_losses(core, lost, log);
        }
        self.show(core);
        self.set_timer(core);
    }

    fn next_segment(&mut self, core: &mut Core) -> Option<Seq> {
        let next = self.choose(core);
        match next {
            Some(seq) => self.depart(core, seq),
            None => self.set_timer(core),
        }
        core.loss.set_pipe(self.packets.in_flight() as i64);
        next
    }

    fn on_resend(&mut self, core: &mut Core, seq: Seq) {
        self.lost.remove(&seq);
        self.depart(core, seq);
        core.loss.set_pipe(self.packets.in_flight() as i64);
    }

    /// A delayed response retransmits; QUIC has none, so this is what it does with a loss.
    fn retransmit(&mut self, core: &mut Core, log: &mut impl Log) {
        self.lost.insert(core.books.una());
        self.reduce(core, core.now, log);
        self.show(core);
    }

    fn epoch(&self) -> u16 {
        self.path.epoch
    }

    fn on_request(&mut self, core: &Core, request: RecoveryRequest) {
        match request {
            RecoveryRequest::Again => {}
            // Nothing was lost.
            RecoveryRequest::Forget | RecoveryRequest::Count => {
                self.lost.clear();
                self.recovering = false;
            }
            RecoveryRequest::Rewind => {
                self.packets.take_for_lost();
                let outstanding = core.books.una()..core.books.max();
                let missing = outstanding.filter(|seq| !self.acked.contains(seq));
                self.lost.extend(missing);
                self.recovering = false;
                self.loss_time = None;
            }
        }
    }
}

/// Tells how many packets something has happened to, if to any.
fn tell(core: &Core, packets: u64, event: SenderEvent<'_>, log: &mut impl Log) {
    if packets > 0 {
        log.record(core.now, event);
    }
}
