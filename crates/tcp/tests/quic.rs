//! A QUIC sender and its receiver over a path with known events for every packet: RFC 9002 and RFC 9000 section 9.
#![allow(clippy::panic, reason = "a failed test panics")]

use std::collections::{BTreeSet, VecDeque};

use midflight_control::congestion::{Control, ForeignCongestion};
use midflight_control::part::PartInfo;
use midflight_control::policy::{Foreign, ForeignPolicy, HandoffPolicy, Policy};
use midflight_control::{Interests, Notice, Orders, SenderView};
use midflight_tcp::{
    profile, Ack, AckOption, Content, PathEvent, Profile, Receiver, Segment, Sender, SenderEvent,
};
use midflight_units::{Duration, Instant, Seq};

const WAY: Duration = Duration::from_millis(50);

fn quic(settings: &[(&str, &str)]) -> Profile {
    let mut p = profile("quic").unwrap_or_else(|e| panic!("{e}"));
    for (name, value) in [("pacing", "auto")].iter().chain(settings) {
        p.set(name, value).unwrap_or_else(|e| panic!("{e}"));
    }
    assert_eq!(p.check(), Ok(()));
    p
}

/// Both ends, and the packets in transit between them.
struct Path {
    sender: Sender,
    receiver: Receiver,
    now: Instant,
    way: Duration,
    down: VecDeque<(Instant, Segment, u16)>,
    up: VecDeque<(Instant, Ack)>,
    /// Sent packets: time, packet number, segment, and whether the packet only validates a path.
    sent: Vec<(Instant, u64, Seq, bool)>,
    events: Vec<(Instant, String)>,
    cwnd: f64,
    /// Which packets are lost, and the only address at which packets arrive.
    loses: fn(u64) -> bool,
    reaches: Option<u16>,
    loses_acks: bool,
}

impl Path {
    fn new(settings: &[(&str, &str)], segments: Seq, loses: fn(u64) -> bool) -> Self {
        let p = quic(settings);
        let mut path = Self {
            sender: Sender::new(&p.sender, &p.parts, []),
            receiver: Receiver::new(p.receiver),
            now: Instant::ZERO,
            way: WAY,
            down: VecDeque::new(),
            up: VecDeque::new(),
            sent: Vec::new(),
            events: Vec::new(),
            cwnd: 0.0,
            loses,
            reaches: None,
            loses_acks: false,
        };
        path.sender.set_end(1 + segments);
        path.act(|sender, now, mut log| sender.open(now, &mut log));
        path
    }

    fn act(
        &mut self,
        call: impl FnOnce(&mut Sender, Instant, &mut dyn FnMut(Instant, SenderEvent<'_>)),
    ) {
        let (mut events, mut cwnd) = (Vec::new(), self.cwnd);
        let mut log = |at: Instant, event: SenderEvent<'_>| match event {
            SenderEvent::Cwnd { to, .. } => cwnd = to,
            SenderEvent::Path(event) => events.push((at, format!("{event:?}"))),
            SenderEvent::Timeout(seq) => events.push((at, format!("Timeout({seq})"))),
            SenderEvent::FastRetransmit(seq) => events.push((at, format!("Recovery({seq})"))),
            _ => {}
        };
        call(&mut self.sender, self.now, &mut log);
        self.cwnd = cwnd;
        self.events.extend(events);
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            let number = segment.packet_number();
            let validates = segment.content == Content::Challenge;
            self.sent.push((self.now, number, segment.seq, validates));
            let to = self.sender.destination();
            let arrives = self.reaches.is_none_or(|only| only == to);
            if !(self.loses)(number) && arrives {
                self.down.push_back((self.now + self.way, segment, to));
            }
        }
    }

    fn answer(&mut self, ack: Option<Ack>) {
        if let Some(ack) = ack.filter(|_| !self.loses_acks) {
            self.up.push_back((self.now + self.way, ack));
        }
    }

    /// Processes the next event; returns whether there was one before `end`.
    fn step(&mut self, end: Instant) -> bool {
        let timers = [self.sender.poll_timer(), self.receiver.poll_timer()];
        let due = [
            self.down.front().map(|(at, ..)| *at),
            self.up.front().map(|(at, _)| *at),
            timers[0].map(|(at, _)| at),
            timers[1].map(|(at, _)| at),
        ];
        let next = due.iter().flatten().min().copied();
        let Some(at) = next.filter(|at| *at < end) else {
            self.now = end;
            return false;
        };
        self.now = self.now.max(at);
        let now = self.now;
        if due[0] == Some(at) {
            if let Some((_, segment, _)) = self.down.pop_front() {
                let ack = if segment.content == Content::Challenge {
                    self.receiver.on_empty_ack(now, &segment)
                } else {
                    self.receiver.on_segment(now, &segment)
                };
                self.answer(ack);
            }
        } else if due[1] == Some(at) {
            if let Some((_, ack)) = self.up.pop_front() {
                self.act(|sender, now, mut log| sender.on_ack(now, &ack, &mut log));
            }
        } else if due[3] == Some(at) {
            let ack = self.receiver.on_timer(now);
            self.answer(ack);
        } else {
            self.act(|sender, now, mut log| {
                sender.on_timer(now, &mut log);
            });
        }
        true
    }

    fn until(&mut self, ms: u64) {
        let end = Instant::from_nanos(ms * 1_000_000);
        while self.step(end) {}
    }

    /// The address of the node changes, and the node detects it.
    fn move_to(&mut self, address: u16, port_only: bool) {
        let ack = self.receiver.on_address(self.now, address, port_only, true);
        self.answer(ack);
    }

    fn at(&self, what: &str) -> Vec<f64> {
        let of = |(at, event): &(Instant, String)| {
            event
                .starts_with(what)
                .then(|| (at.as_secs_f64() * 1e6).round() / 1e3)
        };
        self.events.iter().filter_map(of).collect()
    }

    fn sent_between(&self, from_ms: u64, to_ms: u64) -> usize {
        let ms = |at: Instant| at.as_nanos() / 1_000_000;
        let within = |at: Instant| (from_ms..to_ms).contains(&ms(at));
        self.sent
            .iter()
            .filter(|(at, .., validates)| within(*at) && !validates)
            .count()
    }
}

#[test]
fn no_packet_number_is_used_twice_and_all_data_arrive() {
    let mut path = Path::new(&[], 2000, |number| number % 7 == 3 && number > 20);
    path.until(300_000);
    assert!(path.sender.is_done() && path.receiver.next() == 2001);
    let numbers: BTreeSet<u64> = path.sent.iter().map(|(_, number, ..)| *number).collect();
    assert_eq!(numbers.len(), path.sent.len());
    let in_order = path.sent.windows(2).all(|two| two[0].1 < two[1].1);
    assert!(in_order, "numbers go up");
    let segments: BTreeSet<Seq> = path.sent.iter().map(|(_, _, seq, _)| *seq).collect();
    assert!(
        segments.len() == 2001 && path.sent.len() > 2200,
        "lost ones went again"
    );
}

/// RFC 9002 section 6.1.1: packets 1 to 10 are the initial window, and 3 is lost. 4 and 5 arrive together and are out
/// of order, so each is acknowledged at once; the third number above 3 is 6.
#[test]
fn a_packet_is_lost_when_a_third_higher_number_is_acknowledged() {
    let mut path = Path::new(&[], 10, |number| number == 3);
    path.until(10_000);
    // The handshake takes 100 ms, and the window another 100.
    assert_eq!(path.at("Lost"), [200.0]);
    assert_eq!(path.at("Recovery"), [200.0]);
    let again: Vec<_> = path.sent.iter().filter(|(.., seq, _)| *seq == 3).collect();
    assert_eq!(
        again
            .iter()
            .map(|(_, number, ..)| *number)
            .collect::<Vec<_>>(),
        [3, 11]
    );
    // CUBIC of RFC 9438: 0.7 of 10.
    assert_eq!(path.cwnd, 7.0);
}

/// Section 6.1.2: the last but one packet is lost, and no third number arrives above it: it is lost 9/8 of the round
/// trip after it was sent.
#[test]
fn a_packet_is_lost_when_it_is_overdue() {
    let mut path = Path::new(&[], 10, |number| number == 9);
    path.until(10_000);
    assert_eq!(path.at("Lost"), [212.5]);
}

/// Section 6.2: the tail is lost. SRTT is 100 ms and RTTVAR by then 100 * 0.5 * 0.75^n; the probes are two, and double.
#[test]
fn two_probes_go_after_a_probe_timeout_and_no_window_is_reduced() {
    let mut path = Path::new(&[], 10, |number| (7..=14).contains(&number));
    path.until(5000);
    let timeouts = path.at("Timeout");
    assert!(timeouts.len() >= 3, "{timeouts:?}");
    let gaps: Vec<f64> = timeouts.windows(2).map(|two| two[1] - two[0]).collect();
    assert!((gaps[1] / gaps[0] - 2.0).abs() < 1e-3, "{gaps:?}");
    let first = (timeouts[0] * 1e6).round() as u64 / 1_000_000;
    assert_eq!(path.sent_between(first, first + 1), 2);
    assert!(path.sender.is_done());
    assert_eq!(path.at("PersistentCongestion"), [] as [f64; 0]);
}

/// Section 7.6: everything sent over three probe timeouts is lost, as the next ACK shows.
#[test]
fn a_long_silence_with_losses_on_both_sides_is_persistent_congestion() {
    let mut path = Path::new(&[("congestion", "reno")], 4000, |_| false);
    path.until(430);
    let from = path.sent.len() as u64;
    assert!(from > 50);
    // Nothing arrives for six seconds: only probes are sent.
    path.reaches = Some(9);
    path.until(6400);
    path.reaches = None;
    path.until(9000);
    assert_eq!(path.at("PersistentCongestion").len(), 1);
    assert!(path.at("Timeout").len() >= 4);
}

#[test]
fn a_new_address_is_validated_and_has_its_own_window() {
    let mut path = Path::new(&[], 100_000, |_| false);
    path.until(1000);
    let before = path.cwnd;
    assert!(before > 100.0);
    path.move_to(1, false);
    path.reaches = Some(1);
    path.until(1049);
    assert!(path.cwnd >= before);
    path.until(1055);
    // The server detects it after the one-way delay; it begins with ten packets, and with the first RTT.
    assert_eq!(path.at("Migrated"), [1050.0]);
    assert_eq!(path.cwnd, 10.0);
    assert_eq!(path.sender.view().rto, Duration::from_millis(999));
    // To both addresses. An ACK of about 65 bytes allows one datagram, which is the challenge (RFC 9000 section 8.1).
    assert_eq!(path.at("Challenge"), [1050.0, 1050.0]);
    assert_eq!(path.sent_between(1050, 1150), 0);
    path.until(1151);
    assert_eq!(path.at("Validated"), [1150.0]);
    assert_eq!(path.sent_between(1150, 1151), 10);
    path.until(1240);
    assert_eq!(
        path.cwnd, 10.0,
        "what was sent over the old path does not count here"
    );
}

/// The response to the challenge of the old path comes from the new one: 1200 bytes, so three more datagrams are
/// allowed.
#[test]
fn three_times_the_received_bytes_may_be_sent_before_validation() {
    let mut path = Path::new(&[], 100_000, |_| false);
    path.until(1000);
    path.move_to(1, false);
    path.until(1051);
    // Of the packets in transit only the challenge to the old address arrives.
    let is_it = |segment: &Segment| segment.content == Content::Challenge;
    path.down
        .retain(|(_, segment, to)| *to == 0 && is_it(segment));
    path.up.clear();
    path.until(1149);
    assert_eq!(path.sent_between(1051, 1149), 0);
    path.until(1152);
    assert!(path.at("Validated").is_empty(), "its challenge is lost");
    assert_eq!(path.sent_between(1149, 1152), 3);
    assert!(!path.at("AmplificationLimit").is_empty());
}

#[test]
fn an_address_without_an_answer_is_abandoned() {
    let mut path = Path::new(&[], 100_000, |_| false);
    path.until(1000);
    path.move_to(1, false);
    path.reaches = Some(0);
    path.until(20_000);
    // Three times the probe timeout of a new path: 999 + 25 ms.
    assert_eq!(path.at("ValidationFailed"), [1050.0 + 3.0 * 1024.0]);
    assert_eq!(path.sender.destination(), 0);
}

/// The window right after the migration, for each stack.
#[test]
fn seven_stacks_are_seven_rows() {
    let window = |row: &str, port_only: bool| {
        let mut path = Path::new(&[("migration", row)], 100_000, |_| false);
        path.until(1000);
        let before = path.cwnd;
        path.move_to(1, port_only);
        path.until(1051);
        let kept = path.cwnd >= before;
        let initial = path.sender.view().rto;
        (if kept { None } else { Some(path.cwnd) }, initial)
    };
    let ms = Duration::from_millis;
    for row in ["rfc9000", "quinn", "s2n-quic", "quiche", "msquic"] {
        assert_eq!(window(row, false), (Some(10.0), ms(999)), "{row}");
    }
    assert_eq!(window("neqo", false), (Some(10.0), ms(300)));
    assert_eq!(window("google-quiche", false), (Some(32.0), ms(300)));
    assert!(window("picoquic", false).0.is_none());
    for row in ["quinn", "google-quiche", "picoquic", "msquic"] {
        assert!(window(row, true).0.is_none(), "{row}");
    }
    for row in ["s2n-quic", "neqo", "quiche"] {
        assert_eq!(window(row, true).0, Some(10.0), "{row}");
    }
    assert_eq!(window("msquic", true).1, ms(999), "its RTT begins anew");
}

/// A known path continues with its earlier state, if the stack does that.
#[test]
fn a_path_that_was_left_is_restored() {
    let back = |row: &str| {
        let mut path = Path::new(&[("migration", row)], 100_000, |_| false);
        path.until(1000);
        let first = path.cwnd;
        path.move_to(1, false);
        path.until(1400);
        path.move_to(0, false);
        path.until(1451);
        (first, path.cwnd)
    };
    let (first, after) = back("quiche");
    assert!(after >= first, "{after}");
    assert_eq!(back("quinn").1, 10.0);
}

/// ACK frequency: with a threshold of nine there is an ACK for every ten packets.
#[test]
fn the_ack_threshold_thins_acks_out() {
    let acks = |threshold: &str| {
        let settings = [("ack_threshold", threshold), ("initial_window", "100")];
        let mut path = Path::new(&settings, 100, |_| false);
        path.until(149);
        path.until(170);
        path.up.len()
    };
    assert_eq!([acks("1"), acks("9")], [50, 10]);
}

#[test]
fn an_ack_of_unsent_data_changes_nothing() {
    let mut path = Path::new(&[], 100, |_| false);
    path.until(120);
    let before = path.sender.view();
    let mut sack = midflight_tcp::SackBlocks::default();
    let (left, right) = (5000, 6000);
    sack.push(1, midflight_tcp::SackBlock { left, right });
    let ack = Ack {
        ack: 1,
        sack,
        echo: None,
        cause_sent: path.now,
        offset: 0,
        option: AckOption::Nothing,
        window: None,
        stamp_ms: 0,
        extra_bytes: u8::MAX,
    };
    path.act(|sender, now, mut log| sender.on_ack(now, &ack, &mut log));
    let after = path.sender.view();
    assert_eq!((before.snd_una, before.cwnd), (after.snd_una, after.cwnd));
    path.until(10_000);
    assert!(path.sender.is_done());
    let _ = PathEvent::Validated;
}

/// A controller of a window of four, which grows at the hundredth ACK of a path.
#[derive(Clone, Debug, Default)]
struct Four(u32);

impl HandoffPolicy for Four {
    fn on_notice(&mut self, _notice: &Notice, _view: &SenderView) -> Orders {
        Orders::none()
    }

    fn interests(&self) -> Interests {
        Interests::CONTROL
    }
}

impl ForeignPolicy for Four {
    fn info(&self) -> PartInfo {
        PartInfo {
            name: "four",
            summary: "",
            source: "",
            knobs: &[],
        }
    }

    fn copied(&self) -> Box<dyn ForeignPolicy> {
        Box::new(self.clone())
    }

    fn controller(&mut self) -> Option<&mut dyn ForeignCongestion> {
        Some(self)
    }
}

fn window(cwnd: f64) -> Control {
    Control {
        cwnd: Some(cwnd),
        ..Control::default()
    }
}

impl ForeignCongestion for Four {
    fn steers_recovery(&self) -> bool {
        true
    }

    fn on_open(&mut self, _view: &SenderView) -> Control {
        self.0 = 0;
        window(4.0)
    }

    fn on_ack(&mut self, _view: &SenderView) -> Control {
        self.0 += 1;
        window(if self.0 < 100 { 4.0 } else { 6.0 })
    }

    fn on_loss(&mut self, _view: &SenderView) -> Control {
        Control::default()
    }

    fn on_timeout(&mut self, _view: &SenderView) -> Control {
        Control::default()
    }

    fn on_undo(&mut self, _view: &SenderView) -> Control {
        Control::default()
    }
}

/// It is called when the connection and a new path begin, and at ACKs of both.
#[test]
fn a_foreign_controller_stays_on_a_new_path() {
    let mut path = Path::new(&[], 100_000, |_| false);
    let p = quic(&[]);
    let policy = Policy::Foreign(Foreign::new(&Four::default()));
    path.sender = Sender::new(&p.sender, &p.parts, [policy]);
    path.sender.set_end(100_001);
    path.sent.clear();
    path.down.clear();
    path.act(|sender, now, mut log| sender.open(now, &mut log));
    path.until(1000);
    assert_eq!(path.cwnd, 4.0);
    path.until(9000);
    assert_eq!(path.cwnd, 6.0);
    path.move_to(1, false);
    path.until(10_000);
    assert_eq!(path.at("Migrated").len(), 1);
    assert_eq!(path.cwnd, 4.0);
    path.until(19_000);
    assert_eq!(path.cwnd, 6.0);
}
