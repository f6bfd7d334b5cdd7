//! Sending transactions that the service signs.

use std::sync::{MutexGuard, PoisonError};

use alloy_primitives::{Address, B256};

use super::{
    Blockchains,
    calls::{check_call, signed_call},
};
use crate::{
    chain::CallRequest,
    platform::{
        PlatformError,
        plan::{Usage, check_use, count_use},
        principal::Principal,
        records::Unit,
        wallet::Wallets,
    },
};

impl<'a> Blockchains<'a> {
    /// Signs the transaction that a request asks for, and sends it. Missing fields are filled in, the sender by
    /// [`Wallets::default_sender`]. It is counted, and each use of a wallet's key is a line of the audit log.
    ///
    /// # Errors
    /// As [`Blockchains::writable`]; [`PlatformError::Validation`] for a sender that the service can't sign for,
    /// [`PlatformError::Conflict`] for a transaction that would fail or is refused and for a full plan.
    pub fn send(&self, principal: &Principal, id: &str, request: CallRequest) -> Result<B256, PlatformError> {
        self.send_with(principal, id, request, |_| Ok(()))
    }

    /// As [`Blockchains::send`]; `record` is in the unit that counts the transaction, before it is sent.
    ///
    /// # Errors
    /// As [`Blockchains::send`], and those of `record`: nothing is sent then.
    pub(in crate::platform) fn send_with(
        &self,
        principal: &Principal,
        id: &str,
        mut request: CallRequest,
        record: impl FnOnce(&mut Unit<'_>) -> Result<(), PlatformError>,
    ) -> Result<B256, PlatformError> {
        let chain = self.writable(principal, id)?;
        let wallets = Wallets { context: self.context };
        let sender = request.from.map_or_else(|| wallets.default_sender(principal, &chain), Ok)?;
        request.from = Some(sender);
        let _turn = self.turn_of(sender);
        let unsigned = wallets.prepare(principal, &chain, request)?;
        let owner = principal.owner();
        let signed = self.context.records.unit(|unit| {
            check_use(unit, &owner, Usage::Transactions, self.context.plan(unit, &owner)?.transactions_max)?;
            count_use(unit, &owner, Usage::Transactions)?;
            record(unit)?;
            wallets.sign(unit, principal, &chain, unsigned)
        })?;
        chain.node().send(signed).map_err(PlatformError::from_send)
    }

    /// Sends a call that somebody else has signed, of a contract's function, whose selector is one of `selectors`.
    ///
    /// # Errors
    /// As [`Blockchains::writable`]; [`PlatformError::Validation`] of `signedTransaction` for another transaction,
    /// [`PlatformError::Conflict`] for one that would fail or is refused.
    pub(in crate::platform) fn send_signed(
        &self,
        principal: &Principal,
        id: &str,
        raw: &[u8],
        (contract, selectors): (Address, &[[u8; 4]]),
    ) -> Result<B256, PlatformError> {
        let chain = self.writable(principal, id)?;
        let transaction = signed_call(raw, contract, selectors)?;
        let request = CallRequest::call(contract, transaction.input().clone());
        check_call(&chain, &request.with_from(transaction.sender()).with_value(transaction.value()))?;
        chain.node().send(transaction).map_err(PlatformError::from_send)
    }

    /// Keeps others from signing for a sender, from the nonce to the pool.
    pub(super) fn turn_of(&self, sender: Address) -> MutexGuard<'a, ()> {
        self.hosted.sender_turn(sender).lock().unwrap_or_else(PoisonError::into_inner)
    }
}
