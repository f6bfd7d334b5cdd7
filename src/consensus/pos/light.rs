//! Light verification: follows the final checkpoint from genesis, headers and payloads, without execution.

use super::{Epoch, HeaderContext, HeaderError, Pos, PosConfig, PosError, StakeSource, check_header};
use crate::{
    consensus::{Authenticator, BlockId, HeaderChainRules, SealedHeader, ValidatorSet},
    primitives::Header,
};

/// Follows a chain by its headers and payloads.
///
/// Every header is verified by all the protocol's rules: proposer, randomness, votes, evidence, penalties.
/// The verifier counts the votes of two thirds of the stake in force that make [`LightVerifier::finalized`] final. Changes of
/// stake by execution are taken from the payload that commits to them; such a change is in force only after a checkpoint
/// above it is final by the votes of the previous validators, and until a checkpoint of the changed set is final the votes of both
/// are needed (`SetChange`).
///
/// It must not start from a genesis or checkpoint that is older than stake stays slashable (weak subjectivity): validators
/// whose stake is withdrawn may sign another history at no cost.
#[derive(Clone, Debug)]
pub struct LightVerifier {
    config: PosConfig,
    authenticator: Authenticator,
    head: HeaderContext,
}

impl LightVerifier {
    /// Starts at genesis.
    ///
    /// # Errors
    /// [`PosError`] for invalid parameters.
    pub fn new(
        config: PosConfig,
        genesis: &Header,
        validators: &ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<Self, PosError> {
        config.check()?;
        let head = Pos::genesis_context(&config, validators, genesis.hash_slow(), genesis);
        Ok(Self { config, authenticator: authenticator.for_chain(genesis.hash_slow()), head })
    }

    /// Verifies and adopts the header after the head.
    ///
    /// # Errors
    /// `HeaderError`; the verifier is unchanged.
    pub fn follow(&mut self, next: &SealedHeader) -> Result<BlockId, HeaderError> {
        self.head = check_header(&self.config, &self.authenticator, &self.head, &next.into(), StakeSource::FromHeader)?;
        Ok(self.head.block)
    }

    /// Returns the newest verified header.
    pub const fn head(&self) -> BlockId {
        self.head.block
    }

    /// Returns the newest final checkpoint, by votes of two thirds of the stake.
    pub fn finalized(&self) -> super::Checkpoint {
        self.head.state.casper.finalized
    }

    /// Returns the newest justified checkpoint.
    pub fn justified(&self) -> super::Checkpoint {
        self.head.state.casper.justified
    }

    /// Returns the head's epoch: whoever has duties, and whose votes make a checkpoint final.
    pub fn epoch(&self) -> &Epoch {
        &self.head.state.current
    }

    /// Returns the validators of the head's epoch, in a change those before and after it.
    pub fn validators(&self) -> &ValidatorSet {
        self.head.state.current.set()
    }

    /// Returns the slot of the head.
    pub fn slot(&self) -> u64 {
        self.head.state.slot
    }

    /// Whether new headers may still be trusted in epoch `now`, given this finalized checkpoint.
    pub fn is_within_weak_subjectivity(&self, now: u64) -> bool {
        let (period, validators) = (self.head.state.times.longest_period(), self.validators().len());
        now.saturating_sub(self.finalized().epoch) <= self.config.weak_subjectivity_epochs_of(period, validators)
    }
}
