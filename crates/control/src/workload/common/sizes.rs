//! Sizes of transfers and objects, given or drawn.

use std::fmt;

/// A size in bytes, constant or drawn from a distribution with this mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizes {
    /// Always this size.
    Fixed(u64),
    /// Exponential.
    Exponential(u64),
    /// Pareto with this shape, above 1: few large ones among many small ones (Crovella & Bestavros, "Self-Similarity in
    /// World Wide Web Traffic", 1997, found 1.0 to 1.5 for files of the web).
    Pareto(f64, u64),
    /// Lognormal with this standard deviation of the logarithm (Downey, "Lognormal and Pareto distributions in the Internet",
    /// 2005, fits sizes of files with it).
    Lognormal(f64, u64),
}

/// Maximum size drawn, in bytes.
const MOST: f64 = 1e12;

impl Sizes {
    /// What is accepted.
    pub const ACCEPTS: &'static str =
        "a size such as 50 kB, or one drawn: exponential 50 kB, pareto 1.5 50 kB (shape, mean), lognormal 1.5 50 kB (sigma, mean)";

    /// Reads "50 kB", "exponential 50 kB", "pareto 1.5 50 kB" or "lognormal 1.5 50 kB".
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(mean) = text.strip_prefix("exponential ") {
            return Some(Self::Exponential(read_bytes(mean)?));
        }
        let shaped = |rest: &str| {
            let (shape, mean) = rest.trim().split_once(' ')?;
            Some((shape.parse::<f64>().ok()?, read_bytes(mean)?))
        };
        if let Some(rest) = text.strip_prefix("lognormal ") {
            let (sigma, mean) = shaped(rest)?;
            return (sigma > 0.0 && sigma <= 10.0).then_some(Self::Lognormal(sigma, mean));
        }
        if let Some(rest) = text.strip_prefix("pareto ") {
            let (shape, mean) = shaped(rest)?;
            return (shape > 1.0 && shape <= 100.0).then_some(Self::Pareto(shape, mean));
        }
        read_bytes(text).map(Self::Fixed)
    }

    /// A size, from a uniform number in [0, 1) by the inverse of its distribution.
    pub fn draw(self, uniform: impl FnOnce() -> f64) -> u64 {
        let bytes = match self {
            Self::Fixed(bytes) => return bytes,
            Self::Exponential(mean) => -libm::log(1.0 - uniform()) * mean as f64,
            Self::Pareto(shape, mean) => {
                let least = mean as f64 * (shape - 1.0) / shape;
                least / libm::pow(1.0 - uniform(), 1.0 / shape)
            }
            Self::Lognormal(sigma, mean) => {
                let middle = libm::log(mean as f64) - sigma * sigma / 2.0;
                libm::exp(middle + sigma * normal_quantile(uniform()))
            }
        };
        (bytes.min(MOST) as u64).max(1)
    }

    /// Whether it is drawn.
    pub fn is_random(self) -> bool {
        !matches!(self, Self::Fixed(_))
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(bytes) => write!(f, "{bytes} B"),
            Self::Exponential(mean) => write!(f, "exponential {mean} B"),
            Self::Pareto(shape, mean) => write!(f, "pareto {shape} {mean} B"),
            Self::Lognormal(sigma, mean) => write!(f, "lognormal {sigma} {mean} B"),
        }
    }
}

/// The quantile of the standard normal distribution: the root of Phi(z) = share by bisection, with Phi(z) = erfc(-z / sqrt 2) / 2.
/// The bracket holds every double in (0, 1); a share of 0 gives its lower end.
fn normal_quantile(share: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    // As often as halves it to neighbouring doubles about 1.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        let below = libm::erfc(-middle * std::f64::consts::FRAC_1_SQRT_2) / 2.0;
        if below < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Reads bytes: "50 kB".
pub fn read_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (digits, unit) = text.split_at(end);
    let number: f64 = digits.parse().ok()?;
    let scale: u64 = match unit.trim() {
        "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" | "kiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    let bytes = number * scale as f64;
    (1.0..=1e15).contains(&bytes).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_others_are_not() {
        assert_eq!(Sizes::read("50 kB"), Some(Sizes::Fixed(50_000)));
        let exponential = Some(Sizes::Exponential(1_500));
        assert_eq!(Sizes::read("exponential 1.5 kB"), exponential);
        let pareto = Some(Sizes::Pareto(1.2, 10_000));
        assert_eq!(Sizes::read(" pareto 1.2 10 kB "), pareto);
        let lognormal = Some(Sizes::Lognormal(1.5, 50_000));
        assert_eq!(Sizes::read("lognormal 1.5 50 kB"), lognormal);
        for text in [
            "lognormal 0 10 kB",
            "lognormal 10 kB",
            "lognormal 11 10 kB",
            "",
            "50",
            "0 B",
            "exponential",
            "pareto 1 10 kB",
            "pareto 10 kB",
            "-1 kB",
        ] {
            assert_eq!(Sizes::read(text), None, "{text}");
        }
    }

    /// Quantiles of the normal distribution as tables have them (Abramowitz & Stegun, table 26.5), and of both ends.
    #[test]
    fn normal_quantiles_are_those_of_tables() {
        for (share, expected) in [
            (0.5, 0.0),
            (0.975, 1.959_964),
            (0.025, -1.959_964),
            (0.999, 3.090_232),
        ] {
            let found = normal_quantile(share);
            assert!((found - expected).abs() < 1e-6, "{share}: {found}");
        }
        assert!(normal_quantile(0.0) < -39.0);
        let last = normal_quantile(1.0 - f64::EPSILON / 2.0);
        assert!((8.0..9.0).contains(&last), "{last}");
        // The median of a lognormal size is below its mean by a factor of exp(sigma^2 / 2).
        let median = Sizes::Lognormal(1.0, 100_000).draw(|| 0.5);
        assert_eq!(median, 60_653);
        assert_eq!(Sizes::Lognormal(10.0, 1).draw(|| 0.0), 1);
    }

    /// The mean of the inverse at evenly spaced positions is the mean of the distribution.
    #[test]
    fn drawn_sizes_have_their_mean() {
        for (sizes, off) in [
            (Sizes::Exponential(10_000), 1e-3),
            (Sizes::Pareto(2.5, 10_000), 5e-3),
            (Sizes::Lognormal(1.0, 10_000), 1e-3),
        ] {
            let many = 1_000_000;
            let sum: f64 = (0..many)
                .map(|i| sizes.draw(|| (f64::from(i) + 0.5) / f64::from(many)) as f64)
                .sum();
            let mean = sum / f64::from(many);
            assert!((mean / 10_000.0 - 1.0).abs() < off, "{sizes}: {mean}");
        }
    }
}
