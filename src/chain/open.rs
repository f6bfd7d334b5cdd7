//! Opening a chain: at genesis, or at the head that its store holds.

use std::sync::Arc;

use alloy_primitives::B256;

use super::{
    Chain,
    cache::{DecodedBlocks, ExecutionCache},
    context::ChainContext,
    error::{OpenError, ReadError},
    executed_block::ExecutedBlock,
    garbage::Garbage,
    genesis,
    hook::{CommitHook, Finality},
    pending::PendingInterventions,
    persist::{self, Heads},
    retention::Retention,
    rules::{AnyHeader, HeaderRules},
    spec::GenesisSpec,
    tree::Tree,
};
use crate::{
    state::StateStore,
    store::{Batch, KeyValue, StoreError},
    templates,
    vm::TemplateRegistry,
};

/// The options that a chain is opened with; see [`Chain::builder`].
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
    /// Sets the contract templates; by default the built-in ones.
    pub fn with_registry(self, registry: Arc<TemplateRegistry>) -> Self {
        Self { registry: Some(registry), ..self }
    }

    /// Sets the protocol's header rules; by default [`AnyHeader`].
    pub fn with_rules(self, rules: Arc<dyn HeaderRules>) -> Self {
        Self { rules, ..self }
    }

    /// Shares an execution cache with other replicas.
    pub fn with_cache(self, cache: ExecutionCache) -> Self {
        Self { cache, ..self }
    }

    pub(super) fn with_spec(self, spec: GenesisSpec) -> Self {
        Self { spec: spec.into(), ..self }
    }

    /// Adds a hook that writes into the batch of each change of head or finality. Hooks are called in the order given.
    pub fn with_hook(mut self, hook: Arc<dyn CommitHook>) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Sets how many states and blocks are kept; by default [`Retention::ALL`] on a durable store, [`Retention::MEMORY`]
    /// elsewhere.
    pub fn with_retention(self, retention: Retention) -> Self {
        Self { retention: Some(retention), ..self }
    }

    /// Executes every block, also when the cache has its result, and compares the two.
    pub fn with_paranoid(self, is_paranoid: bool) -> Self {
        Self { is_paranoid, ..self }
    }

    /// Opens the chain: at its stored head, or at genesis when the store is empty, which writes the genesis block.
    ///
    /// # Errors
    /// [`OpenError`]: an invalid specification, a store with another chain, a registry without a template that the chain's contracts
    /// run, a failing store.
    pub fn open(self) -> Result<Chain, OpenError> {
        self.with_genesis()?.open()
    }

    /// Builds the genesis block or finds it in the store, so that rules can be made that depend on its hash.
    ///
    /// # Errors
    /// [`OpenError`], as [`Self::open`].
    pub fn with_genesis(self) -> Result<OpeningChain, OpenError> {
        self.spec.check()?;
        let registry = self.registry.unwrap_or_else(|| Arc::new(templates::builtin().clone()));
        let registry = genesis::complete_registry(&self.spec, registry)?;
        let is_durable = self.store.is_durable();
        let retention = self.retention.unwrap_or(if is_durable { Retention::ALL } else { Retention::MEMORY });
        let context = ChainContext {
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
            decoded_blocks: DecodedBlocks::default(),
            leases: Arc::default(),
            garbage: Garbage::default(),
        };
        let stored = persist::genesis(&*context.store).map_err(ReadError::from)?.filter(|_| is_durable);
        let genesis = match stored {
            Some(hash) => Genesis::Stored(hash),
            None => Genesis::New(genesis::build(&context)?),
        };
        Ok(OpeningChain { context, genesis })
    }
}

/// A chain with a genesis block that is about to be opened; see [`ChainBuilder::with_genesis`].
#[derive(Debug)]
#[must_use = "the chain is not open until `open`"]
pub struct OpeningChain {
    context: ChainContext,
    genesis: Genesis,
}

#[derive(Debug)]
enum Genesis {
    New(ExecutedBlock),
    Stored(B256),
}

impl OpeningChain {
    /// Returns the hash of the genesis block.
    pub fn genesis_hash(&self) -> B256 {
        match &self.genesis {
            Genesis::New(genesis) => genesis.hash(),
            Genesis::Stored(hash) => *hash,
        }
    }

    /// Sets the protocol's header rules.
    pub fn with_rules(mut self, rules: Arc<dyn HeaderRules>) -> Self {
        self.context.rules = rules;
        self
    }

    /// Opens the chain, as [`ChainBuilder::open`].
    ///
    /// # Errors
    /// [`OpenError`]: a store with another chain, a registry without a template that the chain's contracts run, a failing store.
    pub fn open(self) -> Result<Chain, OpenError> {
        match self.genesis {
            Genesis::New(genesis) => create(self.context, genesis),
            Genesis::Stored(hash) => reopen(self.context, hash),
        }
    }
}

/// Opening.
impl Chain {
    /// Returns a builder for the chain of `spec` over these stores.
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

    /// Reads the specification of the chain in a store, to open it without another source; `None` when the store holds no
    /// chain.
    ///
    /// Accounts and contracts are left out: they are in the state.
    ///
    /// # Errors
    /// [`StoreError`] when it can't be read.
    pub fn stored_spec(store: &dyn KeyValue) -> Result<Option<GenesisSpec>, StoreError> {
        persist::spec(store)
    }
}

fn create(mut context: ChainContext, genesis: ExecutedBlock) -> Result<Chain, OpenError> {
    context.spec = context.spec.without_state().into();
    let finality = Finality::at_genesis(&genesis);
    if context.is_durable {
        let mut batch = Batch::new();
        persist::put_genesis(genesis.hash(), &mut batch);
        persist::put_spec(&context.spec, &mut batch);
        persist::put_block(&genesis, &mut batch);
        persist::put_canonical(&genesis, &mut batch);
        persist::put_heads(Heads::of(&genesis, &finality), &mut batch);
        context.store.write(batch).map_err(OpenError::Write)?;
        genesis.set_stored();
    }
    let (head, tree) = (genesis.clone(), Tree::new(genesis.clone()));
    let pending = PendingInterventions::default();
    let lease = context.lease(&head);
    Ok(Chain { context: context.into(), tree, genesis, head, finality, pending, is_writer: true, lease })
}

/// Opens the chain in a store. Reads genesis, the head and the blocks of its finality; all others are read on demand.
fn reopen(mut context: ChainContext, genesis: B256) -> Result<Chain, OpenError> {
    context.spec = context.spec.without_state().into();
    let heads = persist::heads(&*context.store).map_err(ReadError::from)?;
    let read = |hash| context.load(hash)?.ok_or(ReadError::UnknownBlock { hash });
    let genesis = read(genesis)?;
    let want = context.spec.header(genesis.commit().root).hash_slow();
    if genesis.hash() != want {
        return Err(OpenError::OtherGenesis { got: genesis.hash(), want });
    }
    let stored_id = persist::spec(&*context.store).map_err(ReadError::from)?.map(|spec| spec.chain_id);
    if let Some(got) = stored_id.filter(|got| *got != context.spec.chain_id) {
        return Err(OpenError::OtherChainId { got, want: context.spec.chain_id });
    }
    let templates = context.check_stored_templates()?;
    let (head, safe, finalized) = (read(heads.head)?, read(heads.safe)?, read(heads.finalized)?);
    let finality = Finality { safe, finalized, irreversible: heads.irreversible };
    let mut tree = Tree::new(genesis.clone());
    if head.hash() != genesis.hash() {
        tree.insert(head.clone());
        tree.apply(&head, false);
    }
    let interventions = persist::interventions(&*context.store).map_err(ReadError::from)?;
    let pending = PendingInterventions::default();
    context.garbage = Garbage::stored(persist::garbage(&*context.store).map_err(ReadError::from)?);
    let lease = context.lease(&head);
    let mut chain = Chain { context: context.into(), tree, genesis, head, finality, pending, is_writer: true, lease };
    chain.pending = chain.apply_overrides(&chain.head, interventions.into_iter().collect())?;
    if !templates.is_empty() {
        chain.context.store.write(templates).map_err(OpenError::Write)?;
    }
    Ok(chain)
}
