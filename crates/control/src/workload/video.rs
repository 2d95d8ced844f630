//! Video in segments over HTTP: segments are requested one after the other while the playout buffer has room.
//!
//! Playback begins when the buffer reaches the start-up threshold, and again after each stall. The rate of the next
//! segment is
//! - with `none` the first of the ladder, and the others are unused;
//! - with `throughput` the highest that is not above the harmonic mean of the throughputs of the last five segments,
//!   and the lowest before there is one (RB of Yin, Jindal, Sekar & Sinopoli, "A Control-Theoretic Approach for Dynamic
//!   Adaptive Video Streaming over HTTP", SIGCOMM 2015, section 7.1);
//! - with `buffer` that of BBA-0 (Huang, Johari, McKeown, Trunnell & Watson, "A Buffer-Based Approach to Rate
//!   Adaptation", SIGCOMM 2014, algorithm 1): the lowest up to the reservoir, the highest from the upper reservoir on,
//!   linear between them; the rate is kept until that line has passed the next higher or lower rate. The paper's buffer
//!   of 240 s has them at 90 s and 216 s; here they are the same fractions of the buffer.

use std::collections::VecDeque;

use midflight_units::{Duration, Instant, Rate};

use super::{read_bytes, Actions, Measure, Measured, Message, Unit, Way, Workload, DONE};
use crate::part::{choose, refuse, Knob, KnobError, Part, PartInfo};

/// Number of segments whose throughputs count.
const PAST: usize = 5;
/// Maximum number of rates of a ladder.
const MOST_RATES: usize = 20;

/// How the rate of a segment is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Adaptation {
    None,
    Throughput,
    Buffer,
}

/// A video and its progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    length: Duration,
    segment: Duration,
    /// In bit/s, ascending.
    rates: Vec<u64>,
    adaptation: Adaptation,
    room: Duration,
    startup: Duration,
    request: u64,
    begun: Instant,
    /// Media in the buffer at `since`; it is played from then on if playback is active.
    buffer: Duration,
    since: Instant,
    plays: bool,
    played: Duration,
    /// When playback began, and when the current stall began.
    started: Option<Instant>,
    stalled: Option<Instant>,
    rebuffers: u64,
    rebuffered: Duration,
    /// Segments requested and read.
    asked: u32,
    read: u32,
    /// The rate of the last segment, and when it was requested.
    rate: usize,
    asked_at: Instant,
    /// Throughputs of the last segments in bit/s.
    past: VecDeque<u64>,
    switches: u64,
    rate_sum: u64,
    is_done: bool,
}

impl Default for Video {
    fn default() -> Self {
        Self {
            length: Duration::from_secs(60),
            segment: Duration::from_secs(4),
            rates: vec![750_000, 1_500_000, 3_000_000, 6_000_000],
            adaptation: Adaptation::Throughput,
            room: Duration::from_secs(24),
            startup: Duration::from_secs(4),
            request: 400,
            begun: Instant::ZERO,
            buffer: Duration::ZERO,
            since: Instant::ZERO,
            plays: false,
            played: Duration::ZERO,
            started: None,
            stalled: None,
            rebuffers: 0,
            rebuffered: Duration::ZERO,
            asked: 0,
            read: 0,
            rate: 0,
            asked_at: Instant::ZERO,
            past: VecDeque::new(),
            switches: 0,
            rate_sum: 0,
            is_done: false,
        }
    }
}

const INFO: PartInfo = PartInfo {
    name: "video",
    summary: "video in segments with a playout buffer, at one rate or with adaptation",
    source: "Huang et al. 2014 (BBA-0), Yin et al. 2015 (RB)",
    knobs: &[
        Knob {
            name: "video_length",
            default: "60 s",
            accepts: "a time from 1 s to 10 h",
            summary: "media in all, in whole segments",
        },
        Knob {
            name: "video_segment",
            default: "4 s",
            accepts: "a time from 100 ms to 60 s",
            summary: "media of a segment",
        },
        Knob {
            name: "video_rates",
            default: "0.75 1.5 3 6 Mbit/s",
            accepts: "a rate such as 3 Mbit/s, or up to 20 ascending numbers and a unit: 0.75 1.5 3 6 Mbit/s",
            summary: "rates that segments may have",
        },
        Knob {
            name: "video_adaptation",
            default: "throughput",
            accepts: "none, throughput, buffer",
            summary: "how the rate of a segment is chosen",
        },
        Knob {
            name: "video_buffer",
            default: "24 s",
            accepts: "a time from 1 s to 1 h",
            summary: "media that the buffer has room for, at least one segment",
        },
        Knob {
            name: "video_startup",
            default: "4 s",
            accepts: "a time from 0 s to 1 h",
            summary: "media with which playback begins, and goes on after a stall, or all that the buffer can have",
        },
        Knob {
            name: "video_request",
            default: "400 B",
            accepts: "a size from 1 B to 64 kB",
            summary: "size of a request",
        },
    ],
};

/// Reads "0.75 1.5 3 6 Mbit/s".
fn read_rates(text: &str) -> Option<Vec<u64>> {
    let is_unit = |c: char| !(c.is_ascii_digit() || c == '.' || c == ' ');
    let (numbers, unit) = text.split_at(text.find(is_unit)?);
    let rate = |number: &str| format!("{number} {unit}").parse::<Rate>().ok();
    let rates: Option<Vec<u64>> = numbers
        .split_whitespace()
        .map(|number| rate(number).map(Rate::as_bps))
        .collect();
    let ascend = |rates: &Vec<u64>| rates.windows(2).all(|pair| pair[0] < pair[1]);
    rates.filter(|rates| (1..=MOST_RATES).contains(&rates.len()) && ascend(rates))
}

impl Part for Video {
    const INFO: PartInfo = INFO;

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let refused = || refuse(&INFO, name, value);
        let time = |least: u64, most: u64| {
            let time = value.parse::<Duration>().ok();
            let range = Duration::from_millis(least)..=Duration::from_secs(most);
            time.filter(|time| range.contains(time)).ok_or_else(refused)
        };
        match name {
            "video_length" => self.length = time(1000, 36_000)?,
            "video_segment" => self.segment = time(100, 60)?,
            "video_rates" => self.rates = read_rates(value).ok_or_else(refused)?,
            "video_adaptation" => {
                let choices = [
                    ("none", Adaptation::None),
                    ("throughput", Adaptation::Throughput),
                    ("buffer", Adaptation::Buffer),
                ];
                self.adaptation = choose(&INFO, name, value, &choices)?;
            }
            "video_buffer" => self.room = time(1000, 3600)?,
            "video_startup" => self.startup = time(0, 3600)?,
            "video_request" => {
                let bytes = read_bytes(value).filter(|bytes| *bytes <= 64_000);
                self.request = bytes.ok_or_else(refused)?;
            }
            _ => return Err(refused()),
        }
        Ok(())
    }
}

impl Video {
    fn segments(&self) -> u32 {
        self.length.as_nanos().div_ceil(self.segment.as_nanos()) as u32
    }

    /// The buffer holds at least one segment.
    fn room(&self) -> Duration {
        self.room.max(self.segment)
    }

    /// The buffer level at which playback begins.
    fn threshold(&self) -> Duration {
        self.startup
            .min(self.room() - self.segment)
            .max(self.segment)
    }

    fn buffer_at(&self, now: Instant) -> Duration {
        if self.plays {
            self.buffer.saturating_sub(now.since(self.since))
        } else {
            self.buffer
        }
    }

    /// Updates the buffer level.
    fn settle(&mut self, now: Instant) {
        let left = self.buffer_at(now);
        self.played = self.played + (self.buffer - left);
        (self.buffer, self.since) = (left, now);
    }

    /// The rate of the next segment, as its index in the ladder.
    fn choose_rate(&self, buffer: Duration) -> usize {
        let highest = self.rates.len() - 1;
        match self.adaptation {
            Adaptation::None => 0,
            Adaptation::Throughput => {
                let inverse: f64 = self.past.iter().map(|&bps| 1.0 / bps.max(1) as f64).sum();
                let mean = self.past.len() as f64 / inverse;
                let fit = self.rates.iter().rposition(|&rate| rate as f64 <= mean);
                fit.unwrap_or(0)
            }
            Adaptation::Buffer => {
                let room = self.room().as_secs_f64();
                let (low, high) = (room * 90.0 / 240.0, room * 216.0 / 240.0);
                let buffer = buffer.as_secs_f64();
                if buffer <= low {
                    return 0;
                }
                if buffer >= high {
                    return highest;
                }
                let (least, most) = (self.rates[0] as f64, self.rates[highest] as f64);
                let line = least + (most - least) * (buffer - low) / (high - low);
                let (above, below) = (
                    self.rates[(self.rate + 1).min(highest)],
                    self.rates[self.rate.saturating_sub(1)],
                );
                if line >= above as f64 {
                    let fit = self.rates.iter().rposition(|&rate| (rate as f64) < line);
                    fit.unwrap_or(0)
                } else if line <= below as f64 {
                    let fit = self.rates.iter().position(|&rate| rate as f64 > line);
                    fit.unwrap_or(highest)
                } else {
                    self.rate
                }
            }
        }
    }

    /// When the next segment may be requested; none if one is in transit or there is none.
    fn asks_at(&self) -> Option<Instant> {
        if self.asked > self.read || self.asked == self.segments() {
            return None;
        }
        let excess = (self.buffer + self.segment).saturating_sub(self.room());
        if excess == Duration::ZERO {
            return Some(self.since);
        }
        self.plays.then(|| self.since + excess)
    }

    /// When the buffer is empty.
    fn empties_at(&self) -> Option<Instant> {
        self.plays.then(|| self.since + self.buffer)
    }

    /// Performs the actions that are due.
    fn act(&mut self, now: Instant, actions: &mut Actions) {
        self.settle(now);
        let is_whole = self.read == self.segments();
        if self.plays && self.buffer == Duration::ZERO {
            self.plays = false;
            if is_whole {
                self.is_done = true;
                actions.record(DONE, self.read, self.played.as_nanos());
                return;
            }
            self.stalled = Some(now);
            self.rebuffers += 1;
            actions.record("stalled", self.read, 0);
        }
        if !self.plays && self.read > 0 && (is_whole || self.buffer >= self.threshold()) {
            self.plays = true;
            self.started.get_or_insert(now);
            if let Some(stalled) = self.stalled.take() {
                self.rebuffered = self.rebuffered + now.since(stalled);
            }
            actions.record("playing", self.read, self.buffer.as_nanos());
        }
        if self.asks_at().is_some_and(|due| due <= now) {
            let rate = self.choose_rate(self.buffer);
            self.switches += u64::from(self.asked > 0 && rate != self.rate);
            self.rate = rate;
            self.asked_at = now;
            actions.record("request", self.asked, self.rates[rate]);
            actions.messages.push(Message {
                connection: 0,
                way: Way::Back,
                number: self.asked,
                bytes: self.request,
            });
            self.asked += 1;
        }
    }

    /// Bytes of a segment of the last chosen rate.
    fn segment_bytes(&self) -> u64 {
        let bits = u128::from(self.rates[self.rate]) * u128::from(self.segment.as_nanos());
        bits.div_ceil(8_000_000_000) as u64
    }
}

impl Workload for Video {
    fn request_bytes(&self) -> Option<u64> {
        Some(self.request)
    }

    fn begin(&mut self, now: Instant, actions: &mut Actions) {
        (self.begun, self.since) = (now, now);
        self.act(now, actions);
    }

    fn on_message(&mut self, now: Instant, message: Message, actions: &mut Actions) {
        if message.way == Way::Back {
            actions.messages.push(Message {
                way: Way::Data,
                bytes: self.segment_bytes(),
                ..message
            });
            return;
        }
        self.settle(now);
        let took = now.since(self.asked_at).as_secs_f64();
        let bps = 8.0 * message.bytes as f64 / took.max(1e-9);
        self.past.push_back(bps as u64);
        if self.past.len() > PAST {
            self.past.pop_front();
        }
        self.read += 1;
        self.rate_sum += self.rates[self.rate];
        self.buffer = self.buffer + self.segment;
        actions.record("segment", message.number, self.rates[self.rate]);
        actions.record("buffer", message.number, self.buffer.as_nanos());
        self.act(now, actions);
    }

    fn wakes(&self) -> Option<Instant> {
        if self.is_done {
            return None;
        }
        let next = [self.asks_at(), self.empties_at()];
        next.into_iter().flatten().min()
    }

    fn on_wake(&mut self, now: Instant, actions: &mut Actions) {
        self.act(now, actions);
    }

    fn measures(&self) -> &'static [Measure] {
        &[
            Measure {
                name: "startup_ns",
                short: "startup",
                unit: Unit::Time,
                summary: "from the first SYN until playback begins",
            },
            Measure {
                name: "rebuffers",
                short: "stalls",
                unit: Unit::Count,
                summary: "how often playback stopped because the buffer was empty",
            },
            Measure {
                name: "rebuffer_ns",
                short: "stalled",
                unit: Unit::Time,
                summary: "for how long it stood still in all, without the start-up",
            },
            Measure {
                name: "mean_rate_bps",
                short: "rate",
                unit: Unit::Rate,
                summary: "mean rate of the segments that were read",
            },
            Measure {
                name: "switches",
                short: "switches",
                unit: Unit::Count,
                summary: "segments with another rate than the one before",
            },
            Measure {
                name: "played_ns",
                short: "played",
                unit: Unit::Time,
                summary: "media that was played",
            },
        ]
    }

    fn measured(&self, now: Instant) -> Measured {
        let stalled = self.stalled.map_or(Duration::ZERO, |at| now.since(at));
        let played = self.played + (self.buffer - self.buffer_at(now));
        Measured(vec![
            self.started.map(|at| at.since(self.begun).as_nanos()),
            Some(self.rebuffers),
            Some((self.rebuffered + stalled).as_nanos()),
            self.rate_sum.checked_div(self.read.into()),
            Some(self.switches),
            Some(played.as_nanos()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: f64) -> Instant {
        Instant::from_nanos((s * 1e9) as u64)
    }

    fn video(knobs: &[(&str, &str)]) -> Video {
        let mut video = Video::default();
        for (name, value) in knobs {
            assert_eq!(video.set_knob(name, value), Ok(()), "{name}");
        }
        video
    }

    /// The response to the last request.
    fn answer(video: &mut Video, now: f64, asked: &Actions) -> Actions {
        let request = asked.messages[0];
        let mut actions = Actions::default();
        video.on_message(at(now), request, &mut actions);
        let data = actions.messages[0];
        let mut actions = Actions::default();
        video.on_message(at(now), data, &mut actions);
        actions
    }

    /// Three segments of 4 s, the second of which arrives 2 s after the buffer is empty.
    #[test]
    fn playback_starts_stalls_and_ends_by_the_buffer() {
        let mut video = video(&[("video_length", "12 s"), ("video_rates", "1 Mbit/s")]);
        let mut actions = Actions::default();
        video.begin(at(1.0), &mut actions);
        let actions = answer(&mut video, 2.0, &actions);
        assert_eq!(video.wakes(), Some(at(6.0)));
        video.on_wake(at(6.0), &mut Actions::default());
        assert_eq!((video.wakes(), video.rebuffers), (None, 1));
        let actions = answer(&mut video, 8.0, &actions);
        let actions = answer(&mut video, 9.0, &actions);
        assert!(actions.messages.is_empty());
        assert_eq!(video.wakes(), Some(at(16.0)));
        let mut actions = Actions::default();
        video.on_wake(at(16.0), &mut actions);
        assert_eq!(actions.events.last().map(|event| event.what), Some(DONE));
        let s = |s: u64| Some(s * 1_000_000_000);
        let measured = video.measured(at(16.0)).0;
        let expected = [s(1), Some(1), s(2), Some(1_000_000), Some(0), s(12)];
        assert_eq!(measured, expected);
    }

    #[test]
    fn no_segment_is_asked_for_without_room() {
        let mut video = video(&[("video_buffer", "10 s"), ("video_adaptation", "none")]);
        let mut actions = Actions::default();
        video.begin(at(0.0), &mut actions);
        let actions = answer(&mut video, 0.5, &actions);
        let actions = answer(&mut video, 1.0, &actions);
        // 7.5 s are buffered, and there is room for 6 s besides a segment.
        assert!(actions.messages.is_empty());
        assert_eq!(video.wakes(), Some(at(2.5)));
        let mut actions = Actions::default();
        video.on_wake(at(2.5), &mut actions);
        assert_eq!(actions.messages.len(), 1);
    }

    #[test]
    fn throughput_gives_the_rate_below_the_harmonic_mean() {
        let mut video = Video::default();
        assert_eq!(video.choose_rate(Duration::ZERO), 0);
        video.past.extend([2_000_000, 6_000_000]);
        // 2 / (1/2 + 1/6) = 3.
        assert_eq!(video.choose_rate(Duration::ZERO), 2);
    }

    /// By hand for a buffer of 240 s and rates 1, 2, 4: the line is 1 + 3 (B - 90) / 126.
    #[test]
    fn the_buffer_gives_the_rate_of_the_line_and_keeps_it_up_to_the_next() {
        let mut video = video(&[
            ("video_adaptation", "buffer"),
            ("video_buffer", "240 s"),
            ("video_rates", "1 2 4 Mbit/s"),
        ]);
        for (buffer, before, rate) in [
            (90, 2, 0),
            (131, 0, 0),
            (133, 0, 1),
            (131, 2, 1),
            (133, 2, 2),
            (200, 1, 1),
            (215, 2, 2),
            (91, 1, 1),
            (216, 0, 2),
        ] {
            video.rate = before;
            let chosen = video.choose_rate(Duration::from_secs(buffer));
            assert_eq!(chosen, rate, "{buffer} s after {before}");
        }
    }

    #[test]
    fn ladders_ascend() {
        assert_eq!(read_rates("3 Mbit/s"), Some(vec![3_000_000]));
        let ladder = read_rates("0.75 1.5 Mbit/s");
        assert_eq!(ladder, Some(vec![750_000, 1_500_000]));
        for text in ["", "3", "3 1 Mbit/s", "1 1 Mbit/s", "a Mbit/s"] {
            assert_eq!(read_rates(text), None, "{text}");
        }
    }
}
