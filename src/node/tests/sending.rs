//! Transactions from their sending to their receipts.

use super::fixture::{plain_transfer, request};
use crate::{
    chain::{CallRequest, PoolError},
    node::{BlockRef, EstimateError, Mining, Node, SendError},
    primitives::{B256, Bytes, Height, TransactionRequest, U256, ether},
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
    let hold = node.hold_mining();
    let second = node.send(plain_transfer(&node, 0, 20, 1)).unwrap();
    node.send(plain_transfer(&node, 0, 21, 1)).unwrap();
    assert!(node.receipt(second).unwrap().is_none());
    drop(hold);
    assert_eq!(node.view().head().block().transactions().len(), 2);
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
    let block = node.mine(1).unwrap().remove(0);
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
