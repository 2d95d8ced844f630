use std::fmt;
use std::num::NonZeroU64;

use crate::Duration;

/// A link rate in bits per second, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(NonZeroU64);

impl Rate {
    /// A rate of `bits` per second; `None` for zero.
    pub const fn from_bps(bits: u64) -> Option<Self> {
        match NonZeroU64::new(bits) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }

    /// A rate of `mbit` megabit per second, at least 1 bit/s.
    pub const fn from_mbps(mbit: u64) -> Self {
        match Self::from_bps(mbit * 1_000_000) {
            Some(rate) => rate,
            None => Self(NonZeroU64::MIN),
        }
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0.get()
    }

    /// Time to put `bytes` on the link, rounded down to a nanosecond.
    pub fn transmission_time(self, bytes: u64) -> Duration {
        Duration::from_nanos((u128::from(bytes) * 8_000_000_000 / u128::from(self.as_bps())) as u64)
    }

    /// Bits that pass in `time`, rounded down.
    pub fn bits_in(self, time: Duration) -> u64 {
        (u128::from(self.as_bps()) * u128::from(time.as_nanos()) / 1_000_000_000) as u64
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_bps() {
            b if b % 1_000_000_000 == 0 => write!(f, "{} Gbit/s", b / 1_000_000_000),
            b if b % 1_000_000 == 0 => write!(f, "{} Mbit/s", b / 1_000_000),
            b if b % 1_000 == 0 => write!(f, "{} kbit/s", b / 1_000),
            b => write!(f, "{b} bit/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_times_of_the_papers_links_are_exact() {
        let t = |bps, bytes| Rate::from_bps(bps).map(|r| r.transmission_time(bytes));
        assert_eq!(t(6_400_000, 1500), Some(Duration::from_micros(1875)));
        assert_eq!(t(200_000, 40), Some(Duration::from_micros(1600)));
    }
}
