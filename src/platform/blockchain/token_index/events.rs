//! The transfers that a block's events tell.

use alloy_primitives::{Address, B256, Log, U256};
use alloy_sol_types::SolEvent;

use crate::{
    chain::ExecutedBlock,
    primitives::{Height, Timestamp},
    templates::{erc20::interface as erc20, erc721::interface as erc721, erc1155::interface as erc1155},
};

/// A transfer that an event tells, in its block.
pub(super) struct Transfer {
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) token_id: Option<U256>,
    /// Id of the balance that it changes; `None` where an account has one balance.
    pub(super) balance_id: Option<U256>,
    pub(super) amount: U256,
    pub(super) height: Height,
    pub(super) timestamp: Timestamp,
    pub(super) transaction_hash: B256,
    pub(super) log_index: u32,
}

/// Returns the transfers of a block in order, with their contracts.
pub(super) fn transfers_of(block: &ExecutedBlock) -> Vec<(Address, Transfer)> {
    let mut found = Vec::new();
    if block.block().header().logs_bloom.is_zero() {
        return found;
    }
    let mut log_index = 0;
    for (transaction, receipt) in block.transactions().iter().zip(block.receipts()) {
        for log in receipt.logs() {
            for Moved { from, to, token_id, balance_id, amount } in moved(log) {
                let (height, timestamp, transaction_hash) = (block.height(), block.timestamp(), transaction.hash());
                let transfer =
                    Transfer { from, to, token_id, balance_id, amount, height, timestamp, transaction_hash, log_index };
                found.push((log.address, transfer));
            }
            log_index += 1;
        }
    }
    found
}

/// What an event moves.
struct Moved {
    from: Address,
    to: Address,
    token_id: Option<U256>,
    balance_id: Option<U256>,
    amount: U256,
}

/// Returns what an event moves: nothing, something, or several ids at once. ERC-20 and ERC-721 have one event of this name, and differ in
/// whether its last argument is indexed.
fn moved(log: &Log) -> Vec<Moved> {
    let one = |from, to, token_id, balance_id, amount| vec![Moved { from, to, token_id, balance_id, amount }];
    let Some(signature) = log.topics().first() else { return Vec::new() };
    match (*signature, log.topics().len()) {
        (erc20::Transfer::SIGNATURE_HASH, 3) => {
            let event = erc20::Transfer::decode_log_data(&log.data);
            event.map_or_else(|_| Vec::new(), |it| one(it.from, it.to, None, None, it.value))
        }
        (erc721::Transfer::SIGNATURE_HASH, 4) => {
            let event = erc721::Transfer::decode_log_data(&log.data);
            event.map_or_else(|_| Vec::new(), |it| one(it.from, it.to, Some(it.tokenId), None, U256::ONE))
        }
        (erc1155::TransferSingle::SIGNATURE_HASH, _) => {
            let event = erc1155::TransferSingle::decode_log_data(&log.data);
            event.map_or_else(|_| Vec::new(), |it| one(it.from, it.to, Some(it.id), Some(it.id), it.value))
        }
        (erc1155::TransferBatch::SIGNATURE_HASH, _) => {
            let Ok(it) = erc1155::TransferBatch::decode_log_data(&log.data) else { return Vec::new() };
            let each = it.ids.iter().zip(&it.values);
            each.flat_map(|(id, value)| one(it.from, it.to, Some(*id), Some(*id), *value)).collect()
        }
        _ => Vec::new(),
    }
}
