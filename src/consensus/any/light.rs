//! Trusting a chain from its headers and genesis alone, on every protocol.

use super::{ConsensusConfig, ConsensusError, first_members};
use crate::{
    chain::Block,
    consensus::{Authenticator, BlockId, ValidatorSet, dpos, pbft, poa, pos, raft},
    primitives::{Bytes, Header},
};

/// A header with what is kept beside it: all that a light verifier sees of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedHeader {
    /// The standard header.
    pub header: Header,
    /// The consensus payload.
    pub payload: Bytes,
    /// The author's seal over the header's hash, or the certificate.
    pub seal: Bytes,
}

/// Follows a chain by its headers, through every change of its validators.
///
/// What it proves is what the protocol proves: two thirds of the validators signed (PBFT, proof of stake), two thirds of the
/// producers built upon it (delegated proof of stake), more than half of the signers did (proof of authority: advice). Raft
/// proves nothing of its own: the leader's seal is checked, and all members are trusted.
///
/// ```
/// use chainbox::{
///     consensus::{Authenticator, ConsensusConfig, SealScheme, pbft::PbftConfig},
///     primitives::Height,
///     sim::Network,
/// };
///
/// let pbft = ConsensusConfig::Pbft(PbftConfig::default());
/// let builder = Network::builder().with_consensus(pbft).with_validators(4);
/// let mut network = builder.with_seals(SealScheme::Secp256k1).build()?;
/// network.run_to_height(5)?;
///
/// let chain = network.primary().chain();
/// let genesis = chain.genesis().block().header();
/// let validators = network.genesis_validators().clone();
/// let mut light = network.config().light_verifier(genesis, validators, Authenticator::secp256k1())?;
/// for height in 1..=5 {
///     light.follow(&chain.block_at(Height::new(height)).expect("it is there").block().as_ref().into())?;
/// }
/// assert_eq!(light.finalized(), network.primary().head());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LightVerifier {
    /// Of proof of authority.
    Poa(Box<poa::LightVerifier>),
    /// Of Raft.
    Raft(Box<raft::LightVerifier>),
    /// Of PBFT.
    Pbft(Box<pbft::LightVerifier>),
    /// Of delegated proof of stake.
    Dpos(Box<dpos::LightVerifier>),
    /// Of proof of stake.
    Pos(Box<pos::LightVerifier>),
}

/// Which rule of which protocol a header breaks. The verifier stays where it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// Of proof of authority.
    #[error(transparent)]
    Poa(#[from] poa::HeaderError),
    /// Of Raft.
    #[error(transparent)]
    Raft(#[from] raft::HeaderError),
    /// Of PBFT.
    #[error(transparent)]
    Pbft(#[from] pbft::HeaderError),
    /// Of delegated proof of stake.
    #[error(transparent)]
    Dpos(#[from] dpos::HeaderError),
    /// Of proof of stake.
    #[error(transparent)]
    Pos(#[from] pos::HeaderError),
}

impl From<&Block> for SealedHeader {
    fn from(block: &Block) -> Self {
        Self { header: block.header().clone(), payload: block.payload().clone(), seal: block.seal().clone() }
    }
}

impl ConsensusConfig {
    /// A light verifier at genesis.
    ///
    /// # Errors
    /// [`ConsensusError`] when the parameters are refused.
    pub fn light_verifier(
        &self,
        genesis: &Header,
        validators: ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<LightVerifier, ConsensusError> {
        Ok(match self {
            Self::Poa(config) => {
                LightVerifier::Poa(Box::new(poa::LightVerifier::new(*config, genesis, validators, authenticator)))
            }
            Self::Raft(config) => {
                let members = first_members(config, &validators);
                let light = raft::LightVerifier::new(config.clone(), genesis, members, authenticator);
                LightVerifier::Raft(Box::new(light))
            }
            Self::Pbft(config) => {
                LightVerifier::Pbft(Box::new(pbft::LightVerifier::new(*config, genesis, validators, authenticator)?))
            }
            Self::Dpos(config) => {
                LightVerifier::Dpos(Box::new(dpos::LightVerifier::new(*config, genesis, &validators, authenticator)?))
            }
            Self::Pos(config) => {
                LightVerifier::Pos(Box::new(pos::LightVerifier::new(*config, genesis, &validators, authenticator)?))
            }
        })
    }
}

impl LightVerifier {
    /// Takes the header after the head.
    ///
    /// # Errors
    /// [`FollowError`]; the verifier stays where it was.
    pub fn follow(&mut self, next: &SealedHeader) -> Result<BlockId, FollowError> {
        Ok(match self {
            Self::Poa(light) => light.follow(next)?,
            Self::Raft(light) => light.follow(next)?,
            Self::Pbft(light) => light.follow(next)?,
            Self::Dpos(light) => light.follow(next)?,
            Self::Pos(light) => light.follow(next)?,
        })
    }

    /// The newest header taken.
    pub const fn head(&self) -> BlockId {
        match self {
            Self::Poa(light) => light.head(),
            Self::Raft(light) => light.head(),
            Self::Pbft(light) => light.head(),
            Self::Dpos(light) => light.head(),
            Self::Pos(light) => light.head(),
        }
    }

    /// The newest block that is final in the protocol's own sense; in Raft, where headers prove nothing, the head.
    pub fn finalized(&self) -> BlockId {
        match self {
            Self::Poa(light) => light.settled(),
            Self::Raft(light) => light.head(),
            Self::Pbft(light) => light.head(),
            Self::Dpos(light) => light.irreversible(),
            Self::Pos(light) => light.finalized().block,
        }
    }

    /// Who may author the block after the head.
    pub fn validators(&self) -> ValidatorSet {
        match self {
            Self::Poa(light) => light.signers().clone(),
            Self::Raft(light) => light.members().validators(),
            Self::Pbft(light) => light.validators().clone(),
            Self::Dpos(light) => light.schedule().producers().clone(),
            Self::Pos(light) => light.validators().clone(),
        }
    }
}
