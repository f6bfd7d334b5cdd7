//! Rules of blockchains and contract deployments, and the chains that run.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use super::{
    PlatformError,
    blockchain::{Blockchain, BlockchainRecord, BlockchainSpec, ChainKeys, start},
    context::{Context, audit},
    deployment::{DeploymentRecord, DeploymentSpec},
    plan::{Usage, check_quota, check_use, count_use},
    principal::Principal,
    records::{Collection, Index, Owner, Page, PageRequest, SortKey, Stored, Unit},
};
use crate::store::KeyValue;

/// The running chains by id.
#[derive(Debug)]
pub(super) struct Running {
    default: Arc<Blockchain>,
    all: RwLock<BTreeMap<String, Arc<Blockchain>>>,
}

impl Running {
    /// Records the default chain as it is described now, and starts all others that the store has.
    pub(super) fn start(
        context: &Context,
        store: &Arc<dyn KeyValue>,
        default: Arc<Blockchain>,
    ) -> Result<Self, PlatformError> {
        match context.records.unit(|unit| record_default(unit, &default)) {
            // Reads go on when the disk is full: the chain runs as it is described, and its record follows at a later start.
            Ok(()) | Err(PlatformError::StorageFull { .. }) => {}
            Err(cause) => return Err(cause),
        }
        let mut all = BTreeMap::from([(default.id().to_owned(), Arc::clone(&default))]);
        context.records.of::<BlockchainRecord>().for_each(
            &BlockchainRecord::ALL,
            &Owner::Service,
            &SortKey::new(),
            |stored| {
                if stored.id() != default.id() {
                    let keys = ChainKeys::open(&context.vault, &context.records, stored.owner(), stored.id())?;
                    let node = start(store, context.records.clock(), &stored, &keys)?;
                    all.insert(stored.id().to_owned(), Arc::new(Blockchain::of_record(&stored, node)));
                }
                Ok::<_, PlatformError>(())
            },
        )?;
        Ok(Self { default, all: RwLock::new(all) })
    }

    /// A poisoned lock guards nothing half-done: a chain is inserted and removed in one step.
    pub(super) fn get(&self, id: &str) -> Option<Arc<Blockchain>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    fn insert(&self, chain: &Arc<Blockchain>) {
        self.all.write().unwrap_or_else(PoisonError::into_inner).insert(chain.id().to_owned(), Arc::clone(chain));
    }
}

/// The default chain is what the process was started with; its record says so.
fn record_default(unit: &mut Unit<'_>, chain: &Blockchain) -> Result<(), PlatformError> {
    let record = BlockchainRecord { spec: chain.spec().clone(), chain_id: chain.chain_id() };
    match unit.of::<BlockchainRecord>().get(chain.owner(), chain.id())? {
        None => drop(unit.insert(chain.owner(), chain.id(), record)?),
        Some(stored) if stored.value == record => {}
        Some(mut stored) => {
            stored.value = record;
            unit.replace(&stored)?;
        }
    }
    Ok(())
}

/// Rules of blockchains and deployments.
#[derive(Clone, Copy, Debug)]
pub struct Blockchains<'a> {
    pub(super) context: &'a Context,
    pub(super) store: &'a Arc<dyn KeyValue>,
    pub(super) running: &'a Running,
}

impl<'a> Blockchains<'a> {
    /// Returns a chain of the principal's workspace.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`], also for a chain of somebody else.
    pub fn require(&self, principal: &Principal, id: &str) -> Result<Arc<Blockchain>, PlatformError> {
        let stored = self.context.records.of::<BlockchainRecord>().require(&principal.owner(), id)?;
        self.of_record(&stored)
    }

    /// Returns a page of the chains of the principal's workspace, by an index of [`BlockchainRecord`], and how many there are.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn page(
        &self,
        principal: &Principal,
        index: &Index<BlockchainRecord>,
        request: &PageRequest,
    ) -> Result<(Vec<Arc<Blockchain>>, u64), PlatformError> {
        let records = self.context.records.of::<BlockchainRecord>();
        let Page { items, total, .. } = records.page(index, &principal.owner(), &SortKey::new(), request)?;
        // One that is still starting is in no list yet.
        Ok((items.iter().filter_map(|stored| self.running.get(stored.id())).collect(), total))
    }

    fn of_record(&self, stored: &Stored<BlockchainRecord>) -> Result<Arc<Blockchain>, PlatformError> {
        self.running.get(stored.id()).ok_or_else(|| PlatformError::not_found("blockchain", stored.id()))
    }

    /// Creates a chain in the principal's workspace and starts it. Its keys are drawn for it and kept in the vault.
    ///
    /// Its record and keys are written before its genesis, so that a crash between them leaves a chain that starts at the next boot; one
    /// that does not start is taken back.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] for a chain id that another chain has and for a full plan, [`PlatformError::Validation`] for a number of
    /// validators that the protocol cannot have, [`PlatformError::Internal`] when the chain does not start, [`PlatformError::Entropy`].
    pub fn create(&self, principal: &Principal, spec: BlockchainSpec) -> Result<Arc<Blockchain>, PlatformError> {
        let owner = principal.owner();
        let id = self.context.id("bc")?;
        let keys = ChainKeys::draw(&*self.context.entropy, spec.validators.len().max(1))?;
        let stored = self.context.records.unit(|unit| {
            let has = unit.of::<BlockchainRecord>().count(&Index::CREATED, &owner, &SortKey::new())?;
            check_quota("blockchains", has, self.context.plan(unit, &owner)?.blockchains_max)?;
            let chain_id = self.chain_id(unit, principal, spec.chain_id)?;
            let stored = unit.insert(&owner, &id, BlockchainRecord { spec, chain_id })?;
            keys.seal(&self.context.vault, unit, &owner, &id)?;
            audit(unit, principal, "blockchain.create", format!("blockchain {id}"))?;
            Ok::<_, PlatformError>(stored)
        })?;
        match start(self.store, self.context.records.clock(), &stored, &keys) {
            Ok(node) => {
                let chain = Arc::new(Blockchain::of_record(&stored, node));
                self.running.insert(&chain);
                Ok(chain)
            }
            Err(cause) => {
                self.context.records.unit(|unit| self.take_back(unit, principal, &stored))?;
                Err(cause)
            }
        }
    }

    /// Deletes the record and keys of a chain that did not start.
    fn take_back(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        stored: &Stored<BlockchainRecord>,
    ) -> Result<(), PlatformError> {
        unit.delete(stored)?;
        ChainKeys::discard(&self.context.vault, unit, stored.owner(), stored.id())?;
        audit(unit, principal, "blockchain.fail", format!("blockchain {}", stored.id()))
    }

    /// Returns the chain id that was asked for, or the next that is free.
    fn chain_id(&self, unit: &Unit<'_>, principal: &Principal, asked: Option<u64>) -> Result<u64, PlatformError> {
        let taken_by = |chain_id: u64| {
            let group = SortKey::new().number(chain_id);
            unit.of::<BlockchainRecord>().find(&BlockchainRecord::UNIQUE_CHAIN_ID, &Owner::Service, &group)
        };
        if let Some(chain_id) = asked {
            return match taken_by(chain_id)? {
                None => Ok(chain_id),
                // Whose chain it is, is told to its owner alone.
                Some(other) if *other.owner() == principal.owner() => Err(PlatformError::Conflict {
                    message: format!("chain id {chain_id} belongs to blockchain {}", other.id()),
                }),
                Some(_) => Err(PlatformError::Conflict { message: format!("chain id {chain_id} is taken") }),
            };
        }
        let mut next = self.running.default.chain_id().saturating_add(1);
        while taken_by(next)?.is_some() {
            next = next.saturating_add(1);
        }
        Ok(next)
    }

    /// Reads the body of a request to deploy, whose parameters are those of the template's constructor by name, for any template
    /// of the chain.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] with every invalid field.
    pub fn read_deployment(
        &self,
        principal: &Principal,
        body: serde_json::Value,
    ) -> Result<DeploymentSpec, PlatformError> {
        DeploymentSpec::read(body, |id| {
            self.require(principal, id).unwrap_or_else(|_| Arc::clone(&self.running.default))
        })
    }

    /// Deploys a contract from a template and keeps the record.
    ///
    /// # Errors
    /// [`PlatformError`]: an unknown chain, an account that is not unlocked, too little balance, a reverting constructor,
    /// a failing [`Entropy`](super::Entropy), a full plan.
    pub fn deploy(
        &self,
        principal: &Principal,
        spec: DeploymentSpec,
    ) -> Result<Stored<DeploymentRecord>, PlatformError> {
        let (chain, owner) = (self.require(principal, &spec.blockchain_id)?, principal.owner());
        // Before the transaction is sent: a deployment without an id would be lost.
        let id = self.context.id("dep")?;
        self.context.records.unit(|unit| {
            let max = self.context.plan(unit, &owner)?.transactions_max;
            check_use(unit, &owner, Usage::Transactions, max)
        })?;
        let record = DeploymentRecord::run(spec, &chain)?;
        self.context.records.unit(|unit| {
            let stored = unit.insert(&owner, &id, record)?;
            count_use(unit, &owner, Usage::Transactions)?;
            audit(unit, principal, "contract.deploy", format!("deployment {id}"))?;
            Ok(stored)
        })
    }

    /// The deployments, for reading.
    pub fn deployments(&self) -> Collection<'a, DeploymentRecord> {
        self.context.records.of()
    }
}
