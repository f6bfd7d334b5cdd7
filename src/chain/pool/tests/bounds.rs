//! Bounds, and what leaves when one is reached.

use super::*;

fn fees(transactions: &[Arc<Transaction>]) -> Vec<u128> {
    transactions.iter().map(|transaction| transaction.max_fee_per_gas()).collect()
}

#[test]
fn a_full_pool_evicts_queued_ones_first_then_who_pays_least() {
    let (mut pool, context) = (dev_pool(), context(&[0, 0, 0]));
    for nonce in 0..4 {
        pool.add(transaction(0, nonce, 50 + u128::from(nonce)), &context).unwrap();
    }
    let full = pool.add(transaction(0, 4, 1_000), &context).unwrap_err();
    assert_eq!(full, PoolError::SenderFull { address: address_of(0), count: 4 });
    pool.add(transaction(1, 0, 40), &context).unwrap();
    // A nonce gap with a great fee.
    pool.add(transaction(1, 2, 9_000), &context).unwrap();
    let added = pool.add(transaction(1, 1, 60), &context).unwrap();
    assert_eq!(fees(&added.evicted), [9_000], "it can't be executed before the new one");
    assert_eq!(pool.counts(), (6, 0));
    let full = pool.add(transaction(2, 0, 40), &context).unwrap_err();
    assert_eq!(full, PoolError::Full { count: 6, cheapest: 40 });
    let queued = pool.add(transaction(2, 1, 9_000), &context).unwrap_err();
    assert_eq!(queued, PoolError::Full { count: 6, cheapest: 40 }, "a queued one evicts no ready one");
    // The last one of the sender whose first pays least: nobody loses a transaction in the middle.
    let added = pool.add(transaction(2, 0, 41), &context).unwrap();
    assert_eq!(fees(&added.evicted), [60]);
    assert_eq!((pool.counts(), pool.pending_nonce(&address_of(1))), ((6, 0), Some(1)));
}

#[test]
fn what_is_below_the_base_fee_leaves_before_what_pays_it() {
    let (mut pool, mut context) = (dev_pool(), context(&[0, 0, 0]));
    let with = |index, fee, tip| {
        let request = TransactionRequest { max_priority_fee_per_gas: tip, ..request(0, fee) };
        Arc::new(request.impersonate(address_of(index)).unwrap())
    };
    pool.config.transactions_max = 2;
    // The first has the greater tip until the base fee reaches 45.
    pool.add(with(0, 50, 30), &context).unwrap();
    pool.add(with(1, 1_000, 5), &context).unwrap();
    context.base_fee = 48;
    assert_eq!(fees(&pool.add(with(2, 1_000, 6), &context).unwrap().evicted), [50]);
    context.base_fee = 2_000;
    let below = pool.add(with(0, 1_000, 1_000), &context).unwrap_err();
    assert_eq!(below, PoolError::Full { count: 2, cheapest: 1_000 });
    assert_eq!(fees(&pool.add(with(0, 1_001, 1), &context).unwrap().evicted), [1_000]);
}

#[test]
fn bytes_are_bounded_of_one_and_of_all() {
    let (mut pool, context) = (dev_pool(), context(&[0, 0, 0]));
    let with_input = |index, nonce, fee, bytes: usize| {
        let request =
            TransactionRequest { gas_limit: Gas::new(900_000), input: vec![0; bytes].into(), ..request(nonce, fee) };
        Arc::new(request.impersonate(address_of(index)).unwrap())
    };
    pool.config = pool.config.with_byte_limits(25_000, 10_000);
    let overhead = with_input(0, 0, 50, 9_000).encoded_len() - 9_000;
    let size = 10_001;
    let error = pool.add(with_input(0, 0, 50, size - overhead), &context).unwrap_err();
    assert_eq!(error, PoolError::Oversized { size, limit: 10_000 });
    assert!(error.to_string().starts_with("oversized data"), "geth's words: {error}");
    pool.add(with_input(0, 0, 50, 10_000 - overhead), &context).unwrap();
    pool.add(with_input(1, 0, 60, 10_000 - overhead), &context).unwrap();
    assert_eq!(pool.size_bytes(), 20_000);
    pool.add(with_input(2, 0, 70, 5_000 - overhead), &context).unwrap();
    assert_eq!(pool.size_bytes(), 25_000, "full to the last byte");
    assert_eq!(pool.add(with_input(2, 1, 45, 0), &context), Err(PoolError::Full { count: 3, cheapest: 50 }));
    let added = pool.add(with_input(2, 1, 80, 9_000), &context).unwrap();
    assert_eq!(fees(&added.evicted), [50]);
    assert_eq!(pool.size_bytes(), 15_000 + added_len(&pool, 2, 1));
    pool.clear();
    assert_eq!((pool.size_bytes(), pool.counts()), (0, (0, 0)));
}

fn added_len(pool: &Pool, index: u8, nonce: u64) -> usize {
    pool.by_nonce(&address_of(index), nonce).unwrap().encoded_len()
}

#[test]
fn queued_ones_are_bounded_of_a_sender_and_of_all() {
    let mut pool = dev_pool();
    pool.config = pool.config.with_limits(100, 50).with_queue_limits(5, 3);
    let context = context(&[0, 0, 0]);
    for nonce in [2, 4, 6] {
        assert!(!pool.add(transaction(0, nonce, 50), &context).unwrap().is_ready);
    }
    let full = pool.add(transaction(0, 7, 90), &context).unwrap_err();
    assert_eq!(full, PoolError::SenderQueueFull { address: address_of(0), count: 3 });
    let added = pool.add(transaction(0, 3, 50), &context).unwrap();
    assert_eq!(added.evicted.iter().map(|t| t.nonce()).collect::<Vec<_>>(), [6], "it waits for more nonces");
    for nonce in [1, 2] {
        pool.add(transaction(1, nonce, 60), &context).unwrap();
    }
    let full = pool.add(transaction(2, 1, 50), &context).unwrap_err();
    assert_eq!(full, PoolError::QueueFull { count: 5, cheapest: 50 });
    assert_eq!(fees(&pool.add(transaction(2, 1, 51), &context).unwrap().evicted), [50]);
    assert_eq!(pool.counts(), (0, 5));
    // Ready ones are not bounded by it, and make queued ones ready.
    assert!(pool.add(transaction(1, 0, 10), &context).unwrap().is_ready);
    assert_eq!(pool.counts(), (3, 3));
}

#[test]
fn one_sender_may_have_ten_thousand_ready_ones() {
    let mut pool = Pool::new(PoolConfig::new(CHAIN_ID).with_impersonated(true));
    let context = context(&[0]);
    for nonce in 0..10_000 {
        pool.add(transaction(0, nonce, 50), &context).unwrap();
    }
    assert_eq!(pool.counts(), (10_000, 0));
    pool.remove(&pool.by_nonce(&address_of(0), 0).unwrap().hash()).unwrap();
    assert_eq!(pool.counts(), (0, 9_999), "until the next head, a dropped one may be sent again");
    pool.add(transaction(0, 0, 60), &context).unwrap();
    assert_eq!((pool.counts(), pool.content().len()), ((10_000, 0), 10_000));
}

#[test]
fn nonces_end_below_the_largest_number() {
    let (mut pool, near) = (dev_pool(), u64::MAX - 2);
    let context = context(&[near]);
    for nonce in [near, near + 1] {
        assert!(pool.add(transaction(0, nonce, 50), &context).unwrap().is_ready);
    }
    assert_eq!((pool.counts(), pool.pending_nonce(&address_of(0))), ((2, 0), Some(u64::MAX)));
    assert_eq!(drain(pool.best(BASE_FEE)).len(), 2);
    let last = pool.add(transaction(0, u64::MAX, 50), &context).unwrap_err().to_string();
    assert!(last.starts_with("nonce has max value"), "EIP-2681: {last}");
    let content = pool.content();
    assert!(content.iter().all(|pooled| pooled.excluded.is_none()));
}
