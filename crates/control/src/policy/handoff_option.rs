//! The handoff option, the sender's side (Kim & Copeland, "TCP for seamless
//! vertical handoff in hybrid mobile data networks", Globecom 2003; the text was
//! not available). Daniel & Kojo 2008, section 2: an option marks the beginning and the end of a
//! handoff; in between the sender "stops the retransmission timer, suspends the
//! data transfer and initiates a slow-start after the handoff", which after a make-before-break handoff
//! "unnecessarily retransmits many packets".
//!
//! The mobile node's side, [`crate::signal::HoNotify`], begins with a notice to wait, which stops
//! the timer and sending as persist mode does (RFC 9293 section 3.8.6.1), and ends with a mark. Then the window is one segment
//! and everything outstanding is retransmitted; the threshold does not change.

use super::HandoffPolicy;
use crate::part::{Part, PartInfo};
use crate::{AckNews, Interests, Notice, Order, Orders, SenderView};

/// The number of the last mark.
#[derive(Clone, Copy, Debug, Default)]
pub struct HandoffOption {
    last: u32,
}

impl Part for HandoffOption {
    const INFO: PartInfo = PartInfo {
        name: "ho-resume",
        summary: "at the mark that ends a handoff slow start, and everything outstanding is retransmitted; the sender's half of handoff-option",
        source: "Kim & Copeland, Globecom 2003, as Daniel & Kojo 2008, section 2, describe it",
        knobs: &[],
    };
}

impl HandoffPolicy for HandoffOption {
    fn on_notice(&mut self, _notice: &Notice, _view: &SenderView) -> Orders {
        Orders::none()
    }

    fn on_mark(&mut self, ack: &AckNews, view: &SenderView) -> Orders {
        if !super::is_first(&mut self.last, ack) {
            return Orders::none();
        }
        let why = "slow start after the handoff";
        let orders = Orders::none().with(Order::SetCwnd(1.0), why);
        if view.snd_una == view.snd_max {
            orders
        } else {
            orders.with(Order::Rewind, why)
        }
    }

    fn interests(&self) -> Interests {
        Interests::MARKS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{marked, view};

    #[test]
    fn the_end_of_a_handoff_starts_slow_start_once() {
        let mut part = HandoffOption::default();
        let orders = part.on_mark(&marked(1), &view(20, 200));
        assert!(orders.contains(&Order::SetCwnd(1.0)) && orders.contains(&Order::Rewind));
        let has_threshold = |(order, _): (&Order, &str)| matches!(order, Order::SetSsthresh(_));
        assert!(!orders.iter().any(has_threshold), "it stays");
        assert!(part.on_mark(&marked(1), &view(20, 200)).is_empty());
        let idle = part.on_mark(&marked(2), &view(0, 200));
        assert!(!idle.contains(&Order::Rewind), "nothing is outstanding");
    }
}
