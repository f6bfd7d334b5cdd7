//! Building and verifying blocks: both execute the same way over the parent's state.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{B256, Bytes, U256};

use super::{
    block::{Block, RLP_BYTES_WITHOUT_TRANSACTIONS_MAX, empty_header, rlp_bytes, with_parameters},
    candidates::Candidates,
    context::ChainContext,
    error::{BlockError, BlockExecutionError, InvalidBlock, InvalidTransaction, PrevRandaoRefusal},
    executed_block::{ExecutedBlock, Execution},
    executor::{Executor, Failure},
    fee_rules::FeeRules,
    header::{HeaderOverrides, check_fixed_fields, next_header},
    intervention::Intervention,
    receipt::Receipt,
    roots,
    rules::{Ancestors, BlockAttributes, MixHashSource, RuleError},
    system_calls::{self, CallUpdates, SystemCallFailure},
    validate::{self, Rules},
    version::Version,
};
use crate::{
    primitives::{Gas, Height, Timestamp, Transaction},
    state::{CommitId, Journal, StateError},
    system::ParameterUpdates,
    vm::{BlockContext, ForkRules},
};

/// Least gas that a transaction uses; a block with less left is full.
const TRANSACTION_GAS_MIN: u64 = crate::vm::GasSchedule::STANDARD.transaction;

/// Consecutive candidates too large for the rest of the block after which building stops.
const TOO_LARGE_IN_A_ROW_MAX: u32 = 128;

/// A block under construction, as far as it does not follow from its transactions.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    /// The header, without what follows from the transactions.
    pub(super) header: Header,
    /// What contracts read of the block.
    pub(super) block: BlockContext,
    payload: Bytes,
    interventions: Vec<Intervention>,
    /// Parameters that were scheduled before and that the block leaves waiting.
    waiting: ParameterUpdates,
    /// What the system calls, which come before the transactions, changed for the protocol.
    call_updates: CallUpdates,
}

/// The header of the next block, without what follows from execution, and its payload.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) header: Header,
    /// The parameters that the block puts in force.
    changes: ParameterUpdates,
    /// With them in front.
    payload: Bytes,
}

/// How full a block under construction is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    gas_used: Gas,
    /// Number of logs.
    logs: u32,
    size: BlockSize,
    /// Candidates too large for the rest of the block, one after another.
    too_large: u32,
}

/// The transactions of a block under construction.
#[derive(Clone, Debug)]
pub(super) struct Filled {
    pub(super) transactions: Vec<Arc<Transaction>>,
    pub(super) receipts: Vec<Receipt>,
    /// Candidates that were left out.
    pub(super) left_out: Vec<(Arc<Transaction>, InvalidTransaction)>,
    pub(super) progress: Progress,
}

/// A built block with its execution result and the candidates left out.
pub(super) struct Built {
    pub(super) block: Block,
    pub(super) execution: Execution,
    pub(super) left_out: Vec<(Arc<Transaction>, InvalidTransaction)>,
}

/// Executes candidates over the state of `parent` and builds the block of the valid ones.
pub(super) fn build(
    context: &ChainContext,
    parent: &ExecutedBlock,
    attributes: &BlockAttributes,
    interventions: Vec<Intervention>,
    candidates: &mut dyn Candidates,
    ancestors: &dyn Ancestors,
) -> Result<Built, BlockExecutionError> {
    let rules = context.tx_rules(parent.height().next());
    build_by(context, rules, parent, attributes, interventions, candidates, ancestors)
}

/// Builds a block whose transactions go by these rules.
pub(super) fn build_by(
    context: &ChainContext,
    rules: Rules,
    parent: &ExecutedBlock,
    attributes: &BlockAttributes,
    interventions: Vec<Intervention>,
    candidates: &mut dyn Candidates,
    ancestors: &dyn Ancestors,
) -> Result<Built, BlockExecutionError> {
    let draft = draft(context, parent, attributes, &interventions, ancestors)?;
    let parent_version = parent.retained_version()?;
    let mut journal = context.journal_at(parent_version)?;
    apply_interventions(&mut journal, &interventions)?;
    let opened = open(context, parent, attributes, draft, interventions, &mut journal)?;
    let progress = Progress::of_empty(context, &opened.header);
    let filled = fill_by(context, rules, &opened, &mut journal, progress, candidates)?;
    let version = context.commit(parent_version, journal)?;
    Ok(close(context, opened, filled, version, parent_version.commit().id))
}

/// Returns the parameters that a child of `parent` at this time and with this payload puts in force: those that wait, at a boundary of the protocol.
pub(super) fn taken_over(
    context: &ChainContext,
    parent: &ExecutedBlock,
    (timestamp, payload): (Timestamp, &Bytes),
    ancestors: &dyn Ancestors,
) -> Result<ParameterUpdates, RuleError> {
    let waiting = &parent.updates().parameters;
    if waiting.is_empty() {
        return Ok(ParameterUpdates::NONE);
    }
    let (number, timestamp, parent_hash) = (parent.height().next().get(), timestamp.as_secs(), parent.hash());
    let header = Header { number, timestamp, parent_hash, ..empty_header() };
    let is_boundary = context.rules.is_parameter_boundary(&header, payload, parent.block().header(), ancestors)?;
    Ok(if is_boundary { waiting.clone() } else { ParameterUpdates::NONE })
}

/// Returns what of a parent's scheduled parameters waits on after a block that puts `changes` in force.
fn waiting_after(parent: &ExecutedBlock, changes: &ParameterUpdates) -> ParameterUpdates {
    if changes.is_empty() { parent.updates().parameters.clone() } else { ParameterUpdates::NONE }
}

/// Returns the header of the next block, without what follows from execution, and its payload.
pub(super) fn draft(
    context: &ChainContext,
    parent: &ExecutedBlock,
    attributes: &BlockAttributes,
    interventions: &[Intervention],
    ancestors: &dyn Ancestors,
) -> Result<Draft, BlockExecutionError> {
    let overrides = HeaderOverrides::of(interventions);
    let height = parent.height().next();
    let invalid = |reason| InvalidBlock { height, hash: Default::default(), reason };
    let changes = taken_over(context, parent, (attributes.timestamp, &attributes.payload), ancestors)
        .map_err(|error| invalid(BlockError::Rule(error)))?;
    let payload = with_parameters(&changes, attributes.payload.clone());
    let fees = context.fee_rules(parent, &changes)?;
    let header = next_header(&context.spec, &fees, parent.block(), attributes, &payload, overrides);
    check_interventions(context, height, interventions).map_err(invalid)?;
    // Unless it is given, `next_header` computed the right one.
    let is_mix_hash_given = !attributes.mix_hash.is_zero();
    let source = if is_mix_hash_given { context.rules.mix_hash_source() } else { MixHashSource::Builder };
    check_fixed_fields(&context.spec, Some(&fees), source, &header, parent.block().header(), overrides)
        .map_err(invalid)?;
    Ok(Draft { header, changes, payload })
}

/// Makes the system calls that come before a block's transactions, over the state with its interventions.
pub(super) fn open(
    context: &ChainContext,
    parent: &ExecutedBlock,
    attributes: &BlockAttributes,
    draft: Draft,
    interventions: Vec<Intervention>,
    journal: &mut Journal,
) -> Result<Opened, BlockExecutionError> {
    let Draft { header, changes, payload } = draft;
    let height = Height::new(header.number);
    let invalid = |reason| InvalidBlock { height, hash: Default::default(), reason };
    let payloads = (&changes, &attributes.payload);
    let block = context.block_context(&header, journal)?;
    let ran = system_calls::run(context, journal, &block, &header, parent.block().header(), payloads);
    let call_updates = ran.map_err(|failure| system_call_error(failure, invalid))?;
    let waiting = waiting_after(parent, &changes);
    Ok(Opened { header, block, payload, interventions, waiting, call_updates })
}

impl Progress {
    pub(super) fn of_empty(context: &ChainContext, header: &Header) -> Self {
        let size = BlockSize::new(&context.spec.rules_at(Height::new(header.number)));
        Self { gas_used: Gas::ZERO, logs: 0, size, too_large: 0 }
    }
}

/// Executes candidates after the transactions of a block so far, until it is full or they end.
pub(super) fn fill(
    context: &ChainContext,
    opened: &Opened,
    journal: &mut Journal,
    progress: Progress,
    candidates: &mut dyn Candidates,
) -> Result<Filled, BlockExecutionError> {
    let rules = context.tx_rules(Height::new(opened.header.number));
    fill_by(context, rules, opened, journal, progress, candidates)
}

fn fill_by(
    context: &ChainContext,
    rules: Rules,
    opened: &Opened,
    journal: &mut Journal,
    progress: Progress,
    candidates: &mut dyn Candidates,
) -> Result<Filled, BlockExecutionError> {
    let Progress { gas_used, logs, mut size, mut too_large } = progress;
    let header = &opened.header;
    let executor = Executor::new(journal, &context.registry, opened.block, rules);
    let mut executor = executor.after(gas_used, logs);
    let mut receipts = Vec::new();
    let mut transactions = Vec::new();
    let mut left_out = Vec::new();
    while header.gas_limit - executor.gas_used().get() >= TRANSACTION_GAS_MIN && too_large < TOO_LARGE_IN_A_ROW_MAX {
        let Some(transaction) = candidates.next() else { break };
        let executed = size.check(&transaction).map_err(Failure::Invalid);
        match executed.and_then(|()| executor.run(&transaction, None)) {
            Ok(executed) => {
                too_large = 0;
                context.cache.failed().record(transaction.hash(), &executed);
                size.add(&transaction);
                receipts.push(executed.receipt);
                transactions.push(transaction);
            }
            Err(Failure::Invalid(reason)) => {
                let is_too_large =
                    matches!(reason, InvalidTransaction::BlockFull { .. } | InvalidTransaction::BlockSizeFull { .. });
                too_large += u32::from(is_too_large);
                candidates.mark_invalid(&transaction, &reason);
                left_out.push((transaction, reason));
            }
            Err(Failure::State(error)) => return Err(error.into()),
        }
    }
    let progress = Progress { gas_used: executor.gas_used(), logs: executor.logs(), size, too_large };
    Ok(Filled { transactions, receipts, left_out, progress })
}

/// Completes a block by what follows from its transactions; `version` is the state after it, `parent` that before.
pub(super) fn close(
    context: &ChainContext,
    opened: Opened,
    filled: Filled,
    version: Arc<Version>,
    parent: CommitId,
) -> Built {
    let Opened { mut header, payload, interventions, waiting, call_updates, .. } = opened;
    let Filled { transactions, receipts, left_out, progress } = filled;
    header.gas_used = progress.gas_used.get();
    header.state_root = version.commit().root;
    header.transactions_root = roots::transactions_root(&transactions);
    (header.receipts_root, header.logs_bloom) = context.cache.receipts_root(&receipts);
    // `next_header` set `extraData` to the payload's keccak.
    let commits_to_payload = !payload.is_empty();
    let block = Block::with_extra_data(header, transactions, payload, interventions, commits_to_payload);
    let updates = context.updates(&waiting, call_updates, &receipts);
    let execution = Execution::new(&block, receipts, version, parent, updates);
    Built { block, execution, left_out }
}

/// Verifies every header field by executing the block over the state of `parent`.
pub(super) fn verify(
    context: &ChainContext,
    parent: &ExecutedBlock,
    block: &Block,
    ancestors: &dyn Ancestors,
) -> Result<Execution, BlockExecutionError> {
    let (header, invalid) = (block.header(), |reason| invalid_block(block, reason));
    check_parameters(context, parent, block, ancestors).map_err(invalid)?;
    let fees = context.fee_rules(parent, block.parameters())?;
    check_header(context, Some(&fees), parent.block(), block).map_err(invalid)?;
    check_size(context, block).map_err(invalid)?;
    check_roots_of_body(block).map_err(invalid)?;
    let parent_version = parent.retained_version()?;
    let mut journal = context.journal_at(parent_version)?;
    apply_interventions(&mut journal, block.interventions())?;
    let payloads = (block.parameters(), block.protocol_payload());
    let block_context = context.block_context(header, &mut journal)?;
    let ran = system_calls::run(context, &mut journal, &block_context, header, parent.block().header(), payloads);
    let call_updates = ran.map_err(|failure| system_call_error(failure, invalid))?;
    let mut executor =
        Executor::new(&mut journal, &context.registry, block_context, context.tx_rules(Height::new(header.number)));
    let mut receipts = Vec::with_capacity(block.transactions().len());
    for (index, transaction) in block.transactions().iter().enumerate() {
        match executor.run(transaction, None) {
            Ok(executed) => receipts.push(executed.receipt),
            Err(Failure::Invalid(reason)) => {
                let (hash, reason) = (transaction.hash(), reason.into());
                return Err(invalid(BlockError::Transaction { index, hash, reason }).into());
            }
            Err(Failure::State(error)) => return Err(error.into()),
        }
    }
    let version = context.commit(parent_version, journal)?;
    check_receipts_of(header, &receipts).map_err(invalid)?;
    let (got, want) = (header.state_root, version.commit().root);
    if got != want {
        return Err(invalid(BlockError::StateRoot { got, want }).into());
    }
    let updates = context.updates(&waiting_after(parent, block.parameters()), call_updates, &receipts);
    Ok(Execution::new(block, receipts, version, parent_version.commit().id, updates))
}

pub(super) fn system_call_error(
    failure: SystemCallFailure,
    invalid: impl FnOnce(BlockError) -> InvalidBlock,
) -> BlockExecutionError {
    match failure {
        SystemCallFailure::Invalid(reason) => invalid(reason).into(),
        SystemCallFailure::State(error) => error.into(),
    }
}

/// Verifies the fields that the protocol decides: seal, difficulty, timing.
pub(super) fn verify_rules(
    context: &ChainContext,
    parent: &ExecutedBlock,
    block: &Block,
    ancestors: &dyn Ancestors,
) -> Result<(), InvalidBlock> {
    let verdict = context.rules.verify(block, parent.block().header(), ancestors);
    verdict.map_err(|reason| invalid_block(block, BlockError::Rule(reason)))
}

pub(super) fn invalid_block(block: &Block, reason: BlockError) -> InvalidBlock {
    InvalidBlock { height: block.height(), hash: block.hash(), reason }
}

/// Applies the interventions that change the state; [`HeaderOverrides`] has those that change the header.
pub(super) fn apply_interventions(journal: &mut Journal, interventions: &[Intervention]) -> Result<(), StateError> {
    journal.begin_transaction();
    for intervention in interventions {
        match intervention {
            Intervention::Balance { address, balance } => journal.set_balance(address, *balance)?,
            Intervention::Nonce { address, nonce } => journal.set_nonce(address, *nonce)?,
            Intervention::Code { address, code } => journal.set_code(address, code.clone())?,
            Intervention::Storage { address, slot, value } => {
                journal.set_storage(address, slot, *value)?;
            }
            Intervention::BaseFee { .. } | Intervention::GasLimit { .. } | Intervention::PrevRandao { .. } => {}
        }
    }
    Ok(())
}

/// Checks that genesis allows interventions, and that those of a block at `height` are valid there.
pub(super) fn check_interventions(
    context: &ChainContext,
    height: Height,
    interventions: &[Intervention],
) -> Result<(), BlockError> {
    let count = interventions.len();
    if count > 0 && !context.spec.allow_interventions {
        return Err(BlockError::Interventions { count });
    }
    interventions.iter().try_for_each(|intervention| match intervention {
        Intervention::PrevRandao { mix_hash } => check_prev_randao(context, height, *mix_hash),
        _ => Ok(()),
    })
}

fn check_prev_randao(context: &ChainContext, height: Height, mix_hash: B256) -> Result<(), BlockError> {
    let rules = context.spec.rules_at(height);
    let reason = match context.rules.mix_hash_source() {
        _ if !rules.has_prev_randao => PrevRandaoRefusal::BeforeParis { fork: rules.hardfork },
        MixHashSource::Protocol => PrevRandaoRefusal::Protocol,
        _ if mix_hash.is_zero() => PrevRandaoRefusal::Zero,
        MixHashSource::Chain | MixHashSource::Builder => return Ok(()),
    };
    Err(BlockError::PrevRandao { mix_hash, reason })
}

/// Checks the length of the block's RLP (EIP-7934).
fn check_size(context: &ChainContext, block: &Block) -> Result<(), BlockError> {
    let rules = context.spec.rules_at(block.height());
    let Some(max) = rules.block_rlp_bytes_max else { return Ok(()) };
    let got = block.size();
    if got <= max { Ok(()) } else { Err(BlockError::BlockSize { fork: rules.hardfork, got, max }) }
}

/// The length of a block that is built, against the fork's bound (EIP-7934).
#[derive(Clone, Copy, Debug)]
struct BlockSize {
    /// Bytes left for transactions; `None` without a bound.
    left: Option<usize>,
}

impl BlockSize {
    fn new(rules: &ForkRules) -> Self {
        Self { left: rules.block_rlp_bytes_max.map(|max| max.saturating_sub(RLP_BYTES_WITHOUT_TRANSACTIONS_MAX)) }
    }

    fn check(&self, transaction: &Transaction) -> Result<(), InvalidTransaction> {
        let want = rlp_bytes(transaction);
        match self.left {
            Some(left) if want > left => Err(InvalidTransaction::BlockSizeFull { left, want }),
            _ => Ok(()),
        }
    }

    fn add(&mut self, transaction: &Transaction) {
        self.left = self.left.map(|left| left.saturating_sub(rlp_bytes(transaction)));
    }
}

/// Checks that the block puts those parameters in force that it has to.
pub(super) fn check_parameters(
    context: &ChainContext,
    parent: &ExecutedBlock,
    block: &Block,
    ancestors: &dyn Ancestors,
) -> Result<(), BlockError> {
    let want = taken_over(context, parent, (block.timestamp(), block.protocol_payload()), ancestors)
        .map_err(BlockError::Rule)?;
    let got = block.parameters();
    if *got == want { Ok(()) } else { Err(BlockError::Parameters { got: got.clone(), want }) }
}

/// Checks the header against its parent, the genesis specification and the interventions that the block records; gas limit and base
/// fee are taken on trust without their rules.
pub(super) fn check_header(
    context: &ChainContext,
    fees: Option<&FeeRules>,
    parent: &Block,
    block: &Block,
) -> Result<(), BlockError> {
    check_interventions(context, block.height(), block.interventions())?;
    let overrides = HeaderOverrides::of(block.interventions());
    let source = context.rules.mix_hash_source();
    check_fixed_fields(&context.spec, fees, source, block.header(), parent.header(), overrides)
}

/// Checks the header against the payload and the transactions, and that interventions and every transaction's fields are valid
/// at its height.
pub(super) fn check_body(context: &ChainContext, block: &Block) -> Result<(), BlockError> {
    check_interventions(context, block.height(), block.interventions())?;
    check_size(context, block)?;
    check_roots_of_body(block)?;
    let rules = context.tx_rules(block.height());
    for (index, transaction) in block.transactions().iter().enumerate() {
        validate::check_fields(transaction, &rules).map_err(|reason| BlockError::Transaction {
            index,
            hash: transaction.hash(),
            reason: reason.into(),
        })?;
    }
    Ok(())
}

fn check_roots_of_body(block: &Block) -> Result<(), BlockError> {
    check_payload(block)?;
    if block.has_root_of_transactions() {
        return Ok(());
    }
    let (got, want) = (block.header().transactions_root, block.computed_transactions_root());
    Err(BlockError::TransactionsRoot { got, want })
}

fn check_payload(block: &Block) -> Result<(), BlockError> {
    if block.commits_to_payload() {
        return Ok(());
    }
    let got = &block.header().extra_data;
    match Block::extra_data_of(block.payload()) {
        Some(want) if *got != want => Err(BlockError::ExtraData { got: got.clone(), want }),
        _ => Ok(()),
    }
}

/// Checks the header against the receipts: gas used, receipts root and bloom.
pub(super) fn check_receipts_of(header: &Header, receipts: &[Receipt]) -> Result<(), BlockError> {
    let got = Gas::new(header.gas_used);
    let want = receipts.last().map_or(Gas::ZERO, Receipt::cumulative_gas_used);
    if got != want {
        return Err(BlockError::GasUsed { got, want });
    }
    let (want, bloom) = roots::receipts_root(receipts);
    let got = header.receipts_root;
    if got != want {
        return Err(BlockError::ReceiptsRoot { got, want });
    }
    if header.logs_bloom != bloom {
        return Err(BlockError::LogsBloom { got: Box::new(header.logs_bloom), want: Box::new(bloom) });
    }
    Ok(())
}

/// Returns the total difficulty of a child of `parent`.
pub(super) fn total_difficulty(parent: &ExecutedBlock, header: &Header) -> U256 {
    parent.total_difficulty().saturating_add(header.difficulty)
}
