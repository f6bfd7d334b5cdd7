//! Errors of opening a chain.

use alloy_primitives::{Address, B256};

use super::ReadError;
use crate::{
    chain::spec::SpecError,
    state::StateError,
    store::StoreError,
    vm::{TemplateId, TemplateMismatch},
};

/// Why no chain was opened. The store is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The genesis specification is invalid.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A genesis contract could not be deployed.
    #[error("genesis contract {address}: its constructor failed: {reason}")]
    GenesisContract {
        /// Address of the contract.
        address: Address,
        /// The invalid parameter, or the constructor's revert or halt reason.
        reason: String,
    },
    /// The code of a genesis account names a template that is not registered.
    #[error(
        "genesis account {address}: its code names template {id}, which this program does not have; register it, or leave \
         the code out"
    )]
    GenesisCode {
        /// Address of the account.
        address: Address,
        /// Id and version of the template.
        id: TemplateId,
    },
    /// The store holds another chain.
    #[error("the store holds the chain with genesis {got}, the specification gives {want}")]
    OtherGenesis {
        /// Genesis hash in the store.
        got: B256,
        /// Genesis hash that the specification gives.
        want: B256,
    },
    /// The store holds a chain with another chain id, which the genesis block does not show.
    #[error("the store holds the chain with id {got}, the specification gives id {want}; open it with its own id")]
    OtherChainId {
        /// Chain id in the store.
        got: u64,
        /// Chain id of the specification.
        want: u64,
    },
    /// Contracts in the store run a template that is not registered as it was.
    #[error(transparent)]
    Template(#[from] TemplateMismatch),
    /// The stored chain or its state could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The genesis block, or the identity of a template, could not be written to the store.
    #[error(transparent)]
    Write(StoreError),
}

impl From<StateError> for OpenError {
    fn from(error: StateError) -> Self {
        Self::Read(error.into())
    }
}
