//! Pacing: the gaps between segments, by an order, by the setting and by the controller, with every kind of
//! recovery.
#![allow(clippy::panic, reason = "a failed test panics")]

use crate::common::{configured, DrivenSender};
use midflight_control::part::PartInfo;
use midflight_control::policy::{ForeignPolicy, HandoffPolicy, Policy};
use midflight_control::{
    AckNews, Interests, LinkInfo, Notice, Order, Orders, Pacing, RateSample, SenderView,
};
use midflight_tcp::{Sender, RECOVERIES};
use midflight_units::{Duration, Instant, Rate, Seq};

const MS: u64 = 1_000_000;

/// Gives these orders at a notice, and stores the rate samples of the following ACKs.
#[derive(Clone, Debug)]
struct Paces(Pacing);

impl HandoffPolicy for Paces {
    fn on_notice(&mut self, _notice: &Notice, _view: &SenderView) -> Orders {
        Orders::none().with(Order::Pace(self.0), "a test")
    }

    fn interests(&self) -> Interests {
        Interests::ACKS | Interests::RATES
    }

    fn on_ack(&mut self, ack: &AckNews, view: &SenderView) -> Orders {
        assert_eq!(ack.rate, view.rate);
        assert!(ack.rate.is_some(), "somebody listens");
        Orders::none()
    }
}

impl ForeignPolicy for Paces {
    fn info(&self) -> PartInfo {
        PartInfo {
            name: "paces",
            summary: "",
            source: "",
            knobs: &[],
        }
    }

    fn copied(&self) -> Box<dyn ForeignPolicy> {
        Box::new(self.clone())
    }
}

fn paced(recovery: &str, pacing: Pacing) -> DrivenSender {
    let mut hand = DrivenSender::closed(&[("recovery", recovery)], 100);
    let p = configured(&[("recovery", recovery)]);
    let policy = midflight_control::policy::Foreign::new(&Paces(pacing));
    hand.sender = Sender::new(&p.sender, &p.parts, [Policy::Foreign(policy)]);
    hand.sender.open(hand.now, &mut hand.seen);
    assert_eq!(hand.send(), [0]);
    hand.receive_ack(1, &[], None);
    let link = LinkInfo {
        rate: Rate::from_mbps(1),
        delay: Duration::from_millis(10),
    };
    let notice = Notice {
        old: link,
        new: link,
        flows: 1,
    };
    hand.sender.on_notice(hand.now, &notice, &mut hand.seen);
    hand
}

/// All segments sent from now on without a further ACK and before `until`: milliseconds from now and number.
fn sent(hand: &mut DrivenSender, until_ms: u64) -> Vec<(f64, Seq)> {
    let from = hand.now;
    let mut all = Vec::new();
    loop {
        let at = hand.now.since(from).as_nanos() as f64 / MS as f64;
        all.extend(hand.send().into_iter().map(|seq| (at, seq)));
        match hand.sender.poll_timer() {
            Some((due, _)) if due < from + Duration::from_millis(until_ms) => {
                hand.now = due.max(hand.now);
                hand.sender.on_timer(hand.now, &mut hand.seen);
            }
            _ => return all,
        }
    }
}

/// The ACKs here are of TCP; those of QUIC have packet numbers (`quic.rs`).
fn with_tcp_acks() -> impl Iterator<Item = &'static PartInfo> {
    RECOVERIES.iter().filter(|recovery| recovery.name != "quic")
}

/// 1500 bytes at 1.2 Mbit/s are 10 ms.
#[test]
fn an_ordered_rate_spaces_segments_with_every_recovery() {
    let rate = Rate::from_bps(1_200_000).unwrap_or_else(|| panic!("a rate"));
    for recovery in with_tcp_acks() {
        let mut hand = paced(recovery.name, Pacing::At(rate));
        let got = sent(&mut hand, 60);
        let bursts = if recovery.name == "linux" { 2 } else { 1 };
        for (number, (at, seq)) in got.iter().enumerate() {
            let due = number as u64 / bursts * bursts * 10;
            assert_eq!(
                (*at, *seq),
                (due as f64, number as u64 + 1),
                "{}",
                recovery.name
            );
        }
        assert!(got.len() >= 6, "{}: {got:?}", recovery.name);
        // An ACK does not cause a burst.
        hand.now = Instant::from_nanos(160 * MS);
        hand.step = Duration::ZERO;
        let more = hand.ack(5);
        assert!(more.len() <= bursts as usize, "{}: {more:?}", recovery.name);
    }
}

/// The initial window of ten segments in 50 ms is one every 5 ms; after that time ACKs clock again.
#[test]
fn a_window_is_spread_over_a_round_trip_and_no_longer() {
    let over = Duration::from_millis(50);
    for recovery in ["sack", "newreno"] {
        let mut hand = paced(recovery, Pacing::Window { over });
        let got = sent(&mut hand, 90);
        let expected: Vec<(f64, Seq)> = (0..10).map(|n| (5.0 * n as f64, n + 1)).collect();
        assert_eq!(got, expected, "{recovery}");
        hand.now = Instant::from_nanos(190 * MS);
        hand.step = Duration::ZERO;
        assert!(hand.ack(5).len() > 4, "{recovery}");
    }
}

/// With the setting, ten segments are sent at once and later ones at twice the window per round trip.
#[test]
fn a_setting_paces_at_twice_the_window_in_slow_start() {
    for recovery in with_tcp_acks() {
        let name = recovery.name;
        let mut hand = DrivenSender::open(&[("pacing", "on"), ("recovery", name)], 100);
        assert_eq!(hand.sender.view().snd_nxt, 11, "{name}: unpaced");
        let more = hand.ack(3);
        assert!(
            !more.is_empty() && hand.sender.view().paced_until.is_some(),
            "{name}"
        );
        // Rates of 11 to 14 segments a 100 ms, twice; bursts of one or two.
        let got = sent(&mut hand, 30);
        let gaps: Vec<f64> = got.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        let burst = if name == "linux" { 2.0 } else { 1.0 };
        let whole = |gap: &f64| *gap == 0.0 && burst > 1.0 || (3.5..4.6).contains(&(gap / burst));
        assert!(gaps.iter().all(whole), "{name}: {got:?}");
    }
}

#[test]
fn senders_that_do_not_listen_have_no_rate_sample() {
    let hand = DrivenSender::open(&[], 100);
    assert_eq!(hand.sender.view().rate, None::<RateSample>);
    assert_eq!(hand.sender.view().paced_until, None);
}

/// tcp_tso_segs(): twice a window of 12 segments in 100 ms is 0.35 MB/s, or 339 bytes a millisecond; 64 KB halved three times
/// for a minimum RTT of 3 times 2^15 us are 5.6 segments.
#[test]
fn bursts_have_the_size_of_their_settings() {
    let least = ("tcp_min_tso_segs", "4");
    for (settings, burst) in [
        (&[][..], 2),
        (&[("gso_max_segs", "1")], 1),
        (&[least], 4),
        (&[least, ("gso_max_segs", "3")], 3),
        (&[("tcp_tso_rtt_log", "15")], 5),
        (&[("tcp_tso_rtt_log", "15"), ("gso_max_segs", "4")], 4),
    ] {
        let usual = [("pacing", "on"), ("recovery", "linux")];
        let mut hand = DrivenSender::open(&[&usual, settings].concat(), 100);
        assert_eq!(hand.ack(11).len(), burst, "{settings:?}");
        let later = sent(&mut hand, 40);
        let of_instants: Vec<usize> = later
            .chunk_by(|one, next| one.0 == next.0)
            .map(<[_]>::len)
            .collect();
        // The last one has what is left of the window.
        let whole = of_instants.len() - 1;
        assert!(whole > 0, "{settings:?}: {later:?}");
        assert_eq!(of_instants[..whole], vec![burst; whole], "{settings:?}");
        assert!(of_instants[whole] <= burst, "{settings:?}");
    }
}
