//! A connection that is split at a node: one half towards the sender, which the node acknowledges itself, and one half
//! towards the receiver, with its own sender and window. Both halves use the TCP of the flow's profile.
//!
//! Acknowledged data may not have arrived yet: it is in the node's buffer. The node advertises the free room there as
//! its window, and sends an update when half of the buffer has become free. At a handoff the state moves to the next
//! station; the packets of the flow wait during the transfer, and then the node's sender continues in slow start
//! without waiting for its timer (`immediate-expiry`). Otherwise the state is lost with the buffer contents, which are
//! never retransmitted.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::num::NonZeroU32;

use midflight_control::policy::Policy;
use midflight_control::{LinkInfo, Notice};
use midflight_tcp::{
    Ack, AckOption, Content, InitialWindow, Receiver, ReceiverConfig, Segment, Sender,
    SenderConfig, SenderParts,
};
use midflight_units::{Duration, Instant, Rate, Seq};

use super::{Agent, Attached, Outbox, Passing};
use crate::config::{FlowId, NodeId};
use crate::event::Carried;
use crate::hook::Verdict;

/// The sender and receiver of a node for a flow: those of the flow's profile without a scheme.
#[derive(Clone, Debug)]
pub struct Ends {
    /// The sender's parameters.
    pub sender: SenderConfig,
    /// The sender's parts.
    pub parts: SenderParts,
    /// The receiver's parameters.
    pub receiver: ReceiverConfig,
}

/// How a connection is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The node responds to a SYN itself; otherwise the receiver's response passes.
    pub(super) answers_syn: bool,
    /// Room for segments that are acknowledged but not delivered.
    pub(super) buffer: u32,
    /// The initial window of the node's sender; none for the window of the profile.
    pub(super) window: Option<u32>,
    /// The state moves to the next station.
    pub(super) moves: bool,
    /// How long that takes.
    pub(super) transfer: Duration,
}

/// All flows of a node.
#[derive(Clone, Debug)]
pub(super) struct Split {
    pub(super) settings: Settings,
    ends: BTreeMap<FlowId, Ends>,
    flows: BTreeMap<FlowId, Halves>,
}

/// Both halves of a connection.
#[derive(Clone, Debug)]
struct Halves {
    site: usize,
    /// The nodes of the sender and the receiver.
    source: NodeId,
    sink: NodeId,
    /// The data is sent to the mobile node.
    is_down: bool,
    receiver: Receiver,
    sender: Sender,
    /// The receiver has responded to the SYN.
    is_open: bool,
    /// Data bytes of a full segment.
    payload: u32,
    /// The last ACK to the sender, and the end of its window; none if that was zero.
    last: Option<Ack>,
    offered: Option<Seq>,
    /// The end of a state transfer, and the packets that wait for it.
    until: Option<Instant>,
    waiting: Vec<Carried>,
}

impl Halves {
    fn new(passing: &Passing, ends: &Ends, settings: &Settings) -> Self {
        let mut config = ends.sender;
        if let Some(window) = settings.window {
            config.initial_window = InitialWindow::Segments(window);
        }
        let expires = Policy::named("immediate-expiry");
        let mut sender = Sender::new(&config, &ends.parts, expires);
        sender.set_end(1);
        sender.open(passing.now, &mut ());
        Self {
            site: passing.site,
            source: passing.from,
            sink: passing.to,
            is_down: passing.down,
            receiver: Receiver::new(ends.receiver),
            sender,
            is_open: false,
            payload: config.payload_bytes(),
            last: None,
            offered: None,
            until: None,
            waiting: Vec::new(),
        }
    }

    fn mobile(&self) -> NodeId {
        if self.is_down {
            self.sink
        } else {
            self.source
        }
    }

    /// Segments that are acknowledged to the sender but not yet by the receiver.
    fn backlog(&self) -> Seq {
        self.receiver
            .next()
            .saturating_sub(self.sender.view().snd_una)
    }

    /// An ACK with the free room of the buffer as its window.
    fn with_window(&mut self, ack: &Ack, settings: &Settings) -> Ack {
        self.last = Some(*ack);
        if ack.option != AckOption::Nothing {
            return *ack;
        }
        let room = u64::from(settings.buffer).saturating_sub(self.backlog());
        let bytes = u32::try_from(room * u64::from(self.payload)).unwrap_or(u32::MAX);
        let window = NonZeroU32::new(bytes);
        self.offered = window.map(|_| ack.ack + room);
        match (window, ack.window) {
            (None, _) => Ack {
                option: AckOption::ZeroWindow,
                window: None,
                ..*ack
            },
            (Some(window), own) => Ack {
                window: Some(own.map_or(window, |own| own.min(window))),
                ..*ack
            },
        }
    }

    fn answer(&mut self, id: FlowId, ack: &Ack, settings: &Settings, out: &mut Outbox<'_>) {
        let ack = self.with_window(ack, settings);
        out.send(self.site, id, self.source, Carried::Ack(ack));
    }

    fn pump(&mut self, now: Instant, id: FlowId, out: &mut Outbox<'_>) {
        while let Some(segment) = self.sender.poll_transmit(now) {
            out.send(self.site, id, self.sink, Carried::Data(segment));
        }
    }

    fn take(
        &mut self,
        now: Instant,
        id: FlowId,
        what: &Carried,
        settings: &Settings,
        out: &mut Outbox<'_>,
    ) {
        match what {
            Carried::Data(segment) => {
                let answer = if segment.content == Content::Acknowledgment {
                    self.receiver.on_empty_ack(now, segment)
                } else {
                    self.receiver.on_segment(now, segment)
                };
                if let Some(ack) = answer {
                    self.answer(id, &ack, settings, out);
                }
                self.sender.write_until(now, self.receiver.next(), &mut ());
            }
            Carried::Ack(ack) => {
                self.sender.on_ack(now, ack, &mut ());
                self.update(id, settings, out);
            }
        }
        self.pump(now, id, out);
    }

    /// Sends a window update when half of the buffer has become free since the last one; after a zero window, when half
    /// of the whole buffer is free.
    fn update(&mut self, id: FlowId, settings: &Settings, out: &mut Outbox<'_>) {
        let Some(ack) = self.last else {
            return;
        };
        let half = u64::from(settings.buffer / 2);
        let edge = self.sender.view().snd_una + u64::from(settings.buffer);
        if edge >= self.offered.unwrap_or(ack.ack) + half {
            self.answer(id, &ack, settings, out);
        }
    }

    fn due(&self) -> Option<Instant> {
        if self.until.is_some() {
            return self.until;
        }
        let timers = [self.sender.poll_timer(), self.receiver.poll_timer()];
        timers.into_iter().flatten().map(|(due, _)| due).min()
    }
}

/// A notice that the state has moved; its link data is unknown and unused here.
fn moved() -> Notice {
    let link = LinkInfo {
        rate: Rate::from_mbps(1),
        delay: Duration::ZERO,
    };
    Notice {
        old: link,
        new: link,
        flows: 1,
    }
}

impl Split {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            ends: BTreeMap::new(),
            flows: BTreeMap::new(),
        }
    }

    fn on_segment(
        &mut self,
        passing: &Passing,
        segment: &Segment,
        out: &mut Outbox<'_>,
    ) -> Verdict {
        let settings = &self.settings;
        let (id, now) = (passing.flow, passing.now);
        let is_syn = segment.content == Content::Data && segment.seq == 0;
        if is_syn && !self.flows.contains_key(&id) {
            let Some(ends) = self.ends.get(&id) else {
                return Verdict::Forward;
            };
            let mut halves = Halves::new(passing, ends, settings);
            if !settings.answers_syn {
                // The sender's SYN replaces the node's own.
                while halves.sender.poll_transmit(now).is_some() {}
            }
            self.flows.insert(id, halves);
        }
        let Some(halves) = self.flows.get_mut(&id) else {
            return Verdict::Forward;
        };
        if !settings.answers_syn && is_syn {
            // The response to it is the receiver's, which passes.
            halves.receiver.on_segment(now, segment);
            return Verdict::Forward;
        }
        let what = Carried::Data(*segment);
        if halves.until.is_some() {
            halves.waiting.push(what);
        } else {
            halves.take(now, id, &what, settings, out);
        }
        Verdict::Drop
    }

    fn on_ack(&mut self, passing: &Passing, ack: &Ack, out: &mut Outbox<'_>) -> Verdict {
        let settings = &self.settings;
        let (id, now) = (passing.flow, passing.now);
        let Some(halves) = self.flows.get_mut(&id) else {
            return Verdict::Forward;
        };
        let is_answer = !std::mem::replace(&mut halves.is_open, true) && !settings.answers_syn;
        let what = Carried::Ack(*ack);
        if halves.until.is_some() {
            halves.waiting.push(what);
        } else {
            halves.take(now, id, &what, settings, out);
        }
        if is_answer {
            Verdict::Replace(Carried::Ack(halves.with_window(ack, settings)))
        } else {
            Verdict::Drop
        }
    }

    fn on_attachment(&mut self, now: Instant, mobile: NodeId, to: Attached) {
        let settings = &self.settings;
        match to {
            Attached::No => {}
            Attached::At(site) if settings.moves => {
                let flows = self.flows.values_mut();
                for halves in flows.filter(|h| h.mobile() == mobile && h.site != site) {
                    halves.site = site;
                    halves.until = Some(now + settings.transfer);
                }
            }
            Attached::At(site) => {
                let is_here = |halves: &Halves| halves.mobile() != mobile || halves.site == site;
                self.flows.retain(|_, halves| is_here(halves));
            }
            Attached::Elsewhere => self.flows.retain(|_, halves| halves.mobile() != mobile),
        }
    }

    fn on_timeout(&mut self, now: Instant, out: &mut Outbox<'_>) {
        let settings = &self.settings;
        for (&id, halves) in &mut self.flows {
            if halves.due().is_none_or(|due| due > now) {
                continue;
            }
            if halves.until.take().is_some() {
                halves.sender.on_notice(now, &moved(), &mut ());
                halves.pump(now, id, out);
                for what in std::mem::take(&mut halves.waiting) {
                    halves.take(now, id, &what, settings, out);
                }
                continue;
            }
            halves.sender.on_timer(now, &mut ());
            if let Some(ack) = halves.receiver.on_timer(now) {
                halves.answer(id, &ack, settings, out);
            }
            // The receiver may have got what its network card held (GRO).
            let next = halves.receiver.next();
            halves.sender.write_until(now, next, &mut ());
            halves.pump(now, id, out);
        }
    }
}

/// An agent that splits connections. These agents differ in their settings only.
pub(super) trait Splits: Debug {
    fn split(&self) -> &Split;

    fn split_mut(&mut self) -> &mut Split;
}

impl<T: Splits> Agent for T {
    fn equip(&mut self, flow: FlowId, ends: &Ends) {
        self.split_mut().ends.insert(flow, ends.clone());
    }

    fn on_segment(
        &mut self,
        passing: &Passing,
        segment: &Segment,
        out: &mut Outbox<'_>,
    ) -> Verdict {
        self.split_mut().on_segment(passing, segment, out)
    }

    fn on_ack(&mut self, passing: &Passing, ack: &Ack, out: &mut Outbox<'_>) -> Verdict {
        self.split_mut().on_ack(passing, ack, out)
    }

    fn on_attachment(&mut self, now: Instant, mobile: NodeId, to: Attached, _out: &mut Outbox<'_>) {
        self.split_mut().on_attachment(now, mobile, to);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let flows = self.split().flows.values();
        flows.filter_map(Halves::due).min()
    }

    fn on_timeout(&mut self, now: Instant, out: &mut Outbox<'_>) {
        self.split_mut().on_timeout(now, out);
    }
}
