//! `blockchain.*`: blocks, transactions, balances.

use serde_json::{Value, json};

use super::{
    RpcFailure, failure,
    params::{Call, address, block_ref, chain, hash, required},
};
use crate::{
    chain::ExecutedBlock,
    node::{BlockRef, Located, NodeView},
    platform::{Fields, PlatformError},
    primitives::Transaction,
    server::clock,
};

/// `blockchain.getBlock`.
pub(super) fn block(call: &Call<'_>, fields: &mut Fields) -> Result<Value, RpcFailure> {
    let chain = chain(call, fields)?;
    let at = block_ref(fields);
    let full = fields.boolean("fullTransactions").unwrap_or(false);
    fields.finish_mut()?;
    let chain = required(chain)?;
    let view = chain.node().view();
    let executed = view.block(at).map_err(failure::query)?;
    let block = executed.block();
    let header = block.header();
    // What its seal decides is not known yet.
    let is_pending = at == BlockRef::Pending;
    let transactions: Vec<Value> = block
        .transactions()
        .iter()
        .enumerate()
        .map(|(index, transaction)| match full {
            true if is_pending => common(transaction, "pending"),
            true => mined(&view, &executed, index, transaction),
            false => json!(transaction.hash()),
        })
        .collect();
    Ok(json!({
        "blockchainId": chain.id(),
        "number": block.height().get(),
        "hash": (!is_pending).then(|| block.hash()),
        "parentHash": block.parent_hash(),
        "timestamp": clock::iso_8601(block.timestamp().as_secs().saturating_mul(1000)),
        "gasUsed": block.gas_used().get().to_string(),
        "gasLimit": header.gas_limit.to_string(),
        "baseFeePerGas": block.base_fee().map(|fee| fee.to_string()),
        "miner": (!is_pending).then_some(header.beneficiary),
        "stateRoot": header.state_root,
        "transactionsRoot": header.transactions_root,
        "receiptsRoot": header.receipts_root,
        "size": block.size(),
        "transactionCount": block.transactions().len(),
        "transactions": transactions,
    }))
}

/// `blockchain.getTransaction`.
pub(super) fn transaction(call: &Call<'_>, fields: &mut Fields) -> Result<Value, RpcFailure> {
    let chain = chain(call, fields)?;
    let hash = hash(fields, "transactionHash");
    fields.finish_mut()?;
    let (chain, hash) = (required(chain)?, required(hash)?);
    let view = chain.node().view();
    match view.transaction(hash).map_err(failure::query)? {
        Some(Located::Mined { block, index }) => {
            let index = index as usize;
            let transaction = required(block.block().transactions().get(index).cloned())?;
            Ok(mined(&view, &block, index, &transaction))
        }
        Some(Located::Pooled(transaction)) => Ok(common(&transaction, "pending")),
        None => Err(PlatformError::not_found("transaction", &hash.to_string()).into()),
    }
}

/// `blockchain.getBalance`.
pub(super) fn balance(call: &Call<'_>, fields: &mut Fields) -> Result<Value, RpcFailure> {
    let chain = chain(call, fields)?;
    let address = address(fields, "address");
    let at = block_ref(fields);
    fields.finish_mut()?;
    let (chain, address) = (required(chain)?, required(address)?);
    let view = chain.node().view();
    let balance = view.balance(address, at).map_err(failure::query)?;
    let height = view.block(at).map_err(failure::query)?.height().get();
    Ok(json!({ "address": address, "balance": balance.to_string(), "blockNumber": height }))
}

fn mined(view: &NodeView, executed: &ExecutedBlock, index: usize, transaction: &Transaction) -> Value {
    let receipt = executed.receipts().get(index);
    let success = receipt.is_some_and(|receipt| receipt.is_success());
    let mut value = common(transaction, if success { "success" } else { "failed" });
    let confirmations = view.head().height().get().saturating_sub(executed.height().get()).saturating_add(1);
    value["blockNumber"] = executed.height().get().into();
    value["blockHash"] = json!(executed.hash());
    value["transactionIndex"] = index.into();
    value["confirmations"] = confirmations.into();
    if let Some(receipt) = receipt {
        value["gasUsed"] = receipt.gas_used.get().to_string().into();
        value["effectiveGasPrice"] = receipt.effective_gas_price.to_string().into();
        value["contractAddress"] = json!(receipt.contract_address);
        value["logs"] = receipt
            .logs()
            .iter()
            .map(|log| json!({ "address": log.address, "topics": log.topics(), "data": log.data.data }))
            .collect();
    }
    value
}

/// The fields of an unmined transaction; those that its block decides are null.
fn common(transaction: &Transaction, status: &str) -> Value {
    json!({
        "hash": transaction.hash(),
        "status": status,
        "blockNumber": null,
        "blockHash": null,
        "transactionIndex": null,
        "confirmations": 0,
        "from": transaction.sender(),
        "to": transaction.to(),
        "contractAddress": null,
        "value": transaction.value().to_string(),
        "nonce": transaction.nonce(),
        "gasLimit": transaction.gas_limit().get().to_string(),
        "gasUsed": null,
        "effectiveGasPrice": null,
        "input": transaction.input(),
        "logs": [],
    })
}
