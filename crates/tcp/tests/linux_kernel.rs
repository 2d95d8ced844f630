//! The profile `linux` compared with the kernel: ours gets the input of a Linux kernel's sender in the lab
//! at the same instants, and sends the same segments at the same times, with the same windows and
//! estimates. The same for the receiver: its ACKs, their times, windows and SACK blocks. Files in
//! `tests/kernel/` have the records and the scenarios that made them; `tests/linux/record.py` makes them
//! again.
#![allow(clippy::panic, reason = "a failed test panics")]

use std::num::NonZeroU32;

use midflight_tcp::{
    profile, Ack, AckOption, Content, Profile, Receiver, SackBlock, SackBlocks, Segment, Sender,
};
use midflight_units::{Duration, Instant};

/// Ticks of the kernel's clock when a run begins: 2 s after its start, which is at tick -75000.
const PHASE: &str = "66810864 ms";
/// The kernel's timers expire a nanosecond late, and its clock counts in microseconds.
const LATE_NS: u64 = 1000;

/// A sent segment: instant, number, window, threshold, mean and deviation of the RTT, timeout, and PSH.
type Sent = [u64; 8];

fn numbers(words: &[&str]) -> Vec<u64> {
    let read = |word: &&str| word.parse().unwrap_or_else(|e| panic!("{word}: {e}"));
    words.iter().map(read).collect()
}

fn lines(record: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = record.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().collect())
}

fn blocks(ack: u64, words: &[&str]) -> SackBlocks {
    let mut sack = SackBlocks::default();
    for block in words {
        let edges: Vec<&str> = block.split('-').collect();
        if let [left, right] = numbers(&edges)[..] {
            sack.push(ack, SackBlock { left, right });
        }
    }
    sack
}

fn ack_of(words: &[&str]) -> (Instant, Ack) {
    let [at, ack, echo, window, stamp] = numbers(&words[..5])[..] else {
        panic!("an ACK has five numbers");
    };
    let at = Instant::from_nanos(at);
    let ack = Ack {
        ack,
        sack: blocks(ack, &words[5..]),
        echo: Some(Instant::from_nanos(echo)),
        cause_sent: at,
        offset: 0,
        option: AckOption::Nothing,
        window: NonZeroU32::new(window as u32),
        stamp_ms: stamp as u32,
        extra_bytes: 0,
    };
    (at, ack)
}

/// The controller, for BBR followed by a colon and the phases that the kernel drew.
fn linux(controller: &str) -> Profile {
    let mut p = profile("linux").unwrap_or_else(|e| panic!("{e}"));
    let (controller, phases) = controller.split_once(':').unwrap_or((controller, ""));
    for (setting, value) in [("hz_phase", PHASE), ("congestion", controller)] {
        p.set(setting, value).unwrap_or_else(|e| panic!("{e}"));
    }
    if !phases.is_empty() {
        let set = p.parts.congestion.set_knob("bbr_linux_phases", phases);
        set.unwrap_or_else(|e| panic!("{e}"));
    }
    p
}

fn send(sender: &mut Sender, now: Instant, sent: &mut Vec<Sent>) {
    while let Some(segment) = sender.poll_transmit(now) {
        if segment.content == Content::Acknowledgment {
            continue;
        }
        let v = sender.view();
        let micros = |d: Option<Duration>| d.map_or(0, |d| d.as_nanos() / 1000);
        let (srtt, rttvar) = (micros(v.srtt), micros(v.rttvar));
        let rto = micros(Some(v.rto));
        let (cwnd, ssthresh) = (v.cwnd as u64, v.ssthresh as u64);
        sent.push([
            now.as_nanos(),
            segment.seq,
            cwnd,
            ssthresh,
            srtt,
            rttvar,
            rto,
            u64::from(segment.push),
        ]);
    }
}

/// Calls timers that expire before `now`.
fn wake(sender: &mut Sender, now: Instant, sent: &mut Vec<Sent>) {
    while let Some((due, _)) = sender.poll_timer().filter(|(due, _)| *due < now) {
        sender.on_timer(due, &mut ());
        send(sender, due, sent);
    }
}

fn compare_sender(name: &str, record: &str, controller: &str) {
    let profile = linux(controller);
    let mut sender = Sender::new(&profile.sender, &profile.parts, []);
    let (mut ours, mut kernel) = (Vec::new(), Vec::<Sent>::new());
    for words in lines(record) {
        match words[0] {
            "segments" => sender.set_end(numbers(&words[1..])[0]),
            "sent" => {
                let sent = numbers(&words[1..]);
                if kernel.is_empty() {
                    let now = Instant::from_nanos(sent[0]);
                    sender.open(now, &mut ());
                    send(&mut sender, now, &mut ours);
                }
                kernel.push(sent.try_into().unwrap_or_else(|_| panic!("{words:?}")));
            }
            "ack" => {
                let (now, ack) = ack_of(&words[1..]);
                wake(&mut sender, now, &mut ours);
                sender.on_ack(now, &ack, &mut ());
                send(&mut sender, now, &mut ours);
            }
            _ => {}
        }
    }
    assert!(sender.is_done(), "{name}: {:?}", sender.view());
    let last = kernel.iter().map(|sent| sent[1]).max();
    for (number, (ours, kernel)) in ours.iter().zip(&kernel).enumerate() {
        let what = format!("{name}, segment sent as number {number}: {ours:?}, kernel {kernel:?}");
        assert!(ours[0].abs_diff(kernel[0]) <= LATE_NS, "{what}");
        assert_eq!(ours[1], kernel[1], "{what}");
        if kernel[1] > 0 {
            // In the kernel's state the window at the SYN is already the initial one.
            assert_eq!(ours[2..6], kernel[2..6], "{what}");
            // The kernel doubles the timeout after the segment has been sent.
            assert!(ours[6] == kernel[6] || ours[6] == 2 * kernel[6], "{what}");
        }
        // The last segment is shorter in the kernel, which ends a burst before it.
        if Some(kernel[1] + 2) < last {
            assert_eq!(ours[7], kernel[7], "{what}");
        }
    }
    assert_eq!(ours.len(), kernel.len(), "{name}");
}

fn described(ack: &Ack, at: Instant) -> String {
    let sack = ack.sack.iter(ack.ack);
    let sack: Vec<String> = sack.map(|b| format!("{}-{}", b.left, b.right)).collect();
    let window = ack.window.map_or(0, NonZeroU32::get);
    let at = at.as_nanos();
    format!(
        "{at} {} {window} {} {}",
        ack.ack,
        ack.stamp_ms,
        sack.join(" ")
    )
}

fn compare_receiver(name: &str, record: &str, controller: &str) {
    let mut receiver = Receiver::new(linux(controller).receiver);
    let (mut ours, mut kernel) = (Vec::new(), Vec::new());
    let segment = |seq, sent, push, echo, content| Segment {
        seq,
        bytes: 1500,
        retransmission: false,
        sent: Instant::from_nanos(sent),
        content,
        push: push > 0,
        ecn: midflight_tcp::EcnCodepoint::NotCapable,
        cwr: false,
        echo_ms: echo as u32,
        offset: 0,
        option: None,
    };
    let mut got = Vec::new();
    let mut last = 0;
    for words in lines(record) {
        let read = || numbers(&words[1..]);
        match words[0] {
            "segments" => last = read()[0] - 1,
            "data" => {
                let n = read();
                got.push((n[0], segment(n[1], n[2], n[3], n[4], Content::Data)));
            }
            "empty" => {
                let n = read();
                got.push((n[0], segment(n[1], n[2], 0, n[3], Content::Acknowledgment)));
            }
            "acked" => {
                let n = numbers(&words[1..5]);
                let ack = [words[1..5].join(" "), words[5..].join(" ")].join(" ");
                kernel.push((n[0], n[1], ack));
            }
            _ => {}
        }
    }
    let mut tell = |at: Instant, ack: Option<Ack>| {
        if let Some(ack) = ack {
            ours.push((at.as_nanos(), described(&ack, at)));
        }
    };
    for (at, segment) in got {
        let now = Instant::from_nanos(at);
        while let Some((due, _)) = receiver.poll_timer().filter(|(due, _)| *due < now) {
            tell(due, receiver.on_timer(due));
        }
        if segment.content == Content::Acknowledgment {
            tell(now, receiver.on_empty_ack(now, &segment));
        } else {
            tell(now, receiver.on_segment(now, &segment));
        }
        while receiver.poll_timer().is_some_and(|(due, _)| due <= now) {
            tell(now, receiver.on_timer(now));
        }
    }
    for (number, ((at, ours), (kernel_at, ack, kernel))) in ours.iter().zip(&kernel).enumerate() {
        if *ack > last {
            // The last segment is shorter in the kernel.
            break;
        }
        let what = format!("{name}, ACK {number}: {ours}, kernel {kernel}");
        assert!(at.abs_diff(*kernel_at) <= LATE_NS, "{what}");
        // Everything except the instant; the window is separate.
        let parts = |line: &str| {
            let mut words: Vec<String> = line.split(' ').skip(1).map(Into::into).collect();
            let window: u64 = words.remove(1).parse().unwrap_or_else(|e| panic!("{e}"));
            (words, window)
        };
        let ((ours, our_window), (kernel, window)) = (parts(ours), parts(kernel));
        assert_eq!(ours, kernel, "{what}");
        assert_eq!(our_window, window, "{what}");
    }
    assert!(
        ours.len() + 2 >= kernel.len(),
        "{name}: {} ACKs",
        ours.len()
    );
}

macro_rules! beside_the_kernel {
    ($($test:ident: $file:literal with $controller:literal),+ $(,)?) => {
        $(#[test]
        fn $test() {
            let record = include_str!(concat!("kernel/", $file, ".txt"));
            compare_sender($file, record, $controller);
            compare_receiver($file, record, $controller);
        })+
    };
}

beside_the_kernel! {
    a_slow_link: "slow-link" with "cubic-linux",
    losses_with_reno: "reno-losses" with "reno-linux",
    segments_that_come_late: "reordering" with "cubic-linux",
    a_handoff_to_a_shorter_path: "to-a-shorter-path" with "cubic-linux",
    a_break: "break" with "cubic-linux",
    lost_syns: "lost-syns" with "cubic-linux",
    bbr: "bbr" with "bbr-linux:61",
    bbr_with_losses: "bbr-losses" with "bbr-linux:5",
    bbr_over_a_handoff_to_a_longer_path_and_a_break: "bbr-to-a-longer-path" with "bbr-linux:4",
}
