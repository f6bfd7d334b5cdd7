//! Changing a validator: name and metadata, which the service keeps, and the commission, which the chain has.

use alloy_primitives::B256;
use alloy_sol_types::SolCall;

use super::{
    Validator, Validators,
    changes::staked,
    orders::{CommissionOrder, ValidatorChange},
};
use crate::{
    platform::{
        DEFAULT_BLOCKCHAIN_ID, PlatformError,
        blockchain::Blockchain,
        blockchains::{Outgoing, signed_by},
        context::audit,
        principal::Principal,
        records::Unit,
        validator::{HostedValidator, ValidatorId},
    },
    system::staking::{STAKING_ADDRESS, interface as stake},
};

impl Validators<'_> {
    /// Sends the transaction that changes a validator's commission, if the change has one, under the id of the request, and returns its
    /// hash. [`Validators::describe`] is the second step.
    ///
    /// # Errors
    /// [`PlatformError::UnsupportedByConsensus`] for a commission on a chain without stake; [`PlatformError::Conflict`] for a commission that the
    /// contract refuses, as one too soon after the last, for an operator for whom the service does not sign, and for the name of a
    /// validator of the default chain; [`PlatformError::Validation`] for another signed transaction.
    pub fn update(
        &self,
        principal: &Principal,
        id: &ValidatorId,
        request: &str,
        change: &ValidatorChange,
    ) -> Result<Option<B256>, PlatformError> {
        let (chain, validator) = self.commanded(principal, id)?;
        check_described(&chain, change)?;
        let Some(order) = &change.commission else { return Ok(None) };
        staked(&chain, &validator)?;
        let to = (&*chain, request, "validator.commission", format!("validator {}", id.text()));
        self.send(principal, to, || self.commission_change(principal, &chain, &validator, order)).map(Some)
    }

    /// Returns the transaction that changes a commission.
    fn commission_change(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        validator: &Validator,
        order: &CommissionOrder,
    ) -> Result<Outgoing, PlatformError> {
        let operator = (validator.operator, STAKING_ADDRESS);
        match order {
            CommissionOrder::Signed(raw) => Ok(signed_by(raw, operator, &[stake::setCommissionCall::SELECTOR])?.into()),
            CommissionOrder::Bps(bps) => {
                let call = stake::setCommissionCall { commissionBps: *bps }.abi_encode();
                self.chains.call_of(principal, chain, operator, call)
            }
        }
    }

    /// Writes a validator's new name and metadata, if the change has any, and returns the validator with them.
    ///
    /// # Errors
    /// As [`Validators::get`]; [`PlatformError::Conflict`] for a validator of the default chain.
    pub fn describe(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &ValidatorId,
        change: &ValidatorChange,
    ) -> Result<Validator, PlatformError> {
        let (chain, mut validator) = self.get(principal, id)?;
        if change.name.is_none() && change.metadata.is_none() {
            return Ok(validator);
        }
        check_described(&chain, change)?;
        if let Some(name) = &change.name {
            validator.name.clone_from(name);
        }
        if let Some(metadata) = &change.metadata {
            validator.metadata.clone_from(metadata);
        }
        change_record(unit, &chain, &validator, |record| {
            (record.name, record.metadata) = (validator.name.clone(), validator.metadata.clone());
        })?;
        audit(unit, principal, "validator.update", format!("validator {}", id.text()))?;
        Ok(validator)
    }
}

/// Refuses to name a validator of the default chain, whose snapshots cover no records of validators.
fn check_described(chain: &Blockchain, change: &ValidatorChange) -> Result<(), PlatformError> {
    let is_described = change.name.is_some() || change.metadata.is_some();
    if chain.id() != DEFAULT_BLOCKCHAIN_ID || !is_described {
        return Ok(());
    }
    let message = "the service keeps no names and no metadata of validators of the default blockchain: make a blockchain of your \
                   own";
    Err(PlatformError::Conflict { message: message.to_owned() })
}

/// Changes the record of a validator. One of genesis has it from its first change on.
pub(super) fn change_record(
    unit: &mut Unit<'_>,
    chain: &Blockchain,
    validator: &Validator,
    change: impl FnOnce(&mut HostedValidator),
) -> Result<(), PlatformError> {
    let id = validator.id.text();
    if let Some(mut stored) = unit.of::<HostedValidator>().get(chain.owner(), &id)? {
        change(&mut stored.value);
        unit.replace(&stored)?;
        return Ok(());
    }
    let mut record = HostedValidator {
        blockchain_id: chain.id().to_owned(),
        operator: validator.operator,
        sealing_key: validator.sealing_key,
        name: validator.name.clone(),
        metadata: validator.metadata.clone(),
        is_stopped: false,
    };
    change(&mut record);
    unit.insert(chain.owner(), &id, record)?;
    Ok(())
}
