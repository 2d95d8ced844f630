//! A sender under a test's control, which gets single ACKs.
#![allow(dead_code, reason = "each test file uses its part of it")]
#![allow(clippy::panic, reason = "a failed test panics")]

pub(crate) mod trains;

use midflight_control::dupack::AnyDupackResponse;
use midflight_control::loss::{AnyLossClassifier, LossCause};
use midflight_control::spurious::AnySpuriousDetector;
use midflight_control::Order;
use midflight_tcp::{
    profile, Ack, Log, Profile, SackBlock, SackBlocks, Segment, Sender, SenderEvent, Transition,
};
use midflight_units::{Duration, Instant, Seq};

/// A segment as a receiver gets it; number 0 is the SYN.
pub(crate) fn segment(seq: Seq, sent: Instant) -> Segment {
    Segment::plain(seq, if seq == 0 { 60 } else { 1500 }, sent)
}

/// The events that a sender logged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) transitions: Vec<Transition>,
    pub(crate) timeouts: Vec<Seq>,
    pub(crate) fast_retransmits: Vec<Seq>,
    pub(crate) spurious_timeouts: usize,
    pub(crate) spurious_retransmits: usize,
    pub(crate) judged: Vec<LossCause>,
    pub(crate) reordered: Vec<Seq>,
    pub(crate) orders: Vec<Order>,
}

impl Log for Seen {
    const DETAILED: bool = true;

    fn record(&mut self, _now: Instant, event: SenderEvent<'_>) {
        match event {
            SenderEvent::State(change) => self.transitions.push(change),
            SenderEvent::Timeout(seq) => self.timeouts.push(seq),
            SenderEvent::FastRetransmit(seq) => self.fast_retransmits.push(seq),
            SenderEvent::SpuriousTimeout => self.spurious_timeouts += 1,
            SenderEvent::SpuriousRetransmit => self.spurious_retransmits += 1,
            SenderEvent::LossJudged { cause, .. } => self.judged.push(cause),
            SenderEvent::Reordered(seq) => self.reordered.push(seq),
            SenderEvent::Order { order, .. } => self.orders.push(order),
            _ => {}
        }
    }
}

/// Settings of a sender and names of its parts with their knobs; defaults are those of the `rfc`
/// profile with the plain parts.
pub(crate) fn configured(settings: &[(&str, &str)]) -> Profile {
    let mut p = profile("rfc").unwrap_or_else(|e| panic!("{e}"));
    for &(name, value) in settings {
        let parts = &mut p.parts;
        let known = match name {
            "dupack" => AnyDupackResponse::named(value).map(|r| parts.dupack_response = r),
            "loss" => AnyLossClassifier::named(value).map(|c| parts.loss_classifier = c),
            "spurious" => AnySpuriousDetector::named(value).map(|d| parts.spurious_detector = d),
            _ if name.starts_with("dcr_") => parts.dupack_response.set_knob(name, value).ok(),
            _ if name.starts_with("westwood_") => parts.congestion.set_knob(name, value).ok(),
            _ if name.starts_with("ld_") => parts.loss_classifier.set_knob(name, value).ok(),
            _ if name.starts_with("frto_") || name.starts_with("eifel_") => {
                parts.spurious_detector.set_knob(name, value).ok()
            }
            _ => p.set(name, value).ok(),
        };
        assert!(known.is_some(), "{name} = {value}");
    }
    assert_eq!(p.check(), Ok(()));
    p
}

pub(crate) struct DrivenSender {
    pub(crate) sender: Sender,
    pub(crate) now: Instant,
    pub(crate) seen: Seen,
    /// The time that passes before each ACK.
    pub(crate) step: Duration,
}

impl DrivenSender {
    /// A sender whose SYN is acknowledged after a step; its first window is in flight.
    pub(crate) fn open(settings: &[(&str, &str)], step_ms: u64) -> Self {
        let mut hand = Self::closed(settings, step_ms);
        assert_eq!(hand.send(), [0]);
        hand.ack(1);
        hand
    }

    /// A sender that has not sent its SYN yet.
    pub(crate) fn closed(settings: &[(&str, &str)], step_ms: u64) -> Self {
        let p = configured(settings);
        let mut hand = Self {
            sender: Sender::new(&p.sender, &p.parts, []),
            now: Instant::ZERO,
            seen: Seen::default(),
            step: Duration::from_millis(step_ms),
        };
        hand.sender.open(hand.now, &mut hand.seen);
        hand
    }

    /// All segments that the sender sends now.
    pub(crate) fn send(&mut self) -> Vec<Seq> {
        let now = self.now;
        std::iter::from_fn(|| self.sender.poll_transmit(now).map(|s| s.seq)).collect()
    }

    /// An ACK arrives; nothing is sent yet.
    pub(crate) fn receive_ack(&mut self, ack: Seq, blocks: &[(Seq, Seq)], echo: Option<Instant>) {
        self.now += self.step;
        let mut sack = SackBlocks::default();
        for &(left, right) in blocks {
            sack.push(ack, SackBlock { left, right });
        }
        let ack = Ack {
            ack,
            sack,
            echo,
            cause_sent: Instant::ZERO,
            offset: 0,
            option: midflight_tcp::AckOption::Nothing,
            window: None,
            stamp_ms: 0,
            extra_bytes: 0,
        };
        self.sender.on_ack(self.now, &ack, &mut self.seen);
    }

    /// An ACK arrives; returns the segments that are sent.
    pub(crate) fn ack(&mut self, ack: Seq) -> Vec<Seq> {
        self.receive_ack(ack, &[], None);
        self.send()
    }

    /// An ACK with blocks arrives; returns the segments that are sent.
    pub(crate) fn sack(&mut self, ack: Seq, blocks: &[(Seq, Seq)]) -> Vec<Seq> {
        self.receive_ack(ack, blocks, None);
        self.send()
    }

    /// An ACK that echoes the timestamp `echo` arrives; returns the segments that are sent.
    pub(crate) fn echo(&mut self, ack: Seq, echo: Instant) -> Vec<Seq> {
        self.receive_ack(ack, &[], Some(echo));
        self.send()
    }

    /// The sender's next deadline.
    pub(crate) fn due(&self) -> Instant {
        self.sender
            .poll_timer()
            .unwrap_or_else(|| panic!("no timer"))
            .0
    }

    /// Calls the sender at its deadline; returns whether its retransmission timer has expired, and
    /// the segments that are sent.
    pub(crate) fn timer(&mut self) -> (bool, Vec<Seq>) {
        self.now = self.due();
        let expired = self.sender.on_timer(self.now, &mut self.seen);
        (expired, self.send())
    }

    /// The retransmission timer expires; returns the segments that are sent.
    pub(crate) fn timeout(&mut self) -> Vec<Seq> {
        let (expired, sent) = self.timer();
        assert!(expired, "it was the response's wait that ended");
        sent
    }

    /// cwnd and ssthresh in whole segments, and FlightSize.
    pub(crate) fn window(&self) -> (u64, u64, u64) {
        let v = self.sender.view();
        (v.cwnd as u64, v.ssthresh as u64, v.flight_size())
    }
}

/// This many milliseconds before `instant`.
pub(crate) fn before(instant: Instant, ms: u64) -> Instant {
    Instant::from_nanos(instant.as_nanos() - ms * 1_000_000)
}
