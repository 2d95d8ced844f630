//! Random numbers for a controller: a stream for each flow and run.

/// splitmix64 (Steele, Lea and Flood 2014).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Draws {
    seed: u64,
    drawn: u64,
}

impl Draws {
    pub(super) const NEW: Self = Self { seed: 0, drawn: 0 };

    /// Sets the seed of all following numbers.
    pub(super) fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// The next number below `most`.
    pub(super) fn below(&mut self, most: u64) -> u64 {
        self.drawn += 1;
        let mut z = self
            .seed
            .wrapping_add(self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * u128::from(most)) >> 64) as u64
    }
}
