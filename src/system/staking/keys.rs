//! Sealing keys of validators.
//!
//! To consensus a new key is an address that joins with the weight of one that leaves. Where joining and leaving have queues, so has this: the
//! time for which a light verifier may be away is computed from how many addresses of a set can be others by then.

use alloy_primitives::{Address, Bytes, U256};

use super::{
    interface as sol,
    layout::{STAKING, Staking, StoredParams, ValidatorEntry},
};
use crate::{
    primitives::KeyPair,
    system::{
        address::STAKING_ADDRESS,
        sealing_keys::{KeyClaim, prove_possession},
    },
    vm::{Host, Stop, abi::require},
};

/// Returns the proof by which an operator registers this key with the staking contract.
pub fn prove_sealing_key(chain_id: u64, operator: Address, key: &KeyPair) -> Bytes {
    prove_possession(chain_id, STAKING_ADDRESS, operator, key)
}

/// Returns the operator of a sealing key, a present or a former one, read out of the contract's storage without a call.
///
/// # Errors
/// Those of `read`, which returns the word of a slot of the staking contract.
pub fn operator_in<E>(key: Address, read: impl FnOnce(U256) -> Result<U256, E>) -> Result<Address, E> {
    STAKING.keys.read_operator(key, read)
}

/// Returns whether the address ever was a validator's own.
fn is_operator(host: &mut Host<'_>, address: Address) -> Result<bool, Stop> {
    Ok(Staking(host).find(address)?.exists)
}

impl Staking<'_, '_> {
    /// Returns the operator of a key, a present or a former one.
    pub(super) fn operator_of(&mut self, key: Address) -> Result<Address, Stop> {
        STAKING.keys.operator_of(self.0, key)
    }

    /// Returns a validator's present key.
    pub(super) fn key_of(&mut self, validator: &ValidatorEntry) -> Result<Address, Stop> {
        if validator.has_key { STAKING.keys.key_of(self.0, validator.address) } else { Ok(validator.address) }
    }

    /// Replaces the caller's key: at once, or through the queue of rotations where there is one and it is in consensus.
    pub(super) fn set_sealing_key(&mut self, key: Address, proof: &[u8]) -> Result<(), Stop> {
        let params = self.load_params()?;
        let operator = self.0.caller();
        let mut validator = self.get(operator)?;
        require(!validator.is_tombstoned, sol::IsTombstoned { validator: operator })?;
        if params.churn_limit == 0 || !validator.is_bonded() {
            return self.register_key(&params, &mut validator, key, proof);
        }
        let claim = KeyClaim { operator, key };
        STAKING.keys.claim(self.0, claim, proof, params.downtime_window.into(), is_operator)?;
        STAKING.waiting_keys.set(self.0, operator, key)?;
        self.enqueue(STAKING.rotations, operator)?;
        self.0.emit(&sol::SealingKeyRequested { operator, key })
    }

    /// Registers a key of a validator and puts it in the place of the present one. Once in so many blocks as a downtime window
    /// has: so the absences in a window of blocks are of two keys at most, and what the contract keeps for ever grows no faster.
    pub(super) fn register_key(
        &mut self,
        params: &StoredParams,
        validator: &mut ValidatorEntry,
        key: Address,
        proof: &[u8],
    ) -> Result<(), Stop> {
        let claim = KeyClaim { operator: validator.address, key };
        STAKING.keys.claim(self.0, claim, proof, params.downtime_window.into(), is_operator)?;
        // One that waits comes too late.
        STAKING.waiting_keys.set(self.0, validator.address, Address::ZERO)?;
        self.replace_key(validator, key)
    }

    /// Takes over a key of genesis.
    pub(super) fn adopt_key(&mut self, operator: Address, key: Address) -> Result<(), Stop> {
        STAKING.keys.adopt(self.0, KeyClaim { operator, key }, is_operator)?;
        let mut validator = self.find(operator)?;
        validator.has_key = true;
        self.put(&validator)
    }

    /// Replaces the keys of the first `limit` validators in the queue of rotations; returns the number of those.
    pub(super) fn rotate_first(&mut self, limit: u64) -> Result<u64, Stop> {
        let mut rotated = 0;
        while rotated < limit {
            let Some(operator) = self.dequeue(STAKING.rotations)? else { break };
            rotated += 1;
            let waiting = STAKING.waiting_keys.at(self.0, operator)?;
            let key = waiting.get(self.0)?;
            let mut validator = self.find(operator)?;
            if key.is_zero() || validator.is_tombstoned {
                continue;
            }
            waiting.set(self.0, Address::ZERO)?;
            self.replace_key(&mut validator, key)?;
        }
        Ok(rotated)
    }

    /// Gives the weight of a validator's present key to another.
    fn replace_key(&mut self, validator: &mut ValidatorEntry, key: Address) -> Result<(), Stop> {
        let old = STAKING.keys.replace(self.0, KeyClaim { operator: validator.address, key })?;
        if !validator.has_key {
            validator.has_key = true;
            // One that joins is stored by who lets it join.
            if validator.exists {
                self.put(validator)?;
            }
        }
        let weight = validator.weight(validator.stored.tokens.get(self.0)?);
        if weight > 0 {
            self.0.emit(&sol::WeightChanged { sealingKey: old, weight: 0 })?;
            self.0.emit(&sol::WeightChanged { sealingKey: key, weight })?;
        }
        Ok(())
    }
}
