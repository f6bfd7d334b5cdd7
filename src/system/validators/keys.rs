//! Sealing keys of validators. To the protocol a new key is a validator that joins with the weight of one that leaves.

use super::{
    interface::Validators as sol,
    state::{StoredMember, VALIDATORS},
};
use crate::{
    primitives::KeyPair,
    system::{
        address::VALIDATORS_ADDRESS,
        sealing_keys::{KeyClaim, prove_possession},
    },
    vm::contract::*,
};

/// Least number of blocks between two keys of one operator: what the contract keeps for ever grows no faster.
pub const KEY_INTERVAL_BLOCKS: u64 = 16;

/// Returns the proof by which an operator registers this key with the validators' contract.
pub fn prove_sealing_key(chain_id: u64, operator: Address, key: &KeyPair) -> Bytes {
    prove_possession(chain_id, VALIDATORS_ADDRESS, operator, key)
}

/// Returns the operator of a sealing key, a present or a former one, read out of the contract's storage without a call.
///
/// # Errors
/// Those of `read`, which returns the word of a slot of the validators' contract.
pub fn operator_in<E>(key: Address, read: impl FnOnce(U256) -> Result<U256, E>) -> Result<Address, E> {
    VALIDATORS.keys.read_operator(key, read)
}

/// Returns whether the address is, or ever was, a validator's own.
pub(super) fn is_operator(host: &mut Host<'_>, address: Address) -> Result<bool, Stop> {
    Ok(VALIDATORS.members.get(host, address)?.is_known)
}

/// Replaces the caller's key, or registers one before it is a validator.
pub(super) fn set_sealing_key(host: &mut Host<'_>, key: Address, proof: &[u8]) -> Result<(), Stop> {
    let operator = host.caller();
    let StoredMember { weight, is_convicted, .. } = VALIDATORS.members.get(host, operator)?;
    require(!is_convicted, sol::IsConvicted { validator: operator })?;
    let old = register(host, operator, key, proof)?;
    if weight > 0 {
        host.emit(&sol::WeightChanged { sealingKey: old, weight: 0 })?;
        host.emit(&sol::WeightChanged { sealingKey: key, weight })?;
    }
    Ok(())
}

/// Registers an operator's key and returns the former one.
pub(super) fn register(host: &mut Host<'_>, operator: Address, key: Address, proof: &[u8]) -> Result<Address, Stop> {
    VALIDATORS.keys.register(host, KeyClaim { operator, key }, proof, KEY_INTERVAL_BLOCKS, is_operator)
}
