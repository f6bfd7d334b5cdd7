//! Sending transactions that are kept in a record: once, and again after a crash. A refused transaction takes its record back, as long as
//! nobody has been told that it was taken; afterwards only one that no block can ever have does.

use core::num::NonZeroUsize;

use alloy_primitives::B256;

use super::Blockchains;
use crate::{
    chain::{InvalidTransaction, PoolError},
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
    /// Sends the transaction of a record unless the chain has it; takes the record back when the chain refuses it, for whatever reason: its
    /// request is still to be answered.
    pub(in crate::platform) fn send_or_take_back<T: SentRecord>(
        &self,
        chain: &Blockchain,
        stored: &Stored<T>,
    ) -> Result<(), PlatformError> {
        let sent = send_unless_known(chain, stored)?;
        self.take_back_refused(chain, stored, sent)
    }

    /// Sends the transaction of a new record, as [`Blockchains::send_or_take_back`] does.
    pub(super) fn send_new<T: SentRecord>(
        &self,
        chain: &Blockchain,
        stored: &Stored<T>,
        transaction: Transaction,
    ) -> Result<(), PlatformError> {
        self.take_back_refused(chain, stored, chain.node().send(transaction).map(drop))
    }

    fn take_back_refused<T: SentRecord>(
        &self,
        chain: &Blockchain,
        stored: &Stored<T>,
        sent: Result<(), SendError>,
    ) -> Result<(), PlatformError> {
        let Err(refused) = sent else { return Ok(()) };
        if self.take_back(chain, stored)? { Err(PlatformError::from_send(refused)) } else { Ok(()) }
    }

    /// Deletes the record of a refused transaction; returns `false` where somebody else has sent it.
    fn take_back<T: SentRecord>(&self, chain: &Blockchain, stored: &Stored<T>) -> Result<bool, PlatformError> {
        if is_known(chain, stored.value.transaction().0)? {
            return Ok(false);
        }
        self.context.records.unit(|unit| {
            let present = unit.of::<T>().get(stored.owner(), stored.id())?;
            present.map_or(Ok::<_, PlatformError>(()), |present| Ok(unit.delete(&present)?))
        })?;
        Ok(true)
    }

    /// Sends the transaction of a record whose request may have been answered long ago, unless the chain has it. Returns whether the chain may
    /// take others: not where it has been stopped meanwhile, nor where its pool or its disk is full.
    fn resend<T: SentRecord>(&self, chain: &Blockchain, stored: &Stored<T>) -> Result<bool, PlatformError> {
        let Err(refused) = send_unless_known(chain, stored)? else { return Ok(true) };
        match Refusal::of(&refused) {
            Refusal::ForGood => self.take_back(chain, stored).map(|_| true),
            Refusal::AtThisHead => Ok(true),
            Refusal::OfAll => match PlatformError::from_send(refused) {
                PlatformError::Conflict { .. } => Ok(false),
                cause => Err(cause),
            },
        }
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

    /// Sends the transactions that no block and no pool has, the oldest first, up to the first that the chain can't take now: that one and the
    /// rest wait until the chain is next brought up.
    pub(super) fn send_unsettled_of<T: SentRecord>(&self, chain: &Blockchain) -> Result<(), PlatformError> {
        while self.settle_first::<T>(chain, &PageRequest::first(SETTLED_AT_ONCE))? {}
        let mut waiting = Vec::new();
        self.context.records.of::<T>().for_each(&T::UNSETTLED, chain.owner(), &on_chain(chain), |sent| {
            waiting.push(sent);
            Ok::<_, RecordError>(())
        })?;
        for sent in waiting {
            if !self.resend(chain, &sent)? {
                break;
            }
        }
        Ok(())
    }
}

/// What the refusal of a transaction that was kept before means for its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// No block can ever have it: its record is taken back.
    ForGood,
    /// A later head may take it, as when its sender has been paid: its record waits.
    AtThisHead,
    /// The chain takes none at present, and this one is as good as before: its record waits, and so do all after it.
    OfAll,
}

impl Refusal {
    const fn of(cause: &SendError) -> Self {
        match cause {
            SendError::Transaction(_)
            | SendError::Unprotected { .. }
            | SendError::Pool(PoolError::NoTemplate { .. } | PoolError::Oversized { .. }) => Self::ForGood,
            SendError::Pool(PoolError::Invalid(reason)) if is_final(reason) => Self::ForGood,
            SendError::Pool(PoolError::Full { .. } | PoolError::QueueFull { .. } | PoolError::State { .. })
            | SendError::Query(_)
            | SendError::Mine(_) => Self::OfAll,
            _ => Self::AtThisHead,
        }
    }
}

/// Whether a transaction that is invalid for this reason is so at every later head: by itself, or as its nonce is used.
const fn is_final(reason: &InvalidTransaction) -> bool {
    matches!(
        reason,
        InvalidTransaction::NonceTooLow { .. }
            | InvalidTransaction::NonceMax { .. }
            | InvalidTransaction::IntrinsicGas { .. }
            | InvalidTransaction::FloorGas { .. }
            | InvalidTransaction::GasLimitAboveCap { .. }
            | InvalidTransaction::TipAboveFee { .. }
            | InvalidTransaction::InitCodeTooLarge { .. }
            | InvalidTransaction::ChainId { .. }
            | InvalidTransaction::SystemSender
            | InvalidTransaction::Impersonated
            | InvalidTransaction::CostOverflow { .. }
    )
}

/// Sends the transaction of a record, if it has one, unless the chain has it.
fn send_unless_known<T: SentRecord>(
    chain: &Blockchain,
    stored: &Stored<T>,
) -> Result<Result<(), SendError>, PlatformError> {
    let (hash, Some(raw)) = stored.value.transaction() else { return Ok(Ok(())) };
    if is_known(chain, hash)? {
        return Ok(Ok(()));
    }
    let decoded = Transaction::decode(raw).map_err(SendError::from);
    Ok(decoded.and_then(|transaction| chain.node().send(transaction)).map(drop))
}

/// Whether a block or the pool has a transaction.
fn is_known(chain: &Blockchain, hash: B256) -> Result<bool, PlatformError> {
    Ok(chain.node().view().transaction(hash).map_err(PlatformError::from_query)?.is_some())
}

/// Group of what was sent on a chain.
fn on_chain(chain: &Blockchain) -> SortKey {
    SortKey::new().text(chain.id())
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, U256};

    use super::*;
    use crate::{
        node::{EngineError, MineError, QueryError},
        primitives::TransactionError,
    };

    #[test]
    fn a_kept_transaction_is_given_up_only_where_no_block_can_have_it() {
        let address = Address::repeat_byte(1);
        let invalid = |reason: InvalidTransaction| SendError::Pool(PoolError::Invalid(reason));
        let halted = EngineError::Halted { reason: "it is stopped".into() };
        for (cause, expected) in [
            (SendError::Transaction(TransactionError::TrailingBytes { count: 1 }), Refusal::ForGood),
            (SendError::Unprotected { chain_id: 1 }, Refusal::ForGood),
            (invalid(InvalidTransaction::NonceTooLow { address, got: 1, want: 2 }), Refusal::ForGood),
            (invalid(InvalidTransaction::NonceTooHigh { address, got: 2, want: 1 }), Refusal::AtThisHead),
            (
                invalid(InvalidTransaction::InsufficientFunds { address, have: U256::ZERO, want: U256::ONE }),
                Refusal::AtThisHead,
            ),
            (SendError::Pool(PoolError::SenderFull { address, count: 1 }), Refusal::AtThisHead),
            (SendError::Pool(PoolError::Full { count: 1, cheapest: 1 }), Refusal::OfAll),
            (SendError::Pool(PoolError::QueueFull { count: 1, cheapest: 1 }), Refusal::OfAll),
            (SendError::Query(QueryError::UnknownTransaction { hash: B256::ZERO }), Refusal::OfAll),
            (SendError::Mine(MineError::Engine(halted)), Refusal::OfAll),
        ] {
            assert_eq!(Refusal::of(&cause), expected, "{cause}");
        }
    }
}
