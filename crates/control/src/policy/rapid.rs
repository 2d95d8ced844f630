//! RAPID (Konda & Kaur, "RAPID: Shrinking the Congestion-Control Timescale", INFOCOM 2009): a sender
//! without a window. It sends chirps one right after the other with an average rate of R; the
//! receiver reports the result of pathChirp for each, AB, and R follows.
//!
//! The paper was not available. From the comparison of schemes by Daniel & Kojo (report on available
//! bandwidth, section 2): the rates within a chirp rise exponentially, its average rate is the
//! previous estimate, the estimate is pathChirp's, and a gigabit path is reached in four round trips.
//! From other citations of the paper, not checked: N = 30 segments, each gap 1.2 times shorter than
//! the previous one; R + (l/tau)(AB - R) if AB >= R, with the duration l of the chirp and tau = 200
//! ms; R - (R - AB)/eta with eta = 3 otherwise; a start-up from 100 kbit/s with chirps of two
//! segments, twice as many each round trip up to N, in which R becomes AB; and half the rate after a
//! loss. These are defaults of knobs.
//!
//! Choices made here:
//!
//! - The average rate is N - 1 segments over the sum of the gaps: with N = 30 and 1.2 the gaps go
//!   from 0.206 R to 33.9 R. The gap from the last segment of a chirp to the first of the next is at
//!   rate R, so that the load is R, too. A chirp that has begun is not changed; the next one is
//!   computed when it is due, from the state at that time.
//! - Chirps of fewer segments cover the range of rates of a whole one (`rapid_startup`). With its
//!   spread they would cover less: from 100 kbit/s on, chirps of 2, 4, 8 and 16 reach no more than
//!   100, 121, 224 and 1075 kbit/s, one after the other, which is no gigabit in four round trips;
//!   with the range it is 100 kbit/s, 6 Mbit/s, 244 Mbit/s and 8.7 Gbit/s. The same applies to the
//!   end of a flow.
//! - The report is used unchanged, although pathChirp reports the first rate at which the delay rose,
//!   which exceeds the available bandwidth by up to the spread; the last rate at which it did not
//!   rise is an option (`rapid_estimate`).
//! - The gain l/tau is at most 1: below 1.74 Mbit/s a chirp takes longer than tau.
//! - R becomes AB up to the report of the first whole chirp, or a loss. Chirps grow up to that size
//!   in any case: whole chirps at the low rate of a start-up, or half of it, take seconds.
//! - R is halved once for the outstanding data, when fast retransmit or a timeout indicates a loss,
//!   which may be of a later segment than the current chirp. This applies to a timeout too, because
//!   halving is the only response described, and after a short outage the rate is known;
//!   alternatively the start-up restarts (`rapid_timeout`).
//! - Retransmission is TCP's, and chirps continue when it is over: in fast recovery from half of the
//!   outstanding data on, after a timeout in slow start up to the amount that the halved R sends in a
//!   round trip. TCP's own threshold, halved again by each timeout of an outage, is that of a window;
//!   retransmission of data sent without a window would take many round trips with it.
//! - R is at least one segment per second, the minimum that a retransmission timer expects of a path
//!   (RFC 6298 (2.4)), and at most 1 Tbit/s.
//! - The window is the receiver's, and the threshold has no effect. Segments beyond the window wait.
//! - It begins with the notice at the start of a connection, of which it uses no values, and is a
//!   plain sender without one. Other notices have no effect, unless `rapid_notice` makes it restart
//!   its start-up, or lets the next whole chirp set its rate as in the start-up.
//!
//! Consequence for short queues: a chirp whose average is the link's rate needs 16 places, because
//! most of its segments are sent at higher rates, close together, at its end.

use midflight_units::{Duration, Rate, Ring, Seq};

use super::{HandoffPolicy, TrainReport};
use crate::estimate::ChirpRule;
use crate::part::{choose, refuse, whole, Knob, KnobError, Part, PartInfo};
use crate::{
    AckNews, Interests, Notice, Order, Orders, SenderView, Spacing, StartNotice, Then, Train,
};

/// Segments of the first chirp.
const FIRST: u16 = 2;
/// In bit/s.
const MOST: f64 = 1e12;
/// RFC 5681 (4).
const LEAST_SSTHRESH: f64 = 2.0;

/// The phase of the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RapidState {
    /// No start notice has arrived.
    Idle,
    /// The SYN is not yet acknowledged.
    Opening,
    /// Chirps are sent, or a recovery is in progress.
    Running,
}

/// A chirp without a report so far.
#[derive(Clone, Copy, Debug)]
struct Chirp {
    number: u16,
    /// Intended number of segments, if there had been enough to send.
    size: u16,
    /// Time from the first segment to the last.
    lasts: Duration,
    /// Highest rate, and its ratio to the previous one.
    high: Rate,
    factor: f64,
}

/// The effect of a notice.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AtNotice {
    Ignore,
    Restart,
    Jump,
}

/// State and knobs.
#[derive(Clone, Debug)]
pub struct Rapid {
    phase: RapidState,
    /// R, in bit/s.
    rate: f64,
    /// Current number of segments per chirp.
    size: u16,
    /// R becomes the result of a chirp, up to the first whole one.
    jumps: bool,
    /// Number of the last chirp.
    number: u16,
    chirps: Ring<Chirp>,
    /// A loss below this belongs to the same episode as the last.
    recover: Seq,
    segments: u16,
    spread: f64,
    initial: Rate,
    tau: Duration,
    eta: f64,
    /// Shorter chirps cover the range of a whole one.
    whole_range: bool,
    /// The estimate is the rate below the reported one.
    below: bool,
    restart_after_timeout: bool,
    at_notice: AtNotice,
}

impl Default for Rapid {
    fn default() -> Self {
        Self {
            phase: RapidState::Idle,
            rate: 0.0,
            size: FIRST,
            jumps: false,
            number: 0,
            chirps: Ring::default(),
            recover: 0,
            segments: 30,
            spread: 1.2,
            initial: Rate::from_bps(100_000).unwrap_or(Rate::from_mbps(1)),
            tau: Duration::from_millis(200),
            eta: 3.0,
            whole_range: true,
            below: false,
            restart_after_timeout: false,
            at_notice: AtNotice::Ignore,
        }
    }
}

impl Part for Rapid {
    const INFO: PartInfo = PartInfo {
        name: "rapid",
        summary: "continuous chirps, whose average rate follows the receiver's reports",
        source: "Konda & Kaur 2009, as far as Daniel & Kojo's report on available bandwidth and others describe it",
        knobs: &[
            Knob {
                name: "rapid_segments",
                default: "30",
                accepts: "a whole number from 3 to 1000",
                summary: "segments of a chirp, N",
            },
            Knob {
                name: "rapid_spread",
                default: "1.2",
                accepts: "a number above 1 and up to 4",
                summary: "by what factor each gap of a chirp is shorter than the one before",
            },
            Knob {
                name: "rapid_initial",
                default: "100 kbit/s",
                accepts: "a rate",
                summary: "rate of the first chirp",
            },
            Knob {
                name: "rapid_tau",
                default: "200 ms",
                accepts: "a time longer than zero",
                summary: "time in which a rate that is too low reaches the available rate",
            },
            Knob {
                name: "rapid_eta",
                default: "3",
                accepts: "a whole number from 1 to 100",
                summary: "part of the difference by which a rate that is too high is reduced at each report",
            },
            Knob {
                name: "rapid_startup",
                default: "range",
                accepts: "range, spread",
                summary: "what shorter chirps have in common with a full-length one: their range of rates or their spread",
            },
            Knob {
                name: "rapid_estimate",
                default: "reported",
                accepts: "reported, below",
                summary: "use the reported rate, at which the delay rose, or the next lower one of the chirp",
            },
            Knob {
                name: "rapid_timeout",
                default: "halve",
                accepts: "halve, restart",
                summary: "effect of a timeout: half the rate, or a new start-up",
            },
            Knob {
                name: "rapid_notice",
                default: "ignore",
                accepts: "ignore, restart, jump",
                summary: "effect of a notice: none, a new start-up, or the next chirp sets the rate at once",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let info = &Self::INFO;
        let refused = || refuse(info, name, value);
        match name {
            "rapid_segments" => self.segments = whole(info, name, value, 3..=1000)? as u16,
            "rapid_spread" => {
                let spread = value.parse().ok().filter(|&s: &f64| s > 1.0 && s <= 4.0);
                self.spread = spread.ok_or_else(refused)?;
            }
            "rapid_initial" => self.initial = value.parse().map_err(|_| refused())?,
            "rapid_tau" => {
                let tau = value.parse().ok().filter(|&t| t > Duration::ZERO);
                self.tau = tau.ok_or_else(refused)?;
            }
            "rapid_eta" => self.eta = f64::from(whole(info, name, value, 1..=100)?),
            "rapid_startup" => {
                let choices = [("range", true), ("spread", false)];
                self.whole_range = choose(info, name, value, &choices)?;
            }
            "rapid_estimate" => {
                self.below = choose(info, name, value, &[("reported", false), ("below", true)])?;
            }
            "rapid_timeout" => {
                let choices = [("halve", false), ("restart", true)];
                self.restart_after_timeout = choose(info, name, value, &choices)?;
            }
            _ => {
                let choices = [
                    ("ignore", AtNotice::Ignore),
                    ("restart", AtNotice::Restart),
                    ("jump", AtNotice::Jump),
                ];
                self.at_notice = choose(info, name, value, &choices)?;
            }
        }
        Ok(())
    }
}

fn rate(bps: f64) -> Rate {
    Rate::from_bps((bps + 0.5) as u64).unwrap_or(Rate::from_mbps(1))
}

impl Rapid {
    fn is_running(&self) -> bool {
        self.phase == RapidState::Running
    }

    fn start_up(&mut self) {
        self.phase = RapidState::Running;
        self.size = FIRST;
        self.jumps = true;
        self.rate = self.initial.as_bps() as f64;
        self.chirps.clear();
    }

    fn set_rate(&mut self, bps: f64, view: &SenderView) {
        let least = 8.0 * f64::from(view.segment_bytes);
        let least = least.min(self.initial.as_bps() as f64);
        self.rate = bps.clamp(least, MOST.max(least));
    }

    /// The factor by which the gaps of a chirp with this many segments shrink.
    fn factor(&self, segments: u16) -> f64 {
        if self.whole_range && segments > 2 {
            let steps = f64::from(self.segments - 2) / f64::from(segments - 2);
            libm::pow(self.spread, steps)
        } else {
            self.spread
        }
    }

    /// Lowest and highest rate of a chirp with this many segments and average rate R. The gaps are 1,
    /// 1/f, 1/f^2 ... of the first; their sum is a geometric series.
    fn rates(&self, segments: u16) -> (f64, f64) {
        if segments <= 2 {
            return (self.rate, self.rate);
        }
        let factor = self.factor(segments);
        let gaps = f64::from(segments - 1);
        let sum = (1.0 - libm::pow(factor, -gaps)) / (1.0 - 1.0 / factor);
        let low = self.rate * sum / gaps;
        (low, low * libm::pow(factor, gaps - 1.0))
    }

    /// The next chirp, with as many segments as are available.
    fn chirp(&mut self, mut orders: Orders, view: &SenderView) -> Orders {
        let size = self.size;
        let most = view.unsent.min(view.receiver_window).max(1);
        let segments = u16::try_from(most).map_or(size, |most| size.min(most));
        let (low, high) = self.rates(segments);
        let (average, low, high) = (rate(self.rate), rate(low), rate(high));
        let gap = average.transmission_time(view.segment_bytes.into());
        self.number = self.number.wrapping_add(1);
        self.chirps.push(Chirp {
            number: self.number,
            size,
            lasts: gap * u64::from(segments - 1),
            high,
            factor: self.factor(segments),
        });
        let train = Train {
            number: self.number,
            segments,
            spacing: Spacing::Chirp {
                low,
                high,
                rule: Some(ChirpRule::PathChirp),
            },
            then: Then::NextAfter(gap),
        };
        orders.push(Order::SendTrain(train), format!("{average} on average"));
        orders
    }

    /// Chirps begin, or continue after a recovery.
    fn begin(&mut self, view: &SenderView) -> Orders {
        let window = view.receiver_window as f64;
        let mut orders = Orders::none();
        let why = "what goes at a rate needs no window";
        if (view.cwnd..=window).contains(&view.ssthresh) && view.cwnd < view.ssthresh {
            // Slow start makes no difference here, so the threshold keeps the sender in it.
            orders.push(Order::SetSsthresh(window + 1.0), why);
        }
        if view.cwnd < window {
            orders.push(Order::SetCwnd(window), why);
        }
        self.chirp(orders, view)
    }

    /// A segment is considered lost; the sender has sent up to `sent`.
    fn lost(&mut self, sent: Seq, view: &SenderView) {
        if view.snd_una >= self.recover {
            self.recover = sent;
            self.jumps = false;
            self.set_rate(self.rate / 2.0, view);
        }
    }

    /// Processes the result of a chirp.
    fn on_report_of(&mut self, chirp: &Chirp, reported: Rate, view: &SenderView) {
        let mut available = reported.as_bps() as f64;
        // Without a rise it is the highest rate, apart from the rounding of the last gap.
        let risen = available < 0.999 * chirp.high.as_bps() as f64;
        if self.below && risen {
            available /= chirp.factor;
        }
        let above = available - self.rate;
        let new = if self.jumps {
            available
        } else if above >= 0.0 {
            let gain = chirp.lasts.as_secs_f64() / self.tau.as_secs_f64();
            self.rate + gain.min(1.0) * above
        } else {
            self.rate + above / self.eta
        };
        self.set_rate(new, view);
        if chirp.size >= self.segments {
            self.jumps = false;
        } else if chirp.size == self.size {
            self.size = (2 * chirp.size).min(self.segments);
        }
    }
}

impl HandoffPolicy for Rapid {
    fn on_notice(&mut self, _notice: &Notice, view: &SenderView) -> Orders {
        if !self.is_running() || self.at_notice == AtNotice::Ignore {
            return Orders::none();
        }
        if self.at_notice == AtNotice::Restart {
            self.start_up();
        } else {
            self.jumps = true;
            self.chirps.clear();
        }
        // Losses from before the notice give no information about the new path.
        self.recover = view.snd_max;
        if view.may_train && view.unsent > 0 {
            return self.begin(view);
        }
        Orders::none()
    }

    fn on_start(&mut self, _notice: &StartNotice, _view: &SenderView) -> Orders {
        self.phase = RapidState::Opening;
        Orders::none()
    }

    fn interests(&self) -> Interests {
        Interests::START | Interests::ACKS.when(self.phase != RapidState::Idle)
    }

    fn on_ack(&mut self, _ack: &AckNews, view: &SenderView) -> Orders {
        if view.train.is_some() || view.snd_una == 0 {
            return Orders::none();
        }
        if view.may_train {
            if view.unsent == 0 {
                return Orders::none();
            }
            if self.phase == RapidState::Opening {
                self.start_up();
            }
            return self.begin(view);
        }
        // The unused part of the window is reserved for chirps. In congestion avoidance the window
        // stays at least at the threshold, so that this does not start slow start; some new segments
        // may be sent because of that.
        let mut enough = view.flight_size() as f64;
        if view.cwnd >= view.ssthresh {
            enough = enough.max(view.ssthresh);
        }
        if view.snd_nxt < view.snd_max && !view.in_fast_recovery && view.cwnd > enough {
            let why = "what is resent is no more than what is outstanding";
            return Orders::none().with(Order::SetCwnd(enough), why);
        }
        Orders::none()
    }

    fn on_train_over(&mut self, view: &SenderView) -> Orders {
        if !self.is_running() {
            return Orders::none();
        }
        self.chirp(Orders::none(), view)
    }

    fn on_estimate(&mut self, report: &TrainReport, view: &SenderView) -> Orders {
        let number = report.estimate.train;
        let Some(place) = self.chirps.iter().position(|c| c.number == number) else {
            return Orders::none();
        };
        let chirp = self.chirps.get_mut(place).copied();
        self.chirps.drop_front(place + 1);
        if let (Some(chirp), Some(reported)) = (chirp, report.estimate.rate) {
            self.on_report_of(&chirp, reported, view);
        }
        Orders::none()
    }

    fn on_timeout(&mut self, before: &SenderView, view: &SenderView) -> Orders {
        if !self.is_running() {
            return Orders::none();
        }
        self.lost(before.snd_max, view);
        let holds = self.rate * before.srtt.unwrap_or(Duration::ZERO).as_secs_f64();
        let holds = (holds / 8.0 / f64::from(view.segment_bytes)).max(LEAST_SSTHRESH);
        if self.restart_after_timeout {
            self.start_up();
        }
        self.chirps.clear();
        let why = "what is resent goes in slow start up to the rate";
        Orders::none().with(Order::SetSsthresh(holds), why)
    }

    fn on_recovery(&mut self, view: &SenderView) -> Orders {
        if !self.is_running() {
            return Orders::none();
        }
        self.lost(view.snd_max, view);
        let flight = view.flight_size() as f64;
        let why = "what is outstanding is the window that is reduced";
        Orders::none().with(Order::SetCwnd(flight.min(view.cwnd).max(1.0)), why)
    }
}

#[cfg(test)]
mod tests;
