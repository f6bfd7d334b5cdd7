//! Stake that was taken back: what waits for the unbonding period, and its withdrawal.

use std::collections::BTreeSet;

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::{SolCall, SolError, SolEvent};

use super::{Validators, changes::staked, orders::WithdrawalOrder, unreadable};
use crate::{
    chain::{CallRequest, StateOverrides},
    node::{BlockRef, Located},
    platform::{
        PlatformError,
        blockchain::Blockchain,
        blockchains::{Outgoing, signed_call},
        principal::Principal,
        validator::ValidatorId,
        wallet::Wallets,
    },
    primitives::Timestamp,
    system::staking::{STAKING_ADDRESS, interface as stake},
};

/// Stake that one account has taken back from a validator and not withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unbonding {
    /// The account.
    pub delegator: Address,
    /// What it is paid if nothing more is slashed, in the smallest unit.
    pub amount: U256,
    /// From when it may be withdrawn; `None` while nobody knows: it is a validator's own, and the validator has duties still.
    pub completes_at: Option<Timestamp>,
}

/// A withdrawal that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Withdrawal {
    /// Hash of the transaction.
    pub transaction: B256,
    /// What it pays, in the smallest unit; `None` while it waits for another transaction of the account.
    pub amount: Option<U256>,
}

impl Validators<'_> {
    /// Returns the stake that was taken back from a validator and is not withdrawn, of one account or of all, in ascending order of the
    /// accounts, and of each in that of the times, those that nobody knows last.
    ///
    /// # Errors
    /// As [`Validators::delegations`].
    pub fn unbondings(
        &self,
        principal: &Principal,
        id: &ValidatorId,
        delegator: Option<Address>,
    ) -> Result<Vec<Unbonding>, PlatformError> {
        let (chain, validator) = self.get(principal, id)?;
        staked(&chain, &validator)?;
        let (view, delegators) = match delegator {
            Some(one) => (chain.node().view(), BTreeSet::from([one])),
            None => self.delegators(&chain, &validator)?,
        };
        let mut found = Vec::new();
        for delegator in delegators {
            let all = view.chain().staking_view(view.head(), &stake::unbondingsCall { delegator });
            let of_validator = all
                .map_err(unreadable)?
                .into_iter()
                .filter(|one| one.validator == validator.operator)
                .map(|one| Unbonding { delegator, amount: one.amount, completes_at: known_time(one.completesAt) });
            found.extend(of_validator);
        }
        found.sort_by_key(|one| (one.delegator, one.completes_at.is_none(), one.completes_at));
        Ok(found)
    }

    /// Withdraws what an account has taken back and the unbonding period is over for, by a transaction under the id of the request
    /// ([`Blockchains::send_as`]): of all validators, for the contract pays all at once.
    ///
    /// # Errors
    /// [`PlatformError::UnsupportedByConsensus`] on a chain without stake; [`PlatformError::Conflict`] where nothing is complete yet, and for
    /// whom the service does not sign; [`PlatformError::Validation`] for another signed transaction.
    ///
    /// [`Blockchains::send_as`]: crate::platform::Blockchains::send_as
    pub fn withdraw(
        &self,
        principal: &Principal,
        id: &ValidatorId,
        request: &str,
        order: &WithdrawalOrder,
    ) -> Result<Withdrawal, PlatformError> {
        let (chain, validator) = self.commanded(principal, id)?;
        staked(&chain, &validator)?;
        let to = (&*chain, request, "validator.withdraw", format!("validator {}", id.text()));
        let transaction = self.send(principal, to, || self.withdrawal(principal, &chain, order))?;
        Ok(Withdrawal { transaction, amount: paid(&chain, transaction)? })
    }

    /// Returns the transaction that withdraws.
    fn withdrawal(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        order: &WithdrawalOrder,
    ) -> Result<Outgoing, PlatformError> {
        let (account, outgoing) = match order {
            WithdrawalOrder::Signed(raw) => {
                let transaction = signed_call(raw, STAKING_ADDRESS, &[stake::withdrawCall::SELECTOR])?;
                (transaction.sender(), transaction.into())
            }
            WithdrawalOrder::Of(account) => {
                let wallets = Wallets { context: self.chains.context };
                let account = account.map_or_else(|| wallets.default_sender(principal, chain), Ok)?;
                (account, self.chains.call_of(principal, chain, (account, STAKING_ADDRESS), withdraw_call())?)
            }
        };
        check_complete(chain, account)?;
        Ok(outgoing)
    }
}

fn withdraw_call() -> Vec<u8> {
    stake::withdrawCall {}.abi_encode()
}

/// Refuses to withdraw before the first time at which something is complete.
fn check_complete(chain: &Blockchain, account: Address) -> Result<(), PlatformError> {
    let view = chain.node().view();
    let request = CallRequest::call(STAKING_ADDRESS, withdraw_call()).with_from(account);
    let outcome = view.call(&request, BlockRef::Pending, &StateOverrides::new(), None);
    let outcome = outcome.map_err(PlatformError::from_query)?;
    let refused = outcome.revert_data().and_then(|data| stake::NothingToWithdraw::abi_decode(data).ok());
    // What else is wrong is told of the transaction itself.
    let Some(refused) = refused else { return Ok(()) };
    Err(PlatformError::Conflict { message: nothing_free(account, refused.completesAt, view.now()) })
}

/// Says why nothing can be withdrawn, by the first time at which something is complete, in seconds; 0 where nothing was taken back.
fn nothing_free(account: Address, first: u64, now: Timestamp) -> String {
    match known_time(first) {
        Some(at) if at.as_secs() == 0 => {
            format!("{account} has taken no stake back that is not withdrawn: undelegate first")
        }
        Some(at) => format!(
            "no stake that {account} has taken back is free yet: the first is at {first}, in seconds since 1970, which is in {} s; \
             withdraw it then",
            at.as_secs().saturating_sub(now.as_secs())
        ),
        None => format!(
            "no stake that {account} has taken back is free yet, and when it will be is not known: its validator has duties until the \
             protocol has replaced it, and the unbonding period begins then"
        ),
    }
}

/// Returns a time of the contract, in seconds; `None` for the largest one, by which it says that it does not know it yet.
fn known_time(secs: u64) -> Option<Timestamp> {
    (secs != u64::MAX).then(|| Timestamp::from_secs(secs))
}

/// Returns what a withdrawal pays, in its block or in the one that is coming; `None` while it is in neither.
fn paid(chain: &Blockchain, hash: B256) -> Result<Option<U256>, PlatformError> {
    let view = chain.node().view();
    let mined = match view.transaction(hash).map_err(PlatformError::from_query)? {
        Some(Located::Mined { block, index }) => Some((block, index as usize)),
        Some(Located::Pooled(_)) => {
            let block = view.block(BlockRef::Pending).map_err(PlatformError::from_query)?;
            let index = block.transactions().iter().position(|transaction| transaction.hash() == hash);
            index.map(|index| (block, index))
        }
        None => None,
    };
    let Some((block, index)) = mined else { return Ok(None) };
    let logs = block.receipts().get(index).into_iter().flat_map(|receipt| receipt.logs());
    let events = logs.filter(|log| log.address == STAKING_ADDRESS);
    let amounts = events.filter_map(|log| stake::Withdrawn::decode_log(log).ok()).map(|event| event.amount);
    Ok(Some(amounts.fold(U256::ZERO, U256::saturating_add)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_nobody_knows_is_none() {
        for secs in [0, 1, 1_750_000_000, u64::MAX - 1] {
            assert_eq!(known_time(secs), Some(Timestamp::from_secs(secs)));
        }
        assert_eq!(known_time(u64::MAX), None);
    }

    #[test]
    fn why_nothing_is_free_is_said_by_the_first_time() {
        let (account, now) = (Address::repeat_byte(1), Timestamp::from_secs(1_750_000_000));
        let said = |first| nothing_free(account, first, now);
        assert!(said(0).contains("undelegate first"), "{}", said(0));
        let later = said(1_750_000_300);
        assert!(later.contains("at 1750000300") && later.contains("in 300 s"), "{later}");
        let unknown = said(u64::MAX);
        assert!(unknown.contains("is not known") && unknown.contains(&account.to_string()), "{unknown}");
        assert!(!unknown.contains(&u64::MAX.to_string()), "{unknown}");
    }
}
