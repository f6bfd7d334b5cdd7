//! The record of a blockchain.

use serde::{Deserialize, Serialize};

use super::BlockchainSpec;
use crate::platform::records::{Index, Reach, Record, SortKey};

/// A blockchain of a workspace. Its keys are in the vault, its blocks in its own part of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockchainRecord {
    /// Specification that it was made by.
    pub spec: BlockchainSpec,
    /// Chain id (EIP-155), which no other chain of the service has.
    pub chain_id: u64,
}

impl BlockchainRecord {
    /// Blockchains of a workspace by name.
    pub const BY_NAME: Index<Self> = Index::ordered(
        "name",
        Reach::Owner,
        |_| Some(SortKey::new()),
        |chain| SortKey::new().text(&chain.value.spec.name),
    );
    /// Blockchains of a workspace by chain id.
    pub const BY_CHAIN_ID: Index<Self> = Index::ordered(
        "chain-id",
        Reach::Owner,
        |_| Some(SortKey::new()),
        |chain| SortKey::new().number(chain.value.chain_id),
    );
    pub(in crate::platform) const UNIQUE_CHAIN_ID: Index<Self> =
        Index::unique("unique-chain-id", Reach::Service, |chain| Some(SortKey::new().number(chain.value.chain_id)));
    /// Blockchains of all workspaces, the oldest first, to be started at boot.
    pub(in crate::platform) const ALL: Index<Self> = Index::ordered(
        "all",
        Reach::Service,
        |_| Some(SortKey::new()),
        |chain| SortKey::new().number(chain.created_at_ms()),
    );
}

impl Record for BlockchainRecord {
    const KIND: &'static str = "blockchain";
    const INDICES: &'static [Index<Self>] = &[Self::BY_NAME, Self::BY_CHAIN_ID, Self::UNIQUE_CHAIN_ID, Self::ALL];
}

/// A protocol by its whole name.
pub(super) mod consensus_name {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use crate::consensus::ConsensusKind;

    pub(in super::super) fn serialize<S: Serializer>(kind: &ConsensusKind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.name())
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ConsensusKind, D::Error> {
        let name = String::deserialize(deserializer)?;
        let kind = ConsensusKind::ALL.into_iter().find(|kind| kind.name() == name);
        kind.ok_or_else(|| D::Error::custom(format!("there is no protocol {name}")))
    }
}
