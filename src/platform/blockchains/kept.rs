//! Sending transactions that are kept in a record: once, and again after a crash. A refused transaction takes its record back.

use core::num::NonZeroUsize;

use alloy_primitives::B256;

use super::Blockchains;
use crate::{
    node::SendError,
    platform::{
        PlatformError,
        blockchain::Blockchain,
        records::{PageRequest, RecordError, SortKey, Stored},
        sent::SentRecord,
        transaction_outcome::{TransactionOutcome, TransactionState},
    },
    primitives::Transaction,
    store::Order,
};

/// Transactions that are looked for at once.
const SETTLED_AT_ONCE: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");
/// Of so many looks one is for the oldest: fewer than it looks for at once, so that none is left behind.
const OLDEST_EACH: u64 = 32;

impl Blockchains<'_> {
    /// Sends the transaction of a record unless the chain has it; takes the record back when the chain refuses it.
    pub(in crate::platform) fn send_or_take_back<T: SentRecord>(
        &self,
        chain: &Blockchain,
        stored: &Stored<T>,
    ) -> Result<(), PlatformError> {
        let (hash, Some(raw)) = stored.value.transaction() else { return Ok(()) };
        let known = chain.node().view().transaction(hash);
        if known.map_err(PlatformError::from_query)?.is_some() {
            return Ok(());
        }
        let sent = Transaction::decode(raw).map_err(SendError::from).and_then(|decoded| chain.node().send(decoded));
        self.take_back_refused(chain, stored, sent)
    }

    /// Sends the transaction of a new record, as [`Blockchains::send_or_take_back`] does.
    pub(super) fn send_new<T: SentRecord>(
        &self,
        chain: &Blockchain,
        stored: &Stored<T>,
        transaction: Transaction,
    ) -> Result<(), PlatformError> {
        self.take_back_refused(chain, stored, chain.node().send(transaction))
    }

    fn take_back_refused<T: SentRecord>(
        &self,
        chain: &Blockchain,
        stored: &Stored<T>,
        sent: Result<B256, SendError>,
    ) -> Result<(), PlatformError> {
        let Err(refused) = sent else { return Ok(()) };
        // Somebody else has sent it.
        let known = chain.node().view().transaction(stored.value.transaction().0);
        if known.map_err(PlatformError::from_query)?.is_some() {
            return Ok(());
        }
        self.context.records.unit(|unit| {
            let present = unit.of::<T>().get(stored.owner(), stored.id())?;
            present.map_or(Ok::<_, PlatformError>(()), |present| Ok(unit.delete(&present)?))
        })?;
        Err(PlatformError::from_send(refused))
    }

    /// Notes which of a chain's unsettled transactions are in blocks or never will be, as another has used their nonce, so that nobody looks
    /// for them again: the newest, and at times many of the oldest. Between these a store passes all that were settled since it forgot some.
    pub(in crate::platform) fn settle<T: SentRecord>(&self, chain: &Blockchain) -> Result<(), PlatformError> {
        let (order, at_once) = match chain.next_look(T::KIND) % OLDEST_EACH {
            0 => (Order::Ascending, SETTLED_AT_ONCE),
            _ => (Order::Descending, NonZeroUsize::MIN),
        };
        self.settle_first::<T>(chain, &PageRequest::first(at_once).in_order(order).counted()).map(drop)
    }

    /// Notes which unsettled transactions of a page of a chain's have nothing left to wait for; returns whether it noted any.
    fn settle_first<T: SentRecord>(&self, chain: &Blockchain, page: &PageRequest) -> Result<bool, PlatformError> {
        let open = self.context.records.of::<T>().page(&T::UNSETTLED, chain.owner(), &on_chain(chain), page)?;
        let mut over = Vec::new();
        for sent in open.items {
            if TransactionOutcome::of_sent(chain, &sent.value)?.state != TransactionState::Pending {
                over.push(sent);
            }
        }
        if over.is_empty() {
            return Ok(false);
        }
        self.context.records.unit(|unit| {
            for mut sent in over {
                sent.value.settle();
                // One that was deleted or settled meanwhile has nothing left to do.
                match unit.replace(&sent) {
                    Ok(_) | Err(RecordError::Missing { .. } | RecordError::Stale { .. }) => {}
                    Err(cause) => return Err(cause),
                }
            }
            Ok::<_, RecordError>(())
        })?;
        Ok(true)
    }

    /// Sends the transactions that no block and no pool has, the oldest first.
    pub(super) fn send_unsettled_of<T: SentRecord>(&self, chain: &Blockchain) -> Result<(), PlatformError> {
        while self.settle_first::<T>(chain, &PageRequest::first(SETTLED_AT_ONCE))? {}
        let mut waiting = Vec::new();
        self.context.records.of::<T>().for_each(&T::UNSETTLED, chain.owner(), &on_chain(chain), |sent| {
            waiting.push(sent);
            Ok::<_, RecordError>(())
        })?;
        for sent in waiting {
            // A refused one is gone; who asked for it finds it so.
            match self.send_or_take_back(chain, &sent) {
                Ok(()) | Err(PlatformError::Conflict { .. } | PlatformError::InsufficientBalance { .. }) => {}
                Err(cause) => return Err(cause),
            }
        }
        Ok(())
    }
}

/// Group of what was sent on a chain.
fn on_chain(chain: &Blockchain) -> SortKey {
    SortKey::new().text(chain.id())
}
