//! The proof verifier: total on any nodes; takes what the state proves; refuses it with any byte of it changed.
#![no_main]

use alloy_primitives::{Address, B256, Bytes, U256};
use arbitrary::Arbitrary;
use chainbox::state::{Account, AccountProof, StorageProof, verify_proof};
use chainbox_fuzz::{Who, funded_state};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Input {
    /// Nodes from anywhere, under the hash of the first of them.
    Any { address: [u8; 20], nonce: u64, nodes: Vec<Vec<u8>>, slot: [u8; 32], value: u64, storage_nodes: Vec<Vec<u8>> },
    /// A real proof with one byte changed.
    Changed { who: Who, slot: u8, in_storage: bool, node: u8, at: u16, by: u8 },
}

fuzz_target!(|input: Input| {
    match input {
        Input::Any { address, nonce, nodes, slot, value, storage_nodes } => {
            let bytes = |nodes: Vec<Vec<u8>>| nodes.into_iter().map(Bytes::from).collect::<Vec<_>>();
            let root = |nodes: &[Vec<u8>]| nodes.first().map(alloy_primitives::keccak256).unwrap_or_default();
            let (state_root, storage_root) = (root(&nodes), root(&storage_nodes));
            let slot = StorageProof { slot: B256::from(slot), value: U256::from(value), nodes: bytes(storage_nodes) };
            let account = Account { nonce, storage_root, ..Account::default() };
            let address = Address::from(address);
            let _ =
                verify_proof(state_root, &AccountProof { address, account, nodes: bytes(nodes), storage: vec![slot] });
        }
        Input::Changed { who, slot, in_storage, node, at, by } => {
            let state = funded_state();
            let root = state.commit().root;
            let slot = B256::from(U256::from(slot));
            let mut proof = state.proof(&who.address(), &[slot]).expect("memory is readable");
            verify_proof(root, &proof).expect("the state proves itself");
            let nodes = if in_storage { &mut proof.storage[0].nodes } else { &mut proof.nodes };
            let index = usize::from(node) % nodes.len();
            let mut changed = nodes[index].to_vec();
            let place = usize::from(at) % changed.len();
            changed[place] ^= by;
            nodes[index] = changed.into();
            assert_eq!(verify_proof(root, &proof).is_ok(), by == 0, "node {index}, byte {place}");
        }
    }
});
