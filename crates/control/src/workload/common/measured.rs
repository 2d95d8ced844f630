//! Measures of workloads.

use midflight_units::Duration;

/// The unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Bits per second.
    Rate,
    /// A number of items.
    Count,
}

/// A measure of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Name of its column, which ends with its unit.
    pub name: &'static str,
    /// A short name for the header of a printed table.
    pub short: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// A description.
    pub summary: &'static str,
}

/// Values of measures, in the same order; none for a missing value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured(pub Vec<Option<u64>>);

/// The quantile `share` of sorted times: the smallest that at least this share of them do not exceed.
pub(in crate::workload) fn quantile(sorted: &[Duration], share: f64) -> Option<u64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = (share * sorted.len() as f64).ceil() as usize;
    let time = sorted.get(rank.saturating_sub(1).min(last))?;
    Some(time.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_times() {
        let times: Vec<Duration> = (1..=20).map(Duration::from_nanos).collect();
        let of = |share| quantile(&times, share);
        assert_eq!([of(0.5), of(0.95), of(1.0)], [Some(10), Some(19), Some(20)]);
        assert_eq!(quantile(&times[..1], 0.5), Some(1));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
