//! Delegations of others' stake to a validator.

use std::{collections::BTreeSet, sync::Arc};

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::SolCall;

use super::{
    Validator, Validators,
    changes::{check_first_argument, staked},
    orders::{DelegationOrder, DelegationSpec},
    quorum, unreadable,
};
use crate::{
    chain::CallRequest,
    node::NodeView,
    platform::{
        PlatformError, blockchain::Blockchain, blockchains::signed_call, principal::Principal, validator::ValidatorId,
        wallet::Wallets,
    },
    primitives::Transaction,
    system::staking::{STAKING_ADDRESS, interface as stake},
};

/// Accounts that have delegated to a validator, at most, for a list of its delegations.
const DELEGATORS_MAX: usize = 100_000;

/// What one account has delegated to a validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delegation {
    /// The account.
    pub delegator: Address,
    /// Its shares of the validator's pool.
    pub shares: U256,
    /// What they are worth, in the smallest unit.
    pub amount: U256,
    /// Rewards that it has not claimed.
    pub rewards: U256,
}

impl Validators<'_> {
    /// Returns the delegations to a validator, its own stake among them, in ascending order of the delegators. One whose stake was all taken
    /// back is among them while it has rewards to claim.
    ///
    /// # Errors
    /// [`PlatformError::UnsupportedByConsensus`] on a chain without stake; [`PlatformError::Pruned`] where the chain has forgotten blocks that no
    /// list has read before; [`PlatformError::Conflict`] where more than 100,000 accounts have delegated.
    pub fn delegations(&self, principal: &Principal, id: &ValidatorId) -> Result<Vec<Delegation>, PlatformError> {
        let (chain, validator) = self.get(principal, id)?;
        staked(&chain, &validator)?;
        let (view, delegators) = self.delegators(&chain, &validator)?;
        let mut found = Vec::new();
        for delegator in delegators {
            let call = stake::delegationCall { delegator, validator: validator.operator };
            let held = view.chain().staking_view(view.head(), &call).map_err(unreadable)?;
            if !held.shares.is_zero() || !held.rewards.is_zero() {
                let stake::delegationReturn { shares, amount, rewards } = held;
                found.push(Delegation { delegator, shares, amount, rewards });
            }
        }
        Ok(found)
    }

    /// Returns a view of a chain, and who had ever stake with a validator by it, the operator among them.
    ///
    /// # Errors
    /// As [`Validators::delegations`].
    pub(super) fn delegators(
        &self,
        chain: &Blockchain,
        validator: &Validator,
    ) -> Result<(Arc<NodeView>, BTreeSet<Address>), PlatformError> {
        let (view, mut delegators) = self.chains.hosted.delegators.of(chain, validator.operator)?;
        if delegators.len() > DELEGATORS_MAX {
            let message = format!(
                "{} accounts have delegated to validator {}, and a list has at most {DELEGATORS_MAX}: read the staking contract's events",
                delegators.len(),
                validator.id.text()
            );
            return Err(PlatformError::Conflict { message });
        }
        delegators.insert(validator.operator);
        Ok((view, delegators))
    }

    /// Delegates to a validator, or takes a delegation back, by a transaction under the id of the request ([`Blockchains::send_as`]).
    ///
    /// # Errors
    /// [`PlatformError::UnsupportedByConsensus`] on a chain without stake; [`PlatformError::Conflict`] for what the contract refuses, and for
    /// what is taken back from a validator that those that are up need to be enough, or given to one that is not up so that they are too few;
    /// [`PlatformError::Validation`] for another signed transaction.
    ///
    /// [`Blockchains::send_as`]: crate::platform::Blockchains::send_as
    pub fn delegate(
        &self,
        principal: &Principal,
        id: &ValidatorId,
        request: &str,
        spec: &DelegationSpec,
    ) -> Result<B256, PlatformError> {
        let (chain, validator) = self.commanded(principal, id)?;
        staked(&chain, &validator)?;
        let validator = validator.operator;
        let action = if spec.takes_back { "validator.undelegate" } else { "validator.delegate" };
        self.send(principal, (&*chain, request, action, format!("validator {}", id.text())), || match &spec.order {
            DelegationOrder::Signed(raw) => {
                let transaction = signed_delegation(validator, raw, spec.takes_back)?;
                if let Ok(back) = stake::undelegateCall::abi_decode(transaction.input()) {
                    quorum::check_less_stake(&chain, validator, (transaction.sender(), back.amount))?;
                } else {
                    quorum::check_more_stake(&chain, validator, transaction.value())?;
                }
                Ok(transaction.into())
            }
            DelegationOrder::Amount { amount, from } => {
                let call = match spec.takes_back {
                    true => stake::undelegateCall { validator, amount: *amount }.abi_encode(),
                    false => stake::delegateCall { validator }.abi_encode(),
                };
                let wallets = Wallets { context: self.chains.context };
                let delegator = from.map_or_else(|| wallets.default_sender(principal, &chain), Ok)?;
                if spec.takes_back {
                    quorum::check_less_stake(&chain, validator, (delegator, *amount))?;
                } else {
                    quorum::check_more_stake(&chain, validator, *amount)?;
                }
                let value = if spec.takes_back { U256::ZERO } else { *amount };
                Ok(CallRequest::call(STAKING_ADDRESS, call).with_from(delegator).with_value(value).into())
            }
        })
    }
}

/// Reads a delegation to a validator that somebody else has signed.
fn signed_delegation(validator: Address, raw: &Bytes, takes_back: bool) -> Result<Transaction, PlatformError> {
    let selector = if takes_back { stake::undelegateCall::SELECTOR } else { stake::delegateCall::SELECTOR };
    let transaction = signed_call(raw, STAKING_ADDRESS, &[selector])?;
    check_first_argument(&transaction, validator, "a delegation")?;
    Ok(transaction)
}
