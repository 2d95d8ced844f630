//! A1: avoid spurious retransmission timeouts (Daniel & Kojo 2008, section
//! 5.2, figure 11).
//!
//! On a notice of more delay the minimum RTO is raised to the time that the ACK of the next segment
//! may take, so that the old link's timeout does not expire for a segment whose ACK is only late:
//!
//! 1. `RTT_old_newlink` exceeds the RTO: `RTT_old_newlink + FlightSize x SDpkt_old + 200 ms`;
//! 2. fast recovery is in progress: `RTT_newlink + FlightSize x SDpkt_old + 200 ms`;
//! 3. fast recovery starts before everything sent before the handoff is
//!    acknowledged: `RTT_newlink + pipe x SDpkt_new + 200 ms`.
//!
//! The paper's listing uses `RTT_newlink` in case 1 too, but its worked number (552 ms) needs
//! `RTT_old_newlink`; in case 3 its 2.12 s needs the pipe after three duplicate ACKs. Section 5.2
//! invokes A1 when "an increase in the link delay" is indicated; the listing also mentions a
//! decrease in bandwidth. The other readings are knobs.
//!
//! A1 only protects against growing delay. While it is active, the RTO is as long as the new round
//! trip, a full queue and 200 ms, so a genuine loss that needs a timeout is detected that much
//! later.

use midflight_units::{Duration, Instant, Seq};

use super::HandoffPolicy;
use crate::part::{choose, Knob, KnobError, Part, PartInfo};
use crate::{AckNews, Interests, Notice, Order, Orders, SenderView};

/// Allowance for the path behind the access link (section 5.2: ns-2's default minimum RTO).
const REST_OF_PATH: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Waiting for everything sent before the handoff to be acknowledged.
    Draining,
    /// Waiting for the first RTT sample of the new path.
    Sampling,
}

#[derive(Clone, Copy, Debug)]
struct Active {
    notice: Notice,
    at: Instant,
    handoff_max: Seq,
    saved_min_rto: Duration,
    stage: Stage,
}

/// State and knobs of A1.
#[derive(Clone, Copy, Debug, Default)]
pub struct A1 {
    case1_newlink: bool,
    case3_flight: bool,
    bandwidth_too: bool,
    active: Option<Active>,
}

/// The minimum RTO of A1's case 1, 2 or 3 for `segments` outstanding (for case
/// 3: the pipe). Anything else is case 2.
pub fn min_rto(case: u32, notice: &Notice, segments: u64) -> Duration {
    match case {
        1 => notice.round_trip_old_new() + notice.old.data_time() * segments + REST_OF_PATH,
        3 => notice.new.round_trip() + notice.new.data_time() * segments + REST_OF_PATH,
        _ => notice.new.round_trip() + notice.old.data_time() * segments + REST_OF_PATH,
    }
}

/// Raises the minimum RTO, never below the `floor` of the sender: the 200 ms of
/// the formula are ns-2's minimum, RFC 6298 has 1 s.
fn raise(min: Duration, floor: Duration, why: String) -> Orders {
    Orders::none()
        .with(Order::SetMinRto(min.max(floor)), why)
        .with(
            Order::RestartTimer,
            "the new minimum RTO takes effect at once",
        )
}

impl Part for A1 {
    const INFO: PartInfo = PartInfo {
        name: "a1",
        summary: "raise the minimum RTO over a handoff to more delay, so that late ACKs do not cause spurious timeouts",
        source: "Daniel & Kojo 2008, section 5.2, figure 11",
        knobs: &[
            Knob {
                name: "a1_case1_base",
                default: "oldnew",
                accepts: "oldnew, newlink",
                summary: "round trip that case 1 starts from: old link out and new link back, or new link both ways",
            },
            Knob {
                name: "a1_case3_queue",
                default: "pipe",
                accepts: "pipe, flight",
                summary: "segments that case 3 counts in the new queue",
            },
            Knob {
                name: "a1_trigger",
                default: "delay",
                accepts: "delay, delay-or-bandwidth",
                summary: "which notices A1 acts on: more delay only, or more delay or less bandwidth",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        match name {
            "a1_case1_base" => {
                self.case1_newlink = choose(
                    &Self::INFO,
                    name,
                    value,
                    &[("oldnew", false), ("newlink", true)],
                )?;
            }
            "a1_case3_queue" => {
                self.case3_flight = choose(
                    &Self::INFO,
                    name,
                    value,
                    &[("pipe", false), ("flight", true)],
                )?;
            }
            _ => {
                let choices = [("delay", false), ("delay-or-bandwidth", true)];
                self.bandwidth_too = choose(&Self::INFO, name, value, &choices)?;
            }
        }
        Ok(())
    }
}

impl HandoffPolicy for A1 {
    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders {
        // An earlier handoff gives no information about this one.
        let mut orders = Orders::none();
        let mut min_rto_before = view.min_rto;
        if let Some(earlier) = self.active.take() {
            min_rto_before = earlier.saved_min_rto;
            let why = "a later notice ends what an earlier one began";
            orders.push(Order::SetMinRto(min_rto_before), why);
            orders.push(Order::RestartTimer, why);
        }
        let triggered =
            notice.delay_increases() || (self.bandwidth_too && notice.bandwidth_decreases());
        if !triggered || view.in_rto_recovery {
            return orders;
        }
        self.active = Some(Active {
            notice: *notice,
            at: view.now,
            handoff_max: view.snd_max,
            saved_min_rto: min_rto_before,
            stage: Stage::Draining,
        });
        let flight = view.flight_size();
        let old_new = notice.round_trip_old_new();
        if view.in_fast_recovery {
            let why = format!("case 2: in fast recovery with flight {flight}");
            raise(min_rto(2, notice, flight), min_rto_before, why)
        } else if old_new > view.rto {
            let case = if self.case1_newlink { 2 } else { 1 };
            let why = format!(
                "case 1: old-new round trip {old_new} exceeds the RTO {}, flight {flight}",
                view.rto
            );
            raise(min_rto(case, notice, flight), min_rto_before, why)
        } else {
            orders
        }
    }

    fn on_recovery(&mut self, view: &SenderView) -> Orders {
        match self.active {
            Some(a) if view.snd_una < a.handoff_max && matches!(a.stage, Stage::Draining) => {
                let queue = if self.case3_flight {
                    view.flight_size()
                } else {
                    view.pipe
                };
                let why = format!("case 3: fast recovery with segments sent before the handoff outstanding, {queue} in the new queue");
                raise(min_rto(3, &a.notice, queue), a.saved_min_rto, why)
            }
            _ => Orders::none(),
        }
    }

    fn on_ack(&mut self, _ack: &AckNews, view: &SenderView) -> Orders {
        let Some(active) = &mut self.active else {
            return Orders::none();
        };
        let restore = Order::SetMinRto(active.saved_min_rto);
        match active.stage {
            Stage::Draining if view.snd_una < active.handoff_max => Orders::none(),
            Stage::Draining if active.notice.delay_increases() => {
                active.stage = Stage::Sampling;
                Orders::none().with(
                    Order::RestartRtt {
                        initial_rto: view.new_connection_rto,
                        sample_since: active.at,
                        sample_retransmitted: false,
                    },
                    "everything sent before the handoff is acknowledged",
                )
            }
            Stage::Draining => {
                self.active = None;
                Orders::none().with(
                    restore,
                    "everything sent before the handoff is acknowledged",
                )
            }
            Stage::Sampling if view.rtt_sampled => {
                self.active = None;
                Orders::none().with(restore, "first RTT sample of the new path")
            }
            Stage::Sampling => Orders::none(),
        }
    }

    fn interests(&self) -> Interests {
        Interests::ACKS.when(self.active.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::testing::duplicate;
    use crate::policy::testing::{notice, view};

    fn set_to(orders: &Orders) -> Option<Duration> {
        orders.iter().find_map(|(o, _)| match o {
            Order::SetMinRto(d) => Some(*d),
            _ => None,
        })
    }

    #[test]
    fn case_1_gives_the_papers_552_ms() {
        let mut a1 = A1::default();
        let n = notice((6400, 9), (200, 300));
        let orders = a1.on_notice(&n, &view(21, 200));
        assert_eq!(set_to(&orders), Some(Duration::from_micros(551_850)));
        assert!(orders.contains(&Order::RestartTimer));
        assert_eq!(a1.set_knob("a1_case1_base", "newlink"), Ok(()));
        let orders = a1.on_notice(&n, &view(21, 200));
        assert_eq!(set_to(&orders), Some(Duration::from_micros(900_975)));
    }

    #[test]
    fn case_2_gives_the_papers_1220_ms() {
        let mut sender = view(24, 440);
        sender.in_fast_recovery = true;
        let orders = A1::default().on_notice(&notice((800, 75), (200, 300)), &sender);
        assert_eq!(set_to(&orders), Some(Duration::from_micros(1_221_600)));
    }

    #[test]
    fn case_3_gives_the_papers_2_12_s() {
        let mut a1 = A1::default();
        let mut sender = view(24, 850);
        assert!(a1
            .on_notice(&notice((400, 150), (200, 300)), &sender)
            .is_empty());
        sender.pipe = 21;
        let orders = a1.on_recovery(&sender);
        assert_eq!(set_to(&orders), Some(Duration::from_micros(2_121_600)));
        assert_eq!(a1.set_knob("a1_case3_queue", "flight"), Ok(()));
        assert_eq!(
            set_to(&a1.on_recovery(&sender)),
            Some(Duration::from_micros(2_301_600))
        );
        sender.snd_una = sender.snd_max;
        assert!(
            a1.on_recovery(&sender).is_empty(),
            "all pre-handoff data is acknowledged"
        );
    }

    #[test]
    fn the_estimate_restarts_when_the_old_data_is_acknowledged_and_the_minimum_returns_with_the_first_sample(
    ) {
        let mut a1 = A1::default();
        let mut sender = view(21, 200);
        let _ = a1.on_notice(&notice((6400, 9), (200, 300)), &sender);
        sender.snd_una = 120;
        assert!(a1.on_ack(&duplicate(100), &sender).is_empty());
        sender.snd_una = 121;
        let orders = a1.on_ack(&duplicate(100), &sender);
        assert!(orders.contains(&Order::RestartRtt {
            initial_rto: Duration::from_secs(3),
            sample_since: sender.now,
            sample_retransmitted: false,
        }));
        assert!(
            a1.on_ack(&duplicate(100), &sender).is_empty(),
            "no sample yet"
        );
        sender.rtt_sampled = true;
        sender.min_rto = Duration::from_micros(551_850);
        let orders = a1.on_ack(&duplicate(100), &sender);
        assert!(orders.contains(&Order::SetMinRto(Duration::from_millis(200))));
        assert!(!a1.interests().includes(Interests::ACKS));
    }

    #[test]
    fn less_bandwidth_at_equal_delay_triggers_on_request_and_only_restores() {
        let n = notice((6400, 9), (200, 9));
        assert!(A1::default().on_notice(&n, &view(12, 10)).is_empty());
        let mut a1 = A1::default();
        assert_eq!(a1.set_knob("a1_trigger", "delay-or-bandwidth"), Ok(()));
        let mut sender = view(12, 10);
        assert!(!a1.on_notice(&n, &sender).is_empty());
        sender.snd_una = sender.snd_max;
        let orders = a1.on_ack(&duplicate(100), &sender);
        assert!(orders.contains(&Order::SetMinRto(Duration::from_millis(200))));
    }

    #[test]
    fn the_minimum_of_the_sender_is_never_lowered() {
        let mut sender = view(21, 200);
        sender.min_rto = Duration::from_secs(1);
        let orders = A1::default().on_notice(&notice((6400, 9), (200, 300)), &sender);
        assert_eq!(set_to(&orders), Some(Duration::from_secs(1)));
    }

    #[test]
    fn a_later_notice_ends_the_earlier_episode() {
        let mut a1 = A1::default();
        let mut sender = view(21, 200);
        let _ = a1.on_notice(&notice((6400, 9), (200, 300)), &sender);
        sender.min_rto = Duration::from_micros(551_850);
        let orders = a1.on_notice(&notice((200, 300), (6400, 9)), &sender);
        assert_eq!(set_to(&orders), Some(Duration::from_millis(200)));
        assert!(!a1.interests().includes(Interests::ACKS) && a1.on_recovery(&sender).is_empty());
    }

    #[test]
    fn nothing_is_done_in_rto_recovery_or_for_a_better_link() {
        let mut sender = view(21, 200);
        sender.in_rto_recovery = true;
        assert!(A1::default()
            .on_notice(&notice((6400, 9), (200, 300)), &sender)
            .is_empty());
        let mut a1 = A1::default();
        assert!(a1
            .on_notice(&notice((200, 300), (6400, 9)), &view(21, 200))
            .is_empty());
        assert!(!a1.interests().includes(Interests::ACKS));
    }
}
