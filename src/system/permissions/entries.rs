//! The functions: changing and reading the lists.

use super::{
    PermissionLists, PermissionWord,
    interface::Permissions as sol,
    state::{List, PERMISSIONS, StoredEntry, Switches},
};
use crate::{templates::common::page::page, vm::contract::*};

/// Largest number of entries that one call sets.
pub const BATCH_MAX: usize = 256;

/// Largest number of entries that one call of `entries` returns.
pub const PAGE_MAX: u64 = 100;

/// Sets administrator, switches and entries at genesis.
pub(super) fn construct(host: &mut Host<'_>, call: &sol::constructorCall) -> Result<(), Stop> {
    PERMISSIONS.ownership.ownable.construct(host, call.administrator)?;
    let switches = Switches { accounts: call.accountListOn, deployers: call.deployerListOn };
    PERMISSIONS.lists.set(host, switches)?;
    call.entries.iter().try_for_each(|entry| put(host, entry))
}

pub(super) fn set_permissions(
    host: &mut Host<'_>,
    account: Address,
    is_account: bool,
    is_deployer: bool,
) -> Result<(), Stop> {
    PERMISSIONS.ownership.ownable.only_owner(host)?;
    put(host, &sol::Entry { account, isAccount: is_account, isDeployer: is_deployer })
}

pub(super) fn set_permissions_of_many(host: &mut Host<'_>, entries: &[sol::Entry]) -> Result<(), Stop> {
    PERMISSIONS.ownership.ownable.only_owner(host)?;
    let [count, maximum] = [entries.len(), BATCH_MAX].map(U256::from);
    require(count <= maximum, sol::TooManyEntries { count, maximum })?;
    entries.iter().try_for_each(|entry| put(host, entry))
}

pub(super) fn switch_list(host: &mut Host<'_>, list: List, is_on: bool) -> Result<(), Stop> {
    PERMISSIONS.ownership.ownable.only_owner(host)?;
    let mut switches = PERMISSIONS.lists.get(host)?;
    match list {
        List::Accounts => switches.accounts = is_on,
        List::Deployers => switches.deployers = is_on,
    }
    PERMISSIONS.lists.set(host, switches)?;
    match list {
        List::Accounts => host.emit(&sol::AccountListSwitched { isOn: is_on }),
        List::Deployers => host.emit(&sol::DeployerListSwitched { isOn: is_on }),
    }
}

/// Puts an account on the lists that an entry has, and takes it off the others.
fn put(host: &mut Host<'_>, entry: &sol::Entry) -> Result<(), Stop> {
    let sol::Entry { account, isAccount: is_account, isDeployer: is_deployer } = *entry;
    let stored = PERMISSIONS.entries.at(host, account)?;
    let old = stored.get(host)?;
    let place = match (old.place, is_account || is_deployer) {
        (0, true) => append(host, account)?,
        (0, false) => 0,
        (place, true) => place,
        (place, false) => {
            remove(host, place)?;
            0
        }
    };
    stored.set(host, StoredEntry { is_account, is_deployer, place })?;
    host.emit(&sol::PermissionsChanged { account, isAccount: is_account, isDeployer: is_deployer })
}

/// Appends an account to the array and returns its place, from 1.
fn append(host: &mut Host<'_>, account: Address) -> Result<u64, Stop> {
    let count = PERMISSIONS.listed.len(host)?;
    PERMISSIONS.listed.unchecked_at(host, count)?.overwrite(host, account)?;
    PERMISSIONS.listed.length().set(host, U256::from(count + 1))?;
    Ok(count + 1)
}

/// Removes the account at a place of the array, into which the last one moves.
fn remove(host: &mut Host<'_>, place: u64) -> Result<(), Stop> {
    let count = PERMISSIONS.listed.len(host)?;
    let last = PERMISSIONS.listed.unchecked_at(host, count - 1)?;
    if place != count {
        let moved = last.get(host)?;
        PERMISSIONS.listed.unchecked_at(host, place - 1)?.overwrite(host, moved)?;
        PERMISSIONS.entries.at(host, moved)?.update(host, |entry| Ok(StoredEntry { place, ..entry }))?;
    }
    last.overwrite(host, Address::ZERO)?;
    PERMISSIONS.listed.length().set(host, U256::from(count - 1))
}

pub(super) fn permissions_of(host: &mut Host<'_>, account: Address) -> Result<sol::PermissionsInfo, Stop> {
    let stored = PERMISSIONS.entries.at(host, account)?;
    let entry = stored.get(host)?;
    let Switches { accounts, deployers } = PERMISSIONS.lists.get(host)?;
    let allowed = PermissionLists { accounts, deployers }.permissions_of(account, |word| match word {
        // Its hash is paid.
        PermissionWord::Entry(_) => host.load(stored.slot()),
        other => host.load(other.slot()),
    })?;
    Ok(sol::PermissionsInfo {
        isAccount: entry.is_account,
        isDeployer: entry.is_deployer,
        maySend: allowed.may_send,
        mayDeploy: allowed.may_deploy,
    })
}

pub(super) fn entry_count(host: &mut Host<'_>) -> Result<U256, Stop> {
    PERMISSIONS.listed.length().get(host)
}

pub(super) fn entries(host: &mut Host<'_>, from: U256, count: U256) -> Result<Vec<sol::Entry>, Stop> {
    let total = entry_count(host)?;
    let indices: Vec<u64> = page(total, from, count.min(U256::from(PAGE_MAX))).map(|index| index.to()).collect();
    let mut entries = Vec::with_capacity(indices.len());
    for index in indices {
        let account = PERMISSIONS.listed.unchecked_at(host, index)?.get(host)?;
        let StoredEntry { is_account, is_deployer, .. } = PERMISSIONS.entries.get(host, account)?;
        entries.push(sol::Entry { account, isAccount: is_account, isDeployer: is_deployer });
    }
    Ok(entries)
}
