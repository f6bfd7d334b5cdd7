//! The tables of a store.

/// A kind of record. On RocksDB, a column family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Table {
    /// Format version, chain identity, heads.
    Meta,
    /// Block hash to block (header, body, consensus data).
    Blocks,
    /// Block hash to receipts.
    Receipts,
    /// Height to canonical block hash.
    Canonical,
    /// Transaction hash to block hash and index.
    Transactions,
    /// State trie nodes, packed by commit.
    StateNodes,
    /// Commit id to root and bookkeeping.
    StateCommits,
    /// Code hash to code.
    Code,
    /// Records of the consensus protocols.
    Consensus,
    /// Records of the platform and of commit hooks.
    Platform,
}

impl Table {
    /// All tables, in the order of their column families.
    pub const ALL: [Self; 10] = [
        Self::Meta,
        Self::Blocks,
        Self::Receipts,
        Self::Canonical,
        Self::Transactions,
        Self::StateNodes,
        Self::StateCommits,
        Self::Code,
        Self::Consensus,
        Self::Platform,
    ];
}
