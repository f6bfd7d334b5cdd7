//! Trusting a last irreversible block from headers, payloads and genesis alone.

use std::collections::VecDeque;

use super::{DposConfig, DposError, HeaderError, Link, Schedule, check_header};
use crate::{
    consensus::{Authenticator, BlockId, SealedHeader, UnverifiedHeader, ValidatorSet},
    primitives::{Header, Height, Timestamp},
};

/// Follows a chain by its headers.
///
/// Every header is judged by all rules but one: whom an election elected it takes from the block, for it does not execute.
/// Such a schedule counts only after two thirds of the producers before it built upon it twice.
/// [`LightVerifier::irreversible`] is what a replica calls final.
#[derive(Clone, Debug)]
pub struct LightVerifier {
    config: DposConfig,
    authenticator: Authenticator,
    head: Link,
    irreversible: BlockId,
    /// Blocks above the irreversible one, oldest first.
    above: VecDeque<BlockId>,
}

impl LightVerifier {
    /// Starts at genesis.
    ///
    /// # Errors
    /// [`DposError`] for parameters that are refused.
    pub fn new(
        config: DposConfig,
        genesis: &Header,
        validators: &ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<Self, DposError> {
        config.check()?;
        let block = BlockId { height: Height::GENESIS, hash: genesis.hash_slow() };
        let mut head = Link::genesis(&config, block, Timestamp::from_secs(genesis.timestamp), validators);
        head.candidates.clear();
        Ok(Self { config, authenticator, head, irreversible: block, above: VecDeque::new() })
    }

    /// Takes the header after the head.
    ///
    /// # Errors
    /// [`HeaderError`]; the verifier stays where it was.
    pub fn follow(&mut self, next: &SealedHeader) -> Result<BlockId, HeaderError> {
        let next = UnverifiedHeader::from(next);
        let author = next.author(&self.authenticator)?;
        self.head = check_header(&self.config, &self.authenticator, &self.head, &next, author, false)?;
        self.above.push_back(self.head.block);
        let reached = self.head.state.progress().irreversible();
        while let Some(block) = self.above.pop_front_if(|block| block.height <= reached) {
            self.irreversible = block;
        }
        Ok(self.head.block)
    }

    /// The newest header taken.
    pub const fn head(&self) -> BlockId {
        self.head.block
    }

    /// The last irreversible block.
    pub const fn irreversible(&self) -> BlockId {
        self.irreversible
    }

    /// Who produces after the head.
    pub fn schedule(&self) -> &Schedule {
        self.head.state.active()
    }
}
