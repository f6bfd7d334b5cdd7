//! Running a block's system calls, and the block's changes of the validator set.

use alloy_consensus::Header;
use alloy_primitives::Bytes;

use super::{block::empty_header, context::ChainContext, error::BlockError, receipt::Receipt};
use crate::{
    primitives::Gas,
    state::{EMPTY_CODE_HASH, Journal, StateError},
    system::{SystemCall, SystemContext, ValidatorUpdate, ValidatorUpdates, staking},
    vm::{self, BlockContext, FrameOutcome, Message},
};

/// Gas limit of one system call, outside the block's gas; only an unbounded call reaches it.
const SYSTEM_CALL_GAS: Gas = Gas::new(1_000_000_000);

/// A failed system call.
#[derive(Debug)]
pub(super) enum SystemCallFailure {
    /// The block is invalid.
    Invalid(BlockError),
    /// The state can't be read; the journal must be discarded.
    State(StateError),
}

impl From<StateError> for SystemCallFailure {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

/// Runs the system calls at the start of a block; returns their changes of the validator set.
pub(super) fn run(
    context: &ChainContext,
    journal: &mut Journal,
    header: &Header,
    parent: &Header,
    payload: &Bytes,
) -> Result<Vec<ValidatorUpdate>, SystemCallFailure> {
    // Fields that follow from execution are unknown when building, so the rules never see them.
    let header = Header {
        gas_used: 0,
        logs_bloom: empty_header().logs_bloom,
        state_root: empty_header().state_root,
        transactions_root: empty_header().transactions_root,
        receipts_root: empty_header().receipts_root,
        ..header.clone()
    };
    let mut calls = context
        .rules
        .system_calls(&SystemContext { header: &header, parent, payload, has_stake: context.spec.staking.is_some() })
        .map_err(|error| SystemCallFailure::Invalid(BlockError::Rule(error)))?;
    if calls.is_empty() && context.spec.staking.is_some() {
        calls.push(staking::begin_block(context.rules.author(&header), &[]));
    }
    let mut changes = Vec::new();
    if calls.is_empty() {
        return Ok(changes);
    }
    let block_context = context.block_context(&header);
    for (index, call) in calls.iter().enumerate() {
        run_one(context, journal, &block_context, call, index)?;
        changes.extend(staking::weight_changes(journal.logs()));
    }
    Ok(changes)
}

fn run_one(
    context: &ChainContext,
    journal: &mut Journal,
    block_context: &BlockContext,
    call: &SystemCall,
    index: usize,
) -> Result<(), SystemCallFailure> {
    let failed = |reason| SystemCallFailure::Invalid(BlockError::SystemCall { index, to: call.to, reason });
    journal.begin_transaction();
    if journal.code_hash(&call.to)? == EMPTY_CODE_HASH {
        return Err(failed("there is no contract; a staking contract needs `staking` in genesis".to_owned()));
    }
    let message = Message::system_call(call.to, &call.input, SYSTEM_CALL_GAS);
    let result = vm::execute(journal, block_context, &context.registry, &message)?;
    match result.outcome {
        FrameOutcome::Success => Ok(()),
        FrameOutcome::Halt(reason) => Err(failed(reason.to_string())),
        FrameOutcome::Revert => Err(failed(match alloy_sol_types::decode_revert_reason(&result.output) {
            Some(reason) => format!("reverted: {reason}"),
            None => format!("reverted with {}", result.output),
        })),
    }
}

impl ChainContext {
    /// Returns a block's changes of the validator set: by its system calls first, then by its transactions.
    pub(super) fn updates(&self, call_updates: Vec<ValidatorUpdate>, receipts: &[Receipt]) -> ValidatorUpdates {
        if self.spec.staking.is_none() {
            return ValidatorUpdates::NONE;
        }
        let logs = receipts.iter().flat_map(|receipt| &receipt.inner.logs);
        ValidatorUpdates::new(call_updates.into_iter().chain(staking::weight_changes(logs)))
    }
}
