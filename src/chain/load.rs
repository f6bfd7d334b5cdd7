//! Loading a dump without executing its blocks. What can be checked without execution is: every sender against its signature,
//! every header against its parent, the protocol's rules and its body, every receipt against its transaction, all roots.

use std::{collections::BTreeMap, sync::Arc};

use alloy_consensus::Eip658Value;
use alloy_primitives::{Address, B256, U256};

use super::{
    Chain,
    block::Block,
    dump::{ChainDump, DumpedBlock},
    error::{BlockError, DumpError, LoadError, OpenDumpError, ReadError},
    executed_block::{ExecutedBlock, Execution},
    execution,
    fee_rules::FeeRules,
    hook::Finality,
    intervention::Intervention,
    open::ChainBuilder,
    pending::PendingInterventions,
    receipt::{self, Receipt},
    spec::{GenesisAccount, GenesisSpec},
    tree::Tree,
    version::Version,
};
use crate::{
    primitives::{Gas, SenderRecovery, Transaction},
    state::CommitId,
    system::{
        BlockUpdates, ParameterUpdates,
        parameters::{FeeParameters, scheduled_changes},
    },
};

/// What [`Chain::load`] loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadSummary {
    /// Number of blocks above genesis.
    pub blocks: usize,
    /// Number of transactions in them.
    pub transactions: usize,
    /// Number of impersonated transactions among these: records of their sender, without a signature.
    pub impersonated: usize,
    /// Number of interventions in the blocks and pending.
    pub interventions: usize,
}

impl LoadSummary {
    fn count(&mut self, block: &Block) {
        self.blocks += 1;
        self.transactions += block.transactions().len();
        self.impersonated += block.transactions().iter().filter(|transaction| transaction.is_impersonated()).count();
        self.interventions += block.interventions().len();
    }
}

impl ChainBuilder {
    /// Opens an empty store with the content of a dump, by its genesis specification in place of the builder's. Executes no
    /// block.
    ///
    /// # Errors
    /// [`OpenDumpError::Load`] when the store holds blocks already or the dump is inconsistent; otherwise as
    /// [`ChainBuilder::open`].
    pub fn open_dump(self, dump: &ChainDump) -> Result<Chain, OpenDumpError> {
        let mut chain = self.with_spec(dump.genesis.clone()).open()?;
        if chain.head().hash() != chain.genesis().hash() {
            return Err(LoadError::from(DumpError::StoreNotEmpty).into());
        }
        chain.load(dump)?;
        Ok(chain)
    }
}

impl Chain {
    /// Replaces blocks, head, finality, state and pending interventions by a dump's; genesis must be the same.
    ///
    /// Taken on trust: that the state follows from the blocks, which only execution shows; the changes of the validator set and of scheduled
    /// parameters made by system calls; and where blocks before the first one are missing, its parent and total difficulty, the protocol's
    /// rules, at which boundary parameters come into force, and on a chain with parameters gas limits and base fees.
    ///
    /// # Errors
    /// [`LoadError::Dump`] when the dump has another genesis or contradicts itself: a sender, a header field, a seal, a receipt or
    /// a root; when it has impersonated transactions or interventions that genesis does not allow; or when its contracts run a
    /// template that the registry does not have as it was. The chain is then unchanged.
    pub fn load(&mut self, dump: &ChainDump) -> Result<LoadSummary, LoadError> {
        if dump.genesis_hash != self.genesis().hash() || dump.genesis.without_state() != **self.spec() {
            return Err(DumpError::OtherGenesis { got: dump.genesis_hash, want: self.genesis().hash() }.into());
        }
        let mut templates = dump.templates.iter();
        templates.try_for_each(|template| self.registry().check(template)).map_err(DumpError::from)?;
        let mut next = self.at_genesis()?;
        let (mut summary, recovery) = (LoadSummary::default(), SenderRecovery::new());
        let is_whole = dump.blocks.first().is_none_or(|first| first.number <= 1);
        let mut fees = if is_whole { next.fees_at_genesis()? } else { None };
        for (index, dumped) in dump.blocks.iter().enumerate() {
            let loaded = LoadedBlock::read(index, dumped, &recovery)?;
            summary.count(&loaded.block);
            let is_head = index + 1 == dump.blocks.len();
            // From genesis on, each block tells what it changes; without the first blocks, gas limits and base fees are taken on trust.
            fees = fees.map(|fees| fees.with(loaded.block.parameters()));
            let rules = match self.spec().parameters {
                Some(_) => fees.map(|fees| FeeRules::with(self.spec(), Some(fees), &ParameterUpdates::NONE)),
                None => Some(FeeRules::with(self.spec(), None, &ParameterUpdates::NONE)),
            };
            let accounts = is_head.then_some(&dump.accounts);
            let executed = next.check_loaded(index, loaded, is_whole, rules.as_ref(), accounts)?;
            next.append(self.known_with_state(executed.hash()).unwrap_or(executed));
        }
        if next.head().hash() != dump.head {
            return Err(DumpError::Head { got: next.head().hash(), want: dump.head }.into());
        }
        let pending = decode_interventions(&dump.interventions)?;
        execution::check_interventions(next.context(), next.head().height().next(), &pending)
            .map_err(DumpError::PendingInterventions)?;
        summary.interventions += pending.len();
        next.finish_loading(dump.safe, dump.finalized, pending)?;
        self.restore(&next)?;
        Ok(summary)
    }

    /// Returns a block that this chain has already, with a state that can be read. Going to it writes nothing of the state that was
    /// loaded for it, on which later ones would then be built.
    fn known_with_state(&self, hash: B256) -> Option<ExecutedBlock> {
        let known = self.block(hash).ok()?;
        self.state_of(hash).ok()?;
        self.context().garbage.keep(hash);
        Some(known)
    }

    /// Returns the same chain without blocks above genesis. [`Chain::restore`] switches to it.
    ///
    /// # Errors
    /// [`DumpError::GenesisPruned`].
    pub(crate) fn at_genesis(&self) -> Result<Self, DumpError> {
        let genesis = self.genesis.clone();
        if !genesis.has_state() {
            return Err(DumpError::GenesisPruned);
        }
        let (finality, tree) = (Finality::at_genesis(&genesis), Tree::new(genesis.clone()));
        let pending = PendingInterventions::default();
        let lease = self.context().lease(&genesis);
        Ok(Self { tree, head: genesis, finality, pending, lease, ..self.clone() })
    }

    fn fees_at_genesis(&self) -> Result<Option<FeeParameters>, ReadError> {
        self.context().fees_after(self.genesis())
    }

    /// Checks a block on top of the head, and commits `accounts` as the state of the last one. The protocol's rules may need any
    /// ancestor: they are asked where the dump is whole, without pruned blocks.
    fn check_loaded(
        &self,
        index: usize,
        loaded: LoadedBlock,
        is_whole: bool,
        fees: Option<&FeeRules>,
        accounts: Option<&BTreeMap<Address, GenesisAccount>>,
    ) -> Result<ExecutedBlock, LoadError> {
        let LoadedBlock { block, receipts, updates, total_difficulty: dumped_total } = loaded;
        let invalid = |reason| DumpError::Invalid { index, reason: Box::new(reason) };
        let parent = self.head();
        let is_first_retained = index == 0 && block.height().get() > 1;
        if block.parent_hash() != parent.hash() && !is_first_retained {
            return Err(DumpError::Parent { index, got: block.parent_hash(), want: parent.hash() }.into());
        }
        let context = self.context();
        execution::check_body(context, &block).map_err(invalid)?;
        check_receipts(index, &block, &receipts)?;
        execution::check_receipts_of(block.header(), &receipts).map_err(invalid)?;
        let mut total_difficulty = dumped_total;
        if !is_first_retained {
            execution::check_header(context, fees, parent.block(), &block).map_err(invalid)?;
            total_difficulty = execution::total_difficulty(parent, block.header());
        }
        check_scheduled(index, (!is_first_retained).then_some(parent), &block, (&receipts, &updates))?;
        if is_whole {
            execution::check_parameters(context, parent, &block, self).map_err(invalid)?;
            let verified = context.rules.verify(&block, parent.block().header(), self);
            verified.map_err(|reason| invalid(BlockError::Rule(reason)))?;
        }
        Ok(match accounts {
            Some(accounts) => {
                let version = self.load_state(&block, accounts)?;
                let execution = Execution::new(&block, receipts, version, CommitId::EMPTY, updates);
                ExecutedBlock::new(block, execution, total_difficulty)
            }
            None => ExecutedBlock::without_state(block, receipts, updates, total_difficulty, false),
        })
    }

    /// Appends a block without executing it.
    fn append(&mut self, block: ExecutedBlock) {
        self.tree.insert(block.clone());
        self.tree.apply(&block, !self.context.is_durable);
        self.head = block;
    }

    /// Sets finality and pending interventions.
    fn finish_loading(
        &mut self,
        safe: B256,
        finalized: B256,
        interventions: Vec<Intervention>,
    ) -> Result<(), ReadError> {
        let (safe, finalized) = (self.block(safe)?, self.block(finalized)?);
        self.finality = Finality { irreversible: finalized.height(), safe, finalized };
        self.pending = self.apply_overrides(&self.head, interventions.into_iter().collect())?;
        Ok(())
    }

    /// Commits the dump's accounts, whose state root must be the head's.
    fn load_state(
        &self,
        head: &Block,
        accounts: &BTreeMap<Address, GenesisAccount>,
    ) -> Result<Arc<Version>, LoadError> {
        let want = head.header().state_root;
        if want == self.genesis().commit().root
            && let Some(version) = self.genesis().version()
        {
            return Ok(version.clone());
        }
        let spec = GenesisSpec { accounts: accounts.clone(), ..GenesisSpec::new(1) };
        let version = self.context().commit_alone(&spec.state_changes())?;
        let got = version.commit().root;
        if got == want { Ok(version) } else { Err(DumpError::StateRoot { got, want }.into()) }
    }
}

/// A dumped block, decoded; its senders are those of its signatures.
struct LoadedBlock {
    block: Arc<Block>,
    receipts: Arc<[Receipt]>,
    updates: BlockUpdates,
    total_difficulty: U256,
}

impl LoadedBlock {
    fn read(index: usize, dumped: &DumpedBlock, recovery: &SenderRecovery) -> Result<Self, DumpError> {
        let block =
            Block::decode_dumped(&dumped.block, recovery).map_err(|source| DumpError::Block { index, source })?;
        let receipts =
            receipt::decode_receipts(&dumped.receipts).map_err(|source| DumpError::Receipts { index, source })?;
        let updates = BlockUpdates::from_bytes(&dumped.updates).ok_or(DumpError::Updates { index })?;
        let total_difficulty = dumped.total_difficulty;
        Ok(Self { block: Arc::new(block), receipts: receipts.into(), updates, total_difficulty })
    }
}

fn decode_interventions(mut bytes: &[u8]) -> Result<Vec<Intervention>, DumpError> {
    let pending = alloy_rlp::Decodable::decode(&mut bytes).map_err(DumpError::Interventions)?;
    if bytes.is_empty() { Ok(pending) } else { Err(DumpError::Interventions(alloy_rlp::Error::UnexpectedLength)) }
}

/// Checks the parameters that wait after a block: those of its parent, unless it puts these in force, and what its transactions scheduled last. More
/// may wait, or another value of the parent's, by a system call. What it puts in force waited, if the parent is known.
fn check_scheduled(
    index: usize,
    parent: Option<&ExecutedBlock>,
    block: &Block,
    (receipts, updates): (&[Receipt], &BlockUpdates),
) -> Result<(), DumpError> {
    let (put, got) = (block.parameters(), &updates.parameters);
    let waited = parent.map(|parent| &parent.updates().parameters);
    let sent = ParameterUpdates::new(scheduled_changes(receipts.iter().flat_map(Receipt::logs)));
    let stays = waited.filter(|_| put.is_empty()).unwrap_or(&ParameterUpdates::NONE);
    let is_kept = stays.iter().all(|update| got.value(update.parameter).is_some());
    let is_scheduled = sent.iter().all(|update| got.value(update.parameter) == Some(update.value));
    let is_due = put.is_empty() || waited.is_none_or(|waited| put == waited);
    if is_kept && is_scheduled && is_due { Ok(()) } else { Err(DumpError::Parameters { index }) }
}

/// Checks the fields of receipts that follow from their transactions and logs; the receipts root covers the others.
fn check_receipts(index: usize, block: &Block, receipts: &[Receipt]) -> Result<(), DumpError> {
    let (got, want) = (receipts.len(), block.transactions().len());
    if got != want {
        return Err(DumpError::ReceiptCount { index, got, want });
    }
    let (mut cumulative, mut logs) = (Gas::ZERO, 0_u32);
    for (place, (transaction, got)) in block.transactions().iter().zip(receipts).enumerate() {
        let want = derived_receipt(transaction, got, block.base_fee().unwrap_or(0), cumulative, logs);
        if want.as_ref() != Some(got) {
            return Err(DumpError::Receipt { index, transaction: place });
        }
        cumulative = got.cumulative_gas_used();
        logs = logs.saturating_add(u32::try_from(got.logs().len()).unwrap_or(u32::MAX));
    }
    Ok(())
}

/// Returns the receipt with what its status, cumulative gas and logs determine; `None` when these contradict the transaction.
fn derived_receipt(
    transaction: &Transaction,
    got: &Receipt,
    base_fee: u64,
    cumulative_before: Gas,
    first_log_index: u32,
) -> Option<Receipt> {
    let gas_used = got.cumulative_gas_used().get().checked_sub(cumulative_before.get()).map(Gas::new)?;
    let is_failure_with_logs = !got.is_success() && !got.logs().is_empty();
    if gas_used > transaction.gas_limit() || is_failure_with_logs {
        return None;
    }
    let created = transaction.to().is_none().then(|| transaction.sender().create(transaction.nonce()));
    Some(Receipt {
        ty: transaction.ty(),
        inner: alloy_consensus::Receipt { status: Eip658Value::Eip658(got.is_success()), ..got.inner.clone() },
        gas_used,
        effective_gas_price: transaction.effective_gas_price(base_fee),
        contract_address: created,
        first_log_index,
    })
}
