//! Finding logs.

use alloy_primitives::{Address, B256, Bloom, BloomInput, Log};

use super::{Chain, block::TransactionIndex, error::ChainError, executed_block::ExecutedBlock};
use crate::primitives::Height;

/// Which logs to find (`eth_getLogs`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// First height.
    pub from: Height,
    /// Last height, inclusive; beyond the head it is the head.
    pub to: Height,
    /// Emitters; empty for any.
    pub addresses: Vec<Address>,
    /// For each topic position the values that match; empty for any.
    pub topics: Vec<Vec<B256>>,
}

/// A log and where it was emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedLog {
    /// The log.
    pub log: Log,
    /// Height of its block.
    pub height: Height,
    /// Hash of its block.
    pub block_hash: B256,
    /// Time of its block, in seconds since the Unix epoch.
    pub timestamp: u64,
    /// Hash of its transaction.
    pub transaction_hash: B256,
    /// Its transaction's place in the block.
    pub transaction_index: TransactionIndex,
    /// Its place among the block's logs.
    pub log_index: u32,
}

impl Chain {
    /// Canonical logs that match, in order, at most `max`.
    ///
    /// A block whose bloom rules out a match is passed over (Yellow Paper, 4.3.1).
    ///
    /// # Errors
    /// [`ChainError::TooManyResults`] past `max`, [`ChainError::Pruned`] when the range starts before what is kept.
    pub fn logs(&self, filter: &LogFilter, max: usize) -> Result<Vec<LocatedLog>, ChainError> {
        let mut found = Vec::new();
        let last = filter.to.min(self.head.height()).get();
        for height in filter.from.get()..=last {
            let block = self.block_at(Height::new(height))?;
            found.extend(filter.select(&block));
            if found.len() > max {
                return Err(ChainError::TooManyResults { max });
            }
        }
        Ok(found)
    }
}

impl LogFilter {
    /// The block's logs that match, wherever the block is; heights are not looked at.
    pub fn select(&self, block: &ExecutedBlock) -> Vec<LocatedLog> {
        if !self.may_match(&block.block().header().logs_bloom) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (index, (receipt, transaction)) in (0..).zip(block.receipts().iter().zip(block.block().transactions())) {
            for (place, log) in (receipt.first_log_index..).zip(receipt.logs()) {
                if self.matches(log) {
                    found.push(LocatedLog {
                        log: log.clone(),
                        height: block.height(),
                        block_hash: block.hash(),
                        timestamp: block.block().header().timestamp,
                        transaction_hash: transaction.hash(),
                        transaction_index: index,
                        log_index: place,
                    });
                }
            }
        }
        found
    }

    /// Whether a log matches emitters and topics.
    pub fn matches(&self, log: &Log) -> bool {
        let topic_matches = |(wanted, position): (&Vec<B256>, usize)| {
            wanted.is_empty() || log.topics().get(position).is_some_and(|topic| wanted.contains(topic))
        };
        (self.addresses.is_empty() || self.addresses.contains(&log.address))
            && self.topics.len() <= log.topics().len()
            && self.topics.iter().zip(0..).all(topic_matches)
    }

    /// Whether a block with this bloom may hold a match.
    pub fn may_match(&self, bloom: &Bloom) -> bool {
        let holds = |bytes: &[u8]| bloom.contains_input(BloomInput::Raw(bytes));
        let any = |values: &[B256]| values.is_empty() || values.iter().any(|value| holds(value.as_slice()));
        (self.addresses.is_empty() || self.addresses.iter().any(|address| holds(address.as_slice())))
            && self.topics.iter().all(|values| any(values))
    }
}
