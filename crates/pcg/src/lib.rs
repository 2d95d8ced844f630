//! PCG32 (O'Neill 2014, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
//! Generation", section 6.3: XSH RR with 64 bits of state) for QUIC stacks whose BBR makes one by
//! `from_rng` from the operating system's randomness, with no way to give it a seed.
//!
//! It has the name and the numbers of the published crate `rand_pcg`, whose place it takes in this
//! workspace, and differs in one point: `from_rng` takes the seed that [`seed_next`] has left on this thread.

use std::cell::Cell;
use std::convert::Infallible;

pub use rand_core;
use rand_core::{Rng, SeedableRng, TryRng};

/// The multiplier of the state (the reference implementation's `PCG_DEFAULT_MULTIPLIER_64`).
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

thread_local! {
    static NEXT: Cell<Option<[u8; 16]>> = const { Cell::new(None) };
}

/// The generator that this thread makes next by `from_rng` gets this seed.
pub fn seed_next(seed: [u8; 16]) {
    NEXT.set(Some(seed));
}

/// PCG32.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pcg32 {
    state: u64,
    increment: u64,
}

impl Pcg32 {
    /// The generator that the reference implementation's `pcg32_srandom` makes.
    pub fn new(state: u64, stream: u64) -> Self {
        Self::begin(state, stream << 1 | 1)
    }

    fn begin(state: u64, increment: u64) -> Self {
        let mut pcg = Self {
            state: state.wrapping_add(increment),
            increment,
        };
        pcg.step();
        pcg
    }

    fn step(&mut self) {
        let product = self.state.wrapping_mul(MULTIPLIER);
        self.state = product.wrapping_add(self.increment);
    }

    fn draw(&mut self) -> u32 {
        let state = self.state;
        self.step();
        let shifted = ((state >> 18) ^ state) >> 27;
        (shifted as u32).rotate_right((state >> 59) as u32)
    }
}

impl SeedableRng for Pcg32 {
    type Seed = [u8; 16];

    fn from_seed(seed: [u8; 16]) -> Self {
        let word = |from: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&seed[from..from + 8]);
            u64::from_le_bytes(bytes)
        };
        Self::begin(word(0), word(8) | 1)
    }

    fn from_rng<R: Rng + ?Sized>(rng: &mut R) -> Self {
        let seed = NEXT.take().unwrap_or_else(|| {
            let mut seed = [0; 16];
            rng.fill_bytes(&mut seed);
            seed
        });
        Self::from_seed(seed)
    }
}

impl TryRng for Pcg32 {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.draw())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let low = u64::from(self.draw());
        Ok(u64::from(self.draw()) << 32 | low)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for piece in bytes.chunks_mut(4) {
            let word = self.draw().to_le_bytes();
            piece.copy_from_slice(&word[..piece.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the reference implementation's `pcg32-demo` prints first.
    #[test]
    fn its_numbers_are_those_of_the_reference_implementation() {
        let mut pcg = Pcg32::new(42, 54);
        let drawn: Vec<u32> = (0..6).map(|_| pcg.next_u32()).collect();
        assert_eq!(
            drawn,
            [
                0xa15c_02b7,
                0x7b47_f409,
                0xba1d_3330,
                0x83d2_f293,
                0xbfa4_784b,
                0xcbed_606e
            ]
        );
    }

    #[test]
    fn the_next_one_has_the_seed_that_was_left() {
        let mut other = Pcg32::new(1, 1);
        let seed = [7; 16];
        seed_next(seed);
        assert_eq!(Pcg32::from_rng(&mut other), Pcg32::from_seed(seed));
        let first = Pcg32::from_rng(&mut other);
        assert_ne!(first, Pcg32::from_seed(seed));
        assert_ne!(first, Pcg32::from_rng(&mut other));
    }
}
