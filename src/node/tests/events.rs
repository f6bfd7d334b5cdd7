//! Events of a node, and their order.

use core::time::Duration;

use super::fixture::{node_of, plain_transfer, protocols};
use crate::node::{Mining, Node, NodeEvent, NodeView, SubscriptionError};

#[test]
fn subscribers_receive_transactions_blocks_finality_and_what_a_revert_removes() {
    let node = Node::new();
    let snapshot = node.snapshot();
    let mut events = node.subscribe();
    let hash = node.send(plain_transfer(&node, 0, 0, 1)).unwrap();
    assert!(matches!(events.try_next().unwrap(), NodeEvent::Pending(transaction) if transaction.hash() == hash));
    let NodeEvent::Head { added, removed, .. } = events.try_next().unwrap() else { panic!("expected a block") };
    assert_eq!((added.len(), removed.len()), (1, 0));
    let mined = added[0].hash();
    let NodeEvent::Finalized { safe, finalized } = events.try_next().unwrap() else { panic!("expected finality") };
    assert_eq!((safe.hash(), finalized.hash()), (mined, mined), "one validator's block is final at once");
    assert!(node.revert(snapshot).unwrap());
    let NodeEvent::Head { added, removed, view } = events.try_next().unwrap() else { panic!("expected a revert") };
    assert_eq!((added.len(), removed.len()), (0, 1));
    assert_eq!(removed[0].hash(), mined);
    assert_eq!(view.head().height().get(), 0);
    let NodeEvent::Finalized { safe, finalized } = events.try_next().unwrap() else { panic!("expected finality") };
    assert_eq!((safe.height().get(), finalized.height().get()), (0, 0));
    assert_eq!(events.try_next().unwrap_err(), SubscriptionError::Empty);
}

#[test]
fn finality_is_an_event_when_it_moves_and_only_then() {
    for chain in protocols() {
        let node = node_of(chain).build().unwrap();
        let mut events = node.subscribe();
        let marks = |view: &NodeView| (view.safe().hash(), view.finalized().hash());
        let mut last = marks(&node.view());
        for _ in 0..40 {
            node.mine(1).unwrap();
            let NodeEvent::Head { view, .. } = events.try_next().unwrap() else { panic!("{chain:?}: a block first") };
            let moved = marks(&view);
            if moved != last {
                let Ok(NodeEvent::Finalized { safe, finalized }) = events.try_next() else { panic!("{chain:?}") };
                assert_eq!((safe.hash(), finalized.hash()), moved, "{chain:?}");
                last = moved;
            }
            assert_eq!(events.try_next().unwrap_err(), SubscriptionError::Empty, "{chain:?}");
        }
        assert_ne!(last, (node.view().genesis_hash(), node.view().genesis_hash()), "{chain:?}");
    }
}

#[test]
fn a_set_mining_mode_is_an_event_before_the_blocks_it_causes() {
    let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
    node.send(plain_transfer(&node, 0, 0, 1)).unwrap();
    let mut events = node.subscribe_to(|event| !matches!(event, NodeEvent::Finalized { .. }));
    let every = Mining::Interval(Duration::from_secs(12));
    for mining in [every, every, Mining::EachTransaction] {
        node.set_mining(mining).unwrap();
        let event = events.try_next().unwrap();
        assert!(matches!(event, NodeEvent::MiningChanged { mining: mode } if mode == mining), "{event:?}");
        assert_eq!((node.mining(), node.view().mining()), (mining, mining));
    }
    assert!(
        matches!(events.try_next(), Ok(NodeEvent::Head { added, .. }) if added[0].block().transactions().len() == 1)
    );
    assert_eq!(events.try_next().unwrap_err(), SubscriptionError::Empty);
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_cross_tasks() {
    let node = Node::new();
    let mut events = node.subscribe();
    let sender = node.clone();
    let sent = tokio::spawn(async move { sender.send(plain_transfer(&sender, 0, 0, 1)).unwrap() });
    let hash = sent.await.unwrap();
    let NodeEvent::Pending(pending) = events.next().await.unwrap() else { panic!("expected the transaction first") };
    assert_eq!(pending.hash(), hash);
}
