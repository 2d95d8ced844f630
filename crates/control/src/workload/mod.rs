//! Applications: what the two ends of a flow send, and when.
//!
//! A workload is one file here and two lines below (`mod` and registry). It is a state machine without I/O that
//! controls both ends of its connections: it sends messages of given lengths, is called when the other end has read a
//! whole message in order, and sets the time of its next call. It does not depend on the transport: a message is a
//! range of bytes of a TCP connection, or a QUIC stream.

mod call;
mod common;
mod video;
mod web;

use midflight_units::Instant;

pub use call::Call;
use common::{quantile, Plan};
pub use common::{read_bytes, Measure, Measured, Sizes, Unit};
pub use video::Video;
pub use web::Web;

use crate::part::registry;

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// As the flow's data: from its sender to its receiver.
    Data,
    /// From the receiver of the data to their sender.
    Back,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Number of the connection, from 0.
    pub connection: u16,
    /// Its direction.
    pub way: Way,
    /// Its number, given by the workload.
    pub number: u32,
    /// Its length, at least 1.
    pub bytes: u64,
}

/// An event inside an application, which traces and measures record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppEvent {
    /// A name of one or two words.
    pub what: &'static str,
    /// The number of the object, segment or frame, from 0.
    pub number: u64,
    /// A value of the event: bytes, a rate in bit/s, or a time in nanoseconds.
    pub value: u64,
}

/// [`AppEvent::what`] of the last event of a workload, when it is done.
pub const DONE: &str = "done";

/// The actions of a workload after an event, in this order.
#[derive(Clone, Debug, Default)]
pub struct Actions {
    /// Its events.
    pub events: Vec<AppEvent>,
    /// The messages of its ends.
    pub messages: Vec<Message>,
}

impl Actions {
    pub(crate) fn record(&mut self, what: &'static str, number: u32, value: u64) {
        let number = number.into();
        self.events.push(AppEvent {
            what,
            number,
            value,
        });
    }
}

/// An application at both ends of its connections. After every call [`Self::wakes`] returns its next timer.
pub trait Workload {
    /// How many connections it opens, all at the start.
    fn connections(&self) -> u16 {
        1
    }

    /// Length of the messages that the receiver of the data sends; none if it sends nothing.
    fn request_bytes(&self) -> Option<u64> {
        None
    }

    /// Length of every message of the data, if all are equal and small ones count.
    fn frame_bytes(&self) -> Option<u64> {
        None
    }

    /// Draws its random values from uniform numbers in [0, 1), before the start.
    fn draw(&mut self, _uniform: &mut dyn FnMut() -> f64) {}

    /// Whether it has random values.
    fn is_random(&self) -> bool {
        false
    }

    /// The connections are being opened. Messages sent now wait until they are open.
    fn begin(&mut self, now: Instant, actions: &mut Actions);

    /// The other end has read a whole message.
    fn on_message(&mut self, now: Instant, message: Message, actions: &mut Actions);

    /// When its next timer expires.
    fn wakes(&self) -> Option<Instant>;

    /// Its timer has expired.
    fn on_wake(&mut self, now: Instant, actions: &mut Actions);

    /// Its measures.
    fn measures(&self) -> &'static [Measure];

    /// The measured values, in the order of the measures, if it ended now.
    fn measured(&self, now: Instant) -> Measured;
}

registry! {
    /// Any registered workload.
    #[derive(Clone, Debug, PartialEq)]
    AnyWorkload of Workload, listed in WORKLOADS:
    Web: Web,
    Video: Video,
    Call: Call,
}

/// The measures of all registered workloads.
pub fn all_measures() -> impl Iterator<Item = &'static Measure> {
    let named = |info: &crate::part::PartInfo| AnyWorkload::named(info.name);
    let all = WORKLOADS.iter().filter_map(named);
    all.flat_map(|workload| workload.measures().iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::testing::check_knobs;

    #[test]
    fn every_workload_is_found_by_name_and_accepts_the_defaults_it_documents() {
        for info in WORKLOADS {
            let mut part = AnyWorkload::named(info.name).unwrap_or_else(|| unreachable!());
            assert_eq!(part.info(), *info);
            check_knobs(info, |name, value| part.set_knob(name, value));
            let plain = AnyWorkload::named(info.name).unwrap_or_else(|| unreachable!());
            assert_eq!(part, plain, "a documented default is another");
        }
    }

    #[test]
    fn measures_have_names_of_their_own_and_every_one_is_given() {
        let mut names: Vec<_> = all_measures().map(|measure| measure.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        for info in WORKLOADS {
            let part = AnyWorkload::named(info.name).unwrap_or_else(|| unreachable!());
            let measured = part.measured(Instant::ZERO);
            assert_eq!(measured.0.len(), part.measures().len(), "{}", info.name);
        }
    }
}
