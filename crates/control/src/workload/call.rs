//! A call: frames of one size at even intervals, each useful only until its deadline.
//!
//! Frames are sent over the flow's reliable connection, as in WebRTC over TURN with TCP (RFC 8656) or in game streams
//! over TCP: over TCP a lost packet delays every frame behind it; over QUIC each frame is its own stream and does not
//! delay others. Nothing is sent as datagrams, and the sender never discards a frame. The default deadline is the limit
//! of ITU-T G.114 (2003) for most uses, 150 ms from mouth to ear.

use midflight_units::{Duration, Instant};

use super::{quantile, read_bytes, Actions, Measure, Measured, Message, Unit, Way, Workload, DONE};
use crate::part::{refuse, Knob, KnobError, Part, PartInfo};

/// A call and its progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    frame: u64,
    interval: Duration,
    deadline: Duration,
    length: Duration,
    begun: Option<Instant>,
    /// Frames generated so far.
    made: u32,
    /// The delay of each frame that has been read, by its number.
    took: Vec<Option<Duration>>,
    read: u32,
}

impl Default for Call {
    fn default() -> Self {
        Self {
            frame: 1200,
            interval: Duration::from_millis(20),
            deadline: Duration::from_millis(150),
            length: Duration::from_secs(30),
            begun: None,
            made: 0,
            took: Vec::new(),
            read: 0,
        }
    }
}

const INFO: PartInfo = PartInfo {
    name: "call",
    summary: "a call: frames at even intervals, each with a deadline, over the flow's reliable connection",
    source: "ITU-T G.114 (2003)",
    knobs: &[
        Knob {
            name: "call_frame",
            default: "1200 B",
            accepts: "a size from 1 B to 1 MB",
            summary: "size of a frame",
        },
        Knob {
            name: "call_interval",
            default: "20 ms",
            accepts: "a time from 1 ms to 10 s",
            summary: "from one frame to the next",
        },
        Knob {
            name: "call_deadline",
            default: "150 ms",
            accepts: "a time such as 150 ms",
            summary: "from a frame's making until it has to be read, whole and after those before",
        },
        Knob {
            name: "call_length",
            default: "30 s",
            accepts: "a time from 1 ms to 10 h",
            summary: "for how long frames are made",
        },
    ],
};

impl Part for Call {
    const INFO: PartInfo = INFO;

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let refused = || refuse(&INFO, name, value);
        let time = |least: Duration, most: Duration| {
            let time = value.parse::<Duration>().ok();
            let time = time.filter(|time| (least..=most).contains(time));
            time.ok_or_else(refused)
        };
        let ms = Duration::from_millis(1);
        match name {
            "call_frame" => {
                let bytes = read_bytes(value).filter(|bytes| *bytes <= 1_000_000);
                self.frame = bytes.ok_or_else(refused)?;
            }
            "call_interval" => self.interval = time(ms, Duration::from_secs(10))?,
            "call_deadline" => self.deadline = time(ms, Duration::from_secs(3600))?,
            "call_length" => self.length = time(ms, Duration::from_secs(36_000))?,
            _ => return Err(refused()),
        }
        Ok(())
    }
}

impl Call {
    /// Number of frames of the whole call: the first is at its start.
    fn frames(&self) -> u32 {
        self.length.as_nanos().div_ceil(self.interval.as_nanos()) as u32
    }

    fn made_at(&self, number: u32) -> Option<Instant> {
        Some(self.begun? + self.interval * u64::from(number))
    }

    /// Generates the frames that are due.
    fn make(&mut self, now: Instant, actions: &mut Actions) {
        while self.wakes().is_some_and(|due| due <= now) {
            actions.messages.push(Message {
                connection: 0,
                way: Way::Data,
                number: self.made,
                bytes: self.frame,
            });
            self.made += 1;
            self.took.push(None);
        }
    }
}

impl Workload for Call {
    fn frame_bytes(&self) -> Option<u64> {
        Some(self.frame)
    }

    fn begin(&mut self, now: Instant, actions: &mut Actions) {
        self.begun = Some(now);
        self.make(now, actions);
    }

    fn on_message(&mut self, now: Instant, message: Message, actions: &mut Actions) {
        let Some(made) = self.made_at(message.number) else {
            return;
        };
        let took = now.since(made);
        if let Some(one) = self.took.get_mut(message.number as usize) {
            *one = Some(took);
            self.read += 1;
        }
        let what = if took > self.deadline {
            "late_frame"
        } else {
            "frame"
        };
        actions.record(what, message.number, took.as_nanos());
        if self.read == self.frames() {
            actions.record(DONE, message.number, took.as_nanos());
        }
    }

    fn wakes(&self) -> Option<Instant> {
        if self.made >= self.frames() {
            return None;
        }
        self.made_at(self.made)
    }

    fn on_wake(&mut self, now: Instant, actions: &mut Actions) {
        self.make(now, actions);
    }

    fn measures(&self) -> &'static [Measure] {
        &[
            Measure {
                name: "frames",
                short: "frames",
                unit: Unit::Count,
                summary: "frames that were made",
            },
            Measure {
                name: "frames_missed",
                short: "missed",
                unit: Unit::Count,
                summary: "frames that were not read by their deadline: late and lost ones",
            },
            Measure {
                name: "frames_late",
                short: "late",
                unit: Unit::Count,
                summary: "frames read after their deadline",
            },
            Measure {
                name: "frames_lost",
                short: "lost",
                unit: Unit::Count,
                summary: "frames whose deadline passed before the end of the run and that were not read by then",
            },
            Measure {
                name: "frame_delay_median_ns",
                short: "median",
                unit: Unit::Time,
                summary: "median of the times from a frame's making until it was read",
            },
            Measure {
                name: "frame_delay_p95_ns",
                short: "p95",
                unit: Unit::Time,
                summary: "95th percentile of these times",
            },
            Measure {
                name: "frame_delay_p99_ns",
                short: "p99",
                unit: Unit::Time,
                summary: "99th percentile of these times",
            },
            Measure {
                name: "frame_delay_max_ns",
                short: "longest",
                unit: Unit::Time,
                summary: "the longest of these times",
            },
        ]
    }

    fn measured(&self, now: Instant) -> Measured {
        let mut took: Vec<Duration> = self.took.iter().flatten().copied().collect();
        took.sort_unstable();
        let late = took.iter().filter(|one| **one > self.deadline).count();
        let is_lost = |number: &u32| {
            let is_read = self.took[*number as usize].is_some();
            let made = self.made_at(*number);
            !is_read && made.is_some_and(|made| made + self.deadline < now)
        };
        let lost = (0..self.made).filter(is_lost).count();
        Measured(vec![
            Some(self.made.into()),
            Some((late + lost) as u64),
            Some(late as u64),
            Some(lost as u64),
            quantile(&took, 0.5),
            quantile(&took, 0.95),
            quantile(&took, 0.99),
            quantile(&took, 1.0),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn frames_are_made_at_even_intervals_and_judged_by_their_deadline() {
        let mut call = Call::default();
        for (name, value) in [("call_length", "100 ms"), ("call_interval", "40 ms")] {
            assert_eq!(call.set_knob(name, value), Ok(()));
        }
        let mut actions = Actions::default();
        call.begin(at(10), &mut actions);
        assert_eq!(call.wakes(), Some(at(50)));
        call.on_wake(at(50), &mut actions);
        call.on_wake(at(90), &mut actions);
        assert_eq!((call.wakes(), actions.messages.len()), (None, 3));
        call.on_message(at(160), actions.messages[0], &mut Actions::default());
        call.on_message(at(201), actions.messages[1], &mut Actions::default());
        let measured = |now| call.measured(now).0[..4].to_vec();
        assert_eq!(measured(at(240)), [Some(3), Some(1), Some(1), Some(0)]);
        assert_eq!(measured(at(241)), [Some(3), Some(2), Some(1), Some(1)]);
    }
}
