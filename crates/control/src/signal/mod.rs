//! Signals of a mobile node's TCP to its sender around a handoff.
//!
//! A signal is one file here and one line in the registry below. It belongs to
//! the receiver, so that any sender can face it: what goes out are repeats of
//! the last ACK with a window, a handoff mark or nothing special, and what the
//! sender makes of them is TCP's affair (persist mode, fast retransmit) or that
//! of a policy that uses marks. A signal may also change the ACKs of the receiver for some time: when each of
//! them leaves, in how many parts, with which window, and over which link.

mod ack_delay;
mod ack_pacing;
mod ehn;
mod fast_ack;
mod freeze;
mod ho_notify;
mod nodupack;
mod receiver_bdp;
mod silent;
mod slow_ack;
mod tr_acks;

use std::num::NonZeroU32;

use midflight_units::{Duration, Instant};

pub use ack_delay::AckDelay;
pub use ack_pacing::AckPacing;
pub use ehn::EhnSignal;
pub use fast_ack::FastAck;
pub use freeze::Freeze;
pub use ho_notify::HoNotify;
pub use nodupack::Nodupack;
pub use receiver_bdp::ReceiverBdp;
pub use silent::Silent;
pub use slow_ack::SlowAck;
pub use tr_acks::TrAcks;

use crate::part::registry;
use crate::Notice;

/// Repeats of the last ACK, and what ACKs say from now on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    /// How many.
    pub copies: u8,
    /// From now on every ACK advertises no window, or the whole one again.
    pub window: Option<Advertised>,
    /// They carry the handoff mark.
    pub marked: bool,
    /// For this time no segment above a gap is answered.
    pub quiet: Option<Duration>,
}

/// What a receiver advertises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advertised {
    /// A zero window.
    Closed,
    /// Its whole window.
    Open,
}

/// The handoff mark of an ACK (Izumikawa, Yamaguchi & Katto, section 3: a bit
/// of the TCP header, or an option).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoffMark {
    /// Number of the handoff, from 1, by which repeats of a mark are recognised.
    pub number: u32,
    /// When it left the mobile node, which a timestamp option would tell a
    /// sender whose clock agrees with the node's.
    pub sent: Instant,
}

/// The window that takes back what a signal has advertised: the sender uses its setting again.
pub const WHOLE_WINDOW: NonZeroU32 = NonZeroU32::MAX;

/// A segment that has reached the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// When.
    pub now: Instant,
    /// Its size on the wire in bytes.
    pub bytes: u32,
    /// All of its data had arrived before.
    pub again: bool,
    /// The timestamp of the receiver that it echoes, in milliseconds; 0 for none.
    pub echo_ms: u32,
}

/// An ACK that is about to leave the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnAck {
    /// Now.
    pub now: Instant,
    /// It acknowledges something new.
    pub advances: bool,
    /// Its timestamp in milliseconds of the receiver's clock; 0 for none.
    pub stamp_ms: u32,
}

/// What becomes of an ACK. By default it leaves at once as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reshaped {
    /// When it leaves. ACKs do not overtake each other.
    pub at: Instant,
    /// In how many ACKs, of equal parts of what it acknowledges.
    pub parts: u8,
    /// How often it is repeated.
    pub copies: u8,
    /// The largest window that it advertises, in bytes, or [`WHOLE_WINDOW`].
    pub window: Option<NonZeroU32>,
    /// The timestamp that it carries, in milliseconds, unless the receiver has timestamps itself.
    pub stamp_ms: u32,
}

impl OwnAck {
    /// It leaves at once as it is.
    pub fn unchanged(&self) -> Reshaped {
        Reshaped {
            at: self.now,
            parts: 1,
            copies: 0,
            window: None,
            stamp_ms: self.stamp_ms,
        }
    }
}

/// How long the ACKs take another link than the data, around a handoff without a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckRoute {
    /// They take the new link so long before the data do.
    pub early: Duration,
    /// They take the old link so long after.
    pub late: Duration,
}

/// The signals of a mobile node to its sender, and their times.
pub trait HandoffSignal {
    /// The node knows the links of a handoff: one that it predicts, or one that is over. Comes before
    /// [`Self::on_warning`] and [`Self::on_attached`].
    fn on_links(&mut self, _now: Instant, _notice: &Notice, _is_over: bool) {}

    /// What it does from now on, in words, after [`Self::on_links`]; none if its ACKs tell that themselves.
    fn explain(&self, _notice: &Notice, _is_over: bool) -> Option<String> {
        None
    }

    /// Whether it is asked about each segment and ACK, at present.
    fn reshapes(&self) -> bool {
        false
    }

    /// A segment has arrived, before its ACK is made.
    fn on_received(&mut self, _segment: &Received) {}

    /// An ACK is about to leave.
    fn on_ack(&mut self, ack: &OwnAck) -> Reshaped {
        ack.unchanged()
    }

    /// Which link ACKs take around a handoff without a gap.
    fn ack_route(&self, _notice: &Notice) -> AckRoute {
        AckRoute::default()
    }

    /// How long before the node leaves its link it wants to warn the sender;
    /// none if it predicts nothing.
    fn warning(&self) -> Option<Duration> {
        None
    }

    /// The node is about to leave its link.
    fn on_warning(&mut self) -> Signal {
        Signal::default()
    }

    /// The node has found out that it is on another link, and can send.
    fn on_attached(&mut self) -> Signal;
}

registry! {
    /// Any registered signal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    AnyHandoffSignal of HandoffSignal, listed in HANDOFF_SIGNALS:
    Silent: Silent,
    TrAcks: TrAcks,
    Freeze: Freeze,
    Ehn: EhnSignal,
    HoNotify: HoNotify,
    Nodupack: Nodupack,
    FastAck: FastAck,
    SlowAck: SlowAck,
    AckDelay: AckDelay,
    ReceiverBdp: ReceiverBdp,
    AckPacing: AckPacing,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::testing::check_knobs;

    #[test]
    fn every_signal_is_found_by_name_and_accepts_the_defaults_it_documents() {
        for info in HANDOFF_SIGNALS {
            let mut part = AnyHandoffSignal::named(info.name).unwrap_or_else(|| unreachable!());
            assert_eq!(part.info(), *info);
            check_knobs(info, |name, value| part.set_knob(name, value));
        }
    }

    #[test]
    fn a_signal_that_predicts_a_handoff_reopens_the_window() {
        for info in HANDOFF_SIGNALS {
            let mut part = AnyHandoffSignal::named(info.name).unwrap_or_else(|| unreachable!());
            let predicts = ["freeze", "ho-notify"].contains(&info.name);
            let is_warned = ["ack-delay", "ack-pacing"].contains(&info.name) || predicts;
            assert_eq!(part.warning().is_some(), is_warned, "{}", info.name);
            assert_eq!(part.on_warning().copies > 0, predicts);
            let closes = part.on_warning().window == Some(Advertised::Closed);
            let opens = part.on_attached().window == Some(Advertised::Open);
            assert_eq!((closes, opens), (predicts, predicts), "{}", info.name);
        }
    }
}
