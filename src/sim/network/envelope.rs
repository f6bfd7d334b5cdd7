//! Contents of links.

use std::sync::Arc;

use crate::{
    chain::Block,
    consensus::{BlockId, ConsensusMessage},
    primitives::{B256, Transaction},
};

/// A message, transaction, block or block request on a link. Cloning is O(1).
#[derive(Clone, Debug)]
pub(crate) enum Envelope {
    Message(ConsensusMessage),
    Transaction(Arc<Transaction>),
    BlockRequest(BlockId),
    BlockResponse(Arc<Block>),
}

impl Envelope {
    pub(crate) const fn label(&self) -> &'static str {
        match self {
            Self::Message(_) => "message",
            Self::Transaction(_) => "transaction",
            Self::BlockRequest(_) => "block-request",
            Self::BlockResponse(_) => "block-response",
        }
    }

    /// Returns the label that filters of link faults match.
    pub(crate) fn filter_label(&self) -> &str {
        self.message().map_or_else(|| self.label(), ConsensusMessage::label)
    }

    /// Returns the length of the content in bytes, as a link's bandwidth counts it.
    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::Message(message) => message.size_bytes(),
            Self::Transaction(transaction) => transaction.encoded_len(),
            Self::BlockRequest(_) => 40,
            Self::BlockResponse(block) => block.size(),
        }
    }

    /// Returns whether it is the transaction with this hash, or any with `None`.
    pub(crate) fn is_transaction(&self, hash: Option<&B256>) -> bool {
        matches!(self, Self::Transaction(transaction) if hash.is_none_or(|hash| transaction.hash() == *hash))
    }

    pub(super) const fn message(&self) -> Option<&ConsensusMessage> {
        match self {
            Self::Message(message) => Some(message),
            _ => None,
        }
    }
}
