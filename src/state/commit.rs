//! Identities of the state's versions.

use core::fmt;

use alloy_primitives::B256;

/// Identity of one version of the state; never reused within a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(u64);

impl CommitId {
    /// The version before the first commit: no accounts, root [`EMPTY_ROOT`](super::EMPTY_ROOT).
    pub const EMPTY: Self = Self(0);

    /// Creates the id with this number, as stored beside a block.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the id's number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Identity and root of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Id of the version.
    pub id: CommitId,
    /// Merkle-Patricia root of the version.
    pub root: B256,
}
