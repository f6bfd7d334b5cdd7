//! The chains in memory, and their way from what their records say to what runs.

use core::num::NonZeroUsize;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use alloy_primitives::{Address, keccak256};

use super::{delegators::Delegators, part::part_of, removal, snapshots::Snapshots};
use crate::{
    chain::{Chain, CommitHook},
    node::NetworkPool,
    platform::{
        DEFAULT_BLOCKCHAIN_ID, PlatformError,
        blockchain::{
            Blockchain, BlockchainRecord, ChainKeys, ChainState, Engine, EngineParts, GenesisParts, consensus,
            metrics::{DutyRule, MetricsLog, SharedMetrics},
            token_index::TokenIndex,
        },
        context::{Context, audit},
        evidence,
        gas_count::count_last_gas,
        modules::genesis::modules_of_genesis,
        principal::{Principal, Subject},
        records::{Owner, PageRequest, SortKey, Stored},
        scope::Role,
        validator::HostedValidator,
        wallet::Wallets,
    },
    primitives::{KeyPair, Timestamp},
    store::{KeyValue, PrefixedStore},
};

/// Chains whose records are read at once at boot.
const BOOTED_AT_ONCE: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// The chains in memory, and what they run on.
#[derive(Debug)]
pub(in crate::platform) struct Hosted {
    pub(super) default: Option<Arc<Blockchain>>,
    pub(super) pool: NetworkPool,
    store: Arc<dyn KeyValue>,
    /// Chains that run or are paused, by id.
    open: RwLock<BTreeMap<String, Arc<Blockchain>>>,
    /// Chains that have failed and are not in memory, by id: those that could not be opened, too.
    failed: RwLock<BTreeSet<String>>,
    /// Owners of all chains, by id: for callers of other workspaces.
    owners: RwLock<BTreeMap<String, Owner>>,
    /// One lock for each chain that is being brought to its state, or was.
    turns: Mutex<BTreeMap<String, Arc<Mutex<()>>>>,
    /// Locks of senders for which the service signs, by the first byte of a hash of the address: from the nonce to the pool.
    senders: Vec<Mutex<()>>,
    /// Exports that are to become chains, where the store does not outlive the process.
    pub(super) staged: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Workspaces of which an import is under way.
    pub(super) importing: Mutex<BTreeSet<String>>,
    /// Records of the default chain at its snapshots, by their numbers.
    pub(super) snapshots: Mutex<Snapshots>,
    /// Who has delegated on the chains in memory.
    pub(in crate::platform) delegators: Delegators,
    /// The greatest chain id of those that named none; 0 before the first.
    given_chain_id: AtomicU64,
}

impl Hosted {
    pub(in crate::platform) fn new(
        default: Option<Arc<Blockchain>>,
        pool: NetworkPool,
        store: Arc<dyn KeyValue>,
    ) -> Self {
        let open = default.iter().map(|chain| (chain.id().to_owned(), Arc::clone(chain))).collect();
        let owners = default.iter().map(|chain| (chain.id().to_owned(), chain.owner().clone())).collect();
        let (open, owners, turns) = (RwLock::new(open), RwLock::new(owners), Mutex::default());
        let senders = (0..=u8::MAX).map(|_| Mutex::default()).collect();
        Self {
            default,
            pool,
            store,
            open,
            failed: RwLock::default(),
            owners,
            turns,
            senders,
            staged: Mutex::default(),
            importing: Mutex::default(),
            snapshots: Mutex::default(),
            delegators: Delegators::default(),
            given_chain_id: AtomicU64::default(),
        }
    }

    /// Brings every chain of the store where its record says. One that can't be opened is failed, with the reason; the others go on. Exports
    /// of imports that got no record are deleted.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the records can't be read.
    pub(in crate::platform) fn boot(&self, context: &Context) -> Result<(), PlatformError> {
        let records = context.records.of::<BlockchainRecord>();
        let (mut request, mut known) = (PageRequest::first(BOOTED_AT_ONCE), BTreeSet::new());
        loop {
            let page = records.page(&BlockchainRecord::ALL, &Owner::Service, &SortKey::new(), &request)?;
            known.extend(page.items.iter().map(|stored| stored.id().to_owned()));
            let chains: Vec<_> = page.items.iter().filter(|stored| !self.is_default(stored.id())).collect();
            self.boot_some(context, &chains);
            let Some(next) = page.next else { break };
            request = request.after(next);
        }
        if self.is_durable() {
            // Where the store refuses it, the next boot tries again.
            let _ = removal::remove_orphans(&self.store, &known);
        }
        Ok(())
    }

    /// Opens chains on as many threads as the machine has cores.
    fn boot_some(&self, context: &Context, chains: &[&Stored<BlockchainRecord>]) {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let share = chains.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            for some in chains.chunks(share) {
                // What failed is in the chain's record, or is tried again at the next boot.
                scope
                    .spawn(|| some.iter().for_each(|stored| drop(self.converge(context, stored.owner(), stored.id()))));
            }
        });
    }

    /// Returns why the chain of a development node is not in memory: its database is served without it.
    pub(super) fn absence(&self, id: &str) -> Option<&'static str> {
        (id == DEFAULT_BLOCKCHAIN_ID && self.default.is_none()).then_some(
            "it is the chain of a development node, which runs under `chainbox dev` over this database alone",
        )
    }

    /// Returns whether a chain is the default one, which runs without the service's doing.
    pub(super) fn is_default(&self, id: &str) -> bool {
        self.default.as_ref().is_some_and(|default| default.id() == id)
    }

    /// A poisoned lock guards nothing half-done: a chain is inserted and removed in one step.
    pub(in crate::platform) fn get(&self, id: &str) -> Option<Arc<Blockchain>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Returns the chains in memory.
    pub(in crate::platform) fn all_open(&self) -> Vec<Arc<Blockchain>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Returns whether there is a chain that has failed: one in memory whose network stands still by a failure, or one that could not be
    /// opened.
    pub(in crate::platform) fn has_failed(&self) -> bool {
        let is_absent = !self.failed.read().unwrap_or_else(PoisonError::into_inner).is_empty();
        is_absent || self.all_open().iter().any(|chain| chain.failure().is_some())
    }

    fn note_failed(&self, id: &str, has_failed: bool) {
        let mut failed = self.failed.write().unwrap_or_else(PoisonError::into_inner);
        if has_failed {
            failed.insert(id.to_owned())
        } else {
            failed.remove(id)
        };
    }

    /// Returns the lock of a sender.
    pub(super) fn sender_turn(&self, sender: Address) -> &Mutex<()> {
        &self.senders[usize::from(keccak256(sender)[0])]
    }

    /// Returns the owner of a chain.
    pub(in crate::platform) fn owner(&self, id: &str) -> Option<Owner> {
        self.owners.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Returns the greatest chain id of the chains that named none, of all that were here since the start; 0 before the first.
    pub(super) fn given_chain_id(&self) -> u64 {
        self.given_chain_id.load(Ordering::Relaxed)
    }

    /// Brings a chain to the state that its record says, and returns it if it is then in memory. It may be called again at any time: what
    /// is done is found done. One call for a chain runs at a time; others of the process are not held up.
    ///
    /// # Errors
    /// Those of opening: the chain is then failed, but one that never ran is taken back, or waits for another start. Those of the records.
    pub(super) fn converge(
        &self,
        context: &Context,
        owner: &Owner,
        id: &str,
    ) -> Result<Option<Arc<Blockchain>>, PlatformError> {
        let turn =
            Arc::clone(self.turns.lock().unwrap_or_else(PoisonError::into_inner).entry(id.to_owned()).or_default());
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(stored) = context.records.of::<BlockchainRecord>().get(owner, id)? else {
            self.close(context, id, "it was deleted");
            self.note_failed(id, false);
            return Ok(None);
        };
        self.owners.write().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), owner.clone());
        if let Some(default) = self.default.as_ref().filter(|default| default.id() == id) {
            return Ok(Some(Arc::clone(default)));
        }
        if id == DEFAULT_BLOCKCHAIN_ID {
            return Ok(None);
        }
        if stored.value.spec.chain_id.is_none() {
            self.given_chain_id.fetch_max(stored.value.chain_id, Ordering::Relaxed);
        }
        self.note_failed(id, matches!(stored.value.state, ChainState::Failed { .. }));
        match stored.value.state {
            ChainState::Provisioning | ChainState::Running => self.opened(context, &stored, Self::run).map(Some),
            ChainState::Paused => self.opened(context, &stored, Self::pause).map(Some),
            ChainState::Created | ChainState::Stopped | ChainState::Failed { .. } => {
                self.close(context, id, stored.value.state.name());
                Ok(None)
            }
            ChainState::Deleting => {
                self.close(context, id, "it is being deleted");
                removal::remove(context, &*self.store, &self.part_of(id), &stored)?;
                // A list that began before may have read it meanwhile.
                self.delegators.forget(id);
                self.owners.write().unwrap_or_else(PoisonError::into_inner).remove(id);
                self.turns.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
                Ok(None)
            }
        }
    }

    /// Opens a chain unless it is open, and does something with it. One that stands still by a failure is opened anew.
    fn opened(
        &self,
        context: &Context,
        stored: &Stored<BlockchainRecord>,
        then: fn(&Self, &Context, &Blockchain) -> Result<(), PlatformError>,
    ) -> Result<Arc<Blockchain>, PlatformError> {
        let id = stored.id();
        if self.get(id).is_some_and(|chain| chain.failure().is_some()) {
            self.close(context, id, "it has failed");
        }
        let found = self.get(id).map_or_else(|| self.open(context, stored).map(Arc::new), Ok);
        let chain = found.map_err(|cause| self.failed(context, stored, cause))?;
        let brought = match then(self, context, &chain) {
            Ok(()) => self.end_provisioning(context, stored),
            Err(cause) => Err(self.failed(context, stored, cause)),
        };
        if let Err(cause) = brought {
            self.close(context, id, "it has failed");
            // The pool has it also where nobody else has seen it yet.
            chain.engine().halt(&self.pool, "it has failed");
            return Err(cause);
        }
        self.open.write().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), Arc::clone(&chain));
        Ok(chain)
    }

    /// Notes that a new chain runs, and forgets what it was made from.
    fn end_provisioning(&self, context: &Context, stored: &Stored<BlockchainRecord>) -> Result<(), PlatformError> {
        if stored.value.state != ChainState::Provisioning {
            return Ok(());
        }
        self.unstage(stored)?;
        context.records.unit(|unit| set_state(unit, stored, ChainState::Running))
    }

    /// Records that a chain failed, and takes it out of memory. Returns why it failed, or why that can't be recorded.
    fn failed(&self, context: &Context, stored: &Stored<BlockchainRecord>, cause: PlatformError) -> PlatformError {
        self.close(context, stored.id(), "it has failed");
        self.note_failed(stored.id(), true);
        self.note_failure(context, stored, &cause).err().unwrap_or(cause)
    }

    fn run(&self, context: &Context, chain: &Blockchain) -> Result<(), PlatformError> {
        if !chain.node().is_halted() {
            return Ok(());
        }
        chain.engine().run(&self.pool)?;
        // A chain runs also where its evidence can't be read: it is told at the next start.
        let _ = evidence::report_again(context, chain);
        Ok(())
    }

    fn pause(&self, _: &Context, chain: &Blockchain) -> Result<(), PlatformError> {
        chain.engine().halt(&self.pool, "it is paused; resume it first");
        Ok(())
    }

    /// Records that a chain failed. One that was never open and whose specification can't be built is no chain: it is taken back. One that
    /// was made without a start and has no genesis yet is as before its start, so that its modules may be changed.
    fn note_failure(
        &self,
        context: &Context,
        stored: &Stored<BlockchainRecord>,
        cause: &PlatformError,
    ) -> Result<(), PlatformError> {
        let was_never_open = stored.value.state == ChainState::Provisioning;
        let waits_again = was_never_open && !stored.value.spec.starts && !self.has_genesis(stored.id());
        let is_forgotten = was_never_open && !waits_again && matches!(cause, PlatformError::Validation { .. });
        let service = Principal::of_service(stored.owner())?;
        context.records.unit(|unit| {
            if waits_again {
                set_state(unit, stored, ChainState::Created)?;
            } else if is_forgotten {
                removal::forget(context, unit, stored)?;
            } else {
                set_state(unit, stored, ChainState::Failed { reason: cause.to_string() })?;
            }
            audit(unit, &service, "blockchain.fail", format!("blockchain {}", stored.id()))
        })?;
        if waits_again || is_forgotten {
            self.note_failed(stored.id(), false);
        }
        Ok(())
    }

    /// Whether the store has the genesis of a chain. Where it can't be read it may be there.
    fn has_genesis(&self, id: &str) -> bool {
        self.is_durable() && !matches!(Chain::stored_spec(&self.part_of(id)), Ok(None))
    }

    /// Takes a chain out of memory: it stands still, and takes no commands from those who still hold it. Its gas is counted up to its end.
    fn close(&self, context: &Context, id: &str, reason: &str) {
        let chain = self.open.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        if let Some(chain) = chain {
            chain.engine().halt(&self.pool, reason);
            self.delegators.forget(id);
            // Where the store fails, that of a chain that is kept is counted once it is open again.
            let _ = context.records.unit(|unit| count_last_gas(unit, &chain));
        }
    }

    /// The part of the store of a chain; of the default chain what the service keeps of it.
    pub(in crate::platform) fn part_of(&self, id: &str) -> PrefixedStore {
        part_of(&self.store, id)
    }

    /// Returns whether chains outlive the process.
    pub(super) fn is_durable(&self) -> bool {
        self.store.is_durable()
    }

    /// Opens a chain of a record: a new one at its genesis, one in the store where it stopped.
    fn open(&self, context: &Context, stored: &Stored<BlockchainRecord>) -> Result<Blockchain, PlatformError> {
        let (owner, id, record) = (stored.owner(), stored.id(), &stored.value);
        let keys = ChainKeys::open(&context.vault, &context.records, owner, id)?;
        let mut validators = keys.validators()?;
        let standby = validators.split_off(record.spec.validators_at_genesis().min(validators.len()));
        let down = down(context, stored, &standby)?;
        let store: Option<Arc<dyn KeyValue>> = if self.is_durable() { Some(Arc::new(self.part_of(id))) } else { None };
        let is_paced = record.spec.block_time.is_some();
        let rule = DutyRule::new(record.spec.consensus, is_paced, validators.len() as u64);
        let metrics = match &store {
            Some(store) => MetricsLog::open(rule, &**store)?,
            None => MetricsLog::new(rule),
        };
        let metrics: SharedMetrics = Arc::new(metrics);
        let tokens = Arc::new(match &store {
            Some(store) => TokenIndex::stored(Arc::clone(store)),
            None => TokenIndex::in_memory(),
        });
        let mut hooks: Vec<Arc<dyn CommitHook>> = vec![metrics.clone()];
        if store.is_some() {
            hooks.push(tokens.clone());
        }
        let parts = EngineParts { store, seed: keys.seed(), validators, standby, down, hooks };
        let (genesis, consensus) = match parts.stored_genesis()? {
            Some(stored) => (stored, None),
            None => {
                let mut genesis = GenesisParts {
                    spec: &record.spec,
                    chain_id: record.chain_id,
                    treasury: record.treasury.unwrap_or_default(),
                    managed: Wallets { context }.managed(owner)?.map(|wallet| wallet.value.address),
                    validators: &parts.validators,
                    timestamp: Timestamp::from_secs(self.pool.now().as_secs()),
                    imported: if record.is_imported { Some(self.staged(id)?) } else { None },
                    modules: modules_of_genesis(&context.records, stored)?,
                };
                (genesis.genesis(), Some(consensus(&record.spec)))
            }
        };
        let engine = Engine::open(&self.pool, parts, genesis, consensus, is_paced)?;
        tokens.open(engine.node());
        Ok(Blockchain::of_record(stored, engine, metrics, tokens))
    }
}

/// Returns the sealing keys whose replicas are down: of validators that were stopped, and those that nobody has yet.
fn down(
    context: &Context,
    stored: &Stored<BlockchainRecord>,
    standby: &[KeyPair],
) -> Result<BTreeSet<Address>, PlatformError> {
    let mut down: BTreeSet<Address> = standby.iter().map(KeyPair::address).collect();
    for validator in context.records.of().of_chain(&HostedValidator::BY_BLOCKCHAIN, stored.owner(), stored.id())? {
        let HostedValidator { sealing_key, is_stopped, .. } = validator.value;
        if is_stopped {
            down.insert(sealing_key)
        } else {
            down.remove(&sealing_key)
        };
    }
    Ok(down)
}

/// Sets the state of a chain, unless it was changed meanwhile to something that leaves nothing to say.
fn set_state(
    unit: &mut crate::platform::records::Unit<'_>,
    stored: &Stored<BlockchainRecord>,
    state: ChainState,
) -> Result<(), PlatformError> {
    let Some(mut present) = unit.of::<BlockchainRecord>().get(stored.owner(), stored.id())? else { return Ok(()) };
    if present.value.state == stored.value.state {
        present.value.state = state;
        unit.replace(&present)?;
    }
    Ok(())
}

impl Principal {
    /// The service as a principal of a workspace, for what it does on its own.
    pub(in crate::platform) fn of_service(owner: &Owner) -> Result<Self, PlatformError> {
        let missing = || PlatformError::internal("a chain of no workspace");
        let workspace = owner.workspace().ok_or_else(missing)?;
        Ok(Self::new(Subject::Service, workspace.clone(), Role::Owner.cap()))
    }
}
