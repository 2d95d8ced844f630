//! Impairments of a radio link: it loses some packets and delivers others late.
//!
//! Each packet that reaches the far end has a number, from 1, and each random model uses the same
//! number of draws for every packet: with one seed the n-th packet has the same fate in any run.
//! The state of [`LossModel::Gilbert`] is a function of time alone.

use std::sync::Arc;

use midflight_units::{Duration, Instant};

use crate::random::{self, stream, Chance, Stream};

/// Minimum dwell time of a state: each dwell between two packets takes a draw.
pub const LEAST_DWELL: Duration = Duration::from_micros(10);

/// One of the two states of [`LossModel::Gilbert`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// How long it lasts before it may change; at least [`LEAST_DWELL`].
    pub dwell: Duration,
    /// Probability that a packet is lost in it, from 0 to 1.
    pub loss: f64,
}

/// Which packets are lost; decided for each packet at the instant at which it would arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossModel {
    /// Each packet independently.
    Uniform {
        /// Probability that a packet is lost, from 0 to 1.
        probability: f64,
    },
    /// Several consecutive packets.
    Burst {
        /// Probability that a packet outside a burst starts one, from 0 to 1.
        probability: f64,
        /// Consecutive packets lost, including the first; at least 1.
        length: u32,
    },
    /// Two alternating states (Gilbert 1960, Elliott 1963, in time instead of in packets). After each dwell the
    /// state changes, or another dwell of it starts.
    Gilbert {
        /// The state at time zero, or when the setting takes effect.
        good: State,
        /// The other state.
        bad: State,
        /// Probability of a change after a dwell, from 0 to 1.
        flip: f64,
    },
}

/// Which packets arrive out of order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reordering {
    /// A packet changes places with the next one: it is delivered right behind the next packet that is neither lost
    /// nor late. That packet is not swapped again.
    Swap {
        /// Probability that a packet is swapped, from 0 to 1.
        probability: f64,
        /// How long it waits for the next packet before it is delivered anyway.
        hold: Duration,
    },
    /// The link layer retransmits a packet: it arrives later, and others overtake it.
    LinkRetransmission {
        /// Probability that a packet is retransmitted, from 0 to 1.
        probability: f64,
        /// How much later it arrives.
        delay: Duration,
    },
    /// A cellular radio: transmissions may fail repeatedly, and each retransmission takes time (HARQ). Later packets
    /// wait, because the layer above delivers in order (RLC, 3GPP TS 38.322 section 5.2).
    Harq {
        /// Probability that a transmission fails, from 0 to less than 1.
        probability: f64,
        /// How long each retransmission takes.
        delay: Duration,
        /// Packets are delivered at multiples of this; zero for at any time.
        slot: Duration,
    },
}

/// Maximum number of retransmissions of a packet; the last one succeeds.
const MOST_AGAIN: u64 = 8;

/// What happens to the packet with a certain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scripted {
    /// It is lost.
    Lose,
    /// It arrives this much later; others overtake it.
    Delay(Duration),
}

/// The impairments of a link; by default there are none. They act after
/// queueing, transmission and propagation: a packet that is lost has used the link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Random losses.
    pub loss: Option<LossModel>,
    /// Random reordering of packets that are not lost.
    pub reordering: Option<Reordering>,
    /// What happens to the packets with these numbers, ascending from 1 in the order in which packets reach the far
    /// end; replaces the random models.
    pub script: Vec<(u64, Scripted)>,
    /// Seed of the random streams; see [`crate::random::seed`].
    pub seed: u64,
}

impl Impairments {
    /// Whether no packet is ever affected.
    pub fn is_none(&self) -> bool {
        self.loss.is_none() && self.reordering.is_none() && self.script.is_empty()
    }

    /// Seed of the streams when the impairments take effect, after this many earlier times.
    fn seed_after(&self, before: u64) -> u64 {
        match before {
            0 => self.seed,
            _ => random::seed(self.seed, before, "impairments", "again"),
        }
    }

    /// The random decision for each packet about its loss, when the impairments take effect after this many earlier
    /// times.
    pub fn loss_drawn(&self, probability: f64, before: u64) -> Drawn {
        Drawn::of(probability, self.seed_after(before), LOSS)
    }

    /// The random decision for each dwell of [`LossModel::Gilbert`].
    pub fn state_drawn(&self, probability: f64, before: u64) -> Drawn {
        Drawn::of(probability, self.seed_after(before), STATE)
    }

    /// The random decision for each packet about reordering.
    pub fn reordering_drawn(&self, probability: f64, before: u64) -> Drawn {
        Drawn::of(probability, self.seed_after(before), REORDERING)
    }

    /// The error in them, if any.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        const PROBABILITY: &str = "a probability is from 0 to 1";
        let is_probability = |p: f64| (0.0..=1.0).contains(&p);
        match self.loss {
            Some(LossModel::Uniform { probability } | LossModel::Burst { probability, .. })
                if !is_probability(probability) =>
            {
                return Some(PROBABILITY);
            }
            Some(LossModel::Burst { length: 0, .. }) => {
                return Some("a burst has at least one packet");
            }
            Some(LossModel::Gilbert { good, bad, flip }) => {
                if ![good.loss, bad.loss, flip].into_iter().all(is_probability) {
                    return Some(PROBABILITY);
                }
                if good.dwell < LEAST_DWELL || bad.dwell < LEAST_DWELL {
                    return Some("a state lasts at least 10 us");
                }
            }
            _ => {}
        }
        if let Some(
            Reordering::Swap { probability, .. }
            | Reordering::LinkRetransmission { probability, .. }
            | Reordering::Harq { probability, .. },
        ) = self.reordering
        {
            if !is_probability(probability) {
                return Some(PROBABILITY);
            }
        }
        let mut last = 0;
        for &(number, _) in &self.script {
            if number <= last {
                return Some("the numbers of a script ascend from 1");
            }
            last = number;
        }
        None
    }
}

/// A random decision in the form for an external program: 64 bits of the stream must be below the threshold; the
/// maximum threshold means certainty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The threshold that 64 random bits must be below.
    pub threshold: u64,
    /// The first state of the stream's generator, xoshiro256++.
    pub stream: [u64; 4],
}

impl Drawn {
    fn of(probability: f64, seed: u64, purpose: &str) -> Self {
        Self {
            threshold: Chance::new(probability).threshold(),
            stream: words(random::key(seed, 0, COMPONENT, purpose)),
        }
    }
}

fn words(key: [u8; 32]) -> [u64; 4] {
    let word = |place: usize| (0..8).fold(0, |w, i| w | u64::from(key[8 * place + i]) << (8 * i));
    [0, 1, 2, 3].map(word)
}

/// What happens to a packet at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    OnTime,
    Lost,
    /// It is lost in an outage.
    Broken,
    /// It arrives this much later.
    Late(Duration),
    /// It arrives behind the next one, or this much later.
    Swapped(Duration),
}

/// Impairments in effect.
#[derive(Clone, Debug)]
pub(crate) struct Impairing {
    loss: Option<Loss>,
    reordering: Option<(Reordering, Chance, Stream)>,
    script: Arc<[(u64, Scripted)]>,
    /// Entries of the script that have been used.
    done: usize,
    /// Number of the last packet at the far end.
    number: u64,
    /// When the last packet was delivered in order.
    in_order: Instant,
}

#[derive(Clone, Debug)]
struct Loss {
    kind: LossKind,
    /// One draw for each packet.
    stream: Stream,
}

#[derive(Clone, Debug)]
enum LossKind {
    Uniform(Chance),
    Burst {
        start: Chance,
        length: u32,
        /// Packets left in the current burst.
        left: u32,
    },
    Gilbert {
        /// Dwell times of the good and the bad state.
        dwell: [Duration; 2],
        loss: [Chance; 2],
        flip: Chance,
        state: usize,
        /// End of the current dwell.
        until: Instant,
        /// One draw for each dwell.
        stream: Stream,
    },
}

impl LossKind {
    fn new(model: LossModel, seed: u64, from: Instant) -> Self {
        match model {
            LossModel::Uniform { probability } => Self::Uniform(Chance::new(probability)),
            LossModel::Burst {
                probability,
                length,
            } => Self::Burst {
                start: Chance::new(probability),
                length,
                left: 0,
            },
            LossModel::Gilbert { good, bad, flip } => Self::Gilbert {
                dwell: [good.dwell, bad.dwell],
                loss: [good.loss, bad.loss].map(Chance::new),
                flip: Chance::new(flip),
                state: 0,
                until: from + good.dwell,
                stream: own_stream(seed, STATE),
            },
        }
    }
}

/// The names of the streams.
const COMPONENT: &str = "impairment";
const LOSS: &str = "loss";
const STATE: &str = "state";
const REORDERING: &str = "reordering";

fn own_stream(seed: u64, purpose: &str) -> Stream {
    stream(seed, 0, COMPONENT, purpose)
}

impl Loss {
    /// Whether the packet that is at the far end at `now` is lost; `now` never decreases.
    fn draw(&mut self, now: Instant) -> bool {
        match &mut self.kind {
            LossKind::Uniform(chance) => chance.draw(&mut self.stream),
            LossKind::Burst {
                start,
                length,
                left,
            } => {
                let starts = start.draw(&mut self.stream);
                if *left == 0 && starts {
                    *left = *length;
                }
                let lost = *left > 0;
                *left -= u32::from(lost);
                lost
            }
            LossKind::Gilbert {
                dwell,
                loss,
                flip,
                state,
                until,
                stream,
            } => {
                while *until <= now {
                    *state ^= usize::from(flip.draw(stream));
                    *until += dwell[*state];
                }
                loss[*state].draw(&mut self.stream)
            }
        }
    }
}

impl Impairing {
    /// The impairments, if there are any, that take effect at `from`, after this many earlier times.
    pub(crate) fn new(impairments: &Impairments, from: Instant, before: u64) -> Option<Self> {
        if impairments.is_none() {
            return None;
        }
        let seed = impairments.seed_after(before);
        let loss = impairments.loss.map(|model| Loss {
            kind: LossKind::new(model, seed, from),
            stream: own_stream(seed, LOSS),
        });
        let reordering = impairments.reordering.map(|reordering| {
            let (Reordering::Swap { probability, .. }
            | Reordering::LinkRetransmission { probability, .. }
            | Reordering::Harq { probability, .. }) = reordering;
            let stream = own_stream(seed, REORDERING);
            (reordering, Chance::new(probability), stream)
        });
        Some(Self {
            loss,
            reordering,
            script: impairments.script.as_slice().into(),
            done: 0,
            number: 0,
            in_order: Instant::ZERO,
        })
    }

    /// What happens to the next packet, which is at the far end at `now`.
    pub(crate) fn fate(&mut self, now: Instant) -> Fate {
        self.number += 1;
        // All draws are made first, so that the script for one packet does not shift the draws of the next.
        let lost = self.loss.as_mut().is_some_and(|loss| loss.draw(now));
        let harq = match &mut self.reordering {
            Some((
                Reordering::Harq {
                    probability,
                    delay,
                    slot,
                },
                _,
                stream,
            )) => {
                let again = transmissions(*probability, stream.next_f64());
                Some((*delay * again, *slot))
            }
            _ => None,
        };
        let reordered = match &mut self.reordering {
            Some((what, chance, stream)) if harq.is_none() => chance.draw(stream).then_some(*what),
            _ => None,
        };
        if let Some(&(number, scripted)) = self.script.get(self.done) {
            if number == self.number {
                self.done += 1;
                return match scripted {
                    Scripted::Lose => Fate::Lost,
                    Scripted::Delay(delay) => Fate::Late(delay),
                };
            }
        }
        match reordered {
            _ if lost => Fate::Lost,
            Some(Reordering::LinkRetransmission { delay, .. }) => Fate::Late(delay),
            Some(Reordering::Swap { hold, .. }) => Fate::Swapped(hold),
            Some(Reordering::Harq { .. }) | None => match harq {
                Some((delay, slot)) => self.deliver_in_order(now, delay, slot),
                None => Fate::OnTime,
            },
        }
    }

    /// The delay of a packet that is ready `delay` after `now`: it is delivered at the end of its slot and after the
    /// packets before it.
    fn deliver_in_order(&mut self, now: Instant, delay: Duration, slot: Duration) -> Fate {
        let mut ready = (now + delay).as_nanos();
        if slot > Duration::ZERO {
            ready = ready.next_multiple_of(slot.as_nanos());
        }
        // At least one nanosecond later, so that rounding cannot make them equal.
        let least = self.in_order.as_nanos() + 1;
        self.in_order = Instant::from_nanos(ready.max(least));
        match self.in_order.since(now) {
            Duration::ZERO => Fate::OnTime,
            wait => Fate::Late(wait),
        }
    }
}

/// Number of retransmissions, if each transmission fails with this probability, from one uniform draw.
fn transmissions(probability: f64, drawn: f64) -> u64 {
    let (mut again, mut fails) = (0, probability);
    while drawn < fails && again < MOST_AGAIN {
        again += 1;
        fails *= probability;
    }
    again
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exported decisions are those that the simulator draws from.
    #[test]
    fn a_decision_that_is_handed_out_is_the_one_that_is_taken() {
        let model = LossModel::Uniform { probability: 0.25 };
        let impairments = loss(model, 5);
        for before in 0..3 {
            let Drawn { threshold, stream } = impairments.loss_drawn(0.25, before);
            assert_eq!(threshold, 1 << 62);
            let mut key = [0; 32];
            for (place, word) in stream.into_iter().enumerate() {
                key[8 * place..8 * place + 8].copy_from_slice(&word.to_le_bytes());
            }
            let mut elsewhere = Stream::from_key(key);
            let mut here = Impairing::new(&impairments, Instant::ZERO, before)
                .unwrap_or_else(|| unreachable!("there are some"));
            for _ in 0..1_000 {
                let lost = elsewhere.next_u64() < threshold;
                assert_eq!(here.fate(Instant::ZERO) == Fate::Lost, lost);
            }
        }
        assert_eq!(impairments.loss_drawn(1.0, 0).threshold, u64::MAX);
    }

    fn impairing(impairments: &Impairments) -> Impairing {
        Impairing::new(impairments, Instant::ZERO, 0)
            .unwrap_or_else(|| unreachable!("there are some"))
    }

    fn loss(model: LossModel, seed: u64) -> Impairments {
        Impairments {
            loss: Some(model),
            seed,
            ..Impairments::default()
        }
    }

    /// Whether each of this many packets, sent 1 ms apart, is lost.
    fn losses(model: LossModel, packets: u64) -> impl Iterator<Item = bool> {
        let mut impairing = impairing(&loss(model, 1));
        (0..packets)
            .map(move |ms| impairing.fate(Instant::from_nanos(ms * 1_000_000)) == Fate::Lost)
    }

    fn share(model: LossModel, packets: u64) -> f64 {
        losses(model, packets).filter(|lost| *lost).count() as f64 / packets as f64
    }

    const GOOD: State = State {
        dwell: Duration::from_secs(1),
        loss: 0.001,
    };
    const BAD: State = State {
        dwell: Duration::from_millis(100),
        loss: 0.1,
    };

    /// 10,000 of 1,000,000 packets are lost, within 4 sigma; sigma is 100.
    #[test]
    fn uniform_losses_have_their_probability() {
        let share = share(LossModel::Uniform { probability: 0.01 }, 1_000_000);
        assert!((share - 0.01).abs() < 0.0004, "{share}");
    }

    /// Between bursts 99 packets pass on average, so that 5 of 104 are lost. About 9,600 of 1,000,000 packets start
    /// a burst, within 4 sigma; sigma is 1 %.
    #[test]
    fn bursts_have_their_length_and_their_probability() {
        let model = LossModel::Burst {
            probability: 0.01,
            length: 5,
        };
        let share = share(model, 1_000_000);
        assert!((share / (5.0 / 104.0) - 1.0).abs() < 0.04, "{share}");
        let lost: Vec<bool> = losses(model, 100_000).collect();
        let runs = lost.chunk_by(|a, b| a == b).filter(|run| run[0]);
        let lengths: Vec<usize> = runs.map(<[bool]>::len).collect();
        let (_, whole) = lengths.split_last().unwrap_or((&0, &[]));
        assert!(whole.iter().all(|length| length % 5 == 0), "{whole:?}");
        assert!(whole.contains(&10), "one starts right after another");
    }

    /// (1 s x 0.1 % + 0.1 s x 10 %) / 1.1 s is 1 %. In 20,000 s there are 18,000
    /// dwells of each state with a sigma of 95, which moves the share by 0.5 %.
    #[test]
    fn two_states_lose_by_their_dwell_times() {
        let model = LossModel::Gilbert {
            good: GOOD,
            bad: BAD,
            flip: 0.5,
        };
        let share = share(model, 20_000_000);
        assert!((share - 0.01).abs() < 0.0003, "{share}");
    }

    #[test]
    fn the_state_depends_on_time_alone() {
        let model = LossModel::Gilbert {
            good: State { loss: 0.0, ..GOOD },
            bad: State { loss: 1.0, ..BAD },
            flip: 0.3,
        };
        let every: Vec<bool> = losses(model, 300_000).collect();
        let mut few = impairing(&loss(model, 1));
        let mut bad = 0;
        for ms in (0..300_000).step_by(37) {
            let lost = few.fate(Instant::from_nanos(ms * 1_000_000)) == Fate::Lost;
            assert_eq!(lost, every[ms as usize], "{ms} ms");
            bad += u32::from(lost);
        }
        assert!(bad > 100, "{bad}");
        assert!(!every[..1_000].contains(&true), "the first dwell is good");
        let changes = every.chunk_by(|a, b| a == b).map(<[bool]>::len);
        assert!(changes.into_iter().all(|ms| ms.is_multiple_of(100)));
    }

    /// If a flip is certain the states alternate, and a dwell ends before its last instant.
    #[test]
    fn a_state_starts_at_the_end_of_the_one_before() {
        let model = LossModel::Gilbert {
            good: State { loss: 0.0, ..GOOD },
            bad: State { loss: 1.0, ..BAD },
            flip: 1.0,
        };
        let from = Instant::from_nanos(500);
        let mut impairing =
            Impairing::new(&loss(model, 1), from, 0).unwrap_or_else(|| unreachable!());
        for (ns, lost) in [
            (500, false),
            (1_000_000_499, false),
            (1_000_000_500, true),
            (1_100_000_499, true),
            (1_100_000_500, false),
            (2_200_000_500, false),
        ] {
            let fate = impairing.fate(Instant::from_nanos(ns));
            assert_eq!(fate == Fate::Lost, lost, "{ns}");
        }
    }

    /// The n-th packet has the same fate, whatever is scripted for others and whenever it arrives.
    #[test]
    fn the_fate_of_a_packet_shifts_nothing_for_others() {
        let hold = Duration::from_millis(3);
        let delay = Duration::from_millis(9);
        let random = Impairments {
            loss: Some(LossModel::Burst {
                probability: 0.1,
                length: 3,
            }),
            reordering: Some(Reordering::Swap {
                probability: 0.2,
                hold,
            }),
            ..Impairments::default()
        };
        let script = vec![(2, Scripted::Lose), (40, Scripted::Delay(delay))];
        let scripted = Impairments {
            script,
            ..random.clone()
        };
        let (mut random, mut scripted) = (impairing(&random), impairing(&scripted));
        let mut seen = [0; 3];
        for number in 1..=1_000 {
            let fate = random.fate(Instant::from_nanos(number));
            let other = scripted.fate(Instant::from_nanos(number * 7_000));
            match number {
                2 => assert_eq!(other, Fate::Lost),
                40 => assert_eq!(other, Fate::Late(delay)),
                _ => assert_eq!(other, fate, "{number}"),
            }
            match fate {
                Fate::Lost => seen[0] += 1,
                Fate::Swapped(for_) => {
                    assert_eq!(for_, hold);
                    seen[1] += 1;
                }
                _ => seen[2] += 1,
            }
        }
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
    }

    /// Which packets are lost and which are late never changes for a seed; computed independently, in Python.
    #[test]
    fn fates_never_change() {
        let delay = Duration::from_millis(1);
        let mut impairing = impairing(&Impairments {
            loss: Some(LossModel::Uniform { probability: 0.1 }),
            reordering: Some(Reordering::LinkRetransmission {
                probability: 0.1,
                delay,
            }),
            seed: 1,
            ..Impairments::default()
        });
        let fates: Vec<Fate> = (1..=60).map(|_| impairing.fate(Instant::ZERO)).collect();
        let numbers = |fate: Fate| -> Vec<usize> {
            let those = fates.iter().zip(1..).filter(|(f, _)| **f == fate);
            those.map(|(_, number)| number).collect()
        };
        let lost = [6, 9, 13, 16, 28, 29, 30, 31, 36, 55];
        let late = [1, 3, 20, 25, 37, 40, 43, 56, 57, 59];
        assert_eq!(numbers(Fate::Lost), lost);
        assert_eq!(numbers(Fate::Late(delay)), late);
    }

    /// By hand: with slots of 5 ms, and 8 ms for each retransmission, in order.
    #[test]
    fn harq_delays_and_keeps_the_order() {
        assert_eq!(
            [0.6, 0.4, 0.1, 0.0].map(|u| transmissions(0.5, u)),
            [0, 1, 3, 8]
        );
        let ms = Duration::from_millis;
        let at = |ms: u64| Instant::from_nanos(1_000_000 * ms);
        let harq = |probability, slot| Impairments {
            reordering: Some(Reordering::Harq {
                probability,
                delay: ms(8),
                slot,
            }),
            seed: 1,
            ..Impairments::default()
        };
        // No transmission fails: only slots delay.
        let mut slots = impairing(&harq(0.0, ms(5)));
        assert_eq!(slots.fate(at(5)), Fate::OnTime);
        assert_eq!(slots.fate(at(6)), Fate::Late(ms(4)));
        assert_eq!(
            slots.fate(at(7)),
            Fate::Late(ms(3) + Duration::from_nanos(1))
        );
        // One in ten transmissions fails; arrivals still ascend, and the mean number of transmissions is 1 / 0.9.
        let mut radio = impairing(&harq(0.1, Duration::ZERO));
        let (mut last, mut apart) = (Instant::ZERO, 0);
        for second in 1..=20_000 {
            let now = at(1_000 * second);
            let late = match radio.fate(now) {
                Fate::Late(wait) => wait,
                _ => Duration::ZERO,
            };
            assert!(now + late > last);
            last = now + late;
            apart += late.as_nanos() / 8_000_000;
        }
        let mean = apart as f64 / 20_000.0;
        assert!((mean - 1.0 / 9.0).abs() < 0.01, "{mean}");
        // Packets close behind a late one wait for it.
        let mut close = impairing(&harq(0.5, Duration::ZERO));
        let arrivals: Vec<Instant> = (0..200)
            .map(|i| match close.fate(at(i)) {
                Fate::Late(wait) => at(i) + wait,
                _ => at(i),
            })
            .collect();
        assert!(arrivals.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn impossible_values_are_refused() {
        let with_loss = |model| loss(model, 0).problem();
        let gilbert = |good, bad, flip| with_loss(LossModel::Gilbert { good, bad, flip });
        assert_eq!(gilbert(GOOD, BAD, 0.5), None);
        assert_eq!(with_loss(LossModel::Uniform { probability: 1.0 }), None);
        let probability = Some("a probability is from 0 to 1");
        for p in [-0.1, 1.1, f64::NAN] {
            let state = State { loss: p, ..GOOD };
            let burst = LossModel::Burst {
                probability: p,
                length: 1,
            };
            let swap = Reordering::Swap {
                probability: p,
                hold: Duration::ZERO,
            };
            let swapping = Impairments {
                reordering: Some(swap),
                ..Impairments::default()
            };
            for problem in [
                with_loss(LossModel::Uniform { probability: p }),
                with_loss(burst),
                gilbert(GOOD, state, 0.5),
                gilbert(state, BAD, 0.5),
                gilbert(GOOD, BAD, p),
                swapping.problem(),
            ] {
                assert_eq!(problem, probability, "{p}");
            }
        }
        let no_dwell = State {
            dwell: Duration::ZERO,
            ..BAD
        };
        assert!(gilbert(GOOD, no_dwell, 0.5).is_some());
        let no_burst = LossModel::Burst {
            probability: 0.5,
            length: 0,
        };
        assert!(with_loss(no_burst).is_some());
        for (numbers, right) in [([1, 2], true), ([0, 1], false), ([2, 2], false)] {
            let script = numbers.map(|number| (number, Scripted::Lose)).to_vec();
            let impairments = Impairments {
                script,
                ..Impairments::default()
            };
            assert_eq!(impairments.problem().is_none(), right, "{numbers:?}");
        }
    }
}
