//! Unpredictable bytes: identifiers, API keys and secrets come from the operating system's generator.

use core::fmt;

use alloy_primitives::hex;

/// A source of unpredictable bytes. Implementations are called from several threads at once.
///
/// The trait is object-safe: a platform takes an `Arc<dyn Entropy>`, so that tests can replace [`OsEntropy`].
pub trait Entropy: fmt::Debug + Send + Sync {
    /// Fills `bytes` with random bytes.
    ///
    /// # Errors
    /// [`EntropyError`] when the generator fails. The content of `bytes` is then unspecified and must not be used.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError>;
}

/// The operating system's generator, as the `getrandom` crate reads it.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        getrandom::fill(bytes).map_err(|cause| EntropyError::new(cause.to_string()))
    }
}

/// The generator of random bytes failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no random bytes: the generator failed: {reason}")]
pub struct EntropyError {
    reason: String,
}

impl EntropyError {
    /// A failure for the reason that the generator gave.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

/// Returns a new identifier: `prefix_` and 16 random hex digits.
pub(super) fn random_id(entropy: &dyn Entropy, prefix: &str) -> Result<String, EntropyError> {
    Ok(format!("{prefix}_{}", hex::encode(random_bytes::<8>(entropy)?)))
}

/// Returns `LEN` random bytes.
pub(super) fn random_bytes<const LEN: usize>(entropy: &dyn Entropy) -> Result<[u8; LEN], EntropyError> {
    let mut bytes = [0; LEN];
    entropy.fill(&mut bytes)?;
    Ok(bytes)
}

/// Generators for tests.
#[cfg(test)]
pub(super) mod testing {
    use core::{
        cell::Cell,
        sync::atomic::{AtomicU8, AtomicU64, Ordering},
    };

    use alloy_primitives::keccak256;

    use super::{Entropy, EntropyError};

    /// Repeats one byte in each call, one more in every next call.
    #[derive(Debug, Default)]
    pub(crate) struct CountingEntropy(AtomicU8);

    impl CountingEntropy {
        /// Starts at `first`.
        pub(crate) const fn starting_at(first: u8) -> Self {
            Self(AtomicU8::new(first))
        }
    }

    impl Entropy for CountingEntropy {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> {
            bytes.fill(self.0.fetch_add(1, Ordering::Relaxed));
            Ok(())
        }
    }

    /// A stream of bytes that is the same in each run of a test, and another for each generator of the test, so that a restarted
    /// process repeats no id.
    #[derive(Debug)]
    pub(crate) struct SeededEntropy {
        seed: u64,
        calls: AtomicU64,
    }

    impl SeededEntropy {
        /// The next generator of the thread, which runs one test.
        pub(crate) fn of_thread() -> Self {
            std::thread_local!(static MADE: Cell<u64> = const { Cell::new(0) });
            Self { seed: MADE.replace(MADE.get() + 1), calls: AtomicU64::new(0) }
        }
    }

    impl Entropy for SeededEntropy {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> {
            let call = self.calls.fetch_add(1, Ordering::Relaxed);
            for (at, part) in (0_u64..).zip(bytes.chunks_mut(32)) {
                let block = keccak256([self.seed, call, at].map(u64::to_be_bytes).concat());
                part.copy_from_slice(&block[..part.len()]);
            }
            Ok(())
        }
    }

    /// Fails always.
    #[derive(Debug)]
    pub(crate) struct FailingEntropy;

    impl Entropy for FailingEntropy {
        fn fill(&self, _: &mut [u8]) -> Result<(), EntropyError> {
            Err(EntropyError::new("no device"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{testing::FailingEntropy, *};

    #[test]
    fn ids_have_a_prefix_and_sixteen_digits() {
        let id = random_id(&testing::CountingEntropy::starting_at(0xab), "bc").unwrap();
        assert_eq!(id, "bc_abababababababab");
    }

    #[test]
    fn the_operating_systems_draws_differ() {
        let (first, second) = (random_bytes::<32>(&OsEntropy).unwrap(), random_bytes::<32>(&OsEntropy).unwrap());
        assert!(first != second && first != [0; 32]);
    }

    #[test]
    fn a_failing_generator_gives_no_bytes() {
        let failed: &dyn Entropy = &FailingEntropy;
        let error = random_id(failed, "bc").unwrap_err();
        assert_eq!(error.to_string(), "no random bytes: the generator failed: no device");
    }
}
