//! The rows of the index: their keys, their serialised form, and changes of several together.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256};
use serde::{Deserialize, Serialize};

use super::{
    Holder, HolderOrder, TokenTransfer,
    events::{Transfer, transfers_of},
};
use crate::{
    chain::ExecutedBlock,
    primitives::{Height, Timestamp},
    store::{Batch, KeyValue, StoreError, Table},
};

/// Before all keys of the index, in the table `Platform` of a chain's part of the store.
pub(super) const PREFIX: &[u8] = b"tokens/";
/// Key of the row with the newest block that is in the index.
pub(super) const NEWEST: &[u8] = b"tokens/newest";
pub(super) const TRANSFERS: &[u8] = b"tokens/transfer/";
pub(super) const BALANCES: &[u8] = b"tokens/balance/";
pub(super) const BY_BALANCE: &[u8] = b"tokens/order/";
const COUNTS: &[u8] = b"tokens/count/";

/// Serialised form of a transfer.
#[derive(Serialize, Deserialize)]
struct TransferRow {
    from: Address,
    to: Address,
    token_id: Option<U256>,
    amount: U256,
    height: u64,
    timestamp: u64,
    transaction_hash: B256,
    log_index: u32,
}

/// Rows of one contract.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) transfers: u64,
    pub(super) holders: u64,
}

/// Rows that change together, over those of the store.
pub(super) struct Changes<'s> {
    rows: &'s dyn KeyValue,
    changed: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl<'s> Changes<'s> {
    pub(super) const fn new(rows: &'s dyn KeyValue) -> Self {
        Self { rows, changed: BTreeMap::new() }
    }

    /// Adds the transfers of a block.
    pub(super) fn apply(&mut self, block: &ExecutedBlock) -> Result<(), StoreError> {
        for (contract, transfer) in transfers_of(block) {
            let mut counts = self.counts(contract)?;
            self.put(transfer_key(contract, counts.transfers), to_bytes(&TransferRow::of(&transfer))?);
            counts.transfers = counts.transfers.saturating_add(1);
            let Transfer { from, to, amount, balance_id, .. } = transfer;
            self.move_tokens(contract, &mut counts, (from, to), balance_id, amount)?;
            self.put_counts(contract, counts)?;
        }
        Ok(())
    }

    /// Takes back the transfers of a block, the newest of the index.
    pub(super) fn revert(&mut self, block: &ExecutedBlock) -> Result<(), StoreError> {
        for (contract, transfer) in transfers_of(block).into_iter().rev() {
            let mut counts = self.counts(contract)?;
            counts.transfers = counts.transfers.saturating_sub(1);
            self.changed.insert(transfer_key(contract, counts.transfers), None);
            let Transfer { from, to, amount, balance_id, .. } = transfer;
            self.move_tokens(contract, &mut counts, (to, from), balance_id, amount)?;
            self.put_counts(contract, counts)?;
        }
        Ok(())
    }

    /// Moves tokens from one account to another. Balances wrap, so that a contract whose events contradict each other is taken back as any
    /// other.
    fn move_tokens(
        &mut self,
        contract: Address,
        counts: &mut Counts,
        (from, to): (Address, Address),
        id: Option<U256>,
        amount: U256,
    ) -> Result<(), StoreError> {
        for (account, is_paid) in [(from, true), (to, false)] {
            if account.is_zero() || amount.is_zero() {
                continue;
            }
            let key = account_key(account, id);
            let row = [BALANCES, contract.as_slice(), &key].concat();
            let old = self.get(&row)?.and_then(|bytes| U256::try_from_be_slice(&bytes)).unwrap_or_default();
            let new = if is_paid { old.wrapping_sub(amount) } else { old.wrapping_add(amount) };
            if !old.is_zero() {
                self.changed.insert(order_key(contract, old, &key), None);
                counts.holders = counts.holders.saturating_sub(1);
            }
            if new.is_zero() {
                self.changed.insert(row, None);
            } else {
                self.put(row, new.to_be_bytes::<32>().to_vec());
                self.put(order_key(contract, new, &key), Vec::new());
                counts.holders = counts.holders.saturating_add(1);
            }
        }
        Ok(())
    }

    pub(super) fn counts(&self, contract: Address) -> Result<Counts, StoreError> {
        let row = self.get(&[COUNTS, contract.as_slice()].concat())?;
        Ok(row.and_then(|row| postcard::from_bytes(&row).ok()).unwrap_or_default())
    }

    fn put_counts(&mut self, contract: Address, counts: Counts) -> Result<(), StoreError> {
        let key = [COUNTS, contract.as_slice()].concat();
        if counts.transfers == 0 {
            self.changed.insert(key, None);
        } else {
            let row = to_bytes(&counts)?;
            self.put(key, row);
        }
        Ok(())
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self.changed.get(key) {
            Some(changed) => Ok(changed.clone()),
            None => Ok(self.rows.get(Table::Platform, key)?.map(|bytes| bytes.to_vec())),
        }
    }

    fn put(&mut self, key: Vec<u8>, row: Vec<u8>) {
        self.changed.insert(key, Some(row));
    }

    /// Returns the batch, which names the newest block.
    pub(super) fn finish(mut self, (height, hash): (u64, B256)) -> Batch {
        self.put(NEWEST.to_vec(), [height.to_be_bytes().as_slice(), hash.as_slice()].concat());
        let mut batch = Batch::new();
        for (key, row) in self.changed {
            match row {
                Some(row) => batch.put(Table::Platform, key, row),
                None => batch.delete(Table::Platform, key),
            }
        }
        batch
    }
}

impl TransferRow {
    const fn of(transfer: &Transfer) -> Self {
        Self {
            from: transfer.from,
            to: transfer.to,
            token_id: transfer.token_id,
            amount: transfer.amount,
            height: transfer.height.get(),
            timestamp: transfer.timestamp.as_secs(),
            transaction_hash: transfer.transaction_hash,
            log_index: transfer.log_index,
        }
    }

    const fn transfer(self) -> TokenTransfer {
        TokenTransfer {
            from: self.from,
            to: self.to,
            token_id: self.token_id,
            amount: self.amount,
            height: Height::new(self.height),
            timestamp: Timestamp::from_secs(self.timestamp),
            transaction_hash: self.transaction_hash,
            log_index: self.log_index,
        }
    }
}

/// Reads a transfer from its row.
pub(super) fn read_transfer(row: &[u8]) -> Result<TokenTransfer, postcard::Error> {
    postcard::from_bytes::<TransferRow>(row).map(TransferRow::transfer)
}

fn to_bytes(row: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    postcard::to_allocvec(row).map_err(|cause| StoreError::Io { operation: "write", reason: cause.to_string() })
}

pub(super) fn transfer_key(contract: Address, number: u64) -> Vec<u8> {
    [TRANSFERS, contract.as_slice(), &number.to_be_bytes()].concat()
}

/// Key of an account's balance behind that of the contract.
fn account_key(account: Address, id: Option<U256>) -> Vec<u8> {
    let mut key = account.to_vec();
    key.extend(id.iter().flat_map(U256::to_be_bytes::<32>));
    key
}

fn order_key(contract: Address, balance: U256, account: &[u8]) -> Vec<u8> {
    [BY_BALANCE, contract.as_slice(), &balance.to_be_bytes::<32>(), account].concat()
}

/// Reads a holder from a row, by its key behind that of the contract.
pub(super) fn holder(by: HolderOrder, key: &[u8], value: &[u8]) -> Option<Holder> {
    let (balance, account) = match by {
        HolderOrder::Address => (value, key),
        HolderOrder::Balance => key.split_at_checked(32)?,
    };
    let (address, id) = account.split_first_chunk::<20>()?;
    Some(Holder {
        address: Address::from(*address),
        token_id: if id.is_empty() { None } else { Some(U256::try_from_be_slice(id)?) },
        balance: U256::try_from_be_slice(balance)?,
    })
}
