//! Modules of a chain that has not started: what its genesis gets.

use std::collections::BTreeMap;

use super::{
    config::ModuleConfig,
    contracts::{Surroundings, TOKEN, contracts},
    kind::ModuleKind,
    record::HostedModule,
};
use crate::{
    chain::GenesisContract,
    platform::{
        BlockchainRecord, PlatformError,
        contract_plan::{PlacedContract, in_genesis},
        records::{Records, Stored},
    },
    primitives::Address,
    system::modules,
    templates,
};

/// Returns the modules and contracts that the genesis of a chain has.
///
/// # Errors
/// Those of the records; [`PlatformError::Internal`] for a record that this version can't read.
pub(in crate::platform) fn modules_of_genesis(
    records: &Records,
    chain: &Stored<BlockchainRecord>,
) -> Result<(Vec<modules::ModuleConfig>, Vec<GenesisContract>), PlatformError> {
    let (mut enabled, mut made) = (Vec::new(), Vec::new());
    let all = HostedModule::of_chain(records, chain.owner(), chain.id())?;
    let of_genesis = || all.iter().map(|stored| &stored.value).filter(|module| module.transactions.is_empty());
    let tokens: BTreeMap<ModuleKind, Address> =
        of_genesis().filter_map(|module| Some((module.kind, token_of(&module.contracts)?))).collect();
    // A module after those whose tokens it takes: what it takes of them is an address, and its constructors may look at that.
    let mut sorted: Vec<_> = of_genesis().map(|module| (depth(module.kind), module)).collect();
    sorted.sort_by_key(|(depth, _)| *depth);
    for (_, module) in sorted {
        let unreadable =
            |_| PlatformError::internal(format!("the configuration of {} is of another version", module.kind.name()));
        let config = ModuleConfig::read(module.kind, &module.config()).map_err(unreadable)?;
        let token = config.depends_on().and_then(|kind| tokens.get(&kind).copied());
        made.extend(placed(&config, module.kind, &chain.value, token)?.0);
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
