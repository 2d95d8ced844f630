//! The cross traffic of links on the agenda.

use midflight_units::Instant;

use super::World;
use crate::agenda::Key;
use crate::cross::{ActiveCrossTraffic, CrossTraffic};
use crate::event::Observer;
use crate::link::{LinkConfig, LinkId};
use crate::moment::{Clock, Scheduled};
use crate::packet::Packet;

/// The cross traffic that belongs to a link's parameters at the start, or to a setting.
#[derive(Clone, Debug)]
pub(super) struct CrossSource {
    link: LinkId,
    setting: Option<u16>,
    traffic: CrossTraffic,
    /// The traffic, while the setting is in effect.
    crossing: Option<ActiveCrossTraffic>,
    /// How many times it has begun.
    begun: u64,
}

/// The sources of all links.
pub(super) fn sources(links: &[LinkConfig]) -> Vec<CrossSource> {
    let mut sources = Vec::new();
    for (link, number) in links.iter().zip(0..) {
        let source = |(setting, traffic)| CrossSource {
            link: LinkId(number),
            setting,
            traffic,
            crossing: None,
            begun: 0,
        };
        sources.extend(link.cross_traffic().map(source));
    }
    sources
}

impl<O: Observer> World<O> {
    /// The number of the first source of cross traffic.
    pub(super) fn first_cross(&self) -> usize {
        self.first_stack() + 2 * self.stacks.len()
    }

    /// Starts the cross traffic that is present from the beginning.
    pub(super) fn begin_cross_traffic(&mut self) {
        for number in 0..self.cross.len() {
            let source = &mut self.cross[number];
            if source.setting.is_none() {
                source.crossing = Some(ActiveCrossTraffic::new(source.traffic, Instant::ZERO, 0));
                source.begun = 1;
                self.sync_cross(number);
            }
        }
    }

    fn sync_cross(&mut self, number: usize) {
        let scheduled = Scheduled::alone(self.moment.fine);
        let key = match &self.cross[number].crossing {
            Some(crossing) => Key {
                due: match self.clock {
                    Clock::Seconds => crossing.due,
                    // In the lab, other hosts act at whole nanoseconds too.
                    Clock::Picoseconds => self.clock.written(crossing.due.at),
                },
                scheduled,
            },
            None => Key::NEVER,
        };
        let source = self.first_cross() + number;
        self.agenda.set_other(source, key);
    }

    /// A cross-traffic packet arrives at its link.
    #[cold]
    pub(super) fn cross(&mut self, number: usize) {
        let source = &mut self.cross[number];
        let link = source.link;
        if let Some(crossing) = &mut source.crossing {
            let bytes = crossing.bytes();
            crossing.advance();
            self.sync_cross(number);
            let to = self.links[link.index()].to;
            self.pass(link, Packet::of_others(to, bytes, self.moment.at));
        }
    }

    /// The cross traffic of a link follows a setting from now on; equal traffic continues.
    pub(super) fn change_cross_traffic(&mut self, link: LinkId, setting: u16) {
        let now = self.moment.at;
        let of_link = |source: &CrossSource| source.link == link;
        let mut running = None;
        for number in (0..self.cross.len())
            .filter(|&n| of_link(&self.cross[n]))
            .collect::<Vec<_>>()
        {
            running = self.cross[number].crossing.take().or(running);
            self.sync_cross(number);
        }
        let is_next = |source: &CrossSource| of_link(source) && source.setting == Some(setting);
        let Some(number) = self.cross.iter().position(is_next) else {
            return;
        };
        let source = &mut self.cross[number];
        let running = running.filter(|running: &ActiveCrossTraffic| running.is_as(&source.traffic));
        source.crossing = running.or_else(|| {
            source.begun += 1;
            Some(ActiveCrossTraffic::new(
                source.traffic,
                now,
                source.begun - 1,
            ))
        });
        self.sync_cross(number);
    }
}
