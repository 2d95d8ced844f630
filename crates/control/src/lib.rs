//! What decides, apart from what transmits.
//!
//! A sender shows its state as a [`SenderView`]; a congestion controller, and
//! any number of handoff policies, look at it. Policies answer with
//! [`Order`]s. Only the sender applies an order, and it reports each applied
//! order with its author and reason, so that every change of the window, the
//! timer or the estimate can be traced to who asked for it and why.

mod ack;
pub mod congestion;
mod delivery;
pub mod dupack;
pub mod estimate;
pub mod jiffies;
mod listens;
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
pub use delivery::{Deliveries, RateSample};
pub use listens::Listens;
pub use notice::{LinkInfo, Notice, StartNotice, ACK_BYTES, DATA_BYTES};
pub use order::{Order, Orders, Pacing, Reordering};
pub use train::{Gaps, Measure, Spacing, Then, Train};
pub use view::SenderView;
pub use windowed::{WindowedMax, WindowedMin};
