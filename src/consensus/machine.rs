//! The protocols as one type, chosen when a network is built.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Authenticator, BlockId, Effect, Encoder, Event, Finality, Protocol, Rejection, Signer, ValidatorSet,
    ValidatorSetError,
    poa::{Poa, PoaConfig, PoaError, PoaRules},
};
use crate::chain::{Block, HeaderRules};

/// Which protocol a chain runs, with its parameters. Part of genesis.
///
/// In genesis: the parameters and `protocol`, which is `poa` (also `proof-of-authority` or `clique`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "lowercase")]
#[non_exhaustive]
pub enum ConsensusConfig {
    /// Proof of authority.
    #[serde(alias = "proof-of-authority", alias = "clique")]
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
    ///
    /// They go on from `head_record`, the stored one of an opened chain, or else from genesis.
    ///
    /// # Errors
    /// [`ConsensusError`] when the record is refused.
    pub fn header_rules(
        &self,
        validators: ValidatorSet,
        authenticator: Authenticator,
        head_record: Option<&[u8]>,
    ) -> Result<Arc<dyn HeaderRules>, ConsensusError> {
        match self {
            Self::Poa(config) => {
                let rules = PoaRules::new(*config, validators, authenticator.clone());
                if let Some(record) = head_record {
                    rules.remember(Poa::restore(*config, record, authenticator, None)?.head_link().clone());
                }
                Ok(Arc::new(rules))
            }
        }
    }

    /// Reads the consensus section of a genesis specification, such as `{"protocol": "poa", "period": 5}`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn deserialize_section(section: &serde_json::Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(section)
    }

    /// The section that [`ConsensusConfig::deserialize_section`] reads.
    pub fn section(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_genesis_section_comes_back_and_wrong_ones_are_told() {
        let config = ConsensusConfig::Poa(PoaConfig::default().with_period(5));
        assert_eq!(ConsensusConfig::deserialize_section(&config.section()).unwrap(), config);
        let short = serde_json::json!({"protocol": "clique", "period": 5});
        assert_eq!(ConsensusConfig::deserialize_section(&short).unwrap(), config);
        for (section, named) in [
            (serde_json::json!({"protocol": "pow"}), "pow"),
            (serde_json::json!({"protocol": "poa", "perod": 1}), "perod"),
        ] {
            let error = ConsensusConfig::deserialize_section(&section).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
