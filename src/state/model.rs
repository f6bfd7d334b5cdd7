//! The trie as the Yellow Paper defines it (appendix D), without optimisations: the reference for tests.

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use alloy_primitives::{B256, U256, keccak256};
use alloy_rlp::{BufMut, Encodable, Header};

use super::{Account, EMPTY_ROOT, StateView};

/// Returns the root of the trie over `pairs`, whose keys are used as they are and may have any length.
pub fn naive_root(pairs: &BTreeMap<Vec<u8>, Vec<u8>>) -> B256 {
    let nibbles = |key: &Vec<u8>| key.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]).collect();
    let pairs: Vec<(Vec<u8>, Vec<u8>)> = pairs.iter().map(|(key, value)| (nibbles(key), value.clone())).collect();
    if pairs.is_empty() { EMPTY_ROOT } else { keccak256(structure(&pairs, 0)) }
}

/// Returns the root of one account's storage.
pub fn naive_storage_root(slots: &BTreeMap<U256, U256>) -> B256 {
    let slots = slots.iter().filter(|(_, value)| !value.is_zero());
    let pair = |(slot, value): (&U256, &U256)| (keccak256(slot.to_be_bytes::<32>()).to_vec(), alloy_rlp::encode(value));
    naive_root(&slots.map(pair).collect())
}

/// Returns the state root of `view`, rebuilt from the leaves: every account visited, every slot of each.
///
/// # Panics
/// When the view cannot be read, or an account's storage root is not that of its slots.
pub fn rebuilt_root(view: &dyn StateView) -> B256 {
    let mut accounts = Vec::new();
    view.for_each_account(&mut |address, account| {
        accounts.push((address, account));
        ControlFlow::Continue(())
    })
    .expect("the accounts can be read");
    let mut pairs = BTreeMap::new();
    for (address, account) in accounts {
        let mut slots = BTreeMap::new();
        view.for_each_slot(&address, &mut |slot, value| {
            slots.insert(slot, value);
            ControlFlow::Continue(())
        })
        .expect("the slots can be read");
        assert_eq!(naive_storage_root(&slots), account.storage_root, "storage root of {address}");
        pairs.insert(keccak256(address).to_vec(), encode_account(&account));
    }
    naive_root(&pairs)
}

/// Returns the RLP of an account (Yellow Paper, 4.1), encoded without the engine's code.
pub fn encode_account(account: &Account) -> Vec<u8> {
    let mut payload = Vec::new();
    account.nonce.encode(&mut payload);
    account.balance.encode(&mut payload);
    account.storage_root.encode(&mut payload);
    account.code_hash.encode(&mut payload);
    list(&payload)
}

/// Returns the RLP of the node for `pairs`, which share their first `depth` nibbles: c(J, i) in the Yellow Paper.
fn structure(pairs: &[(Vec<u8>, Vec<u8>)], depth: usize) -> Vec<u8> {
    let mut payload = Vec::new();
    let (first, value) = &pairs[0];
    if pairs.len() == 1 {
        hex_prefix(&first[depth..], true).as_slice().encode(&mut payload);
        value.as_slice().encode(&mut payload);
        return list(&payload);
    }
    let shared = (depth..)
        .take_while(|at| pairs.iter().all(|(key, _)| key.get(*at).is_some() && key.get(*at) == first.get(*at)));
    let fork = depth + shared.count();
    if fork > depth {
        hex_prefix(&first[depth..fork], false).as_slice().encode(&mut payload);
        payload.put_slice(&name(&structure(pairs, fork)));
        return list(&payload);
    }
    for nibble in 0..16 {
        let below: Vec<_> = pairs.iter().filter(|(key, _)| key.get(depth) == Some(&nibble)).cloned().collect();
        if below.is_empty() { payload.put_u8(0x80) } else { payload.put_slice(&name(&structure(&below, depth + 1))) }
    }
    let here = pairs.iter().find(|(key, _)| key.len() == depth).map_or(&[][..], |(_, value)| value);
    here.encode(&mut payload);
    list(&payload)
}

/// Returns the reference of a node in its parent: n(J, i) in the Yellow Paper.
fn name(rlp: &[u8]) -> Vec<u8> {
    if rlp.len() < 32 { rlp.to_vec() } else { alloy_rlp::encode(keccak256(rlp)) }
}

fn hex_prefix(nibbles: &[u8], leaf: bool) -> Vec<u8> {
    let flag = if leaf { 2 } else { 0 };
    let odd = nibbles.len() % 2;
    let mut all = vec![flag + odd as u8];
    if odd == 0 {
        all.push(0);
    }
    all.extend_from_slice(nibbles);
    all.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn list(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Header { list: true, payload_length: payload.len() }.encode(&mut out);
    out.put_slice(payload);
    out
}
