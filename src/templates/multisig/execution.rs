//! Transactions: their submission, confirmations and execution.

use super::{
    interface as sol,
    state::{Transaction, WALLET, require_owner, require_that},
};
use crate::{primitives::Gas, vm::contract::*};

/// Gas that a call leaves to the wallet, which notes how it ended: MultiSigWallet's number.
const RESERVED_GAS: u64 = 34_710;

/// Notes a transaction and the caller's confirmation, and executes it if that is enough; returns its number.
pub(super) fn submit(host: &mut Host<'_>, call: sol::submitTransactionCall) -> Result<U256, Stop> {
    let id = WALLET.transaction_count.get(host)?;
    require_that(!call.destination.is_zero())?;
    let transaction = WALLET.transactions.at(host, id)?;
    transaction.destination.overwrite(host, call.destination)?;
    transaction.value.set(host, call.value)?;
    store_data(host, transaction, call.destination, call.data)?;
    transaction.executed.set(host, false)?;
    WALLET.transaction_count.set(host, id.wrapping_add(U256::ONE))?;
    host.emit(&sol::Submission { transactionId: id })?;
    confirm(host, id)?;
    Ok(id)
}

/// Keeps a transaction's data. solc before 0.7.4 leaves in the slot of empty data the word of memory behind it but for the lowest byte, which has
/// the length: the destination, first of the members that are there.
fn store_data(host: &mut Host<'_>, transaction: Transaction, destination: Address, data: Bytes) -> Result<(), Stop> {
    if !data.is_empty() {
        return transaction.data.set(host, data);
    }
    let left = U256::from_be_bytes(destination.into_word().0) & !U256::from(0xff);
    host.store(transaction.data.slot(), left)
}

/// Notes the caller's confirmation, and executes the transaction if that is enough.
pub(super) fn confirm(host: &mut Host<'_>, id: U256) -> Result<(), Stop> {
    let sender = host.caller();
    require_owner(host, sender)?;
    require_that(!WALLET.transactions.at(host, id)?.destination.get(host)?.is_zero())?;
    let confirmation = WALLET.confirmations.at(host, id)?.at(host, sender)?;
    require_that(!confirmation.get(host)?)?;
    confirmation.set(host, true)?;
    host.emit(&sol::Confirmation { sender, transactionId: id })?;
    execute(host, id)
}

pub(super) fn revoke(host: &mut Host<'_>, id: U256) -> Result<(), Stop> {
    let sender = host.caller();
    require_confirmed_and_pending(host, id, sender)?;
    WALLET.confirmations.at(host, id)?.set(host, sender, false)?;
    host.emit(&sol::Revocation { sender, transactionId: id })
}

/// Executes a transaction that the caller and enough others confirm; one that fails may be executed again.
pub(super) fn execute(host: &mut Host<'_>, id: U256) -> Result<(), Stop> {
    let sender = host.caller();
    require_confirmed_and_pending(host, id, sender)?;
    if !is_confirmed(host, id)? {
        return Ok(());
    }
    let transaction = WALLET.transactions.at(host, id)?;
    // Before the call, so that the transaction can't be executed inside itself.
    transaction.executed.set(host, true)?;
    if send(host, transaction)? {
        return host.emit(&sol::Execution { transactionId: id });
    }
    host.emit(&sol::ExecutionFailure { transactionId: id })?;
    transaction.executed.set(host, false)
}

/// Sends a transaction from the wallet; returns whether it succeeded (`external_call`).
fn send(host: &mut Host<'_>, transaction: Transaction) -> Result<bool, Stop> {
    let (to, value) = (transaction.destination.get(host)?, transaction.value.get(host)?);
    let data = transaction.data.get(host)?;
    // As a subtraction that wraps, which leaves all that may be forwarded.
    let gas = host.gas_left().get().checked_sub(RESERVED_GAS).map_or(Gas::MAX, Gas::new);
    Ok(host.call_with_gas(to, value, &data, gas)?.is_success())
}

/// Returns whether enough of the owners of now confirm a transaction.
pub(super) fn is_confirmed(host: &mut Host<'_>, id: U256) -> Result<bool, Stop> {
    let (confirmations, required) = (WALLET.confirmations.at(host, id)?, WALLET.required.get(host)?);
    let mut count = U256::ZERO;
    for index in 0..WALLET.owners.len(host)? {
        let owner = WALLET.owners.unchecked_at(host, index)?.get(host)?;
        if confirmations.get(host, owner)? {
            count += U256::ONE;
        }
        if count == required {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the owners of now that confirm a transaction, in their order.
pub(super) fn confirmations(host: &mut Host<'_>, id: U256) -> Result<Vec<Address>, Stop> {
    let confirmations = WALLET.confirmations.at(host, id)?;
    let mut owners = WALLET.owners.to_vec(host)?;
    let mut confirming = Vec::new();
    for owner in owners.drain(..) {
        if confirmations.get(host, owner)? {
            confirming.push(owner);
        }
    }
    Ok(confirming)
}

fn require_confirmed_and_pending(host: &mut Host<'_>, id: U256, sender: Address) -> Result<(), Stop> {
    require_owner(host, sender)?;
    require_that(WALLET.confirmations.at(host, id)?.get(host, sender)?)?;
    require_that(!WALLET.transactions.at(host, id)?.executed.get(host)?)
}
