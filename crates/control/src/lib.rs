//! The parts of a sender that make decisions, separate from the parts that transmit.
//!
//! A sender exposes its state as a [`SenderView`] to a congestion controller and any number of
//! handoff policies. Policies return [`Order`]s. Only the sender applies an order, and it reports
//! each applied order with its author and reason, so that every change of the window, the timer or
//! the estimate can be traced to its author and reason.

mod ack;
mod advice;
pub mod congestion;
mod delivery;
pub mod dupack;
pub mod estimate;
mod interests;
pub mod jiffies;
pub mod loss;
mod notice;
mod order;
pub mod part;
pub mod policy;
pub mod quick_start;
pub mod rtt;
pub mod signal;
pub mod spurious;
mod train;
mod view;
mod windowed;
pub mod workload;

pub use ack::AckNews;
pub use advice::{Advice, AdviceInForce};
pub use delivery::{Deliveries, RateSample, RecordedRate};
pub use interests::Interests;
pub use notice::{LinkInfo, Notice, PathUpdate, StartNotice, ACK_BYTES, DATA_BYTES};
pub use order::{Order, Orders, Pacing, Reordering};
pub use train::{Gaps, Measure, Spacing, Then, Train};
pub use view::SenderView;
pub use windowed::{WindowedMax, WindowedMin};
