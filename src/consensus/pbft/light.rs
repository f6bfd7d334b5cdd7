//! Trusting a head from headers, their certificates and genesis alone.

use super::{Council, HeaderError, PbftConfig, PbftError, Seal, Succession, rules::check_fields};
use crate::{
    consensus::{Authenticator, BlockId, SealedHeader, UnverifiedHeader, ValidatorSet},
    primitives::{Header, Height},
};

/// Follows a chain by its headers: every one needs a quorum's certificate, so every one taken is final.
///
/// A header that changes the validators names the new ones in its payload, and those before them certified it.
#[derive(Clone, Debug)]
pub struct LightVerifier {
    config: PbftConfig,
    authenticator: Authenticator,
    succession: Succession,
    head: Header,
    block: BlockId,
}

impl LightVerifier {
    /// Starts at genesis.
    ///
    /// # Errors
    /// [`PbftError`] for parameters or a number of validators that PBFT refuses.
    pub fn new(
        config: PbftConfig,
        genesis: &Header,
        validators: ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<Self, PbftError> {
        let block = BlockId { height: Height::GENESIS, hash: genesis.hash_slow() };
        let succession = Succession::new(Council::new(&config, validators)?);
        Ok(Self { config, authenticator, succession, head: genesis.clone(), block })
    }

    /// Takes the header after the head.
    ///
    /// # Errors
    /// [`HeaderError`]; the verifier stays where it was.
    pub fn follow(&mut self, next: &SealedHeader) -> Result<BlockId, HeaderError> {
        let next = UnverifiedHeader::from(next);
        let (block, council, payload) = (next.id(), self.succession.council(), next.payload);
        next.check_parent(self.block)?;
        check_fields(&self.config, council, &next, &self.head)?;
        let certificate = Seal::certificate(next.seal)?;
        certificate.verify(block, council, &self.authenticator)?;
        self.succession = self.succession.after_proven(&self.config, block.height, payload, &self.authenticator)?;
        (self.head, self.block) = (next.header.clone(), block);
        Ok(block)
    }

    /// Who certifies the header after the head.
    pub const fn validators(&self) -> &ValidatorSet {
        self.succession.council().validators()
    }

    /// The newest header taken, which is final.
    pub const fn head(&self) -> BlockId {
        self.block
    }
}
