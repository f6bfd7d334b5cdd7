//! State variables of the module registry.

use crate::{templates::common::Ownable2Step, vm::contract::*};

storage! {
    /// State variables, in solc's order.
    pub(super) contract ModulesStorage {
        /// The authority.
        pub(super) ownership: Ownable2Step,
        pub(super) modules: Array<StoredModule>,
        /// Position in the array, from 1, by name; 0 for a module that was never enabled.
        pub(super) places: Mapping<B256, u64>,
    }
}

/// The variables.
pub(super) const MODULES: ModulesStorage = ModulesStorage::STATE;

record! {
    /// A module.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct StoredModule {
        /// Left-aligned.
        pub(super) name: B256,
        pub(super) config_hash: B256,
        pub(super) version: u32,
        pub(super) is_enabled: bool,
        /// Height of the block that changed it last.
        pub(super) since: u64,
    }
}
