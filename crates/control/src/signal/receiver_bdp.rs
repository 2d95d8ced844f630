//! The receiver advertises the bandwidth-delay product (Gou, Pearce & Mitchell, "A receiver-based vertical handover
//! mechanism for TCP congestion control", IEEE Transactions on Wireless Communications 2006; the text was not
//! available). Lim & Jang 2009, section 2: the receiver "sets the awnd to the minimum value of the receiver window
//! size and the estimation of the maximum BDP over GPRS network"; for that it "counts the amount of TCP data received
//! from the instant a timestamp is put on an ACK to the instant the TCP packet carrying the echoed timestamp has been
//! received".
//!
//! The estimate belongs to the slower of the two networks, GPRS: here it is measured from a handoff to a lower rate on,
//! and is the maximum received in a round trip since then. After a handoff to a higher rate the receiver advertises its
//! own window again. Because the receiver's window limits the measured amount, an estimate that begins with a timeout
//! would stay at one segment: it starts from the access link's own bandwidth-delay product, which is known to the node
//! (a knob). Segments echo the receiver's timestamp if the ACK has one; receivers without timestamps add one.

use std::num::NonZeroU32;

use midflight_units::Instant;

use super::{stamp_at, HandoffSignal, OwnAck, Received, Reshaped, Signal, WHOLE_WINDOW};
use crate::part::{whole, Knob, KnobError, Part, PartInfo};
use crate::Notice;

/// Bytes of the headers of a segment without options.
const HEADERS: u32 = 40;

/// A measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Measuring {
    /// Bytes of data that have arrived.
    arrived: u64,
    /// The timestamp whose echo is outstanding, and the amount received when it was sent.
    waits: Option<(u32, u64)>,
    /// The maximum received in a round trip, or the initial value.
    most: u64,
}

/// Its current state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    Limits(Measuring),
    /// It advertises the whole window again; in every ACK, because any of them may be lost.
    Lifts,
}

/// The minimum window, and the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverBdp {
    /// In segments; none for the link's bandwidth-delay product.
    least: Option<u32>,
    state: State,
}

impl Part for ReceiverBdp {
    const INFO: PartInfo = PartInfo {
        name: "receiver-bdp",
        summary: "after a handoff to a lower rate the receiver advertises at most the BDP that it measures",
        source: "Gou, Pearce & Mitchell 2006, as Lim & Jang 2009, section 2, describe it",
        knobs: &[Knob {
            name: "receiver_bdp_least",
            default: "link",
            accepts: "a whole number of segments from 1 to 1000000, or link for the BDP of the access link",
            summary: "the estimate that the measurement starts from",
        }],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        self.least = match value {
            "link" => None,
            _ => Some(whole(&Self::INFO, name, value, 1..=1_000_000)?),
        };
        Ok(())
    }
}

impl HandoffSignal for ReceiverBdp {
    fn on_links(&mut self, _now: Instant, notice: &Notice, segment_bytes: u32, is_over: bool) {
        if !is_over {
            return;
        }
        let limited = matches!(self.state, State::Limits(_));
        self.state = if notice.bandwidth_decreases() {
            let link = notice.new.bdp_segments(segment_bytes).max(1);
            let least = self.least.map_or(link, u64::from);
            State::Limits(Measuring {
                arrived: 0,
                waits: None,
                most: least * u64::from(segment_bytes.saturating_sub(HEADERS).max(1)),
            })
        } else if limited {
            State::Lifts
        } else {
            self.state
        };
    }

    fn explain(&self, notice: &Notice, is_over: bool) -> Option<String> {
        match self.state {
            _ if !is_over => None,
            State::Limits(measuring) => Some(format!(
                "the rate falls to {}: ACKs advertise what arrives in a round trip, at least {} bytes",
                notice.new.rate, measuring.most
            )),
            State::Lifts => Some("ACKs advertise the whole window again".into()),
            State::Idle => None,
        }
    }

    fn reshapes(&self) -> bool {
        self.state != State::Idle
    }

    fn on_received(&mut self, segment: &Received) {
        let State::Limits(measuring) = &mut self.state else {
            return;
        };
        let data = u64::from(segment.bytes.saturating_sub(HEADERS));
        measuring.arrived += data;
        // A window smaller than a segment would act as a closed one.
        measuring.most = measuring.most.max(data);
        if let Some((stamp, before)) = measuring.waits {
            if segment.echo_ms >= stamp {
                measuring.most = measuring.most.max(measuring.arrived - before);
                measuring.waits = None;
            }
        }
    }

    fn on_ack(&mut self, ack: &OwnAck) -> Reshaped {
        let mut shaped = ack.unchanged();
        if shaped.stamp_ms == 0 {
            shaped.stamp_ms = stamp_at(ack.now);
        }
        match &mut self.state {
            State::Limits(measuring) => {
                let from = (shaped.stamp_ms, measuring.arrived);
                measuring.waits.get_or_insert(from);
                let most = measuring.most.min(u64::from(u32::MAX - 1)) as u32;
                shaped.window = NonZeroU32::new(most);
            }
            State::Lifts => shaped.window = Some(WHOLE_WINDOW),
            State::Idle => {}
        }
        shaped
    }

    fn on_attached(&mut self) -> Signal {
        Signal::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notice::tests::link;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn ack(ms: u64) -> OwnAck {
        OwnAck {
            now: at(ms),
            advances: true,
            stamp_ms: 0,
        }
    }

    fn received(ms: u64, echo_ms: u32) -> Received {
        Received {
            now: at(ms),
            bytes: 1500,
            again: false,
            echo_ms,
        }
    }

    fn notice(old: u64, new: u64) -> Notice {
        Notice {
            old: link(old, 100),
            new: link(new, 100),
            flows: 1,
        }
    }

    /// Lim & Jang 2009, section 2: the amount received between an ACK with a timestamp and the packet that echoes it.
    #[test]
    fn it_advertises_what_came_in_a_round_trip() {
        let mut part = ReceiverBdp::default();
        assert!(part.set_knob("receiver_bdp_least", "2").is_ok());
        part.on_links(at(1000), &notice(2000, 200), 1500, true);
        assert!(part.reshapes());
        part.on_received(&received(1000, 0));
        let first = part.on_ack(&ack(1000));
        assert_eq!(first.stamp_ms, 1001);
        assert_eq!(first.window.map(NonZeroU32::get), Some(2 * 1460));
        for ms in [1060, 1120, 1180] {
            part.on_received(&received(ms, 0));
            assert_eq!(part.on_ack(&ack(ms)).window, first.window, "no echo yet");
        }
        part.on_received(&received(1240, 1001));
        let window = |shaped: Reshaped| shaped.window.map(NonZeroU32::get);
        assert_eq!(window(part.on_ack(&ack(1240))), Some(4 * 1460));
        part.on_received(&received(1300, 1241));
        assert_eq!(
            window(part.on_ack(&ack(1300))),
            Some(4 * 1460),
            "the most counts"
        );
    }

    #[test]
    fn a_faster_link_gets_the_whole_window_again() {
        let mut part = ReceiverBdp::default();
        part.on_links(at(0), &notice(200, 2000), 1500, true);
        assert!(!part.reshapes(), "nothing to take back");
        part.on_links(at(1), &notice(2000, 200), 1500, true);
        // 200 kbit/s in a round trip of 200 ms, 60 ms and 1.6 ms: 4 packets.
        assert_eq!(
            part.on_ack(&ack(2)).window.map(NonZeroU32::get),
            Some(4 * 1460)
        );
        part.on_links(at(3), &notice(200, 2000), 1500, true);
        assert_eq!(part.on_ack(&ack(4)).window, Some(WHOLE_WINDOW));
        assert_eq!(
            part.on_ack(&ack(5)).window,
            Some(WHOLE_WINDOW),
            "the first may be lost"
        );
    }
}
