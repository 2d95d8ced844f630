//! Parts that few links have, kept apart so that the others do not pay for them: impairments at the far
//! end, the pause, and counts.

use std::sync::Arc;

use educe::Educe;
use midflight_units::Instant;

use crate::config::NodeId;
use crate::impairment::Impairing;
use crate::link::{LinkConfig, LinkCounts, LinkId, LinkSetting};
use crate::moment::FineTime;
use crate::packet::Packet;
use crate::queue::{Discipline, QueueConfig};
use crate::random::{stream, Stream};

/// Whether a packet may enter a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Open,
    /// The link is down.
    Broken,
    /// The link is paused and has no room.
    Full,
    /// The link is paused and has taken the packet.
    Held,
    /// A discipline queues it.
    Managed,
    /// It is for a node that has left the link, and is forwarded to this link.
    Forwarded(LinkId),
}

/// A node that has left a link which buffers or forwards its packets.
#[derive(Clone, Debug)]
pub(crate) struct Absent {
    pub(crate) node: NodeId,
    pub(crate) kept: Vec<Packet>,
    pub(crate) forward: Option<LinkId>,
}

#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) struct Special {
    /// The impairments in effect.
    pub(crate) impairing: Option<Impairing>,
    /// A packet waits to follow the next one.
    pub(crate) swapping: bool,
    pub(crate) may_pause: bool,
    pub(crate) may_return: bool,
    pub(crate) paused: bool,
    /// While paused, all packets at the link, in the order in which they will be sent.
    pub(crate) held: Vec<Packet>,
    /// How many of them had not been transmitted before the pause.
    pub(crate) waiting: usize,
    pub(crate) settings: Arc<[LinkSetting]>,
    /// How many times each setting has taken effect.
    entered: Vec<u64>,
    /// After a change: when the last earlier packet arrives, which none may overtake, and the link's
    /// delay in the unit of its clock.
    pub(crate) holds_back: Option<(FineTime, f64)>,
    pub(crate) counted: bool,
    pub(crate) tapped: bool,
    /// Outages of its schedule drop arriving packets.
    drops: bool,
    /// Number of the hook that sees packets at the node at its start, and that node.
    pub(crate) hook: Option<(u16, NodeId)>,
    pub(crate) counts: LinkCounts,
    /// The discipline that holds the waiting packets.
    pub(crate) queue: Option<Box<dyn Discipline>>,
    /// Nodes that have left it, each with its buffered packets, or with the link to which they are
    /// forwarded.
    pub(crate) absent: Vec<Absent>,
    /// The next packet is sent right behind the previous one.
    pub(crate) follows: bool,
    /// Maximum random processing time in seconds, and the stream from which it is drawn.
    pub(crate) overhead: Option<(f64, Stream)>,
}

impl Special {
    /// The special parts of a link from the start of the run.
    #[cold]
    pub(crate) fn new(config: &LinkConfig, hook: Option<u16>) -> Box<Self> {
        Box::new(Self {
            impairing: Impairing::new(&config.impairments, Instant::ZERO, 0),
            swapping: false,
            may_pause: config.may_pause,
            may_return: config.may_return,
            paused: false,
            held: Vec::new(),
            waiting: 0,
            holds_back: None,
            counted: config.counted,
            tapped: config.tapped,
            drops: config.drops(),
            hook: hook.map(|number| (number, config.from)),
            counts: LinkCounts::default(),
            absent: Vec::new(),
            follows: false,
            queue: config.queue.as_ref().map(QueueConfig::make),
            overhead: config.overhead.map(|overhead| {
                let most = overhead.most.as_secs_f64();
                (most, stream(overhead.seed, 0, "link", "overhead"))
            }),
            entered: vec![0; config.settings.len()],
            settings: config.settings.as_slice().into(),
        })
    }

    /// Whether the fast path for entering packets is off while it is up.
    pub(crate) fn is_closed(&self) -> bool {
        self.counted
            || self.tapped
            || self.drops
            || self.overhead.is_some()
            || self.hook.is_some()
            || self.queue.is_some()
            || !self.absent.is_empty()
            || self.paused
            || self.holds_back.is_some()
    }

    /// The setting with this number takes effect, if there is one: sets its impairments and returns the
    /// setting.
    pub(crate) fn enter(&mut self, setting: u16, now: Instant) -> Option<LinkSetting> {
        let number = usize::from(setting);
        let setting = self.settings.get(number)?.clone();
        self.impairing = Impairing::new(&setting.impairments, now, self.entered[number]);
        self.entered[number] += 1;
        Some(setting)
    }
}
