//! What the targets share: senders of any parts, chosen by a fuzzer's bytes.

use arbitrary::{Result, Unstructured};
use midflight_control::congestion::{AnyCongestion, CONGESTION_CONTROLLERS};
use midflight_control::dupack::{AnyDupackResponse, DUPACK_RESPONSES};
use midflight_control::loss::{AnyLossClassifier, LOSS_CLASSIFIERS};
use midflight_control::policy::{Policy, POLICIES};
use midflight_control::spurious::{AnySpuriousDetector, SPURIOUS_DETECTORS};
use midflight_control::{LinkInfo, Notice, StartNotice};
use midflight_tcp::{Log, Profile, Sender, SenderEvent, SenderParts, PROFILES};
use midflight_units::{Duration, Instant, Rate, Seq};

const RECOVERIES: [&str; 5] = ["tahoe", "reno", "newreno", "sack1", "sack"];

/// Fails on an order that could stop a flow for ever.
pub struct WindowChecker;

impl Log for WindowChecker {
    const DETAILED: bool = true;

    fn record(&mut self, now: Instant, event: SenderEvent<'_>) {
        if let SenderEvent::WindowRefused { author, cwnd } = event {
            panic!("{author} ordered a window of {cwnd} at {now}");
        }
    }
}

/// A profile with arbitrary parts; none where they do not go together.
pub fn profile(u: &mut Unstructured<'_>) -> Result<Option<Profile>> {
    let mut profile = *u.choose(PROFILES)?;
    let recovery = u.choose(&RECOVERIES)?;
    if profile.set("recovery", recovery).is_err() {
        return Ok(None);
    }
    let parts = (
        AnyCongestion::named(u.choose(CONGESTION_CONTROLLERS)?.name),
        AnyDupackResponse::named(u.choose(DUPACK_RESPONSES)?.name),
        AnyLossClassifier::named(u.choose(LOSS_CLASSIFIERS)?.name),
        AnySpuriousDetector::named(u.choose(SPURIOUS_DETECTORS)?.name),
    );
    if let (
        Some(congestion),
        Some(dupack_response),
        Some(loss_classifier),
        Some(spurious_detector),
    ) = parts
    {
        profile.parts = SenderParts {
            congestion,
            dupack_response,
            loss_classifier,
            spurious_detector,
        };
    }
    Ok(profile.check().is_ok().then_some(profile))
}

/// At most two policies.
pub fn policies(u: &mut Unstructured<'_>) -> Result<Vec<Policy>> {
    let mut policies = Vec::new();
    for _ in 0..u.int_in_range(0..=2)? {
        policies.extend(Policy::named(u.choose(POLICIES)?.name));
    }
    Ok(policies)
}

/// An access link of 1 kbit/s to 1 Gbit/s and at most 2 s.
pub fn link(u: &mut Unstructured<'_>) -> Result<LinkInfo> {
    let bps = 1000 * u.int_in_range(1..=1_000_000)?;
    Ok(LinkInfo {
        rate: Rate::from_bps(bps).unwrap_or(Rate::from_mbps(1)),
        delay: Duration::from_millis(u.int_in_range(0..=2000)?),
    })
}

/// A notice of a handoff between arbitrary links.
pub fn notice(u: &mut Unstructured<'_>) -> Result<Notice> {
    Ok(Notice {
        old: link(u)?,
        new: link(u)?,
        flows: u.int_in_range(1..=4)?,
    })
}

/// A sender that has opened with `end - 1` segments to send.
pub fn opened(profile: &Profile, policies: Vec<Policy>, end: Seq, start: LinkInfo) -> Sender {
    let mut sender = Sender::new(&profile.sender, &profile.parts, policies);
    sender.set_end(end);
    let notice = StartNotice {
        link: start,
        flows: 1,
    };
    sender.on_start_notice(Instant::ZERO, &notice, &mut WindowChecker);
    sender.open(Instant::ZERO, &mut WindowChecker);
    sender
}

/// What holds of a sender that has sent what it could.
pub fn check(sender: &Sender, una_before: Seq) {
    let view = sender.view();
    assert!(view.snd_una >= una_before, "SND.UNA moved back");
    assert!(
        view.snd_una <= view.snd_nxt && view.snd_nxt <= view.snd_max,
        "SND.UNA {}, SND.NXT {}, SND.MAX {}",
        view.snd_una,
        view.snd_nxt,
        view.snd_max
    );
    assert!(view.cwnd.is_finite() && view.cwnd >= 0.0);
    assert!(view.ssthresh >= 2.0 - 1e-9);
    assert!(!sender.is_stuck(), "no timer runs: {view:?}");
}
