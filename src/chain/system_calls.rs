//! Running a block's system calls, and what a block changes for the protocol.

use alloy_consensus::Header;
use alloy_primitives::{Bytes, Log};

use super::{block::empty_header, context::ChainContext, error::BlockError, receipt::Receipt};
use crate::{
    primitives::Gas,
    state::{EMPTY_CODE_HASH, Journal, StateError},
    system::{
        BlockUpdates, ParameterUpdate, ParameterUpdates, SystemCall, SystemContext, ValidatorUpdate, ValidatorUpdates,
        governance, parameters, staking, validators,
    },
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

/// Logs of system calls as far as they are for the protocol, in the order of emission.
#[derive(Clone, Debug, Default)]
pub(super) struct CallUpdates {
    validators: Vec<ValidatorUpdate>,
    parameters: Vec<ParameterUpdate>,
}

/// Runs the system calls at the start of a block, that of `changes` of the parameters first and that of governance last; returns what they changed for the protocol.
pub(super) fn run(
    context: &ChainContext,
    journal: &mut Journal,
    block_context: &BlockContext,
    header: &Header,
    parent: &Header,
    (changes, payload): (&ParameterUpdates, &Bytes),
) -> Result<CallUpdates, SystemCallFailure> {
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
        .system_calls(&SystemContext {
            header: &header,
            parent,
            payload,
            has_stake: context.spec.staking.is_some(),
            has_validators: context.spec.validator_registry.is_some(),
        })
        .map_err(|error| SystemCallFailure::Invalid(BlockError::Rule(error)))?;
    if calls.is_empty() && context.spec.staking.is_some() {
        calls.push(staking::begin_block(context.rules.author(&header), &[]));
    }
    if !changes.is_empty() {
        calls.insert(0, parameters::activate(changes));
    }
    if context.spec.governance.is_some() {
        calls.push(governance::end_voting());
    }
    let mut updates = CallUpdates::default();
    if calls.is_empty() {
        return Ok(updates);
    }
    for (index, call) in calls.iter().enumerate() {
        run_one(context, journal, block_context, call, index)?;
        updates.validators.extend(context.weight_changes(journal.logs()));
        updates.parameters.extend(parameters::scheduled_changes(journal.logs()));
    }
    Ok(updates)
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
        return Err(failed("there is no contract; a system contract needs its section in genesis".to_owned()));
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
    /// Returns the new weights of validators in logs: of the staking contract or, without stake, of the validators'.
    fn weight_changes<'l>(&self, logs: impl IntoIterator<Item = &'l Log>) -> Vec<ValidatorUpdate> {
        match (&self.spec.staking, &self.spec.validator_registry) {
            (Some(_), _) => staking::weight_changes(logs).collect(),
            (None, Some(_)) => validators::weight_changes(logs).collect(),
            (None, None) => Vec::new(),
        }
    }

    /// Returns a block's changes for the protocol: by its system calls first, then by its transactions. `waiting` are parameters that were
    /// scheduled before and that the block did not put in force.
    pub(super) fn updates(&self, waiting: &ParameterUpdates, calls: CallUpdates, receipts: &[Receipt]) -> BlockUpdates {
        let logs = || receipts.iter().flat_map(|receipt| &receipt.inner.logs);
        let validators = ValidatorUpdates::new(calls.validators.into_iter().chain(self.weight_changes(logs())));
        let parameters = match self.spec.parameters {
            Some(_) => {
                let scheduled = calls.parameters.into_iter().chain(parameters::scheduled_changes(logs()));
                waiting.followed_by(&ParameterUpdates::new(scheduled))
            }
            None => ParameterUpdates::NONE,
        };
        BlockUpdates { validators, parameters }
    }
}
