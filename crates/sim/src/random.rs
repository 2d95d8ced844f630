//! Random streams by name.
//!
//! The drawn numbers depend on the names alone, not on other draws: an additional link, or a model
//! that draws more, does not shift any other stream. The key of a stream is the BLAKE3 hash of its
//! names, the generator is xoshiro256++ (Blackman and Vigna 2021, "Scrambled linear pseudorandom
//! number generators"), keyed by the 256 bits of the hash; both are specified, so streams never
//! change.

use std::convert::Infallible;

use rand_core::{Rng, SeedableRng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of a [`key`].
    pub(crate) fn from_key(key: [u8; 32]) -> Self {
        Self(Xoshiro256PlusPlus::from_seed(key))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        Rng::next_u64(&mut self.0)
    }

    /// The next number in [0, 1): a multiple of 2^-53 from the upper 53 of the next 64 bits.
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes)
    }
}

/// The stream of `run` of the experiment `seed` from which `component` (a link, a source) draws for
/// `purpose`.
pub fn stream(seed: u64, run: u64, component: &str, purpose: &str) -> Stream {
    Stream::from_key(key(seed, run, component, purpose))
}

/// The key of a [`stream`]: the generator's first state as four little-endian words.
pub(crate) fn key(seed: u64, run: u64, component: &str, purpose: &str) -> [u8; 32] {
    let (seed, run) = (seed.to_le_bytes(), run.to_le_bytes());
    let mut hasher = blake3::Hasher::new();
    // With their lengths, so that different lists of names never have the same bytes.
    for field in [&seed[..], &run, component.as_bytes(), purpose.as_bytes()] {
        hasher.update(&(field.len() as u64).to_le_bytes());
        hasher.update(field);
    }
    *hasher.finalize().as_bytes()
}

/// A seed for a component with its own streams, such as [`crate::Impairments`]: the first 64 bits
/// of the [`stream`] of these names.
pub fn seed(seed: u64, run: u64, component: &str, purpose: &str) -> u64 {
    stream(seed, run, component, purpose).next_u64()
}

/// An event with a given probability, decided by comparing 64 random bits with an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chance(u128);

impl Chance {
    /// With a probability from 0 to 1, rounded to 2^-64.
    pub(crate) fn new(probability: f64) -> Self {
        Self((probability * 2.0_f64.powi(64)) as u128)
    }

    /// The threshold that 64 random bits must be below; the maximum means certainty.
    pub(crate) fn threshold(self) -> u64 {
        u64::try_from(self.0).unwrap_or(u64::MAX)
    }

    /// Whether the event occurs; takes one draw.
    pub(crate) fn draw(self, stream: &mut Stream) -> bool {
        u128::from(stream.next_u64()) < self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed independently, in Python, from the two specifications.
    #[test]
    fn streams_never_change() {
        let mut s = stream(1, 2, "link", "loss");
        let drawn = [(); 4].map(|()| s.next_u64());
        let expected = [
            0x2e68_5eca_9580_0266,
            0x6386_fb6a_553b_b7e9,
            0x0c39_924f_897d_4494,
            0x9e6a_653e_b520_68a9,
        ];
        assert_eq!(drawn, expected);
        assert_eq!(stream(0, 0, "", "").next_u64(), 0xc567_cb2d_12e4_4be8);
        assert_eq!(seed(1, 2, "link", "loss"), drawn[0]);
        assert_eq!(
            stream(1, 2, "link", "loss").next_f64(),
            0.181_280_064_066_868_36
        );
    }

    #[test]
    fn every_name_matters_and_where_one_ends() {
        let names = [
            (1, 2, "ab", "c"),
            (2, 1, "ab", "c"),
            (1, 2, "a", "bc"),
            (1, 2, "abc", ""),
            (1, 2, "c", "ab"),
            (1, 3, "ab", "c"),
        ];
        let mut seeds = names.map(|(s, run, component, purpose)| seed(s, run, component, purpose));
        seeds.sort_unstable();
        assert!(seeds.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn a_chance_is_never_for_0_and_always_for_1() {
        let mut s = stream(3, 0, "chance", "test");
        for _ in 0..1_000 {
            assert!(!Chance::new(0.0).draw(&mut s));
            assert!(Chance::new(1.0).draw(&mut s));
        }
        assert_eq!(Chance::new(0.5), Chance(1 << 63));
        assert_eq!(Chance::new(1.0), Chance(1 << 64));
    }

    /// The mean of 100,000 uniform numbers is within 4 sigma of a half: 4 / sqrt(12 * 100,000).
    #[test]
    fn numbers_are_from_0_to_1() {
        let mut s = stream(3, 0, "unit", "test");
        let mut sum = 0.0;
        for _ in 0..100_000 {
            let x = s.next_f64();
            assert!((0.0..1.0).contains(&x));
            sum += x;
        }
        assert!((sum / 1e5 - 0.5).abs() < 0.0037, "{sum}");
    }
}
