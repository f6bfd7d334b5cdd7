//! Sender recovery of many raw transactions: in parallel, with a cache by hash.

use std::sync::{Arc, Mutex, PoisonError};

use alloy_primitives::{Address, B256, keccak256, map::HashMap};

use super::{Transaction, TransactionError};

/// Hashes per generation of the cache; two generations are kept at most.
const REMEMBERED_MAX: usize = 65_536;

/// Smallest batch that is recovered in parallel: below it, starting a thread costs more.
const PARALLEL_MIN: usize = 8;

/// Decodes raw transactions and recovers their senders, each signature once.
///
/// Clones share the cache. Results do not depend on the number of cores.
#[derive(Clone, Debug, Default)]
pub struct SenderRecovery {
    remembered: Arc<Mutex<SenderGenerations>>,
}

/// Two generations: when the young one is full, it replaces the old one.
#[derive(Debug, Default)]
struct SenderGenerations {
    young: HashMap<B256, Address>,
    old: HashMap<B256, Address>,
}

impl SenderRecovery {
    /// Creates an empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes one raw transaction and recovers its sender unless it is cached.
    ///
    /// # Errors
    /// As [`Transaction::decode`].
    pub fn decode(&self, raw: &[u8]) -> Result<Transaction, TransactionError> {
        let hash = keccak256(raw);
        if let Some(sender) = self.lookup(hash) {
            return Transaction::decode_with_sender(raw, sender);
        }
        let transaction = Transaction::decode(raw)?;
        self.remember(transaction.hash(), transaction.sender());
        Ok(transaction)
    }

    /// Decodes many transactions on all cores; results are in the order of `raws`.
    pub fn decode_batch<R: AsRef<[u8]> + Sync>(&self, raws: &[R]) -> Vec<Result<Transaction, TransactionError>> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        if raws.len() < PARALLEL_MIN || threads == 1 {
            return raws.iter().map(|raw| self.decode(raw.as_ref())).collect();
        }
        let share = raws.len().div_ceil(threads);
        let decode_share = |part: &[R]| part.iter().map(|raw| self.decode(raw.as_ref())).collect::<Vec<_>>();
        std::thread::scope(|scope| {
            let workers: Vec<_> = raws.chunks(share).map(|part| scope.spawn(move || decode_share(part))).collect();
            workers
                .into_iter()
                .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }

    fn lookup(&self, hash: B256) -> Option<Address> {
        let generations = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        generations.young.get(&hash).or_else(|| generations.old.get(&hash)).copied()
    }

    fn remember(&self, hash: B256, sender: Address) {
        let mut generations = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if generations.young.len() >= REMEMBERED_MAX {
            generations.old = core::mem::take(&mut generations.young);
        }
        generations.young.insert(hash, sender);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::{Gas, KeyPair, TransactionRequest};

    fn raw(nonce: u64) -> alloy_primitives::Bytes {
        let request =
            TransactionRequest { chain_id: Some(1), nonce, gas_limit: Gas::new(21_000), ..Default::default() };
        request.sign(&KeyPair::from_seed(nonce, "sender")).unwrap().encoded()
    }

    #[test]
    fn a_batch_returns_in_order_and_caches() {
        let recovery = SenderRecovery::new();
        let mut raws: Vec<_> = (0..20).map(raw).collect();
        raws[5] = vec![0xc0].into();
        for _ in 0..2 {
            for (nonce, answer) in (0..).zip(recovery.decode_batch(&raws)) {
                if nonce == 5 {
                    assert!(answer.is_err());
                } else {
                    assert_eq!(answer.unwrap().sender(), KeyPair::from_seed(nonce, "sender").address());
                }
            }
        }
        assert_eq!(recovery.remembered.lock().unwrap().young.len(), 19);
    }

    #[test]
    fn the_cache_is_bounded() {
        let mut generations = SenderGenerations::default();
        generations.young.insert(B256::ZERO, Address::ZERO);
        let recovery = SenderRecovery { remembered: Arc::new(Mutex::new(generations)) };
        for index in 0..3 * REMEMBERED_MAX as u64 {
            recovery.remember(B256::left_padding_from(&index.to_be_bytes()), Address::ZERO);
        }
        let generations = recovery.remembered.lock().unwrap();
        assert!(generations.young.len() <= REMEMBERED_MAX && generations.old.len() <= REMEMBERED_MAX);
        drop(generations);
        assert_eq!(recovery.lookup(B256::ZERO), None);
    }
}
