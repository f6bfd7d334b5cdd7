//! A light verifier: follows a chain by its headers.

use std::sync::Arc;

use super::{HeaderContext, HeaderError, Membership, RaftConfig, check_header};
use crate::{
    consensus::{Authenticator, BlockId, SealedHeader, UnverifiedHeader},
    primitives::{Header, Height, Timestamp},
};

/// Follows a chain by its headers, from genesis.
///
/// An accepted header *proves*: a voter of its parent's configuration sealed it, it extends its parent, its log index is
/// higher, and the membership changed by Raft's rules.
///
/// It *does not prove* that the author was leader, that a majority stores the block, or that it is committed. Raft
/// tolerates crash faults only: any single voter could seal a second chain that this verifier accepts as well. Trusting
/// a header means trusting all members.
#[derive(Clone, Debug)]
pub struct LightVerifier {
    config: RaftConfig,
    authenticator: Authenticator,
    head: HeaderContext,
}

impl LightVerifier {
    /// Creates a verifier at genesis with the initial members.
    pub fn new(config: RaftConfig, genesis: &Header, members: Membership, authenticator: Authenticator) -> Self {
        let block = BlockId { height: Height::GENESIS, hash: genesis.hash_slow() };
        let head = HeaderContext::genesis(block, Timestamp::from_secs(genesis.timestamp), Arc::new(members));
        let head = HeaderContext { pending: None, ..head };
        Self { config, authenticator: authenticator.for_chain(genesis.hash_slow()), head }
    }

    /// Verifies and adopts the header after the head.
    ///
    /// # Errors
    /// [`HeaderError`]; the verifier is unchanged.
    pub fn follow(&mut self, next: &SealedHeader) -> Result<BlockId, HeaderError> {
        let next = UnverifiedHeader::from(next);
        let author = next.author(&self.authenticator)?;
        self.head = check_header(&self.config, &self.head, &next, author)?;
        Ok(self.head.block)
    }

    /// Returns the newest verified block.
    pub const fn head(&self) -> BlockId {
        self.head.block
    }

    /// Returns the configuration after the head.
    pub fn members(&self) -> &Membership {
        &self.head.membership
    }
}
