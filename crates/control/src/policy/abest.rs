//! Available bandwidth by measurement (Daniel & Kojo, report on available
//! bandwidth, section 3, figure 1), at the start of a connection and after a handoff:
//!
//! 1. Capacity: min(4, BDP/flows) segments back to back; from their dispersion the receiver estimates the
//!    rate of the bottleneck, limited to the rate of the access link.
//! 2. Cycles: a chirp from a low to a high rate, with as many segments as the window and the path hold,
//!    at most 16. From its queueing delay the receiver estimates the available bandwidth; ssthresh
//!    becomes that times the RTT. The first chirp goes up to the flow's share of the capacity, from half
//!    of it; the second from two segments per round trip to twice the result of the first; further ones
//!    double both rates. The cycles end when the estimate is below the highest rate or twice the window
//!    exceeds the threshold.
//!
//! The listing divides by `pkt_count` in the exponent of the spread, compares a rate with a BDP, and
//! omits the factor 2 from it. The reading here gives the report's own numbers: the first and the last
//! gap have exactly the two rates, the capacity is limited to the link's rate, the BDP is rate x 2 delay
//! (125 packets for LTE). In the text the second chirp ends at the result of the first, in the listing at
//! twice that: the listing is used, because otherwise the test for an end could never fail (a knob).
//!
//! A train is the next segments of the data, and nothing else is held back for it: "the growth rate of
//! the window is similar to that of regular TCP", and "cwnd is incremented as in slow start" in every
//! cycle. So a chirp has at most as many segments as the largest window that the report names for a
//! cycle, 12 to 16 (a knob).
//!
//! Points that the report does not specify, and the choice here:
//!
//! - A train waits until the window has room for all of it, for as long as it takes. It is shorter if
//!   there is less to send; a chirp of fewer than three segments gives no estimate and ends the cycles.
//!   The next train is ordered at the report of the previous one.
//! - At the start nothing is sent after the packet pairs until their report arrives: their ACKs arrive
//!   with it, and the window that they open is used for the first chirp. Nothing is held back after any
//!   other train. `abest_withhold` has the reverse, an earlier reading: nothing new between any train and
//!   its report, and the segments held back by the last wait are sent at the estimated rate or at once
//!   (`abest_release`).
//! - The cycles continue until one of the report's two conditions ends them, or after a maximum number
//!   (`abest_cycles`): with one, only the first chirp is sent.
//! - The RTT is that of the last segment: from its departure to the report, which is not delayed, as with
//!   a timestamp.
//! - A missing segment, a timeout, a fast recovery or a lost report ends the cycles; the threshold does
//!   not change. But a timeout or a fast recovery for segments sent before the handoff gives no
//!   information about the new path: the first train is sent after it, as for a notice during a recovery,
//!   when the window is as large as that train. A new notice restarts the measurement.
//! - After a handoff to a link that is too small to measure, the window does not change; at the start the
//!   window is one segment, as in the report. Up to the first estimate the window grows with the current
//!   threshold.

use midflight_units::{Duration, Rate, Seq};

use super::{HandoffPolicy, TrainReport};
use crate::part::{choose, whole, Knob, KnobError, Part, PartInfo};
use crate::{
    AckNews, Interests, LinkInfo, Notice, Order, Orders, SenderView, Spacing, StartNotice, Then,
    Train,
};

/// Maximum number of segments of the first train: the largest initial window of RFC 3390.
const MOST_PAIRS: u64 = 4;
/// Two gaps: with one gap the only rate would be the result on every path.
const LEAST_CHIRP: u64 = 3;
/// The largest window that the report names for a cycle.
const LONGEST_CHIRP: u64 = 16;
/// RFC 5681 (4).
const LEAST_SSTHRESH: f64 = 2.0;

/// The phase of the measurement.
#[derive(Clone, Copy, Debug)]
enum AbestState {
    /// Nothing to measure.
    Idle,
    /// The SYN is not yet acknowledged.
    Opening,
    /// A recovery is in progress, or the window is too small.
    Waiting,
    /// The first train has been sent.
    Capacity,
    /// A chirp has been sent.
    Cycle { number: u32, low: Rate, high: Rate },
}

/// State and knobs.
#[derive(Clone, Copy, Debug)]
pub struct Abest {
    phase: AbestState,
    link: LinkInfo,
    /// Bytes of the sender's own packets, in which a bandwidth-delay product is counted.
    bytes: u32,
    flows: u64,
    /// One past the highest segment sent before the notice.
    since: Seq,
    /// Number of the last train.
    train: u16,
    /// The bottleneck's rate.
    capacity: Rate,
    /// The second cycle goes up to this many times the result of the first.
    second: u64,
    /// The last train holds back new segments until its report.
    withholds: bool,
    /// Every train does, not only the packet pairs at the start.
    always_withholds: bool,
    /// The next packet pairs are those at the start.
    starting: bool,
    /// Segments held back are sent at the estimated rate.
    paced: bool,
    /// Maximum number of segments of a chirp.
    longest: u64,
    /// Maximum number of chirps of a measurement.
    cycles: u32,
}

impl Default for Abest {
    fn default() -> Self {
        let rate = Rate::from_mbps(1);
        let delay = Duration::ZERO;
        Self {
            phase: AbestState::Idle,
            link: LinkInfo { rate, delay },
            bytes: 1500,
            flows: 1,
            since: 0,
            train: 0,
            capacity: rate,
            second: 2,
            withholds: false,
            always_withholds: false,
            starting: false,
            paced: true,
            longest: LONGEST_CHIRP,
            cycles: u32::MAX,
        }
    }
}

impl Part for Abest {
    const INFO: PartInfo = PartInfo {
        name: "abest",
        summary: "measure capacity and available bandwidth with trains, and set ssthresh to the available bandwidth",
        source: "Daniel & Kojo, report on available bandwidth, section 3",
        knobs: &[
            Knob {
                name: "abest_c2_high",
                default: "2x",
                accepts: "2x, 1x",
                summary: "highest rate of the second chirp as a multiple of the result of the first",
            },
            Knob {
                name: "abest_withhold",
                default: "start",
                accepts: "start, always",
                summary: "trains after which no new data is sent until the report: the packet pairs at the start, or every train",
            },
            Knob {
                name: "abest_release",
                default: "paced",
                accepts: "paced, burst",
                summary: "how data held back until the last report is sent: at the estimated rate, or at once",
            },
            Knob {
                name: "abest_longest",
                default: "16",
                accepts: "a whole number of segments from 3 to 10000, or none",
                summary: "maximum number of segments of a chirp",
            },
            Knob {
                name: "abest_cycles",
                default: "none",
                accepts: "a whole number from 1 to 1000, or none",
                summary: "maximum number of chirps of a measurement",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let info = &Self::INFO;
        match name {
            "abest_c2_high" => {
                self.second = choose(info, name, value, &[("2x", 2), ("1x", 1)])?;
            }
            "abest_withhold" => {
                let choices = [("start", false), ("always", true)];
                self.always_withholds = choose(info, name, value, &choices)?;
            }
            "abest_release" => {
                self.paced = choose(info, name, value, &[("paced", true), ("burst", false)])?;
            }
            "abest_longest" if value == "none" => self.longest = u64::MAX,
            "abest_longest" => self.longest = whole(info, name, value, 3..=10_000)?.into(),
            _ if value == "none" => self.cycles = u32::MAX,
            _ => self.cycles = whole(info, name, value, 1..=1000)?,
        }
        Ok(())
    }
}

/// How many segments of this size pass at a rate in a time.
fn segments(rate: Rate, time: Duration, view: &SenderView) -> u64 {
    rate.bits_in(time) / (8 * u64::from(view.segment_bytes))
}

fn scaled(rate: Rate, by: u64, share: u64) -> Rate {
    let bps = rate.as_bps().saturating_mul(by) / share.max(1);
    Rate::from_bps(bps).unwrap_or(rate)
}

impl Abest {
    fn begin(&mut self, link: LinkInfo, flows: u32, view: &SenderView, phase: AbestState) {
        self.link = link;
        self.bytes = view.segment_bytes;
        self.flows = u64::from(flows.max(1));
        self.since = view.snd_max;
        self.starting = matches!(phase, AbestState::Opening);
        self.phase = phase;
    }

    fn is_measuring(&self) -> bool {
        matches!(self.phase, AbestState::Capacity | AbestState::Cycle { .. })
    }

    /// The first unacknowledged segment is considered lost, and the train is over.
    fn train_lost(&mut self, view: &SenderView) {
        if self.is_measuring() {
            self.phase = if view.snd_una < self.since {
                AbestState::Waiting
            } else {
                AbestState::Idle
            };
        }
    }

    /// A description of the BDP of the link.
    fn holds(&self) -> String {
        let bdp = self.bdp();
        match self.flows {
            1 => format!("the access link holds {bdp} segments"),
            flows => format!("the access link holds {bdp} segments, for {flows} flows"),
        }
    }

    /// The BDP of the access link, in the sender's own packets.
    fn bdp(&self) -> u64 {
        self.link.rate.bits_in(self.link.delay * 2) / (8 * u64::from(self.bytes.max(1)))
    }

    /// Segments of the first train.
    fn pairs(&self) -> u64 {
        MOST_PAIRS.min(self.bdp() / self.flows)
    }

    fn order(&mut self, segments: u64, spacing: Spacing) -> Order {
        self.train = self.train.wrapping_add(1);
        self.withholds = match spacing {
            Spacing::BackToBack => self.always_withholds || self.starting,
            Spacing::Chirp { .. } => self.always_withholds,
            _ => false,
        };
        Order::SendTrain(Train {
            number: self.train,
            segments: u16::try_from(segments).unwrap_or(u16::MAX),
            spacing,
            then: if self.withholds {
                Then::AwaitReport
            } else {
                Then::GoOn
            },
        })
    }

    /// Sends the first train as soon as possible.
    fn measure_capacity(&mut self, view: &SenderView) -> Orders {
        let pairs = self.pairs();
        let recovering = view.in_fast_recovery || view.in_rto_recovery;
        let clear = !recovering && view.snd_nxt >= view.snd_max && view.dupacks == 0;
        if view.snd_una == 0 || !clear || view.cwnd < pairs as f64 {
            return Orders::none();
        }
        let count = pairs.min(view.unsent);
        if count < 2 {
            self.phase = AbestState::Idle;
            return Orders::none();
        }
        self.phase = AbestState::Capacity;
        let order = self.order(count, Spacing::BackToBack);
        let why = format!("{}: what is the capacity of the path?", self.holds());
        Orders::none().with(order, why)
    }

    /// A chirp with as many segments as the path holds at `rate` in a round trip, or the end if that is
    /// too few.
    fn chirp(
        &mut self,
        number: u32,
        (low, high): (Rate, Rate),
        (rate, rtt): (Rate, Duration),
        view: &SenderView,
    ) -> Orders {
        let held = segments(rate, rtt, view);
        let most = held.min(self.longest).min(view.unsent);
        let count = most.min(view.cwnd as u64);
        if count < LEAST_CHIRP {
            let mut orders = Orders::none();
            if number == 1 && held < LEAST_CHIRP {
                let why = format!("the path holds {held} segments at {rate}, too few for a chirp");
                let ssthresh = (held as f64).max(LEAST_SSTHRESH);
                orders.push(Order::SetSsthresh(ssthresh), why);
            }
            return self.release(orders, rate, view);
        }
        let low = low.min(high);
        self.phase = AbestState::Cycle { number, low, high };
        let spacing = Spacing::Chirp {
            low,
            high,
            rule: None,
        };
        let order = self.order(count, spacing);
        let why = format!("cycle {number}: is {high} available? The path holds {held} segments at {rate} in {rtt}");
        Orders::none().with(order, why)
    }

    /// Ends the measurement: normal sending continues, after the segments that were held back, if any.
    fn release(&mut self, mut orders: Orders, rate: Rate, view: &SenderView) -> Orders {
        self.phase = AbestState::Idle;
        let room = (view.cwnd as u64).saturating_sub(view.flight_size());
        let room = room.min(view.unsent);
        if self.withholds && self.paced && room > 1 {
            let gap = rate.transmission_time(u64::from(view.segment_bytes));
            let order = self.order(room, Spacing::Even(gap));
            let why = format!("what the wait has withheld, at {rate}");
            orders.push(order, why);
        }
        orders
    }

    fn capacity_found(&mut self, rate: Rate, rtt: Duration, view: &SenderView) -> Orders {
        self.capacity = rate.min(self.link.rate);
        let share = scaled(self.capacity, 1, self.flows);
        let low = scaled(share, 1, 2);
        self.chirp(1, (low, share), (share, rtt), view)
    }

    fn cycle_over(
        &mut self,
        (number, low, high): (u32, Rate, Rate),
        rate: Rate,
        rtt: Duration,
        view: &SenderView,
    ) -> Orders {
        let available = rate.min(self.capacity);
        let bits = 8.0 * f64::from(view.segment_bytes);
        let window = available.as_bps() as f64 * rtt.as_secs_f64() / bits;
        let ssthresh = window.max(LEAST_SSTHRESH);
        let set = Order::SetSsthresh(ssthresh);
        let found = format!("cycle {number} finds {available} in {rtt}");
        let cwnd = view.cwnd;
        if available < high {
            let why = format!("{found}, below the {high} asked for: the last cycle");
            return self.release(Orders::none().with(set, why), available, view);
        }
        if 2.0 * cwnd > ssthresh {
            let why = format!("{found}, twice the window of {cwnd} exceeds that: the last cycle");
            return self.release(Orders::none().with(set, why), available, view);
        }
        if number >= self.cycles {
            let why = format!("{found}: no more cycles are wanted");
            return self.release(Orders::none().with(set, why), available, view);
        }
        let rates = if number == 1 {
            // Two segments per round trip.
            let two = 16_000_000_000 * u64::from(view.segment_bytes) / rtt.as_nanos().max(1);
            let low = Rate::from_bps(two).unwrap_or(low);
            (low, scaled(available, self.second, 1))
        } else {
            (scaled(low, 2, 1), scaled(high, 2, 1))
        };
        let mut orders = Orders::none().with(set, found);
        let next = self.chirp(number + 1, rates, (available, rtt), view);
        for (&order, why) in next.iter() {
            orders.push(order, why);
        }
        orders
    }

    /// The next step at an ACK in the current phase.
    fn go_on(&mut self, view: &SenderView) -> Orders {
        match self.phase {
            AbestState::Idle => {}
            AbestState::Opening if view.snd_una == 0 => {}
            AbestState::Opening => {
                self.phase = AbestState::Waiting;
                let pairs = self.pairs();
                // After a lost SYN the window is smaller, and is not raised.
                if view.cwnd < view.initial_window {
                    return self.go_on(view);
                }
                let why = self.holds();
                if pairs <= 1 {
                    self.phase = AbestState::Idle;
                    return Orders::none().with(Order::SetCwnd(1.0), why);
                }
                let cwnd = pairs as f64;
                let mut orders = Orders::none().with(Order::SetCwnd(cwnd), why);
                let opened = SenderView { cwnd, ..*view };
                for (&order, why) in self.measure_capacity(&opened).iter() {
                    orders.push(order, why);
                }
                return orders;
            }
            AbestState::Waiting if self.pairs() <= 1 => self.phase = AbestState::Idle,
            AbestState::Waiting => return self.measure_capacity(view),
            AbestState::Capacity | AbestState::Cycle { .. } => {
                if view.train != Some(self.train) {
                    // The train or its report was lost.
                    self.phase = AbestState::Idle;
                }
            }
        }
        Orders::none()
    }
}

impl HandoffPolicy for Abest {
    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders {
        self.begin(notice.new, notice.flows, view, AbestState::Waiting);
        if self.pairs() <= 1 {
            self.phase = AbestState::Idle;
            return Orders::none();
        }
        self.measure_capacity(view)
    }

    fn on_start(&mut self, notice: &StartNotice, view: &SenderView) -> Orders {
        self.begin(notice.link, notice.flows, view, AbestState::Opening);
        Orders::none()
    }

    fn interests(&self) -> Interests {
        Interests::START | Interests::ACKS.when(!matches!(self.phase, AbestState::Idle))
    }

    fn on_ack(&mut self, _ack: &AckNews, view: &SenderView) -> Orders {
        self.go_on(view)
    }

    fn on_estimate(&mut self, report: &TrainReport, view: &SenderView) -> Orders {
        if report.estimate.train != self.train || !self.is_measuring() {
            return Orders::none();
        }
        let phase = std::mem::replace(&mut self.phase, AbestState::Idle);
        let (Some(rate), Some(rtt)) = (report.estimate.rate, report.rtt) else {
            return Orders::none();
        };
        match phase {
            AbestState::Cycle { number, low, high } => {
                self.cycle_over((number, low, high), rate, rtt, view)
            }
            _ => self.capacity_found(rate, rtt, view),
        }
    }

    fn on_timeout(&mut self, _before: &SenderView, view: &SenderView) -> Orders {
        self.train_lost(view);
        Orders::none()
    }

    fn on_recovery(&mut self, view: &SenderView) -> Orders {
        self.train_lost(view);
        Orders::none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::testing::duplicate;
    use crate::estimate::Estimate;
    use crate::policy::testing::{link, notice, view};

    /// Nothing is in flight, the SYN is acknowledged, and the window is `cwnd`.
    fn open(cwnd: f64) -> SenderView {
        SenderView {
            snd_una: 1,
            snd_nxt: 1,
            snd_max: 1,
            cwnd,
            ssthresh: 10_000.0,
            ..view(0, 1000)
        }
    }

    fn report(train: u16, mbps: Option<f64>, rtt_ms: u64) -> TrainReport {
        let rate = mbps.and_then(|m| Rate::from_bps((m * 1e6) as u64));
        TrainReport {
            estimate: Estimate { train, rate },
            rtt: Some(Duration::from_millis(rtt_ms)),
        }
    }

    fn all(orders: &Orders) -> Vec<Order> {
        orders.iter().map(|(&order, _)| order).collect()
    }

    fn mbps(rate: f64) -> Rate {
        Rate::from_bps((rate * 1e6) as u64).unwrap_or(Rate::from_mbps(1))
    }

    fn chirp_then(number: u16, segments: u16, (low, high): (f64, f64), then: Then) -> Order {
        Order::SendTrain(Train {
            number,
            segments,
            spacing: Spacing::Chirp {
                low: mbps(low),
                high: mbps(high),
                rule: None,
            },
            then,
        })
    }

    fn chirp(number: u16, segments: u16, low: f64, high: f64) -> Order {
        chirp_then(number, segments, (low, high), Then::GoOn)
    }

    fn pairs_then(number: u16, segments: u16, then: Then) -> Order {
        Order::SendTrain(Train {
            number,
            segments,
            spacing: Spacing::BackToBack,
            then,
        })
    }

    /// After a handoff.
    fn pairs(number: u16, segments: u16) -> Order {
        pairs_then(number, segments, Then::GoOn)
    }

    fn even(number: u16, segments: u16, gap_us: u64) -> Order {
        Order::SendTrain(Train {
            number,
            segments,
            spacing: Spacing::Even(Duration::from_micros(gap_us)),
            then: Then::GoOn,
        })
    }

    fn start(kbps: u64, ms: u64, flows: u32) -> (Abest, Vec<Order>) {
        let mut abest = Abest::default();
        let notice = StartNotice {
            link: link(kbps, ms),
            flows,
        };
        let mut sender = open(1.0);
        sender.snd_una = 0;
        assert!(abest.on_start(&notice, &sender).is_empty());
        assert!(
            abest.interests().includes(Interests::ACKS)
                && abest.on_ack(&duplicate(100), &sender).is_empty()
        );
        let orders = abest.on_ack(&duplicate(100), &open(3.0));
        (abest, all(&orders))
    }

    /// LTE, 50 Mbit/s and 15 ms: BDP 125, so 4 segments. 54 Mbit/s and 2 ms: 18, for 8 flows 2 each,
    /// for 16 flows 1: regular TCP with a window of 1.
    #[test]
    fn the_first_train_is_four_segments_or_what_the_link_holds() {
        let pairs = |n| pairs_then(1, n, Then::AwaitReport);
        let opens = |n: u16| vec![Order::SetCwnd(f64::from(n)), pairs(n)];
        assert_eq!(start(50_000, 15, 1).1, opens(4));
        assert_eq!(start(54_000, 2, 8).1, opens(2));
        let (small, orders) = start(54_000, 2, 16);
        assert_eq!(orders, [Order::SetCwnd(1.0)]);
        assert!(!small.interests().includes(Interests::ACKS));
    }

    /// One flow over 50 Mbit/s with a round trip of 120 ms, which holds 500 segments. The capacity
    /// measured, 60 Mbit/s, is cut to the link's 50. Cycle 1: min(6, 500) segments from 25 to 50 Mbit/s.
    /// It finds 50: ssthresh 500, and 2 x 12 is less. Cycle 2: 12 segments from two a round trip, 24,000
    /// bits / 120 ms = 200 kbit/s, to 100 Mbit/s. It finds 80, cut to 50: below 100, the end.
    #[test]
    fn the_cycles_of_one_flow() {
        let (mut abest, _) = start(50_000, 15, 1);
        let first = abest.on_estimate(&report(1, Some(60.0), 120), &open(6.0));
        assert_eq!(all(&first), [chirp(2, 6, 25.0, 50.0)]);
        let second = abest.on_estimate(&report(2, Some(50.0), 120), &open(12.0));
        let set = Order::SetSsthresh(500.0);
        assert_eq!(all(&second), [set, chirp(3, 12, 0.2, 100.0)]);
        let end = abest.on_estimate(&report(3, Some(80.0), 120), &open(24.0));
        assert_eq!(all(&end), [set]);
        assert!(!abest.interests().includes(Interests::ACKS));
    }

    /// The same if every train holds back: the segments held back, 24, are sent at the estimated rate;
    /// 12,000 bits at 50 Mbit/s take 240 us.
    #[test]
    fn every_train_withholds_what_follows_if_so_set() {
        let (mut abest, _) = start(50_000, 15, 1);
        assert_eq!(abest.set_knob("abest_withhold", "always"), Ok(()));
        let waits = |number, n, rates| chirp_then(number, n, rates, Then::AwaitReport);
        let first = abest.on_estimate(&report(1, Some(60.0), 120), &open(6.0));
        assert_eq!(all(&first), [waits(2, 6, (25.0, 50.0))]);
        let second = abest.on_estimate(&report(2, Some(50.0), 120), &open(12.0));
        let set = Order::SetSsthresh(500.0);
        assert_eq!(all(&second), [set, waits(3, 12, (0.2, 100.0))]);
        let mut burst = abest;
        let end = abest.on_estimate(&report(3, Some(80.0), 120), &open(24.0));
        assert_eq!(all(&end), [set, even(4, 24, 240)]);
        assert_eq!(burst.set_knob("abest_release", "burst"), Ok(()));
        let end = burst.on_estimate(&report(3, Some(80.0), 120), &open(24.0));
        assert_eq!(all(&end), [set]);
        let handoff = notice((6000, 50), (50_000, 15));
        let again = abest.on_notice(&handoff, &open(20.0));
        assert_eq!(all(&again), [pairs_then(5, 4, Then::AwaitReport)]);
    }

    #[test]
    fn one_chirp_alone_if_so_set() {
        let (mut abest, _) = start(50_000, 15, 1);
        assert_eq!(abest.set_knob("abest_cycles", "1"), Ok(()));
        let _ = abest.on_estimate(&report(1, Some(50.0), 120), &open(6.0));
        let end = abest.on_estimate(&report(2, Some(50.0), 120), &open(12.0));
        assert_eq!(all(&end), [Order::SetSsthresh(500.0)]);
        assert!(!abest.interests().includes(Interests::ACKS));
    }

    /// Four flows share: cycle 1 from 50/8 = 6.25 to 12.5 Mbit/s, cycle 2 up to 25, cycle 3 doubles both
    /// rates of cycle 2: 0.4 to 50 Mbit/s. Each finds its highest rate: ssthresh 12.5 Mbit/s x 120 ms =
    /// 125 segments, then 250. At the end 2 x 250 does not exceed 50 Mbit/s x 120 ms = 500, but 2 x 251
    /// does.
    #[test]
    fn the_cycles_of_four_flows_double_from_the_third_on() {
        let (mut abest, _) = start(50_000, 15, 4);
        let first = abest.on_estimate(&report(1, Some(50.0), 120), &open(6.0));
        assert_eq!(all(&first), [chirp(2, 6, 6.25, 12.5)]);
        let second = abest.on_estimate(&report(2, Some(12.5), 120), &open(12.0));
        let set = Order::SetSsthresh;
        assert_eq!(all(&second), [set(125.0), chirp(3, 12, 0.2, 25.0)]);
        let third = abest.on_estimate(&report(3, Some(25.0), 120), &open(24.0));
        assert_eq!(all(&third), [set(250.0), chirp(4, 16, 0.4, 50.0)]);
        let mut other = abest;
        let fourth = other.on_estimate(&report(4, Some(50.0), 120), &open(250.0));
        assert_eq!(all(&fourth), [set(500.0), chirp(5, 16, 0.8, 100.0)]);
        let mut any = abest;
        assert_eq!(any.set_knob("abest_longest", "none"), Ok(()));
        let fourth = any.on_estimate(&report(4, Some(50.0), 120), &open(250.0));
        assert_eq!(all(&fourth), [set(500.0), chirp(5, 250, 0.8, 100.0)]);
        let end = abest.on_estimate(&report(4, Some(50.0), 120), &open(251.0));
        assert_eq!(all(&end), [set(500.0)]);
    }

    #[test]
    fn the_second_chirp_ends_at_what_the_first_found_if_so_set() {
        let (mut abest, _) = start(50_000, 15, 1);
        assert_eq!(abest.set_knob("abest_c2_high", "1x"), Ok(()));
        assert_eq!(abest.set_knob("abest_longest", "5"), Ok(()));
        let _ = abest.on_estimate(&report(1, Some(50.0), 120), &open(6.0));
        let second = abest.on_estimate(&report(2, Some(50.0), 120), &open(12.0));
        assert!(second.contains(&chirp(3, 5, 0.2, 50.0)));
    }

    /// 1.2 Mbit/s and 20 ms hold two segments: no chirp, and a threshold of two.
    #[test]
    fn a_path_too_small_for_a_chirp_sets_the_threshold_to_what_it_holds() {
        let (mut abest, orders) = start(1200, 10, 1);
        let first = pairs_then(1, 2, Then::AwaitReport);
        assert_eq!(orders, [Order::SetCwnd(2.0), first]);
        let end = abest.on_estimate(&report(1, Some(1.2), 20), &open(3.0));
        assert_eq!(all(&end), [Order::SetSsthresh(2.0), even(2, 3, 10_000)]);
    }

    #[test]
    fn a_missing_segment_a_lost_report_or_a_lost_train_end_the_cycles() {
        let begun = || start(50_000, 15, 1).0;
        let mut missing = begun();
        assert!(missing
            .on_estimate(&report(1, None, 120), &open(4.0))
            .is_empty());
        assert!(!missing.interests().includes(Interests::ACKS));
        let mut lost = begun();
        let mut sender = open(5.0);
        sender.train = Some(1);
        assert!(
            lost.on_ack(&duplicate(100), &sender).is_empty()
                && lost.interests().includes(Interests::ACKS)
        );
        sender.train = None;
        assert!(
            lost.on_ack(&duplicate(100), &sender).is_empty()
                && !lost.interests().includes(Interests::ACKS)
        );
        // A report that is late or belongs to another train is ignored.
        assert!(lost
            .on_estimate(&report(1, Some(50.0), 120), &open(6.0))
            .is_empty());
        let mut other = begun();
        assert!(other
            .on_estimate(&report(9, Some(50.0), 120), &open(6.0))
            .is_empty());
        assert!(other.interests().includes(Interests::ACKS));
    }

    #[test]
    fn a_notice_in_a_recovery_or_with_a_small_window_waits() {
        let handoff = notice((6000, 50), (50_000, 15));
        let mut abest = Abest::default();
        let recovering = SenderView {
            in_rto_recovery: true,
            ..open(10.0)
        };
        assert!(abest.on_notice(&handoff, &recovering).is_empty());
        assert!(
            abest.on_ack(&duplicate(100), &recovering).is_empty()
                && abest.interests().includes(Interests::ACKS)
        );
        assert!(abest.on_ack(&duplicate(100), &open(3.0)).is_empty());
        assert_eq!(
            all(&abest.on_ack(&duplicate(100), &open(4.0))),
            [pairs(1, 4)]
        );
        // A second notice in the middle restarts it, with a new number.
        assert_eq!(all(&abest.on_notice(&handoff, &open(20.0))), [pairs(2, 4)]);
        assert!(abest
            .on_estimate(&report(1, Some(50.0), 120), &open(20.0))
            .is_empty());
        assert!(!abest
            .on_estimate(&report(2, Some(50.0), 120), &open(20.0))
            .is_empty());
    }

    /// Segments 1 to 9 were sent before the notice. A timeout for one of them gives no information about
    /// the new path, one for a later segment does.
    #[test]
    fn a_loss_from_before_the_handoff_defers_the_measurement_and_a_later_one_ends_it() {
        let handoff = notice((6000, 50), (50_000, 15));
        let sender = SenderView {
            snd_nxt: 10,
            snd_max: 10,
            ..open(20.0)
        };
        for (lost, deferred) in [(9, true), (10, false)] {
            for timeout in [true, false] {
                let mut abest = Abest::default();
                assert_eq!(all(&abest.on_notice(&handoff, &sender)), [pairs(1, 4)]);
                let lost = SenderView {
                    snd_una: lost,
                    ..sender
                };
                let _ = if timeout {
                    abest.on_timeout(&sender, &lost)
                } else {
                    abest.on_recovery(&lost)
                };
                assert_eq!(abest.interests().includes(Interests::ACKS), deferred);
                let report = report(1, Some(50.0), 120);
                assert!(abest.on_estimate(&report, &open(20.0)).is_empty());
                let again = if deferred { vec![pairs(2, 4)] } else { vec![] };
                assert_eq!(all(&abest.on_ack(&duplicate(100), &open(20.0))), again);
            }
        }
    }

    #[test]
    fn a_link_too_small_leaves_the_window_alone_after_a_handoff() {
        let mut abest = Abest::default();
        let small = notice((6000, 50), (200, 10));
        assert!(abest.on_notice(&small, &open(10.0)).is_empty());
        assert!(!abest.interests().includes(Interests::ACKS));
    }

    #[test]
    fn a_flow_near_its_end_has_shorter_trains_or_none() {
        let mut abest = Abest::default();
        let mut sender = open(10.0);
        sender.unsent = 3;
        let handoff = notice((6000, 50), (50_000, 15));
        assert_eq!(all(&abest.on_notice(&handoff, &sender)), [pairs(1, 3)]);
        sender.unsent = 1;
        assert!(
            abest.on_notice(&handoff, &sender).is_empty()
                && !abest.interests().includes(Interests::ACKS)
        );
    }
}
