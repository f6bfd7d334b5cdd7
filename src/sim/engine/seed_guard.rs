//! Naming the seed of a failing test.

/// Prints its seed when the test that holds it panics, so that the failure can be replayed.
///
/// ```
/// let seed = chainbox::sim::SeedGuard::new(42);
/// assert_eq!(seed.get(), 42);
/// ```
#[derive(Debug)]
#[must_use = "the seed is printed when the guard is dropped by a panic"]
pub struct SeedGuard {
    seed: u64,
}

impl SeedGuard {
    /// Watches over `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The seed.
    pub const fn get(&self) -> u64 {
        self.seed
    }
}

impl Drop for SeedGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed = {}", self.seed);
        }
    }
}
