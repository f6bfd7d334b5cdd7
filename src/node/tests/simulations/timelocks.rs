//! Operations of a timelock that wait, are ready or are done, and operations of who schedules, cancels and executes them.

use alloy_sol_types::SolCall;

use super::{
    choices::Choices,
    world::{World, amount},
};
use crate::{
    primitives::{Address, B256, U256},
    templates::{
        erc20::interface as erc20,
        timelock_controller::{
            CANCELLER_ROLE, EXECUTOR_ROLE, PROPOSER_ROLE,
            interface::{self as timelock, OperationState},
        },
    },
};

/// Delay of an operation that is never ready, in seconds.
const YEAR: u64 = 365 * 24 * 3_600;

/// Operations of each kind that a timelock may come to know: their number is their salt, and tells what they do.
const NUMBERS: usize = 12;

impl World {
    /// Makes operations of the timelock that wait for long, and others that are ready soon.
    pub(super) fn schedule_some(&self) {
        let timelock = self.contract("timelock-controller").address;
        let coins = erc20::transferCall { to: timelock, value: amount(100) };
        self.run(self.owner(), self.contract("erc20-token").address, 0, &coins);
        for is_batch in [false, true] {
            self.schedule_next(timelock, is_batch, YEAR);
            self.schedule_next(timelock, is_batch, 1);
        }
    }

    /// Schedules an operation for the functions that take one.
    pub(super) fn prepare_timelock(&self, timelock: Address, function: &str) {
        if ["execute", "executeBatch", "cancel"].contains(&function) {
            self.schedule_next(timelock, function == "executeBatch", 1);
        }
    }

    fn schedule_next(&self, timelock: Address, is_batch: bool, delay: u64) {
        let number = (0..NUMBERS).find(|number| self.state_of(timelock, *number, is_batch) == OperationState::Unset);
        let Some(number) = number else { return };
        let input = self.scheduling(timelock, number, is_batch, amount(delay));
        self.try_run(self.owner(), timelock, input);
    }

    /// Returns the input that schedules an operation.
    fn scheduling(&self, timelock: Address, number: usize, is_batch: bool, delay: U256) -> Vec<u8> {
        if is_batch {
            let timelock::hashOperationBatchCall { targets, values, payloads, predecessor, salt } =
                self.batch(timelock, number);
            return timelock::scheduleBatchCall { targets, values, payloads, predecessor, salt, delay }.abi_encode();
        }
        let timelock::hashOperationCall { target, value, data, predecessor, salt } = self.single(timelock, number);
        timelock::scheduleCall { target, value, data, predecessor, salt, delay }.abi_encode()
    }

    /// Returns what an operation of a timelock does: something to others, or to the timelock itself.
    fn single(&self, timelock: Address, number: usize) -> timelock::hashOperationCall {
        let [_, friend, other, ..] = *self.accounts() else { panic!("three accounts") };
        let (target, data) = match number % 3 {
            0 => {
                let transfer = erc20::transferCall { to: friend, value: amount(1) };
                (self.contract("erc20-token").address, transfer.abi_encode())
            }
            1 => (timelock, timelock::updateDelayCall { newDelay: amount(1) }.abi_encode()),
            _ => (timelock, timelock::grantRoleCall { role: CANCELLER_ROLE, account: other }.abi_encode()),
        };
        let salt = B256::with_last_byte(number as u8);
        timelock::hashOperationCall { target, value: U256::ZERO, data: data.into(), predecessor: B256::ZERO, salt }
    }

    /// Returns what an operation of two calls does.
    fn batch(&self, timelock: Address, number: usize) -> timelock::hashOperationBatchCall {
        let calls = [number, number + 1].map(|number| self.single(timelock, number));
        timelock::hashOperationBatchCall {
            targets: calls.iter().map(|call| call.target).collect(),
            values: calls.iter().map(|call| call.value).collect(),
            payloads: calls.iter().map(|call| call.data.clone()).collect(),
            predecessor: B256::ZERO,
            salt: calls[0].salt,
        }
    }

    fn id_of(&self, timelock: Address, number: usize, is_batch: bool) -> B256 {
        if is_batch {
            self.read(timelock, &self.batch(timelock, number)).unwrap()
        } else {
            self.read(timelock, &self.single(timelock, number)).unwrap()
        }
    }

    fn state_of(&self, timelock: Address, number: usize, is_batch: bool) -> OperationState {
        let id = self.id_of(timelock, number, is_batch);
        self.read(timelock, &timelock::getOperationStateCall { id }).unwrap()
    }

    /// Returns the input of a timelock's function that is about an operation or a role that there is.
    pub(super) fn timelock_input(
        &self,
        timelock: Address,
        name: &str,
        from: Address,
        choices: &mut Choices,
    ) -> Option<Vec<u8>> {
        let is_batch = name.ends_with("Batch");
        let number_in = |states: &[OperationState], choices: &mut Choices| {
            let is_wanted = |number: &usize| states.contains(&self.state_of(timelock, *number, is_batch));
            let wanted: Vec<usize> = (0..NUMBERS).filter(is_wanted).collect();
            if wanted.is_empty() { choices.next(NUMBERS) } else { choices.one_of(&wanted) }
        };
        // Not the owner, who goes on to schedule.
        let role = choices.one_of(&[PROPOSER_ROLE, EXECUTOR_ROLE, CANCELLER_ROLE]);
        let account = choices.one_of(&self.accounts()[1..]);
        Some(match name {
            "schedule" | "scheduleBatch" => {
                let (number, delay) = (number_in(&[OperationState::Unset], choices), choices.one_of(&[0, 1, 9, YEAR]));
                self.scheduling(timelock, number, is_batch, amount(delay))
            }
            "cancel" => {
                let number = number_in(&[OperationState::Waiting, OperationState::Ready], choices);
                timelock::cancelCall { id: self.id_of(timelock, number, is_batch) }.abi_encode()
            }
            "execute" => {
                let timelock::hashOperationCall { target, value, data: payload, predecessor, salt } =
                    self.single(timelock, number_in(&[OperationState::Ready], choices));
                timelock::executeCall { target, value, payload, predecessor, salt }.abi_encode()
            }
            "executeBatch" => {
                let timelock::hashOperationBatchCall { targets, values, payloads, predecessor, salt } =
                    self.batch(timelock, number_in(&[OperationState::Ready], choices));
                timelock::executeBatchCall { targets, values, payloads, predecessor, salt }.abi_encode()
            }
            "grantRole" => timelock::grantRoleCall { role, account }.abi_encode(),
            "revokeRole" => timelock::revokeRoleCall { role, account }.abi_encode(),
            "renounceRole" => timelock::renounceRoleCall { role, callerConfirmation: from }.abi_encode(),
            _ => return None,
        })
    }
}
