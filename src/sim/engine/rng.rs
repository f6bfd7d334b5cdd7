//! Randomness of a run: named streams of ChaCha8, all from one seed.

use core::fmt;

use chacha20::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// Makes the streams of one seed. Each name is its own stream, so that one subsystem's draws never move another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// The streams of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The stream called `name`, from its beginning.
    pub fn stream(&self, name: &str) -> SimRng {
        let material = [self.seed.to_be_bytes().as_slice(), name.as_bytes()].concat();
        let key = blake3::derive_key("chainbox random stream", &material);
        SimRng { key, inner: ChaCha8Rng::from_seed(key) }
    }
}

/// One stream: ChaCha with 8 rounds, never the operating system.
pub struct SimRng {
    key: [u8; 32],
    inner: ChaCha8Rng,
}

impl SimRng {
    /// Any `u64`.
    pub fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }

    /// A number below `bound`, each equally likely; 0 for a bound of 0.
    ///
    /// Multiply and reject (Lemire, "Fast Random Integer Generation in an Interval", 2019).
    pub fn below(&mut self, bound: u64) -> u64 {
        let threshold = bound.wrapping_neg().checked_rem(bound).unwrap_or_default();
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }
}

impl SimRng {
    /// Whether an event of this probability, in thousandths, happens; 1,000 and above always does.
    pub fn chance(&mut self, per_mille: u16) -> bool {
        self.below(1_000) < u64::from(per_mille)
    }

    /// An exponentially distributed number with this mean, by integers alone: `-ln(u) * mean` for a uniform `u`.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        /// ln 2, in units of 2^-32.
        const LN_2: u128 = 2_977_044_472;
        // -log2(u) = 64 - log2(x) for x uniform in 1..2^64.
        let minus_log2 = (64_u64 << 32) - log2(self.next_u64().max(1));
        let nanos = (((u128::from(minus_log2) * LN_2) >> 32) * u128::from(mean)) >> 32;
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

/// Binary logarithm of a number of at least 1, in units of 2^-32, cut off (bit by bit, by squaring).
fn log2(number: u64) -> u64 {
    let whole = 63 - number.leading_zeros();
    // The mantissa, between 1 and 2, in units of 2^-63.
    let mut mantissa = u128::from(number << (63 - whole));
    let mut fraction = 0;
    for _ in 0..32 {
        mantissa = (mantissa * mantissa) >> 63;
        fraction <<= 1;
        if mantissa >> 64 != 0 {
            fraction |= 1;
            mantissa >>= 1;
        }
    }
    (u64::from(whole) << 32) | fraction
}

/// Goes on from the same place in the stream.
impl Clone for SimRng {
    fn clone(&self) -> Self {
        let mut inner = ChaCha8Rng::from_seed(self.key);
        inner.set_word_pos(self.inner.get_word_pos());
        Self { key: self.key, inner }
    }
}

/// Shows nothing of the state.
impl fmt::Debug for SimRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimRng").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_pinned_and_apart() {
        /// Changing it changes every run.
        const PINNED: u64 = 17_649_518_188_233_417_431;
        let draw = |seed, name| Streams::new(seed).stream(name).next_u64();
        assert_eq!(draw(1, "links"), PINNED);
        assert_ne!(draw(1, "links"), draw(1, "draws"));
        assert_ne!(draw(1, "links"), draw(2, "links"));
    }

    #[test]
    fn a_clone_goes_on_at_the_same_place() {
        let mut one = Streams::new(1).stream("clone");
        for _ in 0..100 {
            let mut other = one.clone();
            assert_eq!(one.next_u64(), other.next_u64());
        }
    }

    #[test]
    fn logarithms_are_right_to_the_last_bits() {
        assert_eq!((log2(1), log2(2), log2(1 << 40)), (0, 1 << 32, 40 << 32));
        // log2(3) = 1.584962500721156...
        assert_eq!(log2(3), (1 << 32) + 2_512_394_809);
    }

    #[test]
    fn exponential_numbers_have_their_mean_and_median() {
        let mut rng = Streams::new(3).stream("test");
        let mut drawn: Vec<_> = (0..20_000).map(|_| rng.exponential(1_000_000)).collect();
        drawn.sort_unstable();
        let mean = drawn.iter().sum::<u64>() / 20_000;
        assert!((970_000..1_030_000).contains(&mean), "{mean}");
        let median = drawn[10_000];
        assert!((670_000..715_000).contains(&median), "{median}");
        assert_eq!(rng.exponential(0), 0);
    }

    #[test]
    fn below_keeps_its_bound_and_reaches_everything() {
        let mut rng = Streams::new(3).stream("test");
        assert_eq!((rng.below(0), rng.below(1)), (0, 0));
        let mut seen = [0_u32; 5];
        for _ in 0..5_000 {
            seen[rng.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (800..1_200).contains(count)), "{seen:?}");
    }
}
