//! An agent under the control of a test.

use midflight_tcp::{Ack, AckOption, SackBlocks, Segment};
use midflight_units::{Instant, Seq};

use super::{AnyAgent, Attached, Outbox, Passing, Site};
use crate::config::{FlowId, NodeId};
use crate::event::Carried;
use crate::hook::Verdict;

pub(super) const MOBILE: NodeId = NodeId(9);
const SERVER: NodeId = NodeId(0);
const FLOW: FlowId = FlowId(0);

pub(super) fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

pub(super) fn segment(seq: Seq) -> Segment {
    Segment::plain(seq, 1500, Instant::ZERO)
}

pub(super) fn ack(number: Seq) -> Ack {
    Ack {
        ack: number,
        offset: 0,
        sack: SackBlocks::default(),
        echo: None,
        cause_sent: Instant::ZERO,
        option: AckOption::Nothing,
        window: None,
        stamp_ms: 0,
        extra_bytes: 0,
    }
}

/// A packet that leaves a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// A segment of this number.
    Down(Seq),
    /// An ACK of this number.
    Up(Seq),
    /// An ACK with a zero window.
    Closed(Seq),
    /// A notice to wait.
    Standby(Seq),
}

fn seen(what: &Carried) -> Seen {
    match what {
        Carried::Data(segment) => Seen::Down(segment.seq),
        Carried::Ack(ack) if ack.option == AckOption::ZeroWindow => Seen::Closed(ack.ack),
        Carried::Ack(ack) if ack.option == AckOption::Standby => Seen::Standby(ack.ack),
        Carried::Ack(ack) => Seen::Up(ack.ack),
    }
}

/// An agent at two stations.
pub(super) struct Played {
    pub(super) agent: AnyAgent,
    pub(super) site: usize,
    /// The packets that left last, in order.
    pub(super) left: Vec<Carried>,
    sites: Vec<Site>,
}

impl Played {
    pub(super) fn new(agent: AnyAgent) -> Self {
        let site = |node| Site {
            node: NodeId(node),
            down: Vec::new(),
        };
        Self {
            agent,
            site: 0,
            left: Vec::new(),
            sites: vec![site(1), site(2)],
        }
    }

    /// Equips it with the endpoints of a profile.
    pub(super) fn equip(&mut self, profile: &str) {
        let Ok(profile) = midflight_tcp::profile(profile) else {
            unreachable!()
        };
        let ends = super::Ends {
            sender: profile.sender,
            parts: profile.parts,
            receiver: profile.receiver,
        };
        self.agent.equip(FLOW, &ends);
    }

    fn seen(&mut self, first: Option<Carried>, emit: Vec<crate::hook::Emitted>) -> Vec<Seen> {
        let emitted = emit.into_iter().map(|one| one.what);
        self.left = first.into_iter().chain(emitted).collect();
        self.left.iter().map(seen).collect()
    }

    /// A packet passes; returns what leaves the node then.
    pub(super) fn pass(&mut self, ms: u64, down: bool, what: Carried) -> Vec<Seen> {
        let passing = Passing {
            now: at(ms),
            site: self.site,
            down,
            flow: FLOW,
            from: if down { SERVER } else { MOBILE },
            to: if down { MOBILE } else { SERVER },
        };
        let (mut emit, sites) = (Vec::new(), &self.sites);
        let out = &mut Outbox {
            sites,
            emit: &mut emit,
        };
        let verdict = match &what {
            Carried::Data(segment) => self.agent.on_segment(&passing, segment, out),
            Carried::Ack(ack) => self.agent.on_ack(&passing, ack, out),
        };
        let first = match verdict {
            Verdict::Forward => Some(what),
            Verdict::Replace(other) => Some(other),
            Verdict::Drop => None,
        };
        self.seen(first, emit)
    }

    pub(super) fn data(&mut self, ms: u64, seq: Seq) -> Vec<Seen> {
        self.pass(ms, true, Carried::Data(segment(seq)))
    }

    pub(super) fn ack(&mut self, ms: u64, number: Seq) -> Vec<Seen> {
        self.pass(ms, false, Carried::Ack(ack(number)))
    }

    pub(super) fn attach(&mut self, ms: u64, to: Attached) -> Vec<Seen> {
        let (mut emit, sites) = (Vec::new(), &self.sites);
        let out = &mut Outbox {
            sites,
            emit: &mut emit,
        };
        self.agent.on_attachment(at(ms), MOBILE, to, out);
        self.seen(None, emit)
    }

    /// Its timer expires.
    pub(super) fn wake(&mut self) -> Vec<Seen> {
        let (mut emit, sites) = (Vec::new(), &self.sites);
        let out = &mut Outbox {
            sites,
            emit: &mut emit,
        };
        if let Some(due) = self.agent.next_timeout() {
            self.agent.on_timeout(due, out);
        }
        self.seen(None, emit)
    }
}
