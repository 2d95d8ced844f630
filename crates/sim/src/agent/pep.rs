//! A performance-enhancing proxy as in satellite networks (RFC 3135, sections 2.4 and 3; RFC 2488 for the reasons): a
//! gateway responds to the SYN itself, acknowledges itself, and sends over the satellite link with a suitable window
//! from the start.
//!
//! The split is that of [`super::i_tcp`]. Differences: the gateway responds to the SYN, the initial window is a knob,
//! and at a handoff to another gateway the state is lost unless `pep_handover` says that it moves. A proxy at the other
//! end of the satellite link, which acknowledges to the receiver's side, is not modelled: one gateway splits the path.

use midflight_control::part::{choose, refuse, whole, Knob, KnobError, Part, PartInfo};
use midflight_units::Duration;

use super::split::{Settings, Split, Splits};

/// The split with its settings.
#[derive(Clone, Debug)]
pub struct Pep(Split);

impl Default for Pep {
    fn default() -> Self {
        Self(Split::new(Settings {
            answers_syn: true,
            buffer: 2000,
            window: Some(100),
            moves: false,
            transfer: Duration::ZERO,
        }))
    }
}

impl Part for Pep {
    const INFO: PartInfo = PartInfo {
        name: "pep",
        summary: "a gateway splits the connection, answers the SYN by itself, and begins with a large window of its own",
        source: "RFC 3135",
        knobs: &[
            Knob {
                name: "pep_buffer",
                default: "2000",
                accepts: "a whole number of segments from 2 to 1000000",
                summary: "segments that the gateway has room for: acknowledged, and not delivered",
            },
            Knob {
                name: "pep_window",
                default: "100",
                accepts: "a whole number of segments from 1 to 100000",
                summary: "initial window of the gateway's sender",
            },
            Knob {
                name: "pep_syn",
                default: "answer",
                accepts: "answer, forward",
                summary: "the gateway answers a SYN by itself, or the receiver's answer passes",
            },
            Knob {
                name: "pep_handover",
                default: "off",
                accepts: "on, off",
                summary: "the state moves to the next gateway at a handoff; otherwise it is lost",
            },
            Knob {
                name: "pep_transfer",
                default: "0s",
                accepts: "a time",
                summary: "how long it takes there",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let (info, settings) = (&Self::INFO, &mut self.0.settings);
        match name {
            "pep_buffer" => settings.buffer = whole(info, name, value, 2..=1_000_000)?,
            "pep_window" => settings.window = Some(whole(info, name, value, 1..=100_000)?),
            "pep_syn" => {
                let choices = [("answer", true), ("forward", false)];
                settings.answers_syn = choose(info, name, value, &choices)?;
            }
            "pep_handover" => {
                settings.moves = choose(info, name, value, &[("on", true), ("off", false)])?;
            }
            _ => settings.transfer = value.parse().map_err(|_| refuse(info, name, value))?,
        }
        Ok(())
    }
}

impl Splits for Pep {
    fn split(&self) -> &Split {
        &self.0
    }

    fn split_mut(&mut self) -> &mut Split {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Played, Seen};
    use super::*;
    use crate::agent::AnyAgent;

    /// The sender gets a response at once, and may send before the SYN reaches the receiver; the gateway's window is
    /// 100 segments from the start.
    #[test]
    fn the_gateway_answers_the_syn() {
        let mut play = Played::new(AnyAgent::Pep(Pep::default()));
        play.equip("rfc");
        assert_eq!(play.data(0, 0), [Seen::Up(1), Seen::Down(0)]);
        for seq in 1..=60 {
            let seen = play.data(20 + seq, seq);
            assert!(!seen.contains(&Seen::Down(seq)), "not before the answer");
        }
        let sent = play.ack(700, 1);
        let data: Vec<Seen> = (1..=60).map(Seen::Down).collect();
        assert_eq!(sent, data);
    }

    #[test]
    fn the_receivers_answer_may_pass() {
        let mut agent = AnyAgent::Pep(Pep::default());
        assert_eq!(agent.set_knob("pep_syn", "forward"), Ok(()));
        let mut play = Played::new(agent);
        play.equip("rfc");
        assert_eq!(play.data(0, 0), [Seen::Down(0)]);
        assert_eq!(play.ack(600, 1), [Seen::Up(1)]);
    }
}
