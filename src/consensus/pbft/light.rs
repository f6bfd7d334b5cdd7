//! Trusting a head from headers, their certificates and genesis alone.

use super::{Council, HeaderError, PbftConfig, PbftError, Seal, Succession, rules::check_fields};
use crate::{
    chain::Block,
    consensus::{Authenticator, BlockId, SealedHeader, ValidatorSet},
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
        let block = BlockId { height: Height::new(next.header.number), hash: next.header.hash_slow() };
        if next.header.parent_hash != self.block.hash || block.height != self.block.height.next() {
            let (got, got_height) = (next.header.parent_hash, block.height);
            return Err(HeaderError::Parent { got, got_height, want: self.block });
        }
        let (council, payload) = (self.succession.council(), &next.payload);
        let want = Block::extra_data_of(payload).unwrap_or_default();
        check_fields(&self.config, council, &next.header, next.header.extra_data == want, &self.head)?;
        let certificate = Seal::certificate(&next.seal)?;
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
