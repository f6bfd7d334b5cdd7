//! Validity checks of transactions that pool and executor share.

use alloy_primitives::{Address, B256, U256};

use super::error::InvalidTransaction;
use crate::{
    primitives::{
        Gas, Transaction,
        mutation::{self, Mutation},
    },
    state::EMPTY_CODE_HASH,
    system::permissions::AccountPermissions,
    vm::{ForkRules, GasSchedule, IntrinsicGas, SYSTEM_ADDRESS},
};

/// The rules for transactions at one height.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Chain id of valid transactions.
    pub(super) chain_id: u64,
    /// Whether unsigned (impersonated) transactions are valid.
    pub(super) allow_impersonated: bool,
    /// Rules of the fork at the height.
    pub(super) fork: ForkRules,
    /// Recipient of tips; `None` for the block's author.
    pub(super) tips_to: Option<Address>,
    /// Whether a contract says who may send and deploy.
    pub(super) has_permissions: bool,
    /// Whether genesis permits deployments at all.
    pub(super) has_deployments: bool,
}

/// Checks the rules that need no state; returns the intrinsic gas.
pub(super) fn check_fields(transaction: &Transaction, rules: &Rules) -> Result<IntrinsicGas, InvalidTransaction> {
    let address = transaction.sender();
    if address == SYSTEM_ADDRESS {
        return Err(InvalidTransaction::SystemSender);
    }
    if let Some(have) = transaction.chain_id().filter(|have| *have != rules.chain_id) {
        return Err(InvalidTransaction::ChainId { have, want: rules.chain_id });
    }
    if transaction.ty() == 2 && !rules.fork.has_base_fee {
        return Err(InvalidTransaction::TypeNotActive { ty: 2 });
    }
    if transaction.is_impersonated() && !rules.allow_impersonated {
        return Err(InvalidTransaction::Impersonated);
    }
    let (tip, max_fee) = (transaction.max_priority_fee_per_gas(), transaction.max_fee_per_gas());
    if tip > max_fee {
        return Err(InvalidTransaction::TipAboveFee { address, tip, max_fee });
    }
    if transaction.nonce() == u64::MAX {
        return Err(InvalidTransaction::NonceMax { address, nonce: u64::MAX });
    }
    let is_creation = transaction.to().is_none();
    check_init_code(is_creation, transaction.input().len(), &rules.fork)?;
    let have = transaction.gas_limit();
    if let Some(limit) = rules.fork.tx_gas_limit_max.filter(|max| have > *max) {
        return Err(InvalidTransaction::GasLimitAboveCap { have, limit });
    }
    let (input, list) = (transaction.input(), transaction.access_list());
    let intrinsic = GasSchedule::STANDARD.intrinsic(&rules.fork, input, is_creation, list);
    check_gas_limit(have, intrinsic)?;
    Ok(intrinsic)
}

/// Checks the size of init code (EIP-3860).
pub(super) fn check_init_code(is_creation: bool, size: usize, fork: &ForkRules) -> Result<(), InvalidTransaction> {
    match fork.init_code_bytes_max.filter(|max| is_creation && size > *max) {
        Some(limit) => Err(InvalidTransaction::InitCodeTooLarge { size, limit }),
        None => Ok(()),
    }
}

/// Checks that a gas limit covers the intrinsic gas and the floor of the call data.
pub(super) fn check_gas_limit(have: Gas, intrinsic: IntrinsicGas) -> Result<(), InvalidTransaction> {
    let IntrinsicGas { gas, floor } = intrinsic;
    if have < gas {
        return Err(InvalidTransaction::IntrinsicGas { have, want: gas });
    }
    if have < floor { Err(InvalidTransaction::FloorGas { have, want: floor }) } else { Ok(()) }
}

/// Checks that the sender has no code (EIP-3607), unless impersonated.
pub(super) fn check_sender_code(transaction: &Transaction, code_hash: B256) -> Result<(), InvalidTransaction> {
    if code_hash == EMPTY_CODE_HASH || transaction.is_impersonated() {
        return Ok(());
    }
    Err(InvalidTransaction::SenderHasCode { address: transaction.sender(), code_hash })
}

/// Checks that the sender may send the transaction, by the chain's lists.
pub(super) fn check_permissions(
    transaction: &Transaction,
    permissions: AccountPermissions,
) -> Result<(), InvalidTransaction> {
    check_sender_permissions(transaction.sender(), transaction.to().is_none(), permissions)
}

/// Checks that a sender may send a call or a creation.
pub(super) fn check_sender_permissions(
    address: Address,
    is_creation: bool,
    permissions: AccountPermissions,
) -> Result<(), InvalidTransaction> {
    if !permissions.may_send && !mutation::active(Mutation::PermissionsIgnoreSenders) {
        return Err(InvalidTransaction::SenderNotAllowed { address });
    }
    if is_creation && !permissions.may_deploy {
        return Err(InvalidTransaction::DeployerNotAllowed { address });
    }
    Ok(())
}

/// Checks that the balance covers gas limit times the largest fee plus the value.
pub(super) fn check_funds(transaction: &Transaction, have: U256) -> Result<(), InvalidTransaction> {
    let address = transaction.sender();
    let want = transaction.max_cost().ok_or(InvalidTransaction::CostOverflow { address })?;
    if want <= have { Ok(()) } else { Err(InvalidTransaction::InsufficientFunds { address, have, want }) }
}
