//! The record of a blockchain.

use core::time::Duration;

use alloy_primitives::Address;
use serde::{Deserialize, Serialize};

use super::{BlockchainSpec, ChainState, DecidedBy, NativeToken, ValidatorSpec};
use crate::{
    consensus::ConsensusKind,
    platform::{
        Subject,
        records::{Index, Reach, Record, SortKey},
    },
    primitives::Gas,
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
    const VERSION: u16 = 4;
    const INDICES: &'static [Index<Self>] =
        &[Self::BY_NAME, Self::BY_CHAIN_ID, Self::UNIQUE_CHAIN_ID, Self::ALL, Index::UPDATED];

    /// Version 1 had the specification and the chain id alone: every chain ran. Up to version 2 governance owned the modules of all chains,
    /// and each started as it was made; up to version 3 the authority of each administered its validators.
    fn upgrade(version: u16, bytes: &[u8]) -> Option<Self> {
        if version == 1 {
            let (spec, chain_id): (SpecV2, u64) = postcard::from_bytes(bytes).ok()?;
            return Some(Self::running(spec.into(), chain_id));
        }
        match version {
            2 => postcard::from_bytes::<Former<SpecV2>>(bytes).ok().map(Self::from),
            3 => postcard::from_bytes::<Former<SpecV3>>(bytes).ok().map(Self::from),
            _ => None,
        }
    }
}

/// A former version of [`BlockchainRecord`], with the specification that it had.
#[derive(Serialize, Deserialize)]
struct Former<S> {
    spec: S,
    chain_id: u64,
    state: ChainState,
    treasury: Option<Address>,
    participants: Vec<Subject>,
    is_imported: bool,
}

impl<S: Into<BlockchainSpec>> From<Former<S>> for BlockchainRecord {
    fn from(former: Former<S>) -> Self {
        let Former { spec, chain_id, state, treasury, participants, is_imported } = former;
        Self { spec: spec.into(), chain_id, state, treasury, participants, is_imported }
    }
}

/// The specification in the third version: what came after it was added at the end.
#[derive(Serialize, Deserialize)]
struct SpecV3 {
    spec: SpecV2,
    upgrades: DecidedBy,
    starts: bool,
}

impl From<SpecV3> for BlockchainSpec {
    fn from(former: SpecV3) -> Self {
        Self { upgrades: former.upgrades, starts: former.starts, ..former.spec.into() }
    }
}

/// The specification in the first two versions.
#[derive(Serialize, Deserialize)]
struct SpecV2 {
    name: String,
    kind: String,
    #[serde(with = "consensus_name")]
    consensus: ConsensusKind,
    chain_id: Option<u64>,
    block_time: Option<Duration>,
    block_gas_limit: Option<Gas>,
    native_token: NativeToken,
    validators: Vec<ValidatorSpec>,
    features: Vec<String>,
}

impl From<SpecV2> for BlockchainSpec {
    fn from(former: SpecV2) -> Self {
        let SpecV2 { name, kind, consensus, chain_id, block_time, block_gas_limit, native_token, validators, features } =
            former;
        Self {
            name,
            kind,
            consensus,
            chain_id,
            block_time,
            block_gas_limit,
            native_token,
            validators,
            features,
            upgrades: DecidedBy::Governance,
            membership: DecidedBy::Authority,
            starts: true,
        }
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
    fn records_of_former_versions_are_of_chains_whose_modules_governance_owns() {
        let former = || SpecV2 {
            name: "x".to_owned(),
            kind: "private".to_owned(),
            consensus: ConsensusKind::Raft,
            chain_id: None,
            block_time: None,
            block_gas_limit: None,
            native_token: NativeToken::default(),
            validators: Vec::new(),
            features: vec!["smart-contracts".to_owned()],
        };
        let spec = BlockchainSpec::read(json!({ "name": "x", "consensus": "raft" })).unwrap();
        let spec = BlockchainSpec { upgrades: DecidedBy::Governance, ..spec };
        let first = postcard::to_allocvec(&(former(), 77_u64)).unwrap();
        assert_eq!(BlockchainRecord::upgrade(1, &first), Some(BlockchainRecord::running(spec.clone(), 77)));
        let (state, treasury) = (ChainState::Paused, Some(Address::repeat_byte(7)));
        let (participants, is_imported) = (vec![Subject::Service], true);
        let want = BlockchainRecord { spec, chain_id: 77, state, treasury, participants, is_imported };
        let second = postcard::to_allocvec(&of_former(former(), &want)).unwrap();
        assert_eq!(BlockchainRecord::upgrade(2, &second), Some(want.clone()));
        assert_eq!(BlockchainRecord::upgrade(0, &second), None);
        let third = SpecV3 { spec: former(), upgrades: DecidedBy::Authority, starts: false };
        let third = postcard::to_allocvec(&of_former(third, &want)).unwrap();
        let spec = BlockchainSpec { upgrades: DecidedBy::Authority, starts: false, ..want.spec.clone() };
        assert_eq!(BlockchainRecord::upgrade(3, &third), Some(BlockchainRecord { spec, ..want }));
    }

    /// What a former version had of a record, with another specification.
    fn of_former<S>(spec: S, record: &BlockchainRecord) -> Former<S> {
        let BlockchainRecord { chain_id, state, treasury, participants, is_imported, .. } = record.clone();
        Former { spec, chain_id, state, treasury, participants, is_imported }
    }
}
