//! Sending transactions that the service signs, or passes on: the record first, then the transaction.

use std::sync::{MutexGuard, PoisonError};

use alloy_primitives::{Address, B256};

use super::{
    Blockchains,
    calls::{check_call, check_signed},
};
use crate::{
    chain::CallRequest,
    node::BlockRef,
    platform::{
        PlatformError,
        blockchain::Blockchain,
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

impl Outgoing {
    /// Tries it before it is sent.
    fn check(&self, chain: &Blockchain) -> Result<(), PlatformError> {
        match self {
            Self::Request(request) => check_call(chain, request),
            Self::Signed(signed) => check_signed(chain, signed),
        }
    }
}

impl From<CallRequest> for Outgoing {
    fn from(request: CallRequest) -> Self {
        Self::Request(Box::new(request))
    }
}

impl From<Transaction> for Outgoing {
    fn from(signed: Transaction) -> Self {
        Self::Signed(Box::new(signed))
    }
}

/// A transaction that is kept and not yet sent.
struct Kept<'a> {
    stored: Stored<TransactionRecord>,
    signed: Transaction,
    /// The turn of its sender, where the service has signed it.
    turn: Option<MutexGuard<'a, ()>>,
}

impl<'a> Blockchains<'a> {
    /// As [`Blockchains::send_as`], for nothing that is run again.
    ///
    /// # Errors
    /// As [`Blockchains::send_as`].
    pub fn send(&self, principal: &Principal, chain: &str, request: CallRequest) -> Result<B256, PlatformError> {
        Ok(self.send_as(principal, chain, &self.context.id("tx")?, Outgoing::Request(Box::new(request)))?.value.hash)
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
        self.keep_and_send(principal, chain, id, outgoing, |_| Ok(()))
    }

    /// As [`Blockchains::send_as`], of what `make` returns. A request that is run again and has kept its transaction makes nothing and
    /// checks nothing: the chain may have changed by that very transaction. `record` gets what else was made, in the unit that keeps the
    /// transaction, before it is sent.
    ///
    /// # Errors
    /// As [`Blockchains::send_as`], [`PlatformError::Conflict`] for a call that would fail, those of `make` and of `record`: nothing is
    /// sent then.
    pub(in crate::platform) fn send_made<T>(
        &self,
        principal: &Principal,
        (chain, id): (&Blockchain, &str),
        make: impl FnOnce() -> Result<(Outgoing, T), PlatformError>,
        record: impl FnOnce(&mut Unit<'_>, T) -> Result<(), PlatformError>,
    ) -> Result<Stored<TransactionRecord>, PlatformError> {
        if let Some(known) = self.sent(principal, id)? {
            self.send_or_take_back(chain, &known)?;
            return Ok(known);
        }
        let (outgoing, made) = make()?;
        outgoing.check(chain)?;
        self.keep_and_send(principal, chain.id(), id, outgoing, |unit| record(unit, made))
    }

    /// Returns a call that one account alone can make, signed by the service.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] for an account that is no wallet of the workspace; those of reading.
    pub(in crate::platform) fn call_of(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        (account, contract): (Address, Address),
        call: Vec<u8>,
    ) -> Result<Outgoing, PlatformError> {
        let wallets = Wallets { context: self.context };
        if wallets.can_sign(principal, chain, account)? {
            return Ok(CallRequest::call(contract, call).with_from(account).into());
        }
        let message =
            format!("{account} alone can do that, and is no wallet of the workspace: send its signedTransaction");
        Err(PlatformError::Conflict { message })
    }

    /// Returns a transaction of the principal's workspace by the id of its request.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn sent(&self, principal: &Principal, id: &str) -> Result<Option<Stored<TransactionRecord>>, PlatformError> {
        Ok(self.context.records.of::<TransactionRecord>().get(&principal.owner(), id)?)
    }

    /// Signs what `plan` makes of the sender's next nonce, and sends it once: with an id that the workspace has it sends that again if no
    /// block has it. What `record` writes is in the batch that keeps the transaction.
    ///
    /// # Errors
    /// As [`Blockchains::send_as`], those of `plan` and of `record`: nothing is sent then.
    pub(in crate::platform) fn send_planned<T>(
        &self,
        principal: &Principal,
        (chain, id): (&str, &str),
        sender: Address,
        plan: impl FnOnce(u64) -> Result<(CallRequest, T), PlatformError>,
        record: impl FnOnce(&mut Unit<'_>, B256, T) -> Result<(), PlatformError>,
    ) -> Result<Stored<TransactionRecord>, PlatformError> {
        self.send_once(principal, (chain, id), |chain| {
            let wallets = Wallets { context: self.context };
            let turn = self.turn_of(sender);
            let nonce = chain.node().view().nonce(sender, BlockRef::Pending).map_err(PlatformError::from_query)?;
            let (request, made) = plan(nonce)?;
            let unsigned = wallets.prepare(principal, chain, request.with_from(sender).with_nonce(nonce))?;
            self.context.records.unit(|unit| {
                self.count_transaction(unit, principal)?;
                let signed = wallets.sign(unit, principal, chain, unsigned)?;
                record(unit, signed.hash(), made)?;
                Ok(Kept { stored: keep(unit, principal, (chain, id), &signed)?, signed, turn: Some(turn) })
            })
        })
    }

    fn keep_and_send(
        &self,
        principal: &Principal,
        chain: &str,
        id: &str,
        outgoing: Outgoing,
        record: impl FnOnce(&mut Unit<'_>) -> Result<(), PlatformError>,
    ) -> Result<Stored<TransactionRecord>, PlatformError> {
        self.send_once(principal, (chain, id), |chain| match outgoing {
            Outgoing::Signed(transaction) => self.context.records.unit(|unit| {
                self.count_transaction(unit, principal)?;
                record(unit)?;
                let stored = keep(unit, principal, (chain, id), &transaction)?;
                Ok(Kept { stored, signed: *transaction, turn: None })
            }),
            Outgoing::Request(mut request) => {
                let wallets = Wallets { context: self.context };
                let sender = request.from.map_or_else(|| wallets.default_sender(principal, chain), Ok)?;
                request.from = Some(sender);
                let turn = self.turn_of(sender);
                let unsigned = wallets.prepare(principal, chain, *request)?;
                self.context.records.unit(|unit| {
                    self.count_transaction(unit, principal)?;
                    record(unit)?;
                    let signed = wallets.sign(unit, principal, chain, unsigned)?;
                    Ok(Kept { stored: keep(unit, principal, (chain, id), &signed)?, signed, turn: Some(turn) })
                })
            }
        })
    }

    /// Sends what `make` keeps, in the sender's turn; with an id that the workspace has, sends that again if no block has it.
    fn send_once(
        &self,
        principal: &Principal,
        (chain, id): (&str, &str),
        make: impl FnOnce(&Blockchain) -> Result<Kept<'a>, PlatformError>,
    ) -> Result<Stored<TransactionRecord>, PlatformError> {
        let chain = self.writable(principal, chain)?;
        if let Some(known) = self.sent(principal, id)? {
            self.send_or_take_back(&chain, &known)?;
            return Ok(known);
        }
        self.settle::<TransactionRecord>(&chain)?;
        let Kept { stored, signed, turn: _turn } = make(&chain)?;
        self.send_new(&chain, &stored, signed)?;
        Ok(stored)
    }

    /// Counts a transaction of the principal's workspace, within its plan.
    fn count_transaction(&self, unit: &mut Unit<'_>, principal: &Principal) -> Result<(), PlatformError> {
        let owner = principal.owner();
        check_use(unit, &owner, Usage::Transactions, self.context.plan(unit, &owner)?.transactions_max)?;
        Ok(count_use(unit, &owner, Usage::Transactions)?)
    }

    /// Keeps others from signing for a sender, from the nonce to the pool.
    pub(in crate::platform) fn turn_of(&self, sender: Address) -> MutexGuard<'a, ()> {
        self.hosted.sender_turn(sender).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a transaction under the id of its request.
fn keep(
    unit: &mut Unit<'_>,
    principal: &Principal,
    (chain, id): (&Blockchain, &str),
    transaction: &Transaction,
) -> Result<Stored<TransactionRecord>, PlatformError> {
    Ok(unit.insert(&principal.owner(), id, TransactionRecord::new(chain.id(), transaction))?)
}
