//! Bounds and rules of a pool.

use core::time::Duration;

/// Configuration of a pool: bounds and rules.
///
/// What a development node sends itself is executable, and the bounds of that are wide; what waits for something else
/// (an earlier nonce, a balance) is queued, and the bounds of that are geth's.
///
/// | bound | default | geth | reth |
/// |---|---|---|---|
/// | `transactions_max` | 131,072 | 6,144 slots | 10,000 a sub-pool |
/// | `per_sender_max` | 16,384 | 16 when full | 16 |
/// | `bytes_max` | 64 MiB | 192 MiB (slots of 32 KiB) | 20 MiB a sub-pool |
/// | `transaction_bytes_max` | 128 KiB | 128 KiB | 128 KiB |
/// | `queued_max` | 1,024 | 1,024 | 10,000 |
/// | `queued_per_sender_max` | 64 | 64 | 16 |
/// | `queued_lifetime` | 3 hours | 3 hours | 3 hours |
/// | `replacement_percent` | 10 | 10 | 10 |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolConfig {
    /// Chain id of valid transactions.
    pub chain_id: u64,
    /// Largest number of transactions.
    pub transactions_max: usize,
    /// Largest number of transactions of one sender.
    pub per_sender_max: usize,
    /// Largest sum of the encoded lengths of all transactions, in bytes.
    pub bytes_max: usize,
    /// Largest encoded length of one transaction, in bytes.
    pub transaction_bytes_max: usize,
    /// Largest number of queued transactions. As in geth, those that were ready before may exceed it until the next head.
    pub queued_max: usize,
    /// Largest number of queued transactions of one sender, in the same way.
    pub queued_per_sender_max: usize,
    /// Time after which a queued transaction is dropped, by the timestamps of blocks. Whole seconds count.
    pub queued_lifetime: Duration,
    /// Least increase of both fee fields in a replacement, in percent.
    pub replacement_percent: u8,
    /// Whether unsigned (impersonated) transactions are valid.
    pub allow_impersonated: bool,
}

impl PoolConfig {
    /// Returns the configuration for the chain with this id, with the default bounds.
    pub const fn new(chain_id: u64) -> Self {
        Self {
            chain_id,
            transactions_max: 131_072,
            per_sender_max: 16_384,
            bytes_max: 64 << 20,
            transaction_bytes_max: 128 << 10,
            queued_max: 1_024,
            queued_per_sender_max: 64,
            queued_lifetime: Duration::from_secs(3 * 60 * 60),
            replacement_percent: 10,
            allow_impersonated: false,
        }
    }

    /// Sets the largest number of transactions, in the pool and of one sender.
    #[must_use]
    pub const fn with_limits(self, transactions_max: usize, per_sender_max: usize) -> Self {
        Self { transactions_max, per_sender_max, ..self }
    }

    /// Sets the largest encoded length of all transactions and of one, in bytes.
    #[must_use]
    pub const fn with_byte_limits(self, bytes_max: usize, transaction_bytes_max: usize) -> Self {
        Self { bytes_max, transaction_bytes_max, ..self }
    }

    /// Sets the largest number of queued transactions, in the pool and of one sender.
    #[must_use]
    pub const fn with_queue_limits(self, queued_max: usize, queued_per_sender_max: usize) -> Self {
        Self { queued_max, queued_per_sender_max, ..self }
    }

    /// Sets the time after which a queued transaction is dropped, in whole seconds.
    #[must_use]
    pub const fn with_queued_lifetime(self, queued_lifetime: Duration) -> Self {
        Self { queued_lifetime, ..self }
    }

    /// Sets the least increase of both fee fields in a replacement, in percent.
    #[must_use]
    pub const fn with_replacement_percent(self, replacement_percent: u8) -> Self {
        Self { replacement_percent, ..self }
    }

    /// Sets whether unsigned (impersonated) transactions are valid.
    #[must_use]
    pub const fn with_impersonated(self, allow_impersonated: bool) -> Self {
        Self { allow_impersonated, ..self }
    }
}
