//! Light verification: follows the last irreversible block from genesis, headers and payloads, without execution.

use std::collections::VecDeque;

use super::{DposConfig, DposError, HeaderContext, HeaderError, Schedule, check_header};
use crate::{
    consensus::{Authenticator, BlockId, SealedHeader, UnverifiedHeader, ValidatorSet},
    primitives::{Header, Height, Timestamp},
};

/// Follows a chain by its headers.
///
/// Every header is verified by all rules except one: the elected producers are taken from the payload, as nothing is executed.
/// Such a schedule is in force only after two thirds of the producers before it confirmed its block in two rounds.
/// [`LightVerifier::irreversible`] is the block that a replica reports as final.
#[derive(Clone, Debug)]
pub struct LightVerifier {
    config: DposConfig,
    authenticator: Authenticator,
    head: HeaderContext,
    irreversible: BlockId,
    /// Blocks above the last irreversible one, oldest first.
    above: VecDeque<BlockId>,
}

impl LightVerifier {
    /// Starts at genesis.
    ///
    /// # Errors
    /// [`DposError`] for invalid parameters.
    pub fn new(
        config: DposConfig,
        genesis: &Header,
        validators: &ValidatorSet,
        authenticator: Authenticator,
    ) -> Result<Self, DposError> {
        config.check()?;
        let block = BlockId { height: Height::GENESIS, hash: genesis.hash_slow() };
        let mut head = HeaderContext::genesis(&config, block, Timestamp::from_secs(genesis.timestamp), validators);
        head.candidates.clear();
        Ok(Self {
            config,
            authenticator: authenticator.for_chain(genesis.hash_slow()),
            head,
            irreversible: block,
            above: VecDeque::new(),
        })
    }

    /// Verifies and adopts the header after the head.
    ///
    /// # Errors
    /// [`HeaderError`]; the verifier is unchanged.
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

    /// Returns the newest verified header.
    pub const fn head(&self) -> BlockId {
        self.head.block
    }

    /// Returns the last irreversible block.
    pub const fn irreversible(&self) -> BlockId {
        self.irreversible
    }

    /// Returns the schedule in force after the head.
    pub fn schedule(&self) -> &Schedule {
        self.head.state.active()
    }
}
