//! Signals of a mobile node's TCP to its sender around a handoff.
//!
//! A signal is one file here and one line in the registry below. It belongs to the receiver, so it works with
//! any sender: it sends repeats of the last ACK with a window, a handoff mark or nothing special. The
//! sender's reaction is that of TCP (persist mode, fast retransmit) or of a policy that uses marks. A signal
//! may also change the ACKs of the receiver for some time: when each of them is sent, in how many parts, with
//! which window, and over which link.

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

/// Repeats of the last ACK, and changes to later ACKs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    /// How many.
    pub copies: u8,
    /// From now on every ACK advertises a zero window, has a notice to wait, or advertises the whole window again.
    pub window: Option<Advertised>,
    /// They carry the handoff mark.
    pub marked: bool,
    /// During this time segments above a gap are not acknowledged.
    pub quiet: Option<Duration>,
}

/// The window that a receiver advertises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advertised {
    /// A zero window.
    Closed,
    /// An option that tells the sender to wait.
    Standby,
    /// Its whole window.
    Open,
}

/// The handoff mark of an ACK (Izumikawa, Yamaguchi & Katto, section 3: a bit
/// of the TCP header, or an option).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoffMark {
    /// Number of the handoff, from 1; repeats of a mark have the same number.
    pub number: u32,
    /// When the mobile node sent it, as in a timestamp option between synchronised clocks.
    pub sent: Instant,
}

/// The window that ends what a signal has advertised: the sender uses its setting again.
pub const WHOLE_WINDOW: NonZeroU32 = NonZeroU32::MAX;

/// The timestamp of an ACK of a receiver without timestamps of its own, in milliseconds; never 0, which means none.
pub fn stamp_at(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32 | 1
}

/// A segment that has reached the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The current time.
    pub now: Instant,
    /// Its size on the wire in bytes.
    pub bytes: u32,
    /// All of its data had arrived before.
    pub again: bool,
    /// The receiver's timestamp that it echoes, in milliseconds; 0 for none.
    pub echo_ms: u32,
}

/// An ACK that the receiver is about to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnAck {
    /// The current time.
    pub now: Instant,
    /// It acknowledges new data.
    pub advances: bool,
    /// Its timestamp in milliseconds of the receiver's clock; 0 for none.
    pub stamp_ms: u32,
}

/// The changes to an ACK. By default it is sent at once and unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reshaped {
    /// When it is sent. ACKs do not overtake each other.
    pub at: Instant,
    /// The number of ACKs into which it is split, each acknowledging an equal part.
    pub parts: u8,
    /// How many times it is repeated.
    pub copies: u8,
    /// The largest window that it advertises, in bytes, or [`WHOLE_WINDOW`].
    pub window: Option<NonZeroU32>,
    /// Its timestamp in milliseconds, unless the receiver uses timestamps itself.
    pub stamp_ms: u32,
}

impl OwnAck {
    /// The ACK sent at once and unchanged.
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

/// How long ACKs take another link than the data, around a handoff without a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckRoute {
    /// ACKs take the new link this long before the data does.
    pub early: Duration,
    /// ACKs take the old link this long after the handoff.
    pub late: Duration,
}

/// The signals of a mobile node to its sender, and their times.
pub trait HandoffSignal {
    /// The node has the link data of a handoff, either a predicted or a completed one; `segment_bytes` is the size of the
    /// sender's full packets on the wire. Called before [`Self::on_warning`] and [`Self::on_attached`].
    fn on_links(&mut self, _now: Instant, _notice: &Notice, _segment_bytes: u32, _is_over: bool) {}

    /// A description of what it does from now on, after [`Self::on_links`]; none if its ACKs show that.
    fn explain(&self, _notice: &Notice, _is_over: bool) -> Option<String> {
        None
    }

    /// Whether it currently needs a call for each segment and ACK.
    fn reshapes(&self) -> bool {
        false
    }

    /// A segment has arrived; its ACK is not built yet.
    fn on_received(&mut self, _segment: &Received) {}

    /// An ACK is about to be sent.
    fn on_ack(&mut self, ack: &OwnAck) -> Reshaped {
        ack.unchanged()
    }

    /// Which link ACKs take around a handoff without a gap.
    fn ack_route(&self, _notice: &Notice) -> AckRoute {
        AckRoute::default()
    }

    /// How long before the node leaves its link the signal needs its warning; none if it predicts nothing.
    fn warning(&self) -> Option<Duration> {
        None
    }

    /// The node is about to leave its link.
    fn on_warning(&mut self) -> Signal {
        Signal::default()
    }

    /// The node has detected that it is on another link, and can send.
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
            let closes = matches!(
                part.on_warning().window,
                Some(Advertised::Closed | Advertised::Standby)
            );
            let opens = part.on_attached().window == Some(Advertised::Open);
            assert_eq!((closes, opens), (predicts, predicts), "{}", info.name);
        }
    }
}
