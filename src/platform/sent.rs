//! Transactions that are kept, signed, before they are sent. A crash between leaves a record whose transaction is sent again when its chain
//! is next brought up; so is one that was in the pool alone when the process ended.

use alloy_primitives::{Address, B256, Bytes};
use serde::{Deserialize, Serialize};

use super::records::{Index, Reach, Record, SortKey};
use crate::primitives::Transaction;

/// A record with a signed transaction.
pub(super) trait SentRecord: Record {
    /// Those of a chain that no block is known to have.
    const UNSETTLED: Index<Self>;

    /// Hash of the transaction, and the transaction itself (EIP-2718), to be sent again.
    fn transaction(&self) -> (B256, Option<&Bytes>);

    /// Notes that a block has it.
    fn settle(&mut self);
}

/// A transaction that the service signed or passed on for a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionRecord {
    /// Id of the chain.
    pub blockchain_id: String,
    /// Who sends it.
    pub from: Address,
    /// Its hash.
    pub hash: B256,
    /// The transaction (EIP-2718).
    pub transaction: Bytes,
    /// Whether a block is known to have it.
    pub is_settled: bool,
}

impl TransactionRecord {
    /// Transactions of a workspace by chain.
    pub(super) const BY_BLOCKCHAIN: Index<Self> = Index::ordered(
        "blockchain",
        Reach::Owner,
        |sent| Some(SortKey::new().text(&sent.value.blockchain_id)),
        |sent| SortKey::new().number(sent.created_at_ms()),
    );

    pub(super) fn new(blockchain_id: &str, transaction: &Transaction) -> Self {
        Self {
            blockchain_id: blockchain_id.to_owned(),
            from: transaction.sender(),
            hash: transaction.hash(),
            transaction: transaction.encoded(),
            is_settled: false,
        }
    }
}

impl Record for TransactionRecord {
    const KIND: &'static str = "transaction";
    const VERSION: u16 = 1;
    const INDICES: &'static [Index<Self>] = &[Self::BY_BLOCKCHAIN, Self::UNSETTLED];
}

impl SentRecord for TransactionRecord {
    const UNSETTLED: Index<Self> = Index::ordered(
        "unsettled",
        Reach::Owner,
        |sent| (!sent.value.is_settled).then(|| SortKey::new().text(&sent.value.blockchain_id)),
        |sent| SortKey::new().number(sent.created_at_ms()),
    );

    fn transaction(&self) -> (B256, Option<&Bytes>) {
        (self.hash, Some(&self.transaction))
    }

    fn settle(&mut self) {
        self.is_settled = true;
    }
}
