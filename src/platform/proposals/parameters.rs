//! What a proposal may change of the chain's rules: its parameters as they are now.

use super::{Proposals, unreadable};
use crate::{
    chain::{ParameterRecord, SystemViewError},
    platform::{PlatformError, principal::Principal},
};

impl Proposals<'_> {
    /// Returns the parameters that a chain has at its newest block, in ascending order of their numbers.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] on a chain without the contract of the parameters; as
    /// [`Blockchains::readable`](crate::platform::Blockchains::readable), and those of reading.
    pub fn parameters(&self, principal: &Principal, chain: &str) -> Result<Vec<ParameterRecord>, PlatformError> {
        let chain = self.chains.readable(principal, chain)?;
        let view = chain.node().view();
        view.chain().parameters(view.head()).map_err(|cause| match cause {
            SystemViewError::Absent { .. } => PlatformError::Conflict {
                message: format!(
                    "blockchain {} was made without a contract of parameters: they stay as its genesis has them",
                    chain.id()
                ),
            },
            other => unreadable(other),
        })
    }
}
