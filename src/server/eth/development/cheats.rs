//! Cheatcodes: setting state, impersonation, dumps, resets. Results have anvil's types, which typed clients decode strictly.

use alloy_primitives::{Address, B256, Bytes, U64, U256, hex};
use serde_json::{Value, json};

use super::mining::records_failed;
use crate::{
    chain::LoadSummary,
    node::{Dump, InterventionError, LoadError, Mining, NodeView, QueryError},
    primitives::{Gas, Height},
    server::{
        eth::{
            Eth, Methods, meta,
            params::{Args, Quantity},
        },
        jsonrpc::errors::{
            REFUSED, RpcError, UNSUPPORTED, command_failed, error, internal, invalid_params, with_causes,
        },
    },
};

pub(super) fn register(methods: &mut Methods) {
    methods.add_all(&["anvil_setBalance", "hardhat_setBalance"], 2, set_balance);
    methods.add_all(&["anvil_setNonce", "hardhat_setNonce"], 2, set_nonce);
    methods.add_all(&["anvil_setStorageAt", "hardhat_setStorageAt"], 3, set_storage_at);
    methods.add_all(&["anvil_setCode", "hardhat_setCode"], 2, set_code);
    methods.add_all(&["anvil_setCoinbase", "hardhat_setCoinbase"], 1, |_, _| {
        Err::<bool, _>(error(
            UNSUPPORTED,
            "the coinbase cannot be set: the consensus protocol selects the author of a block",
        ))
    });
    methods.add_all(&["anvil_setNextBlockBaseFeePerGas", "hardhat_setNextBlockBaseFeePerGas"], 1, |eth, args| {
        let Quantity(base_fee) = args.required(0, "baseFee")?;
        eth.node.set_next_block_base_fee(base_fee).map_err(intervention_error)?;
        Ok(())
    });
    methods.add_all(&["evm_setBlockGasLimit", "anvil_setBlockGasLimit"], 1, |eth, args| {
        let Quantity(gas_limit) = args.required(0, "gasLimit")?;
        eth.node.set_block_gas_limit(Gas::new(gas_limit)).map_err(intervention_error)?;
        Ok(true)
    });
    methods.add_all(&["anvil_setPrevRandao", "hardhat_setPrevRandao"], 1, |eth, args| {
        eth.node.set_next_block_prev_randao(args.required(0, "prevRandao")?).map_err(intervention_error)?;
        Ok(())
    });
    methods.add_all(&["anvil_impersonateAccount", "hardhat_impersonateAccount"], 1, |eth, args| {
        eth.node.impersonate(args.required(0, "address")?).map_err(intervention_error)?;
        Ok(())
    });
    methods.add_all(&["anvil_stopImpersonatingAccount", "hardhat_stopImpersonatingAccount"], 1, |eth, args| {
        eth.node.stop_impersonating(args.required(0, "address")?);
        Ok(())
    });
    methods.add_all(&["anvil_autoImpersonateAccount"], 1, |eth, args| {
        eth.node.set_auto_impersonate(args.required(0, "enabled")?).map_err(intervention_error)?;
        Ok(())
    });
    methods.add_all(&["anvil_dropTransaction", "hardhat_dropTransaction"], 1, drop_transaction);
    methods.add_all(&["anvil_dropAllTransactions"], 0, |eth, _| {
        eth.node.drop_all_transactions();
        Ok(())
    });
    methods.add_all(&["anvil_removePoolTransactions"], 1, remove_of_sender);
    methods.add_all(&["anvil_dumpState", "hardhat_dumpState"], 1, dump);
    methods.add_all(&["anvil_loadState", "hardhat_loadState"], 1, load);
    methods.add_all(&["anvil_reset", "hardhat_reset"], 1, reset);
    methods.add_all(&["anvil_nodeInfo"], 0, node_info);
    methods.add_all(&["anvil_metadata", "hardhat_metadata"], 0, metadata);
    methods.add_all(&["anvil_setLoggingEnabled", "hardhat_setLoggingEnabled"], 1, |_, args| {
        // Accepted so that scripts for other nodes run; console output is an option of the command line.
        args.required::<bool>(0, "enabled").map(drop)
    });
}

fn set_balance(eth: &Eth, args: &Args<'_>) -> Result<(), RpcError> {
    let (address, balance): (Address, U256) = (args.required(0, "address")?, args.required(1, "balance")?);
    eth.node.set_balance(address, balance).map_err(intervention_error)?;
    Ok(())
}

fn set_nonce(eth: &Eth, args: &Args<'_>) -> Result<(), RpcError> {
    let (address, Quantity(nonce)) = (args.required(0, "address")?, args.required(1, "nonce")?);
    eth.node.set_nonce(address, nonce).map_err(intervention_error)?;
    Ok(())
}

fn set_storage_at(eth: &Eth, args: &Args<'_>) -> Result<bool, RpcError> {
    let (address, slot, value): (Address, U256, U256) =
        (args.required(0, "address")?, args.required(1, "slot")?, args.required(2, "value")?);
    eth.node.set_storage(address, slot, value).map_err(intervention_error)?;
    Ok(true)
}

fn set_code(eth: &Eth, args: &Args<'_>) -> Result<(), RpcError> {
    let (address, code): (Address, Bytes) = (args.required(0, "address")?, args.required(1, "code")?);
    eth.node.set_code(address, code).map_err(intervention_error)?;
    Ok(())
}

/// Returns the hash of the dropped transaction, or null when it was not in the pool.
fn drop_transaction(eth: &Eth, args: &Args<'_>) -> Result<Option<B256>, RpcError> {
    let hash: B256 = args.required(0, "hash")?;
    Ok(eth.node.drop_transaction(hash).map(|_| hash))
}

fn remove_of_sender(eth: &Eth, args: &Args<'_>) -> Result<(), RpcError> {
    let sender: Address = args.required(0, "address")?;
    for pooled in eth.view().pool().content_of(&sender) {
        eth.node.drop_transaction(pooled.transaction.hash());
    }
    Ok(())
}

fn dump(eth: &Eth, _: &Args<'_>) -> Result<Bytes, RpcError> {
    Ok(Bytes::copy_from_slice(eth.node.dump().map_err(|cause| internal(&cause))?.as_bytes()))
}

/// `anvil_loadState`: puts a dumped chain in the place of the chain, and takes the records beside it back to what the loaded one has.
fn load(eth: &Eth, args: &Args<'_>) -> Result<bool, RpcError> {
    let bytes: Bytes = args.required(0, "dump")?;
    let dump = Dump::from_bytes(bytes.to_vec());
    let Some(records) = &eth.records else { return load_dump(eth, &dump).map(|_| true) };
    let recorded = records.transactions().map_err(|cause| records_failed(&cause))?;
    // Looked for before: the blocks of the replaced chain may be gone after.
    let recorded = located(&eth.view(), recorded).map_err(|cause| internal(&cause))?;
    let summary = load_dump(eth, &dump)?;
    if summary == LoadSummary::default() && dump.origin().is_ok_and(|origin| origin.is_state_alone) {
        // It has changed nothing.
        return Ok(true);
    }
    let lost = lost(&eth.view(), recorded).map_err(|cause| internal(&cause))?;
    records.replace(&lost).map_err(|cause| records_failed(&cause))?;
    Ok(true)
}

fn load_dump(eth: &Eth, dump: &Dump) -> Result<LoadSummary, RpcError> {
    eth.node.load(dump).map_err(|cause| match cause {
        LoadError::Dump(_)
        | LoadError::Malformed { .. }
        | LoadError::PooledTransaction { .. }
        | LoadError::OtherHead { .. }
        | LoadError::Consensus(_) => invalid_params(format!("invalid argument 0 (dump): {}", with_causes(&cause))),
        other => command_failed(&other, other.full_disk()),
    })
}

/// Returns each of the transactions, and whether a block or the pool has it.
fn located(view: &NodeView, hashes: Vec<B256>) -> Result<Vec<(B256, bool)>, QueryError> {
    hashes.into_iter().map(|hash| Ok((hash, view.transaction(hash)?.is_some()))).collect()
}

/// Returns those of the transactions, each with whether the replaced chain had it, that the loaded chain lacks. One that neither has may be in
/// a block that was pruned, and is not lost, where the loaded chain has no longer all of its blocks.
fn lost(loaded: &NodeView, recorded: Vec<(B256, bool)>) -> Result<Vec<B256>, QueryError> {
    let is_whole = loaded.chain().oldest_block() <= Height::new(1);
    let mut lost = Vec::new();
    for (hash, was_known) in recorded {
        if (is_whole || was_known) && loaded.transaction(hash)?.is_none() {
            lost.push(hash);
        }
    }
    Ok(lost)
}

/// `anvil_reset`: goes back to genesis, with the records beside the chain. Parameters that ask for a fork of another network are refused.
fn reset(eth: &Eth, args: &Args<'_>) -> Result<(), RpcError> {
    let options: Value = args.optional(0, "options")?.unwrap_or(Value::Null);
    if options.pointer("/forking/jsonRpcUrl").is_some_and(|url| !url.is_null()) {
        return Err(invalid_params("invalid argument 0 (options): forking another network is not supported"));
    }
    eth.node.reset().map_err(|cause| command_failed(&cause, cause.full_disk()))?;
    match &eth.records {
        Some(records) => records.reset().map_err(|cause| records_failed(&cause)),
        None => Ok(()),
    }
}

fn node_info(eth: &Eth, _: &Args<'_>) -> Result<Value, RpcError> {
    let view = eth.view();
    let head = view.head();
    Ok(json!({
        "currentBlockNumber": U64::from(head.height().get()),
        "currentBlockTimestamp": head.block().timestamp().as_secs(),
        "currentBlockHash": head.hash(),
        "hardFork": format!("{:?}", view.chain().spec().forks.at(head.height())),
        "transactionOrder": "fees",
        "environment": {
            "baseFee": U256::from(view.next_base_fee()),
            "chainId": view.chain_id(),
            "gasLimit": U64::from(head.block().header().gas_limit),
            "gasPrice": U256::from(view.next_base_fee()),
        },
        "forkConfig": { "forkUrl": null, "forkBlockNumber": null, "forkRetryBackoff": null },
        "instanceId": view.genesis_hash(),
    }))
}

/// `anvil_metadata`. Clients compare the instance id, the genesis hash, to notice another chain at the same URL.
fn metadata(eth: &Eth, _: &Args<'_>) -> Result<Value, RpcError> {
    let view = eth.view();
    let head = view.head();
    let mode = match eth.node.mining() {
        Mining::EachTransaction => "each-transaction",
        Mining::Interval(_) => "interval",
        Mining::Manual => "manual",
    };
    Ok(json!({
        "clientVersion": meta::client_version(),
        "chainId": view.chain_id(),
        "instanceId": instance_id(eth),
        "genesisHash": view.genesis_hash(),
        "latestBlockNumber": head.height().get(),
        "latestBlockHash": head.hash(),
        "mining": mode,
        "snapshots": {},
    }))
}

/// Returns the genesis hash as hex text.
fn instance_id(eth: &Eth) -> String {
    hex::encode_prefixed(eth.view().genesis_hash())
}

fn intervention_error(cause: InterventionError) -> RpcError {
    match cause {
        InterventionError::SystemAddress { .. } => invalid_params(format!("invalid argument 0 (address): {cause}")),
        InterventionError::NotAllowed => error(REFUSED, cause.to_string()),
        InterventionError::Invalid { .. } => error(UNSUPPORTED, cause.to_string()),
        other => command_failed(&other, other.full_disk()),
    }
}
