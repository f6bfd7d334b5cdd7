//! What a module is at the newest block: the registry of the chain says whether it is on, the record what it is made of.

use alloy_primitives::{Address, B256};
use alloy_sol_types::SolCall;
use serde_json::{Map, Value};

use super::{kind::ModuleKind, record::HostedModule};
use crate::{
    chain::{CallRequest, StateOverrides, SystemViewError},
    node::{BlockRef, Located, QueryError, REORG_DEPTH_MAX},
    platform::{Blockchain, PlatformError, contract_plan::PlacedContract, records::Stored},
    system::{
        governance::GOVERNANCE_ADDRESS,
        modules::{MODULES_ADDRESS, ModuleRecord, interface as sol},
    },
};

/// State of a module, as the chain has it.
///
/// | from | by | to |
/// |---|---|---|
/// | (none) | enable | pending |
/// | pending | the block with the transaction, or genesis | enabled, failed |
/// | enabled | disable, in a block | disabled |
/// | (none), enabled, disabled, failed | a vote for another configuration, in a block | approved |
/// | approved | a vote for the configuration of its contracts; disable, in a block | enabled; disabled |
/// | approved, disabled, failed | enable | pending |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModuleState {
    /// Its transaction waits for a block, or its chain has not started.
    Pending,
    /// The registry has it on with a configuration for which no contracts are made yet, as governance votes for it: enabling it with that
    /// configuration makes them.
    Approved,
    /// The registry has it on with this configuration, and its contracts are there.
    Enabled,
    /// Its transaction had no effect.
    Failed,
    /// The registry has it off.
    Disabled,
}

impl ModuleState {
    /// Name of the state.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Enabled => "enabled",
            Self::Failed => "failed",
            Self::Disabled => "disabled",
        }
    }
}

/// A module of a chain at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Module {
    /// Id of the chain.
    pub blockchain_id: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// Its configuration, of an approved one that of its contracts; `None` of one that is in the registry alone.
    pub config: Option<Map<String, Value>>,
    /// Hash of the configuration in the registry; of the record where it is not there.
    pub config_hash: B256,
    /// Its contracts.
    pub contracts: Vec<PlacedContract>,
    /// Transactions that enabled, changed and disabled it.
    pub transactions: Vec<B256>,
    /// Its state.
    pub state: ModuleState,
    /// Height of the block that changed it last in the registry; `None` before.
    pub since: Option<u64>,
}

impl Module {
    /// A module of a record, in a state, with its entry in the registry.
    pub(super) fn of_record(record: &HostedModule, state: ModuleState, entry: Option<&ModuleRecord>) -> Self {
        Self {
            blockchain_id: record.blockchain_id.clone(),
            name: record.kind.name().to_owned(),
            version: record.version,
            config: Some(record.config()),
            config_hash: entry.map_or_else(|| record.config_hash(), |entry| entry.config_hash),
            contracts: record.contracts.clone(),
            transactions: record.transactions.clone(),
            state,
            since: entry.map(|entry| entry.since.get()),
        }
    }

    /// One that is in the registry alone. `is_voted` is whether governance puts them there.
    fn of_registry(chain: &Blockchain, entry: &ModuleRecord, is_voted: bool) -> Self {
        let has_contracts_to_come = is_voted && ModuleKind::from_name(&entry.name).is_some();
        Self {
            blockchain_id: chain.id().to_owned(),
            name: entry.name.clone(),
            version: entry.version,
            config: None,
            config_hash: entry.config_hash,
            contracts: Vec::new(),
            transactions: Vec::new(),
            state: match entry.is_enabled {
                true if has_contracts_to_come => ModuleState::Approved,
                true => ModuleState::Enabled,
                false => ModuleState::Disabled,
            },
            since: Some(entry.since.get()),
        }
    }
}

/// Returns the modules of a chain by name: those of the registry, and those of records that are not in it.
pub(super) fn all(chain: &Blockchain, records: &[Stored<HostedModule>]) -> Result<Vec<Module>, PlatformError> {
    let entries = registry(chain)?;
    let is_voted = needs_authority(&entries, records) && authority(chain)? == Some(GOVERNANCE_ADDRESS);
    let mut found: Vec<Module> = Vec::new();
    for stored in records {
        let record = &stored.value;
        let entry = entries.iter().find(|entry| entry.name == record.kind.name());
        let state = state_of(chain, record, entry, is_voted)?;
        found.push(Module::of_record(record, state, entry));
    }
    let is_known = |name: &str| records.iter().any(|stored| stored.value.kind.name() == name);
    found.extend(
        entries.iter().filter(|entry| !is_known(&entry.name)).map(|entry| Module::of_registry(chain, entry, is_voted)),
    );
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Whether the state of an entry follows from who put it there: it is on, and its contracts are not known to be those of its configuration.
fn needs_authority(entries: &[ModuleRecord], records: &[Stored<HostedModule>]) -> bool {
    entries.iter().filter(|entry| entry.is_enabled).any(|entry| {
        let record = records.iter().find(|stored| stored.value.kind.name() == entry.name);
        record.map_or_else(
            || ModuleKind::from_name(&entry.name).is_some(),
            |stored| stored.value.config_hash() != entry.config_hash,
        )
    })
}

/// Returns the registry's modules at the newest block; none of a chain without one.
pub(super) fn registry(chain: &Blockchain) -> Result<Vec<ModuleRecord>, PlatformError> {
    let view = chain.node().view();
    match view.chain().modules(view.head()) {
        Ok(found) => Ok(found),
        Err(SystemViewError::Absent { .. }) => Ok(Vec::new()),
        Err(cause) => Err(PlatformError::from_query(QueryError::from(cause))),
    }
}

/// Returns who enables and disables the modules of a chain; `None` of a chain without a registry.
pub(super) fn authority(chain: &Blockchain) -> Result<Option<Address>, PlatformError> {
    read_registry(chain, &sol::ownerCall {}, BlockRef::Latest)
}

/// Returns whether the transactions that wait for a block disable a module.
pub(super) fn is_about_to_end(chain: &Blockchain, name: &str) -> Result<bool, PlatformError> {
    let entry = read_registry(chain, &sol::moduleCall { name: name.to_owned() }, BlockRef::Pending)?;
    Ok(entry.is_some_and(|entry| !entry.enabled))
}

/// Calls a view function of the registry at a block; `None` of a chain without one, and where it refuses the call.
fn read_registry<C: SolCall>(chain: &Blockchain, call: &C, at: BlockRef) -> Result<Option<C::Return>, PlatformError> {
    let request = CallRequest::call(MODULES_ADDRESS, call.abi_encode());
    let outcome = chain.node().view().call(&request, at, &StateOverrides::default(), None);
    let outcome = outcome.map_err(PlatformError::from_query)?;
    Ok(outcome.success_output().and_then(|output| C::abi_decode_returns(output).ok()))
}

/// Returns whether a transaction that was sent before will not leave the chain any more: as many blocks are upon its own as are taken back at most,
/// or the chain has it no longer, neither in a block nor in the pool.
pub(super) fn stays(chain: &Blockchain, hash: B256) -> Result<bool, PlatformError> {
    let view = chain.node().view();
    Ok(match view.transaction(hash).map_err(PlatformError::from_query)? {
        Some(Located::Mined { block, .. }) => {
            view.head().height().get().saturating_sub(block.height().get()) >= REORG_DEPTH_MAX
        }
        Some(Located::Pooled(_)) => false,
        None => true,
    })
}

/// Returns whether a contract is there at the newest block.
pub(super) fn is_there(chain: &Blockchain, address: Address) -> Result<bool, PlatformError> {
    let code = chain.node().view().code(address, BlockRef::Latest).map_err(PlatformError::from_query)?;
    Ok(!code.is_empty())
}

fn state_of(
    chain: &Blockchain,
    record: &HostedModule,
    entry: Option<&ModuleRecord>,
    is_voted: bool,
) -> Result<ModuleState, PlatformError> {
    let mut has_failed = false;
    if let Some(newest) = record.transactions.last() {
        match chain.node().view().transaction(*newest).map_err(PlatformError::from_query)? {
            Some(Located::Pooled(_)) => return Ok(ModuleState::Pending),
            Some(Located::Mined { block, index }) => {
                has_failed = block.receipts().get(index as usize).is_some_and(|receipt| !receipt.is_success());
            }
            None => {}
        }
    }
    let Some(entry) = entry else { return Ok(ModuleState::Failed) };
    if !entry.is_enabled {
        return Ok(ModuleState::Disabled);
    }
    for contract in &record.contracts {
        if !is_there(chain, contract.address)? {
            return Ok(ModuleState::Failed);
        }
    }
    Ok(match entry.config_hash == record.config_hash() {
        true => ModuleState::Enabled,
        false if is_voted && !has_failed => ModuleState::Approved,
        false => ModuleState::Failed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        node::ManualClock,
        platform::records::{Owner, Records},
        primitives::Height,
        store::MemoryStore,
    };

    fn stored(kind: ModuleKind) -> Stored<HostedModule> {
        let (contracts, transactions, earlier) = (Vec::new(), Vec::new(), Vec::new());
        let (blockchain_id, config) = ("bc_1".to_owned(), "{}".to_owned());
        let module = HostedModule { blockchain_id, kind, version: 1, config, contracts, transactions, earlier };
        let store = std::sync::Arc::new(MemoryStore::new());
        let records = Records::open(store, std::sync::Arc::<ManualClock>::default()).unwrap();
        records.unit(|unit| unit.insert(&Owner::Service, &HostedModule::id("bc_1", kind), module)).unwrap()
    }

    fn entry(name: &str, config_hash: B256, is_enabled: bool) -> ModuleRecord {
        ModuleRecord { name: name.to_owned(), version: 1, config_hash, is_enabled, since: Height::GENESIS }
    }

    #[test]
    fn the_authority_is_asked_for_only_where_a_state_follows_from_it() {
        let records = [stored(ModuleKind::Nft)];
        let (same, other) = (records[0].value.config_hash(), B256::repeat_byte(1));
        for (entries, expected) in [
            (vec![], false),
            (vec![entry("nft", same, true)], false),
            (vec![entry("nft", other, false)], false),
            (vec![entry("nft", other, true)], true),
            (vec![entry("own", other, true)], false),
            (vec![entry("nft", same, true), entry("defi", other, false)], false),
            (vec![entry("nft", same, true), entry("defi", other, true)], true),
        ] {
            assert_eq!(needs_authority(&entries, &records), expected, "{entries:?}");
        }
    }
}
