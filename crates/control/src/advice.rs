//! Throughput advice of the network: SCONE (draft-ietf-scone-protocol, version of March 2026).
//!
//! A network element on the path writes a rate into packets of a QUIC flow. The rate is a ceiling for the flow's
//! sustained throughput, not a signal of congestion. It contains no information about delay, applies to one path, and
//! expires.

use midflight_units::{Duration, Instant, Rate};

/// The largest rate signal that carries a rate; 127 means no advice (section "Rate Signals").
const LARGEST: u32 = 126;
/// `10^(n / 20)` for the first signals, times `10^12`.
const STEPS: [u64; 20] = [
    1_000_000_000_000,
    1_122_018_454_302,
    1_258_925_411_794,
    1_412_537_544_623,
    1_584_893_192_461,
    1_778_279_410_039,
    1_995_262_314_969,
    2_238_721_138_568,
    2_511_886_431_510,
    2_818_382_931_264,
    3_162_277_660_168,
    3_548_133_892_336,
    3_981_071_705_535,
    4_466_835_921_510,
    5_011_872_336_273,
    5_623_413_251_903,
    6_309_573_444_802,
    7_079_457_843_841,
    7_943_282_347_243,
    8_912_509_381_337,
];

/// Advice that a sender receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The maximum sustained rate that the network expects to carry for the flow.
    pub rate: Rate,
    /// When it expires.
    pub until: Instant,
    /// It is the first advice on its path, as after a handoff: advice of another path no longer applies.
    pub anew: bool,
}

impl Advice {
    /// How long advice is valid without newer advice (section "Monitoring Period").
    pub const LIFE: Duration = Duration::from_secs(67);

    /// The advice of a network that allows a rate, at an instant: the largest signal rate that is not above it. None if
    /// the rate is below the smallest signal rate.
    pub fn of(rate: Rate, now: Instant, anew: bool) -> Option<Self> {
        let known = (0..=LARGEST).rev().map(rate_of);
        let rate = known.flatten().find(|known| *known <= rate)?;
        let until = now + Self::LIFE;
        Some(Self { rate, until, anew })
    }
}

/// The advice received on the current path that has not expired.
#[derive(Clone, Debug, Default)]
pub struct AdviceInForce(Vec<Advice>);

impl AdviceInForce {
    /// Adds received advice; returns the advice that now applies: the lowest that has not expired (section "Following
    /// Throughput Advice").
    pub fn take(&mut self, advice: Advice, now: Instant) -> Advice {
        if advice.anew {
            self.0.clear();
        }
        self.0.retain(|one| now < one.until);
        self.0.push(advice);
        let lowest = self.0.iter().rev().min_by_key(|one| one.rate);
        let lowest = lowest.copied().unwrap_or(advice);
        let anew = advice.anew;
        Advice { anew, ..lowest }
    }
}

/// The rate of a signal: 100 kbit/s times `10^(n / 20)`.
fn rate_of(signal: u32) -> Option<Rate> {
    let step = STEPS.get(signal as usize % STEPS.len())?;
    let scaled = step * 10u64.pow(signal / STEPS.len() as u32);
    Rate::from_bps((scaled + 5_000_000) / 10_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bps(bps: u64) -> Rate {
        Rate::from_bps(bps).unwrap_or(Rate::from_mbps(1))
    }

    #[test]
    fn the_rates_are_those_of_the_draft() {
        // The draft's table of examples, in kbit/s, with three digits.
        let table = [
            (0, 100),
            (1, 112),
            (2, 126),
            (3, 141),
            (20, 1_000),
            (21, 1_120),
            (40, 10_000),
            (41, 11_200),
            (60, 100_000),
            (61, 112_000),
            (80, 1_000_000),
            (81, 1_120_000),
            (100, 10_000_000),
            (101, 11_200_000),
            (120, 100_000_000),
            (121, 112_000_000),
            (126, 199_500_000),
        ];
        for (signal, kbps) in table {
            let rate = rate_of(signal).map_or(0, Rate::as_bps);
            let shown = kbps * 1000;
            assert!(rate.abs_diff(shown) * 200 <= shown, "{signal}: {rate}");
        }
        assert_eq!(rate_of(1), Some(bps(112_202)));
        assert_eq!(rate_of(126), Some(bps(199_526_231_497)));
    }

    #[test]
    fn a_rate_becomes_the_one_below_it() {
        let of = |rate| Advice::of(bps(rate), Instant::ZERO, true).map(|advice| advice.rate);
        assert_eq!(of(100_000), Some(bps(100_000)));
        assert_eq!(of(99_999), None);
        assert_eq!(of(20_000_000), Some(bps(19_952_623)));
        assert_eq!(of(10_000_000), Some(bps(10_000_000)));
        assert_eq!(of(400_000_000_000), Some(bps(199_526_231_497)));
    }

    #[test]
    fn the_lower_of_two_applies_as_long_as_it_lasts() {
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        let advice =
            |rate, s| Advice::of(bps(rate), at(s), false).unwrap_or_else(|| unreachable!());
        let mut all = AdviceInForce::default();
        let low = advice(1_000_000, 0);
        assert_eq!(all.take(low, at(0)), low);
        assert_eq!(low.until, at(67));
        let high = advice(10_000_000, 30);
        assert_eq!(all.take(high, at(30)), low);
        let higher = advice(20_000_000, 67);
        assert_eq!(all.take(higher, at(67)), high, "the first has expired");
        let other_path = Advice {
            anew: true,
            ..advice(20_000_000, 68)
        };
        assert_eq!(all.take(other_path, at(68)), other_path);
    }
}
