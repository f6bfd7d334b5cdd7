//! Headers as light verifiers read them.

use super::{id::BlockId, validators::ValidatorSet};
use crate::{
    chain::Block,
    primitives::{Bytes, Header},
};

/// A header with the payload and seal kept beside it: all that a light verifier sees of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedHeader {
    /// The standard header.
    pub header: Header,
    /// The consensus payload.
    pub payload: Bytes,
    /// The author's seal over the header's hash, or the certificate.
    pub seal: Bytes,
}

impl From<&Block> for SealedHeader {
    fn from(block: &Block) -> Self {
        Self { header: block.header().clone(), payload: block.payload().clone(), seal: block.seal().clone() }
    }
}

/// One protocol's verifier of a chain by its headers.
pub(crate) trait FollowHeaders {
    /// The rule that a header breaks.
    type Error;

    /// Verifies the header after the head and makes it the head.
    ///
    /// # Errors
    /// The rule that it breaks; the verifier is unchanged.
    fn follow(&mut self, next: &SealedHeader) -> Result<BlockId, Self::Error>;

    /// Returns the newest verified block.
    fn head(&self) -> BlockId;

    /// Returns the newest block that is final in the protocol's own sense; by default every verified block is.
    fn finalized(&self) -> BlockId {
        self.head()
    }

    /// Returns the validators that may author the block after the head.
    fn validators(&self) -> ValidatorSet;
}
