//! The configuration of a link, and its observable state.

use std::borrow::Cow;

use midflight_units::{Duration, Rate};

use crate::config::NodeId;
use crate::cross::CrossTraffic;
use crate::impairment::Impairments;
use crate::queue::QueueConfig;
use crate::schedule::LinkSchedule;

/// Number of a link in its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(crate) u16);

impl LinkId {
    /// Position in the order in which links were added.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The parameters of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Name for traces and errors.
    pub name: Cow<'static, str>,
    /// Where it starts.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// Rate of the transmitter.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Maximum number of packets at the link, including the one in transmission; none for no limit.
    pub limit: Option<u32>,
    /// The timeline may take the link down.
    pub may_break: bool,
    /// The timeline may also bring it up again: then nothing enters it ahead of time.
    pub may_return: bool,
    /// Its impairments, at its far end.
    pub impairments: Impairments,
    /// Its cross traffic.
    pub cross: Option<CrossTraffic>,
    /// The settings that it may change to, after a pause or without one, numbered from 0.
    pub settings: Vec<LinkSetting>,
    /// The timeline may pause the link and change it.
    pub may_pause: bool,
    /// Packets handed to it are counted; see [`crate::World::link_counts`].
    pub counted: bool,
    /// Packets that enter it are reported to observers, as [`crate::Event::Entered`].
    pub tapped: bool,
    /// The node takes a random processing time for each packet before it transmits it.
    pub overhead: Option<Overhead>,
    /// Rate, delay and loss over time, instead of those above.
    pub schedule: Option<LinkSchedule>,
    /// The discipline of the queue, with its own limits; none for drop-tail.
    pub queue: Option<QueueConfig>,
}

/// Random processing time: each transmission takes longer by a time that is drawn uniformly from zero to
/// `most`. If flows share a drop-tail queue, a time of one packet there breaks the phase effect of
/// deterministic senders (Floyd and Jacobson 1991, "Traffic phase effects in packet-switched gateways").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// Maximum time.
    pub most: Duration,
    /// Seed of the random stream; see [`crate::random::seed`].
    pub seed: u64,
}

/// The state of a link at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// Packets at the link: the waiting ones, and the one in transmission.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rate of its transmitter in bit/s; if it sends at given instants, the rate of the last tenth of a
    /// second.
    pub bps: u64,
    /// Its propagation delay.
    pub delay: Duration,
    /// It is neither down nor paused.
    pub is_up: bool,
}

/// Counts of the packets handed to a link so far. Packets that a pause held are not counted twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// All packets.
    pub offered: u64,
    /// Packets for which its queue had no room.
    pub dropped_queue: u64,
}

impl LinkConfig {
    /// A link with only a queue, a transmitter and a delay.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        (from, to): (NodeId, NodeId),
        rate: Rate,
        delay: Duration,
        limit: Option<u32>,
    ) -> Self {
        Self {
            name: name.into(),
            from,
            to,
            rate,
            delay,
            limit,
            may_break: false,
            may_return: false,
            impairments: Impairments::default(),
            cross: None,
            settings: Vec::new(),
            may_pause: false,
            counted: false,
            tapped: false,
            overhead: None,
            schedule: None,
            queue: None,
        }
    }

    /// Whether it may affect packets at its far end.
    #[inline]
    pub(crate) fn impairs(&self) -> bool {
        let mut later = self.settings.iter();
        let by_schedule = |of: &LinkSchedule| of.schedule.loses();
        !self.impairments.is_none()
            || self.schedule.as_ref().is_some_and(by_schedule)
            || later.any(|setting| !setting.impairments.is_none())
    }

    /// Whether it has anything besides a queue, a transmitter and a delay.
    #[inline]
    pub(crate) fn is_special(&self) -> bool {
        self.entered_by_event() || self.impairs() || self.overhead.is_some()
    }

    /// Whether packets must not be handed to it ahead of the present.
    #[inline]
    pub(crate) fn entered_by_event(&self) -> bool {
        let is_managed = self.queue.is_some();
        is_managed
            || self.may_pause
            || self.may_return
            || self.counted
            || self.tapped
            || self.cross.is_some()
    }

    /// Whether outages of its schedule drop packets.
    pub(crate) fn drops(&self) -> bool {
        let schedule = self.schedule.as_ref();
        schedule.is_some_and(|of| of.schedule.drops())
    }

    /// The error in its impairments or the cross traffic, if any.
    #[cold]
    pub(crate) fn problem(&self) -> Option<&'static str> {
        if self.schedule.is_some() && !self.settings.is_empty() {
            return Some("it has a schedule, which no setting goes with");
        }
        if self.schedule.is_some() && self.overhead.is_some() {
            return Some("it has a schedule, which no random time over packets goes with");
        }
        if self.queue.is_some() && self.overhead.is_some() {
            return Some("its queue has a discipline, which no random time over packets goes with");
        }
        let later = self.settings.iter().map(|setting| &setting.impairments);
        let mut all = std::iter::once(&self.impairments).chain(later);
        let mut cross = self.cross_traffic();
        all.find_map(Impairments::problem)
            .or_else(|| cross.find_map(|(_, cross)| cross.problem()))
    }

    /// The cross traffic with the setting it belongs to; none for the traffic at the start.
    pub(crate) fn cross_traffic(
        &self,
    ) -> impl Iterator<Item = (Option<u16>, CrossTraffic)> + use<'_> {
        let later = self.settings.iter().map(|setting| setting.cross);
        let numbered = later.zip(0_u16..).map(|(cross, n)| (Some(n), cross));
        std::iter::once((None, self.cross))
            .chain(numbered)
            .filter_map(|(setting, cross)| Some((setting, cross?)))
    }
}

/// Parameters that apply after a paused link resumes with them, or after a change.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSetting {
    /// Rate of the transmitter.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Maximum number of packets at the link, including the one in transmission; none for no limit.
    pub limit: Option<u32>,
    /// Its impairments, at its far end.
    pub impairments: Impairments,
    /// Its cross traffic from then on.
    pub cross: Option<CrossTraffic>,
}
