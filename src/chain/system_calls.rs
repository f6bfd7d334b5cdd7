//! What the protocol does at the start of a block, and what a block changed in the set of validators.

use alloy_consensus::Header;
use alloy_primitives::{Bytes, U256};

use super::{block::empty_header, context::Shared, error::BlockError, receipt::Receipt};
use crate::{
    primitives::Gas,
    state::{EMPTY_CODE_HASH, Journal, StateError},
    system::{SYSTEM_ADDRESS, SystemCall, SystemContext, ValidatorUpdate, ValidatorUpdates, staking},
    vm::{self, BlockContext, FrameOutcome, Message},
};

/// Gas of one system call: no part of the block's, and so much that only an endless call meets it.
const SYSTEM_CALL_GAS: Gas = Gas::new(1_000_000_000);

/// Why a block's system calls did not all succeed.
#[derive(Debug)]
pub(super) enum SystemCallFailure {
    /// The block is invalid.
    Invalid(BlockError),
    /// The state can't be read; the journal is not usable any more.
    State(StateError),
}

impl From<StateError> for SystemCallFailure {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

/// Runs the calls that the protocol begins this block with; answers what they changed in the set of validators.
pub(super) fn run(
    shared: &Shared,
    journal: &mut Journal,
    header: &Header,
    parent: &Header,
    payload: &Bytes,
) -> Result<Vec<ValidatorUpdate>, SystemCallFailure> {
    // What follows from execution is not known to the builder, so nobody sees it.
    let header = Header {
        gas_used: 0,
        logs_bloom: empty_header().logs_bloom,
        state_root: empty_header().state_root,
        transactions_root: empty_header().transactions_root,
        receipts_root: empty_header().receipts_root,
        ..header.clone()
    };
    let mut calls = shared
        .rules
        .system_calls(&SystemContext { header: &header, parent, payload, has_stake: shared.spec.staking.is_some() })
        .map_err(|error| SystemCallFailure::Invalid(BlockError::Rule(error)))?;
    if calls.is_empty() && shared.spec.staking.is_some() {
        calls.push(staking::begin_block(shared.rules.author(&header), &[]));
    }
    let mut changes = Vec::new();
    if calls.is_empty() {
        return Ok(changes);
    }
    let context = shared.context(&header);
    for (index, call) in calls.iter().enumerate() {
        run_one(shared, journal, &context, call, index)?;
        changes.extend(staking::weight_changes(journal.logs()));
    }
    Ok(changes)
}

fn run_one(
    shared: &Shared,
    journal: &mut Journal,
    context: &BlockContext,
    call: &SystemCall,
    index: usize,
) -> Result<(), SystemCallFailure> {
    let failed = |reason| SystemCallFailure::Invalid(BlockError::SystemCall { index, to: call.to, reason });
    journal.begin_transaction();
    if journal.code_hash(&call.to)? == EMPTY_CODE_HASH {
        return Err(failed("there is no contract; does genesis have `staking`?".to_owned()));
    }
    let message = Message::call(SYSTEM_ADDRESS, call.to, U256::ZERO, &call.input, SYSTEM_CALL_GAS);
    let result = vm::execute(journal, context, &shared.registry, &message)?;
    match result.outcome {
        FrameOutcome::Success => Ok(()),
        FrameOutcome::Halt(reason) => Err(failed(reason.to_string())),
        FrameOutcome::Revert => Err(failed(match alloy_sol_types::decode_revert_reason(&result.output) {
            Some(reason) => format!("reverted: {reason}"),
            None => format!("reverted with {}", result.output),
        })),
    }
}

impl Shared {
    /// What a block changed in the set of validators: by its system calls first, then by its transactions.
    pub(super) fn updates(&self, by_calls: Vec<ValidatorUpdate>, receipts: &[Receipt]) -> ValidatorUpdates {
        if self.spec.staking.is_none() {
            return ValidatorUpdates::NONE;
        }
        let logs = receipts.iter().flat_map(|receipt| &receipt.inner.logs);
        ValidatorUpdates::new(by_calls.into_iter().chain(staking::weight_changes(logs)))
    }
}
