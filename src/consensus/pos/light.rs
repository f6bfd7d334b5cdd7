//! Trusting a checkpoint from headers, payloads and genesis alone.

use super::{HeaderError, Link, Pos, PosConfig, PosError, Stakes, check_header};
use crate::{
    consensus::{Authenticator, BlockId, HeaderChainRules, SealedHeader, ValidatorSet},
    primitives::Header,
};

/// Follows a chain by its headers and payloads.
///
/// Every header is judged by all the protocol's rules: proposer, randomness, votes, evidence, penalties.
/// [`LightVerifier::finalized`] is final by votes of two thirds of the stake in force, which it counts itself. What execution
/// changed in the stake it takes from the payload that commits to it; such a change is in force only after a checkpoint above
/// it is final by the votes of those before, so nobody votes itself in.
///
/// Like everybody who was away it must not start from a genesis or checkpoint that is older than stake stays slashable
/// (weak subjectivity): whoever has left may sign another history at no cost.
#[derive(Clone, Debug)]
pub struct LightVerifier {
    config: PosConfig,
    authenticator: Authenticator,
    head: Link,
}

impl LightVerifier {
    /// Starts at genesis.
    ///
    /// # Errors
    /// [`PosError`] for parameters that make no sense.
    pub fn new(
        config: PosConfig,
        genesis: &Header,
        validators: &ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<Self, PosError> {
        config.check()?;
        let head = Pos::genesis_context(&config, validators, genesis.hash_slow(), genesis);
        Ok(Self { config, authenticator, head })
    }

    /// Takes the header after the head.
    ///
    /// # Errors
    /// [`HeaderError`]; the verifier stays where it was.
    pub fn follow(&mut self, next: &SealedHeader) -> Result<BlockId, HeaderError> {
        self.head = check_header(&self.config, &self.authenticator, &self.head, &next.into(), Stakes::Claimed)?;
        Ok(self.head.block)
    }

    /// The newest header taken.
    pub const fn head(&self) -> BlockId {
        self.head.block
    }

    /// The newest final checkpoint: two thirds of the stake say so.
    pub fn finalized(&self) -> super::Checkpoint {
        self.head.state.casper.finalized
    }

    /// The newest justified checkpoint on the way.
    pub fn justified(&self) -> super::Checkpoint {
        self.head.state.casper.justified
    }

    /// Who votes in the head's epoch.
    pub fn validators(&self) -> &ValidatorSet {
        &self.head.state.current.set
    }

    /// The slot of the head.
    pub fn slot(&self) -> u64 {
        self.head.state.slot
    }

    /// Whether a verifier that knows no more than this may believe new headers in epoch `now`.
    pub fn is_within_weak_subjectivity(&self, now: u64) -> bool {
        now.saturating_sub(self.finalized().epoch) <= self.config.unbonding_epochs
    }
}
