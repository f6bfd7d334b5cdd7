//! Why a dApp is not deployed.

use crate::{
    node::{BulkError, ContractError},
    vm::ParameterError,
};

/// Why a dApp was not deployed. Nothing of it was, unless its transaction is not mined yet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// The components are wrong; nothing was sent.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<ParameterError>),
    /// A step failed.
    #[error("{step} failed, and nothing was deployed: {source}")]
    Step {
        /// The component and what was done.
        step: String,
        /// Why it failed.
        #[source]
        source: ContractError,
    },
    /// The transaction was not sent, not mined, or ran out of gas.
    #[error(transparent)]
    Bulk(BulkError),
}
