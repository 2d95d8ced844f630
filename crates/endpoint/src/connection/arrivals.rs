//! Processing of a segment from the peer: acceptability, its ACK, window and SACK blocks, and its
//! data (RFC 9293 section 3.10.7, RFC 5961).

use std::ops::Range;

use midflight_tcp::{
    Ack, AckOption, AckRules, ConfigError, Log, RecoveryKind, SackBlock, SackBlocks,
};
use midflight_units::{Duration, Instant};

use super::{Connection, Notification, Over, Refusal};
use crate::segment::Arrival;

impl Connection {
    /// A segment of the other side arrives. Returns the bytes of its data for which there is room; the
    /// caller keeps them until they are read. Some may have arrived before.
    ///
    /// # Errors
    /// [`ConfigError`] for a sender that needs an option that was not negotiated.
    pub fn on_segment<L: Log>(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        log: &mut L,
    ) -> Result<Range<u64>, ConfigError> {
        let is_asked = !self.connecting || self.syn_sent && self.answers(arrival);
        if self.over.is_some() || !is_asked {
            // RFC 9293 sections 3.10.7.1 and 3.10.7.3.
            let is_strange = self.over.is_some() || !self.is_of_syn(arrival.ack);
            let is_answered = is_strange && (arrival.ack.is_some() || self.over.is_some());
            self.refusal = Refusal::of(arrival).filter(|_| is_answered);
            let is_first = self.connecting && self.syn_sent && self.early.is_empty();
            if is_first && is_strange && arrival.ack.is_some() && self.recovers_as_linux() {
                self.sender.hasten_syn(now);
                self.hastened = Some(now);
            }
            return Ok(0..0);
        }
        if self.connecting {
            if arrival.rst {
                self.over = Some(Over::Refused);
                return Ok(0..0);
            }
            // A copy, in case the options cannot be agreed on.
            let mut agreed = self.clone();
            agreed.connecting = false;
            if arrival.ack.is_none() {
                // Both sides have sent a SYN; ours is retransmitted as a response (RFC 9293 section
                // 3.5).
                (agreed.opened, agreed.syn_sent) = (now, false);
                agreed.early.clear();
                agreed.note_crossed();
            }
            let answer = agreed.agree(now, arrival, log)?;
            *self = agreed;
            if let Some(number) = arrival.ack {
                self.note_heard(now);
                self.take_ack(now, arrival, number, log);
                self.lose_early_data(number, log);
                let option = self.answer.take().unwrap_or_default();
                if self.data_follows(number) {
                    // The data has the ACK (tcp_rcv_synsent_state_process()).
                    self.receiver.piggyback(now);
                } else {
                    self.acks.extend(answer.map(|ack| Ack { option, ..ack }));
                }
            }
            self.send_more(now, log);
            return Ok(0..0);
        }
        if self.asks_again(arrival)
            || self.check_request(now, arrival)
            || self.check_end(now, arrival)
        {
            return Ok(0..0);
        }
        let uncrossed = self.uncrossed(arrival);
        let arrival = uncrossed.as_ref().unwrap_or(arrival);
        if !self.is_acceptable(arrival) {
            self.reject(now, arrival);
            return Ok(0..0);
        }
        if arrival.rst {
            // RFC 5961 section 3.2.
            if arrival.from == self.receiver.next() || self.is_exact_reset(arrival.from) {
                self.over = Some(Over::Reset);
            } else {
                self.challenge(now, arrival);
            }
            return Ok(0..0);
        }
        let sent = self.stream.byte_of(self.sender.view().snd_max);
        if arrival.ack.is_some_and(|ack| ack > sent + (1 << 31)) && self.is_of_linux() {
            // Before everything that was ever sent.
            self.challenge(now, arrival);
            return Ok(0..0);
        }
        let Some(ack) = arrival.ack.filter(|&ack| !arrival.syn && ack <= sent) else {
            // RFC 5961 section 4.2 for a SYN, RFC 9293 section 3.10.7.4 for an ACK of data that was
            // never sent. A segment without an ACK is dropped.
            if arrival.syn || arrival.ack.is_some() && !self.ignores_future() {
                self.challenge(now, arrival);
            }
            return Ok(0..0);
        };
        if self.is_too_old(ack) {
            self.challenge(now, arrival);
            return Ok(0..0);
        }
        let next = self.receiver.next();
        // tcp_rcv_state_process(), TCP_CLOSE_WAIT: data after the FIN.
        let is_late = self.is_of_linux() && self.has_ended() && arrival.to > next;
        let is_shut = self.shut && self.stream.is_closed() && self.is_of_linux();
        let is_shut = is_shut || is_late && arrival.from < next;
        if (self.deaf || is_shut) && arrival.to > self.receiver.next().max(arrival.from) {
            // RFC 1122 section 4.2.2.13: data has arrived that the application will not read.
            self.over = Some(if self.deaf {
                Over::Aborted
            } else {
                Over::Reset
            });
            self.refusal = Refusal::of(arrival);
            return Ok(0..0);
        }
        let una = self.sender.view().snd_una;
        self.note_heard(now);
        self.stream.more &= self.is_predicted(arrival, ack);
        self.take_ack(now, arrival, ack, log);
        self.end_early_open(now, log);
        let is_answered = self.sender.view().snd_una > una || arrival.end() == arrival.from;
        let kept = if is_late {
            0..0
        } else {
            self.take_data(now, arrival)
        };
        if uncrossed.is_some() {
            self.report_syn();
        }
        self.note_answers(now, is_answered);
        self.stream.forget_before(self.sender.view().snd_una);
        self.fill_window(None);
        self.end_lost_probe(now, log);
        self.send_more(now, log);
        let first = self.closes_first && self.is_closed_both_ways();
        if first {
            self.closes_first = false;
            self.time_wait(now);
        }
        self.note_end(now, first);
        self.end_half_closed(Some(arrival));
        Ok(kept)
    }

    /// Whether a segment has the next data and says nothing else, after which nothing is sent (the fast path of
    /// tcp_rcv_established()).
    fn is_predicted(&self, arrival: &Arrival, ack: u64) -> bool {
        let is_next = arrival.to > arrival.from && arrival.from == self.receiver.next();
        let says_more = arrival.fin || ack > self.acknowledged() || !arrival.sack.is_empty();
        is_next && !says_more && arrival.window << self.shift == self.window
    }

    /// tcp_reset_check() and tcp_validate_incoming(): an RST counts also with the number of a FIN that arrived before, and
    /// with that of the end of what arrived last.
    fn is_exact_reset(&self, from: u64) -> bool {
        let after_fin = self.has_ended() && from + 1 == self.receiver.next();
        let above = self.receiver.highest();
        let is_above = self.sack && above > self.receiver.next() && from == above;
        self.is_of_linux() && (after_fin || is_above)
    }

    /// An ACK is older than the largest window of the other side (tcp_ack(), RFC 5961 section 5.2).
    fn is_too_old(&self, ack: u64) -> bool {
        let una = self.acknowledged();
        let most = self.largest_window.min(una.saturating_sub(1));
        self.is_of_linux() && self.is_established() && ack < una.saturating_sub(most)
    }

    /// tcp_ack() and tcp_rcv_established(): an open connection ignores an ACK of what was never sent.
    fn ignores_future(&self) -> bool {
        self.is_of_linux() && !self.stream.is_closed()
    }

    /// The SYN of the other side has arrived twice (tcp_data_queue()).
    fn report_syn(&mut self) {
        let mut ack = self.receiver.acknowledge_again();
        if self.sack {
            ack.sack.push(ack.ack, SackBlock { left: 0, right: 1 });
        }
        self.acks.push_back(ack);
    }

    /// Whether a segment of an open connection is in the window (RFC 9293 section 3.10.7.4) and is not
    /// an old duplicate (RFC 7323 sections 3.2 and 5.3).
    fn is_acceptable(&self, arrival: &Arrival) -> bool {
        let next = self.receiver.next();
        let edge = self.receive_edge().max(next);
        let (from, end) = (arrival.from, arrival.end());
        let is_current = match arrival.timestamp {
            _ if !self.timestamps || arrival.rst => true,
            Some(_) if self.is_of_linux() => !self.is_old(arrival),
            Some(_) => arrival.stamp() >= self.receiver.ts_recent(),
            // RFC 7323 section 3.2 requires to drop it; Linux accepts it.
            None => self.is_of_linux(),
        };
        let in_window = if end > from {
            from == next || from < edge && end > next
        } else {
            // tcp_sequence() counts from what has been acknowledged.
            let first = if self.is_of_linux() {
                self.validity.acknowledged.clamp(1, next)
            } else {
                next
            };
            (first..=edge).contains(&from)
        };
        in_window && is_current
    }

    /// tcp_paws_discard(): a timestamp may be lower by one, and that of a duplicate ACK by little more than a timeout
    /// (tcp_disordered_ack()).
    fn is_old(&self, arrival: &Arrival) -> bool {
        let (stamp, recent) = (
            arrival.stamp().as_nanos(),
            self.receiver.ts_recent().as_nanos(),
        );
        let behind = recent.saturating_sub(stamp);
        let next = self.receiver.next();
        let is_bare = arrival.from == next && arrival.end() == next;
        let una = self.stream.byte_of(self.sender.view().snd_una);
        let scaled = arrival.window << self.shift;
        // tcp_may_update_window().
        let updates = arrival.from > self.window_from.0 || scaled > self.window || scaled == 0;
        let is_duplicate = is_bare && arrival.ack == Some(una) && !updates;
        let patience = self.sender.view().rto.as_nanos() / 1_000_000 * 6 / 5;
        behind > 1 && !(is_duplicate && behind <= patience)
    }

    /// Responds to an unacceptable segment with an ACK, which reports a duplicate.
    fn reject(&mut self, now: Instant, arrival: &Arrival) {
        let (left, right) = (arrival.from, arrival.end());
        if arrival.rst || self.timestamps && arrival.timestamp.is_none() && !self.is_of_linux() {
            return;
        }
        if arrival.syn && self.is_of_linux() {
            return self.challenge(now, arrival);
        }
        if !self.may_answer(now, arrival, false) {
            return;
        }
        if right > left && right <= self.receiver.next() && left > 0 {
            let block = SackBlock { left, right };
            let ack = self
                .receiver
                .on_block(now, block, Instant::ZERO, false, true);
            self.acks.extend(ack);
        } else {
            self.acknowledge_again();
        }
        // The last ACK was lost (RFC 9293 section 3.10.7.4, TIME-WAIT).
        if arrival.fin && self.time_wait_until.is_some() {
            self.time_wait(now);
        }
    }

    fn time_wait(&mut self, now: Instant) {
        let long = self.settings.time_wait > Duration::ZERO;
        self.time_wait_until = long.then(|| now + self.settings.time_wait);
    }

    /// Whether its sender has the recovery of Linux.
    pub(super) fn recovers_as_linux(&self) -> bool {
        self.settings.built.profile.sender.recovery == RecoveryKind::Linux
    }

    /// Whether its ACKs follow the Linux rules.
    pub fn is_of_linux(&self) -> bool {
        let acks = self.settings.built.profile.receiver.acks;
        matches!(acks, AckRules::Linux { .. })
    }

    fn take_ack<L: Log>(&mut self, now: Instant, arrival: &Arrival, number: u64, log: &mut L) {
        let ack = self.stream.ended_by(number);
        let before = self.sender.view();
        let sent = self.stream.byte_of(before.snd_max);
        let mut sack = SackBlocks::default();
        for &(left, right) in arrival.sack.iter().filter(|_| self.sack) {
            let block = self.stream.within(left, right);
            if let Some((left, right)) = block.filter(|_| right <= sent) {
                sack.push(ack, SackBlock { left, right });
            }
        }
        let advances_within = number > self.una && number > self.stream.byte_of(ack);
        self.una = self.una.max(number);
        self.end_arrived_probe(now, number, log);
        let was_shut = self.sender.has_zero_window();
        let (window, edge) = (self.window, self.edge);
        let moved = before.snd_una <= ack && self.take_window(arrival, number);
        if self.edge != edge && self.is_established() {
            self.follow_edge();
        }
        let shuts = self.is_shut(before.snd_una.max(ack));
        // The sender handles a window that closes or opens again.
        let opens = was_shut && !shuts;
        if self.window != window && !opens {
            self.end_idle(now, log);
        }
        // RFC 5681 section 2: a duplicate carries no data and no FIN, and does not change the window.
        let counts = self.sender.config().count_window_updates;
        let congested = self.congestion.agreed && arrival.ece && !arrival.syn;
        let is_no_duplicate = moved && !counts || arrival.end() > arrival.from;
        let is_update = ack == before.snd_una
            && (is_no_duplicate || advances_within)
            && sack.is_empty()
            && arrival.option == AckOption::Nothing
            && !congested
            && !shuts
            && !was_shut;
        self.limit(now, before.snd_una.max(ack), log);
        if !is_update {
            let echo = arrival.echo.filter(|_| self.timestamps);
            let ssthresh = before.ssthresh;
            let ack = Ack {
                ack,
                sack,
                echo,
                cause_sent: echo.unwrap_or(self.opened),
                offset: 0,
                option: match (shuts, congested) {
                    (true, _) => AckOption::ZeroWindow,
                    (false, true) if is_no_duplicate => AckOption::CongestedUpdate,
                    (false, true) => AckOption::Congested,
                    (false, false) => arrival.option,
                },
                window: None,
                stamp_ms: 0,
                extra_bytes: 0,
            };
            self.sender.on_ack(now, &ack, log);
            if shuts {
                self.sender.await_zero_window(now);
            }
            self.answer_window_probes();
            let view = self.sender.view();
            if view.ssthresh < ssthresh && (congested || view.in_fast_recovery) {
                self.congestion.reduced = self.congestion.agreed;
            }
        }
    }

    pub(super) fn take_data(&mut self, now: Instant, arrival: &Arrival) -> Range<u64> {
        let Arrival { from, to, .. } = *arrival;
        let last = self.end.unwrap_or(u64::MAX);
        let edge = if self.settings.receive_space.is_some() {
            // tcp_data_queue() takes all or nothing.
            u64::MAX
        } else {
            self.receive_edge()
        };
        let mut kept = to.min(edge).min(last);
        let known_end = self.end;
        if arrival.fin && kept == to {
            self.end = Some(to);
        }
        let is_mark = self.take_marks(arrival);
        self.take_urgent(arrival);
        // The FIN needs no room.
        let end = self.end.filter(|&end| end == kept && arrival.fin);
        let response = arrival.request.and_then(|request| request.response());
        let at_once = response.is_some() || is_mark;
        let (stamp, push) = (arrival.stamp(), arrival.push);
        self.receiver
            .note_echo(arrival.echo.filter(|_| self.timestamps));
        let block = SackBlock {
            left: from,
            right: kept,
        };
        let ack = match end {
            Some(end) => self.receiver.on_end(now, (from, end), stamp, push),
            None if kept > from => self.receiver.on_block(now, block, stamp, push, at_once),
            None => {
                self.receiver.on_bare(now, from, stamp);
                if arrival.end() > from {
                    // There is no room for any of its data.
                    self.acknowledge_again();
                }
                None
            }
        };
        let reaches = kept + u64::from(end.is_some());
        if reaches > from && !self.receiver.has(reaches - 1) {
            // It was dropped, for lack of a window or of memory.
            (self.end, kept) = (known_end, from);
        }
        // tcp_fin(): after our FIN the other one is acknowledged at once.
        let is_last = ack.is_none() && self.has_ended() && self.stream.is_closed();
        if is_last && arrival.end() > from && self.is_of_linux() {
            self.acknowledge_again();
        }
        self.acks.extend(ack.map(|ack| Ack {
            option: response.map_or(ack.option, AckOption::Approved),
            ..ack
        }));
        from..kept.max(from)
    }
}

impl Connection {
    /// Processes CE marks on arriving segments, and the response to our echo (RFC 3168 section 6.1.3);
    /// returns whether the ACK must not be delayed.
    fn take_marks(&mut self, arrival: &Arrival) -> bool {
        let Notification { agreed, echoes, .. } = self.congestion;
        if !agreed {
            return false;
        }
        if arrival.cwr {
            self.congestion.echoes = false;
        }
        let is_mark = arrival.congested && arrival.to > arrival.from;
        self.congestion.echoes |= is_mark;
        arrival.cwr || is_mark && !echoes
    }
}
