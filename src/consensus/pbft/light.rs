//! Trusting a head from headers, their certificates and genesis alone.

use super::{HeaderError, PbftConfig, PbftError, PbftRules, Seal};
use crate::{
    consensus::{Authenticator, BlockId, ValidatorSet, poa::SealedHeader},
    primitives::{Header, Height},
};

/// Follows a chain by its headers: every one needs a quorum's certificate, so every one taken is final.
#[derive(Clone, Debug)]
pub struct LightVerifier {
    rules: PbftRules,
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
        Ok(Self { rules: PbftRules::new(config, validators, authenticator)?, head: genesis.clone(), block })
    }

    /// Takes the header after the head.
    ///
    /// # Errors
    /// [`HeaderError`]; the verifier stays where it was.
    pub fn follow(&mut self, next: &SealedHeader) -> Result<BlockId, HeaderError> {
        let block = BlockId { height: Height::new(next.header.number), hash: next.header.hash_slow() };
        if next.header.parent_hash != self.block.hash || block.height != self.block.height.next() {
            let (got, got_height) = (next.header.parent_hash, block.height);
            return Err(HeaderError::Parent { got, got_height, want: self.block });
        }
        self.rules.check_fields(&next.header, &next.payload, &self.head)?;
        let certificate = Seal::certificate(&next.seal)?;
        certificate.verify(block, &self.rules.validators, &self.rules.quorums, &self.rules.authenticator)?;
        (self.head, self.block) = (next.header.clone(), block);
        Ok(block)
    }

    /// The newest header taken, which is final.
    pub const fn head(&self) -> BlockId {
        self.block
    }
}
