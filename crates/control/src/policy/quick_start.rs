//! Quick-Start (RFC 4782) at the start of a connection and after a handoff
//! (Sarolahti, Korhonen, Daniel & Kojo 2006; the "QS" of Daniel & Kojo, report on
//! available bandwidth, section 4).
//!
//! After a notice of a link the sender requests a rate from the routers of the path. If all approve,
//! it sends a window for one round trip at that rate, paced (section 4.4). When the first of these
//! segments is acknowledged the window becomes the part that was used. If one of them is lost, the
//! window is set to its value without Quick-Start and there are no more requests (sections 4.6 and
//! 4.8).
//!
//! After a notice of a handoff or of the end of an outage, the first segment carries the request.
//! After an outage that is a retransmission; the RFC forbids only a second request with a
//! retransmitted SYN (section 4.7.2). If the response arrives during retransmission after a timeout,
//! the retransmissions are paced, and new segments after them.
//!
//! The RFC advises against requests after a handoff "at the current time", because there is no
//! notice of it; here there is one. The threshold is set to the approved window, which section 4.4
//! allows at the start and the paper of 2006 also does after a handoff; so slow start ends there,
//! and Limited Slow-Start (RFC 3742), which the RFC requires, would have no effect. It is also
//! missing with the knob that does not change the threshold. The timeout of a SYN with a request is
//! that of any SYN, while section 4.7.2 advises 3 s.

use std::fmt;

use midflight_units::{Duration, Instant, Rate, Seq};

use super::{HandoffPolicy, RateAnswer};
use crate::part::{choose, refuse, whole, Knob, KnobError, Part, PartInfo};
use crate::quick_start::{window, Denial, RateCode, Routers};
use crate::{
    AckNews, Interests, LinkInfo, Notice, Order, Orders, SenderView, Spacing, StartNotice, Then,
    Train,
};

/// Smallest threshold, in segments (RFC 5681 (4)).
const LEAST: f64 = 2.0;

/// Maximum time between the approval of a rate and its use (RFC 4782 section 4.4).
const LONGEST_WAIT: Duration = Duration::from_secs(3);

/// A rate that the path has approved.
#[derive(Clone, Copy, Debug)]
struct Grant {
    rate: Rate,
    round_trip: Duration,
    /// When it expires.
    until: Instant,
}

/// Why an approved rate is not used, or not yet.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Unused {
    /// It was approved too long ago.
    Expired,
    /// It waits for this.
    Waits(&'static str),
    /// Its window, in segments, is not above this.
    Small(u64, String),
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired => write!(f, "it is not used: it is too old"),
            Self::Waits(what) => write!(
                f,
                "it is not used before {what}, and not at all after a round trip"
            ),
            Self::Small(segments, than) => write!(
                f,
                "it is not used: its window of {segments} is not above {than}"
            ),
        }
    }
}

/// A window sent at an approved rate.
#[derive(Clone, Copy, Debug)]
struct Used {
    /// Its first segment.
    first: Seq,
    /// SND.UNA when it began.
    una: Seq,
    /// One past the last segment, once the first is acknowledged.
    end: Option<Seq>,
    window: f64,
    /// The window without Quick-Start.
    before: f64,
    at_start: bool,
}

/// Knobs and state of Quick-Start.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuickStart {
    ask_for_most: bool,
    keep_ssthresh: bool,
    /// The approved window is used for new segments only.
    new_only: bool,
    routers: Routers,
    grant: Option<Grant>,
    used: Option<Used>,
    /// Windows sent so far.
    trains: u16,
    /// Whether the last request was made before the connection opened.
    opening: bool,
    /// No more requests (RFC 4782 sections 4.4 and 4.6).
    barred: bool,
}

impl Part for QuickStart {
    const INFO: PartInfo = PartInfo {
        name: "quick-start",
        summary:
            "at the start and after a handoff, request a rate from the routers and pace a window at it",
        source: "RFC 4782; Sarolahti, Korhonen, Daniel & Kojo 2006",
        knobs: &[
            Knob {
                name: "quick_start_request",
                default: "link",
                accepts: "link, most",
                summary: "request the rate of the access link, or the highest possible one",
            },
            Knob {
                name: "quick_start_ssthresh",
                default: "window",
                accepts: "window, keep",
                summary: "set ssthresh to the approved window, or do not change it: slow start then continues above the window, without the limit of RFC 3742",
            },
            Knob {
                name: "quick_start_resend",
                default: "paced",
                accepts: "paced, wait",
                summary: "an approved rate that arrives during retransmission after a timeout also paces the retransmissions, or waits for their end, at most a round trip",
            },
            Knob {
                name: "quick_start_routers",
                default: "all",
                accepts: "all, none",
                summary: "which routers of the path take part",
            },
            Knob {
                name: "quick_start_threshold",
                default: "85%",
                accepts: "a whole percentage from 1% to 100%",
                summary:
                    "share of a link's rate up to which its router approves requests, including the used rate",
            },
            Knob {
                name: "quick_start_booking",
                default: "encoded",
                accepts: "encoded, unrounded",
                summary: "what a router reserves for a request: the rate it has approved (RFC 4782), or the available rate before rounding to the encoding (ns-2)",
            },
            Knob {
                name: "quick_start_interval",
                default: "200ms",
                accepts: "a time above zero",
                summary:
                    "interval over which a router measures the use of its link and counts its approvals",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let info = &Self::INFO;
        let routers = &mut self.routers;
        match name {
            "quick_start_request" => {
                self.ask_for_most = choose(info, name, value, &[("link", false), ("most", true)])?;
            }
            "quick_start_ssthresh" => {
                let choices = [("window", false), ("keep", true)];
                self.keep_ssthresh = choose(info, name, value, &choices)?;
            }
            "quick_start_resend" => {
                self.new_only = choose(info, name, value, &[("paced", false), ("wait", true)])?;
            }
            "quick_start_routers" => {
                routers.take_part = choose(info, name, value, &[("all", true), ("none", false)])?;
            }
            "quick_start_threshold" => {
                let percent = value.strip_suffix('%').unwrap_or_default();
                let percent = whole(info, name, percent, 1..=100);
                let percent = percent.map_err(|_| refuse(info, name, value))?;
                routers.threshold = f64::from(percent) / 100.0;
            }
            "quick_start_booking" => {
                let choices = [("encoded", false), ("unrounded", true)];
                routers.book_unrounded = choose(info, name, value, &choices)?;
            }
            _ => {
                let interval = value.parse().ok().filter(|&time| time > Duration::ZERO);
                routers.interval = interval.ok_or_else(|| refuse(info, name, value))?;
            }
        }
        Ok(())
    }
}

impl QuickStart {
    fn ask(&mut self, mut orders: Orders, link: &LinkInfo, opening: bool) -> Orders {
        self.grant = None;
        self.opening = opening;
        if self.barred {
            return orders;
        }
        let rate = if self.ask_for_most {
            RateCode::MOST
        } else {
            RateCode::at_least(link.rate)
        };
        let why = format!("the access link gives {}", link.rate);
        orders.push(Order::AskForRate(rate), why);
        orders
    }

    /// Whether an approved window can be paced: not in a fast recovery, nor while duplicate ACKs may
    /// indicate a loss. After a timeout retransmissions are paced first, unless set otherwise: an
    /// approved rate applies to the present path. It must be used within a round trip, or not at all,
    /// and is ignored unless it is larger than the window (RFC 4782 section 4.4).
    fn usable(&self, grant: &Grant, view: &SenderView) -> Result<u64, Unused> {
        if view.now > grant.until {
            return Err(Unused::Expired);
        }
        if !view.may_pace {
            return Err(Unused::Waits("the end of the fast recovery"));
        }
        if view.dupacks > 0 {
            return Err(Unused::Waits("the end of the duplicate ACKs"));
        }
        if self.new_only && (view.in_rto_recovery || view.snd_nxt < view.snd_max) {
            return Err(Unused::Waits("the end of the retransmissions"));
        }
        let segments = window(grant.rate, grant.round_trip, view.segment_bytes);
        // After a timeout, segments sent before it and not retransmitted are not in flight.
        let flight = view.snd_nxt - view.snd_una;
        if segments as f64 <= view.cwnd {
            return Err(Unused::Small(segments, format!("cwnd {:.1}", view.cwnd)));
        }
        if segments <= flight {
            return Err(Unused::Small(segments, format!("the flight of {flight}")));
        }
        Ok(segments)
    }

    /// Uses the approved window as soon as it can be paced.
    fn use_grant(&mut self, mut orders: Orders, view: &SenderView) -> Orders {
        let Some(grant) = self.grant else {
            return orders;
        };
        let segments = match self.usable(&grant, view) {
            Ok(segments) => segments,
            Err(why) => {
                if !matches!(why, Unused::Waits(_)) {
                    self.grant = None;
                }
                return orders;
            }
        };
        self.grant = None;
        let Grant {
            rate, round_trip, ..
        } = grant;
        let flight = view.snd_nxt - view.snd_una;
        let why = format!("{rate} for {round_trip}");
        orders.push(Order::SetCwnd(segments as f64), why);
        if !self.keep_ssthresh {
            let why = "what the path has approved is what it holds";
            orders.push(Order::SetSsthresh(segments as f64), why);
        }
        self.trains = self.trains.wrapping_add(1);
        let train = Train {
            number: self.trains,
            segments: u16::try_from(segments - flight).unwrap_or(u16::MAX),
            spacing: Spacing::Even(rate.transmission_time(view.segment_bytes.into())),
            then: Then::GoOn,
        };
        orders.push(Order::SendTrain(train), "at the approved rate");
        self.used = Some(Used {
            first: view.snd_nxt,
            una: view.snd_una,
            end: None,
            window: segments as f64,
            before: view.cwnd,
            at_start: self.opening,
        });
        orders
    }

    /// The paced window is over: its unsent rest is not sent (RFC 4782 section 4.4).
    fn stop(&mut self, view: &SenderView, why: &str) -> Orders {
        let Some(used) = &mut self.used else {
            return Orders::none();
        };
        if used.end.is_some() {
            return Orders::none();
        }
        used.end = Some(view.snd_nxt);
        let sent = (view.snd_nxt - used.una) as f64;
        if sent >= used.window {
            return Orders::none();
        }
        let none = Train {
            number: self.trains,
            segments: 0,
            spacing: Spacing::BackToBack,
            then: Then::GoOn,
        };
        Orders::none().with(Order::SendTrain(none), why).with(
            Order::SetCwnd(sent.min(view.cwnd).max(1.0)),
            "what was used of the approved window",
        )
    }

    /// Window and threshold after a segment of the window is lost and `arrived` of them have
    /// arrived.
    fn give_up(&mut self, used: Used, arrived: u64) -> (f64, f64) {
        self.used = None;
        self.barred = true;
        let cwnd = if used.at_start {
            used.before
        } else {
            used.before.min((used.window / 2.0).floor().max(1.0))
        };
        let ssthresh = (arrived as f64 / 2.0).floor().max(LEAST);
        (cwnd, ssthresh)
    }

    /// The window at an approved rate, if one of its segments is the first unacknowledged. After the
    /// loss of an earlier segment it is treated as a normal window.
    fn lost(&mut self, una: Seq) -> Option<Used> {
        self.used = self.used.filter(|used| una >= used.first);
        self.used
            .filter(|used| used.end.is_none_or(|end| una < end))
    }
}

impl HandoffPolicy for QuickStart {
    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders {
        let orders = self.stop(view, "the rate was that of the old path");
        self.ask(orders, &notice.new, false)
    }

    fn on_start(&mut self, notice: &StartNotice, _view: &SenderView) -> Orders {
        self.ask(Orders::none(), &notice.link, true)
    }

    fn interests(&self) -> Interests {
        Interests::START | Interests::ACKS.when(self.used.is_some() || self.grant.is_some())
    }

    fn routers(&self) -> Option<Routers> {
        Some(self.routers)
    }

    fn on_rate(&mut self, answer: &RateAnswer, view: &SenderView) -> Orders {
        let code = match answer.approved {
            Ok(code) => code,
            Err(denial) => {
                self.barred |= denial == Denial::Nonce;
                return Orders::none().with(Order::ReportRate(RateCode::ZERO), denial.reason());
            }
        };
        self.grant = code.rate().map(|rate| Grant {
            rate,
            round_trip: answer.round_trip,
            until: view.now + answer.round_trip.min(LONGEST_WAIT),
        });
        let unused = self.grant.and_then(|grant| self.usable(&grant, view).err());
        let why = unused.map_or(String::new(), |why| format!("; {why}"));
        let why = format!("RFC 4782 section 4.4{why}");
        let orders = Orders::none().with(Order::ReportRate(code), why);
        self.use_grant(orders, view)
    }

    fn on_ack(&mut self, _ack: &AckNews, view: &SenderView) -> Orders {
        if self.grant.is_some() {
            return self.use_grant(Orders::none(), view);
        }
        let Some(used) = self.used else {
            return Orders::none();
        };
        if used.end.is_some_and(|end| view.snd_una >= end) {
            self.used = None;
        } else if view.snd_una > used.first {
            let why = "the first segment is acknowledged before all have gone";
            return self.stop(view, why);
        }
        Orders::none()
    }

    fn on_recovery(&mut self, view: &SenderView) -> Orders {
        let Some(used) = self.lost(view.snd_una) else {
            return Orders::none();
        };
        let arrived = view.snd_una - used.first + u64::from(view.dupacks);
        let (cwnd, ssthresh) = self.give_up(used, arrived);
        let why = "a segment of the approved window is lost";
        Orders::none()
            .with(Order::SetSsthresh(ssthresh), why)
            .with(Order::SetCwnd(cwnd), why)
            .with(Order::KeepWindow, why)
    }

    fn on_timeout(&mut self, before: &SenderView, view: &SenderView) -> Orders {
        let Some(used) = self.lost(view.snd_una) else {
            return Orders::none();
        };
        let arrived = view.snd_una - used.first + u64::from(before.dupacks);
        let (_, ssthresh) = self.give_up(used, arrived);
        let why = "a segment of the approved window is lost";
        Orders::none().with(Order::SetSsthresh(ssthresh.min(view.ssthresh)), why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::testing::duplicate;
    use crate::policy::testing::{link, notice, view};

    fn code(n: u8) -> RateCode {
        RateCode::new(n).unwrap_or_default()
    }

    /// 71 ms at 40.96 Mbit/s are 242 segments of 1500 bytes.
    fn approved() -> RateAnswer {
        RateAnswer {
            approved: Ok(code(10)),
            round_trip: Duration::from_millis(71),
        }
    }

    /// A sender whose SYN has just been acknowledged.
    fn opened() -> SenderView {
        SenderView {
            snd_una: 1,
            snd_nxt: 1,
            snd_max: 1,
            cwnd: 3.0,
            dupacks: 0,
            ..view(0, 1000)
        }
    }

    fn started(knobs: &[(&str, &str)]) -> (QuickStart, Orders) {
        let mut policy = QuickStart::default();
        for (name, value) in knobs {
            assert_eq!(policy.set_knob(name, value), Ok(()));
        }
        let notice = StartNotice {
            link: link(50_000, 15),
            flows: 1,
        };
        let orders = policy.on_start(&notice, &view(0, 1000));
        (policy, orders)
    }

    #[test]
    fn it_asks_for_the_rate_of_the_link_rounded_up() {
        let (_, orders) = started(&[]);
        assert!(
            orders.contains(&Order::AskForRate(code(11))),
            "81.92 Mbit/s"
        );
        let (_, orders) = started(&[("quick_start_request", "most")]);
        assert!(orders.contains(&Order::AskForRate(RateCode::MOST)));
        let mut policy = QuickStart::default();
        let orders = policy.on_notice(&notice((200, 300), (6000, 50)), &view(5, 1000));
        assert!(orders.contains(&Order::AskForRate(code(8))), "10.24 Mbit/s");
    }

    #[test]
    fn an_approved_rate_becomes_a_paced_window() {
        let (mut policy, _) = started(&[]);
        let orders = policy.on_rate(&approved(), &opened());
        assert!(orders.contains(&Order::ReportRate(code(10))));
        assert!(orders.contains(&Order::SetCwnd(242.0)));
        assert!(orders.contains(&Order::SetSsthresh(242.0)));
        // 12,000 bits at 40.96 Mbit/s take 292,968.75 ns.
        let train = Train {
            number: 1,
            segments: 242,
            spacing: Spacing::Even(Duration::from_nanos(292_968)),
            then: Then::GoOn,
        };
        assert!(orders.contains(&Order::SendTrain(train)));
        let (mut policy, _) = started(&[("quick_start_ssthresh", "keep")]);
        let orders = policy.on_rate(&approved(), &opened());
        assert!(!orders.contains(&Order::SetSsthresh(242.0)));
    }

    #[test]
    fn a_smaller_window_than_the_present_and_a_denial_change_nothing() {
        let (mut policy, _) = started(&[]);
        let ample = SenderView {
            cwnd: 242.0,
            ..opened()
        };
        let orders = policy.on_rate(&approved(), &ample);
        assert_eq!(orders.iter().count(), 1, "but it is reported");
        let reason = |orders: &Orders| {
            orders
                .iter()
                .map(|(_, why)| why.to_string())
                .collect::<String>()
        };
        let why = "RFC 4782 section 4.4; it is not used: its window of 242 is not above cwnd 242.0";
        assert_eq!(reason(&orders), why);
        let duplicates = SenderView {
            dupacks: 1,
            ..opened()
        };
        let mut waits = policy;
        let orders = waits.on_rate(&approved(), &duplicates);
        assert_eq!(orders.iter().count(), 1, "it could not be paced");
        assert!(reason(&orders).contains("not used before the end of the duplicate ACKs"));
        assert!(
            waits.on_ack(&duplicate(100), &duplicates).is_empty()
                && waits.interests().includes(Interests::ACKS)
        );
        let mut late = waits;
        let after = SenderView {
            now: opened().now + Duration::from_millis(72),
            ..opened()
        };
        assert!(waits
            .on_ack(&duplicate(100), &opened())
            .contains(&Order::SetCwnd(242.0)));
        assert!(
            late.on_ack(&duplicate(100), &after).is_empty()
                && !late.interests().includes(Interests::ACKS)
        );
        for denial in [Denial::NoResponse, Denial::TtlDiff, Denial::Nonce] {
            let denied = RateAnswer {
                approved: Err(denial),
                ..approved()
            };
            let orders = policy.on_rate(&denied, &opened());
            assert!(orders.contains(&Order::ReportRate(RateCode::ZERO)));
            assert_eq!(orders.iter().count(), 1);
            let again = policy.on_notice(&notice((200, 300), (6000, 50)), &view(5, 1000));
            assert_eq!(again.is_empty(), denial == Denial::Nonce);
        }
    }

    /// RFC 4782 section 4.4's example: acknowledged after half the time, so half of the window was
    /// used.
    #[test]
    fn what_was_not_used_is_given_back() {
        let (mut policy, _) = started(&[]);
        let _ = policy.on_rate(&approved(), &opened());
        let acked = SenderView {
            snd_una: 2,
            snd_nxt: 122,
            snd_max: 122,
            cwnd: 243.0,
            ..opened()
        };
        let orders = policy.on_ack(&duplicate(100), &acked);
        assert!(orders.contains(&Order::SetCwnd(121.0)));
        assert!(
            policy.interests().includes(Interests::ACKS),
            "for losses of the window"
        );
        let over = SenderView {
            snd_una: 122,
            ..acked
        };
        assert!(
            policy.on_ack(&duplicate(100), &over).is_empty()
                && !policy.interests().includes(Interests::ACKS)
        );
    }

    /// Segments 1 to 100 were sent before an outage, 20 are acknowledged, and so is the first
    /// retransmission: the window becomes that of the approved rate at once, with one segment of it
    /// in flight.
    #[test]
    fn what_a_timeout_resends_is_paced_first() {
        let mut policy = QuickStart::default();
        let _ = policy.on_notice(&notice((50_000, 50), (50_000, 50)), &view(5, 1000));
        let resending = SenderView {
            snd_una: 22,
            snd_nxt: 23,
            snd_max: 101,
            cwnd: 2.0,
            may_train: false,
            ..opened()
        };
        let orders = policy.on_rate(&approved(), &resending);
        assert!(orders.contains(&Order::SetCwnd(242.0)));
        let paced = orders.iter().find_map(|(order, _)| match order {
            Order::SendTrain(train) => Some(train.segments),
            _ => None,
        });
        assert_eq!(paced, Some(241));
        // The receiver had all but three of them: the used part counts from there.
        let jumped = SenderView {
            snd_una: 101,
            snd_nxt: 101,
            ..resending
        };
        let used = policy.on_ack(&duplicate(100), &jumped);
        assert!(used.contains(&Order::SetCwnd(2.0)), "no more than it is");
        // It waits during a fast recovery or a probe.
        let mut waits = QuickStart::default();
        let _ = waits.on_notice(&notice((50_000, 50), (50_000, 50)), &view(5, 1000));
        let busy = SenderView {
            may_pace: false,
            ..resending
        };
        assert_eq!(waits.on_rate(&approved(), &busy).iter().count(), 1);
        assert!(waits.interests().includes(Interests::ACKS));
        let mut new = QuickStart::default();
        assert_eq!(new.set_knob("quick_start_resend", "wait"), Ok(()));
        let _ = new.on_notice(&notice((50_000, 50), (50_000, 50)), &view(5, 1000));
        assert_eq!(new.on_rate(&approved(), &resending).iter().count(), 1);
        let done = SenderView {
            snd_una: 101,
            snd_nxt: 101,
            ..resending
        };
        assert!(new
            .on_ack(&duplicate(100), &done)
            .contains(&Order::SetCwnd(242.0)));
    }

    #[test]
    fn a_handoff_ends_the_paced_window() {
        let (mut policy, _) = started(&[]);
        let _ = policy.on_rate(&approved(), &opened());
        let under_way = SenderView {
            snd_nxt: 101,
            snd_max: 101,
            cwnd: 242.0,
            ..opened()
        };
        let orders = policy.on_notice(&notice((6000, 50), (200, 300)), &under_way);
        assert!(orders.contains(&Order::SetCwnd(100.0)));
        assert!(orders.contains(&Order::AskForRate(code(3))));
        assert!(
            policy.interests().includes(Interests::ACKS),
            "for losses of the window"
        );
    }

    #[test]
    fn what_was_used_raises_no_window_that_a_loss_has_reduced() {
        let (mut policy, _) = started(&[]);
        let middle = SenderView {
            snd_una: 50,
            snd_nxt: 101,
            snd_max: 101,
            cwnd: 60.0,
            ..opened()
        };
        let _ = policy.on_rate(&approved(), &middle);
        let reduced = SenderView {
            snd_una: 102,
            snd_nxt: 201,
            snd_max: 201,
            cwnd: 30.0,
            ..opened()
        };
        assert!(policy
            .clone()
            .on_ack(&duplicate(100), &reduced)
            .contains(&Order::SetCwnd(30.0)));
        let earlier = SenderView {
            snd_una: 60,
            dupacks: 3,
            ..reduced
        };
        assert!(policy.on_recovery(&earlier).is_empty());
        assert!(
            !policy.interests().includes(Interests::ACKS),
            "a window as any other"
        );
    }

    /// RFC 4782 sections 4.6 and 4.8 (3): 20 acknowledged and 3 duplicates, so 23 arrived.
    #[test]
    fn a_lost_segment_of_the_window_takes_the_window_back() {
        let lost = SenderView {
            snd_una: 21,
            snd_nxt: 243,
            snd_max: 243,
            dupacks: 3,
            cwnd: 262.0,
            ..opened()
        };
        let (mut policy, _) = started(&[]);
        let _ = policy.on_rate(&approved(), &opened());
        let orders = policy.on_recovery(&lost);
        assert!(orders.contains(&Order::SetSsthresh(11.0)));
        assert!(orders.contains(&Order::SetCwnd(3.0)), "the initial window");
        assert!(orders.contains(&Order::KeepWindow));
        let again = policy.on_notice(&notice((200, 300), (6000, 50)), &view(5, 1000));
        assert!(again.is_empty(), "no more requests");

        let mut policy = QuickStart::default();
        let _ = policy.on_notice(&notice((6000, 50), (50_000, 15)), &view(5, 1000));
        let middle = SenderView {
            cwnd: 150.0,
            ..opened()
        };
        let _ = policy.on_rate(&approved(), &middle);
        let orders = policy.on_recovery(&lost);
        assert!(orders.contains(&Order::SetCwnd(121.0)), "half the window");
    }
}
