//! Opening a chain: at genesis, or where its store stands.

use std::sync::Arc;

use alloy_primitives::B256;

use super::{
    Chain,
    cache::{Decoded, ExecutionCache},
    context::{Retention, Shared},
    error::ChainError,
    genesis,
    hook::CommitHook,
    pending::Hand,
    persist::{self, Heads},
    rules::{AnyHeader, HeaderRules},
    spec::GenesisSpec,
    tree::Tree,
};
use crate::{
    primitives::Height,
    state::StateStore,
    store::{Batch, KeyValue},
    templates,
    vm::TemplateRegistry,
};

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

/// Opening.
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
