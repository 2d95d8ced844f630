use super::*;
use crate::ack::testing::duplicate;
use crate::estimate::Estimate;
use crate::policy::testing::{link, notice, view};

/// The SYN is acknowledged and nothing else has been sent.
fn open() -> SenderView {
    SenderView {
        snd_una: 1,
        snd_nxt: 1,
        snd_max: 1,
        cwnd: 3.0,
        receiver_window: 5000,
        ..view(0, 1000)
    }
}

fn knobbed(knobs: &[(&str, &str)]) -> Rapid {
    let mut rapid = Rapid::default();
    for (knob, value) in knobs {
        assert_eq!(rapid.set_knob(knob, value), Ok(()), "{knob}");
    }
    rapid
}

/// RAPID at this rate, after its start-up.
fn steady(mbps: f64, knobs: &[(&str, &str)]) -> Rapid {
    Rapid {
        phase: RapidState::Running,
        rate: mbps * 1e6,
        size: knobbed(knobs).segments,
        ..knobbed(knobs)
    }
}

/// The ordered chirps: number of segments, the rates and the gap to the next, in ns.
fn chirps(orders: &Orders) -> Vec<(u16, u64, u64, u64)> {
    let chirp = |order: &Order| match *order {
        Order::SendTrain(Train {
            segments,
            spacing: Spacing::Chirp { low, high, rule },
            then: Then::NextAfter(gap),
            ..
        }) => {
            assert_eq!(rule, Some(ChirpRule::PathChirp));
            Some((segments, low.as_bps(), high.as_bps(), gap.as_nanos()))
        }
        _ => None,
    };
    orders
        .iter()
        .filter_map(|(order, _)| chirp(order))
        .collect()
}

fn report(rapid: &mut Rapid, number: u16, mbps: f64) {
    let report = TrainReport {
        estimate: Estimate {
            train: number,
            rate: Rate::from_bps((mbps * 1e6) as u64),
        },
        rtt: None,
    };
    assert!(rapid.on_estimate(&report, &open()).is_empty());
}

/// The average rate is R over the chirp, and over the chirp with the gap after it.
#[test]
fn the_average_rate_of_a_chirp_is_r() {
    for segments in [2, 3, 8, 30] {
        let mut rapid = steady(1.0, &[]);
        let view = SenderView {
            unsent: segments,
            ..open()
        };
        let orders = rapid.on_train_over(&view);
        let trains = orders.iter().filter_map(|(order, _)| match order {
            Order::SendTrain(train) => Some(*train),
            _ => None,
        });
        for train in trains {
            let mut gaps = train.gaps(1500);
            let gap = std::iter::from_fn(|| gaps.take().map(Duration::as_nanos));
            // 12 ms for each gap, apart from rounding to a bit/s and a nanosecond.
            let expected = (segments - 1) * 12_000_000;
            assert!(gap.sum::<u64>().abs_diff(expected) < expected / 50_000);
            assert_eq!(train.then, Then::NextAfter(Duration::from_millis(12)));
        }
    }
}

/// Three segments, the second gap half the first: 1 + 1/2 gaps are two on average, so that the first is
/// at 3/4 of the rate and the second at 3/2. Four: 1 + 1/2 + 1/4 are three, from 7/12 to 7/3.
#[test]
fn the_rates_of_a_chirp_lie_around_its_average() {
    let knobs = [("rapid_spread", "2"), ("rapid_startup", "spread")];
    for (segments, low, high) in [(3, 750_000, 1_500_000), (4, 583_333, 2_333_333)] {
        let mut rapid = steady(1.0, &knobs);
        let view = SenderView {
            unsent: segments,
            ..open()
        };
        let expected = (segments as u16, low, high, 12_000_000);
        assert_eq!(chirps(&rapid.on_train_over(&view)), [expected]);
    }
    // The sum of 1.2^-k for k = 0 to 28 is 5.9696694; 1.2^28 is 164.8447.
    let (low, high) = steady(1.0, &[]).rates(30);
    assert!((low - 205_850.7).abs() < 0.1 && (high - 33_933_400.0).abs() < 100.0);
}

/// A whole chirp of four with spread 2 covers a factor of 4. So does one of three, in one step.
#[test]
fn shorter_chirps_cover_the_range_of_a_whole_one() {
    let knobs = [("rapid_segments", "4"), ("rapid_spread", "2")];
    let mut rapid = steady(1.0, &knobs);
    let view = SenderView {
        unsent: 3,
        ..open()
    };
    // 1 + 1/4 gaps are two on average: 5/8 and 5/2.
    let expected = (3, 625_000, 2_500_000, 12_000_000);
    assert_eq!(chirps(&rapid.on_train_over(&view)), [expected]);
}

/// 29 gaps at 10 Mbit/s last 34.8 ms, 0.174 of 200 ms: 10 + 0.174 x (20 - 10) = 11.74. Of 7: 10 - 3/3 = 9.
/// At 1 Mbit/s it lasts 348 ms, and the gain is 1.
#[test]
fn the_rate_follows_what_is_reported() {
    for (rate, reported, knobs, expected) in [
        (10.0, 20.0, &[][..], 11.74),
        (10.0, 7.0, &[], 9.0),
        (10.0, 10.0, &[], 10.0),
        (1.0, 2.0, &[], 2.0),
        (10.0, 20.0, &[("rapid_tau", "348 ms")], 11.0),
        (10.0, 7.0, &[("rapid_eta", "1")], 7.0),
        // One step below 12 is 10.
        (10.0, 12.0, &[("rapid_estimate", "below")], 10.0),
        (10.0, 8.4, &[("rapid_estimate", "below")], 9.0),
    ] {
        let mut rapid = steady(rate, knobs);
        let _ = rapid.on_train_over(&open());
        report(&mut rapid, 1, reported);
        assert!((rapid.rate / 1e6 - expected).abs() < 1e-6, "{}", rapid.rate);
        // A repeated report is ignored.
        report(&mut rapid, 1, 1000.0);
        assert!((rapid.rate / 1e6 - expected).abs() < 1e-6);
    }
    // The highest rate is not a rise.
    let mut clean = steady(10.0, &[("rapid_estimate", "below"), ("rapid_eta", "1")]);
    clean.tau = Duration::from_nanos(1);
    let (_, high) = clean.rates(30);
    let _ = clean.on_train_over(&open());
    report(&mut clean, 1, high / 1e6);
    assert!((clean.rate - high).abs() < 1.0);
}

fn started(knobs: &[(&str, &str)]) -> (Rapid, Orders) {
    let mut rapid = knobbed(knobs);
    let notice = StartNotice {
        link: link(50_000, 15),
        flows: 4,
    };
    let syn = SenderView {
        snd_una: 0,
        ..open()
    };
    assert!(
        rapid.on_start(&notice, &syn).is_empty() && rapid.on_ack(&duplicate(100), &syn).is_empty()
    );
    let orders = rapid.on_ack(&duplicate(100), &open());
    (rapid, orders)
}

/// 100 kbit/s and two segments; a chirp ordered before a report doubles nothing. Without losses 2, 4, 8,
/// 16 and 30 segments, and R is the reported rate; from then on R follows the reports.
#[test]
fn the_start_up_doubles_its_chirps_once_a_round_trip() {
    let (mut rapid, first) = started(&[]);
    assert_eq!(chirps(&first), [(2, 100_000, 100_000, 120_000_000)]);
    assert!(first.contains(&Order::SetCwnd(5000.0)));
    let size = |rapid: &mut Rapid| {
        let next = chirps(&rapid.on_train_over(&open()));
        (next[0].0, rapid.number)
    };
    assert_eq!(size(&mut rapid), (2, 2));
    report(&mut rapid, 1, 0.1);
    assert_eq!(size(&mut rapid), (4, 3));
    report(&mut rapid, 2, 0.1);
    assert_eq!(size(&mut rapid), (4, 4));
    report(&mut rapid, 4, 5.0);
    assert_eq!((rapid.rate, size(&mut rapid)), (5e6, (8, 5)));
    // The report of train 3 came too late to count.
    report(&mut rapid, 3, 0.2);
    report(&mut rapid, 5, 3.0);
    assert_eq!((rapid.rate, size(&mut rapid)), (3e6, (16, 6)));
    report(&mut rapid, 6, 30.0);
    assert_eq!((rapid.rate, size(&mut rapid)), (30e6, (30, 7)));
    report(&mut rapid, 7, 40.0);
    assert_eq!((rapid.rate, rapid.jumps), (40e6, false));
    let _ = size(&mut rapid);
    report(&mut rapid, 8, 31.0);
    assert_eq!(rapid.rate, 37e6);
}

#[test]
fn a_report_of_a_loss_gives_no_rate() {
    let mut rapid = steady(8.0, &[]);
    let _ = rapid.on_train_over(&open());
    let estimate = Estimate {
        train: 1,
        rate: None,
    };
    let _ = rapid.on_estimate(
        &TrainReport {
            estimate,
            rtt: None,
        },
        &open(),
    );
    assert_eq!((rapid.rate, rapid.chirps.len()), (8e6, 0));
}

/// Segments 1 to 40 are outstanding.
#[test]
fn a_loss_halves_the_rate_once_for_what_is_outstanding() {
    let mut rapid = steady(8.0, &[]);
    let outstanding = SenderView {
        snd_nxt: 41,
        snd_max: 41,
        cwnd: 5000.0,
        ssthresh: 2500.0,
        ..open()
    };
    assert!(rapid
        .on_recovery(&outstanding)
        .contains(&Order::SetCwnd(40.0)));
    assert_eq!(rapid.rate, 4e6);
    // 4 Mbit/s for 100 ms are 33.3 segments of 12,000 bits.
    let threshold = rapid.on_timeout(&outstanding, &outstanding);
    assert!(threshold.contains(&Order::SetSsthresh(400_000.0 / 12_000.0)));
    assert_eq!(rapid.rate, 4e6, "the same loss");
    let next = SenderView {
        snd_una: 41,
        snd_max: 50,
        ..outstanding
    };
    let _ = rapid.on_timeout(&next, &next);
    assert_eq!(rapid.rate, 2e6);
    // Never below a segment a second.
    rapid.rate = 15_000.0;
    let last = SenderView {
        snd_una: 50,
        ..next
    };
    let _ = rapid.on_recovery(&last);
    assert_eq!(rapid.rate, 12_000.0);
}

#[test]
fn after_a_loss_no_report_sets_the_rate_and_a_timeout_may_begin_the_start_up_anew() {
    let (mut rapid, _) = started(&[("rapid_tau", "240 ms")]);
    let _ = rapid.on_recovery(&open());
    assert_eq!((rapid.rate, rapid.size), (50e3, 2));
    // The first chirp lasts 120 ms: half the way. The next is longer anyway.
    report(&mut rapid, 1, 0.25);
    assert!((rapid.rate - 150e3).abs() < 1e-6);
    assert_eq!(chirps(&rapid.on_train_over(&open()))[0].0, 4);
    let mut anew = steady(8.0, &[("rapid_timeout", "restart")]);
    let _ = anew.on_timeout(&open(), &open());
    assert_eq!((anew.rate, anew.size, anew.jumps), (100e3, 2, true));
}

#[test]
fn chirps_go_on_when_they_may_and_the_window_lets_nothing_else_go_before() {
    let mut rapid = steady(1.0, &[]);
    let resending = SenderView {
        snd_nxt: 3,
        snd_max: 11,
        may_train: false,
        cwnd: 20.0,
        ssthresh: 30.0,
        ..open()
    };
    let narrow = rapid.on_ack(&duplicate(100), &resending);
    assert!(narrow.contains(&Order::SetCwnd(10.0)) && chirps(&narrow).is_empty());
    let avoiding = SenderView {
        ssthresh: 15.0,
        ..resending
    };
    assert!(rapid
        .on_ack(&duplicate(100), &avoiding)
        .contains(&Order::SetCwnd(15.0)));
    let under_way = SenderView {
        train: Some(1),
        ..open()
    };
    assert!(rapid.on_ack(&duplicate(100), &under_way).is_empty());
    let done = SenderView {
        unsent: 0,
        ..open()
    };
    assert!(rapid.on_ack(&duplicate(100), &done).is_empty());
    let again = rapid.on_ack(&duplicate(100), &open());
    assert_eq!(chirps(&again).len(), 1);
    assert!(again.contains(&Order::SetCwnd(5000.0)));
}

#[test]
fn a_notice_changes_nothing_unless_so_set() {
    let handoff = notice((6000, 50), (50_000, 15));
    let mut deaf = steady(8.0, &[]);
    assert!(deaf.on_notice(&handoff, &open()).is_empty());
    assert_eq!((deaf.rate, deaf.jumps), (8e6, false));
    let mut anew = steady(8.0, &[("rapid_notice", "restart")]);
    let first = chirps(&anew.on_notice(&handoff, &open()));
    assert_eq!(first, [(2, 100_000, 100_000, 120_000_000)]);
    let mut jump = steady(8.0, &[("rapid_notice", "jump")]);
    assert_eq!(chirps(&jump.on_notice(&handoff, &open()))[0].0, 30);
    report(&mut jump, 1, 40.0);
    assert_eq!((jump.rate, jump.jumps), (40e6, false));
    // A sender that has not started ignores it.
    let mut idle = knobbed(&[("rapid_notice", "jump")]);
    assert!(
        idle.on_notice(&handoff, &open()).is_empty() && !idle.interests().includes(Interests::ACKS)
    );
    assert!(idle.on_train_over(&open()).is_empty());
}
