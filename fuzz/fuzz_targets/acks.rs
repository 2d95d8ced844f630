//! Any sender under ACKs that no honest receiver sends, at any time, with notices between.
#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use midflight_control::signal::HandoffMark;
use midflight_fuzz::{check, link, notice, opened, policies, profile, WindowChecker};
use midflight_tcp::{Ack, AckOption, SackBlock, SackBlocks, Sender};
use midflight_units::{Duration, Instant, Rate, Seq};

const END: Seq = 300;
const MOST_STEPS: usize = 400;

fn drain(sender: &mut Sender, now: Instant) {
    for sent in 0.. {
        if sender.poll_transmit(now).is_none() {
            return;
        }
        assert!(sent < 100_000, "sends without end");
    }
}

fn ack(u: &mut Unstructured<'_>, sender: &Sender, now: Instant) -> Result<Ack> {
    let view = sender.view();
    // Of what was never sent now and then, too.
    let number = (view.snd_max + 2).saturating_sub(u.int_in_range(0..=80)?);
    let mut sack = SackBlocks::default();
    for _ in 0..u.int_in_range(0..=4)? {
        let left = (number + 100).saturating_sub(u.int_in_range(0..=200)?);
        let right = left + u.int_in_range::<u64>(0..=120)?;
        sack.push(number, SackBlock { left, right });
    }
    let option = match u.int_in_range(0..=11)? {
        0 => AckOption::ZeroWindow,
        1 => AckOption::Moved(HandoffMark {
            number: u.int_in_range(1..=3)?,
            sent: now,
        }),
        2 => AckOption::Measured {
            train: u.int_in_range(0..=8)?,
            rate: Rate::from_bps(u.int_in_range(0..=100_000_000)?),
        },
        _ => AckOption::Nothing,
    };
    let echo = Duration::from_millis(u.int_in_range(0..=5000)?);
    let timestamps = sender.config().rtt_sampling == midflight_tcp::RttSampling::Timestamps;
    Ok(Ack {
        ack: number,
        sack,
        echo: timestamps.then_some(now.saturating_sub(echo)),
        cause_sent: Instant::ZERO,
        offset: 0,
        option,
        window: None,
        stamp_ms: 0,
        extra_bytes: 0,
    })
}

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let Some(profile) = profile(u)? else {
        return Ok(());
    };
    let policies = policies(u)?;
    let mut sender = opened(&profile, policies, END, link(u)?);
    let mut now = Instant::ZERO;
    let mut una = 0;
    drain(&mut sender, now);
    for _ in 0..MOST_STEPS {
        if u.is_empty() || sender.is_done() {
            break;
        }
        match u.int_in_range(0..=9)? {
            0..=5 => {
                let ack = ack(u, &sender, now)?;
                sender.on_ack(now, &ack, &mut WindowChecker);
            }
            6 => {
                if let Some((due, _)) = sender.poll_timer() {
                    now = now.max(due);
                }
                sender.on_timer(now, &mut WindowChecker);
            }
            7 => {
                now += Duration::from_millis(u.int_in_range(0..=3000)?);
                sender.on_timer(now, &mut WindowChecker);
            }
            8 => sender.on_notice(now, &notice(u)?, &mut WindowChecker),
            _ => {
                sender.on_timer(now, &mut WindowChecker);
            }
        }
        drain(&mut sender, now);
        check(&sender, una);
        una = sender.view().snd_una;
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let _ = run(&mut Unstructured::new(data));
});
