//! Careful Resume (RFC 9959): a sender with a known path capacity, from an earlier connection or from a notice,
//! increases its window to half of that after the path has been confirmed, and retreats at once if that was too much.
//!
//! | phase | from | what it does |
//! |---|---|---|
//! | reconnaissance | a notice | the initial window goes and is acknowledged, with a round trip above half and at most ten times the known one |
//! | unvalidated | that | PipeSize is what is in flight; the window is half of what is known and does not grow, and the segments leave evenly over a round trip |
//! | validating | the window is full, an unvalidated segment is acknowledged, or a round trip is over | the window is what is in flight, and grows as usual; if that is no more than PipeSize the window is PipeSize, at least the initial one, and the phase is left out |
//! | safe retreat | a loss in one of these two | half of PipeSize, and no growth until the last unvalidated segment is acknowledged; then the threshold is beta PipeSize |
//! | normal | the end of any | nothing |
//!
//! In the three phases before the last, PipeSize grows by what each ACK newly acknowledges. The text is that of the
//! working group's copy after draft-ietf-tsvwg-careful-resume-20, which became the RFC: sections "Unvalidated Phase",
//! "Validating Phase" and "Safe Retreat Phase". Its example with a loss counts only unvalidated segments (29 + 34); the
//! sections and the table of actions, which are followed here, count all. A retreat has no floor but the two packets of
//! RFC 9002 section 7.2; the example, like draft -06, has one of the initial window, which the limit of half of
//! PipeSize does not allow.
//!
//! The known capacity is the bandwidth-delay product of the link in the notice, at the start or at a handoff: it is
//! exact, so it has no lifetime. Knobs replace it by another window and round trip, as saved by an earlier connection.
//! With several flows that move together it is a flow's share. Throughput advice (SCONE) is a rate without a round
//! trip: the window is then the rate times the round trip that the reconnaissance measures, if the advice has not
//! expired. Packets of another path are ignored: the round trip is that of segments sent after the notice.

use midflight_units::{Duration, Instant, Seq};

use super::pair::bdp_segments;
use super::HandoffPolicy;
use crate::part::{choose, refuse, whole, Knob, KnobError, Part, PartInfo};
use crate::{
    AckNews, Advice, Interests, LinkInfo, Notice, Order, Orders, Pacing, SenderView, StartNotice,
};

/// Section 4.2: a round trip outside these bounds belongs to another path.
const SHORTEST: u64 = 2;
const LONGEST: u64 = 10;
/// Packets of the least window (RFC 9002 section 7.2).
const LEAST_WINDOW: u64 = 2;
/// A saved window of less than this many initial windows is not used (section 4.1).
const LEAST: f64 = 4.0;

/// What is known about the path.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Known {
    what: Capacity,
    /// Since when segments use it.
    since: Instant,
}

/// The capacity of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Capacity {
    /// A window, and the round trip that it belongs to.
    Window { segments: f64, rtt: Duration },
    /// Throughput advice, until it expires. The round trip is the one that the reconnaissance measures.
    Rate(Advice),
}

/// The phases of the RFC; see the module documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    #[default]
    Normal,
    Reconnaissance {
        acked: u64,
    },
    Unvalidated {
        pipe_size: u64,
        /// The first segment that would not have been sent without the jump.
        first: Seq,
        until: Instant,
    },
    Validating {
        pipe_size: u64,
        last: Last,
    },
    Retreat {
        pipe_size: u64,
        last: Last,
    },
}

/// The last unvalidated segment: one past it, and when later segments were sent. An ACK of either ends a phase; in the
/// second case earlier segments may be missing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Last {
    end: Seq,
    later: Instant,
}

impl Last {
    fn sent(view: &SenderView) -> Self {
        let (end, later) = (view.snd_max, view.now);
        Self { end, later }
    }

    fn is_acked(self, ack: &AckNews, view: &SenderView) -> bool {
        let selectively = ack.blocks.iter().any(|&(_, end)| end >= self.end);
        let later = ack.echo.is_some_and(|echo| echo >= self.later);
        view.snd_una >= self.end || selectively || later
    }
}

/// Segments that an ACK shows to have arrived.
fn newly(ack: &AckNews) -> u64 {
    ack.rate.map_or(ack.advanced, |rate| rate.newly)
}

impl Phase {
    /// The order that ends the growth hold of a safe retreat.
    fn let_grow(self, because: &'static str) -> Orders {
        match self {
            Self::Retreat { .. } => Orders::none().with(Order::HoldGrowth(Instant::ZERO), because),
            _ => Orders::none(),
        }
    }
}

/// State and knobs.
#[derive(Clone, Copy, Debug)]
pub struct CarefulResume {
    saved_window: Option<u64>,
    saved_rtt: Option<Duration>,
    /// One RTT sample ends the reconnaissance, not the ACK of the initial window, as in picoquic.
    after_a_sample: bool,
    /// Percentage of the known capacity.
    jump: u64,
    beta: f64,
    known: Option<Known>,
    phase: Phase,
}

impl Default for CarefulResume {
    fn default() -> Self {
        Self {
            saved_window: None,
            saved_rtt: None,
            after_a_sample: false,
            jump: 50,
            beta: 0.5,
            known: None,
            phase: Phase::Normal,
        }
    }
}

impl Part for CarefulResume {
    const INFO: PartInfo = PartInfo {
        name: "careful-resume",
        summary: "an increase to half of the path's known capacity after one round trip has confirmed the path, and a safe retreat",
        source: "RFC 9959",
        knobs: &[
            Knob {
                name: "resume_window",
                default: "notice",
                accepts: "a whole number of segments from 1 to 1000000, or notice",
                summary: "the saved window of the path (saved_cwnd); notice uses the bandwidth-delay product of the link",
            },
            Knob {
                name: "resume_rtt",
                default: "notice",
                accepts: "a time longer than zero, or notice",
                summary: "the saved round trip of the path (saved_rtt); notice uses that of the link",
            },
            Knob {
                name: "resume_after",
                default: "window",
                accepts: "window, sample",
                summary: "the increase comes when the initial window is acknowledged (RFC 9959), or at the first sample of the round trip, including that of the handshake (picoquic)",
            },
            Knob {
                name: "resume_jump",
                default: "50",
                accepts: "a whole number from 1 to 100",
                summary: "the increase in hundredths of that (RFC 9959: at most 50)",
            },
            Knob {
                name: "resume_beta",
                default: "0.5",
                accepts: "0.5, 0.7",
                summary: "the threshold after a safe retreat as a share of PipeSize: 0.7 with CUBIC",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        match name {
            "resume_window" if value == "notice" => self.saved_window = None,
            "resume_window" => {
                self.saved_window = Some(whole(&Self::INFO, name, value, 1..=1_000_000)?.into());
            }
            "resume_rtt" if value == "notice" => self.saved_rtt = None,
            "resume_rtt" => {
                let rtt = value.parse().ok().filter(|&rtt| rtt > Duration::ZERO);
                self.saved_rtt = Some(rtt.ok_or_else(|| refuse(&Self::INFO, name, value))?);
            }
            "resume_after" => {
                let choices = [("window", false), ("sample", true)];
                self.after_a_sample = choose(&Self::INFO, name, value, &choices)?;
            }
            "resume_jump" => self.jump = whole(&Self::INFO, name, value, 1..=100)?.into(),
            _ => self.beta = choose(&Self::INFO, name, value, &[("0.5", 0.5), ("0.7", 0.7)])?,
        }
        Ok(())
    }
}

impl CarefulResume {
    /// A path with this link is in use from now on.
    fn begin(&mut self, link: LinkInfo, flows: u32, view: &SenderView) {
        let share = link.bdp_segments(view.segment_bytes) as f64 / f64::from(flows.max(1));
        let segments = self.saved_window.map_or(share, |saved| saved as f64);
        let rtt = self.saved_rtt.unwrap_or_else(|| link.round_trip());
        let is_worth_it = segments >= LEAST * view.initial_window;
        self.reconnoitre_with(
            is_worth_it.then_some(Capacity::Window { segments, rtt }),
            view,
        );
    }

    fn reconnoitre_with(&mut self, what: Option<Capacity>, view: &SenderView) {
        let since = view.now;
        self.known = what.map(|what| Known { what, since });
        self.phase = match self.known {
            Some(_) => Phase::Reconnaissance { acked: 0 },
            None => Phase::Normal,
        };
    }

    /// Begins with the initial window on another path (RFC 9959 section 4.2).
    fn on_another_path(&self, grows: Orders, view: &SenderView) -> Orders {
        if self.known.is_none() || view.cwnd <= view.initial_window {
            return grows;
        }
        grows
            .with(
                Order::SetCwnd(view.initial_window),
                "another path: its round trip first",
            )
            .with(
                Order::SetSsthresh(view.initial_ssthresh),
                "nothing is known of congestion there",
            )
    }

    /// The round trip of a packet sent since the path is in use, if the ACK covers one.
    fn round_trip(known: Known, ack: &AckNews, view: &SenderView) -> Option<Duration> {
        let echo = ack.echo.filter(|&echo| echo >= known.since)?;
        Some(view.now.since(echo))
    }

    fn reconnoitre(&mut self, acked: u64, ack: &AckNews, view: &SenderView) -> Orders {
        let Some(known) = self.known else {
            self.phase = Phase::Normal;
            return Orders::none();
        };
        let Some(rtt) = Self::round_trip(known, ack, view) else {
            return Orders::none();
        };
        let window = match known.what {
            Capacity::Window { segments, rtt: of } => {
                let fits = rtt * SHORTEST > of && rtt <= of * LONGEST;
                fits.then_some(segments)
            }
            Capacity::Rate(advice) => (view.now < advice.until)
                .then(|| bdp_segments((advice.rate, rtt), view))
                .filter(|&window| window >= LEAST * view.initial_window),
        };
        let Some(window) = window else {
            self.phase = Phase::Normal;
            return Orders::none();
        };
        let acked = acked + ack.advanced;
        if !self.after_a_sample && (acked as f64) < view.initial_window {
            self.phase = Phase::Reconnaissance { acked };
            return Orders::none();
        }
        let jump = (window * self.jump as f64 / 100.0).floor();
        if jump <= view.cwnd {
            self.phase = Phase::Normal;
            return Orders::none();
        }
        self.phase = Phase::Unvalidated {
            pipe_size: view.pipe,
            first: view.snd_max,
            until: view.now + rtt,
        };
        Orders::none()
            .with(
                Order::SetCwnd(jump),
                "the path has shown itself: half of what it is known to hold",
            )
            .with(
                Order::Pace(Pacing::Window { over: rtt }),
                "no burst: over a round trip",
            )
            .with(
                Order::HoldGrowth(view.now),
                "what is acknowledged before the jump says nothing of it",
            )
    }

    fn leave_unvalidated(&mut self, pipe_size: u64, view: &SenderView) -> Orders {
        let flight = view.pipe;
        let pace = Orders::none().with(Order::Pace(Pacing::Off), "the jump is over");
        if flight <= pipe_size || (flight as f64) < view.initial_window {
            self.phase = Phase::Normal;
            let cwnd = (pipe_size as f64).max(view.initial_window);
            return pace.with(Order::SetCwnd(cwnd), "the jump was not used");
        }
        self.phase = Phase::Validating {
            pipe_size,
            last: Last::sent(view),
        };
        pace.with(
            Order::SetCwnd(flight as f64),
            "the window is what is in flight",
        )
    }
}

impl HandoffPolicy for CarefulResume {
    fn on_start(&mut self, notice: &StartNotice, view: &SenderView) -> Orders {
        self.begin(notice.link, notice.flows, view);
        Orders::none()
    }

    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders {
        let grows = self.phase.let_grow("another path");
        self.begin(notice.new, notice.flows, view);
        self.on_another_path(grows, view)
    }

    fn on_advice(&mut self, advice: &Advice, view: &SenderView) -> Orders {
        if !advice.anew {
            return Orders::none();
        }
        let grows = self.phase.let_grow("another path");
        self.reconnoitre_with(Some(Capacity::Rate(*advice)), view);
        self.on_another_path(grows, view)
    }

    fn interests(&self) -> Interests {
        Interests::START
            | Interests::ADVICE
            | Interests::RATES
            | Interests::ACKS.when(self.phase != Phase::Normal)
    }

    fn on_ack(&mut self, ack: &AckNews, view: &SenderView) -> Orders {
        match self.phase {
            // The handshake has no data: its ACK does not count for the initial window.
            Phase::Reconnaissance { acked }
                if self.after_a_sample || view.snd_una > 1 || ack.una_before > 0 =>
            {
                self.reconnoitre(acked, ack, view)
            }
            Phase::Normal | Phase::Reconnaissance { .. } => Orders::none(),
            Phase::Unvalidated {
                pipe_size,
                first,
                until,
            } => {
                let pipe_size = pipe_size + newly(ack);
                let is_full = view.pipe as f64 >= view.cwnd;
                if is_full || view.snd_una > first || view.now > until {
                    return self.leave_unvalidated(pipe_size, view);
                }
                self.phase = Phase::Unvalidated {
                    pipe_size,
                    first,
                    until,
                };
                Orders::none()
            }
            Phase::Validating { pipe_size, last } => {
                self.phase = if last.is_acked(ack, view) {
                    Phase::Normal
                } else {
                    let pipe_size = pipe_size + newly(ack);
                    Phase::Validating { pipe_size, last }
                };
                Orders::none()
            }
            Phase::Retreat { pipe_size, last } => {
                let pipe_size = pipe_size + newly(ack);
                if !last.is_acked(ack, view) {
                    self.phase = Phase::Retreat { pipe_size, last };
                    return Orders::none();
                }
                self.phase = Phase::Normal;
                let most = (pipe_size as f64 * self.beta).max(2.0);
                let over = "the last unvalidated segment is acknowledged";
                Orders::none()
                    .with(Order::SetSsthresh(most), over)
                    .with(Order::HoldGrowth(Instant::ZERO), over)
            }
        }
    }

    fn on_recovery(&mut self, view: &SenderView) -> Orders {
        let (pipe_size, last) = match self.phase {
            Phase::Unvalidated { pipe_size, .. } => (pipe_size, Last::sent(view)),
            Phase::Validating { pipe_size, last } => (pipe_size, last),
            Phase::Reconnaissance { .. } => {
                // Congestion before the jump: there will be no jump.
                (self.phase, self.known) = (Phase::Normal, None);
                return Orders::none();
            }
            Phase::Normal | Phase::Retreat { .. } => return Orders::none(),
        };
        self.known = None;
        self.phase = Phase::Retreat { pipe_size, last };
        let cwnd = (pipe_size / 2).max(LEAST_WINDOW) as f64;
        Orders::none()
            .with(
                Order::KeepWindow,
                "the jump was too much, not what was there before",
            )
            .with(Order::Pace(Pacing::Off), "the jump is over")
            .with(Order::SetCwnd(cwnd), "half of what is validated")
            .with(
                Order::HoldGrowth(Instant::NEVER),
                "no growth in a safe retreat",
            )
    }

    fn on_timeout(&mut self, _before: &SenderView, _view: &SenderView) -> Orders {
        let ended = std::mem::take(&mut self.phase);
        self.known = None;
        ended.let_grow("a timeout ends it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::testing::{advance, duplicate};
    use crate::policy::testing::{link, view};
    use crate::RateSample;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * MS)
    }

    /// A sender with a saved window of 300 packets and a round trip of 100 ms, with all of its initial window
    /// acknowledged and 29 packets in flight: appendix B of RFC 9959.
    fn jumped() -> (CarefulResume, SenderView, Orders) {
        let mut resume = CarefulResume {
            saved_window: Some(300),
            ..CarefulResume::default()
        };
        let notice = StartNotice {
            link: link(50_000, 50),
            flows: 1,
        };
        let mut sender = view(1, 1000);
        (sender.now, sender.initial_window) = (at(0), 10.0);
        assert!(resume.on_start(&notice, &sender).is_empty());
        (sender.now, sender.snd_una, sender.snd_max) = (at(201), 11, 40);
        (sender.pipe, sender.cwnd) = (29, 29.0);
        let ack = AckNews {
            echo: Some(at(101)),
            ..advance(11, 10)
        };
        let orders = resume.on_ack(&ack, &sender);
        (resume, sender, orders)
    }

    #[test]
    fn the_example_of_appendix_b() {
        let (mut resume, mut sender, orders) = jumped();
        assert!(orders.contains(&Order::SetCwnd(150.0)));
        let over = Duration::from_millis(100);
        assert!(orders.contains(&Order::Pace(Pacing::Window { over })));
        assert!(orders.contains(&Order::HoldGrowth(sender.now)));
        let unvalidated = |first| Phase::Unvalidated {
            pipe_size: 29,
            first,
            until: at(301),
        };
        assert_eq!(resume.phase, unvalidated(40));
        // 121 packets more fill the window.
        (sender.cwnd, sender.pipe, sender.snd_max) = (150.0, 150, 40 + 121);
        sender.now = at(290);
        let orders = resume.on_ack(&advance(12, 1), &sender);
        assert!(orders.contains(&Order::SetCwnd(150.0)));
        let last = Last {
            end: 161,
            later: at(290),
        };
        assert_eq!(
            resume.phase,
            Phase::Validating {
                pipe_size: 30,
                last
            }
        );
        // Each acknowledged packet adds to the pipe size.
        sender.snd_una = 41;
        assert!(resume.on_ack(&advance(41, 29), &sender).is_empty());
        assert_eq!(
            resume.phase,
            Phase::Validating {
                pipe_size: 59,
                last
            }
        );
        // Later segments are acknowledged first if the last one is missing.
        let mut other = resume;
        let later = AckNews {
            echo: Some(at(290)),
            ..duplicate(41)
        };
        assert!(other.on_ack(&later, &sender).is_empty());
        assert_eq!(other.phase, Phase::Normal);
        sender.snd_una = 161;
        assert!(resume.on_ack(&advance(161, 120), &sender).is_empty());
        assert_eq!(resume.phase, Phase::Normal);
    }

    #[test]
    fn a_loss_of_the_jump_halves_the_pipe_and_the_threshold_comes_at_its_end() {
        let (mut resume, mut sender, _) = jumped();
        (sender.pipe, sender.snd_max) = (90, 101);
        let orders = resume.on_recovery(&sender);
        assert!(orders.contains(&Order::KeepWindow) && orders.contains(&Order::SetCwnd(14.0)));
        assert!(orders.contains(&Order::HoldGrowth(Instant::NEVER)));
        sender.snd_una = 40;
        assert!(resume.on_ack(&advance(40, 29), &sender).is_empty());
        // What is acknowledged selectively has arrived as well.
        let rate = RateSample {
            newly: 50,
            ..RateSample::default()
        };
        let blocks = [(41, 91)];
        let selective = AckNews {
            blocks: &blocks,
            rate: Some(rate),
            ..duplicate(40)
        };
        assert!(resume.on_ack(&selective, &sender).is_empty());
        sender.snd_una = 101;
        let last = AckNews {
            rate: Some(RateSample { newly: 11, ..rate }),
            ..advance(101, 61)
        };
        let orders = resume.on_ack(&last, &sender);
        // Half of 29 + 29 + 50 + 11.
        assert!(orders.contains(&Order::SetSsthresh(59.5)), "{orders:?}");
        assert!(orders.contains(&Order::HoldGrowth(Instant::ZERO)));
        assert_eq!((resume.phase, resume.known), (Phase::Normal, None));
    }

    /// Throughput advice has no round trip: the window is the rate times the measured round trip, unless the advice has
    /// expired.
    #[test]
    fn advice_is_a_rate_over_the_round_trip_that_the_path_shows() {
        let rate = link(10_000, 1).rate;
        for (acked_ms, window) in [(201, Some(100.0)), (67_000, None)] {
            let mut resume = CarefulResume::default();
            let mut sender = view(30, 1000);
            (sender.now, sender.initial_window, sender.segment_bytes) = (at(0), 10.0, 1250);
            let advice = Advice::of(rate, at(0), true).unwrap_or_else(|| unreachable!());
            let orders = resume.on_advice(&advice, &sender);
            assert!(orders.contains(&Order::SetCwnd(10.0)), "another path");
            (sender.now, sender.snd_una, sender.snd_max) = (at(acked_ms), 41, 60);
            (sender.pipe, sender.cwnd) = (19, 20.0);
            let ack = AckNews {
                echo: Some(at(acked_ms - 200)),
                ..advance(41, 10)
            };
            // 10 Mbit/s over 200 ms are 200 packets of 1250 bytes, and the jump is half of that.
            let orders = resume.on_ack(&ack, &sender);
            match window {
                Some(window) => assert!(orders.contains(&Order::SetCwnd(window)), "{orders:?}"),
                None => assert!(orders.is_empty() && resume.phase == Phase::Normal),
            }
            let again = Advice {
                anew: false,
                ..advice
            };
            assert!(resume.on_advice(&again, &sender).is_empty());
        }
    }

    /// A timeout ends the retreat, and so does another path; the window may grow again.
    #[test]
    fn a_retreat_that_is_cut_short_lets_the_window_grow() {
        let (mut resume, sender, _) = jumped();
        let _ = resume.on_recovery(&sender);
        let orders = resume.on_timeout(&sender, &sender);
        assert!(orders.contains(&Order::HoldGrowth(Instant::ZERO)));
        assert!(resume.on_timeout(&sender, &sender).is_empty());
        assert_eq!(resume.phase, Phase::Normal);
    }

    #[test]
    fn a_jump_that_is_not_used_is_taken_back() {
        let (mut resume, mut sender, _) = jumped();
        (sender.now, sender.pipe, sender.cwnd) = (at(302), 20, 150.0);
        let mut none = resume;
        let orders = resume.on_ack(&advance(12, 1), &sender);
        assert!(orders.contains(&Order::SetCwnd(30.0)));
        assert_eq!(resume.phase, Phase::Normal);
        // Not below the initial window without congestion.
        none.phase = Phase::Unvalidated {
            pipe_size: 4,
            first: 40,
            until: at(301),
        };
        sender.pipe = 5;
        let orders = none.on_ack(&advance(12, 1), &sender);
        assert!(orders.contains(&Order::SetCwnd(10.0)));
    }

    /// What is acknowledged while the jump is sent is part of the pipe, and a retreat halves all of it.
    #[test]
    fn the_pipe_grows_while_the_jump_is_sent() {
        let (mut resume, mut sender, _) = jumped();
        (sender.pipe, sender.cwnd, sender.now) = (60, 150.0, at(250));
        sender.snd_una = 30;
        assert!(resume.on_ack(&advance(30, 19), &sender).is_empty());
        let orders = resume.on_recovery(&sender);
        assert!(orders.contains(&Order::SetCwnd(24.0)), "half of 29 + 19");
        let mut little = CarefulResume {
            phase: Phase::Validating {
                pipe_size: 1,
                last: Last::sent(&sender),
            },
            ..resume
        };
        let orders = little.on_recovery(&sender);
        assert!(orders.contains(&Order::SetCwnd(2.0)));
    }

    /// Half of the known round trip or less, or more than ten times it, is another path.
    #[test]
    fn another_round_trip_is_another_path() {
        for (rtt_ms, jumps) in [(50, false), (52, true), (1000, true), (1003, false)] {
            let mut resume = CarefulResume::default();
            let notice = StartNotice {
                link: link(50_000, 50),
                flows: 1,
            };
            let mut sender = view(1, 1000);
            (sender.now, sender.initial_window) = (at(0), 10.0);
            let _ = resume.on_start(&notice, &sender);
            (sender.now, sender.snd_una, sender.cwnd) = (at(5000), 11, 20.0);
            let ack = AckNews {
                echo: Some(at(5000 - rtt_ms)),
                ..advance(11, 10)
            };
            let orders = resume.on_ack(&ack, &sender);
            // 50 Mbit/s in 100 ms are 416 packets.
            assert_eq!(orders.contains(&Order::SetCwnd(208.0)), jumps, "{rtt_ms}");
        }
    }

    /// The sample of the handshake is enough if one sample ends the reconnaissance.
    #[test]
    fn a_sample_is_enough_if_it_is_said_to_be() {
        for (after_a_sample, saved_ms, jumps) in
            [(true, 100, true), (false, 100, false), (true, 210, false)]
        {
            let mut resume = CarefulResume {
                saved_window: Some(300),
                saved_rtt: Some(Duration::from_millis(saved_ms)),
                after_a_sample,
                jump: 100,
                ..CarefulResume::default()
            };
            let notice = StartNotice {
                link: link(50_000, 1),
                flows: 1,
            };
            let mut sender = view(0, 1);
            (sender.now, sender.initial_window, sender.cwnd) = (at(0), 10.0, 10.0);
            assert!(resume.on_start(&notice, &sender).is_empty());
            (sender.now, sender.snd_una, sender.pipe) = (at(100), 1, 0);
            let ack = AckNews {
                echo: Some(at(0)),
                ..advance(1, 1)
            };
            let orders = resume.on_ack(&ack, &sender);
            assert_eq!(orders.contains(&Order::SetCwnd(300.0)), jumps);
        }
    }

    #[test]
    fn what_is_small_is_not_worth_a_jump() {
        let mut resume = CarefulResume::default();
        let notice = StartNotice {
            link: link(1000, 50),
            flows: 1,
        };
        let mut sender = view(1, 1000);
        sender.initial_window = 10.0;
        let _ = resume.on_start(&notice, &sender);
        assert_eq!((resume.phase, resume.known), (Phase::Normal, None));
    }
}
