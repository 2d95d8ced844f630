//! The receiver's part of a path measurement: it records when the segments of a train were sent and
//! when they arrived. When the last one has arrived it reports the estimate. If a later segment of
//! this or another train shows that a segment is missing, it reports that. A segment out of order
//! counts as missing, because a segment that overtakes another has not queued behind it.
//!
//! A report is sent once. If its ACK is lost, the sender sees the train acknowledged without a
//! report.

use educe::Educe;
use midflight_control::estimate::{Estimate, EstimatorConfig, SegmentTimes};
use midflight_control::Measure;
use midflight_units::{Instant, Rate};

use crate::segment::{EcnCodepoint, Segment, TrainMark};

/// The receiver's state for the arriving train.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) struct Measurement {
    config: EstimatorConfig,
    /// The last train received, and whether more of its segments are expected.
    train: Option<TrainMark>,
    under_way: bool,
    passages: Vec<SegmentTimes>,
    /// The estimates of the earlier chirps, in bit/s, if they are averaged.
    before: Vec<u64>,
    /// What packet pairs have found last.
    capacity: Option<Rate>,
}

impl Measurement {
    pub(crate) fn new(config: EstimatorConfig) -> Self {
        Self {
            config,
            train: None,
            under_way: false,
            passages: Vec::new(),
            before: Vec::new(),
            capacity: None,
        }
    }

    /// Processes a segment of a train; returns the report, if there is one.
    pub(crate) fn on_segment(&mut self, now: Instant, segment: &Segment) -> Option<Estimate> {
        let mark = segment.train()?;
        let mut cut_short = None;
        match self.train {
            Some(train) if train.number == mark.number => {}
            // A late segment of an earlier train.
            Some(train) if mark.number.wrapping_sub(train.number) > u16::MAX / 2 => return None,
            _ => {
                if self.under_way {
                    cut_short = self.end(None);
                }
                self.train = Some(mark);
                self.under_way = true;
                self.passages.clear();
            }
        }
        if !self.under_way {
            return None;
        }
        if usize::from(mark.index) != self.passages.len() {
            return self.end(None);
        }
        self.passages.push(SegmentTimes {
            sent: segment.sent,
            arrived: now,
            marked: segment.ecn == EcnCodepoint::Congestion,
        });
        if self.passages.len() < usize::from(mark.segments) {
            return cut_short;
        }
        let found =
            self.config
                .estimate(mark.measure, &self.passages, segment.bytes, self.capacity);
        let rate = found.and_then(|rate| match mark.measure {
            Measure::Available(None) => self.smooth(rate),
            Measure::Capacity | Measure::PairedCapacity => {
                self.capacity = Some(rate);
                Some(rate)
            }
            _ => Some(rate),
        });
        self.end(rate)
    }

    fn end(&mut self, rate: Option<Rate>) -> Option<Estimate> {
        self.under_way = false;
        let train = self.train?.number;
        Some(Estimate { train, rate })
    }

    /// The mean over the last chirps, rounded down.
    fn smooth(&mut self, rate: Rate) -> Option<Rate> {
        let most = usize::from(self.config.smoothing);
        if most <= 1 {
            return Some(rate);
        }
        if self.before.len() >= most {
            self.before.remove(0);
        }
        self.before.push(rate.as_bps());
        let sum: u128 = self.before.iter().map(|&bps| u128::from(bps)).sum();
        let mean = sum / self.before.len() as u128;
        Rate::from_bps(mean as u64)
    }
}

#[cfg(test)]
mod tests {
    use midflight_control::estimate::ChirpRule;
    use midflight_units::Seq;

    use super::*;
    use crate::segment::SegmentOption;

    fn measurement() -> Measurement {
        Measurement::new(EstimatorConfig::DEFAULT)
    }

    /// A segment sent at `sent_us` with its place in a train of three.
    fn marked(number: u16, index: u16, seq: Seq, sent_us: u64, measure: Measure) -> Segment {
        Segment {
            option: Some(SegmentOption::Train(TrainMark {
                number,
                index,
                segments: 3,
                measure,
            })),
            ..Segment::plain(seq, 1500, Instant::from_nanos(sent_us * 1000))
        }
    }

    fn pair(number: u16, index: u16, seq: Seq) -> Segment {
        marked(number, index, seq, 0, Measure::Capacity)
    }

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    #[test]
    fn the_last_segment_brings_the_estimate_and_only_it() {
        let mut m = measurement();
        assert_eq!(m.on_segment(at(1000), &pair(7, 0, 5)), None);
        assert_eq!(m.on_segment(at(1240), &pair(7, 1, 6)), None);
        // 12,000 bits in 240 us.
        let rate = Rate::from_bps(50_000_000);
        let reported = m.on_segment(at(1480), &pair(7, 2, 7));
        assert_eq!(reported, Some(Estimate { train: 7, rate }));
        assert!(!m.under_way);
        assert_eq!(m.on_segment(at(1500), &pair(7, 2, 7)), None);
    }

    #[test]
    fn a_gap_and_a_newer_train_show_that_one_is_missing() {
        let lost = Some(Estimate {
            train: 7,
            rate: None,
        });
        let mut gap = measurement();
        let _ = gap.on_segment(at(0), &pair(7, 0, 5));
        assert_eq!(gap.on_segment(at(1), &pair(7, 2, 7)), lost);
        assert_eq!(gap.on_segment(at(2), &pair(7, 1, 6)), None, "said once");

        let mut newer = measurement();
        let _ = newer.on_segment(at(0), &pair(7, 0, 5));
        assert_eq!(newer.on_segment(at(1), &pair(8, 0, 8)), lost);
        assert!(newer.under_way, "the newer one is measured");
        assert_eq!(newer.on_segment(at(2), &pair(7, 1, 6)), None);
        let _ = newer.on_segment(at(241), &pair(8, 1, 9));
        let reported = newer.on_segment(at(481), &pair(8, 2, 10));
        let rate = Rate::from_bps(50_000_000);
        assert_eq!(reported, Some(Estimate { train: 8, rate }));

        let mut first = measurement();
        assert_eq!(first.on_segment(at(0), &pair(7, 1, 6)), lost, "the first");
    }

    /// Chirps of 12,000-bit segments with gaps of 2000 and 1000 us (6 and 12 Mbit/s): the first
    /// without a rise, the second with one across its last gap. The results are 12, then (12 + 12) /
    /// 2 with the plain rule of the first rise, then (12 + 12 + 6) / 3 = 10 for a rise at once.
    #[test]
    fn results_of_chirps_are_averaged_where_set() {
        let mut m = Measurement::new(EstimatorConfig {
            chirp: ChirpRule::FirstRise,
            smoothing: 3,
            ..EstimatorConfig::DEFAULT
        });
        let mut reported = Vec::new();
        for (number, delays) in [
            (1, [500, 500, 500]),
            (2, [500, 500, 600]),
            (3, [500, 600, 700]),
        ] {
            for (index, sent) in [0, 2000, 3000].into_iter().enumerate() {
                let segment = marked(number, index as u16, 0, sent, Measure::Available(None));
                let report = m.on_segment(at(sent + delays[index]), &segment);
                reported.extend(report.and_then(|e| e.rate).map(Rate::as_bps));
            }
        }
        assert_eq!(reported, [12_000_000, 12_000_000, 10_000_000]);
    }
}
