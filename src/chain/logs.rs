//! Searching the logs of canonical blocks.

use alloy_primitives::{Address, B256, Bloom, BloomInput, Log};

use super::{Chain, block::TransactionIndex, error::LogsError, executed_block::ExecutedBlock};
use crate::primitives::{Height, Timestamp};

/// A log query (`eth_getLogs`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogFilter {
    /// First height, inclusive.
    pub from: Height,
    /// Last height, inclusive; heights above the head are ignored.
    pub to: Height,
    /// Addresses of emitting contracts; empty matches any.
    pub addresses: Vec<Address>,
    /// Matching values by topic position; an empty list matches any.
    pub topics: Vec<Vec<B256>>,
}

/// A log with its block, transaction and position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedLog {
    /// The log.
    pub log: Log,
    /// Height of its block.
    pub height: Height,
    /// Hash of its block.
    pub block_hash: B256,
    /// Time of its block.
    pub timestamp: Timestamp,
    /// Hash of its transaction.
    pub transaction_hash: B256,
    /// Index of its transaction in the block.
    pub transaction_index: TransactionIndex,
    /// Its index among the block's logs.
    pub log_index: u32,
}

impl Chain {
    /// Returns the matching canonical logs in order, at most `max`.
    ///
    /// Skips blocks whose bloom rules out a match (Yellow Paper, 4.3.1).
    ///
    /// # Errors
    /// [`LogsError::TooManyResults`] above `max`, [`ReadError::Pruned`](super::ReadError::Pruned) when the range starts below the
    /// oldest block kept.
    pub fn logs(&self, filter: &LogFilter, max: usize) -> Result<Vec<LocatedLog>, LogsError> {
        let mut found = Vec::new();
        let last = filter.to.min(self.head.height()).get();
        for height in filter.from.get()..=last {
            let block = self.block_at(Height::new(height))?;
            found.extend(filter.select(&block));
            if found.len() > max {
                return Err(LogsError::TooManyResults { max });
            }
        }
        Ok(found)
    }
}

impl LogFilter {
    /// Returns a query for all logs from the height `from` to `to`, both inclusive.
    pub fn new(from: Height, to: Height) -> Self {
        Self { from, to, ..Self::default() }
    }

    /// Matches only logs of these contracts.
    #[must_use]
    pub fn with_addresses(self, addresses: Vec<Address>) -> Self {
        Self { addresses, ..self }
    }

    /// Matches only logs with one of the listed values at each topic position; an empty list matches any.
    #[must_use]
    pub fn with_topics(self, topics: Vec<Vec<B256>>) -> Self {
        Self { topics, ..self }
    }

    /// Returns the matching logs of one block, whatever its height.
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
                        timestamp: block.block().timestamp(),
                        transaction_hash: transaction.hash(),
                        transaction_index: index,
                        log_index: place,
                    });
                }
            }
        }
        found
    }

    /// Returns whether a log matches addresses and topics.
    pub fn matches(&self, log: &Log) -> bool {
        let topic_matches = |(wanted, position): (&Vec<B256>, usize)| {
            wanted.is_empty() || log.topics().get(position).is_some_and(|topic| wanted.contains(topic))
        };
        (self.addresses.is_empty() || self.addresses.contains(&log.address))
            && self.topics.len() <= log.topics().len()
            && self.topics.iter().zip(0..).all(topic_matches)
    }

    /// Returns whether a block with this bloom may have a matching log.
    pub fn may_match(&self, bloom: &Bloom) -> bool {
        let holds = |bytes: &[u8]| bloom.contains_input(BloomInput::Raw(bytes));
        let any = |values: &[B256]| values.is_empty() || values.iter().any(|value| holds(value.as_slice()));
        (self.addresses.is_empty() || self.addresses.iter().any(|address| holds(address.as_slice())))
            && self.topics.iter().all(|values| any(values))
    }
}
