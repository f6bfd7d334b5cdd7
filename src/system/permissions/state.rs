//! State variables of the permissions contract.

use crate::{templates::common::Ownable2Step, vm::contract::*};

storage! {
    /// State variables, in solc's order.
    pub(super) contract PermissionsStorage {
        /// The administrator.
        pub(super) ownership: Ownable2Step,
        pub(super) lists: Slot<Switches>,
        /// Accounts that are on a list, in no order that means anything.
        pub(super) listed: Array<Address>,
        pub(super) entries: Mapping<Address, StoredEntry>,
    }
}

/// The variables.
pub(super) const PERMISSIONS: PermissionsStorage = PermissionsStorage::STATE;

record! {
    /// The lists that are on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Switches {
        pub(super) accounts: bool,
        pub(super) deployers: bool,
    }
}

record! {
    /// The lists that an account is on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct StoredEntry {
        pub(super) is_account: bool,
        pub(super) is_deployer: bool,
        /// Position in the array, from 1; 0 for an account on no list.
        pub(super) place: u64,
    }
}

/// One of the two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Accounts,
    Deployers,
}
