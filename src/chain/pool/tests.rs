//! The pool by example, and against a model over a plain list.

mod bounds;
mod model;
mod permissions;
mod waiting;

use std::sync::{Arc, LazyLock};

use alloy_primitives::{Address, U256};

use super::*;
use crate::{
    chain::{Candidates, Chain, Hardfork, InvalidTransaction, PoolError, tests::fixture::*},
    primitives::{Gas, KeyPair, TransactionRequest, gwei},
    state::{Account, fixture::MapView},
    vm::HaltReason,
};

const BASE_FEE: u64 = 10;
const TO: Address = Address::repeat_byte(7);

fn sender(index: u8) -> KeyPair {
    KeyPair::from_seed(u64::from(index), "pool test")
}

fn address_of(index: u8) -> Address {
    static ADDRESSES: LazyLock<[Address; 4]> = LazyLock::new(|| [0, 1, 2, 3].map(|index| sender(index).address()));
    ADDRESSES[usize::from(index)]
}

fn context(nonces: &[u64]) -> PoolContext {
    let account = |nonce: &u64| Account { nonce: *nonce, balance: gwei(1_000_000), ..Account::default() };
    context_of((0..).map(address_of).zip(nonces.iter().map(account)))
}

fn context_of(accounts: impl Iterator<Item = (Address, Account)>) -> PoolContext {
    PoolContext {
        state: Arc::new(MapView { accounts: accounts.collect(), ..MapView::default() }),
        gas_limit: Gas::new(1_000_000),
        base_fee: BASE_FEE,
        fork: Hardfork::default().rules(),
        timestamp: Timestamp::from_secs(0),
        permissions: None,
        deployments: true,
    }
}

fn pool() -> Pool {
    Pool::new(PoolConfig { transactions_max: 6, per_sender_max: 4, ..PoolConfig::new(CHAIN_ID) })
}

fn request(nonce: u64, fee: u128) -> TransactionRequest {
    TransactionRequest {
        max_fee_per_gas: fee,
        max_priority_fee_per_gas: fee,
        ..crate::chain::tests::fixture::request(nonce, TO, 0)
    }
}

fn transaction(index: u8, nonce: u64, fee: u128) -> Arc<Transaction> {
    // Impersonated transactions need no signature.
    Arc::new(request(nonce, fee).impersonate(address_of(index)).unwrap())
}

fn dev_pool() -> Pool {
    let config = PoolConfig { allow_impersonated: true, ..*pool().config() };
    Pool::new(config)
}

fn drain(mut best: BestTransactions) -> Vec<Arc<Transaction>> {
    core::iter::from_fn(|| best.next()).collect()
}

#[test]
fn ready_transactions_are_ordered_by_tip_and_per_sender_by_nonce() {
    let (mut pool, context) = (dev_pool(), context(&[0, 0, 0]));
    let order = [(0, 1, 90), (1, 0, 50), (0, 0, 20), (2, 0, 50), (2, 1, 5)];
    for (index, nonce, fee) in order {
        pool.add(transaction(index, nonce, fee), &context).unwrap();
    }
    let best: Vec<_> = drain(pool.best(BASE_FEE)).iter().map(|t| (t.sender(), t.nonce())).collect();
    let key = |index| address_of(index);
    // 1 arrived before 2 with the same tip; 0's second follows its first; 5 is below the base fee.
    assert_eq!(best, [(key(1), 0), (key(2), 0), (key(0), 0), (key(0), 1)]);
    assert_eq!(pool.counts(), (5, 0));
    assert_eq!(pool.pending_nonce(&key(0)), Some(2));
}

#[test]
fn marking_one_invalid_excludes_its_successors() {
    let (mut pool, context) = (dev_pool(), context(&[0, 0]));
    for (index, nonce) in [(0, 0), (0, 1), (1, 0)] {
        pool.add(transaction(index, nonce, 50), &context).unwrap();
    }
    let mut best = pool.best(BASE_FEE);
    let first = best.next().unwrap();
    best.mark_invalid(&first, &InvalidTransaction::Impersonated);
    let rest = drain(best);
    assert_eq!(rest.iter().map(|t| t.sender()).collect::<Vec<_>>(), [address_of(1)]);
}

#[test]
fn a_gap_is_queued_with_the_reason_until_it_is_filled() {
    let (mut pool, context) = (dev_pool(), context(&[3]));
    assert!(!pool.add(transaction(0, 5, 50), &context).unwrap().is_ready);
    assert_eq!(pool.content()[0].excluded, Some(ExclusionReason::NonceGap { missing: 3 }));
    assert_eq!((pool.counts(), pool.pending_nonce(&address_of(0))), ((0, 1), None));
    assert!(pool.add(transaction(0, 3, 5), &context).unwrap().is_ready);
    assert!(pool.add(transaction(0, 4, 50), &context).unwrap().is_ready);
    assert_eq!(pool.pending_nonce(&address_of(0)), Some(6));
    let excluded: Vec<_> = pool.content().into_iter().map(|pooled| pooled.excluded).collect();
    let behind = Some(ExclusionReason::Predecessor { nonce: 3 });
    assert_eq!(excluded, [Some(ExclusionReason::BaseFee { max_fee: 5, base_fee: BASE_FEE }), behind.clone(), behind]);
}

#[test]
fn a_replacement_pays_a_tenth_more_on_both_fees() {
    let (mut pool, context) = (dev_pool(), context(&[0]));
    let with = |fee, tip| {
        let request = TransactionRequest { max_priority_fee_per_gas: tip, ..request(0, fee) };
        Arc::new(request.impersonate(address_of(0)).unwrap())
    };
    pool.add(with(100, 50), &context).unwrap();
    for (fee, tip) in [(101, 51), (109, 55), (110, 54), (109, 109)] {
        let error = pool.add(with(fee, tip), &context).unwrap_err();
        assert_eq!(error, PoolError::ReplacementUnderpriced { fee_needed: 110, tip_needed: 55 }, "{fee} {tip}");
        assert!(error.to_string().starts_with("replacement transaction underpriced"));
    }
    let added = pool.add(with(110, 55), &context).unwrap();
    assert_eq!(added.replaced.unwrap().max_fee_per_gas(), 100);
    assert_eq!(pool.len(), 1);
    assert_eq!(pool.add(with(110, 55), &context).unwrap_err().to_string(), "already known");
}

#[test]
fn invalid_transactions_are_rejected_with_geths_messages() {
    let context = context(&[3]);
    let base = || TransactionRequest { nonce: 3, ..request(3, 50) };
    let rich = TransactionRequest { value: gwei(1_000_000), ..base() };
    let creation =
        TransactionRequest { to: None, gas_limit: Gas::new(900_000), input: vec![0; 49_153].into(), ..base() };
    let cases = [
        (TransactionRequest { chain_id: Some(5), ..base() }, "invalid chain id for signer: have 5 want 31337"),
        (TransactionRequest { gas_limit: Gas::new(20_999), ..base() }, "intrinsic gas too low: have 20999, want 21000"),
        (TransactionRequest { gas_limit: Gas::new(1_000_001), ..base() }, "exceeds block gas limit"),
        (TransactionRequest { nonce: 2, ..base() }, "nonce too low"),
        (TransactionRequest { nonce: u64::MAX, ..base() }, "nonce has max value"),
        (rich, "insufficient funds for gas * price + value"),
        (creation, "max initcode size exceeded: code size 49153 limit 49152"),
    ];
    for (request, words) in cases {
        let error = pool().add(Arc::new(request.sign(&sender(0)).unwrap()), &context).unwrap_err().to_string();
        assert!(error.starts_with(words), "{error}");
    }
    let unsigned = Arc::new(base().impersonate(address_of(0)).unwrap());
    assert_eq!(pool().add(unsigned, &context), Err(InvalidTransaction::Impersonated.into()));
    let early = PoolContext { fork: Hardfork::Berlin.rules(), ..context };
    let refused = pool().add(Arc::new(base().sign(&sender(0)).unwrap()), &early);
    assert_eq!(refused, Err(InvalidTransaction::TypeNotActive { ty: 2 }.into()));
}

/// In a block such a creation fails and uses all of its gas.
#[test]
fn a_creation_that_no_template_takes_is_refused_and_uses_no_gas() {
    let context = context(&[0]);
    let creation = |input: &[u8]| {
        let request = TransactionRequest {
            to: None,
            gas_limit: Gas::new(900_000),
            input: input.to_vec().into(),
            ..request(0, 50)
        };
        pool().add(Arc::new(request.sign(&sender(0)).unwrap()), &context)
    };
    for (input, reason) in [
        (&[0x60, 0x80, 0x60, 0x40][..], HaltReason::EvmBytecodeUnsupported),
        (&[0], HaltReason::EvmBytecodeUnsupported),
        (&[0xef, 0xcb, 0, 1, 0], HaltReason::InvalidCode),
        (&[0xef, 0, 0, 1, 0, 1], HaltReason::InvalidCode),
    ] {
        assert_eq!(creation(input), Err(PoolError::NoTemplate { reason }), "{input:?}");
    }
    for input in [&[][..], &[0xef, 0xcb, 0, 1, 0, 1], &[0xef, 0xcb, 0x80, 0, 0, 9, 1]] {
        assert!(creation(input).unwrap().is_ready, "{input:?}");
    }
    let call = TransactionRequest { input: vec![0x60, 0x80].into(), gas_limit: Gas::new(90_000), ..request(0, 50) };
    assert!(pool().add(Arc::new(call.sign(&sender(0)).unwrap()), &context).is_ok(), "call data is no code");
}

#[test]
fn thirty_shuffled_nonces_are_all_mined() {
    let mut chain = chain();
    let mut pool = Pool::new(PoolConfig::new(CHAIN_ID));
    let context = chain.pool_context().unwrap();
    for step in 0..30 {
        pool.add(transfer(0, step * 7 % 30, TO, 1), &context).unwrap();
    }
    mine(&mut chain, &mut pool);
    assert_eq!((chain.head().block().transactions().len(), pool.len()), (30, 0));
}

#[test]
fn a_reorg_adds_reverted_transactions_again() {
    let mut chain = chain();
    let mut pool = Pool::new(PoolConfig::new(CHAIN_ID));
    let genesis = chain.head().hash();
    let (one, two, three) = (transfer(0, 0, TO, 1), transfer(0, 1, TO, 1), transfer(1, 0, TO, 1));
    for transaction in [&one, &two, &three] {
        pool.add(transaction.clone(), &chain.pool_context().unwrap()).unwrap();
    }
    mine(&mut chain, &mut pool);
    assert!(pool.is_empty());
    // The side branch has one of them and a conflicting transaction of the second sender.
    let rival = transfer(1, 0, TO, 2);
    let side = build_on(&chain, genesis, 50, vec![one.clone(), rival]).block;
    chain.insert(Arc::new(side.clone())).unwrap();
    let change = chain.set_head(side.hash()).unwrap();
    let dropped = pool.on_head(&change, &chain.pool_context().unwrap());
    assert_eq!(dropped.len(), 1);
    assert_eq!(dropped[0].0.hash(), three.hash());
    assert!(dropped[0].1.to_string().starts_with("nonce too low"));
    assert_eq!(drain(pool.best(0)).iter().map(|t| t.hash()).collect::<Vec<_>>(), [two.hash()]);
}

fn mine(chain: &mut Chain, pool: &mut Pool) {
    let mut best = pool.best(chain.next_base_fee().unwrap());
    let timestamp = chain.head().block().header().timestamp + 1;
    let built = chain.build(chain.head().hash(), &attributes(timestamp), &mut best).unwrap();
    let change = adopt(chain, built.block);
    assert!(pool.on_head(&change, &chain.pool_context().unwrap()).is_empty());
}
