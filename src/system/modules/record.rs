//! Public records of modules.

use alloy_primitives::B256;

use super::interface::ModuleInfo;
use crate::primitives::Height;

/// A module of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleRecord {
    /// Name of the module.
    pub name: String,
    /// Version that the authority enabled last.
    pub version: u32,
    /// Hash of its configuration.
    pub config_hash: B256,
    /// Whether it is on.
    pub is_enabled: bool,
    /// Height of the block that changed it last.
    pub since: Height,
}

impl From<ModuleInfo> for ModuleRecord {
    fn from(info: ModuleInfo) -> Self {
        let ModuleInfo { name, version, configHash: config_hash, enabled: is_enabled, since } = info;
        Self { name, version, config_hash, is_enabled, since: Height::new(since) }
    }
}
