//! Undo by DSACK (RFC 3708): if every retransmission of a recovery is reported to have arrived
//! twice, nothing was lost and the window is restored (RFC 4015 section 3.1, step 9, as for a
//! timeout that is detected as spurious late).
//!
//! The algorithm gives up for the current window when a segment was retransmitted more than once
//! (A.3) or when the report could mean that all ACKs were lost (A.1), and permanently when a
//! segment that was sent once arrived twice (A.4). It needs a receiver that reports duplicates (RFC
//! 2883).

//! The detection, [`UnneededTracker`], is separate from the response, [`DsackUndo`], because a
//! handoff policy may have its own.

use midflight_units::Seq;

use super::{PriorState, SpuriousDetector};
use crate::part::{Part, PartInfo};
use crate::{AckNews, Interests, Order, Orders, SenderView};

/// Maximum number of remembered runs of retransmitted segments; a recovery with more is not undone.
const MOST_RUNS: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Episode {
    before: PriorState,
    /// Runs of segments retransmitted once, ascending; unused ones are empty.
    resent: [(Seq, Seq); MOST_RUNS],
    runs: usize,
    /// Segments retransmitted, and how many of them are known to have arrived twice.
    total: u64,
    duplicates: u64,
    /// The receiver has reported segments above the cumulative ACK.
    sack_seen: bool,
    timeout: bool,
}

/// A recovery in which every retransmission arrived as a duplicate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unneeded {
    /// The sender's state before it.
    pub before: PriorState,
    /// It contains a timeout.
    pub timeout: bool,
}

/// Follows the retransmissions of a recovery and the reports of duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UnneededTracker {
    episode: Option<Episode>,
    /// One past the highest segment sent when the recovery began.
    edge: Seq,
    /// The network duplicates packets: DSACKs have no meaning (A.4).
    off: bool,
}

/// The DSACK detector.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DsackUndo(UnneededTracker);

impl Part for DsackUndo {
    const INFO: PartInfo = PartInfo {
        name: "dsack-undo",
        summary: "undo a recovery if every retransmission was unnecessary",
        source: "RFC 3708 section 3; RFC 2883; RFC 4015 section 3.1",
        knobs: &[],
    };
}

impl Episode {
    /// Records a retransmission; returns false when it cannot be tracked any more.
    fn resend(&mut self, segment: Seq) -> bool {
        let runs = &mut self.resent[..self.runs];
        if runs.iter().any(|r| r.0 <= segment && segment < r.1) {
            return false;
        }
        self.total += 1;
        if let Some(run) = runs.iter_mut().find(|r| r.1 == segment) {
            run.1 += 1;
            return true;
        }
        if self.runs == MOST_RUNS {
            return false;
        }
        self.resent[self.runs] = (segment, segment + 1);
        self.runs += 1;
        true
    }

    fn was_resent(&self, segment: Seq) -> bool {
        let runs = &self.resent[..self.runs];
        runs.iter().any(|r| r.0 <= segment && segment < r.1)
    }
}

impl UnneededTracker {
    /// The timer has expired, or fast retransmit is about to start; `before` is the sender's state
    /// before the reduction.
    pub fn begin(&mut self, before: &SenderView, timeout: bool) {
        if self.off {
            return;
        }
        if before.snd_una < self.edge {
            // The same window: an episode that was given up is not resumed.
            if let Some(episode) = &mut self.episode {
                episode.timeout |= timeout;
            }
            return;
        }
        self.edge = before.snd_max;
        self.episode = Some(Episode {
            before: PriorState::of(before),
            resent: [(0, 0); MOST_RUNS],
            runs: 0,
            total: 0,
            duplicates: 0,
            sack_seen: before.dupacks > 0,
            timeout,
        });
    }

    /// A segment is retransmitted.
    pub fn on_retransmission(&mut self, segment: Seq) {
        self.episode = self.episode.take().and_then(|mut episode| {
            // (A.3)
            episode.resend(segment).then_some(episode)
        });
    }

    /// ACKs give no information about the current recovery any more.
    pub fn forget(&mut self) {
        self.episode = None;
    }

    /// Whether it waits for DSACKs.
    pub fn is_waiting(&self) -> bool {
        self.episode.is_some()
    }

    /// An ACK has been processed; returns the recovery if it was unneeded.
    pub fn on_ack(&mut self, ack: &AckNews, view: &SenderView) -> Option<Unneeded> {
        let episode = self.episode.as_mut()?;
        episode.sack_seen |= !ack.blocks.is_empty();
        let segment = ack.dsack?;
        if !episode.was_resent(segment) {
            // (A.4), unless it was retransmitted in an earlier recovery, which is not stored.
            self.off = segment >= self.edge;
            self.episode = None;
            return None;
        }
        if !episode.sack_seen && segment == view.snd_una - ack.advanced {
            // (A.1): SND.UNA before this ACK.
            self.episode = None;
            return None;
        }
        episode.duplicates += 1;
        if episode.duplicates < episode.total {
            return None;
        }
        // (B.1)
        let (before, timeout) = (episode.before, episode.timeout);
        self.episode = None;
        self.edge = view.snd_una;
        Some(Unneeded { before, timeout })
    }
}

impl SpuriousDetector for DsackUndo {
    fn on_timeout(&mut self, before: &SenderView) -> Orders {
        self.0.begin(before, true);
        Orders::none()
    }

    fn on_fast_retransmit(&mut self, before: &SenderView) {
        self.0.begin(before, false);
    }

    fn on_retransmission(&mut self, segment: Seq) {
        self.0.on_retransmission(segment);
    }

    fn forget(&mut self) {
        self.0.forget();
    }

    fn interests(&self) -> Interests {
        Interests::RETRANSMISSIONS.when(self.0.is_waiting())
    }

    fn on_ack(&mut self, ack: &AckNews, view: &SenderView) -> Orders {
        let Some(Unneeded { before, timeout }) = self.0.on_ack(ack, view) else {
            return Orders::none();
        };
        let why = "every retransmission arrived as a duplicate";
        let orders = before.reverse(ack.advanced.max(1), view, why);
        if timeout {
            orders.with(Order::Resume, why)
        } else {
            orders.with(Order::LeaveRecovery, why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::testing::duplicate;
    use crate::policy::testing::view;

    fn report(segment: Seq) -> AckNews<'static> {
        AckNews {
            dsack: Some(segment),
            ..duplicate(110)
        }
    }

    fn resent(segments: &[Seq]) -> DsackUndo {
        let mut undo = DsackUndo::default();
        let recovering = SenderView {
            dupacks: 3,
            ..view(20, 1000)
        };
        undo.on_fast_retransmit(&recovering);
        for &segment in segments {
            undo.on_retransmission(segment);
        }
        undo
    }

    #[test]
    fn all_retransmissions_must_be_duplicates() {
        let mut undo = resent(&[100, 103, 104]);
        assert!(undo.on_ack(&report(100), &view(20, 1000)).is_empty());
        assert!(
            undo.on_ack(&report(104), &view(20, 1000)).is_empty(),
            "(B.2)"
        );
        let orders = undo.on_ack(&report(103), &view(20, 1000));
        assert!(orders.contains(&Order::LeaveRecovery), "(B.1)");
        assert!(orders.contains(&Order::SetSsthresh(20.0)));
    }

    #[test]
    fn a_segment_resent_twice_is_not_undone() {
        let mut undo = resent(&[100, 100]);
        assert!(
            !undo.interests().includes(Interests::RETRANSMISSIONS),
            "(A.3)"
        );
        assert!(undo.on_ack(&report(100), &view(20, 1000)).is_empty());
    }

    #[test]
    fn duplication_by_the_network_ends_it_for_good() {
        let mut undo = resent(&[100]);
        let _ = undo.on_ack(&report(125), &view(30, 1000));
        undo.on_fast_retransmit(&view(20, 1000));
        assert!(
            !undo.interests().includes(Interests::RETRANSMISSIONS),
            "(A.4)"
        );
    }

    #[test]
    fn a_report_that_could_mean_lost_acks_is_ignored() {
        let mut undo = DsackUndo::default();
        let _ = undo.on_timeout(&view(20, 1000));
        undo.on_retransmission(100);
        let at_una = AckNews {
            advanced: 10,
            duplicate: false,
            ..report(100)
        };
        let after = SenderView {
            snd_una: 110,
            ..view(20, 1000)
        };
        assert!(undo.on_ack(&at_una, &after).is_empty(), "(A.1)");
        assert!(!undo.interests().includes(Interests::RETRANSMISSIONS));
    }
}
