//! What a radio link does to packets that it has carried: it loses some and
//! delivers others late.
//!
//! Each packet that reaches the far end has a number, from 1, and each random
//! model takes the same number of draws for every packet whatever becomes of
//! it: under one seed the same thing happens to the n-th packet of any run. The
//! state of [`LossModel::Gilbert`] is a function of time alone.

use std::sync::Arc;

use midflight_units::{Duration, Instant};

use crate::random::{stream, Chance, Stream};

/// One of the two states of [`LossModel::Gilbert`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// How long it lasts until it may change; not zero.
    pub dwell: Duration,
    /// Probability that a packet is lost in it, from 0 to 1.
    pub loss: f64,
}

/// Which packets are lost; decided for each packet at the instant at which it would arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossModel {
    /// Each packet by itself.
    Uniform {
        /// That a packet is lost, from 0 to 1.
        probability: f64,
    },
    /// Some packets in a row.
    Burst {
        /// That a packet which no burst takes starts one, from 0 to 1.
        probability: f64,
        /// Packets lost in a row, the first included; at least 1.
        length: u32,
    },
    /// Two states that take turns (Gilbert 1960, Elliott 1963, in time instead of in packets). After each
    /// dwell the state changes, or another dwell of it starts.
    Gilbert {
        /// The state at time zero, or when the setting comes into force.
        good: State,
        /// The other one.
        bad: State,
        /// Probability of a change after a dwell, from 0 to 1.
        flip: f64,
    },
}

/// Which packets arrive out of order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reordering {
    /// A packet changes places with the next one: it is delivered right behind
    /// the next that is neither lost nor late. That one is not swapped again.
    Swap {
        /// That a packet is swapped, from 0 to 1.
        probability: f64,
        /// How long it waits for the next one before it is delivered all the same.
        hold: Duration,
    },
    /// The link layer sends a packet again: it arrives later, and others overtake it.
    LinkRetransmission {
        /// That a packet is sent again, from 0 to 1.
        probability: f64,
        /// How much later it arrives.
        delay: Duration,
    },
}

/// What happens to a packet of a certain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scripted {
    /// It is lost.
    Lose,
    /// It arrives so much later; others overtake it.
    Delay(Duration),
}

/// The impairments of a link; by default there are none. They act after
/// queueing, transmission and propagation: a packet that is lost has used the link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Random losses.
    pub loss: Option<LossModel>,
    /// Random reordering of what is not lost.
    pub reordering: Option<Reordering>,
    /// What happens to the packets of these numbers, ascending from 1 in the
    /// order in which packets reach the far end, instead of what the random models say.
    pub script: Vec<(u64, Scripted)>,
    /// Of the random streams; see [`crate::random::seed`].
    pub seed: u64,
}

impl Impairments {
    /// Whether nothing ever happens to a packet.
    pub fn is_none(&self) -> bool {
        self.loss.is_none() && self.reordering.is_none() && self.script.is_empty()
    }

    /// What is wrong with them, if anything.
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
                if good.dwell == Duration::ZERO || bad.dwell == Duration::ZERO {
                    return Some("a state lasts longer than no time at all");
                }
            }
            _ => {}
        }
        if let Some(
            Reordering::Swap { probability, .. }
            | Reordering::LinkRetransmission { probability, .. },
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

/// What becomes of a packet at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    OnTime,
    Lost,
    /// It arrives so much later.
    Late(Duration),
    /// It arrives behind the next one, or so much later.
    Swapped(Duration),
}

/// Impairments in force.
#[derive(Clone, Debug)]
pub(crate) struct Impairing {
    loss: Option<Loss>,
    reordering: Option<(Reordering, Chance, Stream)>,
    script: Arc<[(u64, Scripted)]>,
    /// Entries of the script that are over.
    done: usize,
    /// Number of the packet that was last at the far end.
    number: u64,
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
        /// Packets that the present burst still takes.
        left: u32,
    },
    Gilbert {
        /// Good and bad.
        dwell: [Duration; 2],
        loss: [Chance; 2],
        flip: Chance,
        state: usize,
        /// End of the present dwell.
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
                stream: own_stream(seed, "state"),
            },
        }
    }
}

fn own_stream(seed: u64, purpose: &str) -> Stream {
    stream(seed, 0, "impairment", purpose)
}

impl Loss {
    /// Whether the packet that is at the far end at `now` is lost; `now` never goes back.
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
    /// The impairments, if there are any, as they come into force at `from`.
    pub(crate) fn new(impairments: &Impairments, from: Instant) -> Option<Self> {
        if impairments.is_none() {
            return None;
        }
        let seed = impairments.seed;
        let loss = impairments.loss.map(|model| Loss {
            kind: LossKind::new(model, seed, from),
            stream: own_stream(seed, "loss"),
        });
        let reordering = impairments.reordering.map(|reordering| {
            let (Reordering::Swap { probability, .. }
            | Reordering::LinkRetransmission { probability, .. }) = reordering;
            let stream = own_stream(seed, "reordering");
            (reordering, Chance::new(probability), stream)
        });
        Some(Self {
            loss,
            reordering,
            script: impairments.script.as_slice().into(),
            done: 0,
            number: 0,
        })
    }

    /// What becomes of the next packet, which is at the far end at `now`.
    pub(crate) fn fate(&mut self, now: Instant) -> Fate {
        self.number += 1;
        // All draws first: what is said of one packet shifts nothing for the next.
        let lost = self.loss.as_mut().is_some_and(|loss| loss.draw(now));
        let reordered = self
            .reordering
            .as_mut()
            .and_then(|(what, chance, stream)| chance.draw(stream).then_some(*what));
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
            None => Fate::OnTime,
        }
    }
}
