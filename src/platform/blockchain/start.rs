//! Starting the node of a blockchain: a new one at its genesis, one in the store where it stopped.

use std::sync::Arc;

use super::{BlockchainRecord, BlockchainSpec, ChainKeys};
use crate::{
    node::{BuildError, Clock, Database, Mining, Node},
    platform::{PlatformError, records::Stored},
    store::{KeyValue, PrefixedStore},
};

/// Before the keys of a chain's part of the store, with the chain's id after it. No key of the default chain begins with it: hashes and
/// heights don't, and ids have one length.
const PART: &[u8] = b"\xffchain/";

/// Starts a chain. One in a durable store has its own part of it; any other is in memory.
pub(in crate::platform) fn start(
    store: &Arc<dyn KeyValue>,
    clock: &Arc<dyn Clock>,
    stored: &Stored<BlockchainRecord>,
    keys: &ChainKeys,
) -> Result<Node, PlatformError> {
    let spec = &stored.value.spec;
    let mining = match spec.block_time {
        Some(interval) => Mining::Interval(interval),
        None => Mining::EachTransaction,
    };
    let mut builder = Node::builder()
        .with_chain_id(stored.value.chain_id)
        .with_clock(Arc::clone(clock))
        .with_mnemonic(keys.mnemonic()?.as_str())
        .with_accounts(1)
        .with_balance(spec.native_token.premine)
        .with_consensus(spec.consensus.on_demand())
        .with_validator_keys(keys.validators()?)
        .with_mining(mining);
    if let Some(gas_limit) = spec.block_gas_limit {
        builder = builder.with_gas_limit(gas_limit);
    }
    if store.is_durable() {
        let part = PrefixedStore::new(Arc::clone(store), [PART, stored.id().as_bytes()].concat());
        builder = builder.with_database(Database::Store(Arc::new(part)));
    }
    builder.build().map_err(|cause| failure(spec, cause))
}

/// Converts a failed start: a validation error for a number of validators that the protocol cannot have.
fn failure(spec: &BlockchainSpec, cause: BuildError) -> PlatformError {
    match cause {
        BuildError::Consensus(cause) => {
            PlatformError::field("validators", cause.to_string(), format!("{} validators", spec.validators.len()))
        }
        other => PlatformError::internal(other),
    }
}
