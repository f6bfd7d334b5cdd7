//! State variables.

use alloy_primitives::b256;

use super::interface as sol;
use crate::{
    templates::common::{AccessControl, DEFAULT_ADMIN_ROLE},
    vm::{contract::*, storage::Packed},
};

/// Role of who writes the records of others, where rules say so: keccak of `WRITER_ROLE`.
pub const WRITER_ROLE: B256 = b256!("2b8f168f361ac1393a163ed4adfa899a87be7b7c71645167bdaddd822ae453c8");

storage! {
    /// State variables.
    pub(super) contract RegistryStorage {
        pub(super) access: AccessControl,
        /// In the order of their creation.
        pub(super) collection_ids: Array<B256>,
        pub(super) collections: Mapping<B256, Collection>,
    }
}

storage! {
    /// A collection.
    pub(super) struct Collection {
        pub(super) name: Slot<String>,
        pub(super) settings: Slot<Settings>,
        /// Of the records that exist.
        pub(super) ids: Array<B256>,
        /// Also those that are removed.
        pub(super) records: Mapping<B256, Record>,
    }
}

record! {
    /// Access rules of a collection.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Settings {
        pub(super) exists: bool,
        pub(super) create: sol::Access,
        pub(super) update: sol::Access,
        pub(super) remove: sol::Access,
        pub(super) transfer: sol::Access,
    }
}

storage! {
    /// A record that exists or is removed.
    pub(super) struct Record {
        pub(super) head: Slot<Head>,
        /// By their numbers, from 1 on.
        pub(super) versions: Mapping<u64, Version>,
    }
}

record! {
    /// What is known of a record beside its versions.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Head {
        /// Number of the last version; 0 for a record that never was.
        pub(super) version: u64,
        /// Moment of the last creation, in seconds since the Unix epoch.
        pub(super) created_at: u64,
        /// Place among the collection's ids, from 1 on; 0 for a record that does not exist.
        pub(super) position: u64,
    }
}

storage! {
    /// A version of a record.
    pub(super) struct Version {
        pub(super) summary: Slot<Summary>,
        /// What the version wrote.
        pub(super) data: Slot<Bytes>,
    }
}

record! {
    /// A version without its data.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Summary {
        pub(super) author: Address,
        /// In seconds since the Unix epoch.
        pub(super) at: u64,
        pub(super) change: sol::Change,
        pub(super) owner: Address,
        /// Version that wrote the record's data, this one or one before; 0 for a record without data, which is removed.
        pub(super) data_version: u64,
    }
}

pub(super) const REGISTRY: RegistryStorage = RegistryStorage::STATE;

pub(super) fn construct(host: &mut Host<'_>, params: sol::constructorCall) -> Result<(), Stop> {
    let sol::constructorCall { owner } = params;
    require(!owner.is_zero(), sol::InvalidOwner { owner })?;
    for role in [DEFAULT_ADMIN_ROLE, WRITER_ROLE] {
        REGISTRY.access.give_role(host, role, owner)?;
    }
    Ok(())
}

impl Head {
    pub(super) const fn exists(&self) -> bool {
        self.position > 0
    }
}

impl Settings {
    /// Returns the settings of a collection with these rules.
    pub(super) const fn of(rules: &sol::Rules) -> Self {
        let sol::Rules { create, update, remove, transfer } = *rules;
        Self { exists: true, create, update, remove, transfer }
    }

    pub(super) const fn rules(self) -> sol::Rules {
        let Self { create, update, remove, transfer, .. } = self;
        sol::Rules { create, update, remove, transfer }
    }
}

/// Implements [`Packed`] for an enum of the interface.
macro_rules! packed_enum {
    ($($name:ident),*) => { $(
        impl Packed for sol::$name {
            const BYTES: u8 = 1;

            fn from_stored(word: U256) -> Self {
                // Another value can come by an intervention only.
                Self::try_from(word.to::<u8>()).unwrap_or(Self::__Invalid)
            }

            fn to_stored(self) -> U256 {
                U256::from(u8::from(self))
            }

            fn solidity() -> String {
                concat!("enum ", stringify!($name)).to_owned()
            }
        }
    )* };
}

packed_enum!(Access, Change);
