//! A chain as one JSON document: written byte for byte the same every time, read back without executing.

use core::ops::ControlFlow;
use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{Address, B256, Bytes, U256};
use serde::{Deserialize, Serialize};

use super::{
    Chain,
    block::Block,
    error::ChainError,
    executed_block::{ExecutedBlock, Execution},
    intervention::Intervention,
    open::ChainBuilder,
    pending::Hand,
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

/// Version of the document's form.
const FORMAT: u32 = 1;

/// The canonical blocks that a chain retains, the state after its head, and what was set by hand since.
///
/// States of earlier blocks are not in it: after loading they answer [`ChainError::Pruned`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChainDump {
    /// Version of this form: 1.
    pub format: u32,
    /// What the chain started from; contracts are among the accounts.
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
    /// Accounts after the head.
    pub accounts: BTreeMap<Address, GenesisAccount>,
    /// RLP of what was set by hand since the head.
    pub interventions: Bytes,
}

/// A block of a [`ChainDump`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DumpedBlock {
    /// Its height, for readers.
    pub number: u64,
    /// The stored form of the block.
    pub block: Bytes,
    /// The stored form of its receipts.
    pub receipts: Bytes,
    /// Sum of the difficulties up to and with it.
    pub total_difficulty: U256,
    /// What it changed in the set of validators: address and weight (8 bytes, big-endian) each, sorted.
    #[serde(default, skip_serializing_if = "super::spec::has_no_bytes")]
    pub updates: Bytes,
}

impl ChainDump {
    /// The document's bytes; equal chains give equal bytes.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads [`ChainDump::to_json`]'s form.
    ///
    /// # Errors
    /// [`ChainError::Dump`] for anything else, saying where.
    pub fn from_json(bytes: &[u8]) -> Result<Self, ChainError> {
        let dump: Self = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
        if dump.format != FORMAT {
            return Err(wrong(format!("format {} is not supported, this build reads {FORMAT}", dump.format)));
        }
        Ok(dump)
    }
}

impl Chain {
    /// Everything that [`ChainBuilder::open_dump`] needs to go on from here.
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
        let waiting: Vec<Intervention> = self.waiting_interventions().cloned().collect();
        Ok(ChainDump {
            format: FORMAT,
            genesis: GenesisSpec { accounts, ..self.spec().without_state() },
            genesis_hash: self.genesis().hash(),
            blocks,
            head: self.head().hash(),
            safe: self.safe().hash(),
            finalized: self.finalized().hash(),
            accounts: dump_accounts(&*self.state_of(self.head().hash())?)?,
            interventions: alloy_rlp::encode(waiting).into(),
        })
    }
}

/// Loading.
impl Chain {
    /// The same chain with nothing above genesis.
    pub(super) fn at_genesis(&self) -> Result<Self, ChainError> {
        let genesis = self.genesis.clone();
        if !genesis.has_state() {
            return Err(ChainError::Dump { reason: "the state of genesis is gone".to_owned() });
        }
        let (head, safe, finalized) = (genesis.clone(), genesis.clone(), genesis.clone());
        let tree = Tree::new(genesis);
        let irreversible = Height::GENESIS;
        Ok(Self { tree, head, safe, finalized, irreversible, hand: Hand::default(), ..self.clone() })
    }

    /// Puts a block on top that is known to be right.
    pub(super) fn append(&mut self, block: ExecutedBlock) {
        self.tree.insert(block.clone());
        self.tree.apply(&block, !self.shared.is_durable);
        self.head = block;
    }

    /// Sets finality and changes by hand of a loaded chain.
    pub(super) fn finish_loading(
        &mut self,
        safe: B256,
        finalized: B256,
        interventions: Vec<Intervention>,
    ) -> Result<(), ChainError> {
        (self.safe, self.finalized) = (self.block(safe)?, self.block(finalized)?);
        self.irreversible = self.finalized.height();
        self.hand = self.hand_over(&self.head, interventions.into_iter().collect())?;
        Ok(())
    }
}

impl ChainBuilder {
    /// Opens an empty store with a dump's content instead of genesis alone. Executes nothing.
    ///
    /// The dump's genesis specification takes the place of the builder's.
    ///
    /// # Errors
    /// [`ChainError::Dump`] when the store holds blocks already or the dump contradicts itself: hashes that do not
    /// chain, a state that does not give the head's root.
    pub fn open_dump(self, dump: &ChainDump) -> Result<Chain, ChainError> {
        let mut chain = self.with_spec(dump.genesis.clone()).open()?;
        if chain.head().hash() != chain.genesis().hash() {
            return Err(wrong("the store holds a chain already; load into an empty one".to_owned()));
        }
        chain.load(dump)?;
        Ok(chain)
    }
}

impl Chain {
    /// Takes a dump's content in place of its own, genesis staying: blocks, head, finality and state.
    ///
    /// # Errors
    /// [`ChainError::Dump`] when the dump is of another genesis or contradicts itself; nothing is changed then.
    pub fn load(&mut self, dump: &ChainDump) -> Result<(), ChainError> {
        if dump.genesis_hash != self.genesis().hash() || dump.genesis.without_state() != **self.spec() {
            return Err(wrong("it is of a chain with another genesis".to_owned()));
        }
        let mut next = self.at_genesis()?;
        let mut previous: Option<ExecutedBlock> = None;
        for (index, dumped) in dump.blocks.iter().enumerate() {
            let block =
                Block::decode_stored(&dumped.block).map_err(|error| wrong(format!("block {index}: {error}")))?;
            let receipts = receipt::decode_receipts(&dumped.receipts)
                .map_err(|error| wrong(format!("receipts {index}: {error}")))?;
            let parent = previous.as_ref().map_or(next.genesis().hash(), ExecutedBlock::hash);
            let is_first_retained = previous.is_none() && block.height().get() > 1;
            if block.parent_hash() != parent && !is_first_retained {
                return Err(wrong(format!("block {index} does not extend the one before it")));
            }
            if receipts.len() != block.transactions().len() {
                return Err(wrong(format!("block {index} has {} receipts", receipts.len())));
            }
            let updates = ValidatorUpdates::from_bytes(&dumped.updates)
                .ok_or_else(|| wrong(format!("updates {index} are no list of weights")))?;
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
            return Err(wrong(format!("its blocks end at {}, its head is {}", next.head().hash(), dump.head)));
        }
        let mut interventions = dump.interventions.as_ref();
        let waiting: Vec<Intervention> = alloy_rlp::Decodable::decode(&mut interventions)
            .map_err(|error| wrong(format!("interventions: {error}")))?;
        next.finish_loading(dump.safe, dump.finalized, waiting)?;
        self.restore(&next)?;
        Ok(())
    }

    /// The state of the dump's accounts, which must have the head's root.
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
        let version = self.shared().commit_alone(&spec.state_changes())?;
        let got = version.commit().root;
        if got == want {
            Ok(version)
        } else {
            Err(wrong(format!("its accounts have root {got}, its head says {want}")))
        }
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

const fn wrong(reason: String) -> ChainError {
    ChainError::Dump { reason }
}
