//! System calls to the validators' contract, and the updates in its logs. Both name validators by their sealing keys, as consensus does; the
//! contract finds the operators.

use alloy_primitives::{Address, Log};
use alloy_sol_types::{SolCall, SolEvent};

use super::interface as sol;
use crate::system::{SystemCall, ValidatorUpdate, address::VALIDATORS_ADDRESS};

/// Removes the operator of a key, a present or a former one, that evidence in a block convicts. The call never fails for who is no validator.
pub fn convict(offender: Address) -> SystemCall {
    SystemCall { to: VALIDATORS_ADDRESS, input: sol::convictCall { sealingKey: offender }.abi_encode().into() }
}

/// Returns the weight changes in the contract's logs, in the order of emission; logs of other contracts are skipped.
pub fn weight_changes<'l>(logs: impl IntoIterator<Item = &'l Log>) -> impl Iterator<Item = ValidatorUpdate> {
    logs.into_iter().filter(|log| log.address == VALIDATORS_ADDRESS).filter_map(|log| {
        let event = sol::WeightChanged::decode_log_data(&log.data).ok()?;
        Some(ValidatorUpdate { address: event.sealingKey, weight: event.weight })
    })
}
