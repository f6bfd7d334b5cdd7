//! Light verification of a head from headers, their certificates and genesis alone.

use super::{Committee, CommitteeTransition, HeaderError, PbftConfig, PbftError, Seal, rules::check_fields};
use crate::{
    consensus::{Authenticator, BlockId, SealedHeader, UnverifiedHeader, ValidatorSet},
    primitives::{Header, Height},
};

/// Follows a chain by its headers: each needs a quorum's certificate, so each accepted one is final.
///
/// A header that changes the committee names the new one in its payload and is certified by the old one.
#[derive(Clone, Debug)]
pub struct LightVerifier {
    config: PbftConfig,
    authenticator: Authenticator,
    transition: CommitteeTransition,
    head: Header,
    block: BlockId,
}

impl LightVerifier {
    /// Returns a verifier at genesis.
    ///
    /// # Errors
    /// [`PbftError`] for invalid parameters or too few validators.
    pub fn new(
        config: PbftConfig,
        genesis: &Header,
        validators: ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<Self, PbftError> {
        let block = BlockId { height: Height::GENESIS, hash: genesis.hash_slow() };
        let transition = CommitteeTransition::new(Committee::new(&config, validators)?);
        Ok(Self {
            config,
            authenticator: authenticator.for_chain(genesis.hash_slow()),
            transition,
            head: genesis.clone(),
            block,
        })
    }

    /// Verifies and adopts the header after the head.
    ///
    /// # Errors
    /// [`HeaderError`]; the verifier is unchanged.
    pub fn follow(&mut self, next: &SealedHeader) -> Result<BlockId, HeaderError> {
        let next = UnverifiedHeader::from(next);
        let (block, committee, payload) = (next.id(), self.transition.committee(), next.payload.clone());
        next.check_parent(self.block)?;
        check_fields(&self.transition.config_in_force(&self.config), committee, &next, &self.head)?;
        let certificate = Seal::certificate(next.seal)?;
        certificate.verify(block, committee, &self.authenticator)?;
        next.check_boundary(self.config.is_checkpoint(&block))?;
        let after = self.transition.after_proven(&self.config, block.height, &payload, &self.authenticator)?;
        self.transition = after.with_parameters(&self.config, block.height, &next.parameters);
        (self.head, self.block) = (next.header.clone(), block);
        Ok(block)
    }

    /// Returns the validators that certify the header after the head.
    pub const fn validators(&self) -> &ValidatorSet {
        self.transition.committee().validators()
    }

    /// Returns the newest verified header, which is final.
    pub const fn head(&self) -> BlockId {
        self.block
    }
}
