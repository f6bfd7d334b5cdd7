//! What makes a transaction executable at all: the checks that pool and executor share.

use alloy_primitives::{Address, B256, U256};

use super::error::InvalidTransaction;
use crate::{
    primitives::{Gas, Transaction},
    state::EMPTY_CODE_HASH,
    vm::GasSchedule,
};

/// What a chain says about its transactions at one height.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// The chain that they must be signed for.
    pub(super) chain_id: u64,
    /// Whether unsigned ones are taken.
    pub(super) allow_impersonated: bool,
    /// Whether type 2 is taken.
    pub(super) is_london: bool,
    /// Who gets their tips, when it is not the block's beneficiary.
    pub(super) tips_to: Option<Address>,
}

/// Checks everything that needs no state; answers the intrinsic gas.
pub(super) fn check_fields(transaction: &Transaction, rules: &Rules) -> Result<Gas, InvalidTransaction> {
    let address = transaction.sender();
    if let Some(have) = transaction.chain_id().filter(|have| *have != rules.chain_id) {
        return Err(InvalidTransaction::ChainId { have, want: rules.chain_id });
    }
    if transaction.ty() == 2 && !rules.is_london {
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
    let (is_creation, size) = (transaction.to().is_none(), transaction.input().len());
    let limit = GasSchedule::STANDARD.init_code_bytes_max;
    if is_creation && size > limit {
        return Err(InvalidTransaction::InitCodeTooLarge { size, limit });
    }
    let want = GasSchedule::STANDARD.intrinsic(transaction.input(), is_creation, transaction.access_list());
    let have = transaction.gas_limit();
    if have < want { Err(InvalidTransaction::IntrinsicGas { have, want }) } else { Ok(want) }
}

/// EIP-3607: a sender has no code; an impersonated one may.
pub(super) fn check_sender_code(transaction: &Transaction, code_hash: B256) -> Result<(), InvalidTransaction> {
    if code_hash == EMPTY_CODE_HASH || transaction.is_impersonated() {
        return Ok(());
    }
    Err(InvalidTransaction::SenderHasCode { address: transaction.sender(), code_hash })
}

/// The balance covers gas limit times the largest price, and the value.
pub(super) fn check_funds(transaction: &Transaction, have: U256) -> Result<(), InvalidTransaction> {
    let address = transaction.sender();
    let want = transaction.max_cost().ok_or(InvalidTransaction::CostOverflow { address })?;
    if want <= have { Ok(()) } else { Err(InvalidTransaction::InsufficientFunds { address, have, want }) }
}
