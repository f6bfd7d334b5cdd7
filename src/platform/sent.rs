//! Transactions that are kept, signed, before they are sent. A crash between leaves a record whose transaction is sent again when its chain
//! is next brought up; so is one that was in the pool alone when the process ended.

use core::num::NonZeroUsize;

use alloy_primitives::{Address, B256, Bytes};
use serde::{Deserialize, Serialize};

use super::records::{
    IdempotentRequest, Index, KEPT_MS, Owner, PageRequest, Reach, Record, RecordError, Records, SortKey, Stored,
};
use crate::primitives::Transaction;

/// A record with a signed transaction.
pub(super) trait SentRecord: Record {
    /// Those of a chain that still may come into a block.
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
    /// Whether a block is known to have it, or one to have another transaction with its nonce.
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
    /// Those that wait for no block any more, of the whole service, by the time at which that was found.
    const SETTLED: Index<Self> = Index::ordered(
        "settled",
        Reach::Service,
        |sent| sent.value.is_settled.then(SortKey::new),
        |sent| SortKey::new().number(sent.updated_at_ms()),
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
    const INDICES: &'static [Index<Self>] = &[Self::BY_BLOCKCHAIN, Self::UNSETTLED, Self::SETTLED];
}

/// Counter that is 1 once the index of settled transactions has what was in the store before it was.
const INDEXED: &str = "settled-transactions-indexed";

/// Completes the index of settled transactions in a store that was written before it was.
pub(super) fn complete_indices(records: &Records) -> Result<(), RecordError> {
    records.once(INDEXED, Records::complete_indices::<TransactionRecord>)
}

/// Deletes transactions that a block was found to have as long ago as the response to an idempotent request is kept, at most as many as
/// `page` takes; returns how many. While a request is not answered, nothing that was sent since it was accepted is deleted: it will find
/// its transaction when it is run again.
pub(super) fn forget_settled(records: &Records, page: &PageRequest) -> Result<usize, RecordError> {
    records.unit(|unit| {
        let (first, group) = (PageRequest::first(NonZeroUsize::MIN).counted(), SortKey::new());
        let unfinished = unit.front(&IdempotentRequest::UNFINISHED, &Owner::Service, &group, &first)?;
        let is_awaited = |sent: &Stored<TransactionRecord>| {
            unfinished.items.first().is_some_and(|request| sent.created_at_ms() >= request.created_at_ms())
        };
        let settled = unit.front(&TransactionRecord::SETTLED, &Owner::Service, &group, page)?;
        let now_ms = unit.now_ms();
        let is_old = |sent: &Stored<TransactionRecord>| sent.updated_at_ms().saturating_add(KEPT_MS) <= now_ms;
        let old = settled.items.into_iter().take_while(is_old).filter(|sent| !is_awaited(sent));
        let mut count = 0_usize;
        for sent in old {
            unit.delete(&sent)?;
            count = count.saturating_add(1);
        }
        Ok(count)
    })
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
