//! The pool by example, and against a model over a plain map.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use alloy_primitives::{Address, U256};
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    chain::{Candidates, Chain, tests::fixture::*},
    primitives::{Gas, KeyPair, TransactionRequest, gwei},
    state::{Account, fixture::MapView},
    vm::Hardfork,
};

const BASE_FEE: u64 = 10;
const TO: Address = Address::repeat_byte(7);

fn sender(index: u8) -> KeyPair {
    KeyPair::from_seed(u64::from(index), "pool test")
}

fn address_of(index: u8) -> Address {
    static ADDRESSES: LazyLock<[Address; 3]> = LazyLock::new(|| [0, 1, 2].map(|index| sender(index).address()));
    ADDRESSES[usize::from(index)]
}

fn context(nonces: &[u64]) -> PoolContext {
    let mut view = MapView::default();
    for (index, nonce) in (0..).zip(nonces) {
        let account = Account { nonce: *nonce, balance: gwei(1_000_000), ..Account::default() };
        view.accounts.insert(address_of(index), account);
    }
    PoolContext {
        state: Arc::new(view),
        gas_limit: Gas::new(1_000_000),
        base_fee: BASE_FEE,
        fork: Hardfork::default().rules(),
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
    assert_eq!(pool.content(&context)[0].excluded, Some(ExclusionReason::NonceGap { missing: 3 }));
    assert_eq!((pool.counts(), pool.pending_nonce(&address_of(0))), ((0, 1), None));
    assert!(pool.add(transaction(0, 3, 5), &context).unwrap().is_ready);
    assert!(pool.add(transaction(0, 4, 50), &context).unwrap().is_ready);
    assert_eq!(pool.pending_nonce(&address_of(0)), Some(6));
    let excluded: Vec<_> = pool.content(&context).into_iter().map(|pooled| pooled.excluded).collect();
    assert_eq!(excluded, [Some(ExclusionReason::BaseFee { max_fee: 5, base_fee: BASE_FEE }), None, None]);
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
fn bounds_hold_and_the_cheapest_is_evicted() {
    let (mut pool, context) = (dev_pool(), context(&[0, 0, 0]));
    for nonce in 0..4 {
        pool.add(transaction(0, nonce, 50 + u128::from(nonce)), &context).unwrap();
    }
    let full = pool.add(transaction(0, 4, 1_000), &context).unwrap_err();
    assert_eq!(full, PoolError::SenderFull { address: address_of(0), count: 4 });
    pool.add(transaction(1, 0, 40), &context).unwrap();
    pool.add(transaction(1, 1, 60), &context).unwrap();
    let full = pool.add(transaction(2, 0, 40), &context).unwrap_err();
    assert_eq!(full, PoolError::Full { count: 6, cheapest: 40 });
    let added = pool.add(transaction(2, 0, 41), &context).unwrap();
    assert_eq!(added.evicted.iter().map(|t| t.max_fee_per_gas()).collect::<Vec<_>>(), [40]);
    assert_eq!(pool.counts(), (5, 1), "the evicted one's successor waits");
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

/// The pool's rules over a plain map.
#[derive(Debug, Default)]
struct Model {
    /// Fee and arrival by sender and nonce.
    entries: BTreeMap<(u8, u64), (u128, u64)>,
    arrivals: u64,
    nonces: [u64; 3],
}

impl Model {
    fn add(&mut self, index: u8, nonce: u64, fee: u128) -> bool {
        let present = self.entries.get(&(index, nonce)).copied();
        let of_sender = self.entries.keys().filter(|(sender, _)| *sender == index).count();
        let taken = match present {
            _ if nonce < self.nonces[usize::from(index)] => false,
            Some((old, _)) => fee >= old + (old * 10).div_ceil(100) && fee > old,
            None if of_sender >= 4 => false,
            None if self.entries.len() < 6 => true,
            None => {
                let rank = |(_, (fee, arrival)): &(&(u8, u64), &(u128, u64))| (*fee, core::cmp::Reverse(*arrival));
                let (key, (cheapest, _)) = self.entries.iter().min_by_key(rank).map(|(k, v)| (*k, *v)).unwrap();
                if fee > cheapest {
                    self.entries.remove(&key);
                }
                fee > cheapest
            }
        };
        if taken {
            self.entries.insert((index, nonce), (fee, self.arrivals));
            self.arrivals += 1;
        }
        taken
    }

    fn ready(&self, index: u8) -> Vec<u64> {
        let first = self.nonces[usize::from(index)];
        (first..).take_while(|nonce| self.entries.contains_key(&(index, *nonce))).collect()
    }

    /// Selects the best head repeatedly.
    fn best(&self) -> Vec<(u8, u64)> {
        let mut next = self.nonces;
        let mut picked = Vec::new();
        loop {
            let heads = (0..3).filter_map(|index| {
                let nonce = next[usize::from(index)];
                let (fee, arrival) = self.entries.get(&(index, nonce))?;
                (*fee >= u128::from(BASE_FEE)).then_some((*fee, core::cmp::Reverse(*arrival), index, nonce))
            });
            let Some((_, _, index, nonce)) = heads.max() else { return picked };
            picked.push((index, nonce));
            next[usize::from(index)] += 1;
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Add(u8, u64, u128),
    Remove(u8, u64),
    /// A sender's nonce grows by transactions outside the pool.
    Use(u8, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let key = (0_u8..3, 0_u64..7);
    prop_oneof![
        6 => (key.clone(), 5_u128..40).prop_map(|((index, nonce), fee)| Step::Add(index, nonce, fee)),
        1 => key.clone().prop_map(|(index, nonce)| Step::Remove(index, nonce)),
        1 => (0_u8..3, 0_u64..3).prop_map(|(index, count)| Step::Use(index, count)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn agrees_with_a_plain_map(steps in vec(step(), 1..60)) {
        let (mut pool, mut model) = (dev_pool(), Model::default());
        for step in steps {
            let now = context(&model.nonces);
            match step {
                Step::Add(index, nonce, fee) => {
                    let before = pool.clone();
                    let taken = pool.add(transaction(index, nonce, fee), &now);
                    if taken.is_err() {
                        prop_assert_eq!(pool.content(&now), before.content(&now), "a rejected transaction changes nothing");
                    }
                    prop_assert_eq!(taken.is_ok(), model.add(index, nonce, fee), "{:?}", taken);
                }
                Step::Remove(index, nonce) => {
                    let found = pool.by_nonce(&address_of(index), nonce);
                    let removed = found.and_then(|found| pool.remove(&found.hash()));
                    prop_assert_eq!(removed.is_some(), model.entries.remove(&(index, nonce)).is_some());
                }
                Step::Use(index, count) => {
                    model.nonces[usize::from(index)] += count;
                    let nonces = model.nonces;
                    model.entries.retain(|(sender, nonce), _| *nonce >= nonces[usize::from(*sender)]);
                    pool.refresh_sender(address_of(index), &context(&model.nonces));
                }
            }
            check(&pool, &model)?;
        }
    }
}

fn check(pool: &Pool, model: &Model) -> Result<(), TestCaseError> {
    let number_of = |address: Address| (0..3).find(|index| address_of(*index) == address).unwrap();
    let content = pool.content(&context(&model.nonces));
    let listed: BTreeMap<_, _> = content
        .iter()
        .map(|p| ((number_of(p.transaction.sender()), p.transaction.nonce()), p.transaction.max_fee_per_gas()))
        .collect();
    let expected: BTreeMap<_, _> = model.entries.iter().map(|(key, (fee, _))| (*key, *fee)).collect();
    prop_assert_eq!(listed, expected);
    prop_assert_eq!(pool.len(), model.entries.len());
    let ready: usize = (0..3).map(|index| model.ready(index).len()).sum();
    prop_assert_eq!(pool.counts(), (ready, model.entries.len() - ready));
    for index in 0..3 {
        let pending = model.ready(index).last().map(|nonce| nonce + 1);
        prop_assert_eq!(pool.pending_nonce(&address_of(index)), pending);
    }
    let best: Vec<_> = drain(pool.best(BASE_FEE)).iter().map(|t| (number_of(t.sender()), t.nonce())).collect();
    prop_assert_eq!(best, model.best());
    for entry in pool.content(&context(&model.nonces)) {
        prop_assert_eq!(pool.get(&entry.transaction.hash()), Some(entry.transaction));
    }
    Ok(())
}

#[test]
fn content_reads_current_balances() {
    let (mut pool, context) = (dev_pool(), context(&[0]));
    pool.add(transaction(0, 0, 50), &context).unwrap();
    let broke = PoolContext { state: Arc::new(MapView::default()), ..context };
    let address = address_of(0);
    assert_eq!(pool.content(&broke)[0].excluded, Some(ExclusionReason::Funds { address }));
    assert_eq!(U256::from(pool.len()), U256::from(1));
}
