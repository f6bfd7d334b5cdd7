//! `Debug` is short, whatever the size of the chain: it is what a failed assertion prints.

use std::sync::Arc;

use crate::{
    chain::CallRequest,
    node::{Located, Mining, Node, NodeEvent},
    primitives::{Address, Gas, U256},
};

/// Most bytes of one value's text.
const TEXT_BYTES_MAX: usize = 4_096;

#[test]
fn the_text_of_every_value_stays_short_on_a_large_chain() {
    let accounts = (0..1_000_u64).map(|n| (Address::from_word(U256::from(n + 0x10_000).into()), U256::from(n + 1)));
    let node =
        accounts.fold(Node::builder(), |builder, (address, balance)| builder.with_funded_account(address, balance));
    let node = node.build().unwrap();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let mut events = node.subscribe();
    let snapshot = node.snapshot();
    node.mine(99).unwrap();
    let mined = node.transfer(alice, bob, U256::from(5)).unwrap();
    node.revert(snapshot).unwrap();
    let located = Located::Mined { block: mined.block().clone(), index: mined.index() };
    let block = Arc::clone(mined.block().block());
    let view = node.view();
    let mut texts = vec![
        ("mined", format!("{mined:?}")),
        ("block", format!("{block:?}")),
        ("executed block", format!("{:?}", mined.block())),
        ("located", format!("{located:?}")),
        ("chain", format!("{:?}", view.chain())),
        ("view", format!("{view:?}")),
        ("node", format!("{node:?}")),
        ("contract", format!("{:?}", node.contract(bob, alice))),
    ];
    texts.extend(large_transaction_texts());
    let mut has_large = false;
    while let Ok(event) = events.try_next() {
        has_large |= matches!(&event, NodeEvent::Head { removed, .. } if removed.len() == 100);
        texts.push(("event", format!("{event:?}")));
    }
    assert!(has_large, "the revert removes all blocks in one event");
    for (what, text) in &texts {
        assert!(text.len() < TEXT_BYTES_MAX, "{what}: {} bytes: {}", text.len(), &text[..200]);
    }
}

/// Of a transaction with 100 KB of call data, its receipt with a log, and pools that have it.
fn large_transaction_texts() -> [(&'static str, String); 4] {
    let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let request = CallRequest::call(bob, vec![1; 100_000]).with_from(alice).with_gas(Gas::new(9_000_000));
    let hash = node.send_request(request).unwrap();
    let pool = format!("{:?}", node.view().pool());
    let pooled = format!("{:?}", node.view().pooled());
    node.mine(1).unwrap();
    let mined = node.receipt(hash).unwrap().unwrap();
    let (transaction, receipt) = (format!("{:?}", mined.transaction()), format!("{:?}", mined.receipt()));
    assert!(transaction.contains("input_bytes: 100000") && receipt.contains("status: \"success\""));
    assert!(pool.contains("ready: 1"), "{pool}");
    [("pool", pool), ("pooled", pooled), ("transaction", transaction), ("receipt", receipt)]
}

#[test]
fn a_node_is_unwind_safe() {
    fn check<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>(_: &T) {}
    let node = Node::new();
    check(&node);
    check(&node.contract(Address::ZERO, Address::ZERO));
    let outcome = std::panic::catch_unwind(|| node.mine(1).unwrap());
    assert_eq!(outcome.unwrap().height().get(), 1);
}

#[test]
fn the_text_of_a_transaction_names_block_status_and_gas() {
    let node = Node::new();
    let mined = node.transfer(node.accounts()[0], node.accounts()[1], U256::from(5)).unwrap();
    let text = format!("{mined:?}");
    let hash = mined.transaction().hash();
    for part in [&format!("hash: {hash}"), "height: 1", "status: \"success\"", "gas_used: 21000", "logs: 0"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let block = format!("{:?}", mined.block());
    assert!(block.contains("transactions: 1") && block.contains("failed: 0"), "{block}");
}
