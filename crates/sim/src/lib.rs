//! Nodes, links, routes, the timeline of a handoff, and the event loop that
//! moves TCP flows over them.
//!
//! A [`World`] is plain data: it can be cloned, and a clone with the same actions makes the same
//! run. Event order is total: time, then the double that ns-2 would have for it (see `moment`),
//! then the instant at which the event was scheduled, and at which the event that scheduled it was,
//! then a fixed order of the sources. The third key is ns-2's rule that simultaneous events run in
//! the order in which they were scheduled.

mod agenda;
pub mod agent;
mod announcement;
mod chain;
mod config;
mod cross;
mod digest;
mod event;
mod hook;
mod impairment;
mod link;
mod moment;
mod packet;
mod queue;
mod quick_start;
pub mod random;
mod schedule;
mod special;
mod stack;
mod timeline;
mod world;

pub use config::{
    Action, AppConfig, ConnectionConfig, FlowConfig, FlowId, ForgedAck, NodeId, Routes,
    WorldConfig, WorldError,
};
pub use cross::{CrossTraffic, Pattern};
pub use digest::Digest;
pub use event::{Carried, DropCause, Event, Observer, Payload};
pub use hook::{Emitted, Hook, HookedPacket, NodeHook, Verdict};
pub use impairment::{Drawn, Impairments, LossModel, Reordering, Scripted, State, LEAST_DWELL};
pub use link::{LinkConfig, LinkCounts, LinkId, LinkSetting, LinkState, Overhead};
pub use moment::Clock;
pub use queue::{Marked, QueueConfig, QueueKind, QueueParameters, QUEUES};
pub use quick_start::RateRouter;
pub use schedule::{
    Curve, LinkSchedule, Opportunities, Outage, Schedule, ScheduleError, Service, Shape,
};
pub use stack::{
    ByteSet, Bytes, Carries, DataConfig, Datagram, End, Outgoing, Report, Stack, StackConfig,
    TransportEvent,
};
pub use world::{judge_timeouts, Endpoints, NextEvent, World};
