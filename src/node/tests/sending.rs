//! Transactions from their sending to their receipts.

use core::ops::ControlFlow;
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use alloy_sol_types::SolCall as _;

use super::fixture::{plain_transfer, request};
use crate::{
    chain::{BaseFee, CallRequest, Forks, GenesisSpec, PoolError},
    node::{BlockRef, Database, EstimateError, Mining, Node, SendError, Submission},
    primitives::{AccessList, AccessListItem, Address, B256, Bytes, Gas, Height, TransactionRequest, U256, ether},
    store::{Batch, KeyValue, Order, StoreError, Table, testing::MemoryDisk},
    templates::{Erc20Params, erc20::interface as erc20},
};

#[test]
fn each_transaction_gets_a_block() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    for height in 1..=3 {
        let mined = node.transfer(alice, bob, U256::from(height)).unwrap();
        assert_eq!(mined.block().height().get(), height);
        assert_eq!(mined.transaction().nonce(), height - 1);
    }
    let view = node.view();
    assert_eq!(view.balance(bob, BlockRef::Latest).unwrap(), ether(10_000) + U256::from(6));
    for (height, moved) in [(0, 0), (1, 1), (2, 3), (3, 6)] {
        let at = BlockRef::Number(Height::new(height));
        assert_eq!(view.balance(bob, at).unwrap(), ether(10_000) + U256::from(moved), "height {height}");
    }
}

#[test]
fn thirty_shuffled_nonces_are_all_mined() {
    let node = Node::new();
    let mut nonces: Vec<u64> = (0..30).collect();
    // A fixed shuffle: 7 generates the numbers below 31 without zero.
    nonces.sort_by_key(|nonce| (nonce * 7 + 3) % 31);
    assert_ne!(nonces[0], 0);
    let raws: Vec<Bytes> = nonces.iter().map(|nonce| plain_transfer(&node, 0, *nonce, 1).encoded()).collect();
    for result in node.send_raw_batch(&raws) {
        result.unwrap();
    }
    assert_eq!(node.view().nonce(node.accounts()[0], BlockRef::Latest).unwrap(), 30);
    assert!(node.view().pool().is_empty());
}

#[test]
fn thirty_shuffled_nonces_sent_one_by_one_are_all_mined() {
    let node = Node::new();
    for index in 0..30_u64 {
        let nonce = (index * 7 + 3) % 30;
        node.send(plain_transfer(&node, 0, nonce, 1)).unwrap();
    }
    assert_eq!(node.view().nonce(node.accounts()[0], BlockRef::Latest).unwrap(), 30);
}

#[test]
fn concurrent_callers_never_get_the_same_nonce() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..25).for_each(|_| drop(node.transfer(alice, bob, U256::from(1)).unwrap())));
        }
    });
    assert_eq!(node.view().nonce(alice, BlockRef::Latest).unwrap(), 100);
    assert_eq!(node.view().balance(bob, BlockRef::Latest).unwrap(), ether(10_000) + U256::from(100));
}

#[test]
fn a_batch_shares_a_block() {
    let node = Node::new();
    let raws: Vec<Bytes> = (0..20).map(|nonce| plain_transfer(&node, 0, nonce, 1).encoded()).collect();
    let hashes: Vec<B256> = node.send_raw_batch(&raws).into_iter().map(Result::unwrap).collect();
    for hash in hashes {
        assert_eq!(node.receipt(hash).unwrap().unwrap().block().height().get(), 1);
    }
}

#[test]
fn what_is_sent_together_shares_a_block_and_each_sees_those_before_it() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let gold = alice.create(1);
    let init_code = Erc20Params::new("Gold", "GLD", U256::from(9), alice).init_code();
    let transfer = |amount| erc20::transferCall { to: bob, value: U256::from(amount) }.abi_encode();
    let request = |to, input: Vec<u8>| {
        Submission::from(CallRequest { from: Some(alice), to, input: input.into(), ..Default::default() })
    };
    let results = node.send_together(vec![
        Submission::Raw(plain_transfer(&node, 0, 0, 1).encoded()),
        request(None, init_code.to_vec()),
        // Its gas can only be estimated after the creation.
        request(Some(gold), transfer(4)),
        Submission::Raw(Bytes::from_static(&[0xc0])),
        request(Some(gold), transfer(6)),
        request(Some(gold), transfer(5)),
    ]);
    assert!(matches!(&results[3], Err(SendError::Transaction(_))), "{results:?}");
    assert!(matches!(&results[4], Err(SendError::WouldFail { .. })), "{results:?}");
    for sent in [0, 1, 2, 5] {
        let mined = node.receipt(*results[sent].as_ref().unwrap()).unwrap().unwrap();
        assert!(mined.is_success(), "{sent}");
        assert_eq!(mined.block().height().get(), 1, "{sent}");
    }
    assert_eq!(node.view().head().block().transactions().len(), 4);
}

#[test]
fn the_fee_fields_choose_the_type() {
    let node = Node::new();
    let before_london = Node::builder().with_genesis(old_rules(&node)).build().unwrap();
    let listed = |list: &Option<AccessList>| CallRequest { access_list: list.clone(), ..transfer_of(&node) };
    let empty = Some(AccessList::default());
    for (list, legacy_type) in [(None, 0), (empty, 1)] {
        let plain = listed(&list);
        let priced = CallRequest { gas_price: Some(9_000_000_000), ..plain.clone() };
        assert_eq!(node.fill(priced).unwrap().ty(), legacy_type, "{list:?}");
        let with_fees = CallRequest { max_fee_per_gas: Some(9_000_000_000), ..plain.clone() };
        assert_eq!(node.fill(with_fees).unwrap().ty(), 2, "{list:?}");
        let with_tip = CallRequest { max_priority_fee_per_gas: Some(1), ..plain.clone() };
        assert_eq!(node.fill(with_tip).unwrap().ty(), 2, "{list:?}");
        assert_eq!(node.fill(plain.clone()).unwrap().ty(), 2, "{list:?}");
        assert_eq!(before_london.fill(plain).unwrap().ty(), legacy_type, "{list:?}");
    }
    let upside_down = transfer_of(&node).with_fees(9_000_000_000, 9_000_000_001);
    assert!(matches!(node.fill(upside_down), Err(SendError::Transaction(_) | SendError::Query(_))));
}

fn transfer_of(node: &Node) -> CallRequest {
    CallRequest { from: Some(node.accounts()[0]), to: Some(node.accounts()[1]), ..Default::default() }
}

/// A genesis with the same accounts, before London.
fn old_rules(node: &Node) -> GenesisSpec {
    let mut genesis = GenesisSpec { base_fee: BaseFee::Off, ..GenesisSpec::new(31_337) };
    genesis.forks = Forks::LondonAt(None);
    genesis.fund(node.accounts()[0], ether(5));
    genesis
}

#[test]
fn fees_and_nonces_at_the_bounds_are_refused_or_mined() {
    let node = Node::new();
    let alice = node.accounts()[0];
    for tip in [u128::MAX, u128::MAX - 1, 1 << 127, 1 << 64] {
        let request = CallRequest { max_priority_fee_per_gas: Some(tip), ..transfer_of(&node) };
        let error = node.send_request(request.clone()).unwrap_err().to_string();
        assert!(error.contains("insufficient funds") || error.contains("allowance"), "{tip}: {error}");
        let error = node.send_request(request.with_gas(Gas::new(21_000))).unwrap_err().to_string();
        assert!(error.contains("insufficient funds"), "{tip}: {error}");
    }
    for nonce in [u64::MAX, u64::MAX - 1, u64::MAX - 2] {
        node.set_nonce(alice, nonce).unwrap();
        let sent = node.send_request(CallRequest { gas: Some(Gas::new(21_000)), ..transfer_of(&node) });
        assert_eq!(sent.is_ok(), nonce < u64::MAX, "{nonce}: {sent:?}");
        let _ = node.send_request(transfer_of(&node));
        node.dump().unwrap();
        node.mine(1).unwrap();
        node.transfer(node.accounts()[1], alice, U256::from(1)).unwrap();
    }
}

#[test]
fn an_estimate_above_the_allowance_says_so() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let token = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(9), alice).init_code()).unwrap();
    let input = erc20::transferCall { to: bob, value: U256::from(1) }.abi_encode();
    let list = AccessList(vec![AccessListItem { address: token.address(), storage_keys: vec![B256::ZERO; 2] }]);
    let plain = CallRequest { from: Some(alice), ..CallRequest::call(token.address(), input) };
    let estimate = |request: &CallRequest| node.view().estimate_gas(request, BlockRef::Latest, &Default::default());
    for request in [plain.clone(), plain.clone().with_access_list(list)] {
        let gas = estimate(&request).unwrap();
        let sent = node.send_request(request.clone().with_gas(gas)).unwrap();
        assert!(node.receipt(sent).unwrap().unwrap().is_success());
        for allowed in [0, 21_000, 25_000] {
            let error = estimate(&request.clone().with_gas(Gas::new(allowed))).unwrap_err();
            assert!(matches!(error, EstimateError::Allowance { .. }), "{error}");
            assert_eq!(error.to_string(), format!("gas required exceeds allowance ({allowed})"));
        }
    }
    let poor = Address::repeat_byte(0x99);
    node.set_balance(poor, U256::from(30_000)).unwrap();
    node.set_next_block_base_fee(1).unwrap();
    node.mine(1).unwrap();
    let request = CallRequest { from: Some(poor), ..plain }.with_fees(1_000_000_000, 0);
    assert_eq!(estimate(&request).unwrap_err().to_string(), "gas required exceeds allowance (0)");
}

#[test]
fn a_transaction_behind_a_nonce_gap_waits_with_the_reason() {
    let node = Node::new();
    let hash = node.send(plain_transfer(&node, 0, 5, 1)).unwrap();
    assert!(node.receipt(hash).unwrap().is_none());
    let waiting = node.view().pooled();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].excluded.as_ref().unwrap().to_string(), "nonce gap: waits for nonce 0");
    assert_eq!(node.view().nonce(node.accounts()[0], BlockRef::Pending).unwrap(), 0);
}

#[test]
fn refused_transactions_leave_everything_as_it_was() {
    let node = Node::new();
    node.send(plain_transfer(&node, 0, 0, 1)).unwrap();
    let before = node.view().head().hash();
    let again = node.send(plain_transfer(&node, 0, 0, 1)).unwrap_err();
    assert!(again.to_string().starts_with("nonce too low"), "{again}");
    let poor = TransactionRequest { value: ether(20_000), ..request(&node, 1) }.sign(&node.keys()[0]).unwrap();
    let poor = node.send(poor).unwrap_err();
    assert!(poor.to_string().starts_with("insufficient funds for gas * price + value"), "{poor}");
    let other_chain = TransactionRequest { chain_id: Some(1), ..request(&node, 1) }.sign(&node.keys()[0]).unwrap();
    assert!(matches!(node.send(other_chain), Err(SendError::Pool(PoolError::Invalid(_)))));
    assert!(matches!(node.send_raw(&[0xc0]), Err(SendError::Transaction(_))));
    assert_eq!(node.view().head().hash(), before);
    assert!(node.view().pool().is_empty());
}

#[test]
fn receipts_name_their_block_and_index() {
    let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
    let hashes: Vec<B256> = (0..3).map(|nonce| node.send(plain_transfer(&node, 0, nonce, 1)).unwrap()).collect();
    assert!(node.receipt(hashes[0]).unwrap().is_none(), "in the pool");
    let snapshot = node.snapshot();
    let block = node.mine(1).unwrap();
    for (index, hash) in (0..).zip(&hashes) {
        let mined = node.receipt(*hash).unwrap().unwrap();
        assert_eq!((mined.block().hash(), mined.index()), (block.hash(), index));
        assert_eq!(mined.transaction().hash(), *hash);
        assert_eq!(mined.receipt(), &block.receipts()[index as usize]);
    }
    assert!(node.receipt(B256::repeat_byte(1)).unwrap().is_none(), "unknown");
    assert!(node.revert(snapshot).unwrap());
    assert!(node.receipt(hashes[2]).unwrap().is_none(), "its block is not canonical any more");
}

#[test]
fn a_failing_request_has_no_estimate() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let estimate = |value| {
        let request = CallRequest { from: Some(alice), to: Some(bob), value, ..Default::default() };
        node.view().estimate_gas(&request, BlockRef::Latest, &Default::default())
    };
    assert_eq!(estimate(ether(1)).unwrap().get(), 21_000);
    assert!(matches!(estimate(ether(20_000)), Err(EstimateError::Query(_))));
    let init_code = Bytes::from_static(&[0x60, 0x80]);
    let request = CallRequest { from: Some(alice), input: init_code, ..Default::default() };
    let error = node.view().estimate_gas(&request, BlockRef::Latest, &Default::default()).unwrap_err();
    assert!(matches!(error, EstimateError::Failed(_)), "{error}");
    assert!(error.to_string().contains("EVM"), "{error}");
}

/// A store in which one read panics: the given number from now on.
#[derive(Debug)]
struct PanickingReads {
    inner: MemoryDisk,
    /// Reads until the panic; none is left below 0.
    left: AtomicI64,
}

impl KeyValue for PanickingReads {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        assert_ne!(self.left.fetch_sub(1, Ordering::SeqCst), 1, "the disk is on fire");
        self.inner.get(table, key)
    }

    fn scan_from(
        &self,
        table: Table,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.inner.scan_from(table, prefix, from, order, visit)
    }

    fn write(&self, batch: Batch) -> Result<(), StoreError> {
        self.inner.write(batch)
    }

    fn is_durable(&self) -> bool {
        true
    }
}

#[test]
fn a_panic_in_a_batch_undoes_it_and_the_others_are_sent() {
    let store = Arc::new(PanickingReads { inner: MemoryDisk::new(), left: AtomicI64::new(0) });
    let open = || Node::builder().with_database(Database::Store(store.clone())).with_accounts(40).build().unwrap();
    drop(open());
    // Nothing of the state is in memory yet.
    let node = open();
    let raws: Vec<Bytes> = (0..40).map(|from| plain_transfer(&node, from, 0, 1).encoded()).collect();
    store.left.store(3, Ordering::SeqCst);
    let sent = node.send_raw_batch(&raws);
    assert_eq!(node.panic_count(), 1, "{sent:?}");
    assert!(sent.iter().all(Result::is_ok), "the disk works again: {sent:?}");
    assert_eq!(node.view().head().block().transactions().len(), 40);
}
