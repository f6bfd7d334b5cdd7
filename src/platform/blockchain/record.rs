//! The record of a blockchain.

use alloy_primitives::Address;
use serde::{Deserialize, Serialize};

use super::{BlockchainSpec, ChainState};
use crate::platform::{
    Subject,
    records::{Index, Reach, Record, SortKey},
};

/// A blockchain of a workspace. Its keys are in the vault, its blocks in its own part of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockchainRecord {
    /// Specification that it was made by.
    pub spec: BlockchainSpec,
    /// Chain id (EIP-155), which no other chain of the service has.
    pub chain_id: u64,
    /// Its state.
    pub state: ChainState,
    /// Address of the wallet that got the premine; `None` of the default chain.
    pub treasury: Option<Address>,
    /// Who reads a chain with `privacy`.
    pub participants: Vec<Subject>,
    /// Whether its genesis has the state of an export.
    pub is_imported: bool,
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
    /// Blockchains of all workspaces, the oldest first, to be opened at boot.
    pub(in crate::platform) const ALL: Index<Self> = Index::ordered(
        "all",
        Reach::Service,
        |_| Some(SortKey::new()),
        |chain| SortKey::new().number(chain.created_at_ms()),
    );

    /// The record of a chain that runs without the service's doing: the default one.
    pub(in crate::platform) const fn running(spec: BlockchainSpec, chain_id: u64) -> Self {
        Self {
            spec,
            chain_id,
            state: ChainState::Running,
            treasury: None,
            participants: Vec::new(),
            is_imported: false,
        }
    }
}

impl Record for BlockchainRecord {
    const KIND: &'static str = "blockchain";
    const VERSION: u16 = 2;
    const INDICES: &'static [Index<Self>] =
        &[Self::BY_NAME, Self::BY_CHAIN_ID, Self::UNIQUE_CHAIN_ID, Self::ALL, Index::UPDATED];

    /// Version 1 had the specification and the chain id alone: every chain ran.
    fn upgrade(version: u16, bytes: &[u8]) -> Option<Self> {
        let (spec, chain_id) = (version == 1).then(|| postcard::from_bytes(bytes).ok()).flatten()?;
        Some(Self::running(spec, chain_id))
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_of_version_1_is_of_a_chain_that_runs() {
        let spec = BlockchainSpec::read(json!({ "name": "x", "consensus": "raft" })).unwrap();
        let bytes = postcard::to_allocvec(&(&spec, 77_u64)).unwrap();
        assert_eq!(BlockchainRecord::upgrade(1, &bytes), Some(BlockchainRecord::running(spec, 77)));
        assert_eq!(BlockchainRecord::upgrade(0, &bytes), None);
    }
}
