//! Explicit Handover Notification, the sender's side (Izumikawa, Yamaguchi & Katto, section 3): an
//! ACK with the handoff mark means that the data in flight went to the old base station. The sender
//! restarts its timer and retransmits everything from the first unacknowledged segment with its
//! previous window: if a timeout has reduced the window since, the stored pair is restored.
//!
//! The paper stores window and threshold "whenever they are changed". After several reductions the
//! pair before the first of them since SND.UNA last advanced is used. The paper mentions timeouts
//! only; a fast recovery is undone as well if the handoff lost the segment that it retransmitted,
//! that is, if this was sent within one round-trip time before the mark.
//!
//! A mark counts once. Repeats have its number. A mark without new information (an ACK below
//! SND.UNA, a segment never sent, another mark within a round-trip time) is treated as a plain ACK,
//! so forged marks make a sender retransmit its window at most once per round trip, and never more
//! than an earlier window.

use midflight_units::{Duration, Instant, Seq};

use super::HandoffPolicy;
use crate::part::{choose, Knob, KnobError, Part, PartInfo};
use crate::signal::HandoffMark;
use crate::{AckNews, Interests, Notice, Order, Orders, SenderView};

/// The window after the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResumeWindow {
    Previous,
    SlowStart,
    Adjusted,
}

/// Window and threshold before a reduction.
#[derive(Clone, Copy, Debug)]
struct Stored {
    /// SND.UNA at that time.
    una: Seq,
    cwnd: f64,
    ssthresh: f64,
}

impl Stored {
    fn of(before: &SenderView, cwnd: f64) -> Self {
        Self {
            una: before.snd_una,
            cwnd,
            ssthresh: before.ssthresh,
        }
    }
}

/// State and knobs of the sender's side of EHN.
#[derive(Clone, Copy, Debug)]
pub struct Ehn {
    onward: ResumeWindow,
    estimate_rtt: bool,
    /// The pair before the last fast recovery, and when the retransmitted segment had been sent.
    before_recovery: Option<(Option<Instant>, Stored)>,
    /// The pair before the first timeout since SND.UNA last advanced.
    before_timeout: Option<Stored>,
    /// The number of the last mark that counted, and when it arrived.
    last: Option<(u32, Instant)>,
}

impl Default for Ehn {
    fn default() -> Self {
        Self {
            onward: ResumeWindow::Previous,
            estimate_rtt: false,
            before_recovery: None,
            before_timeout: None,
            last: None,
        }
    }
}

impl Part for Ehn {
    const INFO: PartInfo = PartInfo {
        name: "ehn-restore",
        summary: "at a handoff mark send everything outstanding again with the old window; the sender's half of ehn",
        source: "Izumikawa, Yamaguchi & Katto, section 3",
        knobs: &[
            Knob {
                name: "ehn_window",
                default: "previous",
                accepts: "previous, slow-start, adjusted",
                summary: "the window after a handoff: as before it, one segment, or the estimated bandwidth times twice the mark's delay (with a controller that estimates the bandwidth)",
            },
            Knob {
                name: "ehn_rtt",
                default: "keep",
                accepts: "keep, one-way",
                summary: "the RTT estimate after a handoff: kept, or from twice the mark's delay (clocks agree)",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        if name == "ehn_window" {
            let choices = [
                ("previous", ResumeWindow::Previous),
                ("slow-start", ResumeWindow::SlowStart),
                ("adjusted", ResumeWindow::Adjusted),
            ];
            self.onward = choose(&Self::INFO, name, value, &choices)?;
        } else {
            let choices = [("keep", false), ("one-way", true)];
            self.estimate_rtt = choose(&Self::INFO, name, value, &choices)?;
        }
        Ok(())
    }
}

impl Ehn {
    fn is_news(&self, mark: &HandoffMark, view: &SenderView) -> bool {
        let nothing = view.snd_una == view.snd_max;
        let again = self.last.is_some_and(|(number, at)| {
            let recent = view.now < at + view.srtt.unwrap_or(Duration::ZERO);
            mark.number <= number || recent
        });
        !nothing && !again
    }

    /// The pair before a reduction that the handoff caused since SND.UNA last advanced: a fast
    /// recovery for a segment sent within a round-trip time before the mark, otherwise a timeout.
    fn restored(
        &self,
        mark: &HandoffMark,
        una_before: Seq,
        view: &SenderView,
    ) -> Option<(f64, f64)> {
        let rtt = view.srtt.unwrap_or(Duration::ZERO);
        let of_handoff = |&(sent, _): &(Option<Instant>, Stored)| {
            sent.is_none_or(|sent| mark.sent <= sent + rtt)
        };
        let recovery = self.before_recovery.filter(of_handoff);
        let pairs = [recovery.map(|(_, pair)| pair), self.before_timeout];
        let last = pairs
            .into_iter()
            .flatten()
            .find(|pair| pair.una == una_before);
        last.map(|pair| (pair.cwnd, pair.ssthresh))
    }
}

/// The window without the segments that duplicates have added. ns-2's Sack1 may have a window of
/// zero, which must not be restored.
fn deflated(view: &SenderView) -> f64 {
    let cwnd = if view.in_fast_recovery {
        view.cwnd.min(view.ssthresh)
    } else {
        view.cwnd
    };
    cwnd.max(1.0)
}

impl HandoffPolicy for Ehn {
    fn on_notice(&mut self, _notice: &Notice, _view: &SenderView) -> Orders {
        Orders::none()
    }

    fn interests(&self) -> Interests {
        Interests::MARKS
    }

    fn on_timeout(&mut self, before: &SenderView, _view: &SenderView) -> Orders {
        let pair = Stored::of(before, deflated(before));
        if self
            .before_timeout
            .is_none_or(|first| first.una != pair.una)
        {
            self.before_timeout = Some(pair);
        }
        Orders::none()
    }

    fn on_recovery(&mut self, view: &SenderView) -> Orders {
        // Fast recovery was entered, but the window is not reduced or inflated yet.
        let pair = Stored::of(view, view.cwnd.max(1.0));
        // A reduction after a timeout starts from the window that the timeout left.
        let reduced = |first: Stored| first.una == pair.una;
        if !self.before_timeout.is_some_and(reduced) {
            self.before_recovery = Some((view.una_sent, pair));
        }
        Orders::none()
    }

    fn on_mark(&mut self, ack: &AckNews, view: &SenderView) -> Orders {
        let Some(mark) = ack.mark else {
            return Orders::none();
        };
        if !self.is_news(&mark, view) {
            return Orders::none();
        }
        self.last = Some((mark.number, view.now));
        let restored = self.restored(&mark, ack.una_before, view);
        self.before_recovery = None;
        self.before_timeout = None;
        let (cwnd, ssthresh) = restored.unwrap_or((deflated(view), view.ssthresh));
        let rtt = view.now.since(mark.sent) * 2;
        let mut orders = Orders::none();
        match (self.onward, view.bandwidth) {
            (ResumeWindow::SlowStart, _) => {
                // The fast retransmission of Caceres & Iftode 1995, cited by the paper.
                let used = cwnd.min(view.receiver_window as f64);
                let half = (used / 2.0).floor().max(2.0);
                orders.push(
                    Order::SetSsthresh(half),
                    "half the window before the handoff",
                );
                orders.push(Order::SetCwnd(1.0), "slow start after the handoff");
            }
            (ResumeWindow::Adjusted, Some(bandwidth)) => {
                let seconds = rtt.as_nanos() as f64 / 1e9;
                let share = (bandwidth * seconds).floor().max(2.0);
                orders.push(
                    Order::SetSsthresh(share),
                    "estimated bandwidth times twice the mark's delay",
                );
                orders.push(
                    Order::SetCwnd(cwnd.min(share)),
                    "at most that, and at most the window before the handoff",
                );
            }
            (ResumeWindow::Previous | ResumeWindow::Adjusted, _) => {
                if restored.is_some() {
                    let reason = "what reduced it was the handoff";
                    orders.push(Order::SetSsthresh(ssthresh), reason);
                    orders.push(Order::SetCwnd(cwnd), reason);
                } else if view.in_fast_recovery {
                    let reason = "the fast recovery at hand answers an earlier loss";
                    orders.push(Order::SetCwnd(cwnd), reason);
                }
            }
        }
        if self.estimate_rtt {
            orders.push(
                Order::RestartRtt {
                    // RFC 6298 (2.2): the RTO after a first sample.
                    initial_rto: rtt * 3,
                    sample_since: view.now,
                    sample_retransmitted: true,
                },
                "twice the mark's delay is the round-trip time of the new path",
            );
        }
        orders.push(
            Order::Rewind,
            "what is in flight went to the old base station",
        );
        orders
    }
}
