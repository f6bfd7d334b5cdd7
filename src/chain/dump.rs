//! A chain as one JSON document: deterministic bytes, loaded without executing blocks.

use core::ops::ControlFlow;
use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{Address, B256, Bytes, U256};
use serde::{Deserialize, Serialize};

use super::{
    Chain,
    block::Block,
    error::{ChainError, DumpError},
    executed_block::{ExecutedBlock, Execution},
    hook::Finality,
    intervention::Intervention,
    open::ChainBuilder,
    pending::PendingInterventions,
    receipt,
    spec::{GenesisAccount, GenesisSpec},
    tree::Tree,
    version::Version,
};
use crate::{
    primitives::Height,
    state::{CommitId, EMPTY_ROOT, StateView},
    system::ValidatorUpdates,
};

/// Version of the document format.
const FORMAT: u32 = 1;

/// The canonical blocks that a chain keeps, the state after its head, and the pending interventions.
///
/// States of earlier blocks are not included: reading them after loading gives [`ChainError::Pruned`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChainDump {
    /// Version of the document format: 1.
    pub format: u32,
    /// The genesis specification; contracts are among its accounts.
    pub genesis: GenesisSpec,
    /// Hash of the genesis block.
    pub genesis_hash: B256,
    /// Canonical blocks above genesis, oldest first.
    pub blocks: Vec<DumpedBlock>,
    /// Hash of the newest block.
    pub head: B256,
    /// Hash of the newest safe block.
    pub safe: B256,
    /// Hash of the newest finalized block.
    pub finalized: B256,
    /// Accounts of the state after the head.
    pub accounts: BTreeMap<Address, GenesisAccount>,
    /// RLP list of the pending interventions.
    pub interventions: Bytes,
}

/// A block of a [`ChainDump`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DumpedBlock {
    /// Height of the block, for human readers.
    pub number: u64,
    /// The stored form of the block.
    pub block: Bytes,
    /// The stored form of its receipts.
    pub receipts: Bytes,
    /// Sum of the difficulties from genesis up to and including the block.
    pub total_difficulty: U256,
    /// Its changes of the validator set: address and weight (8 bytes, big-endian) each, sorted.
    #[serde(default, skip_serializing_if = "super::spec::has_no_bytes")]
    pub updates: Bytes,
}

impl ChainDump {
    /// Returns the document's bytes; equal chains give equal bytes.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Parses the bytes of [`ChainDump::to_json`].
    ///
    /// # Errors
    /// [`DumpError::Json`], [`DumpError::Format`].
    pub fn from_json(bytes: &[u8]) -> Result<Self, DumpError> {
        let dump: Self = serde_json::from_slice(bytes)?;
        match dump.format {
            FORMAT => Ok(dump),
            got => Err(DumpError::Format { got, want: FORMAT }),
        }
    }
}

impl Chain {
    /// Returns a dump that [`ChainBuilder::open_dump`] and [`Chain::load`] continue from.
    ///
    /// # Errors
    /// [`ChainError::Store`], [`ChainError::State`] when blocks or the state can't be read.
    pub fn dump(&self) -> Result<ChainDump, ChainError> {
        let mut blocks = Vec::new();
        for height in self.oldest_block().get().max(1)..=self.head().height().get() {
            let block = self.block_at(Height::new(height))?;
            blocks.push(DumpedBlock {
                number: height,
                block: block.block().encode_stored().into(),
                receipts: receipt::encode_receipts(block.receipts()).into(),
                total_difficulty: block.total_difficulty(),
                updates: block.updates().to_bytes().into(),
            });
        }
        let accounts = dump_accounts(&*self.state_of(self.genesis().hash())?)?;
        let pending: Vec<Intervention> = self.pending_interventions().cloned().collect();
        Ok(ChainDump {
            format: FORMAT,
            genesis: GenesisSpec { accounts, ..self.spec().without_state() },
            genesis_hash: self.genesis().hash(),
            blocks,
            head: self.head().hash(),
            safe: self.safe().hash(),
            finalized: self.finalized().hash(),
            accounts: dump_accounts(&*self.state_of(self.head().hash())?)?,
            interventions: alloy_rlp::encode(pending).into(),
        })
    }
}

impl ChainBuilder {
    /// Opens an empty store with the content of a dump, by its genesis specification in place of the builder's. Executes no
    /// block.
    ///
    /// # Errors
    /// [`ChainError::Dump`] when the store holds blocks already or the dump is inconsistent; otherwise as
    /// [`ChainBuilder::open`].
    pub fn open_dump(self, dump: &ChainDump) -> Result<Chain, ChainError> {
        let mut chain = self.with_spec(dump.genesis.clone()).open()?;
        if chain.head().hash() != chain.genesis().hash() {
            return Err(DumpError::StoreNotEmpty.into());
        }
        chain.load(dump)?;
        Ok(chain)
    }
}

impl Chain {
    /// Replaces blocks, head, finality, state and pending interventions by a dump's; genesis must be the same.
    ///
    /// # Errors
    /// [`ChainError::Dump`] when the dump has another genesis or is inconsistent; the chain is then unchanged.
    pub fn load(&mut self, dump: &ChainDump) -> Result<(), ChainError> {
        if dump.genesis_hash != self.genesis().hash() || dump.genesis.without_state() != **self.spec() {
            return Err(DumpError::OtherGenesis { got: dump.genesis_hash, want: self.genesis().hash() }.into());
        }
        let mut next = self.at_genesis()?;
        let mut previous: Option<ExecutedBlock> = None;
        for (index, dumped) in dump.blocks.iter().enumerate() {
            let block = Block::decode_stored(&dumped.block).map_err(|source| DumpError::Block { index, source })?;
            let receipts =
                receipt::decode_receipts(&dumped.receipts).map_err(|source| DumpError::Receipts { index, source })?;
            let parent = previous.as_ref().map_or(next.genesis().hash(), ExecutedBlock::hash);
            let is_first_retained = previous.is_none() && block.height().get() > 1;
            if block.parent_hash() != parent && !is_first_retained {
                return Err(DumpError::Parent { index, got: block.parent_hash(), want: parent }.into());
            }
            let (got, want) = (receipts.len(), block.transactions().len());
            if got != want {
                return Err(DumpError::ReceiptCount { index, got, want }.into());
            }
            let updates = ValidatorUpdates::from_bytes(&dumped.updates).ok_or(DumpError::Updates { index })?;
            let (block, receipts) = (Arc::new(block), Arc::from(receipts));
            let is_head = index + 1 == dump.blocks.len();
            let executed = if is_head {
                let version = next.load_state(&block, &dump.accounts)?;
                ExecutedBlock::new(
                    block,
                    Execution { receipts, version, parent: CommitId::EMPTY, updates },
                    dumped.total_difficulty,
                )
            } else {
                ExecutedBlock::without_state(block, receipts, updates, dumped.total_difficulty, false)
            };
            next.append(executed.clone());
            previous = Some(executed);
        }
        if next.head().hash() != dump.head {
            return Err(DumpError::Head { got: next.head().hash(), want: dump.head }.into());
        }
        let mut interventions = dump.interventions.as_ref();
        let pending = alloy_rlp::Decodable::decode(&mut interventions).map_err(DumpError::Interventions)?;
        next.finish_loading(dump.safe, dump.finalized, pending)?;
        self.restore(&next)?;
        Ok(())
    }

    /// Returns the same chain without blocks above genesis.
    fn at_genesis(&self) -> Result<Self, DumpError> {
        let genesis = self.genesis.clone();
        if !genesis.has_state() {
            return Err(DumpError::GenesisPruned);
        }
        let (finality, tree) = (Finality::at_genesis(&genesis), Tree::new(genesis.clone()));
        let pending = PendingInterventions::default();
        Ok(Self { tree, head: genesis, finality, pending, ..self.clone() })
    }

    /// Appends a block without verifying it.
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
    ) -> Result<(), ChainError> {
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
    ) -> Result<Arc<Version>, ChainError> {
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

fn dump_accounts(state: &dyn StateView) -> Result<BTreeMap<Address, GenesisAccount>, ChainError> {
    let mut found = Vec::new();
    state.for_each_account(&mut |address, account| {
        found.push((address, account));
        ControlFlow::Continue(())
    })?;
    let mut accounts = BTreeMap::new();
    for (address, account) in found {
        let mut storage = BTreeMap::new();
        if account.storage_root != EMPTY_ROOT {
            state.for_each_slot(&address, &mut |slot, value| {
                storage.insert(slot, value);
                ControlFlow::Continue(())
            })?;
        }
        let code = state.code(&account.code_hash)?;
        accounts.insert(address, GenesisAccount { balance: account.balance, nonce: account.nonce, code, storage });
    }
    Ok(accounts)
}
