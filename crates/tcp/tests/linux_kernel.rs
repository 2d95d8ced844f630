//! The profile `linux` beside the kernel: the ACKs that a Linux kernel got in the lab are fed to the
//! sender at their instants, and it sends what the kernel sent, when it did, with its windows and
//! estimates. Files in `tests/kernel/` have the record and the script that made it.
#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_tcp::{profile, Ack, SackBlock, SackBlocks, Says, Sender};
use midflight_units::{Duration, Instant};

/// Ticks of the kernel's clock when a script begins: 2 s after its start, which is at tick -75000.
const PHASE: &str = "66810864 ms";
/// The kernel's clock rings a nanosecond late, and counts in microseconds.
const LATE_NS: u64 = 1000;

/// A segment as it leaves: instant, number, window, threshold, mean and deviation of the RTT, timeout.
type Sent = [u64; 7];

fn numbers(words: &[&str]) -> Vec<u64> {
    let read = |word: &&str| word.parse().unwrap_or_else(|e| panic!("{word}: {e}"));
    words.iter().map(read).collect()
}

fn ack_of(words: &[&str]) -> (Instant, Ack) {
    let [at, ack, echo] = numbers(&words[..3])[..] else {
        panic!("an ACK has three numbers");
    };
    let mut sack = SackBlocks::default();
    for block in &words[3..] {
        let edges: Vec<&str> = block.split('-').collect();
        if let [left, right] = numbers(&edges)[..] {
            sack.push(ack, SackBlock { left, right });
        }
    }
    let at = Instant::from_nanos(at);
    let ack = Ack {
        ack,
        sack,
        echo: Some(Instant::from_nanos(echo)),
        cause_sent: at,
        says: Says::Nothing,
    };
    (at, ack)
}

fn send(sender: &mut Sender, now: Instant, sent: &mut Vec<Sent>) {
    while let Some(segment) = sender.poll_transmit(now) {
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
        ]);
    }
}

/// Timers that come before `now`.
fn wake(sender: &mut Sender, now: Instant, sent: &mut Vec<Sent>) {
    while let Some((due, _)) = sender.poll_timer().filter(|(due, _)| *due < now) {
        sender.on_timer(due, &mut ());
        send(sender, due, sent);
    }
}

fn compare(name: &str, record: &str, controller: &str) {
    let mut p = profile("linux").unwrap_or_else(|e| panic!("{e}"));
    for (setting, value) in [("hz_phase", PHASE), ("congestion", controller)] {
        p.set(setting, value).unwrap_or_else(|e| panic!("{e}"));
    }
    let mut sender = Sender::new(&p.sender, []);
    let (mut ours, mut kernel) = (Vec::new(), Vec::<Sent>::new());
    for line in record.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[0] {
            "segments" => sender.set_end(numbers(&words[1..])[0]),
            "sent" => {
                let sent = numbers(&words[1..]);
                if kernel.is_empty() {
                    let now = Instant::from_nanos(sent[0]);
                    sender.open(now, &mut ());
                    send(&mut sender, now, &mut ours);
                }
                kernel.push(sent.try_into().unwrap_or_else(|_| panic!("{line}")));
            }
            _ => {
                let (now, ack) = ack_of(&words[1..]);
                wake(&mut sender, now, &mut ours);
                sender.on_ack(now, &ack, &mut ());
                send(&mut sender, now, &mut ours);
            }
        }
    }
    assert!(sender.is_done(), "{name}: {:?}", sender.view());
    for (number, (ours, kernel)) in ours.iter().zip(&kernel).enumerate() {
        let what = format!("{name}, segment sent as number {number}: {ours:?}, kernel {kernel:?}");
        assert!(ours[0].abs_diff(kernel[0]) <= LATE_NS, "{what}");
        assert_eq!(ours[1], kernel[1], "{what}");
        if kernel[1] > 0 {
            // The SYN's window is the initial one already in the kernel's books.
            assert_eq!(ours[2..6], kernel[2..6], "{what}");
            // The kernel doubles the timeout when the segment has gone.
            assert!(ours[6] == kernel[6] || ours[6] == 2 * kernel[6], "{what}");
        }
    }
    assert_eq!(ours.len(), kernel.len(), "{name}");
}

macro_rules! beside_the_kernel {
    ($($test:ident: $file:literal with $controller:literal),+ $(,)?) => {
        $(#[test]
        fn $test() {
            let record = include_str!(concat!("kernel/", $file, ".txt"));
            compare($file, record, $controller);
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
}
