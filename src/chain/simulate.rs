//! Running a message without a transaction: `eth_call`, gas estimates, traces. Nothing is ever committed.

mod estimate;
mod request;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{Address, B256, Bytes, Log, U256};

pub use self::request::{AccountOverride, CallRequest, StateOverrides};
use super::{
    Chain,
    error::{ChainError, InvalidTransaction},
    executed_block::ExecutedBlock,
    execution::{apply_interventions, invalid_block, system_call_error},
    executor::{Executed, Executor, Failure},
    header::next_header,
    rules::BlockAttributes,
    system_calls,
};
use crate::{
    primitives::{AccessList, AccessListItem, Gas},
    state::{Journal, StateChanges, StateError, StateView},
    vm::{self, BlockContext, FrameOutcome, FrameResult, GasSchedule, HaltReason, Inspector, Message, MessageKind},
};

/// The state and the block that a message runs in.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// What it reads.
    pub state: Arc<dyn StateView>,
    /// What contracts see of the block.
    pub block: BlockContext,
}

/// How a message ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallOutcome {
    /// Success, revert, or halt.
    pub outcome: FrameOutcome,
    /// Return data; revert data after a revert; deployed code after a creation.
    pub output: Bytes,
    /// Gas that it used, intrinsic gas and refunds counted as in a transaction.
    pub gas_used: Gas,
    /// Logs in order; none after a failure.
    pub logs: Vec<Log>,
    /// The contract that it would have created.
    pub created: Option<Address>,
}

/// Why a message could not be run at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// As a transaction it would be refused.
    #[error(transparent)]
    Invalid(#[from] InvalidTransaction),
    /// An override gives both the whole storage and a difference.
    #[error("account {address} has both state and stateDiff; give one")]
    Override {
        /// The account.
        address: Address,
    },
    /// The transaction to trace is in no canonical block.
    #[error("transaction {hash} not found")]
    UnknownTransaction {
        /// Its hash.
        hash: B256,
    },
    /// The chain could not be read.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// Why gas could not be estimated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// The message can't be executed at all.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The message fails with any gas limit.
    #[error("{}", .0.describe())]
    Failed(Box<CallOutcome>),
}

impl From<StateError> for CallError {
    fn from(error: StateError) -> Self {
        Self::Chain(error.into())
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Invalid(reason) => reason.into(),
            Failure::State(error) => error.into(),
        }
    }
}

impl CallOutcome {
    /// Whether it neither reverted nor halted.
    pub const fn is_success(&self) -> bool {
        matches!(self.outcome, FrameOutcome::Success)
    }

    /// Return data of a success.
    pub const fn success_output(&self) -> Option<&Bytes> {
        if self.is_success() { Some(&self.output) } else { None }
    }

    /// Data of a revert.
    pub const fn revert_data(&self) -> Option<&Bytes> {
        if matches!(self.outcome, FrameOutcome::Revert) { Some(&self.output) } else { None }
    }

    /// Why it halted.
    pub const fn halt(&self) -> Option<HaltReason> {
        if let FrameOutcome::Halt(reason) = self.outcome { Some(reason) } else { None }
    }

    /// In words: `success`, `execution reverted: <reason>` or the reason of the halt.
    pub fn describe(&self) -> String {
        match self.outcome {
            FrameOutcome::Success => "success".to_owned(),
            FrameOutcome::Halt(reason) => reason.to_string(),
            FrameOutcome::Revert => match alloy_sol_types::decode_revert_reason(&self.output) {
                Some(reason) if !reason.is_empty() => {
                    format!("execution reverted: {}", reason.strip_prefix("revert: ").unwrap_or(&reason))
                }
                _ => "execution reverted".to_owned(),
            },
        }
    }
}

/// Calling, estimating, tracing.
impl Chain {
    /// Runs in `block`, over the state after it; for the head with what was set by hand since.
    ///
    /// # Errors
    /// [`ChainError::Pruned`], [`ChainError::State`].
    pub fn call_context(&self, block: &ExecutedBlock) -> Result<CallContext, ChainError> {
        let hash = block.hash();
        let state = if hash == self.head().hash() { self.latest_state()? } else { self.state_of(hash)? };
        Ok(CallContext { state, block: self.shared().context(block.block().header()) })
    }

    /// Runs in the next block, over the newest state.
    ///
    /// # Errors
    /// [`ChainError::State`].
    pub fn next_call_context(&self, attributes: &BlockAttributes) -> Result<CallContext, ChainError> {
        let mut by_hand = self.header_by_hand();
        attributes.interventions.iter().for_each(|intervention| by_hand.add(intervention));
        let header = next_header(self.spec(), self.head().block(), attributes, by_hand);
        Ok(CallContext { state: self.latest_state()?, block: self.shared().context(&header) })
    }

    /// Runs a message as a transaction would run it, but for signature, nonce and the sender's code.
    ///
    /// Without a gas price gas costs nothing and contracts see no base fee.
    ///
    /// # Errors
    /// [`CallError::Invalid`] when value or gas can't be paid or are below what any execution costs,
    /// [`CallError::Override`], [`CallError::Chain`].
    pub fn call(
        &self,
        context: &CallContext,
        request: &CallRequest,
        overrides: &StateOverrides,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<CallOutcome, CallError> {
        let mut journal = request::journal(context, overrides)?;
        let priced = request.price(&context.block)?;
        let gas = priced.gas_limit(request, &mut journal, &context.block)?;
        self.run_call(&mut journal, context, request, gas, inspector)
    }

    /// As [`Chain::call`], with all that it would change.
    ///
    /// # Errors
    /// As [`Chain::call`].
    pub fn call_with_changes(
        &self,
        context: &CallContext,
        request: &CallRequest,
        overrides: &StateOverrides,
    ) -> Result<(CallOutcome, StateChanges), CallError> {
        let mut journal = request::journal(context, overrides)?;
        // What is overridden is no change of the message's.
        let _overridden = journal.take_changes();
        let gas = request.price(&context.block)?.gas_limit(request, &mut journal, &context.block)?;
        let outcome = self.run_call(&mut journal, context, request, gas, None)?;
        Ok((outcome, journal.take_changes()))
    }

    /// The addresses and slots that a message touches, but for those that every transaction has warm (EIP-2930).
    ///
    /// # Errors
    /// As [`Chain::call`].
    pub fn access_list(
        &self,
        context: &CallContext,
        request: &CallRequest,
    ) -> Result<(AccessList, CallOutcome), CallError> {
        let mut journal = request::journal(context, &StateOverrides::new())?;
        let gas = request.price(&context.block)?.gas_limit(request, &mut journal, &context.block)?;
        let outcome = self.run_call(&mut journal, context, request, gas, None)?;
        let mut slots = BTreeMap::<Address, Vec<B256>>::new();
        for (address, slot) in journal.accessed() {
            slots.entry(address).or_default().extend(slot.map(B256::from));
        }
        let always_warm = [Some(request.sender()), request.to, outcome.created, Some(context.block.beneficiary)];
        let items =
            slots.into_iter().filter(|(address, slots)| !slots.is_empty() || !always_warm.contains(&Some(*address)));
        let items = items.map(|(address, mut storage_keys)| {
            storage_keys.sort_unstable();
            storage_keys.dedup();
            AccessListItem { address, storage_keys }
        });
        Ok((AccessList(items.collect()), outcome))
    }

    /// Runs a mined transaction again, after those before it in its block.
    ///
    /// # Errors
    /// [`CallError::UnknownTransaction`]; [`CallError::Chain`] when its parent's state is pruned.
    pub fn trace_transaction(&self, hash: B256, inspector: &mut dyn Inspector) -> Result<CallOutcome, CallError> {
        let place = self.transaction(hash)?.ok_or(CallError::UnknownTransaction { hash })?;
        let block = place.block.block();
        let mut journal = Journal::new(self.state_of(block.parent_hash())?);
        apply_interventions(&mut journal, block.interventions())?;
        let shared = self.shared();
        let parent = self.block(block.parent_hash())?;
        system_calls::run(shared, &mut journal, block.header(), parent.block().header(), block.payload())
            .map_err(|failure| system_call_error(failure, |reason| invalid_block(block, reason)))?;
        let rules = shared.tx_rules(block.height().get());
        let mut executor = Executor::new(&mut journal, &shared.registry, shared.context(block.header()), rules);
        let index = place.index as usize;
        for earlier in &block.transactions()[..index] {
            executor.run(earlier, None)?;
        }
        let Executed { receipt, outcome, output } = executor.run(&block.transactions()[index], Some(inspector))?;
        let (gas_used, created) = (receipt.gas_used, receipt.contract_address);
        Ok(CallOutcome { outcome, output, gas_used, logs: receipt.inner.logs, created })
    }

    /// Runs a message with `gas` over a journal with its overrides; the journal keeps what it did.
    fn run_call(
        &self,
        journal: &mut Journal,
        context: &CallContext,
        request: &CallRequest,
        gas: Gas,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<CallOutcome, CallError> {
        journal.begin_transaction();
        let priced = request.price(&context.block)?;
        let intrinsic = request.intrinsic();
        if gas < intrinsic {
            return Err(InvalidTransaction::IntrinsicGas { have: gas, want: intrinsic }.into());
        }
        let sender = request.sender();
        let account = journal.account(&sender)?;
        let want = priced.cost(gas, request.value).ok_or(InvalidTransaction::CostOverflow { address: sender })?;
        if want > account.balance {
            return Err(InvalidTransaction::InsufficientFunds { address: sender, have: account.balance, want }.into());
        }
        let nonce = request.nonce.unwrap_or(account.nonce);
        journal.set_nonce(&sender, nonce.saturating_add(1))?;
        journal.set_balance(&sender, account.balance - priced.price * U256::from(gas.get()))?;
        request::warm(journal, request)?;
        let left = gas.saturating_sub(intrinsic);
        let message = match request.to {
            Some(to) => Message::call(sender, to, request.value, &request.input, left),
            None => Message::create(sender, nonce, request.value, &request.input, left),
        };
        let block = BlockContext { base_fee: priced.seen_base_fee, ..context.block };
        let registry = self.registry();
        let result = match inspector {
            Some(inspector) => vm::execute_inspected(journal, &block, registry, &message, inspector)?,
            None => vm::execute(journal, &block, registry, &message)?,
        };
        let gas_used = gas_used(gas, &result, journal.refund());
        let back = gas.saturating_sub(gas_used);
        journal.add_balance(&sender, priced.price * U256::from(back.get()))?;
        let logs = if result.is_success() { journal.logs().to_vec() } else { Vec::new() };
        let created = (message.kind == MessageKind::Create).then_some(message.to);
        Ok(CallOutcome { outcome: result.outcome, output: result.output, gas_used, logs, created })
    }
}

fn gas_used(limit: Gas, result: &FrameResult, refund: Gas) -> Gas {
    let spent = limit.saturating_sub(result.gas_left);
    spent.saturating_sub(GasSchedule::STANDARD.capped_refund(spent, refund))
}
