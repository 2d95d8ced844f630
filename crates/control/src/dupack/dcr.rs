//! Delayed congestion response, TCP-DCR (Bhandarkar, Sadry, Reddy, Vaidya,
//! IEEE TMC 4(5), 2005), as Lim & Jang 2009, sections 3 and 4.3, use it.
//!
//! A duplicate ACK may mean a loss or a segment that the radio link is still retransmitting. The
//! sender waits for one round-trip time, counted from the third duplicate ACK (the original counts
//! from the first: a knob). Meanwhile each duplicate sends one new segment and the window does not
//! change. An ACK of new data within the wait ends it; otherwise the segment is retransmitted and
//! the window is reduced for the loss.

use midflight_units::{Duration, Instant};

use super::{Answer, DupackResponse};
use crate::part::{choose, whole, Knob, KnobError, Part, PartInfo};
use crate::{Orders, SenderView};

/// State and knobs of DCR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dcr {
    from_first: bool,
    /// Hundredths of the smoothed round-trip time.
    wait_percent: u32,
    deadline: Option<(Instant, Instant)>,
}

impl Default for Dcr {
    fn default() -> Self {
        Self {
            from_first: false,
            wait_percent: 100,
            deadline: None,
        }
    }
}

impl Part for Dcr {
    const INFO: PartInfo = PartInfo {
        name: "dcr",
        summary:
            "delayed congestion response: wait one RTT for a late segment before retransmitting",
        source: "Bhandarkar et al. 2005; Lim & Jang 2009, section 4.3",
        knobs: &[
            Knob {
                name: "dcr_start",
                default: "third",
                accepts: "third, first",
                summary: "duplicate ACK from which the wait counts",
            },
            Knob {
                name: "dcr_wait",
                default: "100",
                accepts: "a whole number from 1 to 1000",
                summary: "the wait in per cent of the smoothed RTT",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        if name == "dcr_start" {
            let choices = [("third", false), ("first", true)];
            self.from_first = choose(&Self::INFO, name, value, &choices)?;
        } else {
            self.wait_percent = whole(&Self::INFO, name, value, 1..=1000)?;
        }
        Ok(())
    }
}

impl DupackResponse for Dcr {
    fn on_duplicate(&mut self, view: &SenderView) -> Answer {
        let start = if self.from_first {
            1
        } else {
            view.dup_threshold
        };
        if self.deadline.is_none() && view.dupacks >= start {
            // Without any sample the RTO is the only estimate of the round trip.
            let rtt = view.srtt.unwrap_or(view.rto);
            let hundredths = rtt * u64::from(self.wait_percent);
            let wait = Duration::from_nanos(hundredths.as_nanos() / 100);
            self.deadline = Some((view.now + wait, view.now));
        }
        Answer::Wait
    }

    fn limited_window(&self, view: &SenderView) -> Option<f64> {
        Some(view.cwnd)
    }

    /// While it waits no segment counts as lost.
    fn dup_threshold(&self, view: &SenderView) -> u32 {
        if view.in_fast_recovery {
            view.lost_threshold()
        } else {
            u32::MAX
        }
    }

    fn on_advance(&mut self, _view: &SenderView, _more_above: bool) -> Orders {
        self.deadline = None;
        Orders::none()
    }

    fn deadline(&self) -> Option<(Instant, Instant)> {
        self.deadline
    }

    fn end(&mut self) {
        self.deadline = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::view;

    fn wait_after(dcr: &mut Dcr, dupacks: u32) -> Option<Duration> {
        let sender = SenderView {
            dupacks,
            ..view(20, 1000)
        };
        assert_eq!(dcr.on_duplicate(&sender), Answer::Wait);
        dcr.deadline().map(|(due, _)| due.since(sender.now))
    }

    #[test]
    fn the_wait_of_one_rtt_starts_with_the_third_duplicate() {
        let mut dcr = Dcr::default();
        assert_eq!(wait_after(&mut dcr, 2), None);
        assert_eq!(wait_after(&mut dcr, 3), Some(Duration::from_millis(100)));
        dcr.end();
        assert_eq!(dcr.deadline(), None);
    }

    #[test]
    fn the_original_counts_from_the_first() {
        let mut dcr = Dcr::default();
        assert_eq!(dcr.set_knob("dcr_start", "first"), Ok(()));
        assert_eq!(dcr.set_knob("dcr_wait", "50"), Ok(()));
        assert_eq!(wait_after(&mut dcr, 1), Some(Duration::from_millis(50)));
    }
}
