//! The functions: changing and reading the registry.

use super::{
    interface::Modules as sol,
    name,
    state::{MODULES, StoredModule},
};
use crate::{templates::common::page::page, vm::contract::*};

/// Largest number of modules, disabled ones too.
pub const MODULES_MAX: u64 = 256;

/// Largest number of modules that one call of `modules` returns.
pub const PAGE_MAX: u64 = 100;

/// Sets the authority and enables modules at genesis.
pub(super) fn construct(host: &mut Host<'_>, call: &sol::constructorCall) -> Result<(), Stop> {
    MODULES.ownership.ownable.construct(host, call.authority)?;
    call.enabled.iter().try_for_each(|module| put(host, &module.name, module.version, module.configHash))
}

pub(super) fn enable(host: &mut Host<'_>, name: &str, version: u32, config_hash: B256) -> Result<(), Stop> {
    MODULES.ownership.ownable.only_owner(host)?;
    put(host, name, version, config_hash)
}

pub(super) fn disable(host: &mut Host<'_>, name: &str) -> Result<(), Stop> {
    MODULES.ownership.ownable.only_owner(host)?;
    let slot = find(host, name)?;
    let stored = slot.get(host)?;
    if !stored.is_enabled {
        return Ok(());
    }
    let since = host.block().height.get();
    slot.set(host, StoredModule { is_enabled: false, since, ..stored })?;
    host.emit(&sol::ModuleDisabled { name: name.to_owned() })
}

/// Enables a module with a version and a configuration.
fn put(host: &mut Host<'_>, name: &str, version: u32, config_hash: B256) -> Result<(), Stop> {
    let key = check_name(name)?;
    let place = MODULES.places.get(host, key)?;
    let since = host.block().height.get();
    let module = StoredModule { name: key, config_hash, version, is_enabled: true, since };
    if place == 0 {
        append(host, module)?;
    } else {
        let slot = MODULES.modules.unchecked_at(host, place - 1)?;
        let old = slot.get(host)?;
        if (StoredModule { since: old.since, ..module }) == old {
            return Ok(());
        }
        slot.set(host, module)?;
    }
    host.emit(&sol::ModuleEnabled { name: name.to_owned(), version, configHash: config_hash })
}

fn append(host: &mut Host<'_>, module: StoredModule) -> Result<(), Stop> {
    let count = MODULES.modules.len(host)?;
    require(count < MODULES_MAX, sol::TooManyModules { maximum: U256::from(MODULES_MAX) })?;
    MODULES.modules.unchecked_at(host, count)?.set(host, module)?;
    MODULES.modules.length().set(host, U256::from(count + 1))?;
    MODULES.places.set(host, module.name, count + 1)
}

fn check_name(text: &str) -> Result<B256, Stop> {
    name::parse(text).ok_or_else(|| revert(&sol::InvalidModuleName { name: text.to_owned() }))
}

/// Returns where a module is that was enabled once.
fn find(host: &mut Host<'_>, text: &str) -> Result<Slot<StoredModule>, Stop> {
    let key = check_name(text)?;
    let place = MODULES.places.get(host, key)?;
    require(place > 0, sol::UnknownModule { name: text.to_owned() })?;
    MODULES.modules.unchecked_at(host, place - 1)
}

pub(super) fn module(host: &mut Host<'_>, name: &str) -> Result<sol::ModuleInfo, Stop> {
    find(host, name)?.get(host).map(info)
}

pub(super) fn modules(host: &mut Host<'_>, from: U256, count: U256) -> Result<Vec<sol::ModuleInfo>, Stop> {
    let total = MODULES.modules.length().get(host)?;
    page(total, from, count.min(U256::from(PAGE_MAX)))
        .map(|index| MODULES.modules.unchecked_at(host, index.to())?.get(host).map(info))
        .collect()
}

fn info(stored: StoredModule) -> sol::ModuleInfo {
    let StoredModule { name, config_hash, version, is_enabled, since } = stored;
    sol::ModuleInfo { name: name::text(name), version, configHash: config_hash, enabled: is_enabled, since }
}
