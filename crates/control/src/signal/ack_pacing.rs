//! ACK pacing (Matsushita, Matsuda & Yamamoto, "TCP congestion control with ACK-pacing for vertical handover", WCNC
//! 2005; IEICE Transactions on Communications E90-B(4), 2007; the texts were not available). Daniel & Kojo 2008, section
//! 2: "If the BDP of the new path is less than that of the old path, the TCP receiver sends duplicate ACKs until the
//! transmission rate is reduced below the bandwidth of the new wireless access link. After the handoff the ACKs are sent
//! at a rate depending on the bandwidth of the new link. [...] If the BDP of the new path is larger, multiple partial
//! ACKs are sent until the transmission rate increases to the bandwidth of the new link." Lim & Jang 2009, section 2: the
//! duplicates are three at a time.
//!
//! Choices for points that the citing texts do not specify: the bandwidth-delay products are those of the access links.
//! The node detects that a sender has responded to three duplicates when a segment arrives that it already had, which
//! those texts mention as the scheme's cost; the time from the duplicates to this segment is the round trip over which
//! it then measures whether the rate is still too high. Without a response it sends no more duplicates. For a handoff
//! that was not predicted the first duplicates are sent when it is over. The number of partial ACKs, the length of the
//! warning, and the fraction of the new bandwidth from which the rate is high enough are knobs.

use midflight_units::{Duration, Instant, Rate};

use super::{HandoffSignal, OwnAck, Received, Reshaped, Signal};
use crate::part::{refuse, whole, Knob, KnobError, Part, PartInfo};
use crate::{LinkInfo, Notice};

/// Number of duplicates that a sender treats as a loss.
const DUPLICATES: u8 = 3;

/// Bytes that have arrived since an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    since: Instant,
    length: Duration,
    bytes: u64,
}

impl Span {
    fn new(since: Instant, length: Duration) -> Self {
        let bytes = 0;
        Self {
            since,
            length,
            bytes,
        }
    }

    /// Whether it is over.
    fn is_over(&self, now: Instant) -> bool {
        now.since(self.since) >= self.length
    }

    /// Whether more than this percentage of a rate has arrived in it.
    fn exceeds(&self, now: Instant, rate: Rate, percent: u64) -> bool {
        let all = rate.bits_in(now.since(self.since));
        u128::from(self.bytes) * 8 * 100 > u128::from(all) * u128::from(percent)
    }
}

/// Slowing the sender down below a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slowing {
    /// Duplicates have been sent.
    Signalled(Instant),
    /// The sender has responded.
    Watching(Span),
}

/// ACKs are paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pacing {
    rate: Rate,
    /// When the next ACK may be sent.
    next: Instant,
    /// Bytes that have arrived since the last ACK.
    pending: u64,
    /// ACKs are split until the rate is high enough.
    splits: Option<Span>,
}

/// Its current state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    Slows(Rate, Slowing),
    Paces(Pacing),
}

/// Knobs and state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPacing {
    warning: Duration,
    parts: u8,
    enough: u8,
    state: State,
    /// The next signal carries duplicates.
    sends_duplicates: bool,
}

impl Default for AckPacing {
    fn default() -> Self {
        Self {
            // As in other schemes that predict, so that they differ in nothing else.
            warning: Duration::from_millis(150),
            parts: 2,
            enough: 90,
            state: State::Idle,
            sends_duplicates: false,
        }
    }
}

impl Part for AckPacing {
    const INFO: PartInfo = PartInfo {
        name: "ack-pacing",
        summary: "duplicate ACKs until the sender is slower than the new link, ACKs at its rate, and partial ACKs if its BDP is larger",
        source: "Matsushita, Matsuda & Yamamoto 2007, as Daniel & Kojo 2008 and Lim & Jang 2009, sections 2, describe it",
        knobs: &[
            Knob {
                name: "ack_pacing_warning",
                default: "150ms",
                accepts: "a time",
                summary: "how long before a handoff to a smaller BDP the node begins to send duplicates",
            },
            Knob {
                name: "ack_pacing_parts",
                default: "2",
                accepts: "a whole number from 1 to 100",
                summary: "in how many partial ACKs each is split after a handoff to a larger BDP",
            },
            Knob {
                name: "ack_pacing_enough",
                default: "90",
                accepts: "a whole number from 1 to 100",
                summary: "share of the new bandwidth in per cent above which ACKs are not split any more",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let info = &Self::INFO;
        match name {
            "ack_pacing_warning" => {
                self.warning = value.parse().map_err(|_| refuse(info, name, value))?;
            }
            "ack_pacing_parts" => self.parts = whole(info, name, value, 1..=100)? as u8,
            _ => self.enough = whole(info, name, value, 1..=100)? as u8,
        }
        Ok(())
    }
}

impl HandoffSignal for AckPacing {
    fn warning(&self) -> Option<Duration> {
        Some(self.warning)
    }

    fn on_links(&mut self, now: Instant, notice: &Notice, segment_bytes: u32, is_over: bool) {
        let of = |link: &LinkInfo| link.bdp_segments(segment_bytes);
        let (old, new) = (of(&notice.old), of(&notice.new));
        let was_slowed = matches!(self.state, State::Slows(..));
        self.sends_duplicates = new < old && !was_slowed;
        if !is_over {
            if self.sends_duplicates {
                self.state = State::Slows(notice.new.rate, Slowing::Signalled(now));
            }
            return;
        }
        let splits = new > old && self.parts > 1;
        self.state = State::Paces(Pacing {
            rate: notice.new.rate,
            next: now,
            pending: 0,
            splits: splits.then(|| Span::new(now, notice.new.round_trip())),
        });
    }

    fn on_warning(&mut self) -> Signal {
        self.on_attached()
    }

    fn on_attached(&mut self) -> Signal {
        let copies = if std::mem::take(&mut self.sends_duplicates) {
            DUPLICATES
        } else {
            0
        };
        Signal {
            copies,
            ..Signal::default()
        }
    }

    fn explain(&self, notice: &Notice, is_over: bool) -> Option<String> {
        let rate = notice.new.rate;
        match &self.state {
            State::Slows(..) if !is_over => Some(format!(
                "the new link holds less: duplicate ACKs until the sender is slower than {rate}"
            )),
            State::Paces(Pacing { splits, .. }) => Some(match splits {
                Some(_) => format!(
                    "ACKs leave at {rate}, each in {} parts, as the new link holds more",
                    self.parts
                ),
                None => format!("ACKs leave at {rate}"),
            }),
            _ => None,
        }
    }

    fn reshapes(&self) -> bool {
        self.state != State::Idle
    }

    fn on_received(&mut self, segment: &Received) {
        let (now, bytes) = (segment.now, u64::from(segment.bytes));
        match &mut self.state {
            State::Slows(_, slowing) => match slowing {
                Slowing::Signalled(since) if segment.again => {
                    *slowing = Slowing::Watching(Span::new(now, now.since(*since)));
                }
                Slowing::Watching(span) => span.bytes += bytes,
                Slowing::Signalled(_) => {}
            },
            State::Paces(pacing) => {
                pacing.pending += bytes;
                if let Some(span) = &mut pacing.splits {
                    span.bytes += bytes;
                }
            }
            State::Idle => {}
        }
    }

    fn on_ack(&mut self, ack: &OwnAck) -> Reshaped {
        let mut shaped = ack.unchanged();
        match &mut self.state {
            State::Slows(rate, slowing) => {
                if let Slowing::Watching(span) = slowing {
                    if span.is_over(ack.now) {
                        if span.exceeds(ack.now, *rate, 100) {
                            shaped.copies = DUPLICATES;
                            *slowing = Slowing::Signalled(ack.now);
                        } else {
                            *span = Span::new(ack.now, span.length);
                        }
                    }
                }
            }
            State::Paces(pacing) => {
                shaped.at = ack.now.max(pacing.next);
                let pending = std::mem::take(&mut pacing.pending);
                pacing.next = shaped.at + pacing.rate.transmission_time(pending);
                if let Some(span) = &mut pacing.splits {
                    if ack.advances {
                        shaped.parts = self.parts;
                    }
                    if span.is_over(ack.now) {
                        let enough = span.exceeds(ack.now, pacing.rate, self.enough.into());
                        let next = Span::new(ack.now, span.length);
                        pacing.splits = (!enough).then_some(next);
                    }
                }
            }
            State::Idle => {}
        }
        shaped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notice::tests::link;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn received(ms: u64, again: bool) -> Received {
        Received {
            now: at(ms),
            bytes: 1500,
            again,
            echo_ms: 0,
        }
    }

    fn ack(ms: u64) -> OwnAck {
        OwnAck {
            now: at(ms),
            advances: true,
            stamp_ms: 0,
        }
    }

    fn notice(old: u64, new: u64) -> Notice {
        Notice {
            old: link(old, 50),
            new: link(new, 50),
            flows: 1,
        }
    }

    /// Daniel & Kojo 2008, section 2: duplicates until the rate is below that of the new link.
    #[test]
    fn duplicates_come_until_the_sender_is_slow_enough() {
        let mut part = AckPacing::default();
        part.on_links(at(0), &notice(12_000, 1200), 1500, false);
        assert_eq!(part.on_warning().copies, 3);
        // A segment a millisecond is 12 Mbit/s: nothing happens until the sender has responded.
        for ms in 0..100 {
            part.on_received(&received(ms, false));
            assert_eq!(part.on_ack(&ack(ms)), ack(ms).unchanged());
        }
        part.on_received(&received(100, true));
        assert_eq!(part.on_ack(&ack(100)).copies, 0);
        for ms in 101..200 {
            part.on_received(&received(ms, false));
            assert_eq!(part.on_ack(&ack(ms)).copies, 0, "a round trip is not over");
        }
        part.on_received(&received(200, false));
        assert_eq!(part.on_ack(&ack(200)).copies, 3, "still too fast");
        part.on_received(&received(300, true));
        // A segment in 20 ms is 600 kbit/s.
        for ms in (320..600).step_by(20) {
            part.on_received(&received(ms, false));
            assert_eq!(part.on_ack(&ack(ms)).copies, 0, "{ms}");
        }
        part.on_links(at(600), &notice(12_000, 1200), 1500, true);
        assert_eq!(part.on_attached().copies, 0, "it was warned");
    }

    /// 1.2 Mbit/s take a segment of 1500 bytes in 10 ms.
    #[test]
    fn acks_have_the_rate_of_the_new_link() {
        let mut part = AckPacing::default();
        part.on_links(at(0), &notice(12_000, 1200), 1500, true);
        assert_eq!(part.on_attached().copies, 3, "nobody predicted it");
        for (ms, leaves) in [(0, 0), (1, 10), (2, 20), (50, 50), (51, 60)] {
            part.on_received(&received(ms, false));
            let shaped = part.on_ack(&ack(ms));
            assert_eq!((shaped.at, shaped.parts), (at(leaves), 1));
        }
        // An ACK of two segments takes the link twice the time.
        part.on_received(&received(100, false));
        part.on_received(&received(101, false));
        assert_eq!(part.on_ack(&ack(101)).at, at(101));
        part.on_received(&received(102, false));
        assert_eq!(part.on_ack(&ack(102)).at, at(121));
    }

    /// The new link has a round trip of 101 ms.
    #[test]
    fn acks_are_split_until_the_rate_is_high_enough() {
        let mut part = AckPacing::default();
        part.on_links(at(0), &notice(1200, 12_000), 1500, true);
        assert_eq!(part.on_attached().copies, 0);
        let mut split = 0;
        for ms in (0..300).step_by(10).chain(300..700) {
            part.on_received(&received(ms, false));
            let parts = part.on_ack(&ack(ms)).parts;
            split = if parts == 2 { ms } else { split };
        }
        assert!((400..550).contains(&split), "{split}");
    }
}
