//! Signals of a mobile node's TCP to its sender around a handoff.
//!
//! A signal is one file here and one line in the registry below. It belongs to
//! the receiver, so that any sender can face it: what goes out are repeats of
//! the last ACK with a window, a handoff mark or nothing special, and what the
//! sender makes of them is TCP's affair (persist mode, fast retransmit) or that
//! of a policy that uses marks.

mod ehn;
mod freeze;
mod ho_notify;
mod nodupack;
mod silent;
mod tr_acks;

use midflight_units::{Duration, Instant};

pub use ehn::EhnSignal;
pub use freeze::Freeze;
pub use ho_notify::HoNotify;
pub use nodupack::Nodupack;
pub use silent::Silent;
pub use tr_acks::TrAcks;

use crate::part::registry;

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

/// The signals of a mobile node to its sender, and their times.
pub trait HandoffSignal {
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
            let predicts = part.warning().is_some();
            let names = ["freeze", "ho-notify"];
            assert_eq!(predicts, names.contains(&info.name), "{}", info.name);
            assert_eq!(part.on_warning().copies > 0, predicts);
            let closes = part.on_warning().window == Some(Advertised::Closed);
            let opens = part.on_attached().window == Some(Advertised::Open);
            assert_eq!((closes, opens), (predicts, predicts), "{}", info.name);
        }
    }
}
