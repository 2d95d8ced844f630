//! Applications: what the two ends of a flow have to send, and when.
//!
//! A workload is one file here and two lines below (`mod` and registry). It is a state machine without I/O that sees both
//! ends of its connections: it sends messages of given lengths, is called when the other end has read all of one in
//! order, and sets a time to be called at. It does not depend on the transport: a message is a run of bytes of a TCP
//! connection, or a stream of QUIC.

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

/// Which way a message goes.
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
    /// Which way it goes.
    pub way: Way,
    /// Its number, which the workload gives.
    pub number: u32,
    /// How long it is, at least 1.
    pub bytes: u64,
}

/// An event inside an application, which traces and measures record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppEvent {
    /// The event in one or two words.
    pub what: &'static str,
    /// Of which object, segment or frame, from 0.
    pub number: u64,
    /// A number that belongs to it: bytes, a rate in bit/s, or a time in nanoseconds.
    pub value: u64,
}

/// [`AppEvent::what`] of a workload that is done, its last event.
pub const DONE: &str = "done";

/// The actions of a workload after an event, in this order.
#[derive(Clone, Debug, Default)]
pub struct Does {
    /// What it tells.
    pub tells: Vec<AppEvent>,
    /// The messages of its ends.
    pub sends: Vec<Message>,
}

impl Does {
    pub(crate) fn tell(&mut self, what: &'static str, number: u32, value: u64) {
        let number = number.into();
        self.tells.push(AppEvent {
            what,
            number,
            value,
        });
    }
}

/// An application at both ends of its connections. After every call it is asked when it must be woken.
pub trait Workload {
    /// How many connections it opens, all at the start.
    fn connections(&self) -> u16 {
        1
    }

    /// How long what the receiver of the data sends is; none if that sends nothing.
    fn request_bytes(&self) -> Option<u64> {
        None
    }

    /// How long every message of the data is, if all are alike and small ones count.
    fn frame_bytes(&self) -> Option<u64> {
        None
    }

    /// Draws what is random from uniform numbers in [0, 1), before anything happens.
    fn draw(&mut self, _uniform: &mut dyn FnMut() -> f64) {}

    /// Whether something is random.
    fn is_random(&self) -> bool {
        false
    }

    /// The connections are being opened. Messages sent now wait for that.
    fn begin(&mut self, now: Instant, does: &mut Does);

    /// All of a message has been read at the other end.
    fn on_message(&mut self, now: Instant, message: Message, does: &mut Does);

    /// When it must be woken.
    fn wakes(&self) -> Option<Instant>;

    /// It is then.
    fn on_wake(&mut self, now: Instant, does: &mut Does);

    /// Its measures.
    fn measures(&self) -> &'static [Measure];

    /// The measured values, in that order, if it is over now.
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
