//! The slow-start threshold is the capacity of the access link (Daniel & Kojo, report on available
//! bandwidth, section 4: their "Vho" TCP): at the start of a connection, if the sender gets a
//! notice of the link, and after every handoff.
//!
//! The report writes "bandwidth and delay" and computes the BDP of its links as rate x 2 delay; so
//! does this policy at the start (a knob). It does not specify whether flows that start together
//! share the threshold. After a handoff they share it in their overview (Daniel, Jarvinen & Kojo),
//! so they do here too (a knob). After a handoff the BDP is that of A2 and A3: if one of these has
//! set the threshold to it, this changes nothing, and placed after A3 this is the report's variant
//! of A3, which uses the BDP instead of the saved threshold.

use super::HandoffPolicy;
use crate::part::{choose, Knob, KnobError, Part, PartInfo};
use crate::{Interests, LinkInfo, Notice, Order, Orders, SenderView, StartNotice};

/// Smallest threshold, in segments (RFC 5681 (4)).
const LEAST: u64 = 2;

/// Knobs.
#[derive(Clone, Copy, Debug)]
pub struct InitialSsthresh {
    one_way: bool,
    whole: bool,
    handoffs: bool,
}

impl Default for InitialSsthresh {
    fn default() -> Self {
        Self {
            one_way: false,
            whole: false,
            handoffs: true,
        }
    }
}

impl Part for InitialSsthresh {
    const INFO: PartInfo = PartInfo {
        name: "initial-ssthresh",
        summary:
            "set ssthresh to the capacity of the access link, at the start and after a handoff",
        source: "Daniel & Kojo, report on available bandwidth, section 4",
        knobs: &[
            Knob {
                name: "initial_ssthresh_delay",
                default: "round-trip",
                accepts: "round-trip, one-way",
                summary: "delay of the access link by which its rate is multiplied at the start",
            },
            Knob {
                name: "initial_ssthresh_share",
                default: "flow",
                accepts: "flow, whole",
                summary:
                    "whether each of several flows uses its share of the link, or the whole link",
            },
            Knob {
                name: "initial_ssthresh_handoff",
                default: "on",
                accepts: "on, off",
                summary: "set it after a handoff too",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let info = &Self::INFO;
        match name {
            "initial_ssthresh_delay" => {
                let choices = [("round-trip", false), ("one-way", true)];
                self.one_way = choose(info, name, value, &choices)?;
            }
            "initial_ssthresh_share" => {
                self.whole = choose(info, name, value, &[("flow", false), ("whole", true)])?;
            }
            _ => self.handoffs = choose(info, name, value, &[("on", true), ("off", false)])?,
        }
        Ok(())
    }
}

impl InitialSsthresh {
    fn set(self, packets: u64, flows: u32) -> Orders {
        let flows = if self.whole { 1 } else { flows.max(1) };
        let share = (packets / u64::from(flows)).max(LEAST);
        let why = match flows {
            1 => format!("the access link holds {packets} segments"),
            flows => format!("the access link holds {packets} segments, for {flows} flows"),
        };
        Orders::none().with(Order::SetSsthresh(share as f64), why)
    }

    fn packets(self, link: &LinkInfo, view: &SenderView) -> u64 {
        let delay = link.delay * if self.one_way { 1 } else { 2 };
        link.rate.bits_in(delay) / (8 * u64::from(view.segment_bytes))
    }
}

impl HandoffPolicy for InitialSsthresh {
    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders {
        if !self.handoffs {
            return Orders::none();
        }
        self.set(notice.new.bdp_segments(view.segment_bytes), notice.flows)
    }

    fn on_start(&mut self, notice: &StartNotice, view: &SenderView) -> Orders {
        self.set(self.packets(&notice.link, view), notice.flows)
    }

    fn interests(&self) -> Interests {
        Interests::START
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{link, notice, view};

    fn at_start(knobs: &[(&str, &str)], link: LinkInfo, flows: u32) -> Option<Order> {
        let mut policy = InitialSsthresh::default();
        for (name, value) in knobs {
            assert_eq!(policy.set_knob(name, value), Ok(()));
        }
        let orders = policy.on_start(&StartNotice { link, flows }, &view(0, 1000));
        let first = orders.iter().next();
        first.map(|(&order, _)| order)
    }

    /// 50 Mbit/s x 30 ms = 1.5 Mbit = 125 packets of 12,000 bits; 54 Mbit/s x 4 ms = 18.
    #[test]
    fn the_bdps_of_the_report() {
        let set = |packets: f64| Some(Order::SetSsthresh(packets));
        assert_eq!(at_start(&[], link(50_000, 15), 1), set(125.0));
        assert_eq!(at_start(&[], link(54_000, 2), 1), set(18.0));
        assert_eq!(at_start(&[], link(50_000, 15), 4), set(31.0));
        let whole = [("initial_ssthresh_share", "whole")];
        assert_eq!(at_start(&whole, link(50_000, 15), 4), set(125.0));
        let one_way = [("initial_ssthresh_delay", "one-way")];
        assert_eq!(at_start(&one_way, link(50_000, 15), 1), set(62.0));
        assert_eq!(at_start(&[], link(200, 1), 1), set(2.0));
    }

    /// As in A2 and A3: 400 kbit/s and 150 ms are 11 packets.
    #[test]
    fn after_a_handoff_it_is_the_bdp_of_a2() {
        let mut policy = InitialSsthresh::default();
        let orders = policy.on_notice(&notice((1600, 75), (400, 150)), &view(20, 400));
        assert!(orders.contains(&Order::SetSsthresh(11.0)));
        assert_eq!(policy.set_knob("initial_ssthresh_handoff", "off"), Ok(()));
        let orders = policy.on_notice(&notice((1600, 75), (400, 150)), &view(20, 400));
        assert!(orders.is_empty());
    }
}
