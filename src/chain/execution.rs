//! Building a block and judging one: both execute the same way over the parent's state.

use std::sync::Arc;

use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, Header};
use alloy_primitives::{Bloom, U256};

use super::{
    Ancestors, BaseFee, Block, BlockAttributes, BlockError, Candidates, ChainError, EXTRA_DATA_BYTES_MAX,
    ExecutedBlock, GAS_LIMIT_MIN, GenesisSpec, Intervention, InvalidTransaction, Receipt,
    base_fee::next_base_fee,
    block::empty_header,
    executor::{Executor, Failure},
    replica::Shared,
    roots,
    system_calls::{self, SystemCallFailure},
    validate::Rules,
    version::Version,
};
use crate::{
    primitives::{Gas, Height, Timestamp, Transaction},
    state::{CommitId, Journal, StateChanges, StateError},
    store::Batch,
    system::{ValidatorUpdates, staking::STAKING_ADDRESS},
    vm::BlockContext,
};

/// No transaction uses less: when less is left, the block is full.
const TRANSACTION_GAS_MIN: u64 = crate::vm::GasSchedule::STANDARD.transaction;

/// So many candidates in a row may be too large for the rest of a block before its builder stops looking.
const TOO_LARGE_IN_A_ROW_MAX: u32 = 128;

/// The parent's gas limit divided by this bounds a block's change of it (Yellow Paper, 4.3.4).
const GAS_LIMIT_BOUND_DIVISOR: u64 = 1_024;

/// What executing a block gave.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    pub(super) receipts: Arc<[Receipt]>,
    pub(super) version: Arc<Version>,
    /// The version that it was made on: two replicas may have made the same state twice.
    pub(super) parent: CommitId,
    /// What it changed in the set of validators.
    pub(super) updates: ValidatorUpdates,
}

/// A built block, what its execution gave, and who was left out.
pub(super) struct Built {
    pub(super) block: Block,
    pub(super) execution: Execution,
    pub(super) left_out: Vec<(Arc<Transaction>, InvalidTransaction)>,
}

/// Executes candidates over the state of `parent` and makes the block of those that could be.
pub(super) fn build(
    shared: &Shared,
    parent: &ExecutedBlock,
    attributes: &BlockAttributes,
    interventions: Vec<Intervention>,
    candidates: &mut dyn Candidates,
) -> Result<Built, ChainError> {
    let by_hand = HeaderByHand::of(&interventions);
    let mut header = next_header(&shared.spec, parent.block(), attributes, by_hand);
    let invalid =
        |reason| ChainError::InvalidBlock { height: Height::new(header.number), hash: Default::default(), reason };
    check_interventions(&shared.spec, &interventions).map_err(invalid)?;
    check_fixed_fields(&shared.spec, &header, parent.block().header(), by_hand).map_err(invalid)?;
    let parent_version = version_of(parent)?;
    let mut journal = shared.journal_at(parent_version)?;
    apply_interventions(&mut journal, &interventions)?;
    let ran = system_calls::run(shared, &mut journal, &header, parent.block().header(), &attributes.payload);
    let by_calls = ran.map_err(|failure| system_call_error(failure, invalid))?;
    let mut executor =
        Executor::new(&mut journal, &shared.registry, shared.context(&header), shared.tx_rules(header.number));
    let mut receipts = Vec::new();
    let mut transactions = Vec::new();
    let mut left_out = Vec::new();
    let mut too_large = 0;
    while header.gas_limit - executor.gas_used().get() >= TRANSACTION_GAS_MIN && too_large < TOO_LARGE_IN_A_ROW_MAX {
        let Some(transaction) = candidates.next() else { break };
        match executor.run(&transaction, None) {
            Ok(executed) => {
                too_large = 0;
                receipts.push(executed.receipt);
                transactions.push(transaction);
            }
            Err(Failure::Invalid(reason)) => {
                too_large += u32::from(matches!(reason, InvalidTransaction::BlockFull { .. }));
                candidates.refuse(&transaction, &reason);
                left_out.push((transaction, reason));
            }
            Err(Failure::State(error)) => return Err(error.into()),
        }
    }
    header.gas_used = executor.gas_used().get();
    let version = shared.commit(parent_version, journal)?;
    header.state_root = version.commit().root;
    header.transactions_root = roots::transactions_root(&transactions);
    (header.receipts_root, header.logs_bloom) = roots::receipts_root(&receipts);
    // `next_header` made it so.
    let commits_to_payload = !attributes.payload.is_empty();
    let payload = attributes.payload.clone();
    let block = Block::with_extra_data(header, transactions, payload, interventions, commits_to_payload);
    let updates = shared.updates(by_calls, &receipts);
    Ok(Built {
        block,
        execution: Execution { receipts: receipts.into(), version, parent: parent_version.commit().id, updates },
        left_out,
    })
}

/// Judges every field of a header by executing the block over the state of `parent`.
pub(super) fn verify(shared: &Shared, parent: &ExecutedBlock, block: &Block) -> Result<Execution, ChainError> {
    let (header, invalid) = (block.header(), |reason| invalid_block(block, reason));
    check_interventions(&shared.spec, block.interventions()).map_err(invalid)?;
    let by_hand = HeaderByHand::of(block.interventions());
    check_fixed_fields(&shared.spec, header, parent.block().header(), by_hand).map_err(invalid)?;
    check_payload(block).map_err(invalid)?;
    let want = block.computed_transactions_root();
    if header.transactions_root != want {
        return Err(invalid(BlockError::TransactionsRoot { got: header.transactions_root, want }));
    }
    let parent_version = version_of(parent)?;
    let mut journal = shared.journal_at(parent_version)?;
    apply_interventions(&mut journal, block.interventions())?;
    let ran = system_calls::run(shared, &mut journal, header, parent.block().header(), block.payload());
    let by_calls = ran.map_err(|failure| system_call_error(failure, invalid))?;
    let mut executor =
        Executor::new(&mut journal, &shared.registry, shared.context(header), shared.tx_rules(header.number));
    let mut receipts = Vec::with_capacity(block.transactions().len());
    for (index, transaction) in block.transactions().iter().enumerate() {
        match executor.run(transaction, None) {
            Ok(executed) => receipts.push(executed.receipt),
            Err(Failure::Invalid(reason)) => {
                return Err(invalid(BlockError::Transaction {
                    index,
                    hash: transaction.hash(),
                    reason: reason.into(),
                }));
            }
            Err(Failure::State(error)) => return Err(error.into()),
        }
    }
    let gas_used = executor.gas_used();
    let version = shared.commit(parent_version, journal)?;
    let (receipts_root, bloom) = roots::receipts_root(&receipts);
    check_results(header, gas_used, &version, receipts_root, &bloom).map_err(invalid)?;
    let updates = shared.updates(by_calls, &receipts);
    Ok(Execution { receipts: receipts.into(), version, parent: parent_version.commit().id, updates })
}

pub(super) fn system_call_error(
    failure: SystemCallFailure,
    invalid: impl FnOnce(BlockError) -> ChainError,
) -> ChainError {
    match failure {
        SystemCallFailure::Invalid(reason) => invalid(reason),
        SystemCallFailure::State(error) => error.into(),
    }
}

/// Judges what the protocol decides: seal, difficulty, timing.
pub(super) fn verify_rules(
    shared: &Shared,
    parent: &ExecutedBlock,
    block: &Block,
    ancestors: &dyn Ancestors,
) -> Result<(), ChainError> {
    let verdict = shared.rules.verify(block, parent.block().header(), ancestors);
    verdict.map_err(|reason| invalid_block(block, BlockError::Rule(reason)))
}

pub(super) fn invalid_block(block: &Block, reason: BlockError) -> ChainError {
    ChainError::InvalidBlock { height: block.height(), hash: block.hash(), reason }
}

/// Applies what was set by hand; what concerns the header is read from the list elsewhere.
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
            Intervention::BaseFee { .. } | Intervention::GasLimit { .. } => {}
        }
    }
    Ok(())
}

/// Base fee of a child of `parent`, as the rules and what was set by hand give it.
/// What interventions set in the header of the block that records them; the last of a kind counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HeaderByHand {
    pub(super) base_fee: Option<u64>,
    pub(super) gas_limit: Option<u64>,
}

impl HeaderByHand {
    pub(super) fn of<'i>(interventions: impl IntoIterator<Item = &'i Intervention>) -> Self {
        let mut by_hand = Self::default();
        interventions.into_iter().for_each(|intervention| by_hand.add(intervention));
        by_hand
    }

    pub(super) fn add(&mut self, intervention: &Intervention) {
        match intervention {
            Intervention::BaseFee { per_gas } => self.base_fee = Some(*per_gas),
            Intervention::GasLimit { gas } => self.gas_limit = Some((*gas).max(GAS_LIMIT_MIN)),
            _ => {}
        }
    }
}

pub(super) fn expected_base_fee(spec: &GenesisSpec, parent: &Header, by_hand: HeaderByHand) -> Option<u64> {
    let BaseFee::Dynamic(params) = spec.base_fee else { return None };
    if !spec.forks.is_london(parent.number.saturating_add(1)) {
        return None;
    }
    by_hand.base_fee.or_else(|| {
        let follow = |base_fee| next_base_fee(params, parent.gas_used, parent.gas_limit, base_fee);
        Some(parent.base_fee_per_gas.map_or(params.initial, follow))
    })
}

pub(super) fn next_header(
    spec: &GenesisSpec,
    parent: &Block,
    attributes: &BlockAttributes,
    by_hand: HeaderByHand,
) -> Header {
    let (parent_hash, parent) = (parent.hash(), parent.header());
    let extra_data = Block::extra_data_of(&attributes.payload).unwrap_or_else(|| attributes.extra_data.clone());
    let wanted = attributes.gas_limit.map_or(parent.gas_limit, Gas::get);
    let (low, high) = gas_limit_bounds(parent, by_hand);
    Header {
        parent_hash,
        beneficiary: attributes.beneficiary,
        difficulty: attributes.difficulty,
        number: parent.number.saturating_add(1),
        gas_limit: wanted.clamp(low, high),
        timestamp: attributes.timestamp.as_secs(),
        extra_data,
        mix_hash: attributes.mix_hash,
        nonce: attributes.nonce,
        base_fee_per_gas: expected_base_fee(spec, parent, by_hand),
        ..empty_header()
    }
}

/// Lowest and highest gas limit of a child of `parent`.
fn gas_limit_bounds(parent: &Header, by_hand: HeaderByHand) -> (u64, u64) {
    let change = (parent.gas_limit / GAS_LIMIT_BOUND_DIVISOR).saturating_sub(1);
    let low = parent.gas_limit.saturating_sub(change).max(GAS_LIMIT_MIN);
    by_hand.gas_limit.map_or((low, parent.gas_limit.saturating_add(change)), |gas| (gas, gas))
}

fn check_interventions(spec: &GenesisSpec, interventions: &[Intervention]) -> Result<(), BlockError> {
    let count = interventions.len();
    if count == 0 || spec.allow_interventions { Ok(()) } else { Err(BlockError::Interventions { count }) }
}

/// Checks the fields that follow from the parent and the genesis specification alone.
fn check_fixed_fields(
    spec: &GenesisSpec,
    header: &Header,
    parent: &Header,
    by_hand: HeaderByHand,
) -> Result<(), BlockError> {
    let (got, want) = (Height::new(header.number), Height::new(parent.number).next());
    if got != want {
        return Err(BlockError::Number { got, want });
    }
    if header.timestamp < parent.timestamp {
        let (got, parent) = (Timestamp::from_secs(header.timestamp), Timestamp::from_secs(parent.timestamp));
        return Err(BlockError::Timestamp { got, parent });
    }
    let (low, high) = gas_limit_bounds(parent, by_hand);
    if !(low..=high).contains(&header.gas_limit) {
        return Err(BlockError::GasLimit { got: Gas::new(header.gas_limit), low: Gas::new(low), high: Gas::new(high) });
    }
    let (got, want) = (header.base_fee_per_gas, expected_base_fee(spec, parent, by_hand));
    if got != want {
        return Err(BlockError::BaseFee { got, want });
    }
    let (got, want) = (header.ommers_hash, EMPTY_OMMER_ROOT_HASH);
    if got != want {
        return Err(BlockError::OmmersHash { got, want });
    }
    let (got, max) = (header.extra_data.len(), EXTRA_DATA_BYTES_MAX);
    if got > max {
        return Err(BlockError::ExtraDataLength { got, max });
    }
    check_unused_fields(header)
}

/// The fields of forks after London that this chain's headers do not carry.
fn check_unused_fields(header: &Header) -> Result<(), BlockError> {
    let unused = [
        ("withdrawalsRoot", header.withdrawals_root.is_some()),
        ("blobGasUsed", header.blob_gas_used.is_some()),
        ("excessBlobGas", header.excess_blob_gas.is_some()),
        ("parentBeaconBlockRoot", header.parent_beacon_block_root.is_some()),
        ("requestsHash", header.requests_hash.is_some()),
        ("blockAccessListHash", header.block_access_list_hash.is_some()),
        ("slotNumber", header.slot_number.is_some()),
    ];
    let set = unused.into_iter().find(|(_, is_set)| *is_set);
    set.map_or(Ok(()), |(field, _)| Err(BlockError::UnknownField { field }))
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

fn check_results(
    header: &Header,
    gas_used: Gas,
    version: &Version,
    receipts_root: alloy_primitives::B256,
    bloom: &Bloom,
) -> Result<(), BlockError> {
    let (got, want) = (Gas::new(header.gas_used), gas_used);
    if got != want {
        return Err(BlockError::GasUsed { got, want });
    }
    let (got, want) = (header.receipts_root, receipts_root);
    if got != want {
        return Err(BlockError::ReceiptsRoot { got, want });
    }
    if header.logs_bloom != *bloom {
        return Err(BlockError::LogsBloom { got: Box::new(header.logs_bloom), want: Box::new(*bloom) });
    }
    let (got, want) = (header.state_root, version.commit().root);
    if got != want { Err(BlockError::StateRoot { got, want }) } else { Ok(()) }
}

fn version_of(block: &ExecutedBlock) -> Result<&Arc<Version>, ChainError> {
    block.version().ok_or(ChainError::Pruned { what: "state", height: block.height(), oldest: block.height().next() })
}

impl Shared {
    /// A journal over `version`: the one that made it, with all that it read, when it is still there.
    pub(super) fn journal_at(&self, version: &Version) -> Result<Journal, ChainError> {
        match self.cache.take_journal(version.commit().id) {
            Some(journal) => Ok(journal),
            None => Ok(Journal::new(version.view()?)),
        }
    }

    /// Commits a journal's changes on top of `parent` and keeps the journal for the next block.
    fn commit(&self, parent: &Arc<Version>, mut journal: Journal) -> Result<Arc<Version>, ChainError> {
        let changes = journal.take_changes();
        let version = self.commit_changes(parent, &changes)?;
        if journal.advance_to(version.view()?).is_ok() {
            self.cache.put_journal(version.commit().id, journal);
        }
        Ok(version)
    }

    /// A version with `changes` on top of `parent`; `parent` itself when there are none.
    pub(super) fn commit_changes(
        &self,
        parent: &Arc<Version>,
        changes: &StateChanges,
    ) -> Result<Arc<Version>, ChainError> {
        if changes.is_empty() {
            return Ok(parent.clone());
        }
        let mut batch = Batch::new();
        let commit = self.state.commit(parent.commit().id, changes, &mut batch)?;
        Ok(Arc::new(Version::new(self.state.clone(), commit, batch)))
    }

    /// What contracts see of a block with this header.
    pub(super) fn context(&self, header: &Header) -> BlockContext {
        BlockContext {
            chain_id: self.spec.chain_id,
            height: Height::new(header.number),
            timestamp: Timestamp::from_secs(header.timestamp),
            beneficiary: self.rules.author(header),
            gas_limit: Gas::new(header.gas_limit),
            base_fee: header.base_fee_per_gas.unwrap_or(0),
            prev_randao: header.mix_hash,
        }
    }

    pub(super) fn tx_rules(&self, height: u64) -> Rules {
        Rules {
            chain_id: self.spec.chain_id,
            allow_impersonated: self.spec.allow_interventions,
            is_london: self.spec.forks.is_london(height),
            tips_to: self.spec.staking.filter(|params| params.share_fees).map(|_| STAKING_ADDRESS),
        }
    }
}

/// Total difficulty of a child.
pub(super) fn total_difficulty(parent: &ExecutedBlock, header: &Header) -> U256 {
    parent.total_difficulty().saturating_add(header.difficulty)
}
