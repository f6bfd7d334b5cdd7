//! The pool under additions and removals: its bounds, its counts and its order hold after each.
#![no_main]

use std::sync::Arc;

use arbitrary::Arbitrary;
use chainbox::{
    chain::{Candidates, Hardfork, Pool, PoolConfig, PoolContext},
    primitives::{Gas, Timestamp, TransactionRequest},
};
use chainbox_fuzz::{Who, funded_state};
use libfuzzer_sys::fuzz_target;

const CHAIN_ID: u64 = 31_337;
const OPERATIONS_MAX: usize = 100;
const TRANSACTIONS_MAX: usize = 12;
const PER_SENDER_MAX: usize = 6;
const BASE_FEE: u64 = 7;

#[derive(Arbitrary, Debug)]
enum Operation {
    Add { from: Who, nonce: u8, fee: u8, tip: u8, value: u16 },
    Remove { index: u8 },
    Clear,
}

fuzz_target!(|operations: Vec<Operation>| {
    let context = PoolContext {
        state: funded_state(),
        gas_limit: Gas::new(30_000_000),
        base_fee: BASE_FEE,
        fork: Hardfork::default().rules(),
        timestamp: Timestamp::from_secs(1),
        permissions: None,
        deployments: true,
    };
    let config = PoolConfig::new(CHAIN_ID).with_limits(TRANSACTIONS_MAX, PER_SENDER_MAX).with_impersonated(true);
    let mut pool = Pool::new(config);
    for operation in operations.into_iter().take(OPERATIONS_MAX) {
        match operation {
            Operation::Add { from, nonce, fee, tip, value } => {
                let request = TransactionRequest {
                    chain_id: Some(CHAIN_ID),
                    nonce: u64::from(nonce % 16),
                    to: Some(Who::Carol.address()),
                    value: alloy_primitives::U256::from(value),
                    gas_limit: Gas::new(21_000),
                    max_fee_per_gas: u128::from(fee),
                    max_priority_fee_per_gas: u128::from(tip.min(fee)),
                    ..TransactionRequest::default()
                };
                let transaction = Arc::new(request.impersonate(from.address()).expect("fields that fit"));
                let before = pool.len();
                match pool.add(transaction.clone(), &context) {
                    Ok(added) => {
                        assert_eq!(pool.get(&transaction.hash()).as_ref(), Some(&transaction));
                        let gone = added.evicted.len() + usize::from(added.replaced.is_some());
                        assert_eq!(pool.len() + gone, before + 1);
                        if let Some(replaced) = added.replaced {
                            let pays = |t: &chainbox::primitives::Transaction| t.max_fee_per_gas() * 100;
                            assert!(pays(&transaction) >= pays(&replaced) / 100 * 110, "a replacement pays 10 % more");
                        }
                    }
                    Err(_) => assert_eq!(pool.len(), before, "a refused transaction changes nothing"),
                }
            }
            Operation::Remove { index } => {
                let content = pool.content();
                if let Some(pooled) = content.get(usize::from(index) % content.len().max(1)) {
                    assert!(pool.remove(&pooled.transaction.hash()).is_some());
                }
            }
            Operation::Clear => pool.clear(),
        }
        check(&pool);
    }
});

fn check(pool: &Pool) {
    let content = pool.content();
    let (ready, queued) = pool.counts();
    assert_eq!((content.len(), ready + queued), (pool.len(), pool.len()));
    assert!(pool.len() <= TRANSACTIONS_MAX);
    assert_eq!(pool.size_bytes(), content.iter().map(|pooled| pooled.transaction.encoded_len()).sum::<usize>());
    assert_eq!(pool.has_ready(), pool.best(BASE_FEE).next().is_some());
    for who in Who::ALL {
        assert!(content.iter().filter(|p| p.transaction.sender() == who.address()).count() <= PER_SENDER_MAX);
    }
    // What is picked runs through each sender's nonces from 0 on, and covers the base fee.
    let (mut best, mut next) = (pool.best(BASE_FEE), [0_u64; 3]);
    while let Some(transaction) = best.next() {
        let index = Who::ALL.iter().position(|who| who.address() == transaction.sender()).expect("one of ours");
        assert_eq!(transaction.nonce(), next[index]);
        assert!(transaction.effective_tip_per_gas(BASE_FEE).is_some());
        next[index] += 1;
    }
}
