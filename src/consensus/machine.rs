//! The protocols as one type, chosen when a network is built.

use std::sync::Arc;

use super::{
    Authenticator, BlockId, Effect, Encoder, Event, Finality, Protocol, Rejection, Signer, ValidatorSet,
    ValidatorSetError,
    poa::{Poa, PoaConfig, PoaError, PoaRules},
};
use crate::chain::{Block, HeaderRules};

/// Which protocol a chain runs, with its parameters. Part of genesis.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConsensusConfig {
    /// Proof of authority.
    Poa(PoaConfig),
}

/// Why a protocol could not be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConsensusError {
    /// The validators make no set.
    #[error(transparent)]
    Validators(#[from] ValidatorSetError),
    /// Proof of authority refuses its parameters or records.
    #[error(transparent)]
    Poa(#[from] PoaError),
}

/// A wish that the protocol of this chain has no notion of, or that means nothing now.
pub type AdminError = Rejection;

/// One replica's protocol, whichever it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Machine {
    /// Proof of authority.
    Poa(Poa),
}

impl Default for ConsensusConfig {
    fn default() -> Self {
        Self::Poa(PoaConfig::default())
    }
}

impl ConsensusConfig {
    /// A replica's protocol at genesis; one without a `signer` observes.
    ///
    /// # Errors
    /// [`ConsensusError`] when the parameters are refused.
    pub fn start(
        &self,
        genesis: &Block,
        validators: ValidatorSet,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Machine, ConsensusError> {
        let root = (BlockId::of(genesis), genesis.timestamp());
        match self {
            Self::Poa(config) => Ok(Machine::Poa(Poa::new(*config, root, validators, authenticator, signer)?)),
        }
    }

    /// A replica's protocol at a stored head, from the record that was written with it.
    ///
    /// # Errors
    /// [`ConsensusError`] when the parameters or the record are refused.
    pub fn restore(
        &self,
        head_record: &[u8],
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Machine, ConsensusError> {
        match self {
            Self::Poa(config) => Ok(Machine::Poa(Poa::restore(*config, head_record, authenticator, signer)?)),
        }
    }

    /// The rules that a chain of this protocol judges headers by; replicas of a process share them.
    pub fn header_rules(&self, validators: ValidatorSet, authenticator: Authenticator) -> Arc<dyn HeaderRules> {
        match self {
            Self::Poa(config) => Arc::new(PoaRules::new(*config, validators, authenticator)),
        }
    }
}

impl Protocol for Machine {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        match self {
            Self::Poa(poa) => poa.step(event, effects),
        }
    }

    fn encode(&self, out: &mut Encoder) {
        match self {
            Self::Poa(poa) => {
                out.u8(1);
                poa.encode(out);
            }
        }
    }

    fn head(&self) -> BlockId {
        match self {
            Self::Poa(poa) => poa.head(),
        }
    }

    fn finality(&self) -> Finality {
        match self {
            Self::Poa(poa) => poa.finality(),
        }
    }

    fn validators(&self) -> ValidatorSet {
        match self {
            Self::Poa(poa) => poa.validators(),
        }
    }
}
