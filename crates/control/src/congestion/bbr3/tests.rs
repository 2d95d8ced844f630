//! The cases of the draft's appendix A, over a simple path with one bottleneck: a FIFO queue, a delay, and the rate
//! samples of the sender ([`crate::Deliveries`]).

use std::collections::{BTreeSet, VecDeque};

use super::*;
use crate::jiffies::Jiffies;
use crate::Deliveries;

/// A segment in flight, in the order of sending.
#[derive(Clone, Copy, Debug)]
struct Flying {
    seq: Seq,
    /// When its ACK arrives; none if it was dropped.
    acked: Option<f64>,
}

/// A BBR sender and its path. Time in seconds, rates in segments per second.
struct Path {
    bbr: Bbr3,
    window: Window,
    deliveries: Deliveries,
    now: f64,
    rate: f64,
    rtt: f64,
    /// Segments at the bottleneck, including the one in service.
    queue: f64,
    /// The application's rate per second, and the amount written.
    app: f64,
    written: f64,
    /// ACKs arrive at multiples of this.
    batch: f64,
    /// One in this many is lost at random; 0 for none.
    lose_one_in: u64,
    free_at: f64,
    departure: f64,
    steer: Steer,
    flying: VecDeque<Flying>,
    resend: BTreeSet<Seq>,
    missing: BTreeSet<Seq>,
    una: Seq,
    got: BTreeSet<Seq>,
    next: Seq,
    lost: u64,
    in_flight_at_ack: u64,
    acked: u64,
    states: Vec<State>,
}

const MSS: u64 = 1448;

fn instant(seconds: f64) -> Instant {
    Instant::from_nanos((seconds * 1e9) as u64)
}

impl Path {
    fn new(mbps: f64, rtt_ms: f64, queue: f64) -> Self {
        let mut path = Self {
            bbr: Bbr3::default(),
            window: Window {
                cwnd: 10.0,
                ssthresh: f64::INFINITY,
            },
            deliveries: Deliveries::default(),
            now: 1.0,
            rate: mbps * 1e6 / 12_000.0,
            rtt: rtt_ms / 1000.0,
            queue,
            app: f64::INFINITY,
            written: 0.0,
            batch: 0.0,
            lose_one_in: 0,
            free_at: 0.0,
            departure: 0.0,
            steer: Steer::default(),
            flying: VecDeque::new(),
            resend: BTreeSet::new(),
            missing: BTreeSet::new(),
            una: 1,
            got: BTreeSet::new(),
            next: 1,
            lost: 0,
            in_flight_at_ack: 0,
            acked: 0,
            states: Vec::new(),
        };
        path.bbr.seed(7);
        path.deliveries.sent(0, instant(1.0 - path.rtt), true, 1);
        path.deliveries.take(1, &[], instant(1.0));
        path.deliveries.sample(instant(1.0), 0, 1, Some(1));
        let at = path.standing();
        path.steer = path.bbr.on_open(&mut path.window, &at);
        path
    }

    fn bdp(&self) -> f64 {
        self.rate * self.rtt
    }

    fn standing(&self) -> Standing {
        Standing {
            now: instant(self.now),
            clock: Jiffies::EXACT,
            phase: if self.missing.is_empty() {
                LossPhase::Open
            } else {
                LossPhase::Recovery
            },
            in_flight: self.flying.len() as u64,
            delivered: self.deliveries.total(),
            delivered_at: instant(self.now),
            lost: self.lost,
            app_limited: self.deliveries.is_app_limited(),
            window_limited: self.in_flight_at_ack as f64 >= self.window.cwnd,
            srtt: Some((self.rtt * 1e6) as u64),
            min_rtt: (self.rtt * 1e6) as u64,
            mss: MSS,
            departure: instant(self.departure),
        }
    }

    /// When the next segment may be sent; none if the sender must wait for an ACK.
    fn sends_at(&self) -> Option<f64> {
        if self.flying.len() as f64 >= self.window.cwnd {
            return None;
        }
        let written = if self.resend.is_empty() && self.app.is_finite() {
            1.0 + (self.written + 1.0) / self.app
        } else {
            0.0
        };
        Some(self.now.max(self.departure).max(written))
    }

    fn send(&mut self) {
        let idle = self.flying.is_empty();
        if idle {
            let at = self.standing();
            self.steer = self.bbr.on_restart(&mut self.window, &at);
        }
        let seq = self.resend.pop_first().unwrap_or(self.next);
        if seq == self.next {
            self.written += 1.0;
            self.next += 1;
        }
        let in_flight = self.flying.len() as u64 + 1;
        self.deliveries
            .sent(seq, instant(self.now), idle, in_flight);
        let pace = self.steer.rate as f64 / MSS as f64;
        self.departure = self.now.max(self.departure) + 1.0 / pace;
        let waiting = (self.free_at - self.now).max(0.0) * self.rate;
        let by_chance =
            self.lose_one_in > 0 && seq.is_multiple_of(self.lose_one_in) && seq + 1 == self.next;
        let acked = (waiting < self.queue && !by_chance).then(|| {
            self.free_at = self.free_at.max(self.now) + 1.0 / self.rate;
            let arrives = self.free_at + self.rtt - 1.0 / self.rate;
            if self.batch > 0.0 {
                (arrives / self.batch).ceil() * self.batch
            } else {
                arrives
            }
        });
        self.flying.push_back(Flying { seq, acked });
        if self.app.is_finite() && self.resend.is_empty() && self.sends_at() > Some(self.now) {
            self.deliveries
                .limit_by_application(self.flying.len() as u64);
        }
    }

    /// Processes the ACKs of one instant.
    fn take_acks(&mut self) {
        self.in_flight_at_ack = self.flying.len() as u64;
        let lost_before = self.lost;
        let mut blocks: Vec<(Seq, Seq)> = Vec::new();
        while let Some(i) = self.flying.iter().position(|f| f.acked.is_some()) {
            let Flying { seq, acked } = self.flying[i];
            if acked > Some(self.now) {
                break;
            }
            // Earlier segments that have not arrived are lost.
            for lost in self.flying.drain(..=i).take(i) {
                self.resend.insert(lost.seq);
                self.missing.insert(lost.seq);
                self.lost += 1;
                blocks.push((lost.seq, lost.seq));
            }
            self.missing.remove(&seq);
            self.got.insert(seq);
            while self.got.remove(&self.una) {
                self.una += 1;
            }
            self.acked += 1;
            let now = instant(self.now);
            let sacked = [(seq, seq + 1)];
            let block = if seq >= self.una { &sacked[..] } else { &[] };
            self.deliveries.take(self.una, block, now);
            let lost: Vec<_> = std::mem::take(&mut blocks);
            for (seq, _) in lost {
                let at = self.standing();
                if let Some(lost) = self.deliveries.lose(seq) {
                    self.bbr.on_lost(self.window, &lost, &at);
                }
            }
            let lost = self.lost - lost_before;
            let sample = self
                .deliveries
                .sample(now, lost, self.in_flight_at_ack, Some(1));
            let at = self.standing();
            self.steer = self.bbr.on_delivery(&mut self.window, &sample, &at);
            if self.steer.ignore_samples {
                self.deliveries
                    .limit_by_application(self.flying.len() as u64);
            }
            if self.states.last() != Some(&self.bbr.state) {
                self.states.push(self.bbr.state);
            }
        }
    }

    /// Runs until a condition holds; returns whether it did within this many seconds.
    fn until(&mut self, seconds: f64, mut holds: impl FnMut(&Self) -> bool) -> bool {
        let end = self.now + seconds;
        while self.now < end {
            if holds(self) {
                return true;
            }
            let ack = self.flying.iter().find_map(|f| f.acked);
            match (self.sends_at(), ack) {
                (Some(send), ack) if ack.is_none_or(|ack| send <= ack) => {
                    self.now = send;
                    self.send();
                }
                (_, Some(ack)) => {
                    self.now = self.now.max(ack);
                    self.take_acks();
                }
                (_, None) => {
                    // Everything is lost: a timeout.
                    let all: Vec<_> = self.flying.drain(..).map(|f| f.seq).collect();
                    self.resend.extend(all);
                    self.now += 0.3;
                }
            }
        }
        false
    }

    fn reach(&mut self, state: State) {
        let is_there = |path: &Self| path.bbr.state == state;
        assert!(self.until(30.0, is_there), "{state:?}: {:?}", self.states);
    }

    fn goodput(&mut self, seconds: f64) -> f64 {
        let (before, since) = (self.acked, self.now);
        self.until(seconds, |_| false);
        (self.acked - before) as f64 / (self.now - since)
    }
}

/// A.1: 10 Mbit/s and 40 ms, 33 segments.
#[test]
fn a_plateau_of_the_bandwidth_ends_startup() {
    let mut path = Path::new(10.0, 40.0, 200.0);
    let mut reached_with = 0;
    path.until(5.0, |p| {
        reached_with = reached_with.max(p.bbr.full_rounds);
        p.bbr.full_reached
    });
    assert!(path.bbr.full_now && reached_with >= 2);
    let measured = path.bbr.most_bw() / path.rate;
    assert!((0.98..=1.02).contains(&measured), "{measured}");
    assert_eq!(path.bbr.state, State::Drain);
    // Doubling each round from ten segments: the BDP is reached in two rounds, three more show the plateau.
    assert!(path.bbr.round_count <= 9, "{}", path.bbr.round_count);
}

/// A.2: the application writes less than the path can carry, and one of fifteen segments is lost.
#[test]
fn losses_end_startup_when_the_application_limits() {
    let mut path = Path::new(100.0, 40.0, 1000.0);
    path.app = 3000.0;
    path.lose_one_in = 15;
    path.reach(State::Drain);
    assert!(path.bbr.full_reached && !path.bbr.full_now);
    assert!(path.bbr.inflight_longterm.is_finite());
    let least = path.bbr.product(path.bbr.most_bw(), 1.0);
    assert!(path.bbr.inflight_longterm >= least.min(path.bbr.inflight_latest));
}

/// A.3.
#[test]
fn drain_ends_when_the_queue_is_empty() {
    let mut path = Path::new(10.0, 40.0, 200.0);
    path.reach(State::Drain);
    assert_eq!(path.bbr.state.pacing_gain(), 0.5);
    let rounds = path.bbr.round_count;
    path.until(5.0, |p| p.bbr.state != State::Drain);
    // If there is headroom at once, the time below the rate is over as well.
    assert!(matches!(path.bbr.state, State::Down | State::Cruise));
    let most = path.bbr.inflight(path.bbr.bw, 1.0, &path.standing());
    assert!(path.flying.len() as f64 <= most);
    assert!(path.bbr.round_count <= rounds + DRAIN_ROUNDS);
}

/// A.4: the path becomes ten times slower at that instant, so that the data in flight stays above the BDP.
#[test]
fn drain_ends_after_three_rounds() {
    let mut path = Path::new(100.0, 40.0, 10_000.0);
    path.reach(State::Drain);
    let (rounds, at) = (path.bbr.drain_start, path.standing());
    // The queue does not drain, whatever arrives.
    let mut bbr = path.bbr;
    for n in 1..=5 {
        bbr.round_count = rounds + n;
        bbr.check_drain(&Standing {
            in_flight: 100_000,
            ..at
        });
        let is_over = n > DRAIN_ROUNDS;
        assert_eq!(bbr.state == State::Down, is_over, "{n}");
    }
}

/// A.5.
#[test]
fn a_plateau_ends_the_probe_up() {
    let mut path = Path::new(20.0, 40.0, 500.0);
    path.reach(State::Up);
    let (rounds, lost) = (path.bbr.round_count, path.lost);
    path.until(5.0, |p| p.bbr.state != State::Up);
    assert_eq!(path.bbr.state, State::Down);
    assert!(path.bbr.full_now && path.lost == lost);
    // Its own round gives the base, and the next three raise it by less than a quarter.
    assert!((3..=5).contains(&(path.bbr.round_count - rounds)));
}

/// A.6: with application-limited samples the bound does not change; otherwise it is the volume at which losses crossed
/// 2 %.
#[test]
fn losses_end_the_probe_up_also_when_the_application_limits() {
    let mut path = Path::new(20.0, 40.0, 500.0);
    path.reach(State::Up);
    for app_limited in [true, false] {
        let mut bbr = path.bbr;
        let lost = LostSegment {
            seq: 7,
            tx_in_flight: 80,
            lost_since: 3,
            app_limited,
        };
        bbr.on_lost(path.window, &lost, &path.standing());
        assert_eq!(bbr.state, State::Down);
        if app_limited {
            assert!(bbr.inflight_longterm.is_infinite());
        } else {
            // 79 before it, of which 2 were lost: 79 + (1.58 - 2) / 0.98.
            let expected = 79.0 + (0.02 * 79.0 - 2.0) / 0.98;
            assert!((bbr.inflight_longterm - expected).abs() < 1e-9);
        }
    }
}

/// A.7.
#[test]
fn down_ends_when_there_is_headroom() {
    let mut path = Path::new(20.0, 40.0, 500.0);
    path.reach(State::Up);
    path.reach(State::Down);
    assert_eq!(path.bbr.state.pacing_gain(), 0.9);
    path.bbr.inflight_longterm = 80.0;
    path.reach(State::Cruise);
    assert!(path.flying.len() as f64 <= 0.85 * 80.0);
    let one = path.bbr.inflight(path.bbr.most_bw(), 1.0, &path.standing());
    assert!(path.flying.len() as f64 <= one);
}

/// A.8: between two and three seconds.
#[test]
fn down_ends_after_its_time() {
    let mut path = Path::new(100.0, 100.0, 2000.0);
    path.reach(State::Up);
    path.reach(State::Down);
    let (mut bbr, at) = (path.bbr, path.standing());
    let full = Standing {
        in_flight: 100_000,
        ..at
    };
    let sample = RateSample::default();
    for (later, state) in [(1900, State::Down), (3001, State::Refill)] {
        let now = full.now + Duration::from_millis(later);
        bbr.update_cycle(path.window.cwnd, &sample, &Standing { now, ..full });
        assert_eq!(bbr.state, state, "{later}");
    }
}

/// A.9: the minimum round trip is not measured again, because another flow keeps a queue.
#[test]
fn probe_rtt_comes_after_five_seconds_and_ends() {
    let mut path = Path::new(20.0, 40.0, 500.0);
    path.reach(State::Cruise);
    path.rtt = 0.05;
    let since = path
        .bbr
        .probe_rtt_min
        .map_or(path.now, |(_, at)| at.as_secs_f64());
    path.reach(State::ProbeRtt);
    assert!(
        (5.0..5.3).contains(&(path.now - since)),
        "{}",
        path.now - since
    );
    assert_eq!(path.bbr.state.window_gain(), 0.5);
    let entered = path.now;
    path.until(2.0, |p| p.bbr.state != State::ProbeRtt);
    assert_eq!(path.bbr.state, State::Cruise);
    assert!(
        (0.2..0.5).contains(&(path.now - entered)),
        "{}",
        path.now - entered
    );
    let sends = path.goodput(2.0) / path.rate;
    assert!(sends > 0.9, "{sends}");
}

/// A.10: six seconds without data.
#[test]
fn an_idle_time_takes_the_place_of_probe_rtt() {
    let mut path = Path::new(20.0, 40.0, 500.0);
    path.reach(State::Cruise);
    // The application stops writing here, and continues six seconds later.
    path.app = path.written / (path.now - 1.0 + 6.0);
    path.until(6.0, |p| p.flying.is_empty());
    assert!(path.flying.is_empty());
    path.now += 6.0;
    path.app = f64::INFINITY;
    path.deliveries.limit_by_application(0);
    path.send();
    assert!(path.bbr.idle_restart);
    let states = path.states.len();
    path.until(1.0, |_| false);
    assert!(!path.states[states..].contains(&State::ProbeRtt));
}

/// A.11: ACKs arrive every 20 ms.
#[test]
fn startup_finds_the_rate_when_acks_are_aggregated() {
    let mut path = Path::new(50.0, 40.0, 500.0);
    path.batch = 0.02;
    path.reach(State::Drain);
    let measured = path.bbr.most_bw() / path.rate;
    assert!((0.9..=1.1).contains(&measured), "{measured}");
    assert!(path.bbr.extra_acked.get() > Some(0));
}

/// A.12: data that is acknowledged together is added to the window, so that the path stays in use.
#[test]
fn cruise_keeps_the_path_in_use_when_acks_are_aggregated() {
    let mut path = Path::new(50.0, 40.0, 500.0);
    path.batch = 0.02;
    path.reach(State::Cruise);
    path.until(1.0, |_| false);
    let extra = path.bbr.extra_acked.get().unwrap_or(0) as f64;
    // A batch has 83 segments.
    assert!(extra >= 0.5 * path.rate * path.batch, "{extra}");
    let used = path.goodput(4.0) / path.rate;
    assert!(used > 0.95, "{used}");
}

/// A.13: less than one segment in flight would be enough.
#[test]
fn four_segments_are_in_flight_on_the_smallest_path() {
    let mut path = Path::new(0.1, 10.0, 100.0);
    path.reach(State::Cruise);
    assert!(path.bdp() < 1.0);
    let used = path.goodput(10.0) / path.rate;
    assert!(path.window.cwnd >= LEAST_WINDOW && used > 0.9, "{used}");
}

/// A.14: 10 Mbit/s become 100, also after losses have bounded the volume: the bound rises by 1, 2, 4, 8 segments a
/// round.
#[test]
fn ten_times_the_bandwidth_is_found() {
    for bound in [f64::INFINITY, 40.5] {
        let mut path = Path::new(10.0, 40.0, 200.0);
        path.reach(State::Cruise);
        path.bbr.inflight_longterm = bound;
        path.rate *= 10.0;
        path.queue = 2000.0;
        path.until(25.0, |_| false);
        let used = path.goodput(2.0) / path.rate;
        assert!(used > 0.9, "{bound}: {used} {}", path.bbr.inflight_longterm);
    }
}

/// A.15: 100 Mbit/s become 10.
#[test]
fn the_bandwidth_falls_within_two_cycles() {
    let mut path = Path::new(100.0, 40.0, 400.0);
    path.reach(State::Cruise);
    path.rate /= 10.0;
    path.until(12.0, |_| false);
    let measured = path.bbr.most_bw() / path.rate;
    assert!(measured < 1.3, "{measured}");
}

/// A.17 and A.19: a loss during the probe reduces the bound; if the recovery was unneeded, bound and state are
/// restored.
#[test]
fn a_spurious_recovery_gives_back_bound_and_state() {
    let mut path = Path::new(20.0, 40.0, 500.0);
    path.reach(State::Up);
    let lost = LostSegment {
        seq: 7,
        tx_in_flight: 80,
        lost_since: 30,
        app_limited: false,
    };
    let at = path.standing();
    path.bbr.on_reduction(path.window);
    path.bbr.on_lost(path.window, &lost, &at);
    assert_eq!(path.bbr.state, State::Down);
    assert!(path.bbr.inflight_longterm.is_finite());
    // No more than CUBIC would.
    assert!(path.bbr.inflight_longterm >= BETA * path.bbr.target(path.window.cwnd));
    path.bbr.on_undo(&at);
    assert_eq!(path.bbr.state, State::Up);
    assert!(path.bbr.inflight_longterm.is_infinite());
}

/// A.18: the application is slow, and ProbeRTT begins before the pipe was full.
#[test]
fn probe_rtt_in_startup_goes_back_to_startup() {
    let mut path = Path::new(100.0, 40.0, 1000.0);
    path.app = 200.0;
    path.reach(State::Startup);
    path.rtt = 0.06;
    path.reach(State::ProbeRtt);
    assert!(!path.bbr.full_reached);
    path.until(5.0, |p| p.bbr.state != State::ProbeRtt);
    assert_eq!(path.bbr.state, State::Startup);
}
