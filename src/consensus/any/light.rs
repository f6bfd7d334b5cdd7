//! Verifying a chain from its headers and genesis alone, on every protocol.

use super::{AnyLight, FollowError, FollowHeaders};
use crate::consensus::common::{id::BlockId, light::SealedHeader, validators::ValidatorSet};

/// Follows a chain by its headers, through every change of its validators.
///
/// It proves what the protocol's headers prove: at least two thirds of the validators signed (PBFT, proof of stake),
/// at least two thirds of the producers built upon it (delegated proof of stake), more than half of the signers did (proof of
/// authority: advice). Raft's headers prove no commitment: the leader's seal is verified, and all members are trusted.
///
/// It sees no interventions, which headers do not commit to. So it refuses a header whose `mixHash` an intervention set: nothing
/// in the header tells it from one that breaks the rules. A development chain that sets it by hand has no light verification past
/// that block.
///
/// ```
/// use chainbox::{
///     consensus::{Authenticator, ConsensusConfig, PbftConfig, SealScheme},
///     primitives::Height,
///     sim::Network,
/// };
///
/// let pbft = ConsensusConfig::Pbft(PbftConfig::default());
/// let builder = Network::builder().with_consensus(pbft).with_validators(4);
/// let mut network = builder.with_seals(SealScheme::Secp256k1).build()?;
/// network.run_to_height(Height::new(5))?;
///
/// let chain = network.primary().chain();
/// let genesis = chain.genesis().block().header();
/// let validators = network.genesis_validators().clone();
/// let mut light = network.config().light_verifier(genesis, validators, Authenticator::secp256k1())?;
/// for height in 1..=5 {
///     light.follow(&chain.block_at(Height::new(height)).expect("run to height 5").block().as_ref().into())?;
/// }
/// assert_eq!(light.finalized(), network.primary().head());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LightVerifier(AnyLight);

impl LightVerifier {
    pub(super) const fn of(light: AnyLight) -> Self {
        Self(light)
    }

    /// Verifies the header after the head and makes it the head.
    ///
    /// # Errors
    /// [`FollowError`]; the verifier is unchanged.
    pub fn follow(&mut self, next: &SealedHeader) -> Result<BlockId, FollowError> {
        with_light!(&mut self.0, light => Ok(FollowHeaders::follow(light.as_mut(), next)?))
    }

    /// Returns the newest verified block.
    pub fn head(&self) -> BlockId {
        with_light!(&self.0, light => FollowHeaders::head(light.as_ref()))
    }

    /// Returns the newest block that is final in the protocol's own sense; in Raft, where headers prove nothing, the head.
    pub fn finalized(&self) -> BlockId {
        with_light!(&self.0, light => FollowHeaders::finalized(light.as_ref()))
    }

    /// Returns the validators that may author the block after the head.
    pub fn validators(&self) -> ValidatorSet {
        with_light!(&self.0, light => FollowHeaders::validators(light.as_ref()))
    }
}
