//! State proofs: a token balance proven to a verifier that has only the block's state root.
//!
//! `cargo run --example read_proof`

use chainbox::{
    node::{BlockRef, Node},
    primitives::{B256, U256},
    state::verify_proof,
    templates::{Erc20Params, erc20::interface as erc20},
    vm::mapping_slot,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let gold = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(1_000), alice).init_code())?;
    gold.send(erc20::transferCall { to: bob, value: U256::from(250) })?;

    // Balances are a Solidity mapping at slot 0.
    let slot = B256::from(mapping_slot(U256::from_be_slice(bob.as_slice()), U256::ZERO));
    let view = node.view();
    let state_root = view.head().block().header().state_root;
    let mut proof = view.proof(gold.address(), &[slot], BlockRef::Latest)?;

    // The verifier has the root and the proof alone.
    verify_proof(state_root, &proof)?;
    assert_eq!(proof.storage[0].value, U256::from(250));

    proof.storage[0].value = U256::from(1_000_000);
    assert!(verify_proof(state_root, &proof).is_err(), "a forged balance must be refused");
    println!("250 GLD proven under state root {state_root} with {} bytes", proof_bytes(&proof));
    Ok(())
}

fn proof_bytes(proof: &chainbox::state::AccountProof) -> usize {
    let storage = proof.storage.iter().flat_map(|slot| &slot.nodes);
    proof.nodes.iter().chain(storage).map(|node| node.len()).sum()
}
