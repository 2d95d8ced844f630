//! The Eifel detection algorithm (RFC 3522) with the Eifel response (RFC 4015).
//!
//! The first ACK of new data after a retransmission echoes the timestamp of the segment that caused
//! it. If that segment was sent before the retransmission, the retransmission was unnecessary. It
//! needs the timestamps option.
//!
//! Differs from RFC 4015, which responds to spurious timeouts only, because a detection without a
//! response is of no use: a spurious fast retransmit is undone in the same way (a knob).

use midflight_units::{Instant, Seq};

use super::{PriorState, SpuriousDetector};
use crate::part::{choose, Knob, KnobError, Part, PartInfo};
use crate::{AckNews, Interests, Order, Orders, SenderView};

/// State and knobs of Eifel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eifel {
    fast_retransmits: bool,
    /// RetransmitTS, the previous state, and whether a timeout began the episode.
    episode: Option<(Instant, PriorState, bool)>,
    /// One past the highest segment sent when the recovery began: until it is
    /// acknowledged no new episode starts.
    edge: Seq,
    /// A DSACK has been received during the connection.
    dsack_seen: bool,
}

impl Default for Eifel {
    fn default() -> Self {
        Self {
            fast_retransmits: true,
            episode: None,
            edge: 0,
            dsack_seen: false,
        }
    }
}

impl Part for Eifel {
    const INFO: PartInfo = PartInfo {
        name: "eifel",
        summary:
            "Eifel: detect spurious timeouts and fast retransmits by timestamps, and undo them",
        source: "RFC 3522 section 3.2; RFC 4015 section 3.1",
        knobs: &[Knob {
            name: "eifel_fast_retransmits",
            default: "undo",
            accepts: "undo, believe",
            summary: "undo spurious fast retransmits too, or timeouts only (RFC 4015)",
        }],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let choices = [("undo", true), ("believe", false)];
        self.fast_retransmits = choose(&Self::INFO, name, value, &choices)?;
        Ok(())
    }
}

impl Eifel {
    fn begin(&mut self, before: &SenderView, timeout: bool) {
        // RFC 3522 section 3.2: no new episode before the recovery is over.
        if before.snd_una >= self.edge {
            self.episode = Some((before.now, PriorState::of(before), timeout));
            self.edge = before.snd_max;
        } else {
            // The first retransmission counts; a timeout of the same segment makes it a timeout
            // episode.
            self.episode = self.episode.filter(|_| timeout).map(|e| (e.0, e.1, true));
        }
    }
}

impl SpuriousDetector for Eifel {
    fn on_timeout(&mut self, before: &SenderView) -> Orders {
        self.begin(before, true);
        Orders::none()
    }

    fn on_fast_retransmit(&mut self, before: &SenderView) {
        if self.fast_retransmits {
            self.begin(before, false);
        }
    }

    fn forget(&mut self) {
        self.episode = None;
    }

    fn interests(&self) -> Interests {
        Interests::RETRANSMISSIONS.when(self.episode.is_some())
    }

    fn on_ack(&mut self, ack: &AckNews, view: &SenderView) -> Orders {
        let had_dsack = self.dsack_seen;
        self.dsack_seen |= ack.dsack.is_some();
        // (3)
        let Some((resent, before, timeout)) = self.episode.filter(|_| ack.advanced > 0) else {
            return Orders::none();
        };
        self.episode = None;
        // (4), (5)
        let original = ack.echo.is_some_and(|echo| echo < resent);
        let all_acks_lost = ack.dsack.is_some() || (!had_dsack && ack.ack >= view.snd_max);
        if !original || all_acks_lost {
            return Orders::none();
        }
        self.edge = view.snd_una;
        let why = "the ACK answers a segment sent before the retransmission";
        let mut orders = before.reverse(ack.advanced, view, why);
        if timeout {
            before.adapt_rto(&mut orders, why);
            orders.with(Order::Resume, why)
        } else {
            orders.with(Order::LeaveRecovery, why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::testing::advance;
    use crate::policy::testing::view;

    fn ack(echo_s: u64) -> AckNews<'static> {
        AckNews {
            echo: Some(Instant::from_nanos(echo_s * 1_000_000_000)),
            ..advance(101, 1)
        }
    }

    fn later() -> SenderView {
        SenderView {
            snd_una: 101,
            ..view(20, 1000)
        }
    }

    /// The retransmission is sent at 8 s.
    #[test]
    fn an_echo_from_before_the_retransmission_means_it_was_spurious() {
        for (echo, spurious) in [(7, true), (8, false), (9, false)] {
            let mut eifel = Eifel::default();
            let _ = eifel.on_timeout(&view(20, 1000));
            let orders = eifel.on_ack(&ack(echo), &later());
            assert_eq!(orders.contains(&Order::Resume), spurious, "{echo}");
            assert!(!eifel.interests().includes(Interests::RETRANSMISSIONS));
        }
    }

    #[test]
    fn a_fast_retransmit_is_taken_back_by_default() {
        let mut eifel = Eifel::default();
        eifel.on_fast_retransmit(&view(20, 1000));
        let orders = eifel.on_ack(&ack(7), &later());
        assert!(orders.contains(&Order::LeaveRecovery));
        assert!(orders.contains(&Order::SetSsthresh(20.0)));
        let mut eifel = Eifel::default();
        assert_eq!(eifel.set_knob("eifel_fast_retransmits", "believe"), Ok(()));
        eifel.on_fast_retransmit(&view(20, 1000));
        assert!(!eifel.interests().includes(Interests::RETRANSMISSIONS));
    }

    /// RFC 3522 section 3.3: a timeout because all ACKs were lost.
    #[test]
    fn a_dsack_or_an_ack_of_everything_leaves_it_alone() {
        let mut eifel = Eifel::default();
        let _ = eifel.on_timeout(&view(20, 1000));
        let with_dsack = AckNews {
            dsack: Some(100),
            ..ack(7)
        };
        assert!(eifel.on_ack(&with_dsack, &later()).is_empty());
        let mut eifel = Eifel::default();
        let _ = eifel.on_timeout(&view(20, 1000));
        let everything = AckNews {
            ack: 120,
            advanced: 20,
            ..ack(7)
        };
        assert!(eifel.on_ack(&everything, &later()).is_empty());
    }

    #[test]
    fn a_second_timeout_keeps_the_first_timestamp() {
        let mut eifel = Eifel::default();
        let _ = eifel.on_timeout(&view(20, 1000));
        let again = SenderView {
            now: Instant::from_nanos(10_000_000_000),
            ..view(20, 1000)
        };
        let _ = eifel.on_timeout(&again);
        assert!(eifel.on_ack(&ack(9), &later()).is_empty(), "sent after 8 s");
    }
}
