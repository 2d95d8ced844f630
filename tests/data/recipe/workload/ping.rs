//! An example of a workload: one message from the sender to the receiver of the data (CONTRIBUTING.md, "Adding an
//! algorithm").

use midflight_units::{Duration, Instant};

use super::{Actions, Measure, Measured, Message, Unit, Way, Workload, DONE};
use crate::part::{Part, PartInfo};

/// When it was sent, and how long it took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ping {
    begun: Instant,
    took: Option<Duration>,
}

impl Part for Ping {
    const INFO: PartInfo = PartInfo {
        name: "ping",
        summary: "one message of 100 bytes",
        source: "CONTRIBUTING.md",
        knobs: &[],
    };
}

impl Workload for Ping {
    fn begin(&mut self, now: Instant, actions: &mut Actions) {
        self.begun = now;
        actions.messages.push(Message {
            connection: 0,
            way: Way::Data,
            number: 0,
            bytes: 100,
        });
    }

    fn on_message(&mut self, now: Instant, _message: Message, actions: &mut Actions) {
        let took = now.since(self.begun);
        self.took = Some(took);
        actions.record(DONE, 0, took.as_nanos());
    }

    fn wakes(&self) -> Option<Instant> {
        None
    }

    fn on_wake(&mut self, _now: Instant, _actions: &mut Actions) {}

    fn measures(&self) -> &'static [Measure] {
        &[Measure {
            name: "ping_ns",
            short: "took",
            unit: Unit::Time,
            summary: "from the opening until the message was read",
        }]
    }

    fn measured(&self, _now: Instant) -> Measured {
        Measured(vec![self.took.map(Duration::as_nanos)])
    }
}
