//! The pool as the node uses it.

use super::fixture::{node_of, plain_transfer, protocols};
use crate::{
    chain::{CallRequest, ExecutedBlock, PoolError},
    consensus::ConsensusKind,
    node::{BlockRef, Mining, Node, SendError},
    primitives::{Address, B256, Gas, TransactionRequest, U256, ether},
};

fn manual(chain: (ConsensusKind, u32)) -> Node {
    node_of(chain).with_mining(Mining::Manual).build().unwrap()
}

fn counts(blocks: &[ExecutedBlock]) -> Vec<usize> {
    blocks.iter().map(|block| block.block().transactions().len()).collect()
}

/// Numbers of transactions of the blocks above `height`.
fn counts_above(node: &Node, height: u64) -> Vec<usize> {
    let view = node.view();
    let block = |height| view.block(BlockRef::Number(crate::primitives::Height::new(height))).unwrap();
    counts(&(height + 1..=view.head().height().get()).map(block).collect::<Vec<_>>())
}

#[test]
fn a_dropped_transaction_is_never_mined() {
    for chain in protocols() {
        let node = manual(chain);
        let dropped = node.send(plain_transfer(&node, 0, 0, 1)).unwrap();
        assert_eq!(node.drop_transaction(dropped).map(|transaction| transaction.hash()), Some(dropped), "{chain:?}");
        assert!(node.drop_transaction(dropped).is_none(), "{chain:?}");
        // Everybody's turn comes.
        assert_eq!(counts(&node.mine_all(5)), [0; 5], "{chain:?}");
        let kept = node.send(plain_transfer(&node, 1, 0, 1)).unwrap();
        let dropped: Vec<B256> = (0..3).map(|nonce| node.send(plain_transfer(&node, 0, nonce, 2)).unwrap()).collect();
        dropped.iter().for_each(|hash| drop(node.drop_transaction(*hash)));
        assert_eq!(node.mine(1).unwrap().block().transactions()[0].hash(), kept, "{chain:?}");
        node.send(plain_transfer(&node, 0, 0, 3)).unwrap();
        node.drop_all_transactions();
        assert_eq!(counts(&node.mine_all(5)), [0; 5], "{chain:?}");
        // Dropped ones may be sent again.
        node.send(plain_transfer(&node, 0, 0, 3)).unwrap();
        assert_eq!(counts(&node.mine_all(1)), [1], "{chain:?}");
    }
}

#[test]
fn what_cannot_be_paid_makes_no_block() {
    for chain in protocols() {
        let node = manual(chain);
        let [alice, bob, carol] = [0, 1, 2].map(|index| node.accounts()[index]);
        let send =
            |value| node.send_request(CallRequest { from: Some(alice), to: Some(bob), value, ..Default::default() });
        // Two transfers of 60 % of the balance that is left.
        send(ether(3_000)).unwrap();
        send(ether(3_000)).unwrap();
        node.set_balance(alice, ether(5_000)).unwrap();
        node.set_mining(Mining::EachTransaction).unwrap();
        assert_eq!(counts_above(&node, 0), [1], "{chain:?}");
        for height in 1..4 {
            node.transfer(bob, carol, U256::from(1)).unwrap();
            assert_eq!(counts_above(&node, height), [1], "{chain:?}");
        }
        let waiting = node.view().pooled();
        assert!(waiting[0].excluded.as_ref().unwrap().to_string().starts_with("insufficient funds"), "{waiting:?}");
        assert!(node.send(plain_transfer(&node, 0, 1, 1)).is_err(), "no replacement without a higher fee");
        node.transfer(bob, alice, ether(2_000)).unwrap();
        assert_eq!(counts_above(&node, 4), [1, 1], "{chain:?}: it is paid now");
        // As with geth, what the balance does not cover together with the pooled ones is refused.
        node.set_mining(Mining::Manual).unwrap();
        let [first, second] = [(); 2].map(|()| {
            let (from, value, gas) = (Some(carol), ether(6_000), Some(Gas::new(21_000)));
            node.send_request(CallRequest { from, to: Some(bob), value, gas, ..Default::default() })
        });
        first.unwrap();
        assert!(matches!(second, Err(SendError::Pool(PoolError::Overdraft { .. }))), "{second:?}");
    }
}

#[test]
fn what_does_not_fit_a_lower_gas_limit_makes_no_block() {
    let node = manual((ConsensusKind::Poa, 4));
    let [alice, bob] = [0, 1].map(|index| node.accounts()[index]);
    let large = CallRequest { from: Some(alice), to: Some(bob), gas: Some(Gas::new(9_000_000)), ..Default::default() };
    node.send_request(large).unwrap();
    node.set_block_gas_limit(Gas::new(8_000_000)).unwrap();
    node.set_mining(Mining::EachTransaction).unwrap();
    assert_eq!(counts_above(&node, 0), [0; 0]);
    for height in 0..2 {
        node.transfer(bob, alice, U256::from(1)).unwrap();
        assert_eq!(counts_above(&node, height), [1]);
    }
    node.set_block_gas_limit(Gas::new(9_000_000)).unwrap();
    node.transfer(bob, alice, U256::from(1)).unwrap();
    assert_eq!(counts_above(&node, 2), [2]);
}

#[test]
fn every_validator_has_what_is_sent_in_the_order_of_sending() {
    const COUNT: u64 = 200;
    for chain in protocols() {
        let node = manual(chain);
        for round in 0..4 {
            for nonce in round * COUNT..(round + 1) * COUNT {
                node.send(plain_transfer(&node, 0, nonce, 1)).unwrap();
            }
            assert_eq!(node.view().pool().counts(), (COUNT as usize, 0), "{chain:?}");
            assert_eq!(counts(&node.mine_all(1)), [COUNT as usize], "{chain:?}");
        }
    }
}

#[test]
fn a_block_is_ordered_by_effective_tip_then_arrival() {
    let node = manual((ConsensusKind::Poa, 1));
    let with = |from: usize, nonce, fee: u128, tip: u128| {
        let request = TransactionRequest {
            chain_id: Some(node.view().chain_id()),
            nonce,
            to: Some(node.accounts()[5]),
            gas_limit: Gas::new(21_000),
            max_fee_per_gas: fee,
            max_priority_fee_per_gas: tip,
            ..Default::default()
        };
        node.send(request.sign(&node.keys()[from]).unwrap()).unwrap()
    };
    let base_fee = u128::from(node.view().next_base_fee());
    // The first nonce pays least, and the second waits for it.
    let sent = [
        with(0, 0, base_fee + 2, 2),
        with(0, 1, base_fee + 90, 90),
        with(1, 0, base_fee + 5, 50),
        with(2, 0, base_fee + 5, 5),
        with(3, 0, 2 * base_fee, 6),
    ];
    let listed: Vec<B256> = [4, 2, 3, 0, 1].map(|index| sent[index]).into();
    let block = node.mine(1).unwrap();
    assert_eq!(block.block().transactions().iter().map(|t| t.hash()).collect::<Vec<_>>(), listed);
}

#[test]
fn a_dump_keeps_ready_ones_whose_first_was_replaced() {
    let node = manual((ConsensusKind::Poa, 1));
    for nonce in 0..100 {
        node.send(plain_transfer(&node, 0, nonce, 1)).unwrap();
    }
    let dearer = TransactionRequest {
        chain_id: Some(node.view().chain_id()),
        to: Some(Address::repeat_byte(1)),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 20_000_000_000,
        max_priority_fee_per_gas: 1,
        ..Default::default()
    };
    node.send(dearer.sign(&node.keys()[0]).unwrap()).unwrap();
    let dump = node.dump().unwrap();
    let other = manual((ConsensusKind::Poa, 1));
    other.load(&dump).unwrap();
    assert_eq!(other.view().pool().counts(), (100, 0));
    assert_eq!(other.dump().unwrap(), dump);
}

#[test]
fn a_refused_transaction_leaves_the_next_nonce_free() {
    let node = manual((ConsensusKind::Poa, 1));
    let alice = node.accounts()[0];
    let large = CallRequest {
        from: Some(alice),
        to: Some(node.accounts()[1]),
        input: vec![0; 128 << 10].into(),
        gas: Some(Gas::new(10_000_000)),
        ..Default::default()
    };
    let refused = node.send_request(large);
    assert!(matches!(refused, Err(SendError::Pool(PoolError::Oversized { limit: 131_072, .. }))), "{refused:?}");
    assert_eq!(node.view().nonce(alice, BlockRef::Pending).unwrap(), 0);
    assert!(node.view().pool().is_empty());
}
