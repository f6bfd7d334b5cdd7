//! Records in [`Table::StateCommits`], for reading and pruning versions.
//!
//! Keys are the commit (8 bytes, big-endian) and the record's number (1 byte), for a child followed by its commit (8).
//!
//! | record | holds |
//! |---|---|
//! | info | parent, and the link to the root of the account trie |
//! | superseded | per page of older commits, the number of nodes that this version lost against its parent, as far as a kept version has them |
//! | child | nothing; the key shows that a version was made from this one |
//! | counts | per page of the commit, the number of nodes that some version still has |
//! | absorbed | pruned commits whose nodes, and those that they absorbed, are now owned by this one |

use core::ops::ControlFlow;

use super::codec::{ByteReader, PageId, StoredLink, put_varint, read_link, write_link};
use crate::{
    state::{CommitId, StateError},
    store::{KeyValue, Order, Table},
};

#[derive(Clone, Copy, Debug)]
pub(super) enum CommitRecord {
    Info = 0,
    Superseded = 1,
    Child = 2,
    Counts = 3,
    Absorbed = 4,
}

impl CommitRecord {
    pub(super) fn key(self, commit: CommitId) -> Vec<u8> {
        [&commit.get().to_be_bytes()[..], &[self as u8]].concat()
    }
}

pub(super) fn child_key(parent: CommitId, child: CommitId) -> Vec<u8> {
    [&CommitRecord::Child.key(parent)[..], &child.get().to_be_bytes()].concat()
}

pub(super) fn child_of_key(key: &[u8]) -> Option<CommitId> {
    let bytes = key.get(9..)?.try_into().ok()?;
    Some(CommitId::new(u64::from_be_bytes(bytes)))
}

/// Returns the commit of an info record's key.
pub(super) fn commit_of_info_key(key: &[u8]) -> Option<CommitId> {
    let (commit, [0]) = key.split_first_chunk()? else { return None };
    Some(CommitId::new(u64::from_be_bytes(*commit)))
}

/// Returns the key of a page in [`Table::StateNodes`].
pub(super) fn page_key(commit: CommitId, page: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&commit.get().to_be_bytes());
    key[8..].copy_from_slice(&page.to_be_bytes());
    key
}

/// Parent and root of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Info {
    pub(super) parent: CommitId,
    pub(super) root: Option<StoredLink>,
}

impl Info {
    pub(super) const EMPTY: Self = Self { parent: CommitId::EMPTY, root: None };
}

impl Default for Info {
    fn default() -> Self {
        Self::EMPTY
    }
}

pub(super) fn encode_info(info: &Info) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_varint(&mut bytes, info.parent.get());
    if let Some(root) = &info.root {
        write_link(root, root.place.commit, &mut bytes);
        put_varint(&mut bytes, root.place.commit.get());
    }
    bytes
}

pub(super) fn decode_info(commit: CommitId, bytes: &[u8]) -> Option<Info> {
    let mut input = ByteReader::new(bytes);
    let parent = CommitId::new(input.varint()?);
    if input.is_empty() {
        return (parent < commit).then_some(Info { parent, root: None });
    }
    // A root has no parent node that it could be older than, so its commit follows in full.
    let mut root = read_link(commit, &mut input)?;
    root.place.commit = CommitId::new(input.varint()?);
    (parent < commit && root.place.commit <= commit && input.is_empty()).then_some(Info { parent, root: Some(root) })
}

pub(super) fn encode_counts(counts: &[u16]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(counts.len());
    counts.iter().for_each(|count| put_varint(&mut bytes, (*count).into()));
    bytes
}

pub(super) fn decode_counts(bytes: &[u8]) -> Option<Vec<u16>> {
    decode_all(bytes, |input| input.varint()?.try_into().ok())
}

pub(super) fn encode_superseded(superseded: &[(PageId, u16)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(superseded.len() * 5);
    for ((commit, page), count) in superseded {
        put_varint(&mut bytes, commit.get());
        put_varint(&mut bytes, (*page).into());
        put_varint(&mut bytes, (*count).into());
    }
    bytes
}

pub(super) fn decode_superseded(bytes: &[u8]) -> Option<Vec<(PageId, u16)>> {
    decode_all(bytes, |input| {
        let page = (CommitId::new(input.varint()?), input.varint()?.try_into().ok()?);
        Some((page, input.varint()?.try_into().ok()?))
    })
}

pub(super) fn encode_commits<'a>(commits: impl IntoIterator<Item = &'a CommitId>) -> Vec<u8> {
    let mut bytes = Vec::new();
    commits.into_iter().for_each(|commit| put_varint(&mut bytes, commit.get()));
    bytes
}

pub(super) fn decode_commits(bytes: &[u8]) -> Option<Vec<CommitId>> {
    decode_all(bytes, |input| input.varint().map(CommitId::new))
}

fn decode_all<T>(bytes: &[u8], mut one: impl FnMut(&mut ByteReader<'_>) -> Option<T>) -> Option<Vec<T>> {
    let mut input = ByteReader::new(bytes);
    let mut all = Vec::new();
    while !input.is_empty() {
        all.push(one(&mut input)?);
    }
    Some(all)
}

/// Returns the newest commit that has a record.
pub(super) fn last_commit(store: &dyn KeyValue) -> Result<Option<CommitId>, StateError> {
    let mut last = None;
    // Other chains of the database have keys that begin with 0xFF; a commit's would after 2^64 - 2^56 commits.
    let from = Some(&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff][..]);
    store.scan_from(Table::StateCommits, b"", from, Order::Descending, &mut |key, _| {
        last = key.first_chunk().map(|bytes| CommitId::new(u64::from_be_bytes(*bytes)));
        ControlFlow::Break(())
    })?;
    Ok(last)
}
