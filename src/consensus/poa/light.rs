//! Light verification: follows the head from genesis and headers alone, without execution.

use std::collections::{BTreeSet, VecDeque};

use super::{HeaderContext, HeaderError, PoaConfig, check_header};
use crate::{
    consensus::{Authenticator, BlockId, SealedHeader, UnverifiedHeader, ValidatorSet},
    primitives::{Address, Header, Height, Timestamp},
};

/// Follows a chain by its headers.
///
/// Every header is verified by all the protocol's rules. [`LightVerifier::settled`] is the newest block with more than
/// half of the signers, each counted once, above it; with one signer, the head.
///
/// On a chain with the validators' contract a header that takes changes of signers over is trusted with them, as with the chain's
/// parameters: who executes no blocks can't know what the contract says. A single signer could name others.
#[derive(Clone, Debug)]
pub struct LightVerifier {
    config: PoaConfig,
    authenticator: Authenticator,
    head: HeaderContext,
    settled: BlockId,
    /// Blocks above the settled one and their authors, oldest first.
    above: VecDeque<(BlockId, Address)>,
}

impl LightVerifier {
    /// Starts at genesis.
    pub fn new(config: PoaConfig, genesis: &Header, signers: ValidatorSet, authenticator: Authenticator) -> Self {
        let block = BlockId { height: Height::GENESIS, hash: genesis.hash_slow() };
        let head = HeaderContext::genesis(block, Timestamp::from_secs(genesis.timestamp), signers);
        let head = HeaderContext { pending: None, ..head };
        Self {
            config,
            authenticator: authenticator.for_chain(genesis.hash_slow()),
            head,
            settled: block,
            above: VecDeque::new(),
        }
    }

    /// Verifies and adopts the header after the head.
    ///
    /// # Errors
    /// [`HeaderError`]; the verifier is unchanged.
    pub fn follow(&mut self, next: &SealedHeader) -> Result<BlockId, HeaderError> {
        let next = UnverifiedHeader::from(next);
        let author = next.author(&self.authenticator)?;
        self.head = check_header(&self.config, &self.head, &next, author)?;
        self.above.push_back((self.head.block, author));
        self.settle();
        Ok(self.head.block)
    }

    /// Returns the newest verified header.
    pub const fn head(&self) -> BlockId {
        self.head.block
    }

    /// Returns the newest block that a majority of signers built upon.
    pub const fn settled(&self) -> BlockId {
        self.settled
    }

    /// Returns the signers that may sign the next block.
    pub fn signers(&self) -> &ValidatorSet {
        self.head.snapshot.signers()
    }

    fn settle(&mut self) {
        let authors = self.above.iter().rev().map(|(block, author)| (*block, *author));
        let count = self.head.snapshot.signers().len();
        if let Some(settled) = newest_settled(count, authors) {
            self.settled = settled;
            while self.above.front().is_some_and(|(block, _)| block.height <= settled.height) {
                self.above.pop_front();
            }
        }
    }
}

/// Returns the newest block with more than half of `signers` distinct authors above it, given the branch from its head down.
pub(super) fn newest_settled(signers: usize, branch: impl IntoIterator<Item = (BlockId, Address)>) -> Option<BlockId> {
    let mut authors = BTreeSet::new();
    for (block, author) in branch {
        if authors.len() > signers / 2 || signers == 1 {
            return Some(block);
        }
        authors.insert(author);
    }
    None
}
