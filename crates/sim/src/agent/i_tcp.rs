//! I-TCP (Bakre & Badrinath, ICDCS 1995): the connection is split at the base station. The station acknowledges the
//! sender's segments itself, and sends them to the mobile node over a second connection, which recovers from losses on
//! the radio link without the sender. At a handoff both halves move to the next station, with the contents of their
//! buffers.
//!
//! Data that is acknowledged to the sender may never arrive: the end-to-end semantics are lost (Izumikawa,
//! Yamaguchi and Katto, about 2003, section 2). Measures of a run count this: `acked_ahead`, `acked_missing`.
//!
//! The paper's text was not available. The mobile node's response to the SYN passes, because the node opens the
//! connection there. The minimum time of a handoff is the value that Balakrishnan et al. quote from the authors, 265 ms
//! with empty buffers (1.4 s with 32 kB in them); it is a knob. The wireless half is the TCP of the flow's profile, not
//! one tuned for it.

use midflight_control::part::{choose, refuse, whole, Knob, KnobError, Part, PartInfo};
use midflight_units::Duration;

use super::split::{Settings, Split, Splits};

/// The split with its settings.
#[derive(Clone, Debug)]
pub struct ITcp(Split);

impl Default for ITcp {
    fn default() -> Self {
        Self(Split::new(Settings {
            answers_syn: false,
            buffer: 200,
            window: None,
            moves: true,
            transfer: Duration::from_millis(265),
        }))
    }
}

impl Part for ITcp {
    const INFO: PartInfo = PartInfo {
        name: "i-tcp",
        summary: "the connection is split at the base station, and its state moves to the next one at a handoff",
        source: "Bakre & Badrinath 1995",
        knobs: &[
            Knob {
                name: "i_tcp_buffer",
                default: "200",
                accepts: "a whole number of segments from 2 to 1000000",
                summary: "segments that the station has room for: acknowledged, and not delivered",
            },
            Knob {
                name: "i_tcp_transfer",
                default: "265ms",
                accepts: "a time",
                summary: "how long the state takes to the next station, while the packets of the flow wait",
            },
            Knob {
                name: "i_tcp_handover",
                default: "on",
                accepts: "on, off",
                summary: "the state moves at a handoff; otherwise it is lost",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let (info, settings) = (&Self::INFO, &mut self.0.settings);
        match name {
            "i_tcp_buffer" => settings.buffer = whole(info, name, value, 2..=1_000_000)?,
            "i_tcp_transfer" => {
                settings.transfer = value.parse().map_err(|_| refuse(info, name, value))?;
            }
            _ => settings.moves = choose(info, name, value, &[("on", true), ("off", false)])?,
        }
        Ok(())
    }
}

impl Splits for ITcp {
    fn split(&self) -> &Split {
        &self.0
    }

    fn split_mut(&mut self) -> &mut Split {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use midflight_tcp::Ack;

    use super::super::testing::{ack, at, segment, Played, Seen};
    use super::*;
    use crate::agent::{AnyAgent, Attached};
    use crate::event::Carried;

    /// The connection is open: the SYN and its response have passed.
    fn opened(knobs: &[(&str, &str)]) -> Played {
        let mut agent = AnyAgent::ITcp(ITcp::default());
        for (name, value) in knobs {
            assert_eq!(agent.set_knob(name, value), Ok(()));
        }
        let mut play = Played::new(agent);
        play.equip("rfc");
        assert_eq!(play.data(0, 0), [Seen::Down(0)]);
        assert_eq!(play.ack(40, 1), [Seen::Up(1)]);
        play
    }

    /// The station acknowledges what the mobile node has not received yet, and sends it by its own window.
    #[test]
    fn the_station_acknowledges_by_itself() {
        let mut play = opened(&[]);
        assert_eq!(play.data(80, 1), [Seen::Down(1)]);
        assert_eq!(play.data(81, 2), [Seen::Up(3), Seen::Down(2)]);
        // The node's ACK ends here.
        assert_eq!(play.ack(120, 3), []);
    }

    /// The station's sender repairs a loss on the radio link; the other half is not affected.
    #[test]
    fn losses_of_the_radio_stay_at_the_station() {
        let mut play = opened(&[]);
        for seq in 1..=8 {
            play.data(80 + seq, seq);
        }
        assert_eq!(play.ack(120, 2), []);
        let mut sent = Vec::new();
        for ms in 121..=124 {
            let (left, right) = (3, 3 + ms - 120);
            let mut sack = midflight_tcp::SackBlocks::default();
            sack.push(2, midflight_tcp::SackBlock { left, right });
            let duplicate = Ack { sack, ..ack(2) };
            sent.extend(play.pass(ms, false, Carried::Ack(duplicate)));
        }
        assert_eq!(sent, [Seen::Down(2)]);
    }

    /// At a buffer of 4 the window closes, at 2 it opens.
    #[test]
    fn a_full_buffer_closes_the_window() {
        let mut play = opened(&[("i_tcp_buffer", "4")]);
        let mut up = Vec::new();
        for seq in 1..=4 {
            let seen = play.data(80 + seq, seq);
            up.extend(seen.into_iter().filter(|one| !matches!(one, Seen::Down(_))));
        }
        assert_eq!(up, [Seen::Up(3), Seen::Closed(5)]);
        assert_eq!(play.ack(120, 2), []);
        assert_eq!(play.ack(121, 3), [Seen::Up(5)]);
    }

    /// The state takes 265 ms to the next station; packets that arrive meanwhile wait, then the station sends again at
    /// once.
    #[test]
    fn the_state_moves_at_a_handoff() {
        let mut play = opened(&[]);
        play.data(80, 1);
        play.data(81, 2);
        assert_eq!(play.attach(100, Attached::No), []);
        assert_eq!(play.attach(200, Attached::At(1)), []);
        play.site = 1;
        assert_eq!(play.data(300, 3), [], "waits");
        assert_eq!(play.agent.next_timeout(), Some(at(465)));
        let seen = play.wake();
        assert_eq!(seen[0], Seen::Down(1), "{seen:?}");
    }

    /// Without its state the next station lets everything pass: the buffer contents are lost.
    #[test]
    fn a_state_that_is_lost_takes_the_buffer_along() {
        let mut play = opened(&[("i_tcp_handover", "off")]);
        play.data(80, 1);
        play.data(81, 2);
        play.attach(200, Attached::At(1));
        play.site = 1;
        assert_eq!(play.data(300, 3), [Seen::Down(3)]);
        assert_eq!(play.ack(340, 1), [Seen::Up(1)]);
        assert_eq!(play.agent.next_timeout(), None);
        assert_eq!(segment(3).seq, 3);
    }
}
