//! What waits: for a balance, a base fee, a gas limit; for how long, and at what cost to others.

use super::*;
use crate::chain::pool::on_head::HeadUpdate;

/// Costs at most 1,000,000: 25,000 gas at a fee of 40.
fn costly(index: u8, nonce: u64) -> Arc<Transaction> {
    let request = TransactionRequest { gas_limit: Gas::new(25_000), ..request(nonce, 40) };
    Arc::new(request.impersonate(address_of(index)).unwrap())
}

fn with_balance(nonce: u64, balance: u64) -> PoolContext {
    let account = |nonce, balance| Account { nonce, balance, ..Account::default() };
    let rich = account(0, gwei(1_000_000));
    context_of([(address_of(0), account(nonce, U256::from(balance))), (address_of(1), rich)].into_iter())
}

#[test]
fn the_balance_covers_all_ready_ones_together() {
    let mut pool = dev_pool();
    let context = with_balance(0, 1_600_000);
    pool.add(costly(0, 0), &context).unwrap();
    let overdraft = pool.add(costly(0, 1), &context).unwrap_err();
    let (have, cost) = (U256::from(1_600_000), U256::from(1_000_000));
    assert_eq!(overdraft, PoolError::Overdraft { address: address_of(0), have, pooled: cost, cost });
    assert!(overdraft.to_string().starts_with("insufficient funds for gas * price + value"), "{overdraft}");
    // A gap does not help, and a replacement counts once.
    assert!(matches!(pool.add(costly(0, 5), &context), Err(PoolError::Overdraft { .. })));
    pool.add(transaction(0, 0, 50), &context).unwrap();
    assert_eq!(pool.counts(), (1, 0));
}

#[test]
fn what_the_balance_no_longer_covers_is_queued_until_it_does() {
    let mut pool = dev_pool();
    let context = with_balance(0, 3_000_000);
    for nonce in 0..3 {
        pool.add(costly(0, nonce), &context).unwrap();
    }
    pool.refresh_sender(address_of(0), &with_balance(0, 1_999_999));
    assert_eq!((pool.counts(), pool.pending_nonce(&address_of(0))), ((1, 2), Some(1)));
    let excluded: Vec<_> = pool.content().into_iter().map(|pooled| pooled.excluded).collect();
    let funds =
        ExclusionReason::Funds { address: address_of(0), have: U256::from(1_999_999), want: U256::from(2_000_000) };
    assert_eq!(excluded, [None, Some(funds), Some(ExclusionReason::Predecessor { nonce: 1 })]);
    assert_eq!(drain(pool.best(BASE_FEE)).len(), 1);
    // Somebody pays it: no transaction of the block is its own.
    let before = pool.clone();
    pool.on_update(HeadUpdate::default(), &with_balance(0, 2_500_000));
    assert_eq!((pool.counts(), before.counts()), ((2, 1), (1, 2)), "a clone keeps what it had");
    pool.refresh_sender(address_of(0), &with_balance(0, 0));
    assert_eq!((pool.counts(), pool.has_ready()), ((0, 3), false));
}

#[test]
fn base_fee_and_gas_limit_decide_what_the_next_block_can_contain() {
    let (mut pool, mut context) = (dev_pool(), context(&[0, 0]));
    pool.add(transaction(0, 0, 20), &context).unwrap();
    pool.add(costly(1, 0), &context).unwrap();
    let senders = |pool: &Pool| {
        drain(pool.best(pool.base_fee)).iter().map(|transaction| transaction.sender()).collect::<Vec<_>>()
    };
    assert_eq!(senders(&pool), [address_of(1), address_of(0)]);
    context.base_fee = 21;
    pool.follow(&context);
    assert_eq!(senders(&pool), [address_of(1)]);
    context.gas_limit = Gas::new(24_999);
    pool.follow(&context);
    assert!(!pool.has_ready());
    let excluded: Vec<_> = pool.content().into_iter().filter_map(|pooled| pooled.excluded).collect();
    assert!(excluded.contains(&ExclusionReason::GasLimit { have: Gas::new(25_000), limit: Gas::new(24_999) }));
    assert!(excluded.contains(&ExclusionReason::BaseFee { max_fee: 20, base_fee: 21 }));
    (context.base_fee, context.gas_limit) = (20, Gas::new(25_000));
    pool.follow(&context);
    assert_eq!(senders(&pool), [address_of(1), address_of(0)]);
    assert_eq!(pool.counts(), (2, 0), "they were ready all the time");
}

#[test]
fn what_a_block_left_out_waits_for_a_change_of_its_account() {
    let (mut pool, context) = (dev_pool(), with_balance(0, 5_000_000));
    for nonce in 0..2 {
        pool.add(costly(0, nonce), &context).unwrap();
    }
    let first = pool.by_nonce(&address_of(0), 0).unwrap();
    let full = InvalidTransaction::BlockFull { left: Gas::new(1), want: Gas::new(25_000) };
    pool.refuse(&first, &full, &context);
    assert!(pool.has_ready(), "the next block has room");
    let reason = InvalidTransaction::CostOverflow { address: address_of(0) };
    pool.refuse(&first, &reason, &context);
    assert_eq!((pool.counts(), pool.has_ready()), ((0, 2), false));
    assert_eq!(pool.content()[0].excluded, Some(ExclusionReason::Refused { reason }));
    pool.on_update(HeadUpdate::default(), &PoolContext { base_fee: 7, ..context });
    assert!(!pool.has_ready(), "not tried at every block");
    pool.on_update(HeadUpdate::default(), &with_balance(0, 5_000_001));
    assert_eq!((pool.counts(), pool.has_ready()), ((2, 0), true));
}

#[test]
fn queued_ones_expire_by_the_time_of_blocks() {
    let mut pool = dev_pool();
    let mut context = context(&[0, 0]);
    let mut at = |pool: &mut Pool, secs| {
        context.timestamp = Timestamp::from_secs(secs);
        pool.on_update(HeadUpdate::default(), &context)
    };
    at(&mut pool, 1_000);
    let add = |pool: &mut Pool, index, nonce, secs| {
        let now = PoolContext { timestamp: Timestamp::from_secs(secs), ..super::context(&[0, 0]) };
        pool.add(transaction(index, nonce, 50), &now).unwrap()
    };
    add(&mut pool, 0, 0, 1_000);
    add(&mut pool, 0, 2, 1_000);
    add(&mut pool, 1, 1, 1_001);
    assert_eq!(at(&mut pool, 1_000 + 10_800), []);
    let dropped = at(&mut pool, 1_000 + 10_801);
    assert_eq!(dropped.len(), 1);
    assert_eq!((dropped[0].0.sender(), dropped[0].0.nonce()), (address_of(0), 2));
    assert_eq!(dropped[0].1, PoolError::Expired { secs: 10_801, limit_secs: 10_800 });
    assert_eq!(pool.counts(), (1, 1), "a ready one stays for ever");
}

#[test]
fn bounds_of_queued_ones_hold_again_at_the_next_head() {
    let mut pool = dev_pool();
    pool.config = pool.config.with_limits(100, 100).with_queue_limits(5, 3);
    let context = context(&[0, 0, 0]);
    for (index, nonce) in [0, 1, 2].into_iter().flat_map(|index| (0..5).map(move |nonce| (index, nonce))) {
        pool.add(transaction(index, nonce, 50 + u128::from(index)), &context).unwrap();
    }
    for index in 0..3 {
        pool.remove(&pool.by_nonce(&address_of(index), 0).unwrap().hash()).unwrap();
    }
    assert_eq!(pool.counts(), (0, 12));
    let dropped = pool.on_update(HeadUpdate::default(), &context);
    assert_eq!(pool.counts(), (0, 5));
    let of_sender = |error: &PoolError| matches!(error, PoolError::SenderQueueFull { .. });
    assert_eq!(dropped.iter().filter(|(_, error)| of_sender(error)).count(), 3, "the highest nonce of each");
    let cheapest = dropped.iter().filter(|(_, error)| matches!(error, PoolError::QueueFull { .. }));
    assert_eq!(cheapest.map(|(transaction, _)| transaction.max_fee_per_gas()).max(), Some(51));
}

#[test]
fn a_block_costs_the_same_however_many_wait() {
    const WAITING: u64 = 20_000;
    let config = PoolConfig::new(CHAIN_ID).with_impersonated(true).with_queue_limits(WAITING as usize, 64);
    let mut pool = Pool::new(config);
    let stranger = |index: u64| Address::left_padding_from(&(index + 1_000_000).to_be_bytes());
    let account = Account { balance: gwei(1_000_000), ..Account::default() };
    let strangers = (0..WAITING).map(|index| (stranger(index), account));
    let context = context_of(strangers.chain([(address_of(0), account), (address_of(1), account)]));
    for index in 0..WAITING {
        let gapped = Arc::new(request(7, 1_000).impersonate(stranger(index)).unwrap());
        assert!(!pool.add(gapped, &context).unwrap().is_ready);
    }
    assert!(!pool.has_ready());
    let waiting = pool.clone();
    let one = transaction(0, 0, 50);
    pool.add(one.clone(), &context).unwrap();
    let mut best = pool.best(BASE_FEE + 1);
    assert_eq!(best.next().map(|transaction| transaction.hash()), Some(one.hash()));
    assert_eq!((best.next(), best.examined()), (None, 1));
    // The head moves: base fee, gas limit, time, and the sender's nonce.
    let mined = PoolContext {
        state: context_of([(address_of(0), Account { nonce: 1, ..account })].into_iter()).state,
        base_fee: BASE_FEE + 1,
        gas_limit: Gas::new(999_000),
        timestamp: Timestamp::from_secs(12),
        ..context
    };
    let update = HeadUpdate { changed: [(address_of(0), vec![one.hash()])].into(), ..HeadUpdate::default() };
    assert!(pool.on_update(update, &mined).is_empty());
    assert_eq!(pool.counts(), (0, WAITING as usize));
    assert!(pool.queued.is_same(&waiting.queued) && pool.watched.is_empty() && pool.crowded.is_empty());
}

#[test]
fn only_some_of_those_that_wait_for_a_balance_are_read_at_a_head() {
    let mut pool = dev_pool();
    pool.config = pool.config.with_limits(1_000, 10).with_queue_limits(1_000, 10);
    let stranger = |index: u64| Address::left_padding_from(&(index + 1_000_000).to_be_bytes());
    let with = |balance: u64| {
        let account = Account { balance: U256::from(balance), ..Account::default() };
        context_of((0..200).map(|index| (stranger(index), account)))
    };
    for index in 0..200 {
        let request = TransactionRequest { gas_limit: Gas::new(25_000), ..request(0, 40) };
        pool.add(Arc::new(request.impersonate(stranger(index)).unwrap()), &with(1_000_000)).unwrap();
        pool.refresh_sender(stranger(index), &with(999_999));
    }
    let ready = [64, 128, 192, 200].map(|_| {
        pool.on_update(HeadUpdate::default(), &with(1_000_000));
        pool.counts().0
    });
    assert_eq!(ready, [64, 128, 192, 200], "each within a few heads");
}
