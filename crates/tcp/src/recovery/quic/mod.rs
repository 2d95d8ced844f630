//! Loss recovery of QUIC (RFC 9002), and the sender's reaction when its peer's address changes (RFC 9000 section 9).
//!
//! | file | does | where that is defined |
//! |---|---|---|
//! | `packets` | packets by their numbers, none of which is used twice | RFC 9002 section 2, A.1 |
//! | `ack` | an ACK of ranges of numbers | A.7, B.5 |
//! | `loss` | lost packets, probe timeouts, persistent congestion | 6.1, 6.2, 7.6, A.8 to A.10 |
//! | `path` | validation, the limit of amplification, migration | RFC 9000 sections 8 and 9 |
//! | `bucket` | pacing | RFC 9002 section 7.7 |
//! | `send` | the next packet | sections 6.2.4 and 7 |
//! | `control` | a controller that sets window and rate itself, such as BBR | section 7 leaves the controller open |
//!
//! Everything counts whole packets, each with one segment of data: a lost segment is retransmitted in a packet with
//! another number. The handshake is that of the other senders, one packet and its ACK. Not included: ECN, and the undo
//! of an unneeded reduction, which RFC 9002 does not have.

mod ack;
mod bucket;
mod control;
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
    /// Segments above SND.UNA that are acknowledged, and those that must be retransmitted.
    acked: BTreeSet<Seq>,
    lost: BTreeSet<Seq>,
    /// Packets that may be sent regardless of the window.
    probes: u32,
    /// When the earliest packet counts as lost by time.
    loss_time: Option<Instant>,
    /// When an ack-eliciting packet was last sent.
    last_eliciting: Option<Instant>,
    /// When the last recovery began, and whether it is in progress.
    recovery_start: Option<Instant>,
    recovering: bool,
    /// When the first RTT sample was taken. Packets sent before it do not count for persistent congestion.
    first_sample: Option<Instant>,
    /// The window or the pacer was what stopped the sender.
    limited: bool,
    /// The window was.
    is_full: bool,
    /// The controller has set the window at a packet that was sent: the next event reports it.
    unreported: bool,
    /// Segments detected as lost so far.
    lost_total: u64,
    bucket: Bucket,
    path: PathState,
    /// An address that must be validated before anything is sent to it.
    candidate: Option<(Source, PathState)>,
    /// The previous path, until the new one is validated.
    previous: Option<Box<Previous>>,
    /// Earlier paths, by the numbers of their addresses.
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
    /// Updates the shared state from the state of this recovery.
    fn show(&self, core: &mut Core) {
        // The handshake packet is retransmitted from the start.
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
        self.report_limit(core, log);
        self.show(core);
        if !self.packets.is_awaiting() {
            // A.7 does this after every ACK; if packets are in flight, `next_segment` does it.
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

    /// For a delayed response to duplicate ACKs. QUIC has none; this is how it handles a loss.
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
            // There was no loss.
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

/// Reports an event with a number of packets, unless that is zero.
fn tell(core: &Core, packets: u64, event: SenderEvent<'_>, log: &mut impl Log) {
    if packets > 0 {
        log.record(core.now, event);
    }
}
