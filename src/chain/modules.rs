//! Reading the module registry.

use alloy_primitives::U256;

use super::{Chain, executed_block::ExecutedBlock, spec::SystemContract, system_view::SystemViewError};
use crate::system::modules::{ModuleRecord, PAGE_MAX, interface::modulesCall};

impl Chain {
    /// Returns the modules of the registry after `block`, disabled ones too, in the order in which they were enabled first.
    ///
    /// # Errors
    /// [`ReadError::Pruned`](super::ReadError::Pruned) for a pruned state, [`SystemViewError::Absent`] on a chain without the registry.
    pub fn modules(&self, block: &ExecutedBlock) -> Result<Vec<ModuleRecord>, SystemViewError> {
        let mut records = Vec::new();
        loop {
            let call = modulesCall { from: U256::from(records.len()), count: U256::from(PAGE_MAX) };
            let page = self.system_view(block, SystemContract::Modules, &call)?;
            let is_last = (page.len() as u64) < PAGE_MAX;
            records.extend(page.into_iter().map(ModuleRecord::from));
            if is_last {
                return Ok(records);
            }
        }
    }
}
