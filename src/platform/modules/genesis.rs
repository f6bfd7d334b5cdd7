//! Modules of a chain that has not started: what its genesis gets.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    config::ModuleConfig,
    contracts::{Surroundings, TOKEN, contracts},
    kind::ModuleKind,
    record::HostedModule,
};
use crate::{
    chain::{Chain, GenesisContract, GenesisSpec, OpenError},
    platform::{
        BlockchainRecord, PlatformError,
        contract_plan::{PlacedContract, in_genesis},
        records::{Records, Stored},
    },
    primitives::Address,
    state::MemoryState,
    store::MemoryStore,
    system::modules,
    templates,
};

/// Modules that are on from genesis on, with their contracts.
type OfGenesis = (Vec<modules::ModuleConfig>, Vec<GenesisContract>);

/// Returns the modules and contracts that the genesis of a chain has.
///
/// # Errors
/// Those of the records; [`PlatformError::Conflict`] for a configuration that this version does not take.
pub(in crate::platform) fn modules_of_genesis(
    records: &Records,
    chain: &Stored<BlockchainRecord>,
) -> Result<OfGenesis, PlatformError> {
    let all = records.of().of_chain(&HostedModule::BY_BLOCKCHAIN, chain.owner(), chain.id())?;
    let modules: Vec<&HostedModule> = all.iter().map(|stored| &stored.value).collect();
    planned(&chain.value, &modules)
}

/// Builds a genesis with these modules in memory: whether their contracts can be made is known before a record says that they will be.
///
/// # Errors
/// [`PlatformError::Conflict`] with the contract that can't be made, and why.
pub(super) fn check_in_genesis(chain: &BlockchainRecord, modules: &[&HostedModule]) -> Result<(), PlatformError> {
    let (enabled, contracts) = planned(chain, modules)?;
    let mut genesis = GenesisSpec::new(chain.chain_id);
    genesis.contracts = contracts;
    genesis.modules = Some(modules::ModulesConfig { authority: chain.treasury.unwrap_or_default(), enabled });
    let (state, store) = (Arc::new(MemoryState::new()), Arc::new(MemoryStore::new()));
    let built = Chain::builder(genesis, state, store).with_genesis();
    built.map(drop).map_err(|cause| refused(&cause, modules))
}

/// Says which contract of which module a genesis can't have.
fn refused(cause: &OpenError, modules: &[&HostedModule]) -> PlatformError {
    let OpenError::GenesisContract { address, reason } = cause else { return PlatformError::internal(cause) };
    let of_module = |module: &&HostedModule| {
        let found = module.contracts.iter().find(|contract| contract.address == *address)?;
        Some(format!("the contract {} of the module {}", found.name, module.kind.name()))
    };
    let named = modules.iter().find_map(of_module).unwrap_or_else(|| format!("the contract at {address}"));
    let message = format!("no genesis can be made with these modules: {named} refuses its parameters: {reason}");
    PlatformError::Conflict { message }
}

/// Returns what these modules of a chain bring to its genesis.
fn planned(chain: &BlockchainRecord, modules: &[&HostedModule]) -> Result<OfGenesis, PlatformError> {
    let (mut enabled, mut made) = (Vec::new(), Vec::new());
    let of_genesis = || modules.iter().copied().filter(|module| module.transactions.is_empty());
    let tokens: BTreeMap<ModuleKind, Address> =
        of_genesis().filter_map(|module| Some((module.kind, token_of(&module.contracts)?))).collect();
    // A module after those whose tokens it takes: what it takes of them is an address, and its constructors may look at that.
    let mut sorted: Vec<_> = of_genesis().map(|module| (depth(module.kind), module)).collect();
    sorted.sort_by_key(|(depth, _)| *depth);
    for (_, module) in sorted {
        let unreadable = |_| {
            let name = module.kind.name();
            let message = format!(
                "this version does not take the configuration of the module {name}: enable it with another, or disable it"
            );
            PlatformError::Conflict { message }
        };
        let config = ModuleConfig::read(module.kind, &module.config()).map_err(unreadable)?;
        let token = config.depends_on().and_then(|kind| tokens.get(&kind).copied());
        made.extend(placed(&config, module.kind, chain, token)?.0);
        enabled.push(modules::ModuleConfig {
            name: module.kind.name().to_owned(),
            version: module.version,
            config_hash: module.config_hash(),
        });
    }
    Ok((enabled, made))
}

/// Plans a module for a genesis: the contracts, and where they will be.
pub(super) fn placed(
    config: &ModuleConfig,
    kind: ModuleKind,
    chain: &BlockchainRecord,
    other_token: Option<Address>,
) -> Result<(Vec<GenesisContract>, Vec<PlacedContract>), PlatformError> {
    let around = Surroundings { block_time_secs: chain.spec.block_time.map(|time| time.as_secs()), other_token };
    let plan = contracts(config, around)?;
    in_genesis(&plan, templates::builtin(), chain.treasury.unwrap_or_default(), kind.name())
}

/// Returns the token among a module's contracts.
pub(super) fn token_of(contracts: &[PlacedContract]) -> Option<Address> {
    contracts.iter().find(|contract| contract.name == TOKEN).map(|contract| contract.address)
}

/// How many modules one may depend on, one after the other.
const fn depth(kind: ModuleKind) -> u8 {
    match kind {
        ModuleKind::Dao => 1,
        ModuleKind::Nft => 2,
        _ => 0,
    }
}
