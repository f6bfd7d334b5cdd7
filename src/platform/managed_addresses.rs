//! Addresses of managed wallets in memory: a list of workspaces shows that of each, and no other ever takes its place.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use alloy_primitives::Address;

use super::records::Owner;

/// Workspaces whose wallets' addresses are kept.
const ADDRESSES_MAX: usize = 10_000;

/// Addresses of managed wallets that were read, by workspace.
#[derive(Debug, Default)]
pub(super) struct ManagedAddresses(Mutex<BTreeMap<Owner, Address>>);

impl ManagedAddresses {
    /// Returns an address that was read before.
    pub(super) fn get(&self, owner: &Owner) -> Option<Address> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(owner).copied()
    }

    /// Keeps an address that was read; where there are too many, these alone.
    pub(super) fn keep(&self, owner: &Owner, address: Address) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= ADDRESSES_MAX {
            kept.clear();
        }
        kept.insert(owner.clone(), address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::records::WorkspaceId;

    fn owner(number: usize) -> Owner {
        Owner::Workspace(WorkspaceId::new(format!("ws_{number:016x}")).unwrap())
    }

    #[test]
    fn addresses_are_kept_up_to_the_bound() {
        let (kept, address) =
            (ManagedAddresses::default(), |number: usize| Address::left_padding_from(&number.to_be_bytes()));
        (0..ADDRESSES_MAX).for_each(|number| kept.keep(&owner(number), address(number)));
        assert_eq!(kept.get(&owner(0)), Some(address(0)));
        assert_eq!(kept.get(&owner(ADDRESSES_MAX)), None);
        kept.keep(&owner(ADDRESSES_MAX), address(ADDRESSES_MAX));
        assert_eq!((kept.get(&owner(0)), kept.get(&owner(ADDRESSES_MAX))), (None, Some(address(ADDRESSES_MAX))));
    }
}
