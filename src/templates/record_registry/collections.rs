//! Collections: their names, their rules, and the ids of their records.

use super::{
    interface as sol,
    state::{Collection, REGISTRY, Settings},
};
use crate::{templates::common::DEFAULT_ADMIN_ROLE, vm::contract::*};

pub(super) fn create(host: &mut Host<'_>, call: sol::createCollectionCall) -> Result<(), Stop> {
    let sol::createCollectionCall { collection, name, rules } = call;
    REGISTRY.access.only_role(host, DEFAULT_ADMIN_ROLE)?;
    let stored = REGISTRY.collections.at(host, collection)?;
    require(!stored.settings.get(host)?.exists, sol::CollectionExists { collection })?;
    stored.settings.set(host, Settings::of(&rules))?;
    stored.name.set(host, name.clone())?;
    REGISTRY.collection_ids.push(host, collection)?;
    host.emit(&sol::CollectionCreated { collection, name, rules })
}

pub(super) fn set_rules(host: &mut Host<'_>, collection: B256, rules: sol::Rules) -> Result<(), Stop> {
    REGISTRY.access.only_role(host, DEFAULT_ADMIN_ROLE)?;
    let (stored, _) = find(host, collection)?;
    stored.settings.set(host, Settings::of(&rules))?;
    host.emit(&sol::RulesChanged { collection, rules })
}

/// Returns a collection, which must exist, and its settings.
pub(super) fn find(host: &mut Host<'_>, collection: B256) -> Result<(Collection, Settings), Stop> {
    let stored = REGISTRY.collections.at(host, collection)?;
    let settings = stored.settings.get(host)?;
    require(settings.exists, sol::NonexistentCollection { collection })?;
    Ok((stored, settings))
}

pub(super) fn name(host: &mut Host<'_>, collection: B256) -> Result<String, Stop> {
    find(host, collection)?.0.name.get(host)
}

pub(super) fn rules(host: &mut Host<'_>, collection: B256) -> Result<sol::Rules, Stop> {
    Ok(find(host, collection)?.1.rules())
}

pub(super) fn count(host: &mut Host<'_>, collection: B256) -> Result<U256, Stop> {
    find(host, collection)?.0.ids.length().get(host)
}

pub(super) fn id_at(host: &mut Host<'_>, collection: B256, index: U256) -> Result<B256, Stop> {
    let ids = find(host, collection)?.0.ids;
    let count = ids.length().get(host)?;
    require(index < count, sol::OutOfBoundsIndex { collection, index, count })?;
    ids.unchecked_at(host, index.saturating_to())?.get(host)
}

pub(super) fn ids(host: &mut Host<'_>, collection: B256, from: U256, count: U256) -> Result<Vec<B256>, Stop> {
    let ids = find(host, collection)?.0.ids;
    page(host, ids, from, count)
}

/// Returns at most `count` ids from index `from` on; none beyond the end.
pub(super) fn page(host: &mut Host<'_>, ids: Array<B256>, from: U256, count: U256) -> Result<Vec<B256>, Stop> {
    let len = ids.len(host)?;
    let from: u64 = from.saturating_to();
    let end = from.saturating_add(count.saturating_to()).min(len);
    (from..end).map(|index| ids.unchecked_at(host, index)?.get(host)).collect()
}
