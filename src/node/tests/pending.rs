//! The pending block, and which states show what was set by hand.

use core::time::Duration;
use std::sync::Arc;

use super::fixture::{node_of, protocols, request};
use crate::{
    chain::{CallRequest, StateOverrides},
    node::{BlockRef, Database, ManualClock, Mining, Node, NodeView},
    primitives::{Address, Height, Timestamp, Transaction, TransactionRequest, U256, ether},
    state::{AccountProof, verify_proof},
    store::testing::MemoryDisk,
    templates::{Erc20Params, erc20::interface as erc20},
};

/// A transfer of one wei with a tip.
fn tipped(node: &Node, from: usize, nonce: u64, tip: u128) -> Transaction {
    let request = TransactionRequest { max_priority_fee_per_gas: tip, value: U256::from(1), ..request(node, nonce) };
    request.sign(&node.keys()[from]).unwrap()
}

fn estimate(node: &Node, request: &CallRequest, at: BlockRef) -> Result<u64, String> {
    let estimate = node.view().estimate_gas(request, at, &StateOverrides::new());
    estimate.map(|gas| gas.get()).map_err(|error| error.to_string())
}

#[test]
fn the_pending_block_is_the_one_that_is_mined() {
    for chain in protocols() {
        for database in [Database::Memory, Database::Store(Arc::new(MemoryDisk::new()))] {
            let node = node_of(chain).with_mining(Mining::Manual).with_database(database).build().unwrap();
            node.mine(2).unwrap();
            for (from, nonce, tip) in [(0, 0, 5), (1, 0, 9), (0, 1, 7), (2, 0, 9), (3, 1, 99)] {
                node.send(tipped(&node, from, nonce, tip)).unwrap();
            }
            node.set_balance(Address::repeat_byte(5), ether(3)).unwrap();
            node.set_next_block_base_fee(77).unwrap();
            node.increase_time(Duration::from_secs(3_600));
            let view = node.view();
            let (pending, state) = (view.pending_block().unwrap(), view.state(BlockRef::Pending).unwrap());
            assert_eq!(view.block(BlockRef::Pending).unwrap().hash(), pending.hash());
            assert!(view.block(BlockRef::Hash(pending.hash())).is_err(), "{chain:?}: no chain contains it");

            let mined = node.mine(1).unwrap().remove(0);
            let hashes = |block: &crate::chain::ExecutedBlock| -> Vec<_> {
                block.block().transactions().iter().map(|transaction| transaction.hash()).collect()
            };
            assert_eq!(hashes(&pending), hashes(&mined), "{chain:?}: the order");
            assert_eq!(mined.block().transactions().len(), 4, "{chain:?}: one waits behind a gap");
            assert_eq!(pending.receipts(), mined.receipts(), "{chain:?}");
            let (got, want) = (pending.block().header(), mined.block().header());
            assert_eq!((got.state_root, got.receipts_root), (want.state_root, want.receipts_root), "{chain:?}");
            assert_eq!((got.timestamp, got.beneficiary), (want.timestamp, want.beneficiary), "{chain:?}");
            assert_eq!((got.base_fee_per_gas, got.difficulty), (want.base_fee_per_gas, want.difficulty), "{chain:?}");
            assert_eq!((got.number, got.parent_hash), (want.number, want.parent_hash), "{chain:?}");
            assert_eq!(pending.block().interventions(), mined.block().interventions(), "{chain:?}");

            // A state stays readable when its view and its block are gone.
            drop((view, pending));
            assert_eq!(state.commit().root, mined.block().header().state_root);
            assert_eq!(state.account(&Address::repeat_byte(0x77)).unwrap().unwrap().balance, U256::from(4));
        }
    }
}

#[test]
fn reads_at_pending_see_the_pool() {
    let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
    let (alice, bob, carol) = (node.accounts()[0], node.accounts()[1], Address::repeat_byte(0xca));
    let init_code = Erc20Params::new("Gold", "GLD", U256::from(1_000), alice).init_code();
    let gold = alice.create(0);
    let send = |from, to, input: Vec<u8>| {
        node.send_request(CallRequest { from: Some(from), to, input: input.into(), ..Default::default() })
    };
    send(alice, None, init_code.to_vec()).unwrap();
    assert!(node.view().code(gold, BlockRef::Latest).unwrap().is_empty());
    assert!(!node.view().code(gold, BlockRef::Pending).unwrap().is_empty());

    use alloy_sol_types::SolCall;
    let spend = erc20::transferFromCall { from: alice, to: carol, value: U256::from(40) }.abi_encode();
    let spend = CallRequest { from: Some(bob), to: Some(gold), input: spend.into(), ..Default::default() };
    assert!(estimate(&node, &spend, BlockRef::Pending).unwrap_err().contains("revert"), "nothing is approved yet");
    let approval = erc20::approveCall { spender: bob, value: U256::from(40) }.abi_encode();
    send(alice, Some(gold), approval).unwrap();
    assert!(estimate(&node, &spend, BlockRef::Pending).unwrap() > 21_000);
    assert_eq!(node.view().nonce(alice, BlockRef::Pending).unwrap(), 2);
    assert_eq!(node.view().account(alice, BlockRef::Pending).unwrap().nonce, 2);
    node.send_request(spend).unwrap();
    let balance = CallRequest::call(gold, erc20::balanceOfCall { account: carol }.abi_encode());
    let held = node.call(&balance, BlockRef::Pending).unwrap();
    assert_eq!(U256::from_be_slice(held.success_output().unwrap()), U256::from(40));
    assert_eq!(node.view().head().height(), Height::default());
    let mined = node.mine(1).unwrap().remove(0);
    assert!(mined.receipts().iter().all(|receipt| receipt.inner.status.coerce_status()));
}

#[test]
fn the_pending_block_is_built_once_for_a_head_a_pool_and_a_time() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(2_000_000_000)));
    let node = Node::builder().with_mining(Mining::Manual).with_clock(clock.clone()).build().unwrap();
    let pending = || node.view().pending_block().unwrap();
    let is_same = |one: &crate::chain::ExecutedBlock, other: &crate::chain::ExecutedBlock| {
        Arc::ptr_eq(one.block(), other.block())
    };
    let first = pending();
    assert!(is_same(&first, &pending()));
    node.impersonate(Address::repeat_byte(1)).unwrap();
    assert!(is_same(&first, &pending()), "another setting");
    clock.advance(Duration::from_secs(1));
    let later = pending();
    assert_eq!(later.block().timestamp().as_secs(), first.block().timestamp().as_secs() + 1);
    let sent = node.send(tipped(&node, 0, 0, 1)).unwrap();
    assert_eq!(pending().block().transactions()[0].hash(), sent);
    node.drop_transaction(sent);
    assert!(pending().block().transactions().is_empty());
    node.set_balance(Address::repeat_byte(1), ether(1)).unwrap();
    assert_ne!(pending().block().header().state_root, later.block().header().state_root);
    node.set_next_block_timestamp(Timestamp::from_secs(2_000_000_500)).unwrap();
    assert_eq!(pending().block().timestamp().as_secs(), 2_000_000_500);
    node.mine(1).unwrap();
    assert_eq!(pending().height(), Height::new(2));
}

/// A proof of a balance, and the root in the header of the block that it is of.
fn proof_at(view: &NodeView, address: Address, at: BlockRef) -> AccountProof {
    let proof = view.proof(address, &[], at).unwrap();
    verify_proof(view.block(at).unwrap().block().header().state_root, &proof).unwrap();
    proof
}

#[test]
fn only_latest_and_pending_show_what_is_set_by_hand() {
    let (node, account) = (Node::new(), Address::repeat_byte(0x42));
    node.set_balance(account, ether(1)).unwrap();
    node.mine(1).unwrap();
    node.set_balance(account, ether(5)).unwrap();
    let view = node.view();
    let head = view.head();
    let named = [BlockRef::Hash(head.hash()), BlockRef::Number(head.height()), BlockRef::Safe, BlockRef::Finalized];
    for at in named {
        assert_eq!(view.block(at).unwrap().hash(), head.hash());
        assert_eq!(view.balance(account, at).unwrap(), ether(1), "{at:?}");
        assert_eq!(view.state(at).unwrap().commit().root, head.block().header().state_root, "{at:?}");
        assert_eq!(view.call_context(at).unwrap().state.account(&account).unwrap().unwrap().balance, ether(1));
        assert_eq!(proof_at(&view, account, at).account.balance, ether(1), "{at:?}");
    }
    for at in [BlockRef::Latest, BlockRef::Pending] {
        assert_eq!(view.balance(account, at).unwrap(), ether(5), "{at:?}");
        assert_eq!(view.call_context(at).unwrap().state.account(&account).unwrap().unwrap().balance, ether(5));
    }
    // A proof verifies under its block's root, so that at the head lacks what no block has recorded.
    assert_eq!(proof_at(&view, account, BlockRef::Latest).account.balance, ether(1));
    assert_eq!(proof_at(&view, account, BlockRef::Pending).account.balance, ether(5));
    assert_eq!(view.balance(account, BlockRef::Earliest).unwrap(), U256::ZERO);
}
