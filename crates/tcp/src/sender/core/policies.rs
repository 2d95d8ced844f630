//! Calls of the handoff policies, at each event in which they are interested.

use midflight_control::loss::LossCause;
use midflight_control::policy::Policy;
use midflight_control::{AckNews, Advice, Interests, Notice, Orders, SenderView, StartNotice};
use midflight_units::{Instant, Seq};
use smallvec::SmallVec;

use super::orders::Applied;
use super::Core;
use crate::event::Log;
use crate::segment::{Ack, AckOption};
use crate::state::Trigger;

/// The events that are for policies only.
const OF_POLICIES: [Interests; 7] = [
    Interests::START,
    Interests::ACKS,
    Interests::MARKS,
    Interests::UNNEEDED,
    Interests::RATES,
    Interests::CONTROL,
    Interests::ADVICE,
];

/// The SACK blocks of an ACK, and the segment that it reports as duplicate: the first block, if it is
/// below the ACK or within the second (RFC 2883 section 4). Ranges of packet numbers are neither.
pub(super) fn sack_and_dsack(ack: &Ack) -> (SmallVec<[(Seq, Seq); 4]>, Option<Seq>) {
    if ack.sack.is_empty() || ack.is_quic() {
        return (SmallVec::new(), None);
    }
    let mut blocks: SmallVec<[(Seq, Seq); 4]> =
        ack.sack.iter(ack.ack).map(|b| (b.left, b.right)).collect();
    let dsack = match blocks[..] {
        [(left, _), ..] if left < ack.ack => Some(left),
        [(left, right), second, ..] if second.0 <= left && right <= second.1 => Some(left),
        _ => None,
    };
    if dsack.is_some() {
        blocks.remove(0);
    }
    (blocks, dsack)
}

impl Core {
    /// Calls each policy, or each that is interested in `of`, and applies its orders before it calls the
    /// next one.
    pub(super) fn ask(
        &mut self,
        of: Option<Interests>,
        log: &mut impl Log,
        mut ask: impl FnMut(&mut Policy, &SenderView) -> Orders,
    ) -> Applied {
        let mut applied = Applied::default();
        for i in 0..self.policies.len() {
            if of.is_some_and(|of| !self.policies[i].interests().includes(of)) {
                continue;
            }
            let view = self.view();
            let orders = ask(&mut self.policies[i], &view);
            applied |= self.apply(self.policies[i].info().name, &orders, log);
        }
        self.note_policies();
        applied
    }

    /// Updates in which events the policies are interested.
    pub(super) fn note_policies(&mut self) {
        let others = OF_POLICIES
            .into_iter()
            .fold(self.interests, Interests::without);
        let all_interests = self.policies.iter().map(|policy| policy.interests());
        self.interests = all_interests.fold(others, |all, one| all | one);
        self.begin_to_follow();
    }

    /// Passes the notice to every policy; returns whether any order was applied, or a train ended.
    pub(crate) fn consult_notice(
        &mut self,
        now: Instant,
        notice: &Notice,
        log: &mut impl Log,
    ) -> bool {
        self.now = now;
        self.path.rtt_sampled = false;
        let mut applied = self.interrupt_train();
        applied |= self.ask(None, log, |p, view| p.on_notice(notice, view)).any;
        if self.unneeded.is_some() {
            applied |= self.consult_unneeded(log);
        }
        applied
    }

    /// Passes throughput advice to the policies that use it; returns whether any order was applied.
    pub(crate) fn consult_advice(
        &mut self,
        now: Instant,
        advice: Advice,
        log: &mut impl Log,
    ) -> bool {
        self.now = now;
        let lowest = self.advice.get_or_insert_default().take(advice, now);
        let of = Some(Interests::ADVICE);
        self.ask(of, log, |p, view| p.on_advice(&lowest, view)).any
    }

    /// Passes the notice at the start of the connection to the policies that use it.
    pub(crate) fn consult_start(&mut self, now: Instant, notice: &StartNotice, log: &mut impl Log) {
        self.now = now;
        self.ask(Some(Interests::START), log, |p, view| {
            p.on_start(notice, view)
        });
    }

    /// Whether a part is called after each ACK.
    #[inline(always)]
    pub(crate) fn asks_parts(&self) -> bool {
        // One test for both: usually no part is interested.
        self.interests
            .includes(Interests::RETRANSMISSIONS | Interests::ACKS)
    }

    /// Notifies the interested parts of an ACK that has been processed; `standing` is the sender's state
    /// before it. It is `special` if it has more content than its numbers, or if the fast path was off.
    #[inline(always)]
    pub(crate) fn consult_after_ack(
        &mut self,
        ack: &Ack,
        standing: (Seq, Seq),
        special: bool,
        log: &mut impl Log,
    ) {
        if special || self.asks_parts() {
            self.consult_waiting(ack, standing, special, log);
        }
    }

    #[cold]
    fn consult_waiting(
        &mut self,
        ack: &Ack,
        (una, max): (Seq, Seq),
        special: bool,
        log: &mut impl Log,
    ) {
        let (blocks, dsack) = sack_and_dsack(ack);
        self.take_rate(0, max - una, None);
        let news = AckNews {
            ack: ack.ack,
            una_before: una,
            in_flight_before: max - una,
            advanced: self.books.una() - una,
            duplicate: ack.ack == una
                && una < max
                && !matches!(ack.option, AckOption::Partial { .. }),
            echo: ack.echo,
            blocks: &blocks,
            dsack,
            mark: match ack.option {
                AckOption::Moved(mark) => Some(mark),
                _ => None,
            },
            rate: self.rate,
        };
        if self.config.pacing && !self.config.recovery.about().asks_for_bursts {
            self.update_pacing_rate(max - una);
        }
        if special {
            self.consult_mark(&news, log);
            self.consult_report(ack, log);
            self.consult_rate(ack, una, log);
            self.release(ack);
        }
        if self.interests.includes(Interests::RETRANSMISSIONS) {
            self.consult_detector(&news, log);
        }
        if self.interests.includes(Interests::ACKS) {
            let state = self.state();
            self.ask(Some(Interests::ACKS), log, |p, view| p.on_ack(&news, view));
            // An earlier report may take effect at an ACK that changes nothing itself.
            if ack.ack <= una && self.state() != state {
                self.noted.get_or_insert(Trigger::Report);
            }
        }
    }

    /// Passes a handoff mark to the policies that use marks, unless the ACK is old.
    fn consult_mark(&mut self, ack: &AckNews, log: &mut impl Log) {
        if ack.mark.is_some() && ack.ack >= ack.una_before && ack.una_before > 0 {
            let state = self.state();
            self.ask(Some(Interests::MARKS), log, |p, view| p.on_mark(ack, view));
            if self.state() != state {
                self.noted.get_or_insert(Trigger::Mark);
            }
        }
    }

    /// Called after the sender has gone back; `before` is its state when the timer expired.
    pub(crate) fn consult_timeout(&mut self, before: &SenderView, log: &mut impl Log) {
        self.classifier.on_timeout(before);
        self.rate_timed_out(log);
        // After a lost SYN no earlier segment could show that the timeout was spurious.
        if self.books.una() > 0 {
            let orders = self.detector.on_timeout(before);
            self.apply(self.detector.info().name, &orders, log);
            self.begin_watch(before, true);
            self.note_detecting();
        }
        if self
            .first_timeout
            .is_none_or(|(seq, _)| seq != self.books.una())
        {
            self.first_timeout = Some((self.books.una(), self.ssthresh()));
        }
        self.ask(None, log, |p, view| p.on_timeout(before, view));
    }

    /// Calls classifier and policies on entering fast recovery, with `pipe` already set; returns whether
    /// the window must not change.
    pub(crate) fn consult_recovery(&mut self, log: &mut impl Log) -> bool {
        self.end_train();
        let view = self.view();
        let wireless = self.judge(&view, log) == LossCause::Wireless;
        self.flight_before = self.response.flight_before();
        self.dup_threshold = self.response.dup_threshold(&view);
        self.end_duplicates();
        // The detector gives up here, and no other part would end its probe.
        self.probe = None;
        self.detector.on_fast_retransmit(&view);
        self.begin_watch(&view, false);
        self.note_detecting();
        let applied = self.ask(None, log, |p, view| p.on_recovery(view));
        wireless || applied.keep_window
    }
}
