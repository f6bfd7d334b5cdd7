//! What the service keeps of a module that it has proposed: the configuration, of which the chain has the hash alone.

use alloy_primitives::{B256, keccak256};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{kind::ModuleKind, record::HostedModule};
use crate::platform::{
    Blockchain, PlatformError,
    records::{Index, Reach, Record, Records, SortKey, Unit},
};

/// The configuration with which the service has last proposed to enable a module of a chain: about one module it has one open proposal at a
/// time.
///
/// It is found by its hash, so that it is that of a vote or of none: it stays right whatever blocks the chain takes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::platform) struct ProposedModule {
    /// Id of the chain.
    blockchain_id: String,
    /// Which module it is.
    kind: ModuleKind,
    /// The configuration as it was given, JSON text with sorted keys.
    config: String,
}

impl ProposedModule {
    /// Modules of a chain by name.
    pub(in crate::platform) const BY_BLOCKCHAIN: Index<Self> = Index::ordered(
        "blockchain",
        Reach::Owner,
        |module| Some(SortKey::new().text(&module.value.blockchain_id)),
        |module| SortKey::new().text(module.value.kind.name()),
    );

    /// Keeps the configuration of a module, in place of the one that was proposed before.
    ///
    /// # Errors
    /// Those of the records.
    pub(in crate::platform) fn keep(
        unit: &mut Unit<'_>,
        chain: &Blockchain,
        kind: ModuleKind,
        config: &Map<String, Value>,
    ) -> Result<(), PlatformError> {
        let config = Value::Object(config.clone()).to_string();
        let proposed = Self { blockchain_id: chain.id().to_owned(), kind, config };
        let id = HostedModule::id(chain.id(), kind);
        match unit.of::<Self>().get(chain.owner(), &id)? {
            None => drop(unit.insert(chain.owner(), &id, proposed)?),
            Some(mut present) => {
                present.value = proposed;
                unit.replace(&present)?;
            }
        }
        Ok(())
    }

    /// Returns the configuration with a hash, if it is the one that was proposed last for a module.
    ///
    /// # Errors
    /// Those of the records.
    pub(super) fn config_of(
        records: &Records,
        chain: &Blockchain,
        kind: ModuleKind,
        config_hash: B256,
    ) -> Result<Option<Map<String, Value>>, PlatformError> {
        let proposed = records.of::<Self>().get(chain.owner(), &HostedModule::id(chain.id(), kind))?;
        let config = proposed.map(|stored| stored.value.config).filter(|config| keccak256(config) == config_hash);
        Ok(config.and_then(|config| serde_json::from_str(&config).ok()))
    }
}

impl Record for ProposedModule {
    const KIND: &'static str = "proposed-module";
    const INDICES: &'static [Index<Self>] = &[Self::BY_BLOCKCHAIN];
}
