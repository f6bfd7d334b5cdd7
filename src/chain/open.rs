//! The chain as one replica sees it: opening, identity, and what it holds.

use core::fmt;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Log};

use super::{
    AnyHeader, Block, Chain, ChainError, CommitHook, ExecutedBlock, ExecutionCache, GenesisSpec, Hand, HeaderRules,
    Intervention, InvalidTransaction,
    execution::HeaderByHand,
    genesis,
    persist::{self, Decoded, Heads},
    tree::Tree,
};
use crate::{
    primitives::{Height, Transaction},
    state::StateStore,
    store::{Batch, KeyValue},
    templates,
    vm::TemplateRegistry,
};

/// A transaction's place in its block, from 0.
pub type TransactionIndex = u32;

/// Where a builder takes transactions from. Object-safe, and stays so.
pub trait Candidates {
    /// The next to try; `None` when there are no more.
    fn next(&mut self) -> Option<Arc<Transaction>>;

    /// The last one was left out; later nonces of its sender should not follow.
    fn refuse(&mut self, transaction: &Transaction, reason: &InvalidTransaction);
}

/// Transactions in a fixed order, whatever becomes of the ones before.
impl Candidates for std::vec::IntoIter<Arc<Transaction>> {
    fn next(&mut self) -> Option<Arc<Transaction>> {
        Iterator::next(self)
    }

    fn refuse(&mut self, _transaction: &Transaction, _reason: &InvalidTransaction) {}
}

/// A block that was built, executed and not yet sealed.
#[derive(Clone, Debug)]
pub struct BuiltBlock {
    /// The block, without a seal.
    pub block: Block,
    /// Candidates that were left out, with why.
    pub left_out: Vec<(Arc<Transaction>, InvalidTransaction)>,
}

/// What inserting a block did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It is stored now.
    New,
    /// It was there.
    Known,
}

/// How far back the past is kept, in blocks below the head. Genesis and what is not final are always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// States that can be read; `None` keeps all.
    pub states: Option<u64>,
    /// Blocks and receipts; `None` keeps all. A block's state goes with it.
    pub blocks: Option<u64>,
}

impl Retention {
    /// Everything is kept: what a durable store does unless told otherwise.
    pub const ALL: Self = Self { states: None, blocks: None };

    /// What a store in memory keeps unless told otherwise: 10,000 states, 200,000 blocks.
    pub const MEMORY: Self = Self { states: Some(10_000), blocks: Some(200_000) };
}

/// Where a canonical transaction is.
#[derive(Clone, Debug)]
pub struct TransactionLocation {
    /// Its block.
    pub block: ExecutedBlock,
    /// Its place in it.
    pub index: TransactionIndex,
}

/// Which logs to find (`eth_getLogs`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// First height.
    pub from: Height,
    /// Last height, inclusive; beyond the head it is the head.
    pub to: Height,
    /// Emitters; empty for any.
    pub addresses: Vec<Address>,
    /// For each topic position the values that match; empty for any.
    pub topics: Vec<Vec<B256>>,
}

/// A log and where it was emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedLog {
    /// The log.
    pub log: Log,
    /// Height of its block.
    pub height: Height,
    /// Hash of its block.
    pub block_hash: B256,
    /// Time of its block, in seconds since the Unix epoch.
    pub timestamp: u64,
    /// Hash of its transaction.
    pub transaction_hash: B256,
    /// Its transaction's place in the block.
    pub transaction_index: TransactionIndex,
    /// Its place among the block's logs.
    pub log_index: u32,
}

/// Collects what a chain is opened with; see [`Chain::builder`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `open`"]
pub struct ChainBuilder {
    spec: Arc<GenesisSpec>,
    state: Arc<dyn StateStore>,
    store: Arc<dyn KeyValue>,
    registry: Option<Arc<TemplateRegistry>>,
    rules: Arc<dyn HeaderRules>,
    cache: ExecutionCache,
    hooks: Vec<Arc<dyn CommitHook>>,
    retention: Option<Retention>,
    is_paranoid: bool,
}

impl ChainBuilder {
    /// The templates that contracts are made of; the built-in ones without it.
    pub fn with_registry(self, registry: Arc<TemplateRegistry>) -> Self {
        Self { registry: Some(registry), ..self }
    }

    /// The protocol's header rules; any header is taken without them.
    pub fn with_rules(self, rules: Arc<dyn HeaderRules>) -> Self {
        Self { rules, ..self }
    }

    /// A cache shared with other replicas.
    pub fn with_cache(self, cache: ExecutionCache) -> Self {
        Self { cache, ..self }
    }

    pub(super) fn with_spec(self, spec: GenesisSpec) -> Self {
        Self { spec: spec.into(), ..self }
    }

    /// A hook that writes into the batch of each head change; called in the order they were given.
    pub fn with_hook(mut self, hook: Arc<dyn CommitHook>) -> Self {
        self.hooks.push(hook);
        self
    }

    /// How much of the past is kept; by default [`Retention::ALL`] on a durable store, [`Retention::MEMORY`] elsewhere.
    pub fn with_retention(self, retention: Retention) -> Self {
        Self { retention: Some(retention), ..self }
    }

    /// Execute every block again and compare, even when another replica did.
    pub fn with_paranoid(self, is_paranoid: bool) -> Self {
        Self { is_paranoid, ..self }
    }

    /// Opens the chain: at its stored head, or at genesis when the store is empty.
    ///
    /// The genesis block is written at once.
    ///
    /// # Errors
    /// [`ChainError`]: an unusable specification, another registry than genesis names, a store with another chain, a
    /// failing store.
    pub fn open(self) -> Result<Chain, ChainError> {
        self.spec.check()?;
        let registry = self.registry.unwrap_or_else(|| Arc::new(templates::builtin().clone()));
        if let Some(want) = self.spec.registry_digest.filter(|want| *want != registry.digest()) {
            return Err(ChainError::OtherRegistry { got: registry.digest(), want });
        }
        let registry = genesis::complete_registry(&self.spec, registry)?;
        let is_durable = self.store.is_durable();
        let retention = self.retention.unwrap_or(if is_durable { Retention::ALL } else { Retention::MEMORY });
        let shared = Shared {
            spec: self.spec,
            state: self.state,
            store: self.store,
            registry,
            rules: self.rules,
            cache: self.cache,
            hooks: self.hooks,
            retention,
            is_durable,
            is_paranoid: self.is_paranoid,
            decoded: Decoded::default(),
        };
        match persist::genesis(&*shared.store)?.filter(|_| is_durable) {
            Some(genesis) => reopen(shared, genesis),
            None => create(shared),
        }
    }
}

/// What the clones of a chain and its replicas have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) spec: Arc<GenesisSpec>,
    pub(super) state: Arc<dyn StateStore>,
    pub(super) store: Arc<dyn KeyValue>,
    pub(super) registry: Arc<TemplateRegistry>,
    pub(super) rules: Arc<dyn HeaderRules>,
    pub(super) cache: ExecutionCache,
    pub(super) hooks: Vec<Arc<dyn CommitHook>>,
    pub(super) retention: Retention,
    pub(super) is_durable: bool,
    pub(super) is_paranoid: bool,
    pub(super) decoded: Decoded,
}

/// Opening and identity.
impl Chain {
    /// Starts to open the chain of `spec` over these stores.
    pub fn builder(
        spec: impl Into<Arc<GenesisSpec>>,
        state: Arc<dyn StateStore>,
        store: Arc<dyn KeyValue>,
    ) -> ChainBuilder {
        ChainBuilder {
            spec: spec.into(),
            state,
            store,
            registry: None,
            rules: Arc::new(AnyHeader),
            cache: ExecutionCache::new(),
            hooks: Vec::new(),
            retention: None,
            is_paranoid: false,
        }
    }

    /// The specification of the chain in a store, to open it again without knowing it; `None` when it holds no chain.
    ///
    /// Accounts and contracts are left out: they are in the state.
    ///
    /// # Errors
    /// [`ChainError::Store`] when it can't be read.
    pub fn stored_spec(store: &dyn KeyValue) -> Result<Option<GenesisSpec>, ChainError> {
        Ok(persist::spec(store)?)
    }

    /// A replica of the same chain that starts where this one stands, writes nothing to the store and calls no hooks.
    #[must_use]
    pub fn replica(&self) -> Self {
        Self { is_writer: false, ..self.clone() }
    }

    /// What the chain started from, without accounts and contracts: those are in the state of genesis.
    pub fn spec(&self) -> &Arc<GenesisSpec> {
        &self.shared.spec
    }

    /// The templates that its contracts are made of.
    pub fn registry(&self) -> &Arc<TemplateRegistry> {
        &self.shared.registry
    }

    /// The genesis block.
    pub const fn genesis(&self) -> &ExecutedBlock {
        &self.genesis
    }

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

    /// What changes by hand set in the next block's header.
    pub(super) const fn header_by_hand(&self) -> HeaderByHand {
        self.hand.header
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(super) fn heads(&self) -> Heads {
        Heads {
            head: self.head.hash(),
            safe: self.safe.hash(),
            finalized: self.finalized.hash(),
            irreversible: self.irreversible,
        }
    }

    /// Whether changes of this replica go to the store.
    pub(super) fn is_persistent(&self) -> bool {
        self.is_writer && self.shared.is_durable
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("chain_id", &self.shared.spec.chain_id)
            .field("genesis", &self.genesis.hash())
            .field("head", &(self.head.height(), self.head.hash()))
            .field("finalized", &self.finalized.height())
            .finish_non_exhaustive()
    }
}

fn create(mut shared: Shared) -> Result<Chain, ChainError> {
    let genesis = genesis::make(&shared)?;
    shared.spec = shared.spec.without_state().into();
    let hash = genesis.hash();
    if shared.is_durable {
        let mut batch = Batch::new();
        persist::put_genesis(hash, &mut batch);
        persist::put_spec(&shared.spec, &mut batch);
        persist::put_block(&genesis, &mut batch);
        persist::put_canonical(&genesis, &mut batch);
        persist::put_heads(
            Heads { head: hash, safe: hash, finalized: hash, irreversible: Height::GENESIS },
            &mut batch,
        );
        shared.store.write(batch)?;
        genesis.set_stored();
    }
    let (head, safe, finalized) = (genesis.clone(), genesis.clone(), genesis.clone());
    let tree = Tree::new(genesis.clone());
    let (shared, irreversible, hand) = (shared.into(), Height::GENESIS, Hand::default());
    Ok(Chain { shared, tree, genesis, head, safe, finalized, irreversible, hand, is_writer: true })
}

/// Opens what a store holds, reading the few blocks that say where it stands; all others are read when asked for.
fn reopen(mut shared: Shared, genesis: B256) -> Result<Chain, ChainError> {
    shared.spec = shared.spec.without_state().into();
    let heads = persist::heads(&*shared.store)?;
    let read = |hash| shared.load(hash)?.ok_or(ChainError::UnknownBlock { hash });
    let genesis = read(genesis)?;
    let want = shared.spec.header(genesis.commit().root).hash_slow();
    if genesis.hash() != want {
        return Err(ChainError::OtherGenesis { got: genesis.hash(), want });
    }
    let (head, safe, finalized) = (read(heads.head)?, read(heads.safe)?, read(heads.finalized)?);
    let mut tree = Tree::new(genesis.clone());
    if head.hash() != genesis.hash() {
        tree.insert(head.clone());
        tree.apply(&head, false);
    }
    let interventions = persist::interventions(&*shared.store)?;
    let (shared, irreversible, hand) = (shared.into(), heads.irreversible, Hand::default());
    let mut chain = Chain { shared, tree, genesis, head, safe, finalized, irreversible, hand, is_writer: true };
    chain.hand = chain.hand_over(&chain.head, interventions.into_iter().collect())?;
    Ok(chain)
}
