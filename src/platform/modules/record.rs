//! What the service keeps of a module of a chain, beside what the chain's registry has.

use alloy_primitives::{B256, keccak256};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::kind::ModuleKind;
use crate::platform::records::Owner;
use crate::platform::{
    PlatformError,
    contract_plan::PlacedContract,
    records::{Index, Reach, Record, Records, SortKey, Stored, Unit},
};

/// Version of the modules of this build.
pub(in crate::platform) const VERSION: u32 = 1;

/// A module that was enabled on a chain of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostedModule {
    /// Id of the chain.
    pub blockchain_id: String,
    /// Which one it is.
    pub kind: ModuleKind,
    /// Its version.
    pub version: u32,
    /// Its configuration as it was given, JSON text with sorted keys.
    pub config: String,
    /// Its contracts.
    pub contracts: Vec<PlacedContract>,
    /// Hashes of the transactions that enabled, changed and disabled it, the oldest first; none for one that is in genesis.
    pub transactions: Vec<B256>,
}

impl HostedModule {
    /// Modules of a workspace by chain.
    pub(in crate::platform) const BY_BLOCKCHAIN: Index<Self> = Index::ordered(
        "blockchain",
        Reach::Owner,
        |module| Some(SortKey::new().text(&module.value.blockchain_id)),
        |module| SortKey::new().text(module.value.kind.name()),
    );
    /// Modules of a workspace by name.
    pub(in crate::platform) const BY_NAME: Index<Self> = Index::ordered(
        "name",
        Reach::Owner,
        |_| Some(SortKey::new()),
        |module| SortKey::new().text(module.value.kind.name()),
    );

    /// Id of the record: `mod_`, the chain's id without its prefix, `_`, the name.
    pub(super) fn id(blockchain_id: &str, kind: ModuleKind) -> String {
        let chain = blockchain_id.strip_prefix("bc_").unwrap_or(blockchain_id);
        format!("mod_{chain}_{}", kind.name())
    }

    /// Hash of its configuration, as the registry has it.
    pub fn config_hash(&self) -> B256 {
        keccak256(&self.config)
    }

    /// Its configuration.
    pub fn config(&self) -> Map<String, Value> {
        serde_json::from_str(&self.config).unwrap_or_default()
    }

    /// Returns the modules of a chain by name.
    pub(in crate::platform) fn of_chain(
        records: &Records,
        owner: &Owner,
        chain: &str,
    ) -> Result<Vec<Stored<Self>>, PlatformError> {
        Ok(records.of().all(&Self::BY_BLOCKCHAIN, owner, &SortKey::new().text(chain))?)
    }

    /// As [`HostedModule::of_chain`], as a unit of work sees them.
    pub(in crate::platform) fn of_unit(
        unit: &Unit<'_>,
        owner: &Owner,
        chain: &str,
    ) -> Result<Vec<Stored<Self>>, PlatformError> {
        Ok(unit.of().all(&Self::BY_BLOCKCHAIN, owner, &SortKey::new().text(chain))?)
    }
}

impl Record for HostedModule {
    const KIND: &'static str = "module";
    const VERSION: u16 = 1;
    const INDICES: &'static [Index<Self>] = &[Self::BY_BLOCKCHAIN, Self::BY_NAME, Index::UPDATED];
}
