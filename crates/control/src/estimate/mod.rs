//! Estimates from the segments of a train: the capacity of the bottleneck from packet pairs, or the
//! available bandwidth from a chirp, a train at the capacity, or probes at random times. Pure
//! functions of the times at which each segment was sent and arrived.
//!
//! Rates are those of links: a segment counts with its size on the wire, while the report of Daniel
//! & Kojo uses MSS. The rate of a gap is computed from the actual sending times, so a late sender
//! causes no error.

mod chirp;
mod nf_tcp;
mod packet_pair;
mod pathchirp;
mod probe_gap;
mod wbest;

use midflight_units::{Duration, Instant, Rate};

pub use chirp::{abest, first_rise, Averaging, CleanChirp};
pub use nf_tcp::nf_tcp;
pub use packet_pair::packet_pair;
pub use pathchirp::{pathchirp, PathChirp};
pub use probe_gap::{idle_share, probe_gap, Knee, ProbeGap};
pub use wbest::{paired_capacity, wbest};

use crate::train::Measure;

/// When a segment of a train was sent and when it arrived. The clocks of the
/// two hosts may differ by any constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentTimes {
    /// When it was sent.
    pub sent: Instant,
    /// When it arrived.
    pub arrived: Instant,
    /// A router has marked it (ECN).
    pub marked: bool,
}

/// The receiver's report of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Number of the train.
    pub train: u16,
    /// The measured rate; none if a segment was missing.
    pub rate: Option<Rate>,
}

/// The rule that computes a rate from a chirp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChirpRule {
    /// [`abest`] with the averaging of pathChirp.
    Abest,
    /// [`abest`] with the plain average.
    AbestPlain,
    /// [`first_rise`].
    FirstRise,
    /// [`pathchirp`].
    PathChirp,
    /// [`nf_tcp`].
    NfTcp,
}

impl ChirpRule {
    /// All rules, with their names in settings.
    pub const NAMED: &[(&str, Self)] = &[
        ("abest", Self::Abest),
        ("abest-plain", Self::AbestPlain),
        ("first-rise", Self::FirstRise),
        ("pathchirp", Self::PathChirp),
        ("nf-tcp", Self::NfTcp),
    ];
}

/// The settings of a receiver's estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimatorConfig {
    /// The rule for chirps that do not name one.
    pub chirp: ChirpRule,
    /// The result of [`abest`] for a chirp without a rise.
    pub clean: CleanChirp,
    /// A one-way delay has risen when it has grown by more than this, the
    /// resolution of a receiver's clock.
    pub resolution: Duration,
    /// Knobs of [`pathchirp`] and [`nf_tcp`].
    pub pathchirp: PathChirp,
    /// Knobs of [`probe_gap`].
    pub probe_gap: ProbeGap,
    /// Over how many chirps the results are averaged, the last one included; not of
    /// chirps that ask for a rule.
    pub smoothing: u16,
}

impl EstimatorConfig {
    /// pathChirp as in its paper, without smoothing: successive chirps of one sender cover different
    /// ranges of rates.
    pub const DEFAULT: Self = Self {
        chirp: ChirpRule::PathChirp,
        clean: CleanChirp::Highest,
        resolution: Duration::from_micros(1),
        pathchirp: PathChirp {
            decrease: 1.5,
            busy: None,
        },
        probe_gap: ProbeGap {
            knee: Knee::Chord,
            capacity: None,
        },
        smoothing: 1,
    };

    /// The rate that a train without losses tells, of segments of this many bytes;
    /// none for fewer than two segments. `capacity` is what packet pairs have found last.
    pub fn estimate(
        &self,
        measure: Measure,
        passages: &[SegmentTimes],
        bytes: u32,
        capacity: Option<Rate>,
    ) -> Option<Rate> {
        let Self {
            clean, resolution, ..
        } = *self;
        let rule = match measure {
            Measure::Capacity => return packet_pair(passages, bytes),
            Measure::PairedCapacity => return paired_capacity(passages, bytes),
            Measure::AtCapacity => return wbest(passages, bytes),
            Measure::IdleShare => {
                let ProbeGap {
                    knee,
                    capacity: known,
                } = self.probe_gap;
                let capacity = known.or(capacity)?;
                return probe_gap(passages, capacity, knee, resolution);
            }
            Measure::Available(rule) => rule.unwrap_or(self.chirp),
        };
        match rule {
            ChirpRule::Abest => abest(passages, bytes, Averaging::ByGaps, clean, resolution),
            ChirpRule::AbestPlain => abest(passages, bytes, Averaging::Plain, clean, resolution),
            ChirpRule::FirstRise => first_rise(passages, bytes, resolution),
            ChirpRule::PathChirp => pathchirp(passages, bytes, self.pathchirp, resolution),
            ChirpRule::NfTcp => nf_tcp(passages, bytes, self.pathchirp, resolution),
        }
    }
}

/// A chirp in the form for the rules: its gaps, their rates, and whether the one-way delay rises
/// across each.
struct Gap {
    seconds: f64,
    /// In bit/s, rounded down: since the gap was rounded down too, not below the intended rate.
    rate: f64,
    rises: bool,
}

fn gaps(passages: &[SegmentTimes], bytes: u32, resolution: Duration) -> Vec<Gap> {
    let delay = |p: &SegmentTimes| i128::from(p.arrived.as_nanos()) - i128::from(p.sent.as_nanos());
    let resolution = i128::from(resolution.as_nanos());
    let of_pair = |pair: &[SegmentTimes]| {
        let gap = pair[1].sent.since(pair[0].sent);
        Gap {
            seconds: gap.as_secs_f64(),
            rate: rate_over(bytes, gap).as_bps() as f64,
            rises: delay(&pair[1]) > delay(&pair[0]) + resolution,
        }
    };
    passages.windows(2).map(of_pair).collect()
}

/// The rate of this many bytes over a time, rounded down to a bit/s; a time of
/// zero counts as a nanosecond.
fn rate_over(bytes: u32, time: Duration) -> Rate {
    let bits = 8_000_000_000 * u128::from(bytes) / u128::from(time.as_nanos().max(1));
    Rate::from_bps(u64::try_from(bits).unwrap_or(u64::MAX)).unwrap_or(LEAST)
}

/// The minimum rate: lower rates are reported as this.
const LEAST: Rate = match Rate::from_bps(1) {
    Some(rate) => rate,
    None => Rate::from_mbps(1),
};

/// A rate computed as a double, rounded to the nearest bit/s.
fn rounded(bps: f64) -> Rate {
    Rate::from_bps((bps + 0.5) as u64).unwrap_or(LEAST)
}

#[cfg(test)]
mod testing {
    use midflight_units::{Duration, Instant, Rate};

    use super::SegmentTimes;
    use crate::train::{Spacing, Then, Train};

    pub(super) fn passages(times_us: &[(u64, u64)]) -> Vec<SegmentTimes> {
        let at = |us: u64| Instant::from_nanos(us * 1000);
        let passage = |&(sent, arrived): &(u64, u64)| SegmentTimes {
            sent: at(sent),
            arrived: at(arrived),
            marked: false,
        };
        times_us.iter().map(passage).collect()
    }

    /// A chirp of 1000-byte segments whose rates double from 1 Mbit/s on, so that its gaps are 8, 4,
    /// 2, 1 ms ..., with these one-way delays in microseconds.
    pub(super) fn doubling(delays_us: &[u64]) -> Vec<SegmentTimes> {
        let mut sent = 0;
        let mut gap = 8000;
        let mut times = Vec::new();
        for delay in delays_us {
            times.push((sent, sent + delay));
            sent += gap;
            gap /= 2;
        }
        passages(&times)
    }

    /// A chirp over a fluid link with this spare rate and a fixed delay.
    pub(super) fn through(low: u64, high: u64, segments: u16, spare: u64) -> Vec<SegmentTimes> {
        let rate = |bps| Rate::from_bps(bps).unwrap_or(Rate::from_mbps(1));
        let train = Train {
            number: 1,
            segments,
            spacing: Spacing::Chirp {
                low: rate(low),
                high: rate(high),
                rule: None,
            },
            then: Then::GoOn,
        };
        let each = rate(spare).transmission_time(1500);
        let mut sent = Instant::ZERO;
        let mut free = Instant::ZERO;
        let mut all = Vec::new();
        let mut gaps = train.gaps(1500);
        for _ in 0..segments {
            free = free.max(sent) + each;
            all.push(SegmentTimes {
                sent,
                arrived: free + Duration::from_millis(20),
                marked: false,
            });
            sent += gaps.take().unwrap_or(Duration::ZERO);
        }
        all
    }
}
