//! Handoff policies: what a sender that is told of a handoff does about it.
//!
//! A policy is one file here and one line in the registry below. The registry
//! gives it a name, a scheme of its own, its place in the command line, in the
//! generated documentation and in the property tests.
//!
//! Until its first notice a policy may watch, but it gives no orders, so that
//! without a notice every scheme behaves as the plain sender does.

mod a1;
mod a2;
mod a3;
mod a4;
mod retransmission_trigger;
mod rlci;

pub use a1::min_rto as a1_min_rto;

use crate::{Notice, Orders, SenderView};

/// A parameter of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knob {
    /// Name as written on the command line, with the policy's name in front.
    pub name: &'static str,
    /// Value when not set.
    pub default: &'static str,
    /// Values that are accepted.
    pub accepts: &'static str,
    /// What it chooses.
    pub summary: &'static str,
}

/// What a policy is called and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyInfo {
    /// Name in the registry.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Paper or RFC and the place in it.
    pub source: &'static str,
    /// Parameters.
    pub knobs: &'static [Knob],
}

/// A knob value that a policy does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{knob} = \"{value}\" is not accepted; accepted is {accepts}")]
pub struct KnobError {
    /// The knob.
    pub knob: String,
    /// The value that was read.
    pub value: String,
    /// What would be accepted.
    pub accepts: &'static str,
}

/// A policy: it sees a view of its sender at four occasions and answers with
/// orders. What it does not override does nothing.
pub trait HandoffPolicy {
    /// Name, source and knobs.
    const INFO: PolicyInfo;

    /// A notice has arrived. The orders of the policies before this one are in the view.
    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders;

    /// An ACK has been processed. Called only while [`Self::watches_acks`].
    fn on_ack(&mut self, _view: &SenderView) -> Orders {
        Orders::none()
    }

    /// The retransmission timer has expired; window and threshold are already reduced.
    fn on_timeout(&mut self, _view: &SenderView) -> Orders {
        Orders::none()
    }

    /// The sender is about to enter fast recovery; the window is not yet reduced.
    fn on_recovery(&mut self, _view: &SenderView) -> Orders {
        Orders::none()
    }

    /// Whether the policy waits for something that an ACK may bring.
    fn watches_acks(&self) -> bool {
        false
    }

    /// Sets the knob of this full name.
    ///
    /// # Errors
    /// [`KnobError`] when the value is not accepted. Names are checked before.
    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError>;
}

/// Builds the [`Policy`] enum and its static dispatch from the list of policies.
macro_rules! registry {
    ($($variant:ident: $kind:ty),+ $(,)?) => {
        /// Any registered policy.
        #[derive(Clone, Debug)]
        pub enum Policy {
            $(#[doc = concat!("See [`", stringify!($kind), "`].")] $variant($kind),)+
        }

        /// All registered policies in the order of the registry.
        pub const POLICIES: &[PolicyInfo] = &[$(<$kind as HandoffPolicy>::INFO),+];

        impl Policy {
            /// The policy of this name with default knobs.
            pub fn named(name: &str) -> Option<Self> {
                $(if name == <$kind as HandoffPolicy>::INFO.name {
                    return Some(Self::$variant(<$kind>::default()));
                })+
                None
            }

            /// Name, source and knobs.
            pub fn info(&self) -> PolicyInfo {
                match self { $(Self::$variant(_) => <$kind as HandoffPolicy>::INFO,)+ }
            }

            /// See [`HandoffPolicy::on_notice`].
            pub fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders {
                match self { $(Self::$variant(p) => p.on_notice(notice, view),)+ }
            }

            /// See [`HandoffPolicy::on_ack`].
            pub fn on_ack(&mut self, view: &SenderView) -> Orders {
                match self { $(Self::$variant(p) => p.on_ack(view),)+ }
            }

            /// See [`HandoffPolicy::on_timeout`].
            pub fn on_timeout(&mut self, view: &SenderView) -> Orders {
                match self { $(Self::$variant(p) => p.on_timeout(view),)+ }
            }

            /// See [`HandoffPolicy::on_recovery`].
            pub fn on_recovery(&mut self, view: &SenderView) -> Orders {
                match self { $(Self::$variant(p) => p.on_recovery(view),)+ }
            }

            /// See [`HandoffPolicy::watches_acks`].
            pub fn watches_acks(&self) -> bool {
                match self { $(Self::$variant(p) => p.watches_acks(),)+ }
            }

            /// See [`HandoffPolicy::set_knob`].
            ///
            /// # Errors
            /// [`KnobError`] when the value is not accepted.
            pub fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
                match self { $(Self::$variant(p) => p.set_knob(name, value),)+ }
            }
        }
    };
}

registry! {
    A1: a1::A1,
    A2: a2::A2,
    A3: a3::A3,
    A4: a4::A4,
    A5: a2::A5,
    Rlci: rlci::Rlci,
    RetransmissionTrigger: retransmission_trigger::RetransmissionTrigger,
}

/// The `accepts` text of a knob.
fn accepts(info: &PolicyInfo, knob: &str) -> &'static str {
    info.knobs
        .iter()
        .find(|k| k.name == knob)
        .map_or("nothing", |k| k.accepts)
}

/// The value among `choices` that `text` names.
fn choose<T: Copy>(
    info: &PolicyInfo,
    knob: &str,
    text: &str,
    choices: &[(&str, T)],
) -> Result<T, KnobError> {
    choices
        .iter()
        .find(|(name, _)| *name == text)
        .map(|&(_, value)| value)
        .ok_or_else(|| refuse(info, knob, text))
}

fn refuse(info: &PolicyInfo, knob: &str, text: &str) -> KnobError {
    KnobError {
        knob: knob.into(),
        value: text.into(),
        accepts: accepts(info, knob),
    }
}

/// RFC 2988 (2.1): the timeout of a connection that has no sample, which is
/// what "as for a new connection" refers to in Daniel & Kojo 2008.
const NEW_CONNECTION_RTO: midflight_units::Duration = midflight_units::Duration::from_secs(3);

#[cfg(test)]
pub(crate) mod testing {
    use midflight_units::{Duration, Instant, Rate};

    use crate::{LinkInfo, Notice, SenderView};

    pub(crate) fn link(kbps: u64, ms: u64) -> LinkInfo {
        LinkInfo {
            rate: Rate::from_bps(kbps * 1000).unwrap_or(Rate::from_mbps(1)),
            delay: Duration::from_millis(ms),
        }
    }

    pub(crate) fn notice(old: (u64, u64), new: (u64, u64)) -> Notice {
        Notice {
            old: link(old.0, old.1),
            new: link(new.0, new.1),
            flows: 1,
        }
    }

    /// A sender with `flight` segments outstanding from segment 100 on.
    pub(crate) fn view(flight: u64, rto_ms: u64) -> SenderView {
        SenderView {
            now: Instant::from_nanos(8_000_000_000),
            snd_una: 100,
            snd_nxt: 100 + flight,
            snd_max: 100 + flight,
            cwnd: flight as f64,
            ssthresh: 10.0,
            initial_window: 3.0,
            initial_ssthresh: 10_000.0,
            pipe: flight,
            in_fast_recovery: false,
            in_rto_recovery: false,
            first_timeout: None,
            rto: Duration::from_millis(rto_ms),
            min_rto: Duration::from_millis(200),
            rtt_sampled: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_found_by_name_and_accepts_the_defaults_it_documents() {
        for info in POLICIES {
            let mut policy = Policy::named(info.name).unwrap_or_else(|| unreachable!());
            assert_eq!(policy.info(), *info);
            assert!(
                !policy.watches_acks(),
                "{} waits before any notice",
                info.name
            );
            for knob in info.knobs {
                assert!(knob
                    .name
                    .starts_with(info.name.split('-').next().unwrap_or_default()));
                assert_eq!(
                    policy.set_knob(knob.name, knob.default),
                    Ok(()),
                    "{}",
                    knob.name
                );
                assert!(
                    policy.set_knob(knob.name, "no such value").is_err(),
                    "{}",
                    knob.name
                );
            }
        }
    }
}
