//! A link that pauses and resumes, possibly with other parameters.

use super::{Link, Transit};
use crate::agenda::Key;
use crate::announcement::{Announcement, What};
use crate::config::WorldError;
use crate::moment::{Clock, FineTime, Moment, Scheduled};
use crate::packet::Packet;

impl Link {
    /// Returns an error if the link cannot be changed without a pause.
    pub(crate) fn check_change(&self, setting: u16, name: &str) -> Result<(), WorldError> {
        self.check_resume(Some(setting), name)?;
        match self.special.as_deref() {
            // Waiting packets would lose their drawn processing time.
            Some(special) if special.overhead.is_some() => Err(WorldError::UnpausableLink {
                link: name.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// Returns an error if the link cannot pause and resume with a setting.
    pub(crate) fn check_resume(&self, setting: Option<u16>, name: &str) -> Result<(), WorldError> {
        let link = name.to_string();
        let Some(special) = self.special.as_deref().filter(|s| s.may_pause) else {
            return Err(WorldError::UnpausableLink { link });
        };
        let settings = special.settings.len();
        match setting {
            Some(setting) if usize::from(setting) >= settings => Err(WorldError::UnknownSetting {
                link,
                setting,
                settings,
            }),
            _ => Ok(()),
        }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.special.as_deref().is_some_and(|s| s.paused)
    }

    /// Holds from `now` on the packets on their way to the far end; late packets are ordered with the others
    /// as they would have arrived.
    pub(crate) fn pause(&mut self, now: FineTime, late: &[Announcement]) {
        let Some(special) = self.special.as_deref_mut() else {
            return;
        };
        let clock = self.clock;
        let key = |t: &Transit| Key {
            due: clock.moment(t.passage.arrive),
            scheduled: t.passage.start,
        };
        let mut due: Vec<(Key, Packet)> = self.ring.iter().map(|t| (key(t), t.packet)).collect();
        let next = due.first().map_or(Key::NEVER, |&(key, _)| key);
        for announcement in late {
            let swapped = announcement.what == What::Swapped;
            let key = if swapped {
                announcement.key.min(next)
            } else {
                announcement.key
            };
            due.push((key, announcement.packet));
        }
        // A stable sort: a packet that follows another stays behind it.
        due.sort_by_key(|&(key, _)| key);
        let waits = |t: &&Transit| t.passage.start.at >= now;
        special.waiting = self.ring.iter().filter(waits).count();
        special
            .held
            .extend(due.into_iter().map(|(_, packet)| packet));
        special.swapping = false;
        if let Some((_, delay)) = special.holds_back.take() {
            self.fine_delay = delay;
        }
        special.paused = true;
        self.closed = true;
        self.ring.clear();
        self.entries.clear();
    }

    /// With a schedule the next packet arrives after the last one that is still on the link.
    fn follow_the_last(&mut self) {
        let last = self.ring.last().map(|transit| transit.passage.arrive);
        if let Some(following) = self.following.as_deref_mut() {
            following.look_again();
            let free_at = self.free_at;
            self.fine_delay = last.map_or(0.0, |last| last.minus(free_at));
        }
    }

    /// Sends the held packets, as if handed to it at `now` while it is idle. Calls `lose` with each packet if
    /// the link went down.
    pub(crate) fn resume(
        &mut self,
        now: Moment,
        scheduled: Scheduled,
        setting: Option<u16>,
        mut lose: impl FnMut(Packet),
    ) {
        let Some(special) = self.special.as_deref_mut() else {
            return;
        };
        special.paused = false;
        self.closed = self.down || special.is_closed();
        let mut held = std::mem::take(&mut special.held);
        if let Some(setting) = setting.and_then(|setting| special.enter(setting, now.at)) {
            self.tune(setting.rate, setting.delay, setting.limit);
        }
        self.free_at = now.fine;
        self.follow_the_last();
        let room = std::mem::replace(&mut self.room, usize::MAX);
        for packet in held.drain(..) {
            if self.down {
                lose(packet);
            } else if let Some(passage) = self.offer(now.fine, scheduled, packet.bytes) {
                self.carry(now.fine, passage, packet);
            }
        }
        self.room = room;
        if let Some(special) = self.special.as_deref_mut() {
            // To reuse its buffer.
            special.held = held;
        }
    }

    /// Changes parameters at `now` without a pause. Packets that wait for transmission are sent with the new
    /// ones; packets that have started before arrive as they would have, and no later ones before them: a
    /// link is first in, first out.
    pub(crate) fn change(&mut self, now: Moment, setting: u16) {
        let Some(special) = self.special.as_deref_mut() else {
            return;
        };
        let Some(setting) = special.enter(setting, now.at) else {
            return;
        };
        // As before a pause: a transmission that would start at this very instant has not started.
        let has_begun = |t: &&Transit| t.passage.start.at < now.fine;
        let begun = self.ring.iter().take_while(has_begun).count();
        let waiting = self.unsent(begun);
        if let Some((first, _)) = waiting.first() {
            let start = first.passage.start;
            self.free_at = start.at;
            self.newest_start = (start.by, start.before);
        }
        self.tune(setting.rate, setting.delay, setting.limit);
        let last = begun.checked_sub(1).and_then(|last| self.ring.get(last));
        let last = last.map(|transit| transit.passage.arrive);
        if let Some(special) = self.special.as_deref_mut() {
            special.holds_back = last.map(|last| (last, self.fine_delay));
            self.closed = self.down || special.is_closed();
        }
        self.send_anew(now.fine, waiting);
    }

    /// Removes the packets behind the first `begun` from the link, each with its entry time if that is
    /// recorded.
    fn unsent(&mut self, begun: usize) -> Vec<(Transit, Option<FineTime>)> {
        let entries = self.entries.iter().copied().map(Some);
        let entries = entries.chain(std::iter::repeat(None));
        let unsent = self.ring.iter().copied().zip(entries).skip(begun);
        let unsent = unsent.collect();
        self.ring.truncate(begun);
        self.entries.truncate(begun);
        unsent
    }

    /// Queues packets that [`Self::unsent`] removed again at `now`. They had room before.
    fn send_anew(&mut self, now: FineTime, packets: Vec<(Transit, Option<FineTime>)>) {
        let room = std::mem::replace(&mut self.room, usize::MAX);
        for (transit, enter) in packets {
            let bytes = transit.packet.bytes;
            self.hold_back(now, bytes);
            let scheduled = Scheduled::alone(transit.passage.start.by);
            if let Some(passage) = self.offer(now, scheduled, bytes) {
                self.carry(enter.unwrap_or(now), passage, transit.packet);
            }
        }
        self.room = room;
    }

    /// Removes and returns the packets for which `is_gone` is true. The others move up: a transmission that
    /// is cut short leaves the transmitter free.
    pub(crate) fn purge(
        &mut self,
        now: FineTime,
        mut is_gone: impl FnMut(&Packet) -> bool,
    ) -> Vec<Packet> {
        let mut gone = Vec::new();
        if let Some(special) = self.special.as_deref_mut() {
            // Packets that had been transmitted before the pause come first.
            let mut sent = special.held.len().saturating_sub(special.waiting);
            special.held.retain(|packet| {
                let had_gone_out = sent > 0;
                sent -= usize::from(had_gone_out);
                let is_gone = is_gone(packet);
                if is_gone {
                    special.waiting -= usize::from(!had_gone_out);
                    gone.push(*packet);
                }
                !is_gone
            });
        }
        if self.passes_on() {
            // A link in a chain keeps no packets, and packets that await their event have been transmitted.
            let on_the_way = self.unsent(0);
            for (transit, enter) in on_the_way {
                if is_gone(&transit.packet) {
                    gone.push(transit.packet);
                } else {
                    self.carry(enter.unwrap_or(now), transit.passage, transit.packet);
                }
            }
            return gone;
        }
        let on_the_way = self.unsent(0);
        let has_begun = |t: &Transit| t.passage.start.at < now;
        let begun = on_the_way.iter().take_while(|(t, _)| has_begun(t)).count();
        let mut waiting = Vec::new();
        let mut is_cut_short = false;
        if let Some((first, _)) = on_the_way.get(begun) {
            let start = first.passage.start;
            self.free_at = start.at;
            self.newest_start = (start.by, start.before);
        }
        for (number, (transit, enter)) in on_the_way.into_iter().enumerate() {
            if is_gone(&transit.packet) {
                gone.push(transit.packet);
                is_cut_short |= number + 1 == begun;
            } else if number < begun {
                self.carry(enter.unwrap_or(now), transit.passage, transit.packet);
            } else {
                waiting.push((transit, enter));
            }
        }
        if is_cut_short || begun == 0 {
            self.free_at = self.free_at.min(now);
        }
        #[cfg(debug_assertions)]
        {
            self.newest_entry = self.newest_entry.min(now);
        }
        // Waiting packets come after those in transit.
        let at = self.clock.moment(now).at;
        if let Some(queue) = self.discipline() {
            gone.extend(queue.take(at, &mut is_gone));
        }
        self.hold_back_behind_the_rest();
        self.follow_the_last();
        self.send_anew(now, waiting);
        gone
    }

    /// After a change to less delay: [`Self::hold_back`] keeps only the order with packets that are still on
    /// the link.
    fn hold_back_behind_the_rest(&mut self) {
        let last = self.ring.last().map(|transit| transit.passage.arrive);
        let Some(special) = self.special.as_deref_mut() else {
            return;
        };
        let Some((_, delay)) = special.holds_back.take() else {
            return;
        };
        if let Some(last) = last {
            special.holds_back = Some((last, delay));
        } else {
            self.fine_delay = delay;
        }
        self.closed = self.down || special.is_closed();
    }

    /// After a change to less delay: a packet that enters at `enter` arrives behind those that were in
    /// transit.
    pub(super) fn hold_back(&mut self, enter: FineTime, bytes: u32) {
        let Some(special) = self.special.as_deref_mut() else {
            return;
        };
        let Some((mut last, delay)) = special.holds_back else {
            return;
        };
        if self.clock == Clock::Picoseconds {
            // Only packets on the link count. With the clock in seconds, packets without room also count, by
            // a nanosecond each.
            let newest = self.ring.last().map(|transit| transit.passage.arrive);
            last = newest.unwrap_or(FineTime::ZERO);
        }
        let behind = self.clock.nanosecond();
        let start = self.free_at.max(enter);
        if last.minus(start) + behind <= delay {
            // Not even the smallest packet would overtake.
            self.fine_delay = delay;
            special.holds_back = None;
            self.closed = self.down || special.is_closed();
            return;
        }
        let sent = start.plus(self.clock.transmission(bytes, self.rate));
        self.fine_delay = delay.max(last.minus(sent) + behind);
        special.holds_back = Some((sent.plus(self.fine_delay), delay));
    }
}
