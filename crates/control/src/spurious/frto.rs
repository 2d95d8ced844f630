//! F-RTO: forward RTO recovery. In the standard version (RFC 5682, basic and SACK-enhanced), and in
//! the version of 2003 (Sarolahti, Kojo, Raatikainen, ACM CCR 33(2)), used by Lim & Jang 2009.
//!
//! After a timeout only the first unacknowledged segment is retransmitted. The first
//! ACK of new data sends two *new* segments. If the next ACK advances too, it
//! was sent for an original transmission: the timeout was spurious. A duplicate
//! at either step means conventional recovery.
//!
//! The standard adds: no start during an earlier recovery by timeout, or during a fast recovery
//! with SACK; no decision from a first ACK that covers everything; conventional recovery when no
//! new segment can be sent; a window of three segments after a duplicate at the second step. The
//! window is not reduced while the algorithm runs (RFC 4138 appendix A shows this): what is sent is
//! set by orders.

use midflight_units::Seq;

use super::{PriorState, SpuriousDetector};
use crate::part::{choose, Knob, KnobError, Part, PartInfo};
use crate::{AckNews, Interests, Order, Orders, SenderView};

/// The response to a spurious timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Response {
    /// RFC 4015.
    Eifel,
    /// Window and threshold as before the timeout.
    Retain,
    /// Congestion avoidance from half the window (RFC 5682 section 4).
    Reduce,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Idle,
    /// Step 2 of RFC 5682.
    First(PriorState),
    /// Step 3; the number is one past the highest segment sent when the first ACK arrived.
    Second(PriorState),
}

/// State and knobs of F-RTO: the standard version, or that of 2003.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frto<const STANDARD: bool> {
    response: Response,
    /// None for the SACK-enhanced version with every recovery that uses SACK.
    sack: Option<bool>,
    step: Step,
    /// One past the highest segment sent when the first ACK after a timeout arrived; until it is
    /// acknowledged a recovery by timeout is in progress.
    recover: Seq,
    /// Blocks reported since the timeout, newest first.
    seen: [(Seq, Seq); 8],
}

impl<const STANDARD: bool> Default for Frto<STANDARD> {
    fn default() -> Self {
        Self {
            response: if STANDARD {
                Response::Eifel
            } else {
                Response::Retain
            },
            sack: None,
            step: Step::Idle,
            recover: 0,
            seen: [(0, 0); 8],
        }
    }
}

const ACCEPTED_RESPONSES: &str = "eifel, retain, reduce";
const RESPONSE_SUMMARY: &str = "after a spurious timeout: the Eifel response (RFC 4015), window and threshold as before, or half the window";

impl<const STANDARD: bool> Part for Frto<STANDARD> {
    const INFO: PartInfo = if STANDARD {
        PartInfo {
            name: "frto",
            summary: "F-RTO: detect a spurious timeout by sending new data",
            source: "RFC 5682 sections 2 and 3",
            knobs: &[
                Knob {
                    name: "frto_response",
                    default: "eifel",
                    accepts: ACCEPTED_RESPONSES,
                    summary: RESPONSE_SUMMARY,
                },
                Knob {
                    name: "frto_version",
                    default: "auto",
                    accepts: "auto, basic, sack",
                    summary: "basic or SACK-enhanced; auto: SACK-enhanced where recovery uses SACK",
                },
            ],
        }
    } else {
        PartInfo {
            name: "frto-2003",
            summary: "F-RTO without the standard's additional checks",
            source: "Sarolahti et al. 2003; Lim & Jang 2009, section 4.2",
            knobs: &[Knob {
                name: "frto_2003_response",
                default: "retain",
                accepts: ACCEPTED_RESPONSES,
                summary: RESPONSE_SUMMARY,
            }],
        }
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        if name == "frto_version" {
            let choices = [("auto", None), ("basic", Some(false)), ("sack", Some(true))];
            self.sack = choose(&Self::INFO, name, value, &choices)?;
        } else {
            let choices = [
                ("eifel", Response::Eifel),
                ("retain", Response::Retain),
                ("reduce", Response::Reduce),
            ];
            self.response = choose(&Self::INFO, name, value, &choices)?;
        }
        Ok(())
    }
}

impl<const STANDARD: bool> Frto<STANDARD> {
    fn uses_sack(&self, view: &SenderView) -> bool {
        STANDARD && view.sack && self.sack != Some(false)
    }

    /// Whether it is set to be SACK-enhanced.
    pub fn wants_sack(&self) -> bool {
        self.sack == Some(true)
    }

    /// Whether the blocks report a segment below `recover` for the first time; stores them.
    fn news_below_recover(&mut self, blocks: &[(Seq, Seq)]) -> bool {
        let mut news = false;
        for &(left, right) in blocks {
            let known = self.seen.iter().any(|s| s.0 <= left && right <= s.1);
            if !known {
                news |= left < self.recover;
                self.seen.rotate_right(1);
                self.seen[0] = (left, right);
            }
        }
        news
    }

    fn conventional(&mut self, cwnd: f64, why: &str) -> Orders {
        self.step = Step::Idle;
        Orders::none()
            .with(Order::SetCwnd(cwnd), why)
            .with(Order::GoBack, why)
    }

    fn on_first(&mut self, before: PriorState, ack: &AckNews, view: &SenderView) -> Orders {
        self.recover = view.snd_max;
        if ack.duplicate {
            if self.uses_sack(view) {
                self.news_below_recover(ack.blocks);
                return Orders::none();
            }
            return self.conventional(
                1.0,
                "a duplicate ACK after the timeout: it was genuine (2a)",
            );
        }
        if STANDARD && ack.ack >= view.snd_max {
            return self.conventional(2.0, "the first ACK covers everything: no evidence (2a)");
        }
        if !view.new_data {
            return self.conventional(2.0, "no new segment can go (2b)");
        }
        if self.uses_sack(view) {
            self.news_below_recover(ack.blocks);
        }
        self.step = Step::Second(before);
        let why = "the first ACK advances: is the next one for what was not resent? (2b)";
        let window = view.flight_size() as f64 + 2.0;
        Orders::none()
            .with(Order::SetCwnd(window), why)
            .with(Order::Probe(2), why)
    }

    fn on_second(&mut self, before: PriorState, ack: &AckNews, view: &SenderView) -> Orders {
        let genuine = if self.uses_sack(view) {
            let beyond = ack.ack > self.recover || ack.blocks.iter().any(|b| b.1 > self.recover);
            let news = self.news_below_recover(ack.blocks);
            beyond || (ack.duplicate && !news)
        } else {
            ack.duplicate
        };
        if genuine {
            let cwnd = if STANDARD { 3.0 } else { 1.0 };
            return self.conventional(cwnd, "the second ACK tells of nothing sent before (3a)");
        }
        self.step = Step::Idle;
        // Step 3b: the following segments are no recovery.
        self.recover = view.snd_una;
        let why = "two ACKs advance: what was sent before the timeout arrives (3b)";
        let mut orders = match self.response {
            Response::Eifel => before.reverse(ack.advanced, view, why),
            Response::Retain => Orders::none()
                .with(Order::SetCwnd(before.cwnd), why)
                .with(Order::SetSsthresh(before.ssthresh), why),
            Response::Reduce => Orders::none().with(Order::SetCwnd(view.ssthresh), why),
        };
        if self.response == Response::Eifel {
            before.adapt_rto(&mut orders, why);
        }
        orders.with(Order::Resume, why)
    }
}

impl<const STANDARD: bool> SpuriousDetector for Frto<STANDARD> {
    fn on_timeout(&mut self, before: &SenderView) -> Orders {
        let saved = match self.step {
            // The same segment again: the state before the first expiry is kept.
            Step::First(saved) => saved,
            Step::Idle | Step::Second(_) => {
                let in_recovery = STANDARD && before.snd_una < self.recover;
                if in_recovery || (before.in_fast_recovery && before.sack) {
                    self.step = Step::Idle;
                    self.recover = before.snd_max;
                    return Orders::none();
                }
                PriorState::of(before)
            }
        };
        self.step = Step::First(saved);
        self.seen = [(0, 0); 8];
        let why = "the timeout may be spurious: resend one segment and wait (1)";
        Orders::none()
            .with(Order::SetCwnd(saved.cwnd), why)
            .with(Order::Probe(0), why)
    }

    fn forget(&mut self) {
        self.step = Step::Idle;
    }

    fn interests(&self) -> Interests {
        Interests::RETRANSMISSIONS.when(self.step != Step::Idle)
    }

    fn on_ack(&mut self, ack: &AckNews, view: &SenderView) -> Orders {
        // Neither new nor a duplicate: RFC 5682 section 2.1 requires to wait.
        if ack.advanced == 0 && !ack.duplicate {
            return Orders::none();
        }
        match self.step {
            Step::Idle => Orders::none(),
            Step::First(before) => self.on_first(before, ack, view),
            Step::Second(before) => self.on_second(before, ack, view),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::testing::{advance, duplicate};
    use crate::policy::testing::view;

    /// A sender with segments 100 to 119 outstanding, `una` acknowledged.
    fn at(una: Seq) -> SenderView {
        SenderView {
            snd_una: una,
            ..view(20, 1000)
        }
    }

    fn started() -> Frto<true> {
        let mut frto = Frto::default();
        assert!(frto.on_timeout(&at(100)).contains(&Order::Probe(0)));
        frto
    }

    #[test]
    fn step_1_leaves_a_sack_recovery_alone_and_a_recovery_by_timeout_too() {
        let mut frto = Frto::<true>::default();
        let recovering = SenderView {
            in_fast_recovery: true,
            sack: true,
            ..at(100)
        };
        assert!(frto.on_timeout(&recovering).is_empty());
        let mut frto = started();
        let _ = frto.on_ack(&duplicate(100), &at(100));
        assert!(frto.on_timeout(&at(100)).is_empty(), "recover >= SND.UNA");
        assert!(!frto.on_timeout(&at(120)).is_empty());
    }

    #[test]
    fn step_1_again_for_the_same_segment_remembers_the_first() {
        let mut frto = started();
        let shrunk = SenderView {
            cwnd: 1.0,
            ..at(100)
        };
        assert!(frto.on_timeout(&shrunk).contains(&Order::SetCwnd(20.0)));
    }

    #[test]
    fn step_2_branches() {
        let conventional = |orders: &Orders, cwnd| {
            orders.contains(&Order::SetCwnd(cwnd)) && orders.contains(&Order::GoBack)
        };
        // (2a) a duplicate
        assert!(conventional(
            &started().on_ack(&duplicate(100), &at(100)),
            1.0
        ));
        // (2a) an ACK of everything, but not more
        assert!(conventional(
            &started().on_ack(&advance(120, 20), &at(120)),
            2.0
        ));
        // (2b) no new data
        let limited = SenderView {
            new_data: false,
            ..at(101)
        };
        assert!(conventional(
            &started().on_ack(&advance(101, 1), &limited),
            2.0
        ));
        // (2b)
        let orders = started().on_ack(&advance(101, 1), &at(101));
        assert!(orders.contains(&Order::SetCwnd(21.0)) && orders.contains(&Order::Probe(2)));
        // neither new nor a duplicate
        let old = AckNews {
            duplicate: false,
            ..duplicate(90)
        };
        assert!(started().on_ack(&old, &at(100)).is_empty());
    }

    #[test]
    fn step_3_branches() {
        let second = || {
            let mut frto = started();
            let _ = frto.on_ack(&advance(101, 1), &at(101));
            frto
        };
        let orders = second().on_ack(&duplicate(101), &at(101));
        assert!(orders.contains(&Order::SetCwnd(3.0)) && orders.contains(&Order::GoBack));
        let orders = second().on_ack(&advance(102, 1), &at(102));
        assert!(orders.contains(&Order::Resume));
        assert!(orders.contains(&Order::SetCwnd(19.0)), "FlightSize + 1");
        assert!(orders.contains(&Order::SetSsthresh(20.0)), "pipe_prev");
    }

    /// RFC 5682 section 3.1.
    #[test]
    fn the_sack_version_waits_in_step_2_and_believes_news_in_step_3() {
        let sack = |una| SenderView {
            sack: true,
            ..at(una)
        };
        let start = || {
            let mut frto = Frto::<true>::default();
            let _ = frto.on_timeout(&sack(100));
            let reported = AckNews {
                blocks: &[(102, 103)],
                ..duplicate(100)
            };
            assert!(frto.on_ack(&reported, &sack(100)).is_empty());
            assert!(!frto.on_ack(&advance(101, 1), &sack(101)).is_empty());
            frto
        };
        // (3b) a duplicate with news from before the timeout
        let news = AckNews {
            blocks: &[(104, 105)],
            ..duplicate(101)
        };
        assert!(start().on_ack(&news, &sack(101)).contains(&Order::Resume));
        // (3a) without news, and with news of segments sent later
        let nothing = AckNews {
            blocks: &[(102, 103)],
            ..duplicate(101)
        };
        assert!(start()
            .on_ack(&nothing, &sack(101))
            .contains(&Order::GoBack));
        let later = AckNews {
            blocks: &[(120, 121), (102, 103)],
            ..duplicate(101)
        };
        assert!(start().on_ack(&later, &sack(101)).contains(&Order::GoBack));
        assert!(start()
            .on_ack(&advance(121, 20), &sack(121))
            .contains(&Order::GoBack));
    }

    #[test]
    fn the_version_of_2003_keeps_the_window_or_starts_from_one() {
        let second = || {
            let mut frto = Frto::<false>::default();
            let _ = frto.on_timeout(&at(100));
            let _ = frto.on_ack(&advance(101, 1), &at(101));
            frto
        };
        let orders = second().on_ack(&advance(102, 1), &at(102));
        assert!(
            orders.contains(&Order::SetCwnd(20.0)) && orders.contains(&Order::SetSsthresh(10.0))
        );
        assert!(second()
            .on_ack(&duplicate(101), &at(101))
            .contains(&Order::SetCwnd(1.0)));
        // It may start again during a recovery by timeout.
        let mut frto = second();
        let _ = frto.on_ack(&duplicate(101), &at(101));
        assert!(!frto.on_timeout(&at(101)).is_empty());
    }
}
