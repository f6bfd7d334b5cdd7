//! The JSON-RPC error codes of the server, and the messages that client libraries match.

use alloy_primitives::{Bytes, hex};
use jsonrpsee::types::ErrorObjectOwned;
use serde_json::json;

use crate::{node::FullDisk, server::api_error::storage_details};

/// JSON-RPC error object: code, message, data.
pub(crate) type RpcError = ErrorObjectOwned;

/// The body is not JSON (JSON-RPC 2.0, 5.1).
pub(crate) const PARSE_ERROR: i32 = -32700;
/// The JSON is not a request, or a batch is empty (JSON-RPC 2.0, 5.1).
pub(crate) const INVALID_REQUEST: i32 = -32600;
/// No such method (JSON-RPC 2.0, 5.1).
pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
/// A parameter is missing or invalid (JSON-RPC 2.0, 5.1).
pub(crate) const INVALID_PARAMS: i32 = -32602;
/// The node failed, not the request (JSON-RPC 2.0, 5.1).
pub(crate) const INTERNAL_ERROR: i32 = -32603;
/// The request is valid and refused, as when the pool rejects a transaction (geth).
pub(crate) const REFUSED: i32 = -32000;
/// An unknown block or transaction (EIP-1474, "resource not found").
pub(crate) const NOT_FOUND: i32 = -32001;
/// Execution halted otherwise than by a revert: out of gas, unknown code, a panicking template (EIP-1474, "transaction rejected").
pub(crate) const HALTED: i32 = -32003;
/// The node does not support the method (EIP-1474, "method not supported").
pub(crate) const UNSUPPORTED: i32 = -32004;
/// A documented bound is exceeded (EIP-1474, "limit exceeded").
pub(crate) const LIMIT_EXCEEDED: i32 = -32005;
/// Credentials are missing or lack a scope (in the range that JSON-RPC 2.0 leaves to servers).
pub(crate) const FORBIDDEN: i32 = -32006;
/// The disk of the chain's store is full; `data` has the free bytes (in the range that JSON-RPC 2.0 leaves to servers).
pub(crate) const STORAGE_FULL: i32 = -32050;
/// The block or its state was pruned (EIP-4444, the code as in geth).
pub(crate) const PRUNED: i32 = 4444;
/// Execution reverted; `data` is the revert data in hex (geth).
pub(crate) const REVERTED: i32 = 3;

/// Returns an error without data.
pub(crate) fn error(code: i32, message: impl Into<String>) -> RpcError {
    RpcError::owned(code, message, None::<()>)
}

/// Returns geth's error for a method that does not exist.
pub(crate) fn method_not_found(method: &str) -> RpcError {
    error(METHOD_NOT_FOUND, format!("the method {method} does not exist/is not available"))
}

/// Returns the error for an invalid parameter.
pub(crate) fn invalid_params(message: impl Into<String>) -> RpcError {
    error(INVALID_PARAMS, message)
}

/// Returns the error for a block that the chain does not have.
pub(crate) fn unknown_block(what: impl core::fmt::Display) -> RpcError {
    error(NOT_FOUND, format!("unknown block {what}"))
}

/// Returns the error for a failure of the node, with the whole chain of causes: the client is the node's operator.
pub(crate) fn internal(cause: &dyn std::error::Error) -> RpcError {
    error(INTERNAL_ERROR, with_causes(cause))
}

/// Returns the error for a command that the node could not run: [`STORAGE_FULL`] where a full disk caused it.
pub(crate) fn command_failed(cause: &dyn std::error::Error, full_disk: Option<FullDisk>) -> RpcError {
    match full_disk {
        Some(disk) => {
            let data = json!({ "code": "UNAVAILABLE", "details": storage_details(disk) });
            RpcError::owned(STORAGE_FULL, with_causes(cause), Some(data))
        }
        None => internal(cause),
    }
}

/// Returns an error's message with the whole chain of its causes.
pub(crate) fn with_causes(cause: &dyn std::error::Error) -> String {
    let mut message = cause.to_string();
    let mut source = cause.source();
    while let Some(next) = source {
        message = format!("{message}: {next}");
        source = next.source();
    }
    message
}

/// Returns geth's error for a revert, with its reason where that is known in words.
pub(crate) fn reverted(output: &Bytes, reason: Option<String>) -> RpcError {
    let message = match reason {
        Some(reason) => format!("execution reverted: {reason}"),
        None => "execution reverted".to_owned(),
    };
    RpcError::owned(REVERTED, message, Some(json!(hex::encode_prefixed(output))))
}

#[cfg(test)]
mod tests {
    use alloy_sol_types::{Revert, SolError};

    use super::*;

    #[test]
    fn a_revert_carries_its_reason_and_its_bytes() {
        let output = Bytes::from(Revert::from("not enough").abi_encode());
        let error = reverted(&output, Some("not enough".to_owned()));
        assert_eq!(error.code(), REVERTED);
        assert_eq!(error.message(), "execution reverted: not enough");
        assert_eq!(error.data().unwrap().get(), format!("\"{output}\""));
    }

    #[test]
    fn an_empty_revert_still_has_hex_data() {
        let error = reverted(&Bytes::new(), None);
        assert_eq!((error.message(), error.data().unwrap().get()), ("execution reverted", "\"0x\""));
    }
}
