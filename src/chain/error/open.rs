//! Errors of opening a chain.

use alloy_primitives::{Address, B256};

use super::ReadError;
use crate::{chain::spec::SpecError, state::StateError, store::StoreError};

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
    /// The specification names another template registry.
    #[error(
        "template registry digest is {got}, genesis names {want}; open the chain with the templates of its genesis"
    )]
    OtherRegistry {
        /// Digest of the registry given.
        got: B256,
        /// Digest in the specification.
        want: B256,
    },
    /// The stored chain or its state could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The genesis block could not be written to the store.
    #[error(transparent)]
    Write(StoreError),
}

impl From<StateError> for OpenError {
    fn from(error: StateError) -> Self {
        Self::Read(error.into())
    }
}
