//! Following a chain by its headers: what that shows, and what it can't.

use std::sync::Arc;

use super::{HeaderError, Link, Membership, RaftConfig, check_header};
use crate::{
    consensus::{Authenticator, BlockId, SealedHeader, UnverifiedHeader},
    primitives::{Header, Height, Timestamp},
};

/// Follows a chain by its headers, from genesis.
///
/// What a header that it takes *shows*: a voter of that moment sealed it, it extends the one before, its place in the log
/// is later, and the members changed by Raft's own rule.
///
/// What it *can't show*: that the author led, that a majority holds the block, or that it is committed. Raft tolerates crashes
/// and no lies: any single voter could seal a second chain that this verifier takes as well. Trusting a header means
/// trusting all members.
#[derive(Clone, Debug)]
pub struct LightVerifier {
    config: RaftConfig,
    authenticator: Authenticator,
    head: Link,
}

impl LightVerifier {
    /// Starts at genesis with the first members.
    pub fn new(config: RaftConfig, genesis: &Header, members: Membership, authenticator: Authenticator) -> Self {
        let block = BlockId { height: Height::GENESIS, hash: genesis.hash_slow() };
        let head = Link::genesis(block, Timestamp::from_secs(genesis.timestamp), Arc::new(members));
        Self { config, authenticator, head }
    }

    /// Takes the header after the head.
    ///
    /// # Errors
    /// [`HeaderError`]; the verifier stays where it was.
    pub fn follow(&mut self, next: &SealedHeader) -> Result<BlockId, HeaderError> {
        let next = UnverifiedHeader::from(next);
        let author = next.author(&self.authenticator)?;
        self.head = check_header(&self.config, &self.head, &next, author)?;
        Ok(self.head.block)
    }

    /// The newest header taken.
    pub const fn head(&self) -> BlockId {
        self.head.block
    }

    /// Who may lead after the head.
    pub fn members(&self) -> &Membership {
        &self.head.membership
    }
}
