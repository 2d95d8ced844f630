//! Signals of the mobile node ([`midflight_control::signal`]): the ACKs that they add, and how they change the time and
//! form of other ACKs.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use midflight_control::signal::{
    stamp_at, HandoffMark, OwnAck, Received, Reshaped, Signal, WHOLE_WINDOW,
};
use midflight_control::Notice;
use midflight_units::{Instant, Seq};

use super::usual::Usual;
use super::Receiver;
use crate::segment::{Ack, AckOption, SackBlock, Segment, ACK_HEADER_BYTES};
use crate::sizes::segment_of;

/// ACKs that are held back.
#[derive(Clone, Debug)]
pub(super) struct Reshaping {
    waiting: VecDeque<Waiting>,
    /// The last acknowledged number.
    acked: Seq,
    /// The largest window that the signal lets ACKs advertise.
    limit: Option<NonZeroU32>,
    /// When the ACK left whose timestamp the next block echoes, in milliseconds; 0 for none.
    echo_ms: u32,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    at: Instant,
    since: Instant,
    ack: Ack,
}

impl Receiver {
    /// The node has the link data of a handoff, either a predicted or a completed one. Call before [`Self::on_warning`]
    /// or [`Self::on_attached`].
    pub fn on_links(&mut self, now: Instant, notice: &Notice, is_over: bool) {
        let bytes = self.config.segment_bytes;
        self.config.signal.on_links(now, notice, bytes, is_over);
        if self.config.signal.reshapes() {
            let acked = self.number_of(self.last_ack_sent);
            let new = || {
                Box::new(Reshaping {
                    waiting: VecDeque::new(),
                    acked,
                    limit: None,
                    echo_ms: 0,
                })
            };
            self.reshaping.get_or_insert_with(new);
            self.set_usual(Usual::Nothing);
        } else if let Some(reshaping) = &mut self.reshaping {
            // ACKs that are held back are sent now.
            for waiting in &mut reshaping.waiting {
                waiting.at = now;
            }
        }
    }

    /// A description of what the signal does from now on; see [`Self::on_links`].
    pub fn explain_signal(&self, notice: &Notice, is_over: bool) -> Option<(&'static str, String)> {
        let signal = &self.config.signal;
        let text = signal.explain(notice, is_over)?;
        Some((signal.info().name, text))
    }

    /// The node is about to leave its link; returns the ACKs that signal this to the sender.
    pub fn on_warning(&mut self, now: Instant) -> impl Iterator<Item = Ack> {
        let signal = self.config.signal.on_warning();
        self.send(now, signal)
    }

    /// The node has detected that it is on another link; returns the ACKs that signal this to the sender.
    pub fn on_attached(&mut self, now: Instant) -> impl Iterator<Item = Ack> {
        let signal = self.config.signal.on_attached();
        self.send(now, signal)
    }

    /// `signal.copies` ACKs of the in-order data; they replace a delayed ACK.
    fn send(&mut self, now: Instant, signal: Signal) -> impl Iterator<Item = Ack> {
        if let Some(time) = signal.quiet {
            self.quiet_until = Some(now + time);
            self.set_usual(Usual::Nothing);
        }
        if let Some(window) = signal.window {
            self.advertised = window;
        }
        let mut again = None;
        if signal.copies > 0 && self.next > 0 {
            let mut ack = if self.quic.is_some() {
                self.acknowledge_as_quic(now, self.last_cause)
            } else {
                self.acknowledge_again()
            };
            if signal.marked {
                self.marks += 1;
                ack.option = AckOption::Moved(HandoffMark {
                    number: self.marks,
                    sent: now,
                });
            }
            again = Some(ack);
        }
        again
            .into_iter()
            .flat_map(move |ack| (0..signal.copies).map(move |_| ack))
    }

    /// Returns the ACK of `answer`. While a signal suppresses duplicate ACKs, an ACK that repeats the last number
    /// because of a segment above a gap is dropped.
    pub(super) fn in_quiet(
        &mut self,
        now: Instant,
        is_above_gap: bool,
        answer: impl FnOnce(&mut Self) -> Option<Ack>,
    ) -> Option<Ack> {
        self.quiet_until = self.quiet_until.filter(|&until| now < until);
        self.note_usual();
        let is_quiet = is_above_gap && self.quiet_until.is_some();
        let acked = self.number_of(self.last_ack_sent);
        answer(self).filter(|ack| !is_quiet || ack.ack != acked)
    }

    /// Updates whether ACKs take the fast path.
    pub(super) fn note_usual(&mut self) {
        let is_delayed = self.quiet_until.is_some() || self.reshaping.is_some();
        self.set_usual(if is_delayed {
            Usual::Nothing
        } else {
            Usual::of(self.config.acks)
        });
    }

    fn set_usual(&mut self, usual: Usual) {
        self.usual = usual;
        self.update_prediction();
    }

    /// The ACK number, in segments, for a position in the receiver's sequence space.
    pub(super) fn number_of(&self, next: Seq) -> Seq {
        segment_of(next, self.unit).0
    }

    /// A received segment in the form that a signal gets.
    pub(super) fn received(&self, now: Instant, segment: &Segment) -> Received {
        Received {
            now,
            bytes: segment.bytes,
            again: segment.has_data() && self.knows(segment).0,
            echo_ms: segment.echo_ms,
        }
    }

    /// A received block of bytes in the same form.
    pub(super) fn received_block(&self, now: Instant, block: SackBlock) -> Received {
        Received {
            now,
            bytes: ACK_HEADER_BYTES + (block.right - block.left).min(u64::from(u16::MAX)) as u32,
            again: self.has_all(block),
            echo_ms: self.reshaping.as_deref().map_or(0, |r| r.echo_ms),
        }
    }

    /// The next block echoes the timestamp of the segment that was sent then ([`Self::on_block`]).
    pub fn note_echo(&mut self, sent: Option<Instant>) {
        if let Some(reshaping) = self.reshaping.as_deref_mut() {
            reshaping.echo_ms = sent.map_or(0, stamp_at);
        }
    }

    /// The largest window, in bytes, that the signal lets ACKs advertise; none for the receiver's own.
    pub fn window_limit(&self) -> Option<u32> {
        let limit = self.reshaping.as_deref()?.limit?;
        Some(limit.get()).filter(|_| limit != WHOLE_WINDOW)
    }

    /// Passes the ACK of `answer` through the signal and returns the ACK to send now; `segment` is the segment that
    /// caused the call, if any.
    pub(super) fn reshape(
        &mut self,
        now: Instant,
        segment: Option<Received>,
        answer: impl FnOnce(&mut Self) -> Option<Ack>,
    ) -> Option<Ack> {
        let reshapes = self.config.signal.reshapes();
        if let Some(segment) = segment.filter(|_| reshapes) {
            self.config.signal.on_received(&segment);
        }
        if let Some(ack) = answer(self) {
            self.put(now, ack, reshapes);
        }
        self.take_waiting(now)
    }

    /// Removes and returns the next held ACK whose time has come.
    pub(super) fn take_waiting(&mut self, now: Instant) -> Option<Ack> {
        let reshaping = self.reshaping.as_deref_mut()?;
        let due = reshaping.waiting.front().is_some_and(|w| w.at <= now);
        let ack = due
            .then(|| reshaping.waiting.pop_front())
            .flatten()
            .map(|w| w.ack);
        if reshaping.waiting.is_empty() && !self.config.signal.reshapes() {
            self.reshaping = None;
            self.note_usual();
        }
        ack
    }

    /// When the next held ACK is sent, and since when it is held.
    pub(super) fn poll_waiting(&self) -> Option<(Instant, Instant)> {
        let reshaping = self.reshaping.as_deref()?;
        reshaping.waiting.front().map(|w| (w.at, w.since))
    }

    fn put(&mut self, now: Instant, mut ack: Ack, reshapes: bool) {
        let Some(acked) = self.reshaping.as_deref().map(|r| r.acked) else {
            return;
        };
        let own = OwnAck {
            now,
            advances: ack.ack > acked,
            // The timestamps of an endpoint are the times of its segments.
            stamp_ms: if self.is_of_bytes {
                stamp_at(now)
            } else {
                ack.stamp_ms
            },
        };
        let shaped = if reshapes {
            self.config.signal.on_ack(&own)
        } else {
            own.unchanged()
        };
        ack.stamp_ms = shaped.stamp_ms;
        ack.window = match (ack.window, shaped.window) {
            // The Linux receiver returns to its own window.
            (Some(own), Some(most)) => Some(own.min(most)),
            (own, most) => own.or(most),
        };
        let in_bytes = self.is_of_bytes;
        let Some(reshaping) = self.reshaping.as_deref_mut() else {
            return;
        };
        let last = reshaping.waiting.back().map_or(now, |w| w.at);
        let mut put = |ack| {
            reshaping.waiting.push_back(Waiting {
                at: shaped.at.max(last),
                since: now,
                ack,
            });
        };
        parts(&ack, (acked, in_bytes), &shaped, &mut put);
        for _ in 0..=shaped.copies {
            put(ack);
        }
        reshaping.acked = acked.max(ack.ack);
        reshaping.limit = shaped.window;
    }
}

/// Creates the partial ACKs that precede an ACK; together they acknowledge everything from `acked` on.
fn parts(ack: &Ack, (acked, in_bytes): (Seq, bool), shaped: &Reshaped, put: &mut impl FnMut(Ack)) {
    let of = u64::from(shaped.parts);
    for done in 1..of {
        let passed = done * ack.ack.saturating_sub(acked);
        let (whole, rest) = (acked + passed / of, passed % of);
        if rest == 0 || in_bytes {
            if whole > acked {
                put(Ack { ack: whole, ..*ack });
            }
            continue;
        }
        let option = match ack.option {
            AckOption::Nothing => AckOption::Partial {
                done: rest as u8,
                of: shaped.parts,
            },
            option => option,
        };
        put(Ack {
            ack: whole,
            option,
            ..*ack
        });
    }
}

#[cfg(test)]
mod tests {
    use midflight_control::signal::AnyHandoffSignal;
    use midflight_control::LinkInfo;
    use midflight_units::{Duration, Rate};

    use super::*;
    use crate::config::profile;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn segment(ms: u64, seq: Seq) -> Segment {
        Segment::plain(seq, 1500, at(ms))
    }

    fn receiver(signal: &str) -> Receiver {
        let mut config = profile("ns2").map_or_else(|_| unreachable!(), |p| p.receiver);
        config.delayed_ack = None;
        config.signal = AnyHandoffSignal::named(signal).unwrap_or_else(|| unreachable!());
        Receiver::new(config)
    }

    fn notice(old: u64, new: u64) -> Notice {
        let link = |kbps| LinkInfo {
            rate: Rate::from_bps(kbps * 1000).unwrap_or(Rate::from_mbps(1)),
            delay: Duration::from_millis(50),
        };
        Notice {
            old: link(old),
            new: link(new),
            flows: 1,
        }
    }

    /// Passes in a segment and collects all ACKs until a time.
    fn play(r: &mut Receiver, ms: u64, seq: Seq) -> Vec<(u64, Seq, AckOption)> {
        let mut all = Vec::new();
        let mut note = |now: Instant, ack: Option<Ack>| {
            all.extend(ack.map(|a| (now.as_nanos() / 1_000_000, a.ack, a.option)));
        };
        note(at(ms), r.on_segment(at(ms), &segment(ms, seq)));
        while let Some((due, _)) = r.poll_timer() {
            note(due, r.on_timer(due));
        }
        all
    }

    #[test]
    fn acks_wait_for_the_time_of_the_link() {
        let mut r = receiver("ack-pacing");
        assert_eq!(play(&mut r, 0, 0), [(0, 1, AckOption::Nothing)]);
        r.on_links(at(1), &notice(12_000, 1200), true);
        assert_eq!(r.on_attached(at(1)).count(), 3);
        assert_eq!(play(&mut r, 2, 1), [(2, 2, AckOption::Nothing)]);
        // Two arrive together: the second ACK leaves 10 ms after the first, the time of the segment at 1.2 Mbit/s.
        assert_eq!(
            r.on_segment(at(20), &segment(20, 2)).map(|a| a.ack),
            Some(3)
        );
        assert_eq!(play(&mut r, 20, 3), [(30, 4, AckOption::Nothing)]);
        assert_eq!(play(&mut r, 50, 5), [(50, 4, AckOption::Nothing)]);
    }

    #[test]
    fn an_ack_is_split_into_parts() {
        let mut r = receiver("ack-pacing");
        play(&mut r, 0, 0);
        r.on_links(at(1), &notice(1200, 12_000), true);
        let half = AckOption::Partial { done: 1, of: 2 };
        assert_eq!(
            play(&mut r, 2, 1),
            [(2, 1, half), (2, 2, AckOption::Nothing)]
        );
        // A duplicate is not split.
        assert_eq!(play(&mut r, 9, 3), [(9, 2, AckOption::Nothing)]);
        assert_eq!(
            play(&mut r, 19, 2),
            [(19, 3, AckOption::Nothing), (19, 4, AckOption::Nothing)]
        );
    }

    #[test]
    fn delayed_acks_leave_at_the_handoff() {
        let mut r = receiver("ack-delay");
        play(&mut r, 0, 0);
        let mut slower = notice(12_000, 12_000);
        slower.new.delay = Duration::from_millis(300);
        r.on_links(at(0), &slower, false);
        assert_eq!(play(&mut r, 500, 1), [(750, 2, AckOption::Nothing)]);
        assert_eq!(r.on_segment(at(800), &segment(800, 2)), None);
        r.on_links(at(1000), &slower, true);
        let due = r.poll_timer().map(|(due, _)| due);
        assert_eq!(due, Some(at(1000)));
        assert_eq!(r.on_timer(at(1000)).map(|a| a.ack), Some(3));
        assert_eq!(play(&mut r, 1001, 3), [(1001, 4, AckOption::Nothing)]);
    }
}
