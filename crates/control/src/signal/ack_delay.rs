//! ACK delaying (Huang & Cai, "Improving TCP performance during soft vertical handoff", AINA 2005; the text was not
//! available). Before a predicted handoff to a link with more delay the receiver delays its ACKs, so that the sender's
//! timer adapts to the longer round trip in advance.
//!
//! How the delay grows is not known. Here it grows linearly, from the warning on, to the difference of the two links'
//! round trips at the handoff: a sudden increase would itself cause a spurious timeout. ACKs that are held at the
//! handoff are sent then.

use midflight_units::{Duration, Instant};

use super::{HandoffSignal, OwnAck, Reshaped, Signal};
use crate::part::{refuse, Knob, KnobError, Part, PartInfo};
use crate::Notice;

/// The warning, and the delay in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckDelay {
    warning: Duration,
    /// Since when it grows, and its final value.
    growing: Option<(Instant, Duration)>,
}

impl Default for AckDelay {
    fn default() -> Self {
        Self {
            warning: Duration::from_millis(1000),
            growing: None,
        }
    }
}

impl Part for AckDelay {
    const INFO: PartInfo = PartInfo {
        name: "ack-delay",
        summary: "before a predicted handoff to more delay ACKs are delayed, up to the difference of the round trips",
        source: "Huang & Cai 2005, by the names of its schemes",
        knobs: &[Knob {
            name: "ack_delay_warning",
            default: "1s",
            accepts: "a time above zero",
            summary: "how long before the handoff the delay begins to grow",
        }],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let info = &Self::INFO;
        let time: Duration = value.parse().map_err(|_| refuse(info, name, value))?;
        if time == Duration::ZERO {
            return Err(refuse(info, name, value));
        }
        self.warning = time;
        Ok(())
    }
}

impl HandoffSignal for AckDelay {
    fn warning(&self) -> Option<Duration> {
        Some(self.warning)
    }

    fn on_links(&mut self, now: Instant, notice: &Notice, _segment_bytes: u32, is_over: bool) {
        let more = (notice.new.round_trip()).saturating_sub(notice.old.round_trip());
        let grows = !is_over && more > Duration::ZERO;
        self.growing = grows.then_some((now, more));
    }

    fn explain(&self, _notice: &Notice, is_over: bool) -> Option<String> {
        match self.growing {
            Some((_, most)) => Some(format!(
                "ACKs are delayed from now on, in {} by {most}",
                self.warning
            )),
            None if is_over => Some("ACKs are not delayed any more".into()),
            None => None,
        }
    }

    fn reshapes(&self) -> bool {
        self.growing.is_some()
    }

    fn on_ack(&mut self, ack: &OwnAck) -> Reshaped {
        let delay = self.growing.map_or(Duration::ZERO, |(since, most)| {
            let passed = ack.now.since(since).as_nanos().min(self.warning.as_nanos());
            let part = u128::from(most.as_nanos()) * u128::from(passed);
            Duration::from_nanos((part / u128::from(self.warning.as_nanos())) as u64)
        });
        Reshaped {
            at: ack.now + delay,
            ..ack.unchanged()
        }
    }

    fn on_attached(&mut self) -> Signal {
        Signal::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notice::tests::link;

    #[test]
    fn the_delay_grows_to_the_difference_and_ends_at_the_handoff() {
        let mut part = AckDelay::default();
        let (old, new) = (link(50_000, 10), link(50_000, 300));
        let notice = Notice { old, new, flows: 1 };
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let ack = |ms| OwnAck {
            now: at(ms),
            advances: true,
            stamp_ms: 0,
        };
        assert!(!part.reshapes());
        part.on_links(at(5000), &notice, 1500, false);
        assert!(part.reshapes());
        assert_eq!(part.on_ack(&ack(5000)).at, at(5000));
        assert_eq!(part.on_ack(&ack(5500)).at, at(5500 + 290));
        assert_eq!(part.on_ack(&ack(7000)).at, at(7000 + 580));
        part.on_links(at(6000), &notice, 1500, true);
        assert!(!part.reshapes());
        let back = Notice {
            old: new,
            new: old,
            flows: 1,
        };
        part.on_links(at(9000), &back, 1500, false);
        assert!(!part.reshapes(), "the new link has less delay");
    }
}
