//! Processing of an ACK, in the order of tcp_ack().

use midflight_control::jiffies::Jiffies;
use midflight_units::{Duration, Instant, Seq};
use smallvec::SmallVec;

use super::board::Entry;
use super::prr::Delivery;
use super::rack::{micros, min_rtt_window, time};
use super::{Ca, Linux, Probe};
use crate::event::{Author, Log};
use crate::segment::{Ack, AckOption, SackBlock};
use crate::sender::Core;

/// The results of an ACK: flags and samples of tcp_ack().
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// SND.UNA before.
    pub(super) before: Seq,
    /// SND.UNA after this ACK.
    una: Seq,
    pub(super) advanced: bool,
    /// It SACKs a segment for the first time.
    pub(super) sacked: bool,
    /// It reports a CE mark (FLAG_ECE).
    pub(super) congested: bool,
    /// A segment up to `high` that was never retransmitted has arrived.
    pub(super) original: bool,
    /// It reports a duplicate caused by a retransmission, and whether that was the probe.
    pub(super) dsack: bool,
    dsack_of_probe: bool,
    /// Segments that arrived twice because of a retransmission: they count as delivered again.
    duplicates: u64,
    /// Retransmissions are found to be lost.
    pub(super) lost_again: bool,
    /// The timer must be restarted.
    pub(super) set_timer: bool,
    /// Lowest segment that has arrived late.
    late: Option<Seq>,
    /// For newly SACKed segments that were never retransmitted: when the first and the last were sent.
    sacked_sent: Option<(Instant, Instant)>,
    /// The newest segment that has arrived: when it was sent, one past it, and the delivered count at that time.
    newest: Option<(Instant, Seq, u64)>,
    /// The RTT of the segment sent last, in microseconds.
    latest: Option<u64>,
    /// The timestamp that it echoes.
    pub(super) echo: Option<Instant>,
}

impl News {
    #[inline]
    fn saw(&mut self, seq: Seq, entry: &Entry) {
        let is_newer = |&(sent, end, _): &(Instant, Seq, u64)| (entry.sent, seq + 1) > (sent, end);
        if self.newest.as_ref().is_none_or(is_newer) {
            self.newest = Some((entry.sent, seq + 1, entry.delivered));
        }
    }
}

/// The measurements of the ACK, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    /// The RTT of the earliest segment, for the timeout, and when that was sent.
    rtt: Option<(u64, Instant)>,
    /// The RTT of the latest segment, for the controller and the minimum RTT.
    latest: Option<u64>,
}

impl Linux {
    pub(super) fn take_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        if self.is_usual(core, ack) {
            self.take::<true>(core, ack, log);
            self.sending.new = !self.is_held_back(core);
        } else {
            self.take_unusual(core, ack, log);
        }
    }

    /// Whether the ACK is as most are: it has no other news than that segments have arrived, each of which was sent once,
    /// and nothing is suspected to be lost.
    #[inline(always)]
    fn is_usual(&self, core: &Core, ack: &Ack) -> bool {
        let is_plain = ack.sack.is_empty() && ack.option == AckOption::Nothing && core.config.sack;
        let is_calm = self.state == Ca::Open && self.probe.is_none() && !core.held;
        let advances = self.board.una > 0 && ack.ack > self.board.una;
        is_plain && is_calm && advances && self.board.is_untouched()
    }

    #[inline(never)]
    fn take_unusual(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        self.take::<false>(core, ack, log);
    }

    /// Takes an ACK. For a usual one ([`Self::is_usual`]) the compiler leaves out what such an ACK never needs.
    #[inline(always)]
    fn take<const USUAL: bool>(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        let (before, lost, delivered) = (self.board.una, self.board.lost_ever, self.delivered);
        let mut news = News {
            before,
            echo: ack.echo,
            congested: !USUAL
                && matches!(
                    ack.option,
                    AckOption::Congested | AckOption::CongestedUpdate
                ),
            ..News::default()
        };
        if !USUAL && ack.ack < before {
            self.take_old(core, ack, &mut news, log);
            return;
        }
        let (was_out, was_in_flight) = (self.board.packets_out(), self.board.in_flight());
        let fack = if USUAL { before } else { self.board.fack() };
        news.advanced = USUAL || ack.ack > before;
        if news.advanced {
            self.timeouts = 0;
        }
        if !USUAL && !ack.sack.is_empty() {
            self.tag(core, ack, &mut news);
            core.follow_duplicates(news.duplicates);
        }
        if !USUAL && was_out == 0 {
            if news.dsack {
                self.alert(core, 0, &mut news, log);
            }
            self.judge_probe(core, ack.ack, &news, log);
            self.sending.new = true;
            return;
        }
        self.clean::<USUAL>(core, ack, fack, &mut news, log);
        let prior = news.newest.map_or(0, |(_, _, delivered)| delivered);
        self.rack.adapt(prior, self.delivered);
        if !USUAL {
            self.judge_probe(core, ack.ack, &news, log);
        }
        let is_news = news.sacked || news.dsack || news.congested;
        // FLAG_DATA, FLAG_WIN_UPDATE.
        let is_update = core.is_window_update() || ack.option == AckOption::CongestedUpdate;
        let is_dubious = !(news.advanced || is_update) || is_news || self.state != Ca::Open;
        if !USUAL && is_dubious {
            let is_duplicate = !news.advanced && !news.dsack && !is_update;
            let duplicates = u64::from(is_duplicate);
            core.loss.set_dupacks(if news.advanced {
                0
            } else {
                core.loss.dupacks() + duplicates as u32
            });
            self.alert(core, duplicates, &mut news, log);
        } else {
            core.loss.set_dupacks(0);
        }
        if news.set_timer {
            self.set_timer(core);
        }
        let arrived = Delivery {
            delivered: self.delivered - delivered,
            newly_lost: self.board.lost_ever - lost,
            advanced: news.advanced,
        };
        if news.congested {
            self.delivered_marked += arrived.delivered;
        }
        if !USUAL && core.held {
            if !core.config.sack {
                core.recount_deliveries(arrived.delivered);
            }
            // tcp_rate_gen().
            let measured = Some((news.latest, self.min_rtt()));
            core.take_rate(arrived.newly_lost, was_in_flight, measured);
        }
        self.control::<USUAL>(core, arrived, &news, log);
        self.sending.new = true;
    }

    /// A late ACK may still SACK segments. After it, as after every ACK, new data may be sent (tcp_rcv_established(),
    /// tcp_data_snd_check()).
    fn take_old(&mut self, core: &mut Core, ack: &Ack, news: &mut News, log: &mut impl Log) {
        if !ack.sack.is_empty() {
            let delivered = self.delivered;
            self.tag(core, ack, news);
            // tcp_ack() does not count it as delivered (old_ack).
            self.delivered = delivered;
            core.discount_deliveries();
            self.alert(core, 0, news, log);
        }
        self.sending.new = true;
    }

    /// tcp_sacktag_write_queue().
    fn tag(&mut self, core: &Core, ack: &Ack, news: &mut News) {
        let mut blocks: SmallVec<[SackBlock; 4]> = ack.sack.iter(ack.ack).collect();
        let Some(&first) = blocks.first() else {
            return;
        };
        let is_dsack = first.left < ack.ack
            || blocks
                .get(1)
                .is_some_and(|b| b.left <= first.left && first.right <= b.right);
        let mut dsack = None;
        if is_dsack && self.count_dsack(first, news) {
            dsack = Some(first);
        }
        let una = news.before.max(ack.ack);
        news.una = una;
        let nxt = self.board.nxt();
        // tcp_is_sackblock_valid(): segments below the present ACK number may have been retransmitted in this
        // recovery.
        let marker = self.undo.marker;
        let is_answer = |b: &SackBlock| {
            let is_covered = dsack == Some(*b) && b.right <= una && b.right > news.before;
            is_covered && marker.is_some_and(|marker| b.right > marker)
        };
        blocks.retain(|b| b.left < b.right && b.right <= nxt && (b.left > una || is_answer(b)));
        blocks.sort_by_key(|b| b.left);
        let known = self.known;
        let is_kept = self.board.sacked_out > 0;
        let mut blocks_seen = [(0, 0); 4];
        // How far the walk along the queue has come; none at its end, and then it begins anew.
        let mut place = None;
        for (i, block) in blocks.iter().enumerate() {
            let is_dup = dsack == Some(*block);
            let next_dup = dsack.filter(|d| blocks.get(i + 1) == Some(d));
            let mut seq = block.left;
            let mut walked = None;
            while seq < block.right {
                let skip = known.iter().find(|k| k.0 <= seq && seq < k.1);
                if let Some(&(_, right)) = skip.filter(|_| is_kept && !is_dup) {
                    if right < block.right {
                        // tcp_maybe_skipping_dsack(): the duplicate is processed here.
                        let dup = next_dup.filter(|d| d.left < right);
                        for seq in
                            dup.map_or(0..0, |d| place.max(Some(d.left)).unwrap_or(0)..d.right)
                        {
                            self.tag_one(core, seq, true, news);
                        }
                        place = place.max(Some(right));
                    }
                    seq = right;
                    continue;
                }
                if let Some(later) = place.filter(|later| *later > seq) {
                    // tcp_sacktag_skip() does not go back: not to a duplicate within the last block, either.
                    seq = later;
                    continue;
                }
                let is_dup = is_dup || next_dup.is_some_and(|d| d.left <= seq && seq < d.right);
                walked.get_or_insert(seq);
                self.tag_one(core, seq, is_dup, news);
                seq += 1;
                place = Some(seq).filter(|next| *next < nxt);
            }
            if let Some(from) = walked {
                self.join_parts(core, *block, from, una);
            }
            blocks_seen[i] = (block.left, block.right);
        }
        self.known = blocks_seen;
        if self.state != Ca::Loss || self.undo.marker.is_some() {
            if let Some(late) = news.late {
                self.check_reordering(late);
            }
        }
    }

    /// Processes the SACKed segments of a block, from the first examined one on.
    fn join_parts(&mut self, core: &Core, block: SackBlock, from: Seq, una: Seq) {
        let board = &self.board;
        let is_done = |seq| {
            let entry = board.get(seq);
            entry.is_some_and(|e| e.is_sacked() && !e.is_resent())
        };
        self.queue.sack(block, from, una, is_done, &core.sizes);
    }

    /// tcp_check_dsack(), tcp_dsack_seen(): returns whether a retransmission caused it.
    fn count_dsack(&mut self, block: SackBlock, news: &mut News) -> bool {
        let segments = block.right.saturating_sub(block.left);
        if segments == 0 {
            return false;
        }
        let of_probe = segments == 1 && self.probe.is_some_and(|p| p.high == block.right);
        news.dsack_of_probe |= of_probe;
        self.dsacked += segments;
        if self.dsacked > self.resent {
            return false;
        }
        if self.reordering_seen > 0 && !of_probe {
            self.rack.dsack_seen = true;
        }
        news.dsack = true;
        news.duplicates += segments;
        self.delivered += segments;
        let is_old = block.right <= news.before;
        if let (Some(marker), true) = (self.undo.marker, is_old) {
            if block.right > marker {
                self.answer_dsack(segments);
            }
        }
        true
    }

    fn answer_dsack(&mut self, segments: u64) {
        if let Some(left) = self.undo.unanswered.as_mut().filter(|left| **left > 0) {
            *left = left.saturating_sub(segments);
        }
    }

    /// tcp_sacktag_one().
    fn tag_one(&mut self, core: &Core, seq: Seq, is_dup: bool, news: &mut News) {
        let Some(&entry) = self.board.get(seq) else {
            return;
        };
        if is_dup && entry.was_ever_resent() {
            if self.undo.marker.is_some_and(|marker| seq + 1 > marker) {
                self.answer_dsack(1);
            }
            if entry.is_sacked() {
                news.late = Some(news.late.map_or(seq, |late| late.min(seq)));
            }
        }
        if seq < news.una {
            return;
        }
        if !entry.is_sacked() {
            let least = entry.was_ever_resent().then(|| self.min_rtt());
            self.rack.advance(core.now, seq, entry.sent, least);
            if !entry.is_resent() && !entry.was_ever_resent() {
                if seq < self.board.fack() {
                    news.late = Some(news.late.map_or(seq, |late| late.min(seq)));
                }
                news.original |= seq < self.high;
                let first = news.sacked_sent.map_or(entry.sent, |(first, _)| first);
                news.sacked_sent = Some((first, entry.sent));
            }
            news.saw(seq, &entry);
            self.board.mark_sacked(seq);
            news.sacked = true;
            self.delivered += 1;
        }
        if is_dup {
            self.board.retransmission_arrived(seq);
        }
    }

    /// tcp_clean_rtx_queue().
    #[inline(always)]
    fn clean<const USUAL: bool>(
        &mut self,
        core: &mut Core,
        ack: &Ack,
        fack: Seq,
        news: &mut News,
        log: &mut impl Log,
    ) {
        let had_sacked = !USUAL && self.board.sacked_out > 0;
        let mut acked_sent: Option<(Instant, Instant)> = None;
        let mut any_resent = false;
        let mut late = None;
        let first_seq = self.board.una;
        if let Some((first, last)) = self.board.pop_untouched(ack.ack) {
            // As of most ACKs: each was sent after the one before, so that the last one decides.
            let seq = self.board.una - 1;
            acked_sent = Some((first.sent, last.sent));
            late = Some(first_seq);
            news.original |= first_seq < self.high;
            if USUAL || core.config.sack {
                self.delivered += self.board.una - first_seq;
                self.rack.advance(core.now, seq, last.sent, None);
            }
            news.saw(seq, &last);
            if first_seq == 0 {
                self.undo.first_resent = None;
                any_resent = self.untimed;
            }
        }
        while !USUAL && self.board.una < ack.ack {
            let seq = self.board.una;
            let Some(entry) = self.board.pop() else {
                break;
            };
            if entry.was_ever_resent() {
                any_resent = true;
            } else if !entry.is_sacked() {
                let first = acked_sent.map_or(entry.sent, |(first, _)| first);
                acked_sent = Some((first, entry.sent));
                late = late.or(Some(seq));
                news.original |= seq < self.high;
            }
            if !entry.is_sacked() {
                self.delivered += u64::from(core.config.sack);
                let is_spurious = entry.was_ever_resent() && echoes_before(core, news, entry.sent);
                if !is_spurious && core.config.sack {
                    let least = entry.was_ever_resent().then(|| self.min_rtt());
                    self.rack.advance(core.now, seq, entry.sent, least);
                }
                news.saw(seq, &entry);
            }
            if seq == 0 {
                self.undo.first_resent = None;
            }
        }
        if let (0, Some(echo), Some(first)) = (news.before, news.echo, self.syn_sent) {
            let clock = core.config.rto.clock;
            if millis(clock, echo) == millis(clock, first) {
                // The first SYN has arrived (tcp_try_undo_spurious_syn()).
                core.forgive_syn_timeouts();
            }
        }
        self.queue.free(self.board.una, &core.sizes);
        core.advance(ack.ack, log);
        let samples = measure(core, news, acked_sent.filter(|_| !any_resent));
        news.latest = samples.latest;
        let is_sampled = self.take_samples(core, samples, log);
        if news.advanced {
            news.set_timer = true;
            if !USUAL && !core.config.sack {
                self.remove_duplicates(self.board.una - first_seq);
                // Nobody knows which transmission has arrived.
                news.original &= !any_resent;
            } else if let Some(late) = late.filter(|&late| had_sacked && late < fack) {
                self.check_reordering(late);
            }
        } else if let (Some((_, last)), true) = (news.sacked_sent, is_sampled) {
            let head = self.board.head().map(|head| head.sent);
            let first = news.sacked_sent.map_or(last, |(first, _)| first);
            // Only for data sent after the head: otherwise the timeout could be postponed endlessly.
            news.set_timer = head.is_some_and(|head| first < head);
        }
        if let Some(latest) = samples.latest {
            core.report_latest_rtt(time(latest), log);
        }
    }

    #[inline(always)]
    fn take_samples(&mut self, core: &mut Core, samples: Samples, log: &mut impl Log) -> bool {
        let (Some((rtt, sent)), Some(latest)) = (samples.rtt, samples.latest) else {
            return false;
        };
        let clock = core.config.rto.clock;
        let (tick, window) = (clock.count(core.now), min_rtt_window(clock));
        // Zero would be below every other value.
        let latest = if latest == 0 {
            clock.length(1).as_nanos() / 1000
        } else {
            latest
        };
        self.min_rtt.sample(tick, window, latest);
        core.take_micros(rtt, sent, log)
    }

    /// tcp_process_tlp_ack().
    fn judge_probe(&mut self, core: &mut Core, ack: Seq, news: &News, log: &mut impl Log) {
        let Some(Probe { high, is_resent }) = self.probe else {
            return;
        };
        if ack < high {
            return;
        }
        if !is_resent || news.dsack_of_probe {
            self.probe = None;
        } else if ack > high {
            // The probe has repaired a loss.
            self.begin_reduction(core, Author::Recovery, log);
            self.state = Ca::Cwr;
            self.end_reduction(core, log);
            self.keep_open();
        } else if !news.advanced && !news.sacked {
            self.probe = None;
        }
    }

    /// tcp_cong_control().
    #[inline(always)]
    fn control<const USUAL: bool>(
        &mut self,
        core: &mut Core,
        ack: Delivery,
        news: &News,
        log: &mut impl Log,
    ) {
        if core.has_foreign_controller() {
            core.path.window_limited = self.is_window_limited(core);
            self.show(core);
        }
        let in_reduction = !USUAL && self.in_reduction();
        let is_reducing = in_reduction && core.leaves_reductions();
        if core.controls() && !is_reducing {
            if news.before == 0 {
                core.grow(ack.delivered, log);
                core.open_control(self.inside(), log);
            } else {
                core.control(self.inside(), log);
            }
            core.update_pacing_rate(self.board.packets_out());
            return;
        }
        if in_reduction {
            self.reduce(core, ack, log);
            if is_reducing {
                core.pace_in_reduction();
            }
        } else {
            let counts_sacked = self.reordering > core.config.dup_threshold.into();
            let may_grow = news.advanced || counts_sacked && news.sacked;
            if news.before == 0 {
                core.grow_for_syn(ack.delivered, log);
            } else if may_grow {
                if self.is_window_limited(core) {
                    core.grow_at_once(ack.delivered, log);
                }
                // tcp_cong_avoid(), whether the window grows or not.
                self.stamp_window(core);
            }
        }
        core.update_pacing_rate(self.board.packets_out());
    }
}

/// The value of a millisecond clock.
fn millis(clock: Jiffies, at: Instant) -> u64 {
    let phase: Duration = clock.phase;
    (at.as_nanos() + phase.as_nanos()) / 1_000_000
}

/// tcp_ack_update_rtt(): the choice of the sample.
#[inline(always)]
fn measure(core: &Core, news: &News, acked_sent: Option<(Instant, Instant)>) -> Samples {
    let mut samples = Samples::default();
    let since = |sent| micros(sent, core.now);
    if let Some((first, last)) = acked_sent {
        samples.rtt = Some((since(first), first));
        samples.latest = Some(since(last));
    }
    if let Some((first, last)) = news.sacked_sent {
        samples.rtt = samples.rtt.or(Some((since(first), first)));
        samples.latest = Some(since(last));
    }
    if let (None, Some(echo), true) = (samples.rtt, news.echo, news.advanced) {
        // Timestamps count in milliseconds.
        let clock = core.config.rto.clock;
        let passed = millis(clock, core.now)
            .saturating_sub(millis(clock, echo))
            .max(1);
        samples.rtt = Some((passed * 1000, echo));
        samples.latest = Some(passed * 1000);
    }
    samples
}

/// Whether the ACK echoes an earlier timestamp (tcp_tsopt_ecr_before()).
pub(super) fn echoes_before(core: &Core, news: &News, when: Instant) -> bool {
    let clock = core.config.rto.clock;
    let before = |echo| millis(clock, echo) < millis(clock, when);
    news.echo.is_some_and(before)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use proptest::prelude::*;

    use super::*;
    use crate::recovery::LossRecovery;
    use crate::segment::SackBlocks;
    use crate::sender::RecoveryRequest;

    /// A sender with its first window in flight.
    fn opened() -> (Linux, Core) {
        let profile = crate::profile("linux").unwrap_or_else(|e| unreachable!("{e}"));
        let mut core = Core::new(&profile.sender, &profile.parts, []);
        let mut linux = Linux::default();
        core.open(Instant::ZERO, &mut ());
        linux.on_request(&core, RecoveryRequest::Again);
        assert_eq!(send(&mut linux, &mut core), [0]);
        core.held = false;
        let (syn, at) = (ack(1, &[], Instant::ZERO), Instant::from_nanos(20_000_000));
        assert!(core.begin_ack(at, &syn));
        linux.on_ack(&mut core, &syn, &mut ());
        assert_eq!(send(&mut linux, &mut core).len(), 10);
        (linux, core)
    }

    fn ack(ack: Seq, blocks: &[SackBlock], echo: Instant) -> Ack {
        let mut sack = SackBlocks::default();
        for &block in blocks {
            sack.push(ack, block);
        }
        Ack {
            ack,
            offset: 0,
            sack,
            echo: Some(echo),
            cause_sent: echo,
            option: AckOption::Nothing,
            window: NonZeroU32::new(3_000_000),
            stamp_ms: 0,
            extra_bytes: 0,
        }
    }

    fn send(linux: &mut Linux, core: &mut Core) -> Vec<Seq> {
        let next = || {
            let seq = linux.next_segment(core)?;
            Some(core.transmit(seq).seq)
        };
        std::iter::from_fn(next).collect()
    }

    /// What an ACK does that takes the fast path if it may.
    #[derive(Debug, PartialEq)]
    struct Taken {
        is_usual: bool,
        is_held_back: bool,
    }

    /// Takes an ACK, and checks that it does the same without the fast path.
    fn take(linux: &mut Linux, core: &mut Core, now: Instant, ack: &Ack) -> Option<Taken> {
        if !core.begin_ack(now, ack) {
            return None;
        }
        let (mut other, mut other_core) = (linux.clone(), core.clone());
        let is_usual = linux.is_usual(core, ack);
        linux.on_ack(core, ack, &mut ());
        let is_held_back = is_usual && !linux.sending.new;
        other.begin_event(true, &mut other_core, &mut ());
        other.take_unusual(&mut other_core, ack, &mut ());
        other.show(&mut other_core);
        let sent = send(linux, core);
        assert_eq!(sent, send(&mut other, &mut other_core));
        // A copy of a copy has its elements at the same places, and the same values where it has none.
        let state = |linux: &Linux, core: &Core| {
            let copy = (linux.clone(), core.clone());
            format!("{:?}", copy.clone())
        };
        assert_eq!(state(linux, core), state(&other, &other_core));
        Some(Taken {
            is_usual,
            is_held_back,
        })
    }

    /// Two segments for each ACK, at 100 Mbit/s.
    #[test]
    fn most_acks_of_a_long_flow_are_usual_and_most_of_those_send_nothing() {
        let (mut linux, mut core) = opened();
        let mut taken = Vec::new();
        for n in 0..2000 {
            let now = Instant::from_nanos(40_000_000 + 240_000 * n);
            let next = ack(core.books.una() + 2, &[], Instant::ZERO);
            taken.extend(take(&mut linux, &mut core, now, &next));
        }
        assert_eq!(taken.len(), 2000);
        assert!(taken.iter().all(|taken| taken.is_usual));
        let held_back = taken.iter().filter(|taken| taken.is_held_back).count();
        assert!(held_back > 1000, "{held_back}");
    }

    proptest! {
        /// ACKs of some segments, repeated or with a block above a gap, some after the timer has expired.
        #[test]
        fn a_usual_ack_does_what_it_does_without_the_fast_path(
            steps in prop::collection::vec((0_u64..8, 10_u64..4000, 0_u32..24), 1..150),
            end in prop::option::of(20_u64..600),
        ) {
            let (mut linux, mut core) = opened();
            if let Some(end) = end {
                core.set_end(end);
            }
            let mut now = Instant::from_nanos(40_000_000);
            for (by, gap_us, kind) in steps {
                let pause = if kind == 0 { 300_000 } else { 0 };
                now += Duration::from_micros(gap_us + pause);
                if core.timer_is_due(now) {
                    if let Some(slot) = core.take_slot(now) {
                        linux.on_slot(&mut core, slot, &mut ());
                    } else {
                        core.timer_expired(now, &mut ());
                        linux.on_timeout(&mut core, &mut ());
                    }
                    send(&mut linux, &mut core);
                }
                let (una, max) = (core.books.una(), core.books.max());
                let number = (una + by).min(max);
                let (left, right) = (number + 1, (number + 1 + by).min(max));
                let blocks = [SackBlock { left, right }];
                let has_block = kind == 1 && left < right;
                let echo = match core.books.first() {
                    Some(first) => first.sent(),
                    None => now,
                };
                let next = ack(number, if has_block { &blocks } else { &[] }, echo);
                take(&mut linux, &mut core, now, &next);
            }
        }
    }
}
