//! Records: each change makes a version, if the collection's rules let the caller.

use super::{
    access, collections, interface as sol,
    state::{Collection, Head, Record, Settings, Summary, Version},
};
use crate::vm::contract::*;

/// A record of a collection, whether it exists or not.
struct Entry {
    id: B256,
    stored: Collection,
    settings: Settings,
    record: Record,
    head: Head,
}

pub(super) fn create(host: &mut Host<'_>, call: sol::createCall) -> Result<(), Stop> {
    let sol::createCall { collection, id, data } = call;
    let author = host.caller();
    let entry = Entry::find(host, collection, id)?;
    access::check(host, entry.settings.create, collection, id, author)?;
    require(!entry.head.exists(), sol::RecordExists { collection, id })?;
    entry.stored.ids.push(host, id)?;
    let version = entry.next_version()?;
    let head = Head { version, created_at: now(host), position: entry.stored.ids.len(host)? };
    entry.append(host, head, sol::Change::Created, author, version)?.data.set(host, data.clone())?;
    host.emit(&sol::RecordCreated { collection, id, author, version, data })
}

pub(super) fn update(host: &mut Host<'_>, call: sol::updateCall) -> Result<(), Stop> {
    let sol::updateCall { collection, id, expectedVersion, data } = call;
    let (entry, last) = Entry::to_change(host, collection, id, |settings| settings.update, expectedVersion)?;
    let (author, version) = (host.caller(), entry.next_version()?);
    let head = Head { version, ..entry.head };
    entry.append(host, head, sol::Change::Updated, last.owner, version)?.data.set(host, data.clone())?;
    host.emit(&sol::RecordUpdated { collection, id, author, version, data })
}

pub(super) fn remove(host: &mut Host<'_>, call: &sol::removeCall) -> Result<(), Stop> {
    let sol::removeCall { collection, id, expectedVersion } = *call;
    let (entry, last) = Entry::to_change(host, collection, id, |settings| settings.remove, expectedVersion)?;
    entry.take_id(host)?;
    let (author, version) = (host.caller(), entry.next_version()?);
    let head = Head { version, position: 0, ..entry.head };
    entry.append(host, head, sol::Change::Removed, last.owner, 0)?;
    host.emit(&sol::RecordRemoved { collection, id, author, version })
}

pub(super) fn transfer(host: &mut Host<'_>, call: &sol::transferRecordCall) -> Result<(), Stop> {
    let sol::transferRecordCall { collection, id, expectedVersion, newOwner } = *call;
    let (entry, last) = Entry::to_change(host, collection, id, |settings| settings.transfer, expectedVersion)?;
    require(!newOwner.is_zero(), sol::InvalidOwner { owner: newOwner })?;
    let (author, version) = (host.caller(), entry.next_version()?);
    let head = Head { version, ..entry.head };
    entry.append(host, head, sol::Change::Transferred, newOwner, last.data_version)?;
    host.emit(&sol::RecordTransferred { collection, id, author, version, previousOwner: last.owner, newOwner })
}

pub(super) fn exists(host: &mut Host<'_>, collection: B256, id: B256) -> Result<bool, Stop> {
    Ok(Entry::find(host, collection, id)?.head.exists())
}

pub(super) fn get(host: &mut Host<'_>, collection: B256, id: B256) -> Result<sol::Record, Stop> {
    let entry = Entry::existing(host, collection, id)?;
    let last = entry.last(host)?;
    let Head { version, created_at, .. } = entry.head;
    let data = entry.data(host, last.data_version)?;
    Ok(sol::Record { id, owner: last.owner, createdAt: created_at, updatedAt: last.at, version, data })
}

pub(super) fn records(host: &mut Host<'_>, call: &sol::recordsCall) -> Result<Vec<sol::Record>, Stop> {
    let sol::recordsCall { collection, from, count } = *call;
    let ids = collections::ids(host, collection, from, count)?;
    ids.into_iter().map(|id| get(host, collection, id)).collect()
}

pub(super) fn versions(host: &mut Host<'_>, collection: B256, id: B256) -> Result<u64, Stop> {
    Ok(Entry::find(host, collection, id)?.head.version)
}

pub(super) fn version_at(host: &mut Host<'_>, call: &sol::versionAtCall) -> Result<sol::Version, Stop> {
    let sol::versionAtCall { collection, id, version } = *call;
    let entry = Entry::find(host, collection, id)?;
    let is_known = (1..=entry.head.version).contains(&version);
    require(is_known, sol::NonexistentVersion { collection, id, version })?;
    let Summary { author, at, change, owner, data_version } =
        entry.record.versions.at(host, version)?.summary.get(host)?;
    let data = entry.data(host, data_version)?;
    Ok(sol::Version { change, author, at, owner, data })
}

impl Entry {
    /// Finds a record of a collection that exists.
    fn find(host: &mut Host<'_>, collection: B256, id: B256) -> Result<Self, Stop> {
        let (stored, settings) = collections::find(host, collection)?;
        let record = stored.records.at(host, id)?;
        let head = record.head.get(host)?;
        Ok(Self { id, stored, settings, record, head })
    }

    /// Finds a record that exists.
    fn existing(host: &mut Host<'_>, collection: B256, id: B256) -> Result<Self, Stop> {
        let entry = Self::find(host, collection, id)?;
        require(entry.head.exists(), sol::NonexistentRecord { collection, id })?;
        Ok(entry)
    }

    /// Finds a record that the caller may change by a rule, with its last version, which is the expected one; 0 expects any.
    fn to_change(
        host: &mut Host<'_>,
        collection: B256,
        id: B256,
        rule: fn(&Settings) -> sol::Access,
        expected: u64,
    ) -> Result<(Self, Summary), Stop> {
        let entry = Self::existing(host, collection, id)?;
        let last = entry.last(host)?;
        access::check(host, rule(&entry.settings), collection, id, last.owner)?;
        let actual = entry.head.version;
        require(expected == 0 || expected == actual, sol::VersionMismatch { expected, actual })?;
        Ok((entry, last))
    }

    /// Returns the last version.
    fn last(&self, host: &mut Host<'_>) -> Result<Summary, Stop> {
        self.record.versions.at(host, self.head.version)?.summary.get(host)
    }

    fn next_version(&self) -> Result<u64, Stop> {
        self.head.version.add(1)
    }

    /// Returns what a version wrote; nothing for version 0.
    fn data(&self, host: &mut Host<'_>, version: u64) -> Result<Bytes, Stop> {
        if version == 0 { Ok(Bytes::new()) } else { self.record.versions.at(host, version)?.data.get(host) }
    }

    /// Writes the version that `head` has, whose author is the caller, and returns where its data belongs.
    fn append(
        &self,
        host: &mut Host<'_>,
        head: Head,
        change: sol::Change,
        owner: Address,
        data_version: u64,
    ) -> Result<Version, Stop> {
        let (author, at) = (host.caller(), now(host));
        let version = self.record.versions.at(host, head.version)?;
        self.record.head.set(host, head)?;
        version.summary.set(host, Summary { author, at, change, owner, data_version })?;
        Ok(version)
    }

    /// Takes the record from the collection's ids; the last of them gets its place.
    fn take_id(&self, host: &mut Host<'_>) -> Result<(), Stop> {
        let Collection { ids, records, .. } = self.stored;
        let moved = ids.pop(host)?;
        if moved == self.id {
            return Ok(());
        }
        let position = self.head.position;
        ids.unchecked_at(host, position.sub(1)?)?.set(host, moved)?;
        records.at(host, moved)?.head.update(host, |head| Ok(Head { position, ..head }))
    }
}

fn now(host: &Host<'_>) -> u64 {
    host.block().timestamp.as_secs()
}
