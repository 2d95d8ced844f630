//! Processing of an ACK: ranges of packet numbers (RFC 9002, A.7 and B.5).

use midflight_units::{Duration, Instant, Seq};
use smallvec::SmallVec;

use super::loss::probe_period;
use super::packets::{Fate, Packet};
use super::{tell, Quic};
use crate::event::{Author, Log, PathEvent, SenderEvent};
use crate::segment::{Ack, AckOption};
use crate::sender::Core;

/// The results of an ACK.
#[derive(Debug, Default)]
struct News {
    /// Segments that are acknowledged for the first time.
    segments: SmallVec<[Seq; 4]>,
    /// The packet with the highest number that is acknowledged for the first time.
    highest: Option<(u64, Packet)>,
    /// Newly acknowledged packets that count in the window and were sent after the last recovery began; whether any
    /// were sent since.
    grows: u64,
    ends_recovery: bool,
    any: bool,
    needless: u64,
}

impl Quic {
    /// Processes a packet of the receiver. The packets that it acknowledges were sent before any new address that it
    /// carries.
    pub(super) fn take_packet(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        if std::mem::take(&mut self.unreported) {
            core.report_window(log);
        }
        if ack.is_quic() {
            self.take_ack(core, ack, log);
        }
        match ack.option {
            AckOption::From(source) => self.hear_from(core, source, ack.bytes(), log),
            _ => self.path.count_received(ack.bytes()),
        }
    }

    fn take_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        let before = self.packets.in_flight();
        let news = self.acknowledge(ack);
        if !news.any {
            return;
        }
        tell(
            core,
            news.needless,
            SenderEvent::Path(PathEvent::Needless(news.needless)),
            log,
        );
        let was_open = core.books.una() > 0;
        let latest = self.take_sample(core, ack, &news, log);
        core.end_back_off(log);
        if core.held {
            core.follow_segments(core.books.una(), &news.segments);
        }
        self.advance(core, &news, log);
        if news.ends_recovery && self.recovering {
            self.recovering = false;
            log.record(core.now, SenderEvent::RecoveryExit);
        }
        let start = self.recovery_start;
        let lost = self.detect(core, news.highest.map(|(_, packet)| packet.sent));
        self.answer_losses(core, lost, log);
        if core.controls() {
            if was_open {
                self.control(core, (lost.counted, before), latest, log);
            }
        } else if news.grows > 0 && self.limited && self.recovery_start == start {
            core.grow_by(Author::Controller, news.grows, log);
        }
        let patience = probe_period(core) * 3;
        self.packets.forget(core.now.saturating_sub(patience));
    }

    /// Which packets are acknowledged for the first time.
    fn acknowledge(&mut self, ack: &Ack) -> News {
        let mut news = News::default();
        let next = self.packets.next();
        for range in ack.sack.iter(ack.ack) {
            let from = range.left.max(self.packets.first());
            for number in from..range.right.min(next) {
                let Some(packet) = self.packets.change(number, Fate::Acked) else {
                    continue;
                };
                self.note(number, packet, &mut news);
            }
        }
        news
    }

    fn note(&mut self, number: u64, packet: Packet, news: &mut News) {
        news.any = true;
        if news.highest.is_none_or(|(highest, _)| number > highest) {
            news.highest = Some((number, packet));
        }
        let since = |start: Instant| packet.sent > start;
        let is_since = self.recovery_start.is_none_or(since);
        news.ends_recovery |= is_since;
        news.grows += u64::from(packet.counts && is_since && packet.fate == Fate::InFlight);
        let Some(seq) = packet.seq else {
            return;
        };
        let is_repeated = packet.fate == Fate::Lost && !self.lost.remove(&seq);
        if self.acked.insert(seq) {
            news.segments.push(seq);
            news.needless += u64::from(is_repeated);
        }
    }

    /// SND.UNA becomes the first segment that is not acknowledged.
    fn advance(&mut self, core: &mut Core, news: &News, log: &mut impl Log) {
        let before = core.books.una();
        let mut una = before;
        // Entries below SND.UNA are no longer needed.
        self.acked = self.acked.split_off(&una);
        while self.acked.remove(&una) {
            una += 1;
        }
        if una == before {
            return;
        }
        core.advance(una, log);
        if before == 0 {
            // The handshake is over, and the initial window is set.
            core.grow(news.segments.len() as u64, log);
            if core.controls() {
                core.open_control(self.inside(), log);
            }
        }
    }

    /// RFC 9002 section 5: an RTT sample from the highest number, if it is acknowledged for the first time. Packets
    /// sent over another path give no sample (RFC 9000 section 9.4), unless the stack allows that (`old_samples`).
    fn take_sample(
        &mut self,
        core: &mut Core,
        ack: &Ack,
        news: &News,
        log: &mut impl Log,
    ) -> Option<Duration> {
        let largest = ack.sack.iter(ack.ack).map(|range| range.right).max();
        let (number, packet) = news.highest?;
        let is_of_path = packet.epoch == self.path.epoch || core.config.migration.old_samples;
        if largest != Some(number + 1) || !is_of_path {
            return None;
        }
        let latest = core.now.since(packet.sent);
        let delay = ack
            .echo
            .map_or(Duration::ZERO, |echo| echo.since(packet.sent));
        self.path.latest_rtt = latest;
        let min_rtt = *self.path.min_rtt.get_or_insert(latest);
        let min_rtt = min_rtt.min(latest);
        self.path.min_rtt = Some(min_rtt);
        self.first_sample.get_or_insert(core.now);
        let delay = delay.min(core.config.max_ack_delay);
        let adjusted = if latest >= min_rtt + delay {
            latest.saturating_sub(delay)
        } else {
            latest
        };
        core.report_latest_rtt(latest, log);
        core.take_rtt(adjusted, packet.sent, log);
        Some(latest)
    }
}
