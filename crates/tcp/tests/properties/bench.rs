//! A sender that takes arbitrary steps, and its invariants after each.

use midflight_control::congestion::{AnyCongestion, CONGESTION_CONTROLLERS};
use midflight_control::dupack::{AnyDupackResponse, DUPACK_RESPONSES};
use midflight_control::estimate::Estimate;
use midflight_control::loss::{AnyLossClassifier, LOSS_CLASSIFIERS};
use midflight_control::part::{KnobError, PartInfo};
use midflight_control::policy::{Policy, POLICIES};
use midflight_control::signal::HandoffMark;
use midflight_control::spurious::{AnySpuriousDetector, SPURIOUS_DETECTORS};
use midflight_control::{LinkInfo, Notice, Order, StartNotice};
use midflight_tcp::{
    Ack, AckOption, Content, Log, Profile, Receiver, RecoveryKind, RecoveryRules, SackBlock,
    SackBlocks, Segment, Sender, SenderEvent, SenderParts, State, PROFILES, RECOVERIES,
    TRANSITIONS,
};
use midflight_units::{Duration, Instant, Rate, Seq};
use proptest::prelude::*;

pub(crate) const FLOW_END: Seq = 400;

/// The name of every kind of recovery.
pub(crate) fn recoveries() -> impl Iterator<Item = &'static str> {
    RECOVERIES.iter().map(|info| info.name)
}

/// Recoveries whose ACKs count segments. Forged ACKs of packet numbers are in `quic.rs`.
pub(crate) fn with_tcp_acks() -> impl Iterator<Item = &'static str> {
    recoveries().filter(|name| *name != "quic")
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// An ACK `back` below the highest sent segment, with blocks relative to it and an echo; it may
    /// close the window, mark a handoff, or report a train.
    Ack {
        back: u64,
        blocks: Vec<(i64, u64)>,
        echo_ms: u64,
        option: u32,
    },
    /// Time passes and the timer is checked.
    Wait { ms: u64 },
    /// A notice.
    Notice {
        old: (u64, u64),
        new: (u64, u64),
        flows: u32,
    },
    /// The timer is called although it is not due.
    Spurious,
    /// An ACK that advances by at most this much, or repeats the last one, with blocks relative to
    /// it: input that keeps a recovery going, from a receiver that sends false ACKs.
    Plausible {
        by: u64,
        blocks: Vec<(i64, u64)>,
        moved: bool,
    },
    /// Time passes until the sender's deadline.
    Wake,
}

/// Steps that lead deep into recoveries: duplicates, partial ACKs, timeouts.
pub(crate) fn hostile_step() -> impl Strategy<Value = Step> {
    let blocks = || prop::collection::vec((-8i64..25, 0u64..12), 0..4);
    let advance = prop_oneof![3 => Just(0u64), 2 => 1u64..4, 1 => 0u64..40];
    let plausible = (advance, blocks(), 0u32..12).prop_map(|(by, blocks, moved)| Step::Plausible {
        by,
        blocks,
        moved: moved == 0,
    });
    prop_oneof![10 => plausible, 2 => Just(Step::Wake), 1 => step()]
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let blocks = prop::collection::vec((-50i64..200, 0u64..300), 0..5);
    let link = || {
        (
            prop_oneof![Just(9), Just(200), Just(6400), 1u64..100_000],
            0u64..2000,
        )
    };
    prop_oneof![
        6 => (0u64..60, blocks, 0u64..100_000, 0u32..20)
            .prop_map(|(back, blocks, echo_ms, option)| Step::Ack { back, blocks, echo_ms, option }),
        3 => (0u64..3000).prop_map(|ms| Step::Wait { ms }),
        1 => (link(), link(), 0u32..9).prop_map(|(old, new, flows)| Step::Notice { old, new, flows }),
        1 => Just(Step::Spurious),
    ]
}

pub(crate) fn link(of: (u64, u64)) -> LinkInfo {
    LinkInfo {
        rate: Rate::from_bps(of.0 * 1000).unwrap_or(Rate::from_mbps(1)),
        delay: Duration::from_millis(of.1),
    }
}

/// The profiles `linux` and `quic` keep their recovery: with another they do not model any stack.
pub(crate) fn configured(profile_index: usize, recovery: &str) -> Profile {
    let mut p = PROFILES[profile_index % PROFILES.len()];
    let recovery = match p.name {
        own @ ("linux" | "quic") => own,
        _ => recovery,
    };
    assert!(p.set("recovery", recovery).is_ok());
    p
}

/// Sets each knob to the last of its accepted values, if they are listed.
pub(crate) fn turn_knobs(
    info: &PartInfo,
    mut set: impl FnMut(&str, &str) -> Result<(), KnobError>,
) {
    for knob in info.knobs {
        let last = knob.accepts.rsplit([' ', ',']).next().unwrap_or_default();
        let _ = set(knob.name, last);
    }
}

/// All registered controllers in turn, starting with the one of this number.
pub(crate) fn controllers(from: usize, turned: bool) -> impl Iterator<Item = AnyCongestion> {
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

/// Every combination of registered parts, with default knobs or `turned` ones, that works with this
/// recovery and profile; and how many do not. Congestion controllers rotate: with every start from
/// the first on, each combination is tested with each of them.
pub(crate) fn combinations(
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
                p.parts.dupack_response = r;
                p.parts.loss_classifier = c;
                p.parts.spurious_detector = d;
                if let Some(controller) = next.next() {
                    p.parts.congestion = controller;
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
pub(crate) fn named(p: &Profile) -> String {
    let (parts, name) = (&p.parts, p.name);
    let names = [
        parts.congestion.info().name,
        parts.dupack_response.info().name,
        parts.loss_classifier.info().name,
        parts.spurious_detector.info().name,
    ];
    format!("{name} {} {}", p.get("recovery"), names.join(" "))
}

/// Checks the states of a sender.
pub(crate) struct StateChecker {
    pub(crate) state: State,
    /// New segments since the last order to probe.
    pub(crate) probed: u32,
    pub(crate) rto: Option<Duration>,
    pub(crate) duplicates: u32,
}

impl Log for StateChecker {
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

fn starts_over(policy: &Policy) -> bool {
    ["reinitialise", "lmdr-respond"].contains(&policy.info().name)
}

pub(crate) fn goes_at_a_rate(policy: &Policy) -> bool {
    policy.info().name == "rapid"
}

/// All policies, or all that do not change the sender's window.
pub(crate) fn policies(at_a_rate: bool) -> Vec<Policy> {
    let all = POLICIES.iter().filter_map(|info| Policy::named(info.name));
    all.filter(|policy| at_a_rate || !goes_at_a_rate(policy))
        .collect()
}

/// A sender under test with its invariants.
pub(crate) struct Bench {
    pub(crate) sender: Sender,
    /// Its parts.
    pub(crate) parts: SenderParts,
    pub(crate) watch: StateChecker,
    pub(crate) sack: bool,
    pub(crate) now: Instant,
    pub(crate) una: Seq,
    /// It sends at a rate, and its window is the receiver's whenever it may send.
    pub(crate) at_a_rate: bool,
    /// A mark may set the window of a new connection.
    pub(crate) starts_over: bool,
    /// The largest window since SND.UNA last advanced, without the segments added by duplicates.
    pub(crate) widest: f64,
    /// That window at the last check.
    pub(crate) last: f64,
    /// Its receiver reports segments that it cannot have received.
    pub(crate) lies: bool,
}

impl Bench {
    pub(crate) fn new(p: &Profile, recovery: &str, policies: Vec<Policy>) -> Self {
        let at_a_rate = policies.iter().any(goes_at_a_rate);
        let starts_over = policies.iter().any(starts_over);
        let mut sender = Sender::new(&p.sender, &p.parts, policies);
        let mut watch = StateChecker {
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
            parts: p.parts,
            watch,
            sack: recovery.starts_with("sack"),
            now: Instant::ZERO,
            una: 0,
            at_a_rate,
            starts_over,
            widest: 0.0,
            lies: false,
            last: 0.0,
        };
        bench.drain();
        bench
    }

    /// Takes all segments that the sender has to send now and checks the invariants.
    pub(crate) fn drain(&mut self) -> Vec<Segment> {
        let mut sent = Vec::new();
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            if segment.content == Content::Acknowledgment {
                continue;
            }
            let v = self.sender.view();
            let c = self.sender.config();
            let adds_apart = !self.sack && c.recovery_rules == RecoveryRules::Ns2;
            assert_eq!(self.watch.rto, Some(v.rto), "the log has another RTO");
            assert_eq!(
                self.watch.duplicates, v.dupacks,
                "the log has another count"
            );
            assert!(segment.seq < FLOW_END, "beyond the end of the flow");
            let probe = segment.content == Content::WindowProbe;
            assert!(
                probe || !self.sender.is_window_closed(),
                "data although the window is closed"
            );
            assert!(
                segment.seq < v.snd_una + v.receiver_window + 1,
                "beyond the receiver's window: {segment:?} {v:?}"
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
                    // These segments are ordered, independent of the window.
                } else if c.recovery == RecoveryKind::Linux {
                    // A tail probe is sent independent of the window, and is the only one.
                    let is_within = v.pipe as f64 <= v.cwnd.max(1.0);
                    let is_first = sent.iter().all(|s: &Segment| s.retransmission);
                    assert!(is_within || is_first, "{v:?}");
                } else if c.recovery == RecoveryKind::Quic {
                    // Probes are sent independent of the window, two at each timeout.
                    let is_within = v.pipe as f64 <= v.cwnd.max(1.0);
                    assert!(is_within || v.in_rto_recovery, "{v:?}");
                } else if self.lies && self.sack {
                    // Segments reported above SND.UNA are not in flight, independent of the edge.
                } else if v.in_fast_recovery && self.sack {
                    assert!(
                        v.pipe as f64 <= v.cwnd.max(1.0),
                        "pipe {} cwnd {}",
                        v.pipe,
                        v.cwnd
                    );
                } else {
                    let limited = match (self.parts.dupack_response, self.sender.dupacks()) {
                        (_, 0) => 0,
                        // Segments added by duplicates are not in `cwnd`.
                        (_, dupacks)
                            if adds_apart && (v.in_fast_recovery || dupacks > c.dup_threshold) =>
                        {
                            dupacks
                        }
                        // Extended limited transmit: a segment for each duplicate.
                        (AnyDupackResponse::Immediate(_), dupacks) if v.reordering.is_some() => {
                            if self.sack {
                                u32::MAX
                            } else {
                                assert!(segment.seq as f64 <= v.snd_una as f64 + 2.0 * v.cwnd);
                                dupacks
                            }
                        }
                        // SACKed segments have left the pipe, of a window that need not have been
                        // full.
                        (AnyDupackResponse::Immediate(_), dupacks) => {
                            c.dup_threshold - 1 + if self.sack { dupacks } else { 0 }
                        }
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
            // The ACK that advanced may have opened the window before its blocks indicated a loss.
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
        assert!(
            v.cwnd >= 0.0 && v.cwnd.is_finite(),
            "a window of {}",
            v.cwnd
        );
        assert!(v.ssthresh >= 2.0 - 1e-9, "a threshold of {}", v.ssthresh);
        // With QUIC a packet may be in flight whose data is acknowledged in another.
        let is_quic = self.sender.config().recovery == RecoveryKind::Quic;
        let waits = v.snd_una < v.snd_max
            || is_quic && v.pipe > 0
            || self.sender.is_window_closed()
            || v.train.is_some()
            || v.paced_until.is_some();
        let runs = self.sender.poll_timer().is_some();
        assert_eq!(
            runs, waits,
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

    pub(crate) fn ack(&mut self, ack: &Ack) {
        let initial = self.sender.view().initial_window;
        let before = self
            .widest
            .max(if self.starts_over { initial } else { 1.0 });
        self.sender.on_ack(self.now, ack, &mut self.watch);
        let v = self.sender.view();
        if matches!(ack.option, AckOption::Moved(_)) && v.snd_una == self.una && !v.in_fast_recovery
        {
            let may_undo = self.sender.config().recovery == RecoveryKind::Linux;
            assert!(
                v.cwnd <= before || self.at_a_rate || may_undo,
                "a window that there was not: {}",
                v.cwnd
            );
        }
        self.drain();
    }

    pub(crate) fn take(&mut self, step: &Step) {
        match step {
            Step::Ack {
                back,
                blocks,
                echo_ms,
                option,
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
                    window: None,
                    stamp_ms: 0,
                    extra_bytes: 0,
                    cause_sent: Instant::ZERO,
                    offset: 0,
                    option: match option {
                        0 | 1 => AckOption::ZeroWindow,
                        2..5 => AckOption::Moved(HandoffMark {
                            number: option + self.una as u32 % 7,
                            sent: echo.min(self.now),
                        }),
                        5..8 => AckOption::from(Estimate {
                            train: (*option as u16 - 4) * (1 + *back as u16 % 2),
                            rate: Rate::from_bps(echo_ms * 1000),
                        }),
                        _ => AckOption::Nothing,
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
                    offset: 0,
                    option: if *moved {
                        AckOption::Moved(mark)
                    } else {
                        AckOption::Nothing
                    },
                    window: None,
                    stamp_ms: 0,
                    extra_bytes: 0,
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
    pub(crate) fn finish(mut self, p: &Profile) {
        let mut receiver = Receiver::new(p.receiver);
        let mut waiting = Vec::new();
        for seq in 0..self.una {
            let old = Segment::plain(seq, 1500, Instant::ZERO);
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
                // Nothing is in flight: advance to the next timer, at most a little over a minute
                // away.
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
