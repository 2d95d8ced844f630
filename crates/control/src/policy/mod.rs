//! Handoff policies: how a sender reacts to a notice of a handoff.
//!
//! A policy is one file here and one line in the registry below. The registry gives it a name, its own scheme, and its
//! place on the command line, in the generated documentation and in the property tests.
//!
//! Before its first notice a policy may observe, but it gives no orders, so without a notice every scheme behaves like
//! the plain sender.

mod a1;
mod a2;
mod a3;
mod a4;
mod abest;
mod bandwidth_aware;
mod careful_resume;
mod cwnd_restore;
mod ehn;
mod foreign;
mod handoff_option;
mod immediate_expiry;
mod initial_ssthresh;
mod iw10;
mod lmdr;
mod pair;
mod probe_gap;
mod probe_train;
mod quick_start;
mod rapid;
mod reinitialise;
mod reordering;
mod retransmission_trigger;
mod rlci;
mod rto_reset;
mod stages;
mod tcp_ho;
mod va_tcp;
mod wbest;

pub use a1::min_rto as a1_min_rto;
pub use foreign::{Foreign, ForeignPolicy};

use midflight_units::Duration;

use crate::estimate::Estimate;
use crate::part::registry;
use crate::quick_start::{Denial, RateCode, Routers};
use crate::spurious::Unneeded;
use crate::{AckNews, Advice, Interests, Notice, Orders, SenderView, StartNotice};

/// The receiver's report of a train, as a policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainReport {
    /// The receiver's estimate.
    pub estimate: Estimate,
    /// The time from the departure of the train's last segment to the arrival of its report, which the receiver does
    /// not delay: as measured with a timestamp. Only known for the current train.
    pub rtt: Option<Duration>,
}

/// The response to a rate request, as a policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateAnswer {
    /// The rate that every router of the path has approved, which is not zero.
    pub approved: Result<RateCode, Denial>,
    /// The time from sending the request to the response.
    pub round_trip: Duration,
}

/// A policy: it gets a view of its sender at eleven events and returns orders. Methods that are not
/// overridden do nothing.
pub trait HandoffPolicy {
    /// A notice has arrived. The orders of the policies before this one are in the view.
    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders;

    /// The connection is about to open, with a notice of its access link.
    /// Called only if it is interested in [`Interests::START`].
    fn on_start(&mut self, _notice: &StartNotice, _view: &SenderView) -> Orders {
        Orders::none()
    }

    /// Throughput advice has arrived, without a notice. It is the lowest of the valid advice on this path. Called only
    /// if it is interested in [`Interests::ADVICE`].
    fn on_advice(&mut self, _advice: &Advice, _view: &SenderView) -> Orders {
        Orders::none()
    }

    /// An ACK has been processed. Called only while it is interested in [`Interests::ACKS`].
    fn on_ack(&mut self, _ack: &AckNews, _view: &SenderView) -> Orders {
        Orders::none()
    }

    /// The retransmission timer has expired; window and threshold are already reduced. `before` is the state before
    /// that.
    fn on_timeout(&mut self, _before: &SenderView, _view: &SenderView) -> Orders {
        Orders::none()
    }

    /// The sender is about to enter fast recovery; the window is not yet reduced.
    fn on_recovery(&mut self, _view: &SenderView) -> Orders {
        Orders::none()
    }

    /// An ACK with a handoff mark has been processed; it is neither old nor
    /// beyond what was sent. Called only if it is interested in [`Interests::MARKS`].
    fn on_mark(&mut self, _ack: &AckNews, _view: &SenderView) -> Orders {
        Orders::none()
    }

    /// An ACK with the receiver's report of a train has been processed. If the current train waited for the report,
    /// this ends it.
    fn on_estimate(&mut self, _report: &TrainReport, _view: &SenderView) -> Orders {
        Orders::none()
    }

    /// A train that requests the next one is over, including its last gap ([`crate::Then::NextAfter`]).
    fn on_train_over(&mut self, _view: &SenderView) -> Orders {
        Orders::none()
    }

    /// DSACKs have shown that every retransmission of the last recovery was unneeded. Called when that is known and
    /// again after a notice, until a policy responds. Called only if it is interested in [`Interests::UNNEEDED`].
    fn on_unneeded(&mut self, _what: &Unneeded, _view: &SenderView) -> Orders {
        Orders::none()
    }

    /// How the routers of the path handle requests, if the policy requests rates.
    fn routers(&self) -> Option<Routers> {
        None
    }

    /// The response to a rate request has arrived, or the request failed.
    fn on_rate(&mut self, _answer: &RateAnswer, _view: &SenderView) -> Orders {
        Orders::none()
    }

    /// The events for which it is called. It is interested in [`Interests::ACKS`] while it waits for something that an
    /// ACK may carry. The others do not change. If a policy is interested in [`Interests::MARKS`], an ACK whose mark
    /// repeats the last one does not count as a duplicate. It is interested in [`Interests::UNNEEDED`] from the start
    /// of the connection: the recovery that a handoff causes may be over before the notice arrives.
    fn interests(&self) -> Interests {
        Interests::NOTHING
    }
}

/// Whether the ACK has a mark with another number than `last`, which is then updated.
fn is_first(last: &mut u32, ack: &AckNews) -> bool {
    let number = ack.mark.map(|mark| mark.number);
    let is_first = number.is_some_and(|number| number > *last);
    if is_first {
        *last = number.unwrap_or(*last);
    }
    is_first
}

registry! {
    /// Any registered policy, or a foreign one.
    #[derive(Clone, Debug)]
    Policy of HandoffPolicy, listed in POLICIES:
    A1: a1::A1,
    A2: a2::A2,
    A3: a3::A3,
    A4: a4::A4,
    A5: a2::A5,
    Rlci: rlci::Rlci,
    RetransmissionTrigger: retransmission_trigger::RetransmissionTrigger,
    Ehn: ehn::Ehn,
    Abest: abest::Abest,
    CarefulResume: careful_resume::CarefulResume,
    InitialSsthresh: initial_ssthresh::InitialSsthresh,
    Iw10: iw10::Iw10,
    ProbeTrain: probe_train::ProbeTrain,
    ProbeGap: stages::TwoTrains<probe_gap::PairsThenProbes>,
    Wbest: stages::TwoTrains<wbest::PairsThenTrain>,
    QuickStart: quick_start::QuickStart,
    ExpectReordering: reordering::ExpectReordering,
    Rapid: rapid::Rapid,
    RtoReset: rto_reset::RtoReset,
    Reinitialise: reinitialise::Reinitialise,
    HandoffOption: handoff_option::HandoffOption,
    ImmediateExpiry: immediate_expiry::ImmediateExpiry,
    BandwidthAware: bandwidth_aware::BandwidthAware,
    VaTcp: va_tcp::VaTcp,
    Lmdr: lmdr::Lmdr,
    CwndRestore: cwnd_restore::CwndRestore,
    TcpHo: tcp_ho::TcpHo,
    ; beside Foreign: foreign::Foreign
}

#[cfg(test)]
pub(crate) mod testing {
    use midflight_units::{Duration, Instant, Rate};

    use super::TrainReport;
    use crate::ack::testing::duplicate;
    use crate::estimate::Estimate;
    use crate::signal::HandoffMark;
    use crate::{AckNews, LinkInfo, Notice, SenderView};

    /// An ACK with a mark of this number, sent at the start.
    pub(crate) fn marked(number: u32) -> AckNews<'static> {
        let sent = Instant::ZERO;
        AckNews {
            mark: Some(HandoffMark { number, sent }),
            ..duplicate(100)
        }
    }

    /// The receiver's report of a train.
    pub(crate) fn report(train: u16, kbps: Option<u64>, rtt_ms: Option<u64>) -> TrainReport {
        let rate = kbps.and_then(|kbps| Rate::from_bps(kbps * 1000));
        TrainReport {
            estimate: Estimate { train, rate },
            rtt: rtt_ms.map(Duration::from_millis),
        }
    }

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
            una_sent: Some(Instant::from_nanos(7_900_000_000)),
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
            new_connection_rto: Duration::from_secs(3),
            srtt: Some(Duration::from_millis(100)),
            rttvar: Some(Duration::from_millis(10)),
            rtt_sampled: false,
            bandwidth: None,
            dupacks: 0,
            limited_sent: 0,
            new_data: true,
            unsent: u64::MAX,
            train: None,
            may_train: true,
            may_pace: true,
            paced_until: None,
            rate: None,
            window_limited: true,
            segment_bytes: 1500,
            receiver_window: 10_000,
            sack: false,
            dup_threshold: 3,
            reordering: None,
            limited_transmit: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::testing::check_knobs;

    #[test]
    fn every_policy_is_found_by_name_and_accepts_the_defaults_it_documents() {
        for info in POLICIES {
            let mut policy = Policy::named(info.name).unwrap_or_else(|| unreachable!());
            assert_eq!(policy.info(), *info);
            assert!(
                !policy.interests().includes(Interests::ACKS),
                "{} waits before any notice",
                info.name
            );
            check_knobs(info, |name, value| policy.set_knob(name, value));
        }
    }
}
