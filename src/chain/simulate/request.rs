//! Call requests and state overrides.

use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes, U256};

use super::{CallContext, CallError};
use crate::{
    chain::error::InvalidTransaction,
    primitives::{AccessList, Gas},
    state::{Journal, StateError},
    vm::{BlockContext, GasSchedule, IntrinsicGas},
};

/// A message to run; fields that are `None` have the defaults of `eth_call`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallRequest {
    /// Sender; by default the zero address.
    pub from: Option<Address>,
    /// Recipient; `None` for a contract creation.
    pub to: Option<Address>,
    /// Value sent, in the smallest unit.
    pub value: U256,
    /// Call data or init code.
    pub input: Bytes,
    /// Gas limit, capped by the block's; by default the block's.
    pub gas: Option<Gas>,
    /// Gas price of transaction types before EIP-1559, in the smallest unit per unit of gas.
    pub gas_price: Option<u128>,
    /// Largest fee (EIP-1559), in the smallest unit per unit of gas.
    pub max_fee_per_gas: Option<u128>,
    /// Largest tip (EIP-1559), in the smallest unit per unit of gas.
    pub max_priority_fee_per_gas: Option<u128>,
    /// Nonce; by default the sender's.
    pub nonce: Option<u64>,
    /// Chain id; when set, it must be the chain's.
    pub chain_id: Option<u64>,
    /// Access list (EIP-2930).
    pub access_list: Option<AccessList>,
}

/// Values that replace an account's during a call; `None` keeps the state's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccountOverride {
    /// Balance, in the smallest unit.
    pub balance: Option<U256>,
    /// Nonce.
    pub nonce: Option<u64>,
    /// Code.
    pub code: Option<Bytes>,
    /// The whole storage; every other slot is zero.
    pub state: Option<BTreeMap<U256, U256>>,
    /// Storage slots to replace; the others keep their values.
    pub state_diff: Option<BTreeMap<U256, U256>>,
}

/// Overrides by account, as the third parameter of `eth_call`.
pub type StateOverrides = BTreeMap<Address, AccountOverride>;

/// The gas prices of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Price {
    /// Effective gas price, in the smallest unit per unit of gas.
    pub(super) price: U256,
    /// Largest fee, in the smallest unit per unit of gas.
    max_fee: U256,
    /// The base fee that contracts read.
    pub(super) seen_base_fee: u64,
}

impl CallRequest {
    /// Returns a call of `to` with `input`.
    pub fn call(to: Address, input: impl Into<Bytes>) -> Self {
        Self { to: Some(to), input: input.into(), ..Self::default() }
    }

    /// Returns a contract creation with `init_code`.
    pub fn create(init_code: impl Into<Bytes>) -> Self {
        Self { input: init_code.into(), ..Self::default() }
    }

    /// Sets the sender.
    #[must_use]
    pub fn with_from(self, from: Address) -> Self {
        Self { from: Some(from), ..self }
    }

    /// Sets the value sent, in the smallest unit.
    #[must_use]
    pub fn with_value(self, value: U256) -> Self {
        Self { value, ..self }
    }

    /// Sets the gas limit.
    #[must_use]
    pub fn with_gas(self, gas: Gas) -> Self {
        Self { gas: Some(gas), ..self }
    }

    /// Sets the largest fee and the largest tip (EIP-1559), in the smallest unit per unit of gas.
    #[must_use]
    pub fn with_fees(self, max_fee_per_gas: u128, max_priority_fee_per_gas: u128) -> Self {
        let (fee, tip) = (Some(max_fee_per_gas), Some(max_priority_fee_per_gas));
        Self { max_fee_per_gas: fee, max_priority_fee_per_gas: tip, ..self }
    }

    /// Sets the nonce.
    #[must_use]
    pub fn with_nonce(self, nonce: u64) -> Self {
        Self { nonce: Some(nonce), ..self }
    }

    /// Sets the access list (EIP-2930).
    #[must_use]
    pub fn with_access_list(self, access_list: AccessList) -> Self {
        Self { access_list: Some(access_list), ..self }
    }

    /// Returns the sender, by default the zero address.
    pub fn sender(&self) -> Address {
        self.from.unwrap_or_default()
    }

    /// Returns the intrinsic gas in `block`.
    pub(super) fn intrinsic(&self, block: &BlockContext) -> IntrinsicGas {
        let rules = block.hardfork.rules();
        GasSchedule::STANDARD.intrinsic(&rules, &self.input, self.to.is_none(), self.access_list.as_ref())
    }

    /// Returns the gas prices in `block`: zero when the request has none.
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
    /// Returns the largest cost of gas and value; `None` from 2^256 on.
    pub(super) fn cost(&self, gas: Gas, value: U256) -> Option<U256> {
        self.max_fee.checked_mul(U256::from(gas.get()))?.checked_add(value)
    }

    /// Returns whether the message pays nothing for gas.
    pub(super) fn is_free(&self) -> bool {
        self.max_fee.is_zero()
    }

    /// Returns the requested gas limit, or as much of the block's as the sender can pay beside the value.
    pub(super) fn gas_limit(
        &self,
        request: &CallRequest,
        journal: &mut Journal,
        block: &BlockContext,
    ) -> Result<Gas, CallError> {
        if let Some(gas) = request.gas {
            return Ok(gas.min(block.gas_limit));
        }
        if self.is_free() {
            return Ok(block.gas_limit);
        }
        let (address, have, want) = (request.sender(), journal.balance(&request.sender())?, request.value);
        let left = have.checked_sub(want).ok_or(InvalidTransaction::InsufficientFunds { address, have, want })?;
        Ok(Gas::new((left / self.max_fee).saturating_to::<u64>().min(block.gas_limit.get())))
    }
}

/// Why overrides could not be applied.
#[derive(Debug)]
pub(super) enum OverrideError {
    /// An account has both the whole storage and a difference.
    Contradiction { address: Address },
    /// The state could not be read.
    State(StateError),
}

impl From<StateError> for OverrideError {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

impl From<OverrideError> for CallError {
    fn from(error: OverrideError) -> Self {
        match error {
            OverrideError::Contradiction { address } => Self::Override { address },
            OverrideError::State(error) => Self::State(error),
        }
    }
}

/// Returns a journal over the context's state with the overrides applied.
pub(super) fn journal(context: &CallContext, overrides: &StateOverrides) -> Result<Journal, OverrideError> {
    let mut journal = Journal::new(context.state.clone());
    for (address, change) in overrides {
        if change.state.is_some() && change.state_diff.is_some() {
            return Err(OverrideError::Contradiction { address: *address });
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

/// Marks the addresses and slots of the request's access list as warm.
pub(super) fn warm(journal: &mut Journal, request: &CallRequest) -> Result<(), StateError> {
    for item in request.access_list.iter().flat_map(|list| &list.0) {
        journal.access_account(&item.address)?;
        for slot in &item.storage_keys {
            journal.access_slot(&item.address, &U256::from_be_bytes(slot.0))?;
        }
    }
    Ok(())
}
