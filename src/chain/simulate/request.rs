//! What is asked: a message with optional fields, and accounts as they are to be taken for.

use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes, U256};

use super::{CallContext, CallError};
use crate::{
    chain::error::InvalidTransaction,
    primitives::{AccessList, Gas},
    state::{Journal, StateError},
    vm::{BlockContext, GasSchedule},
};

/// A message to run; what is left out has the default of `eth_call`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallRequest {
    /// Sender; the zero address without it.
    pub from: Option<Address>,
    /// Recipient, or `None` for a creation.
    pub to: Option<Address>,
    /// Amount to move, in the smallest unit.
    pub value: U256,
    /// Call data or init code.
    pub input: Bytes,
    /// The most gas that it may use; the block's limit without it.
    pub gas: Option<u64>,
    /// Price of a unit of gas of the older transaction types.
    pub gas_price: Option<u128>,
    /// EIP-1559: the most paid for one unit of gas.
    pub max_fee_per_gas: Option<u128>,
    /// EIP-1559: the most of it that goes to the author.
    pub max_priority_fee_per_gas: Option<u128>,
    /// Nonce; the sender's without it.
    pub nonce: Option<u64>,
    /// The chain that it is meant for.
    pub chain_id: Option<u64>,
    /// Addresses and slots declared beforehand (EIP-2930).
    pub access_list: Option<AccessList>,
}

/// An account as a call is to take it for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountOverride {
    /// In the smallest unit.
    pub balance: Option<U256>,
    /// Transaction count.
    pub nonce: Option<u64>,
    /// Code.
    pub code: Option<Bytes>,
    /// The whole storage: every other slot is zero.
    pub state: Option<BTreeMap<U256, U256>>,
    /// Slots that differ.
    pub state_diff: Option<BTreeMap<U256, U256>>,
}

/// Overrides by account, as the third parameter of `eth_call`.
pub type StateOverrides = BTreeMap<Address, AccountOverride>;

/// What gas costs a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Price {
    /// What a unit costs.
    pub(super) price: U256,
    /// The most that a unit may cost.
    max_fee: U256,
    /// The base fee that contracts see.
    pub(super) seen_base_fee: u64,
}

impl CallRequest {
    /// The sender, or the zero address.
    pub fn sender(&self) -> Address {
        self.from.unwrap_or_default()
    }

    /// What it costs before anything runs.
    pub(super) fn intrinsic(&self) -> Gas {
        GasSchedule::STANDARD.intrinsic(&self.input, self.to.is_none(), self.access_list.as_ref())
    }

    /// What gas costs in `block`: nothing when no price is given.
    pub(super) fn price(&self, block: &BlockContext) -> Result<Price, InvalidTransaction> {
        let address = self.sender();
        if let Some(have) = self.chain_id.filter(|id| *id != block.chain_id) {
            return Err(InvalidTransaction::ChainId { have, want: block.chain_id });
        }
        let max_fee = self.max_fee_per_gas.or(self.gas_price).unwrap_or(0);
        let tip = self.max_priority_fee_per_gas.or(self.gas_price).unwrap_or(0);
        if max_fee == 0 {
            return Ok(Price { price: U256::ZERO, max_fee: U256::ZERO, seen_base_fee: 0 });
        }
        if tip > max_fee {
            return Err(InvalidTransaction::TipAboveFee { address, tip, max_fee });
        }
        let base_fee = block.base_fee;
        let over = max_fee.checked_sub(u128::from(base_fee));
        let over = over.ok_or(InvalidTransaction::FeeBelowBaseFee { address, max_fee, base_fee })?;
        let price = U256::from(over.min(tip)) + U256::from(base_fee);
        Ok(Price { price, max_fee: U256::from(max_fee), seen_base_fee: base_fee })
    }
}

impl Price {
    /// The most that gas and value cost; `None` above 2^256.
    pub(super) fn cost(&self, gas: Gas, value: U256) -> Option<U256> {
        self.max_fee.checked_mul(U256::from(gas.get()))?.checked_add(value)
    }

    /// The gas asked for, or all of the block's that the sender can pay.
    pub(super) fn gas_limit(
        &self,
        request: &CallRequest,
        journal: &mut Journal,
        block: &BlockContext,
    ) -> Result<Gas, StateError> {
        if let Some(gas) = request.gas {
            return Ok(Gas::new(gas.min(block.gas_limit.get())));
        }
        if self.max_fee.is_zero() {
            return Ok(block.gas_limit);
        }
        let left = journal.balance(&request.sender())?.saturating_sub(request.value);
        Ok(Gas::new((left / self.max_fee).saturating_to::<u64>().min(block.gas_limit.get())))
    }
}

/// A journal over the context's state with the overrides in it.
pub(super) fn journal(context: &CallContext, overrides: &StateOverrides) -> Result<Journal, CallError> {
    let mut journal = Journal::new(context.state.clone());
    for (address, change) in overrides {
        if change.state.is_some() && change.state_diff.is_some() {
            return Err(CallError::Override { address: *address });
        }
        apply(&mut journal, context, address, change)?;
    }
    journal.begin_transaction();
    Ok(journal)
}

fn apply(
    journal: &mut Journal,
    context: &CallContext,
    address: &Address,
    change: &AccountOverride,
) -> Result<(), StateError> {
    if let Some(balance) = change.balance {
        journal.set_balance(address, balance)?;
    }
    if let Some(nonce) = change.nonce {
        journal.set_nonce(address, nonce)?;
    }
    if let Some(code) = &change.code {
        journal.set_code(address, code.clone())?;
    }
    if change.state.is_some() {
        let mut slots = Vec::new();
        context.state.for_each_slot(address, &mut |slot, _| {
            slots.push(slot);
            core::ops::ControlFlow::Continue(())
        })?;
        for slot in slots {
            journal.set_storage(address, &slot, U256::ZERO)?;
        }
    }
    for (slot, value) in change.state.iter().chain(&change.state_diff).flatten() {
        journal.set_storage(address, slot, *value)?;
    }
    Ok(())
}

/// Warms what the request's access list names.
pub(super) fn warm(journal: &mut Journal, request: &CallRequest) -> Result<(), StateError> {
    for item in request.access_list.iter().flat_map(|list| &list.0) {
        journal.access_account(&item.address)?;
        for slot in &item.storage_keys {
            journal.access_slot(&item.address, &U256::from_be_bytes(slot.0))?;
        }
    }
    Ok(())
}
