//! The minimum or maximum over a time window, from three samples (lib/win_minmax.c): the best one, the
//! best after that, and the best after the second.

/// Samples with their times, in any unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Three {
    best: Option<[(u64, u64); 3]>,
    /// Up to this time a sample that is worse than the third changes nothing, with the window of the last one.
    until: u64,
}

impl Three {
    const NONE: Self = Self {
        best: None,
        until: 0,
    };

    /// Takes a sample; one that is at least as good as an earlier one replaces it.
    #[inline(never)]
    fn sample(&mut self, now: u64, window: u64, value: u64, as_good: impl Fn(u64, u64) -> bool) {
        let new = (now, value);
        let best = self.best.get_or_insert([new; 3]);
        Self::replace(best, new, window, as_good);
        let [first, second, third] = best.map(|(at, _)| at);
        let ages = [(first, second, window / 4), (second, third, window / 2)];
        let tied = ages.iter().filter(|(a, b, _)| a == b);
        let least = tied.map(|(.., age)| *age).min().unwrap_or(window);
        self.until = first + least;
    }

    fn replace(
        best: &mut [(u64, u64); 3],
        new: (u64, u64),
        window: u64,
        as_good: impl Fn(u64, u64) -> bool,
    ) {
        let (now, value) = new;
        if as_good(value, best[0].1) || now - best[2].0 > window {
            *best = [new; 3];
            return;
        }
        if as_good(value, best[1].1) {
            *best = [best[0], new, new];
        } else if as_good(value, best[2].1) {
            best[2] = new;
        }
        let age = now - best[0].0;
        if age > window {
            *best = [best[1], best[2], new];
            if now - best[0].0 > window {
                *best = [best[1], new, new];
            }
        } else if best[1].0 == best[0].0 && age > window / 4 {
            *best = [best[0], new, new];
        } else if best[2].0 == best[1].0 && age > window / 2 {
            best[2] = new;
        }
    }

    fn get(&self) -> Option<u64> {
        self.best.map(|best| best[0].1)
    }
}

/// The minimum over a time window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowedMin(Three);

impl WindowedMin {
    /// The minimum, if there was a sample.
    pub fn get(&self) -> Option<u64> {
        self.0.get()
    }

    /// Takes a sample; time never decreases, and the window is always the same.
    #[inline]
    pub fn sample(&mut self, now: u64, window: u64, value: u64) {
        let is_worse = self.0.best.is_some_and(|best| value > best[2].1);
        if !is_worse || now > self.0.until {
            self.0.sample(now, window, value, |new, old| new <= old);
        }
    }
}

/// The maximum over a time window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowedMax(Three);

impl WindowedMax {
    /// No sample yet.
    pub const NONE: Self = Self(Three::NONE);

    /// The maximum, if there was a sample.
    pub fn get(&self) -> Option<u64> {
        self.0.get()
    }

    /// Takes a sample; time never decreases.
    pub fn sample(&mut self, now: u64, window: u64, value: u64) {
        self.0.sample(now, window, value, |new, old| new >= old);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Samples that change nothing are skipped.
        #[test]
        fn a_minimum_is_that_of_all_samples(
            samples in prop::collection::vec((0_u64..40, 0_u64..20), 1..200),
        ) {
            let (mut min, mut all) = (WindowedMin::default(), Three::default());
            let mut now = 0;
            for (passed, value) in samples {
                now += passed;
                min.sample(now, 100, value);
                all.sample(now, 100, value, |new, old| new <= old);
                prop_assert_eq!(min.0.best, all.best);
            }
        }
    }

    #[test]
    fn a_minimum_is_forgotten_after_its_window() {
        let mut min = WindowedMin::default();
        min.sample(0, 100, 40);
        min.sample(10, 100, 50);
        assert_eq!(min.get(), Some(40));
        min.sample(60, 100, 60);
        min.sample(101, 100, 70);
        assert!(min.get().is_some_and(|least| least > 40 && least <= 70));
        min.sample(102, 100, 30);
        assert_eq!(min.get(), Some(30));
    }

    /// A maximum over ten rounds: the 9 of round 0 is kept until round 10, and then the best of later
    /// ones.
    #[test]
    fn a_maximum_is_forgotten_after_its_window() {
        let mut max = WindowedMax::default();
        assert_eq!(max.get(), None);
        max.sample(0, 10, 9);
        for round in 1..=10 {
            max.sample(round, 10, if round == 4 { 7 } else { 3 });
            assert_eq!(max.get(), Some(9));
        }
        max.sample(11, 10, 3);
        assert_eq!(max.get(), Some(7));
    }
}
