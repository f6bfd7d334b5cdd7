//! Reading permissions out of storage, without a call.

use alloy_primitives::{Address, Log, U256};
use alloy_sol_types::SolEventInterface;

use super::{
    PERMISSIONS_ADDRESS,
    interface::{OwnershipTransferred, PermissionsChanged, PermissionsEvents},
    state::PERMISSIONS,
};
use crate::vm::mapping_slot;

/// What an account may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountPermissions {
    /// Whether it may send transactions.
    pub may_send: bool,
    /// Whether its transactions may create contracts.
    pub may_deploy: bool,
}

impl AccountPermissions {
    /// Those of every account where both lists are off.
    pub const ALL: Self = Self { may_send: true, may_deploy: true };

    /// Returns what is left of them on a chain whose genesis permits deployments or not.
    #[must_use]
    pub(crate) const fn where_deployments(self, are_permitted: bool) -> Self {
        Self { may_deploy: self.may_deploy && are_permitted, ..self }
    }
}

/// A word of the contract's storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionWord {
    /// The administrator.
    Administrator,
    /// The lists that are on.
    Lists,
    /// The lists that an account is on.
    Entry(Address),
}

impl PermissionWord {
    /// Slot of the mapping in which entries are.
    pub(crate) fn entries_base() -> U256 {
        PERMISSIONS.entries.slot()
    }

    /// Returns its slot.
    pub fn slot(self) -> U256 {
        match self {
            Self::Administrator => PERMISSIONS.ownership.ownable.owner.slot(),
            Self::Lists => PERMISSIONS.lists.slot(),
            Self::Entry(account) => mapping_slot(account.into_word().into(), Self::entries_base()),
        }
    }
}

/// The lists that are on: those on it alone may. Where a list is off, everybody may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PermissionLists {
    /// Whether the list of accounts is on.
    pub accounts: bool,
    /// Whether the list of deployers is on.
    pub deployers: bool,
}

impl PermissionLists {
    /// Reads them from [`PermissionWord::Lists`].
    pub fn from_word(word: U256) -> Self {
        let [accounts, deployers] = flags(word);
        Self { accounts, deployers }
    }

    /// Returns what an account may do. Reads its entry where a list is on, and the administrator for an account that the list of
    /// accounts refuses.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn permissions_of<E>(
        self,
        account: Address,
        mut read: impl FnMut(PermissionWord) -> Result<U256, E>,
    ) -> Result<AccountPermissions, E> {
        if !self.accounts && !self.deployers {
            return Ok(AccountPermissions::ALL);
        }
        let [is_account, is_deployer] = flags(read(PermissionWord::Entry(account))?);
        let may_send = !self.accounts
            || is_account
            || read(PermissionWord::Administrator)? == U256::from_be_bytes(account.into_word().0);
        Ok(AccountPermissions { may_send, may_deploy: !self.deployers || is_deployer })
    }
}

/// Returns the two booleans in the lowest bytes of a word, as Solidity packs them.
fn flags(word: U256) -> [bool; 2] {
    [word.byte(0) != 0, word.byte(1) != 0]
}

/// Whose permissions an event may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionChange {
    /// One account's.
    Account(Address),
    /// Everybody's: a list was switched.
    Everybody,
}

/// Returns whose permissions may differ after these logs; logs of other contracts are skipped.
pub fn changes<'l>(logs: impl IntoIterator<Item = &'l Log>) -> impl Iterator<Item = PermissionChange> {
    logs.into_iter().filter(|log| log.address == PERMISSIONS_ADDRESS).flat_map(|log| {
        let accounts = match PermissionsEvents::decode_log(log).map(|event| event.data) {
            Ok(PermissionsEvents::PermissionsChanged(PermissionsChanged { account, .. })) => [Some(account), None],
            // The former administrator may be on no list.
            Ok(PermissionsEvents::OwnershipTransferred(OwnershipTransferred { previousOwner, newOwner })) => {
                [Some(previousOwner), Some(newOwner)]
            }
            Ok(PermissionsEvents::OwnershipTransferStarted(_)) => [None, None],
            _ => return vec![PermissionChange::Everybody],
        };
        accounts.into_iter().flatten().map(PermissionChange::Account).collect()
    })
}
