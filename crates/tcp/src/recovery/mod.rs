//! Loss recovery: which ACKs mean loss, what is resent when, and when new
//! segments may go. One file a kind.

mod cumulative;
mod linux;
mod newreno;
mod ns2_reno;
mod ns2_scoreboard;
mod reno;
mod sack;
mod sack1;
mod tahoe;

use educe::Educe;
use midflight_units::Seq;

use crate::config::{RecoveryKind, RecoveryRules, SenderConfig};
use crate::event::Log;
use crate::segment::Ack;
use crate::sender::{Core, SlotKind, Turn};

/// What a kind of recovery does. Every method finds the shared state already
/// at the present.
pub(crate) trait LossRecovery {
    /// An ACK has arrived; it is not beyond what was sent.
    fn on_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log);
    /// The timer has expired; the core has recorded it.
    fn on_timeout(&mut self, core: &mut Core, log: &mut impl Log);
    /// The next segment to send now, if any.
    fn next_segment(&mut self, core: &mut Core) -> Option<Seq>;
    /// The response to duplicate ACKs has waited long enough: fast retransmit,
    /// unless the duplicates are echoes of an earlier recovery.
    fn retransmit(&mut self, core: &mut Core, log: &mut impl Log);
    /// A timer in the slot has expired that is not the retransmission timer.
    fn on_slot(&mut self, _core: &mut Core, _kind: SlotKind, _log: &mut impl Log) {}
    /// An order has this segment sent again now.
    fn on_resend(&mut self, _core: &mut Core, _seq: Seq) {}
    /// The receiver's window is open, and this kind of recovery has not seen the ACK that said so.
    fn on_window_open(&mut self) {}
    /// Segments that were expected late are overdue by now: look again at what is lost.
    fn on_patience_over(&mut self, _core: &mut Core) {}
    /// The connection opened, or orders changed the window: look again whether
    /// something may be sent; or they said what became of a recovery.
    fn on_turn(&mut self, core: &Core, turn: Turn);
}

/// Any kind of recovery.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) enum Recovery {
    Tahoe(tahoe::Tahoe),
    Reno(reno::Reno),
    NewReno(newreno::NewReno),
    Ns2Reno(ns2_reno::Ns2Reno),
    Sack1(sack1::Sack1),
    Sack(sack::Sack),
    Linux(Box<linux::Linux>),
}

macro_rules! each {
    ($self:expr, $r:ident => $body:expr) => {
        match $self {
            Recovery::Tahoe($r) => $body,
            Recovery::Reno($r) => $body,
            Recovery::NewReno($r) => $body,
            Recovery::Ns2Reno($r) => $body,
            Recovery::Sack1($r) => $body,
            Recovery::Sack($r) => $body,
            Recovery::Linux($r) => $body,
        }
    };
}

impl Recovery {
    pub(crate) fn new(config: &SenderConfig) -> Self {
        match config.recovery {
            kind @ (RecoveryKind::Tahoe | RecoveryKind::Reno | RecoveryKind::NewReno)
                if config.recovery_rules == RecoveryRules::Ns2 =>
            {
                Self::Ns2Reno(ns2_reno::Ns2Reno::new(kind))
            }
            RecoveryKind::Tahoe => Self::Tahoe(tahoe::Tahoe::default()),
            RecoveryKind::Reno => Self::Reno(reno::Reno::default()),
            RecoveryKind::NewReno => Self::NewReno(newreno::NewReno::default()),
            RecoveryKind::Sack1 => Self::Sack1(sack1::Sack1::default()),
            RecoveryKind::Sack => Self::Sack(sack::Sack::default()),
            RecoveryKind::Linux => Self::Linux(Box::default()),
        }
    }

    pub(crate) fn on_open(&mut self, core: &Core) {
        self.on_turn(core, Turn::Again);
    }

    pub(crate) fn on_turn(&mut self, core: &Core, turn: Turn) {
        each!(self, r => r.on_turn(core, turn));
    }

    pub(crate) fn on_slot(&mut self, core: &mut Core, kind: SlotKind, log: &mut impl Log) {
        each!(self, r => r.on_slot(core, kind, log));
    }

    #[cold]
    pub(crate) fn on_resend(&mut self, core: &mut Core, seq: Seq) {
        each!(self, r => r.on_resend(core, seq));
    }

    #[cold]
    pub(crate) fn on_window_open(&mut self) {
        each!(self, r => r.on_window_open());
    }

    pub(crate) fn on_patience_over(&mut self, core: &mut Core) {
        each!(self, r => r.on_patience_over(core));
    }

    pub(crate) fn retransmit(&mut self, core: &mut Core, log: &mut impl Log) {
        each!(self, r => r.retransmit(core, log));
    }

    pub(crate) fn on_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        each!(self, r => r.on_ack(core, ack, log));
    }

    pub(crate) fn on_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        each!(self, r => r.on_timeout(core, log));
    }

    #[inline(always)]
    pub(crate) fn next_segment(&mut self, core: &mut Core) -> Option<Seq> {
        each!(self, r => r.next_segment(core))
    }
}
