//! Sending transactions that the service signs, or passes on: the record first, then the transaction.

use std::sync::{MutexGuard, PoisonError};

use alloy_primitives::{Address, B256};

use super::Blockchains;
use crate::{
    chain::CallRequest,
    platform::{
        PlatformError,
        plan::{Usage, check_use, count_use},
        principal::Principal,
        records::{Stored, Unit},
        sent::TransactionRecord,
        wallet::Wallets,
    },
    primitives::Transaction,
};

/// What is to be sent.
#[derive(Clone, Debug)]
pub enum Outgoing {
    /// A transaction that the service signs.
    Request(Box<CallRequest>),
    /// One that the caller has signed.
    Signed(Box<Transaction>),
}

impl<'a> Blockchains<'a> {
    /// As [`Blockchains::send_as`], for nothing that is run again.
    ///
    /// # Errors
    /// As [`Blockchains::send_as`].
    pub fn send(&self, principal: &Principal, chain: &str, request: CallRequest) -> Result<B256, PlatformError> {
        let id = self.context.id("tx")?;
        Ok(self.send_as(principal, chain, &id, Outgoing::Request(Box::new(request)))?.value.hash)
    }

    /// Sends a transaction under an id that was drawn for the request, once: with the id of one of the workspace it sends that again if no
    /// block has it. Missing fields of a request are filled in, the sender by [`Wallets::default_sender`]. It is counted, and each use of a
    /// wallet's key is a line of the audit log.
    ///
    /// # Errors
    /// As [`Blockchains::writable`]; [`PlatformError::Validation`] for a sender that the service can't sign for,
    /// [`PlatformError::Conflict`] for a transaction that would fail or is refused and for a full plan.
    pub fn send_as(
        &self,
        principal: &Principal,
        chain: &str,
        id: &str,
        outgoing: Outgoing,
    ) -> Result<Stored<TransactionRecord>, PlatformError> {
        let (chain, owner) = (self.writable(principal, chain)?, principal.owner());
        if let Some(known) = self.sent(principal, id)? {
            self.send_or_take_back(&chain, &known)?;
            return Ok(known);
        }
        let _ = self.settle::<TransactionRecord>(&chain)?;
        let wallets = Wallets { context: self.context };
        let keep = |unit: &mut Unit<'_>, transaction: &Transaction| {
            check_use(unit, &owner, Usage::Transactions, self.context.plan(unit, &owner)?.transactions_max)?;
            count_use(unit, &owner, Usage::Transactions)?;
            Ok::<_, PlatformError>(unit.insert(&owner, id, TransactionRecord::new(chain.id(), transaction))?)
        };
        let (stored, _turn) = match outgoing {
            Outgoing::Signed(transaction) => (self.context.records.unit(|unit| keep(unit, &transaction))?, None),
            Outgoing::Request(mut request) => {
                let sender = request.from.map_or_else(|| wallets.default_sender(principal, &chain), Ok)?;
                request.from = Some(sender);
                let turn = self.turn_of(sender);
                let unsigned = wallets.prepare(principal, &chain, *request)?;
                let stored = self.context.records.unit(|unit| {
                    let signed = wallets.sign(unit, principal, &chain, unsigned)?;
                    keep(unit, &signed)
                })?;
                (stored, Some(turn))
            }
        };
        self.send_or_take_back(&chain, &stored)?;
        Ok(stored)
    }

    /// Returns a transaction of the principal's workspace by the id of its request.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn sent(&self, principal: &Principal, id: &str) -> Result<Option<Stored<TransactionRecord>>, PlatformError> {
        Ok(self.context.records.of::<TransactionRecord>().get(&principal.owner(), id)?)
    }

    /// Keeps others from signing for a sender, from the nonce to the pool.
    pub(super) fn turn_of(&self, sender: Address) -> MutexGuard<'a, ()> {
        self.hosted.sender_turn(sender).lock().unwrap_or_else(PoisonError::into_inner)
    }
}
