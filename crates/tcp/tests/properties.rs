//! Every kind of recovery with every policy and every part, under arbitrary ACKs,
//! under honest ones, and over a path that loses and reorders.
#![allow(clippy::panic, reason = "a failed test panics")]

use std::collections::BTreeMap;

use midflight_control::congestion::{AnyCongestion, CONGESTION_CONTROLLERS};
use midflight_control::dupack::{AnyDupackResponse, DUPACK_RESPONSES};
use midflight_control::estimate::Estimate;
use midflight_control::loss::{AnyLossClassifier, LOSS_CLASSIFIERS};
use midflight_control::part::{KnobError, PartInfo};
use midflight_control::policy::{Policy, POLICIES};
use midflight_control::signal::{AnyHandoffSignal, HandoffMark, HANDOVER_SIGNALS};
use midflight_control::spurious::{AnySpuriousDetector, SPURIOUS_DETECTORS};
use midflight_control::{LinkInfo, Notice, Order, StartNotice};
use midflight_tcp::{
    profile, Ack, Log, Profile, Receiver, RecoveryKind, RecoveryRules, SackBlock, SackBlocks, Says,
    Segment, Sender, SenderEvent, State, PROFILES, RECOVERIES, TRANSITIONS,
};
use midflight_units::{Duration, Instant, Rate, Seq};
use proptest::prelude::*;

const FLOW_END: Seq = 400;

/// The name of every kind of recovery.
fn recoveries() -> impl Iterator<Item = &'static str> {
    RECOVERIES.iter().map(|info| info.name)
}

#[derive(Clone, Debug)]
enum Step {
    /// An ACK `back` below what was sent, with blocks relative to it and an echo;
    /// perhaps it closes the window, marks a handoff, or reports of a train.
    Ack {
        back: u64,
        blocks: Vec<(i64, u64)>,
        echo_ms: u64,
        says: u32,
    },
    /// Time passes and the timer is looked at.
    Wait { ms: u64 },
    /// A notice.
    Notice {
        old: (u64, u64),
        new: (u64, u64),
        flows: u32,
    },
    /// The timer is called although nothing is due.
    Spurious,
    /// An ACK that advances by so much at most, or repeats the last one, with
    /// blocks relative to it: what keeps a recovery going, from a receiver that lies.
    Plausible {
        by: u64,
        blocks: Vec<(i64, u64)>,
        moved: bool,
    },
    /// Time passes until the sender wants to be woken.
    Wake,
}

/// Steps that lead deep into recoveries: duplicates, partial ACKs, timeouts.
fn hostile_step() -> impl Strategy<Value = Step> {
    let blocks = || prop::collection::vec((-8i64..25, 0u64..12), 0..4);
    let advance = prop_oneof![3 => Just(0u64), 2 => 1u64..4, 1 => 0u64..40];
    let plausible = (advance, blocks(), 0u32..12).prop_map(|(by, blocks, moved)| Step::Plausible {
        by,
        blocks,
        moved: moved == 0,
    });
    prop_oneof![10 => plausible, 2 => Just(Step::Wake), 1 => step()]
}

fn step() -> impl Strategy<Value = Step> {
    let blocks = prop::collection::vec((-50i64..200, 0u64..300), 0..5);
    let link = || {
        (
            prop_oneof![Just(9), Just(200), Just(6400), 1u64..100_000],
            0u64..2000,
        )
    };
    prop_oneof![
        6 => (0u64..60, blocks, 0u64..100_000, 0u32..20)
            .prop_map(|(back, blocks, echo_ms, says)| Step::Ack { back, blocks, echo_ms, says }),
        3 => (0u64..3000).prop_map(|ms| Step::Wait { ms }),
        1 => (link(), link(), 0u32..9).prop_map(|(old, new, flows)| Step::Notice { old, new, flows }),
        1 => Just(Step::Spurious),
    ]
}

fn link(of: (u64, u64)) -> LinkInfo {
    LinkInfo {
        rate: Rate::from_bps(of.0 * 1000).unwrap_or(Rate::from_mbps(1)),
        delay: Duration::from_millis(of.1),
    }
}

/// The profile `linux` keeps its recovery: with another it is nobody's sender.
fn configured(profile_index: usize, recovery: &str) -> Profile {
    let mut p = PROFILES[profile_index % PROFILES.len()];
    let recovery = if p.name == "linux" { "linux" } else { recovery };
    assert!(p.set("recovery", recovery).is_ok());
    p
}

/// The last of the values that a knob accepts, where they are listed.
fn turn_knobs(info: &PartInfo, mut set: impl FnMut(&str, &str) -> Result<(), KnobError>) {
    for knob in info.knobs {
        let last = knob.accepts.rsplit([' ', ',']).next().unwrap_or_default();
        let _ = set(knob.name, last);
    }
}

/// One registered controller after the other, from the one of this number on.
fn controllers(from: usize, turned: bool) -> impl Iterator<Item = AnyCongestion> {
    let infos = CONGESTION_CONTROLLERS.iter().cycle();
    infos
        .skip(from % CONGESTION_CONTROLLERS.len())
        .map(move |info| {
            let mut controller = AnyCongestion::named(info.name).unwrap_or_else(|| unreachable!());
            if turned {
                turn_knobs(info, |name, value| controller.set_knob(name, value));
            }
            controller
        })
}

/// Every combination of registered parts, with default knobs or `turned` ones,
/// that goes together with this recovery and profile; and how many do not.
/// Congestion controllers take turns: with every start from the first on, each
/// combination meets every one of them.
fn combinations(
    profile_index: usize,
    recovery: &str,
    turned: bool,
    controller: usize,
) -> (Vec<Profile>, usize) {
    let mut next = controllers(controller, turned);
    let plain = configured(profile_index, recovery);
    let mut good = Vec::new();
    let mut refused = 0;
    for response in DUPACK_RESPONSES {
        for classifier in LOSS_CLASSIFIERS {
            for detector in SPURIOUS_DETECTORS {
                let mut p = plain;
                let parts = (
                    AnyDupackResponse::named(response.name),
                    AnyLossClassifier::named(classifier.name),
                    AnySpuriousDetector::named(detector.name),
                );
                let (Some(mut r), Some(mut c), Some(mut d)) = parts else {
                    panic!("registered");
                };
                if turned {
                    turn_knobs(response, |name, value| r.set_knob(name, value));
                    turn_knobs(classifier, |name, value| c.set_knob(name, value));
                    turn_knobs(detector, |name, value| d.set_knob(name, value));
                }
                p.sender.dupack_response = r;
                p.sender.loss_classifier = c;
                p.sender.spurious_detector = d;
                if let Some(controller) = next.next() {
                    p.sender.congestion = controller;
                }
                match p.check() {
                    Ok(()) => good.push(p),
                    Err(_) => refused += 1,
                }
            }
        }
    }
    (good, refused)
}

/// Names of the parts, for a message.
fn named(p: &Profile) -> String {
    let (s, name) = (&p.sender, p.name);
    let parts = [
        s.congestion.info().name,
        s.dupack_response.info().name,
        s.loss_classifier.info().name,
        s.spurious_detector.info().name,
    ];
    format!("{name} {} {}", p.get("recovery"), parts.join(" "))
}

/// Follows the states of a sender.
struct Watch {
    state: State,
    /// New segments since the last order to probe.
    probed: u32,
    rto: Option<Duration>,
    duplicates: u32,
}

impl Log for Watch {
    const DETAILED: bool = true;

    fn record(&mut self, _now: Instant, event: SenderEvent<'_>) {
        match event {
            SenderEvent::State(change) => {
                assert!(
                    TRANSITIONS.contains(&change),
                    "{change} is not in the table"
                );
                assert_eq!(change.from, self.state, "{change}");
                self.state = change.to;
            }
            SenderEvent::Order {
                order: Order::Probe(_),
                ..
            } => self.probed = 0,
            SenderEvent::WindowRefused { author, cwnd } => {
                panic!("{author} orders a window of {cwnd}");
            }
            SenderEvent::Rto(rto) => self.rto = Some(rto),
            SenderEvent::Duplicates(count) => self.duplicates = count,
            _ => {}
        }
    }
}

fn goes_at_a_rate(policy: &Policy) -> bool {
    policy.info().name == "rapid"
}

/// All policies, or all that leave the sender its window.
fn policies(at_a_rate: bool) -> Vec<Policy> {
    let all = POLICIES.iter().filter_map(|info| Policy::named(info.name));
    all.filter(|policy| at_a_rate || !goes_at_a_rate(policy))
        .collect()
}

/// A sender under test with what must stay true of it.
struct Bench {
    sender: Sender,
    watch: Watch,
    sack: bool,
    now: Instant,
    una: Seq,
    /// It goes at a rate, and has the receiver's window whenever it may go.
    at_a_rate: bool,
    /// The largest window since SND.UNA last advanced, what duplicates added left out.
    widest: f64,
    /// The same window when the sender was last looked at.
    last: f64,
    /// Its receiver reports segments that it cannot have.
    lies: bool,
}

impl Bench {
    fn new(p: &Profile, recovery: &str, policies: Vec<Policy>) -> Self {
        let at_a_rate = policies.iter().any(goes_at_a_rate);
        let mut sender = Sender::new(&p.sender, policies);
        let mut watch = Watch {
            state: State::SlowStart,
            probed: 0,
            rto: None,
            duplicates: 0,
        };
        sender.set_end(FLOW_END);
        let notice = StartNotice {
            link: link((6000, 50)),
            flows: 1,
        };
        sender.on_start_notice(Instant::ZERO, &notice, &mut watch);
        sender.open(Instant::ZERO, &mut watch);
        let mut bench = Self {
            sender,
            watch,
            sack: recovery.starts_with("sack"),
            now: Instant::ZERO,
            una: 0,
            at_a_rate,
            widest: 0.0,
            lies: false,
            last: 0.0,
        };
        bench.drain();
        bench
    }

    /// Takes everything the sender has to send now and checks the invariants.
    fn drain(&mut self) -> Vec<Segment> {
        let mut sent = Vec::new();
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            let v = self.sender.view();
            let c = self.sender.config();
            let adds_apart = !self.sack && c.recovery_rules == RecoveryRules::Ns2;
            assert_eq!(self.watch.rto, Some(v.rto), "the log has another RTO");
            assert_eq!(
                self.watch.duplicates, v.dupacks,
                "the log has another count"
            );
            assert!(segment.seq < FLOW_END, "beyond the end of the flow");
            let probe = segment.seq + 1 == v.snd_una && segment.retransmission;
            assert!(
                probe || !self.sender.is_window_closed(),
                "data although the window is closed"
            );
            assert!(
                segment.seq < v.snd_una + c.receiver_window + 1,
                "beyond the receiver's window"
            );
            if let Some(mark) = segment.train() {
                assert!(!segment.retransmission && mark.index < mark.segments);
                assert!(mark.segments >= 2, "a train of one");
            }
            if !segment.retransmission {
                if self.watch.state == State::Probe {
                    self.watch.probed += 1;
                    assert!(self.watch.probed <= 2, "a probe of more than two segments");
                }
                if self.watch.state == State::Probe {
                    // What goes then is ordered, whatever the window.
                } else if c.recovery == RecoveryKind::Linux {
                    // A probe of the tail goes whatever the window, and is the only one.
                    let is_within = v.pipe as f64 <= v.cwnd.max(1.0);
                    let is_first = sent.iter().all(|s: &Segment| s.retransmission);
                    assert!(is_within || is_first, "{v:?}");
                } else if self.lies && self.sack {
                    // What is reported above SND.UNA is not in flight, whatever the edge.
                } else if v.in_fast_recovery && self.sack {
                    assert!(
                        v.pipe as f64 <= v.cwnd.max(1.0),
                        "pipe {} cwnd {}",
                        v.pipe,
                        v.cwnd
                    );
                } else {
                    let limited = match (c.dupack_response, self.sender.dupacks()) {
                        (_, 0) => 0,
                        // What duplicates have added is not in `cwnd`.
                        (_, dupacks)
                            if adds_apart && (v.in_fast_recovery || dupacks > c.dup_threshold) =>
                        {
                            dupacks
                        }
                        // Extended: a segment for each duplicate.
                        (AnyDupackResponse::Immediate(_), dupacks) if v.reordering.is_some() => {
                            if self.sack {
                                u32::MAX
                            } else {
                                assert!(segment.seq as f64 <= v.snd_una as f64 + 2.0 * v.cwnd);
                                dupacks
                            }
                        }
                        (AnyDupackResponse::Immediate(_), _) => c.dup_threshold - 1,
                        // A segment for each that has left the network.
                        (_, dupacks) if !self.sack => dupacks,
                        _ => u32::MAX,
                    };
                    let edge = v.snd_una as f64 + v.cwnd + f64::from(limited);
                    assert!(
                        (segment.seq as f64) < edge.max(v.snd_una as f64 + 1.0) + 1e-9,
                        "{} {v:?}",
                        segment.seq
                    );
                }
            }
            sent.push(segment);
            assert!(sent.len() < 100_000, "sends without end");
        }
        let v = self.sender.view();
        assert!(v.snd_una >= self.una, "SND.UNA moved back");
        let plain = if v.in_fast_recovery {
            v.cwnd.min(v.ssthresh)
        } else {
            v.cwnd
        };
        self.widest = if v.snd_una == self.una {
            self.widest.max(plain)
        } else if v.in_fast_recovery {
            // The ACK that advanced may have opened the window before its blocks told of a loss.
            plain.max(self.last + (v.snd_una - self.una) as f64)
        } else {
            plain
        };
        self.last = plain;
        self.una = v.snd_una;
        assert!(
            v.snd_una <= v.snd_nxt && v.snd_nxt <= v.snd_max,
            "SND.NXT out of its range: {v:?}"
        );
        assert!(v.cwnd >= 0.0 && v.ssthresh >= 2.0 - 1e-9);
        assert_eq!(
            self.sender.poll_timer().is_some(),
            v.snd_una < v.snd_max || self.sender.is_window_closed() || v.train.is_some(),
            "the timer runs exactly while data is in flight or waits for its time or the window is closed"
        );
        if let Some((deadline, armed)) = self.sender.poll_timer() {
            assert!(
                armed <= self.now && armed <= deadline,
                "a timer of the future"
            );
        }
        sent
    }

    fn ack(&mut self, ack: &Ack) {
        let before = self.widest.max(1.0);
        self.sender.on_ack(self.now, ack, &mut self.watch);
        let v = self.sender.view();
        if matches!(ack.says, Says::Moved(_)) && v.snd_una == self.una && !v.in_fast_recovery {
            let may_undo = self.sender.config().recovery == RecoveryKind::Linux;
            assert!(
                v.cwnd <= before || self.at_a_rate || may_undo,
                "a window that there was not: {}",
                v.cwnd
            );
        }
        self.drain();
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Ack {
                back,
                blocks,
                echo_ms,
                says,
            } => {
                // Sometimes an ACK of something that was never sent.
                let number = (self.sender.view().snd_max + 3).saturating_sub(*back);
                let mut sack = SackBlocks::default();
                for &(offset, length) in blocks {
                    let left = number.saturating_add_signed(offset);
                    sack.push(
                        number,
                        SackBlock {
                            left,
                            right: left + length,
                        },
                    );
                }
                let echo = Instant::from_nanos(echo_ms * 1_000_000);
                self.ack(&Ack {
                    ack: number,
                    sack,
                    echo: Some(echo),
                    cause_sent: Instant::ZERO,
                    says: match says {
                        0 | 1 => Says::ZeroWindow,
                        2..5 => Says::Moved(HandoffMark {
                            number: says + self.una as u32 % 7,
                            sent: echo.min(self.now),
                        }),
                        5..8 => Says::from(Estimate {
                            train: (*says as u16 - 4) * (1 + *back as u16 % 2),
                            rate: Rate::from_bps(echo_ms * 1000),
                        }),
                        _ => Says::Nothing,
                    },
                });
            }
            Step::Plausible { by, blocks, moved } => {
                let v = self.sender.view();
                let number = (v.snd_una + by).min(v.snd_max);
                let mut sack = SackBlocks::default();
                for &(offset, length) in blocks {
                    let left = number.saturating_add_signed(offset);
                    let right = left + length;
                    sack.push(number, SackBlock { left, right });
                }
                let mark = HandoffMark {
                    number: by.wrapping_add(1) as u32,
                    sent: self.now,
                };
                self.ack(&Ack {
                    ack: number,
                    sack,
                    echo: Some(self.now),
                    cause_sent: self.now,
                    says: if *moved {
                        Says::Moved(mark)
                    } else {
                        Says::Nothing
                    },
                });
            }
            Step::Wake => {
                let timer = self.sender.poll_timer().map(|(deadline, _)| deadline);
                self.now = timer.unwrap_or(self.now).max(self.now);
                self.sender.on_timer(self.now, &mut self.watch);
                self.drain();
            }
            Step::Wait { ms } => {
                self.now += Duration::from_millis(*ms);
                self.sender.on_timer(self.now, &mut self.watch);
                self.drain();
            }
            Step::Notice { old, new, flows } => {
                let notice = Notice {
                    old: link(*old),
                    new: link(*new),
                    flows: *flows,
                };
                self.sender.on_notice(self.now, &notice, &mut self.watch);
                self.drain();
            }
            Step::Spurious => {
                let before = format!("{:?}", self.sender);
                if self
                    .sender
                    .poll_timer()
                    .is_none_or(|(deadline, _)| deadline > self.now)
                {
                    self.sender.on_timer(self.now, &mut self.watch);
                    assert_eq!(
                        before,
                        format!("{:?}", self.sender),
                        "an early call did something"
                    );
                }
            }
        }
    }

    /// Honest ACKs from here on, over a lossless path; the flow has to end.
    fn finish(mut self, p: &Profile) {
        let mut receiver = Receiver::new(p.receiver);
        let mut waiting = Vec::new();
        for seq in 0..self.una {
            let old = Segment {
                seq,
                bytes: 1500,
                retransmission: false,
                sent: Instant::ZERO,
                probe: false,
                option: None,
            };
            receiver.on_segment(self.now, &old);
        }
        for _ in 0..50_000 {
            if self.sender.is_done() {
                return;
            }
            waiting.append(&mut self.drain());
            self.now += Duration::from_millis(10);
            let mut acks: Vec<Ack> = waiting
                .drain(..)
                .filter_map(|s| receiver.on_segment(self.now, &s))
                .collect();
            acks.extend(receiver.on_timer(self.now));
            if acks.is_empty() {
                // Nothing in flight: to the next timer, at most a minute and a bit away.
                let timer = self.sender.poll_timer().map(|(deadline, _)| deadline);
                let delayed = receiver.poll_timer().map(|(deadline, _)| deadline);
                let next = timer.into_iter().chain(delayed).min();
                self.now = self.now.max(next.unwrap_or(self.now));
                acks.extend(receiver.on_timer(self.now));
            }
            for ack in acks {
                self.sender.on_ack(self.now, &ack, &mut self.watch);
                waiting.append(&mut self.drain());
            }
            self.sender.on_timer(self.now, &mut self.watch);
            waiting.append(&mut self.drain());
        }
        panic!("the flow does not end: {:?}", self.sender.view());
    }
}

/// A deterministic source of bits.
struct Dice(u64);

impl Dice {
    /// A number below `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    /// When a packet of now arrives, unless it is lost: one in 30 is, one in 20
    /// is up to 150 ms late, and now and then one takes seconds.
    fn arrival(&mut self, now: Instant) -> Option<Instant> {
        let (lost, late, by, spike) =
            (self.roll(30), self.roll(20), self.roll(150), self.roll(300));
        let mut delay = Duration::from_millis(50);
        if late == 0 {
            delay = delay + Duration::from_millis(by);
        }
        if spike == 0 {
            delay = delay + Duration::from_millis(1000 + 20 * by);
        }
        (lost > 0).then(|| now + delay)
    }
}

enum Packet {
    Data(Segment),
    Ack(Ack),
}

/// The whole flow over a path that loses, delays and reorders both ways, to a
/// node that moves now and then.
fn transfer(p: &Profile, recovery: &str, policies: Vec<Policy>, seed: u64) {
    let mut bench = Bench::new(p, recovery, policies);
    let mut moves = Dice(seed);
    let mut leaves = false;
    let mut receiver = Receiver::new(p.receiver);
    let mut dice = Dice(seed);
    let mut path: BTreeMap<(Instant, u64), Packet> = BTreeMap::new();
    let mut count = 0;
    let mut carry = |path: &mut BTreeMap<_, _>, now, packet| {
        count += 1;
        if let Some(at) = dice.arrival(now) {
            path.insert((at, count), packet);
        }
    };
    // What opening has sent is lost: the SYN goes again.
    for _ in 0..100_000 {
        if bench.sender.is_done() {
            assert_eq!(receiver.highest(), FLOW_END);
            return;
        }
        let timers = [bench.sender.poll_timer(), receiver.poll_timer()];
        let timer = timers.into_iter().flatten().map(|(at, _)| at).min();
        let arrives = path.first_key_value().map(|((at, _), _)| *at);
        let next = timer.into_iter().chain(arrives).min();
        bench.now = next.unwrap_or_else(|| panic!("the flow stands still"));
        let now = bench.now;
        if moves.roll(30) == 0 {
            // Warned of, then done.
            let acks: Vec<Ack> = if leaves {
                receiver.on_attached(now).collect()
            } else {
                receiver.on_warning(now).collect()
            };
            leaves = !leaves;
            for ack in acks {
                carry(&mut path, now, Packet::Ack(ack));
            }
        }
        if arrives == Some(now) {
            match path.pop_first().map(|(_, packet)| packet) {
                Some(Packet::Data(segment)) => {
                    if let Some(ack) = receiver.on_segment(now, &segment) {
                        carry(&mut path, now, Packet::Ack(ack));
                    }
                }
                Some(Packet::Ack(ack)) => bench.sender.on_ack(now, &ack, &mut bench.watch),
                None => {}
            }
        } else {
            bench.sender.on_timer(now, &mut bench.watch);
            if let Some(ack) = receiver.on_timer(now) {
                carry(&mut path, now, Packet::Ack(ack));
            }
        }
        for segment in bench.drain() {
            carry(&mut path, now, Packet::Data(segment));
        }
    }
    panic!("the flow does not end: {:?}", bench.sender.view());
}

/// Runs `check`, and says with which parts it failed.
fn with_parts(p: &Profile, check: impl FnOnce()) {
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
    assert!(run.is_ok(), "{}", named(p));
}

#[test]
fn every_combination_of_parts_ends_its_flow_over_a_path_that_loses_and_reorders() {
    for (profile_index, turned) in [(0, false), (1, false), (1, true), (2, false)] {
        for (r, recovery) in recoveries().enumerate() {
            for (s, seed) in [1, 0x9E37_79B9_7F4A_7C15].into_iter().enumerate() {
                let (good, _) = combinations(profile_index, recovery, turned, r + s);
                for p in good {
                    with_parts(&p, || transfer(&p, recovery, Vec::new(), seed));
                }
            }
        }
    }
}

/// Every signal, with a sender that heeds marks and one that does not.
#[test]
fn every_signal_of_a_node_that_moves_ends_its_flow() {
    for profile_index in 0..PROFILES.len() {
        for recovery in recoveries() {
            let mut p = configured(profile_index, recovery);
            for signal in HANDOVER_SIGNALS {
                let signalling = AnyHandoffSignal::named(signal.name);
                p.receiver.signal = signalling.unwrap_or_else(|| panic!("registered"));
                for heeds in [false, true] {
                    for seed in 1..=40 {
                        let ehn = heeds.then(|| Policy::named("ehn-restore")).flatten();
                        let policies = ehn.into_iter().collect();
                        let seed = seed * 0x9E37_79B9;
                        let run = || transfer(&p, recovery, policies, seed);
                        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
                        assert!(run.is_ok(), "{} {heeds} {seed} {}", signal.name, named(&p));
                    }
                }
            }
        }
    }
}

/// Every policy, told of its link at the start: among them those that send trains.
#[test]
fn every_policy_ends_its_flow_over_a_path_that_loses_and_reorders() {
    for profile_index in 0..PROFILES.len() {
        for recovery in recoveries() {
            let p = configured(profile_index, recovery);
            for info in POLICIES {
                for turned in [false, true] {
                    for seed in 1..=20 {
                        let mut policy = Policy::named(info.name);
                        if let (Some(policy), true) = (&mut policy, turned) {
                            turn_knobs(info, |name, value| policy.set_knob(name, value));
                        }
                        let policies = policy.into_iter().collect();
                        let run = || transfer(&p, recovery, policies, seed * 0x9E37_79B9);
                        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
                        assert!(run.is_ok(), "{} {turned} {seed} {}", info.name, named(&p));
                    }
                }
            }
        }
    }
}

#[test]
fn every_controller_ends_its_flow_with_every_kind_of_recovery() {
    for turned in [false, true] {
        for profile_index in 0..PROFILES.len() {
            for recovery in recoveries() {
                for controller in controllers(0, turned).take(CONGESTION_CONTROLLERS.len()) {
                    let mut p = configured(profile_index, recovery);
                    p.sender.congestion = controller;
                    for seed in 1..=20 {
                        with_parts(&p, || transfer(&p, recovery, Vec::new(), seed));
                    }
                }
            }
        }
    }
}

/// What cannot work is refused: NCR without SACK, a classifier with Tahoe,
/// Eifel without timestamps.
#[test]
fn some_combinations_of_parts_are_refused() {
    for (profile_index, recovery, least) in [(1, "reno", 30), (1, "tahoe", 40), (0, "sack1", 12)] {
        let (good, refused) = combinations(profile_index, recovery, false, 0);
        assert!(refused >= least, "{recovery}: {refused}");
        assert!(!good.is_empty(), "{recovery}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_acks_break_no_combination_of_parts(
        steps in prop::collection::vec(step(), 0..80),
        profile_index in 0usize..3,
        turned in any::<bool>(),
        controller in 0..CONGESTION_CONTROLLERS.len(),
        with_policies in prop_oneof![Just(None), any::<bool>().prop_map(Some)],
        receiver_window in prop_oneof![Just(None), (1u64..50).prop_map(Some)],
    ) {
        for recovery in recoveries() {
            let (good, _) = combinations(profile_index, recovery, turned, controller);
            for mut p in good {
                if let Some(window) = receiver_window {
                    p.sender.receiver_window = window;
                }
                let policies = with_policies.map(policies).unwrap_or_default();
                with_parts(&p, || {
                    let mut bench = Bench::new(&p, recovery, policies);
                    for step in &steps {
                        bench.take(step);
                    }
                    bench.finish(&p);
                });
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_acks_never_break_a_sender_and_honest_ones_end_its_flow(
        steps in prop::collection::vec(step(), 0..120),
        profile_index in 0usize..3,
        controller in 0..CONGESTION_CONTROLLERS.len(),
        receiver_window in prop_oneof![Just(None), (1u64..50).prop_map(Some)],
    ) {
        for recovery in recoveries() {
            let mut p = configured(profile_index, recovery);
            if let Some(window) = receiver_window {
                p.sender.receiver_window = window;
            }
            let each = policies(true).into_iter().map(|policy| vec![policy]);
            let sets = std::iter::once(Vec::new())
                .chain(each)
                .chain([false, true].map(policies));
            for (policies, controller) in sets.zip(controllers(controller, false)) {
                p.sender.congestion = controller;
                let mut bench = Bench::new(&p, recovery, policies);
                for step in &steps {
                    bench.take(step);
                }
                bench.finish(&p);
            }
        }
    }

    /// Duplicates, partial ACKs and blocks of what was never sent or has long been
    /// acknowledged, with timeouts and orders to go back in between. What must
    /// hold after each is in [`Bench::drain`].
    #[test]
    fn a_receiver_that_lies_leaves_every_recovery_whole(
        steps in prop::collection::vec(hostile_step(), 0..150),
        profile_index in 0usize..3,
        other_rules in any::<bool>(),
        receiver_window in prop_oneof![Just(None), (1u64..50).prop_map(Some)],
    ) {
        for recovery in recoveries() {
            let mut p = configured(profile_index, recovery);
            if other_rules {
                p.sender.recovery_rules = match p.sender.recovery_rules {
                    RecoveryRules::Rfc => RecoveryRules::Ns2,
                    RecoveryRules::Ns2 => RecoveryRules::Rfc,
                };
                p.sender.newreno_deflation = false;
            }
            if let Some(window) = receiver_window {
                p.sender.receiver_window = window;
            }
            for name in ["", "ehn-restore", "rapid"] {
                let policies = Policy::named(name).into_iter().collect();
                let mut bench = Bench::new(&p, recovery, policies);
                bench.lies = true;
                for step in &steps {
                    bench.take(step);
                }
                bench.finish(&p);
            }
        }
    }

    /// Karn: no sample of a retransmitted segment, and the back-off stays until a valid sample.
    #[test]
    fn back_off_ends_only_with_a_valid_sample(delay_ms in 20u64..5000, losses in 1usize..6) {
        for recovery in recoveries() {
            let mut p = profile("rfc").unwrap_or_else(|_| unreachable!());
            prop_assert!(p.set("recovery", recovery).is_ok());
            prop_assert!(p.set("rtt_sampling", "one-per-window").is_ok());
            // RFC 6298 (5.7) would start data afresh after lost SYNs.
            p.sender.rto_after_syn_timeout = None;
            let mut sender = Sender::new(&p.sender, []);
            let mut now = Instant::ZERO;
            sender.open(now, &mut ());
            let mut sent: Vec<_> =
                std::iter::from_fn(|| sender.poll_transmit(now)).collect();
            for _ in 0..losses {
                now = sender.poll_timer().map_or(now, |(deadline, _)| deadline);
                sender.on_timer(now, &mut ());
                sent.extend(std::iter::from_fn(|| sender.poll_transmit(now)));
            }
            prop_assert!(sent[1..].iter().all(|s| s.seq == 0 && s.retransmission));
            // Linux does not back off for the first four SYNs.
            let doublings = losses - if recovery == "linux" { losses.min(4) } else { 0 };
            prop_assert_eq!(sender.backoff(), 1 << doublings);
            now += Duration::from_millis(delay_ms);
            let samples = std::cell::Cell::new(0);
            let log = &mut |_: Instant, e: SenderEvent<'_>| {
                samples.set(samples.get() + u32::from(matches!(e, SenderEvent::RttSample(_))));
            };
            let ack = |number| Ack {
                ack: number,
                sack: SackBlocks::default(),
                echo: None,
                cause_sent: Instant::ZERO,
                says: Says::Nothing,
            };
            // The ACK of the retransmitted SYN is ambiguous: no sample, the back-off stays.
            sender.on_ack(now, &ack(1), log);
            prop_assert_eq!((samples.get(), sender.backoff()), (0, 1 << doublings));
            let data: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(now)).collect();
            prop_assert!(!data.is_empty());
            now += Duration::from_millis(delay_ms);
            // New data, sent once: a sample, and the back-off ends.
            sender.on_ack(now, &ack(2), log);
            prop_assert_eq!((samples.get(), sender.backoff()), (1, 1));
        }
    }
}
