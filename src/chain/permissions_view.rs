//! Reading the permissions contract by its functions.

use alloy_primitives::Address;

use super::{Chain, executed_block::ExecutedBlock, spec::SystemContract, system_view::SystemViewError};
use crate::system::permissions::interface::{PermissionsInfo, permissionsOfCall};

impl Chain {
    /// Returns the lists that an account is on after `block`, and what it may do in the next one.
    ///
    /// # Errors
    /// [`ReadError::Pruned`](super::ReadError::Pruned) for a pruned state, [`SystemViewError::Absent`] on a chain without permissions.
    pub fn permissions_of(&self, block: &ExecutedBlock, account: Address) -> Result<PermissionsInfo, SystemViewError> {
        self.system_view(block, SystemContract::Permissions, &permissionsOfCall { account })
    }
}
