//! An initial window of ten segments (RFC 6928), the "Iw10" in the comparison of Daniel & Kojo,
//! report on available bandwidth, section 4. After a lost SYN the window is the same as without it
//! (RFC 6928 section 2).
//!
//! The notice at the start of the connection only triggers the policy; the values of the link are
//! not used. With the setting `initial_window` every scheme of a comparison starts with such a
//! window.

use super::HandoffPolicy;
use crate::part::{Part, PartInfo};
use crate::{AckNews, Interests, Notice, Order, Orders, SenderView, StartNotice};

/// RFC 6928 section 2.
const WINDOW: f64 = 10.0;

/// Whether the connection is about to open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Iw10 {
    opening: bool,
}

impl Part for Iw10 {
    const INFO: PartInfo = PartInfo {
        name: "iw10",
        summary: "an initial window of ten segments",
        source: "RFC 6928 section 2",
        knobs: &[],
    };
}

impl HandoffPolicy for Iw10 {
    fn on_notice(&mut self, _notice: &Notice, _view: &SenderView) -> Orders {
        Orders::none()
    }

    fn on_start(&mut self, _notice: &StartNotice, _view: &SenderView) -> Orders {
        self.opening = true;
        Orders::none()
    }

    fn interests(&self) -> Interests {
        Interests::START | Interests::ACKS.when(self.opening)
    }

    fn on_ack(&mut self, _ack: &AckNews, view: &SenderView) -> Orders {
        if view.snd_una == 0 {
            return Orders::none();
        }
        self.opening = false;
        if view.snd_una > 1 || view.cwnd < view.initial_window {
            return Orders::none();
        }
        Orders::none().with(Order::SetCwnd(WINDOW), "the SYN is acknowledged")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::testing::duplicate;
    use crate::policy::testing::{link, view};

    #[test]
    fn the_window_is_ten_once_the_syn_is_acknowledged_at_its_first_try() {
        let notice = StartNotice {
            link: link(6000, 50),
            flows: 1,
        };
        for (una, cwnd, expected) in [(1, 3.0, true), (1, 1.0, false), (2, 4.0, false)] {
            let mut iw10 = Iw10::default();
            let mut sender = view(1, 1000);
            (sender.snd_una, sender.cwnd) = (0, 1.0);
            let _ = iw10.on_start(&notice, &sender);
            assert!(
                iw10.interests().includes(Interests::ACKS)
                    && iw10.on_ack(&duplicate(100), &sender).is_empty()
            );
            (sender.snd_una, sender.cwnd) = (una, cwnd);
            let orders = iw10.on_ack(&duplicate(100), &sender);
            assert_eq!(orders.contains(&Order::SetCwnd(10.0)), expected);
            assert!(!iw10.interests().includes(Interests::ACKS));
        }
    }
}
