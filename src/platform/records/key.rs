//! Keys of the platform's records in the store.
//!
//! | key, after the prefix `0xFF platform/` | value |
//! |---|---|
//! | `f` | format version of the records, 4 bytes |
//! | `r` kind 0 owner 0 id | a record |
//! | `i` kind 0 index 0 reach 0 group order owner 0 id | owner and id; without order, owner and id in a unique index |
//! | `n` kind 0 index 0 reach 0 group | number of the group's entries in the index, 8 bytes |
//! | `c` owner 0 name | a counter, 8 bytes |
//!
//! Integers are big-endian. `reach` is the owner in an index of each workspace, and empty in one of the whole service. Kinds, names, owners
//! and ids have no zero byte; groups and orders are [`SortKey`](super::SortKey)s, which end themselves.

use core::fmt;

use serde::{Deserialize, Serialize};

/// Before every key of the platform, so that a chain's hooks may use the same table. Heights and hashes don't begin with it.
const PREFIX: &[u8] = b"\xffplatform/";

/// Characters of an id.
const ID_LEN_MAX: usize = 64;

/// Returns whether `text` may be an id: 1 to 64 letters, digits, `_` and `-` of ASCII.
pub(super) fn is_id(text: &str) -> bool {
    (1..=ID_LEN_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Id of a workspace, the owner of records.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkspaceId(String);

impl WorkspaceId {
    /// Returns the id with this text; `None` when no workspace can have it: an id has 1 to 64 letters, digits, `_` and `-`.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        // "-" is the owner of the service's own records.
        (is_id(&text) && text != Owner::SERVICE).then_some(Self(text))
    }

    /// Returns the id of a workspace that has just been drawn from a prefix and hex digits.
    pub(in crate::platform) const fn drawn(text: String) -> Self {
        Self(text)
    }

    /// Text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkspaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Owner of a record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Owner {
    /// The service itself, as of its users.
    Service,
    /// A workspace.
    Workspace(WorkspaceId),
}

impl Owner {
    /// Text of the service as an owner; no workspace has it as its id.
    const SERVICE: &'static str = "-";

    /// Text of the owner in keys.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Service => Self::SERVICE,
            Self::Workspace(id) => id.as_str(),
        }
    }

    /// The workspace; `None` for the service.
    pub const fn workspace(&self) -> Option<&WorkspaceId> {
        match self {
            Self::Service => None,
            Self::Workspace(id) => Some(id),
        }
    }

    /// Reads an owner from a key.
    pub(super) fn from_key(text: &str) -> Option<Self> {
        if text == Self::SERVICE { Some(Self::Service) } else { WorkspaceId::new(text).map(Self::Workspace) }
    }
}

impl From<&WorkspaceId> for Owner {
    fn from(id: &WorkspaceId) -> Self {
        Self::Workspace(id.clone())
    }
}

fn key(tag: u8, parts: &[&str], tail: &[u8]) -> Vec<u8> {
    let length = PREFIX.len() + 1 + parts.iter().map(|part| part.len() + 1).sum::<usize>() + tail.len();
    let mut key = Vec::with_capacity(length);
    key.extend_from_slice(PREFIX);
    key.push(tag);
    for part in parts {
        key.extend_from_slice(part.as_bytes());
        key.push(0);
    }
    key.extend_from_slice(tail);
    key
}

/// Key of the format version.
pub(super) fn format() -> Vec<u8> {
    key(b'f', &[], b"")
}

/// Key of a record.
pub(super) fn record(kind: &str, owner: &Owner, id: &str) -> Vec<u8> {
    key(b'r', &[kind, owner.as_str()], id.as_bytes())
}

/// Prefix of the keys of all records of a kind.
pub(super) fn records_of(kind: &str) -> Vec<u8> {
    key(b'r', &[kind], b"")
}

/// Prefix of the keys of all records.
pub(super) fn records_of_all() -> Vec<u8> {
    key(b'r', &[], b"")
}

/// Reads owner and id from the part of a record's key after [`records_of`].
pub(super) fn owner_and_id(rest: &[u8]) -> Option<(Owner, &str)> {
    let (owner, id) = core::str::from_utf8(rest).ok()?.split_once('\0')?;
    Some((Owner::from_key(owner)?, id))
}

/// Prefix of the entries of a group in an index. `reach` is the owner's text, or empty for the whole service.
pub(super) fn group(kind: &str, index: &str, reach: &str, group: &[u8]) -> Vec<u8> {
    key(b'i', &[kind, index, reach], group)
}

/// Prefix of all entries of an index.
pub(super) fn entries_of(kind: &str, index: &str) -> Vec<u8> {
    key(b'i', &[kind, index], b"")
}

/// Key of the number of entries of a group.
pub(super) fn count(kind: &str, index: &str, reach: &str, group: &[u8]) -> Vec<u8> {
    key(b'n', &[kind, index, reach], group)
}

/// Prefix of the numbers of entries of all groups of an index.
pub(super) fn counts_of(kind: &str, index: &str) -> Vec<u8> {
    key(b'n', &[kind, index], b"")
}

/// Key of a counter.
pub(super) fn counter(owner: &Owner, name: &str) -> Vec<u8> {
    key(b'c', &[owner.as_str()], name.as_bytes())
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn ids_cannot_leave_their_place_in_a_key() {
        for (text, valid) in [
            ("ws_0123456789abcdef", true),
            ("A-b_9", true),
            ("", false),
            ("-", false),
            ("a\0b", false),
            ("a/b", false),
            ("é", false),
            (&"a".repeat(64), true),
            (&"a".repeat(65), false),
        ] {
            assert_eq!(WorkspaceId::new(text).is_some(), valid, "{text:?}");
        }
    }

    #[test]
    fn a_records_key_has_its_owner_and_id() {
        let owner = Owner::Workspace(WorkspaceId::new("ws_1").unwrap());
        let (all, one) = (records_of("note"), record("note", &owner, "n1"));
        assert_eq!(owner_and_id(&one[all.len()..]), Some((owner, "n1")));
        assert_eq!(record("note", &Owner::Service, "n1"), b"\xffplatform/rnote\0-\0n1");
    }
}
