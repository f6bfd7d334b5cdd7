//! The governor's calls of its timelock.

use super::{interface as sol, state::GOVERNOR};
use crate::{
    templates::{
        common::external,
        timelock_controller::{TimelockControllerParams, interface as timelock},
    },
    vm::contract::*,
};

/// Creates the timelock, in which the governor proposes and cancels and anybody executes; nobody but itself administers it.
pub(super) fn create(host: &mut Host<'_>, delay_secs: U256) -> Result<Address, Stop> {
    let governor = host.address();
    let params = TimelockControllerParams {
        min_delay_secs: delay_secs,
        proposers: vec![governor],
        executors: vec![Address::ZERO],
        admin: None,
    };
    let (timelock, created) = host.create(&params.init_code(), U256::ZERO)?;
    created.or_revert()?;
    Ok(timelock)
}

pub(super) fn update(host: &mut Host<'_>, new: Address) -> Result<(), Stop> {
    let old = GOVERNOR.timelock.get(host)?;
    host.emit(&sol::TimelockChange { oldTimelock: old, newTimelock: new })?;
    GOVERNOR.timelock.overwrite(host, new)
}

/// Returns the state of a proposal that was queued: somebody may have executed or cancelled its operation in the timelock itself.
pub(super) fn state(host: &mut Host<'_>, proposal_id: U256) -> Result<sol::ProposalState, Stop> {
    let id = GOVERNOR.timelock_ids.get(host, proposal_id)?;
    let timelock = GOVERNOR.timelock.get(host)?;
    if external::view(host, timelock, &timelock::isOperationPendingCall { id })? {
        Ok(sol::ProposalState::Queued)
    } else if external::view(host, timelock, &timelock::isOperationDoneCall { id })? {
        Ok(sol::ProposalState::Executed)
    } else {
        Ok(sol::ProposalState::Canceled)
    }
}

/// The calls of a proposal as an operation of the timelock.
pub(super) struct Operation<'a> {
    pub(super) targets: &'a [Address],
    pub(super) values: &'a [U256],
    pub(super) payloads: &'a [Bytes],
    /// Hash of the proposal's description.
    pub(super) description_hash: B256,
}

impl Operation<'_> {
    /// Schedules the operation with the timelock's delay, and returns the moment from which it may be executed, in seconds.
    pub(super) fn schedule(&self, host: &mut Host<'_>, proposal_id: U256) -> Result<U256, Stop> {
        let timelock = GOVERNOR.timelock.get(host)?;
        let delay = external::view(host, timelock, &timelock::getMinDelayCall {})?;
        let timelock::executeBatchCall { targets, values, payloads, predecessor, salt } = self.call(host);
        let hash = timelock::hashOperationBatchCall { targets, values, payloads, predecessor, salt };
        let id = external::view(host, timelock, &hash)?;
        GOVERNOR.timelock_ids.set(host, proposal_id, id)?;
        let timelock::hashOperationBatchCall { targets, values, payloads, predecessor, salt } = hash;
        let call = timelock::scheduleBatchCall { targets, values, payloads, predecessor, salt, delay };
        external::call(host, timelock, U256::ZERO, &call)?;
        U256::from(host.block().timestamp.as_secs()).add(delay)
    }

    /// Executes the operation with the ether of this call.
    pub(super) fn execute(&self, host: &mut Host<'_>, proposal_id: U256) -> Result<(), Stop> {
        let (timelock, value) = (GOVERNOR.timelock.get(host)?, host.value());
        let call = self.call(host);
        external::call(host, timelock, value, &call)?;
        GOVERNOR.timelock_ids.set(host, proposal_id, B256::ZERO)
    }

    fn call(&self, host: &Host<'_>) -> timelock::executeBatchCall {
        // The same proposal of another governor is another operation.
        let mut salt = self.description_hash;
        salt.iter_mut().zip(host.address()).for_each(|(byte, own)| *byte ^= own);
        timelock::executeBatchCall {
            targets: self.targets.to_vec(),
            values: self.values.to_vec(),
            payloads: self.payloads.to_vec(),
            predecessor: B256::ZERO,
            salt,
        }
    }
}
