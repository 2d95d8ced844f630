//! F-RTO as in ns-2.35 (`frto_enabled_`, `sfrto_enabled_`). Its behaviour was established from runs
//! of ns-2: tests/data/ns2/README.md, "What F-RTO does". With recovery sack1 it is equal packet for
//! packet.
//!
//! Differs from RFC 5682 where ns-2 does:
//!
//! - The window is reduced at the timeout, and the response starts from the reduced window.
//! - It starts during a recovery by timeout too, and again at every timeout.
//! - A duplicate ACK before the first advance is ignored. RFC 5682 (2a) ends the
//!   basic version there.
//! - It gives up when only one new segment may be sent (RFC 5682 (2b): when none may).
//! - A duplicate after the first advance does not end the basic version (3a): it
//!   waits for an advance, which then means that the timeout was spurious. So each
//!   segment that a break has lost needs a timeout, backed off up to a minute: a transfer may take hours.
//! - Any second advance counts as spurious, even if it covers new data or retransmissions. In RFC
//!   5682 the SACK-enhanced version checks that (3.1, 3a).
//! - The SACK-enhanced version's check for new data is off by one at both ends, and after a genuine
//!   timeout the window is two segments, not three.
//! - The response is one of ns-2's own three instead of RFC 4015; no estimate is adapted.

use midflight_units::Seq;

use super::SpuriousDetector;
use crate::part::{choose, Knob, KnobError, Part, PartInfo};
use crate::{AckNews, Interests, Order, Orders, SenderView};

/// `spurious_response_`: the window after a spurious timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Response {
    /// 1: the data outstanding before the ACK, and one segment.
    Outstanding,
    /// 2: the threshold after the timeout.
    Reduced,
    /// 3: one segment.
    One,
}

/// The sender's state when the timer expired.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Expiry {
    /// The threshold to restore: at least the window.
    ssthresh: f64,
    /// One past the highest segment sent.
    recover: Seq,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Idle,
    /// The timer has expired.
    First(Expiry),
    /// One ACK has advanced, from this segment.
    Second(Expiry, Seq),
}

/// State and knobs of ns-2's F-RTO.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrtoNs2 {
    response: Response,
    sack: bool,
    step: Step,
}

impl Default for FrtoNs2 {
    fn default() -> Self {
        Self {
            response: Response::Outstanding,
            sack: false,
            step: Step::Idle,
        }
    }
}

impl Part for FrtoNs2 {
    const INFO: PartInfo = PartInfo {
        name: "frto-ns2",
        summary: "F-RTO as in ns-2, where each segment that a break loses waits for a timeout of its own",
        source: "ns-2.35, frto_enabled_ and sfrto_enabled_",
        knobs: &[
            Knob {
                name: "frto_ns2_version",
                default: "basic",
                accepts: "basic, sack",
                summary: "ns-2's frto_enabled_, or sfrto_enabled_, which uses SACK blocks",
            },
            Knob {
                name: "frto_ns2_response",
                default: "outstanding",
                accepts: "outstanding, reduced, one",
                summary: "window after a spurious timeout (spurious_response_ 1, 2, 3): the outstanding segments, half the window before it, or one segment",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        if name == "frto_ns2_version" {
            let choices = [("basic", false), ("sack", true)];
            self.sack = choose(&Self::INFO, name, value, &choices)?;
        } else {
            let choices = [
                ("outstanding", Response::Outstanding),
                ("reduced", Response::Reduced),
                ("one", Response::One),
            ];
            self.response = choose(&Self::INFO, name, value, &choices)?;
        }
        Ok(())
    }
}

impl FrtoNs2 {
    /// Whether it is set to use SACK blocks.
    pub fn wants_sack(&self) -> bool {
        self.sack
    }

    fn on_first(&mut self, expiry: Expiry, ack: &AckNews, view: &SenderView) -> Orders {
        if ack.advanced == 0 {
            return Orders::none();
        }
        let two_may_go = view.new_data && view.snd_max + 1 < view.snd_una + view.receiver_window;
        if !two_may_go || view.snd_una == expiry.recover {
            self.step = Step::Idle;
            return Orders::none();
        }
        self.step = Step::Second(expiry, view.snd_una - ack.advanced);
        let why = "the first ACK advances: is the next one for what was not resent?";
        Orders::none().with(Order::Probe(2), why)
    }

    fn on_second(&mut self, expiry: Expiry, from: Seq, ack: &AckNews, view: &SenderView) -> Orders {
        if ack.advanced > 0 {
            let from = view.snd_una - ack.advanced;
            let why = "two ACKs advance: what was sent before the timeout arrives";
            return self.spurious(expiry, from, view, Order::Resume, why);
        }
        if !self.sack {
            return Self::limited_transmit(view);
        }
        // It is the first duplicate since the advance; if it had carried new information, it would
        // have been counted.
        if view.dupacks > 0 && !reports_new(ack.blocks, expiry.recover, view.snd_max) {
            let why = "a duplicate ACK tells of what was sent before the timeout";
            return self.spurious(expiry, from, view, Order::ResumeCounting, why);
        }
        self.step = Step::Idle;
        let why = "a duplicate ACK tells of nothing sent before the timeout";
        Orders::none()
            .with(Order::SetCwnd(2.0), why)
            .with(Order::GoBack, why)
    }

    /// RFC 3042 as the recovery would do it, which cannot send during a probe.
    fn limited_transmit(view: &SenderView) -> Orders {
        let early = view.limited_transmit && view.dupacks < view.dup_threshold;
        let edge = (view.snd_una - 1) as f64 + view.cwnd + f64::from(view.dupacks);
        if view.dupacks > 0 && early && view.snd_nxt as f64 <= edge {
            Orders::none().with(Order::Probe(1), "the window has room for one more segment")
        } else {
            Orders::none()
        }
    }

    /// `from` is SND.UNA before the last ACK that counts.
    fn spurious(
        &mut self,
        expiry: Expiry,
        from: Seq,
        view: &SenderView,
        resume: Order,
        why: &str,
    ) -> Orders {
        self.step = Step::Idle;
        let cwnd = match self.response {
            // ns-2 subtracts the last segment acknowledged from the next to send.
            Response::Outstanding => (view.snd_nxt - from + 1) as f64,
            Response::Reduced => view.ssthresh,
            Response::One => 1.0,
        };
        Orders::none()
            .with(Order::SetCwnd(cwnd), why)
            .with(Order::SetSsthresh(expiry.ssthresh), why)
            .with(resume, why)
    }
}

/// Whether a block contains a segment sent after the timeout, by ns-2's test: between the last
/// segment sent before it (included) and the last one sent (excluded), with a block's right edge as
/// its last segment.
fn reports_new(blocks: &[(Seq, Seq)], recover: Seq, snd_max: Seq) -> bool {
    let (low, high) = (recover - 1, snd_max - 1);
    blocks.iter().any(|&(left, right)| {
        let ends_within = low < right && right <= high;
        let starts_within = low <= left && left < high;
        ends_within || starts_within || (left < low && high < right)
    })
}

impl SpuriousDetector for FrtoNs2 {
    fn on_timeout(&mut self, before: &SenderView) -> Orders {
        self.step = if before.in_fast_recovery {
            Step::Idle
        } else {
            let window = (before.cwnd as u64).min(before.receiver_window);
            Step::First(Expiry {
                ssthresh: before.ssthresh.max(window as f64),
                recover: before.snd_max,
            })
        };
        Orders::none()
    }

    /// ns-2's Reno and NewReno respond to duplicates of the first data segment even before anything
    /// is acknowledged after a timeout: then a recovery is in progress, and ACKs belong to that.
    fn on_fast_retransmit(&mut self, _before: &SenderView) {
        self.step = Step::Idle;
    }

    fn forget(&mut self) {
        self.step = Step::Idle;
    }

    fn interests(&self) -> Interests {
        Interests::RETRANSMISSIONS.when(self.step != Step::Idle)
    }

    fn on_ack(&mut self, ack: &AckNews, view: &SenderView) -> Orders {
        if ack.advanced == 0 && !ack.duplicate {
            return Orders::none();
        }
        match self.step {
            Step::Idle => Orders::none(),
            Step::First(expiry) => self.on_first(expiry, ack, view),
            Step::Second(expiry, from) => self.on_second(expiry, from, ack, view),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::testing::{advance, duplicate};
    use crate::policy::testing::view;

    /// A sender that has sent segments 100 to 119, with `una` the first unacknowledged.
    fn at(una: Seq) -> SenderView {
        SenderView {
            snd_una: una,
            cwnd: 2.0,
            ..view(20, 1000)
        }
    }

    /// The same with two new segments.
    fn probed(una: Seq) -> SenderView {
        SenderView {
            snd_nxt: 122,
            snd_max: 122,
            ..at(una)
        }
    }

    fn in_second(sack: bool) -> FrtoNs2 {
        let mut frto = FrtoNs2 {
            sack,
            ..FrtoNs2::default()
        };
        assert!(frto.on_timeout(&view(20, 1000)).is_empty());
        assert!(frto.on_ack(&duplicate(100), &at(100)).is_empty(), "ignored");
        let orders = frto.on_ack(&advance(102, 2), &at(102));
        assert!(orders.contains(&Order::Probe(2)));
        frto
    }

    #[test]
    fn a_second_advance_restores_the_threshold() {
        for (response, cwnd) in [("outstanding", 21.0), ("reduced", 10.0), ("one", 1.0)] {
            let mut frto = in_second(false);
            assert_eq!(frto.set_knob("frto_ns2_response", response), Ok(()));
            let orders = frto.on_ack(&advance(104, 2), &probed(104));
            assert!(orders.contains(&Order::SetCwnd(cwnd)), "{orders:?}");
            assert!(orders.contains(&Order::SetSsthresh(20.0)), "the window");
            assert!(
                orders.contains(&Order::Resume)
                    && !frto.interests().includes(Interests::RETRANSMISSIONS)
            );
        }
    }

    #[test]
    fn it_gives_up_with_one_new_segment_or_nothing_outstanding_and_in_fast_recovery() {
        let narrow = SenderView {
            receiver_window: 20,
            ..at(101)
        };
        for (ack, view) in [(advance(101, 1), narrow), (advance(120, 20), at(120))] {
            let mut frto = FrtoNs2::default();
            let _ = frto.on_timeout(&at(100));
            assert!(
                frto.on_ack(&ack, &view).is_empty()
                    && !frto.interests().includes(Interests::RETRANSMISSIONS)
            );
        }
        let recovering = SenderView {
            in_fast_recovery: true,
            ..at(100)
        };
        let mut frto = in_second(false);
        let _ = frto.on_timeout(&recovering);
        assert!(!frto.interests().includes(Interests::RETRANSMISSIONS));
    }

    #[test]
    fn the_basic_version_waits_out_duplicates() {
        let mut frto = in_second(false);
        let counted = |dupacks, una| SenderView {
            dupacks,
            ..probed(una)
        };
        assert!(frto.on_ack(&duplicate(102), &counted(2, 102)).is_empty());
        assert!(frto.interests().includes(Interests::RETRANSMISSIONS));
        // All but one arrived before: limited transmit has room.
        let orders = frto.on_ack(&duplicate(119), &counted(2, 119));
        assert!(orders.contains(&Order::Probe(1)));
        let orders = frto.on_ack(&advance(122, 3), &probed(122));
        assert!(orders.contains(&Order::Resume));
    }

    #[test]
    fn the_sack_version_looks_at_the_first_duplicate() {
        for (block, spurious) in [
            ((110, 112), true),
            ((110, 120), false),
            ((119, 120), false),
            ((120, 121), false),
            ((121, 122), true),
        ] {
            let mut frto = in_second(true);
            let counted = SenderView {
                dupacks: 1,
                ..probed(102)
            };
            let blocks = [block];
            let reported = AckNews {
                blocks: &blocks,
                ..duplicate(102)
            };
            let orders = frto.on_ack(&reported, &counted);
            assert_eq!(
                orders.contains(&Order::ResumeCounting),
                spurious,
                "{block:?}"
            );
            let cwnd = if spurious { 23.0 } else { 2.0 };
            assert!(orders.contains(&Order::SetCwnd(cwnd)), "{block:?}");
            assert!(!frto.interests().includes(Interests::RETRANSMISSIONS));
        }
        let orders = in_second(true).on_ack(&duplicate(102), &probed(102));
        assert!(orders.contains(&Order::GoBack), "nothing was told");
    }
}
