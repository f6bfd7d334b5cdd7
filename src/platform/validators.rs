//! Rules of validators: a validator is an operator on a chain, and a replica of the chain's network that has its sealing key.
//!
//! What is shown is what the chain says: the staking contract where it has stake, else the validators' contract. Changes are transactions,
//! which the protocol takes over at its next boundary.

mod adding;
mod changes;
mod delegations;
mod duties;
mod orders;
mod processes;
pub(super) mod quorum;
mod shape;
#[cfg(test)]
mod tests;
mod updating;
mod withdrawals;

use std::sync::Arc;

use alloy_primitives::Address;

pub use self::{
    delegations::Delegation,
    duties::ValidatorDuties,
    orders::{
        ClaimOrder, CommissionOrder, DelegationOrder, DelegationSpec, NewValidator, SlashOrder, SlashPart, SlashSpec,
        SlashedBy, StakeSpec, ValidatorChange, WithdrawalOrder,
    },
    shape::{Validator, ValidatorProcess, ValidatorRound, ValidatorState},
    withdrawals::{Unbonding, Withdrawal},
};
use super::{
    PlatformError,
    blockchain::{Blockchain, VALIDATORS_MAX},
    blockchains::Blockchains,
    plan::check_number,
    principal::Principal,
    records::Stored,
    validator::{HostedValidator, ValidatorId},
};
use crate::{
    chain::SystemViewError,
    node::QueryError,
    system::staking::{ValidatorRecord, ValidatorStatus},
};

/// Rules of validators.
#[derive(Clone, Copy, Debug)]
pub struct Validators<'a> {
    pub(super) chains: Blockchains<'a>,
}

impl Validators<'_> {
    /// Returns the validators of a chain in ascending order of their operators: those that the protocol counts, those that wait or have
    /// left, and those that were added and are in no block yet.
    ///
    /// # Errors
    /// As [`Blockchains::readable`], and those of reading.
    pub fn list(&self, principal: &Principal, chain: &str) -> Result<Vec<Validator>, PlatformError> {
        self.of_chain(&*self.chains.readable(principal, chain)?)
    }

    /// Returns a validator, and its chain.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`]; as [`Blockchains::readable`], and those of reading.
    pub fn get(&self, principal: &Principal, id: &ValidatorId) -> Result<(Arc<Blockchain>, Validator), PlatformError> {
        let not_found = |cause| match cause {
            PlatformError::NotFound { .. } => PlatformError::not_found("validator", &id.text()),
            other => other,
        };
        let chain = self.chains.readable(principal, &id.blockchain_id).map_err(not_found)?;
        let validator = self.find(&chain, id.operator)?;
        Ok((chain, validator.ok_or_else(|| PlatformError::not_found("validator", &id.text()))?))
    }

    /// Measures a validator on the newest blocks of its chain.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when they can't be read.
    pub fn duties(&self, chain: &Blockchain, validator: &Validator) -> Result<ValidatorDuties, PlatformError> {
        let view = chain.node().view();
        let counted = view.validators().map_err(PlatformError::from_query)?;
        let mut keys: Vec<Address> =
            counted.iter().filter(|record| record.validates).map(|record| record.sealing_key).collect();
        keys.sort_unstable();
        duties::measure(&view, chain.node().consensus(), &keys, validator.sealing_key)
    }

    /// Returns the height of the replica with a validator's key; `None` where it is held elsewhere and on demand.
    pub fn replica_head(&self, chain: &Blockchain, validator: &Validator) -> Option<u64> {
        let (network, replica) = chain.engine().replica_of(validator.sealing_key)?;
        Some(network.node(replica).ok()?.view().head().height().get())
    }

    /// Refuses one more validator than the plan of the chain's workspace allows, or any chain has: the bounds of a chain that is made.
    fn check_room(&self, chain: &Blockchain, operator: Address) -> Result<(), PlatformError> {
        let is_counted = |one: &Validator| {
            one.operator != operator && !one.state.is_out() && one.state != ValidatorState::Tombstoned
        };
        let with_it = self.of_chain(chain)?.into_iter().filter(is_counted).count().saturating_add(1);
        if with_it > VALIDATORS_MAX {
            let message =
                format!("the blockchain has {VALIDATORS_MAX} validators, the most that one has: remove one first");
            return Err(PlatformError::Conflict { message });
        }
        let plan = self.chains.context.stored_plan(chain.owner())?;
        check_number("validators of a blockchain", with_it as u64, plan.validators_max)
    }

    fn find(&self, chain: &Blockchain, operator: Address) -> Result<Option<Validator>, PlatformError> {
        Ok(self.of_chain(chain)?.into_iter().find(|validator| validator.operator == operator))
    }

    /// Returns the validators of a chain, as [`Validators::list`] does.
    pub(in crate::platform) fn of_chain(&self, chain: &Blockchain) -> Result<Vec<Validator>, PlatformError> {
        let records = self.records(chain)?;
        let on_chain = chain.node().view().validators().map_err(PlatformError::from_query)?;
        let mut found = Vec::new();
        for record in &on_chain {
            let kept = records.iter().find(|kept| kept.value.operator == record.address);
            found.push(shape::of_record(chain, record, kept.map(|kept| &kept.value)));
        }
        for kept in &records {
            if !on_chain.iter().any(|record| record.address == kept.value.operator) {
                let record = self.record_of(chain, kept.value.operator)?;
                found.push(shape::of_absent(chain, &record, kept.value.sealing_key, Some(&kept.value)));
            }
        }
        let view = chain.node().view();
        for validator in &view.chain().spec().validators {
            let operator = validator.operator.unwrap_or(validator.address);
            if !found.iter().any(|one| one.operator == operator) {
                let record = self.record_of(chain, operator)?;
                found.push(shape::of_absent(chain, &record, validator.address, None));
            }
        }
        found.sort_unstable_by_key(|validator| validator.operator);
        Ok(found)
    }

    /// Returns what the chain has of an operator that validates no more, or not yet.
    fn record_of(&self, chain: &Blockchain, operator: Address) -> Result<ValidatorRecord, PlatformError> {
        let view = chain.node().view();
        let (head, chain) = (view.head(), view.chain());
        if chain.has_stake() {
            return chain.staked_validator(head, operator).map_err(unreadable);
        }
        if !chain.has_validator_registry() {
            return Ok(shape::unknown(operator, operator));
        }
        let registered = chain.registered_validator(head, operator).map_err(unreadable)?;
        let record = shape::unknown(operator, registered.sealing_key);
        let status = match registered.is_convicted {
            true => ValidatorStatus::Tombstoned,
            // Who has left; who has registered a key alone is unknown.
            false if chain.was_validator(head, operator).map_err(unreadable)? => ValidatorStatus::Unbonded,
            false => record.status,
        };
        Ok(ValidatorRecord { status, ..record })
    }

    fn records(&self, chain: &Blockchain) -> Result<Vec<Stored<HostedValidator>>, PlatformError> {
        let records = self.chains.context.records.of();
        Ok(records.of_chain(&HostedValidator::BY_BLOCKCHAIN, chain.owner(), chain.id())?)
    }
}

/// Converts a failed read of a system contract.
pub(super) fn unreadable(cause: SystemViewError) -> PlatformError {
    PlatformError::from_query(QueryError::from(cause))
}
