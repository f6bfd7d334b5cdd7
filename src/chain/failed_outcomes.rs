//! Outcomes of failed transactions, kept where they were executed: a receipt has neither the reason nor the revert data.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use alloy_primitives::{B256, Bytes};

use super::executor::Executed;
use crate::primitives::maps::LookupMap;

/// Failed transactions whose outcome is kept; the oldest is evicted first.
const OUTCOMES_MAX: usize = 4_096;
/// Bytes of revert data kept for one transaction; longer data is cut.
const OUTPUT_BYTES_MAX: usize = 1_024;

/// Outcomes of the last failed transactions of blocks built in this process, by transaction hash. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct FailedOutcomes(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    by_hash: LookupMap<B256, Executed>,
    /// Hashes from the oldest to the newest.
    order: VecDeque<B256>,
}

impl FailedOutcomes {
    /// Keeps the outcome of an executed transaction if it failed.
    pub(super) fn record(&self, hash: B256, executed: &Executed) {
        if executed.receipt.is_success() {
            return;
        }
        let mut failed = executed.clone();
        if failed.output.len() > OUTPUT_BYTES_MAX {
            // A copy, so that a slice does not keep the whole output alive.
            failed.output = Bytes::copy_from_slice(&failed.output[..OUTPUT_BYTES_MAX]);
        }
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.by_hash.insert(hash, failed).is_none() {
            inner.order.push_back(hash);
        }
        if inner.order.len() > OUTCOMES_MAX
            && let Some(oldest) = inner.order.pop_front()
        {
            inner.by_hash.remove(&oldest);
        }
    }

    /// Returns the outcome of a failed transaction, unless it was evicted or executed by another process.
    pub(super) fn get(&self, hash: B256) -> Option<Executed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_hash.get(&hash).cloned()
    }
}

#[cfg(test)]
mod tests {
    use alloy_consensus::Eip658Value;
    use alloy_primitives::U256;

    use super::*;
    use crate::{chain::Receipt, primitives::Gas, vm::FrameOutcome};

    fn executed(outcome: FrameOutcome, output_len: usize) -> Executed {
        let receipt = Receipt {
            ty: 2,
            inner: alloy_consensus::Receipt {
                status: Eip658Value::Eip658(outcome == FrameOutcome::Success),
                cumulative_gas_used: 0,
                logs: Vec::new(),
            },
            gas_used: Gas::new(7),
            effective_gas_price: 0,
            contract_address: None,
            first_log_index: 0,
        };
        Executed { receipt, outcome, output: Bytes::from(vec![1; output_len]) }
    }

    #[test]
    fn failures_are_kept_up_to_the_bound_and_successes_are_not() {
        let outcomes = FailedOutcomes::default();
        let hash = |index: usize| B256::from(U256::from(index));
        outcomes.record(hash(0), &executed(FrameOutcome::Success, 1));
        assert!(outcomes.get(hash(0)).is_none());
        for index in 1..=OUTCOMES_MAX {
            outcomes.record(hash(index), &executed(FrameOutcome::Revert, OUTPUT_BYTES_MAX + 1));
        }
        let kept = outcomes.get(hash(1)).unwrap();
        assert_eq!((kept.outcome, kept.output.len()), (FrameOutcome::Revert, OUTPUT_BYTES_MAX));
        outcomes.record(hash(1), &executed(FrameOutcome::Revert, 3));
        assert_eq!(outcomes.get(hash(1)).unwrap().output.len(), 3, "recorded again, it takes no second place");
        outcomes.record(hash(OUTCOMES_MAX + 1), &executed(FrameOutcome::Revert, 0));
        assert!(outcomes.get(hash(1)).is_none());
        assert!(outcomes.get(hash(2)).is_some() && outcomes.get(hash(OUTCOMES_MAX + 1)).is_some());
    }
}
