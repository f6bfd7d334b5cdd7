//! Running messages without committing them: `eth_call`, gas estimates, access lists, traces, whole simulations.

mod block;
mod difference;
mod estimate;
mod operation;
mod request;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{Address, B256, Bytes, Log, U256};

pub use self::{
    block::SimulatedBlock,
    difference::{AccountDifference, Difference, SlotDifference, ValueDifference},
    operation::{SimulateError, Simulation},
    request::{AccountOverride, CallRequest, StateOverrides},
};
use super::{
    Chain,
    error::{BlockExecutionError, InvalidBlock, InvalidTransaction, ReadError},
    executed_block::ExecutedBlock,
    execution::{apply_interventions, invalid_block, system_call_error},
    executor::{Executed, Executor, Failure},
    header::next_header,
    permissions::PermissionSlots,
    rules::BlockAttributes,
    system_calls,
    validate::{check_gas_limit, check_init_code, check_sender_permissions},
};
use crate::{
    primitives::{AccessList, AccessListItem, Gas},
    state::{Journal, StateChanges, StateError, StateView},
    system::permissions::AccountPermissions,
    vm::{
        self, BlockContext, FrameOutcome, FrameResult, GasSchedule, HaltReason, Inspector, Message, MessageKind,
        SYSTEM_ADDRESS,
    },
};

/// The state and the block that a message runs in.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// The state that the message reads.
    pub state: Arc<dyn StateView>,
    /// The block context that contracts read.
    pub block: BlockContext,
}

/// Why a message is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallPurpose {
    /// To read what it returns, for which its sender needs the permission to send only where it pays for gas.
    Reading,
    /// To know what it would do as a transaction.
    Transaction,
}

/// The result of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallOutcome {
    /// Success, revert, or halt.
    pub outcome: FrameOutcome,
    /// Return data; revert data after a revert; deployed code after a creation.
    pub output: Bytes,
    /// Gas used, with intrinsic gas and refunds as in a transaction.
    pub gas_used: Gas,
    /// Logs in order; none after a failure.
    pub logs: Vec<Log>,
    /// Address of the contract that a creation would deploy.
    pub created: Option<Address>,
}

/// A message that could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The message is invalid as a transaction.
    #[error(transparent)]
    Invalid(#[from] InvalidTransaction),
    /// An override has both the whole storage and a difference.
    #[error("account {address} has both state and stateDiff; give one")]
    Override {
        /// The account.
        address: Address,
    },
    /// The state could not be read.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Why a mined transaction could not be run again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The transaction is in no canonical block.
    #[error("transaction {hash} not found")]
    UnknownTransaction {
        /// Hash of the transaction.
        hash: B256,
    },
    /// Its block is invalid: a system call before its transactions failed.
    #[error(transparent)]
    InvalidBlock(#[from] InvalidBlock),
    /// It, or one before it in its block, can't be executed, such as in a loaded dump whose state does not follow from its blocks.
    #[error(transparent)]
    InvalidTransaction(#[from] InvalidTransaction),
    /// Its block or the state before it could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Why gas could not be estimated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// The message can't be executed at all.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The message needs more gas than the largest limit tried: the request's, the block's, or what the sender can pay.
    #[error("gas required exceeds allowance ({})", allowance.get())]
    Allowance {
        /// The largest limit tried.
        allowance: Gas,
    },
    /// The message fails with any gas limit.
    #[error("{}", .0.describe())]
    Failed(Box<CallOutcome>),
}

impl From<StateError> for TraceError {
    fn from(error: StateError) -> Self {
        Self::Read(error.into())
    }
}

impl From<Failure> for TraceError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Invalid(reason) => reason.into(),
            Failure::State(error) => error.into(),
        }
    }
}

impl From<BlockExecutionError> for TraceError {
    fn from(error: BlockExecutionError) -> Self {
        match error {
            BlockExecutionError::Invalid(error) => Self::InvalidBlock(error),
            BlockExecutionError::Read(error) => Self::Read(error),
        }
    }
}

impl CallOutcome {
    /// Returns whether the message neither reverted nor halted.
    pub const fn is_success(&self) -> bool {
        matches!(self.outcome, FrameOutcome::Success)
    }

    /// Returns the return data of a success.
    pub const fn success_output(&self) -> Option<&Bytes> {
        if self.is_success() { Some(&self.output) } else { None }
    }

    /// Returns the data of a revert.
    pub const fn revert_data(&self) -> Option<&Bytes> {
        if matches!(self.outcome, FrameOutcome::Revert) { Some(&self.output) } else { None }
    }

    /// Returns the reason of a halt.
    pub const fn halt(&self) -> Option<HaltReason> {
        if let FrameOutcome::Halt(reason) = self.outcome { Some(reason) } else { None }
    }

    /// Describes the outcome: `success`, `execution reverted: <reason>` or the reason of the halt.
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
    /// Returns the context of `block` over the state after it; for the head, with pending interventions applied.
    ///
    /// # Errors
    /// [`ReadError::Pruned`], [`ReadError::State`].
    pub fn call_context(&self, block: &ExecutedBlock) -> Result<CallContext, ReadError> {
        let hash = block.hash();
        let state = if hash == self.head().hash() { self.latest_state()? } else { self.state_of(hash)? };
        self.call_context_over(block, state)
    }

    /// Returns the context of `block` over `state`.
    ///
    /// # Errors
    /// [`ReadError::State`].
    pub fn call_context_over(
        &self,
        block: &ExecutedBlock,
        state: Arc<dyn StateView>,
    ) -> Result<CallContext, ReadError> {
        let block = self.context().block_context_over(block.block().header(), &*state)?;
        Ok(CallContext { state, block })
    }

    /// Returns the context of the next block over the newest state.
    ///
    /// # Errors
    /// [`ReadError::State`].
    pub fn next_call_context(&self, attributes: &BlockAttributes) -> Result<CallContext, ReadError> {
        let mut overrides = self.header_overrides();
        attributes.interventions.iter().for_each(|intervention| overrides.add(intervention));
        let (context, head) = (self.context(), self.head());
        let changes = self.next_parameters(attributes.timestamp, &attributes.payload);
        let (fees, payload) = (context.fee_rules(head, &changes)?, &attributes.payload);
        let header = next_header(self.spec(), &fees, head.block(), attributes, payload, overrides);
        let state = self.latest_state()?;
        let block = self.context().block_context_over(&header, &*state)?;
        Ok(CallContext { state, block })
    }

    /// Runs a message like a transaction, without checking signature, nonce and the sender's code.
    ///
    /// Without a gas price, gas is free and contracts read a base fee of 0. The fork's bound of a transaction's gas limit (EIP-7825)
    /// does not hold here. On a chain with a list of accounts anybody may read; a sender that pays for gas must be allowed to send. Creations
    /// need the sender's permission to deploy in either case.
    ///
    /// # Errors
    /// [`CallError::Invalid`] when the sender can't pay value and gas, may not send or deploy, or the gas limit is below the intrinsic gas,
    /// [`CallError::Override`], [`CallError::State`].
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
        self.run_call(&mut journal, context, request, (gas, CallPurpose::Reading), inspector)
    }

    /// As [`Chain::call`]; also returns the state changes that the message makes.
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
        // Overrides are not changes made by the message.
        let _overridden = journal.take_changes();
        let gas = request.price(&context.block)?.gas_limit(request, &mut journal, &context.block)?;
        let outcome = self.run_call(&mut journal, context, request, (gas, CallPurpose::Reading), None)?;
        Ok((outcome, journal.take_changes()))
    }

    /// Returns the access list of a message: the addresses and slots it accesses, without those warm in every transaction
    /// (EIP-2930).
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
        let outcome = self.run_call(&mut journal, context, request, (gas, CallPurpose::Reading), None)?;
        let mut slots = BTreeMap::<Address, Vec<B256>>::new();
        for (address, slot) in journal.accessed() {
            slots.entry(address).or_default().extend(slot.map(B256::from));
        }
        let coinbase = context.block.hardfork.rules().has_warm_coinbase.then_some(context.block.beneficiary);
        let always_warm = [Some(request.sender()), request.to, outcome.created, coinbase];
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
    /// [`TraceError::UnknownTransaction`]; [`ReadError::Pruned`] when its parent's state is pruned.
    pub fn trace_transaction(&self, hash: B256, inspector: &mut dyn Inspector) -> Result<CallOutcome, TraceError> {
        let place = self.transaction(hash)?.ok_or(TraceError::UnknownTransaction { hash })?;
        let block = place.block.block();
        let mut journal = Journal::new(self.state_of(block.parent_hash())?);
        apply_interventions(&mut journal, block.interventions())?;
        let context = self.context();
        let parent = self.block(block.parent_hash())?;
        let payloads = (block.parameters(), block.protocol_payload());
        let block_context = context.block_context(block.header(), &mut journal)?;
        system_calls::run(context, &mut journal, &block_context, block.header(), parent.block().header(), payloads)
            .map_err(|failure| system_call_error(failure, |reason| invalid_block(block, reason)))?;
        let rules = context.tx_rules(block.height());
        let mut executor = Executor::new(&mut journal, &context.registry, block_context, rules);
        let index = place.index as usize;
        for earlier in &block.transactions()[..index] {
            executor.run(earlier, None)?;
        }
        let Executed { receipt, outcome, output } = executor.run(&block.transactions()[index], Some(inspector))?;
        let (gas_used, created) = (receipt.gas_used, receipt.contract_address);
        Ok(CallOutcome { outcome, output, gas_used, logs: receipt.inner.logs, created })
    }

    /// Returns the outcome of a failed transaction of a block that this process built, without executing it again; `None` for others,
    /// and once newer failures have evicted it. Revert data is cut after 1,024 bytes.
    pub fn failed_outcome(&self, hash: B256) -> Option<CallOutcome> {
        let Executed { receipt, outcome, output } = self.context().cache.failed().get(hash)?;
        let (gas_used, created) = (receipt.gas_used, receipt.contract_address);
        Some(CallOutcome { outcome, output, gas_used, logs: Vec::new(), created })
    }

    /// Returns what an account may do in the state of a journal.
    fn permissions_for_call(&self, journal: &mut Journal, account: Address) -> Result<AccountPermissions, StateError> {
        let listed = match self.spec().permissions {
            None => AccountPermissions::ALL,
            Some(_) => PermissionSlots::open(journal)?.permissions_of(journal, account)?,
        };
        Ok(listed.where_deployments(self.spec().deployments))
    }

    /// Runs a message with `gas` over a journal, which keeps its changes.
    fn run_call(
        &self,
        journal: &mut Journal,
        context: &CallContext,
        request: &CallRequest,
        (gas, purpose): (Gas, CallPurpose),
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<CallOutcome, CallError> {
        journal.begin_transaction();
        let priced = request.price(&context.block)?;
        let intrinsic = request.intrinsic(&context.block);
        check_gas_limit(gas, intrinsic)?;
        check_init_code(request.to.is_none(), request.input.len(), &context.block.hardfork.rules())?;
        let sender = request.sender();
        if sender == SYSTEM_ADDRESS {
            return Err(InvalidTransaction::SystemSender.into());
        }
        let permissions = self.permissions_for_call(journal, sender)?;
        let has_to_be_allowed = purpose == CallPurpose::Transaction || !priced.is_free();
        let sending = AccountPermissions { may_send: permissions.may_send || !has_to_be_allowed, ..permissions };
        check_sender_permissions(sender, request.to.is_none(), sending)?;
        let account = journal.account(&sender)?;
        let want = priced.cost(gas, request.value).ok_or(InvalidTransaction::CostOverflow { address: sender })?;
        if want > account.balance {
            return Err(InvalidTransaction::InsufficientFunds { address: sender, have: account.balance, want }.into());
        }
        let nonce = request.nonce.unwrap_or(account.nonce);
        journal.set_nonce(&sender, nonce.saturating_add(1))?;
        journal.set_balance(&sender, account.balance - priced.price * U256::from(gas.get()))?;
        request::warm(journal, request)?;
        let left = gas.saturating_sub(intrinsic.gas);
        let message = match request.to {
            Some(to) => Message::call(sender, to, request.value, &request.input, left),
            None => Message::create(sender, nonce, request.value, &request.input, left),
        };
        let message = message.with_deployments(permissions.may_deploy);
        let block = BlockContext { base_fee: priced.seen_base_fee, ..context.block };
        let registry = self.registry();
        let result = match inspector {
            Some(inspector) => vm::execute_inspected(journal, &block, registry, &message, inspector)?,
            None => vm::execute(journal, &block, registry, &message)?,
        };
        let gas_used = gas_used(gas, &result, journal.refund()).max(intrinsic.floor);
        let back = gas.saturating_sub(gas_used);
        journal.add_balance(&sender, priced.price * U256::from(back.get()))?;
        let tip = priced.price.saturating_sub(U256::from(priced.seen_base_fee));
        if !tip.is_zero() {
            let author = self.context().tx_rules(context.block.height).tips_to.unwrap_or(context.block.beneficiary);
            journal.add_balance(&author, tip * U256::from(gas_used.get()))?;
        }
        let logs = if result.is_success() { journal.logs().to_vec() } else { Vec::new() };
        let created = (message.kind == MessageKind::Create).then_some(message.to);
        Ok(CallOutcome { outcome: result.outcome, output: result.output, gas_used, logs, created })
    }
}

fn gas_used(limit: Gas, result: &FrameResult, refund: Gas) -> Gas {
    let spent = limit.saturating_sub(result.gas_left);
    spent.saturating_sub(GasSchedule::STANDARD.capped_refund(spent, refund))
}
