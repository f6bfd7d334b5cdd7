//! Parameters that several methods take.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes};
use serde_json::Value;

use super::RpcFailure;
use crate::{
    node::BlockRef,
    platform::{Blockchain, Fields, PlatformError, Principal},
    primitives::{Height, parse_amount},
    server::chains::Chains,
};

/// What a method is called with beside its parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) chains: &'a Chains,
    pub(super) principal: &'a Principal,
    /// Id of what it sends, if that follows from the request.
    pub(super) send_id: Option<&'a str>,
}

impl Call<'_> {
    /// Returns the id of the transaction that the call sends.
    pub(super) fn send_id(&self) -> Result<String, PlatformError> {
        self.send_id.map_or_else(|| self.chains.platform().new_id("tx"), |id| Ok(id.to_owned()))
    }
}

/// Reads `blockchainId` and finds the chain, if the principal may read it; without the field it is the only one that the principal can see.
/// `None` where the field does not name one, which [`Fields::finish_mut`] reports.
pub(super) fn chain(call: &Call<'_>, fields: &mut Fields) -> Result<Option<Arc<Blockchain>>, RpcFailure> {
    let Some(id) = chain_id(call, fields)? else { return Ok(None) };
    Ok(Some(call.chains.platform().blockchains().readable(call.principal, &id)?))
}

/// As [`chain`], of a chain that takes the principal's transactions.
pub(super) fn writable_chain(call: &Call<'_>, fields: &mut Fields) -> Result<Option<Arc<Blockchain>>, RpcFailure> {
    let Some(id) = chain_id(call, fields)? else { return Ok(None) };
    Ok(Some(call.chains.platform().blockchains().writable(call.principal, &id)?))
}

fn chain_id(call: &Call<'_>, fields: &mut Fields) -> Result<Option<String>, RpcFailure> {
    let named = fields.optional_text("blockchainId", "the id of a blockchain");
    if named.is_some() || fields.is_invalid("blockchainId") {
        return Ok(named);
    }
    match call.chains.platform().blockchains().only_readable(call.principal) {
        Ok(only) => Ok(Some(only)),
        Err(PlatformError::Validation { fields: errors }) => {
            errors.into_iter().for_each(|error| fields.refuse("blockchainId", error.expected, error.got));
            Ok(None)
        }
        Err(cause) => Err(cause.into()),
    }
}

/// Reads `blockNumber`: a number, a hash, a decimal or hex string, or a tag; `latest` by default.
pub(super) fn block_ref(fields: &mut Fields) -> BlockRef {
    let expected = "a block number, a block hash, latest, earliest, safe, finalized or pending";
    fields.read_with("blockNumber", expected, parse_block_ref).unwrap_or_default()
}

fn parse_block_ref(value: &Value) -> Option<BlockRef> {
    if let Some(number) = value.as_u64() {
        return Some(BlockRef::Number(Height::new(number)));
    }
    match value.as_str()? {
        "latest" => Some(BlockRef::Latest),
        "earliest" => Some(BlockRef::Earliest),
        "pending" => Some(BlockRef::Pending),
        "safe" => Some(BlockRef::Safe),
        "finalized" => Some(BlockRef::Finalized),
        text if text.len() == 66 => text.parse().ok().map(BlockRef::Hash),
        text => {
            let number = match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            };
            number.map(|number| BlockRef::Number(Height::new(number)))
        }
    }
}

/// Reads a required 32-byte hash.
pub(super) fn hash(fields: &mut Fields, name: &str) -> Option<B256> {
    let expected = "a hash (0x and 64 hex digits)";
    let read = |value: &Value| value.as_str().filter(|text| text.starts_with("0x")).and_then(|text| text.parse().ok());
    let hash = fields.read_with(name, expected, read);
    fields.require(name, expected, hash)
}

/// Reads a required address.
pub(super) fn address(fields: &mut Fields, name: &str) -> Option<Address> {
    let address = fields.address(name);
    fields.require(name, "an address (0x and 40 hex digits)", address)
}

/// Reads an optional string of hex bytes.
pub(super) fn bytes(fields: &mut Fields, name: &str) -> Option<Bytes> {
    let read = |value: &Value| value.as_str().filter(|text| text.starts_with("0x")).and_then(|text| text.parse().ok());
    fields.read_with(name, "bytes (0x and an even number of hex digits)", read)
}

/// Reads the optional `gasLimit`, a decimal string in gas units.
pub(super) fn gas_limit(fields: &mut Fields) -> Option<u64> {
    let read = |value: &Value| value.as_str().and_then(parse_amount).and_then(|gas| u64::try_from(gas).ok());
    fields.read_with("gasLimit", "a decimal integer string of gas units", read)
}

/// Returns a value that [`Fields::finish_mut`] has checked to be present.
pub(super) fn required<T>(value: Option<T>) -> Result<T, RpcFailure> {
    value.ok_or_else(|| PlatformError::Internal { message: "a checked parameter is missing".to_owned() }.into())
}
