//! Every JSON-RPC error code that the server answers, and the words that client libraries match.

use alloy_primitives::{B256, Bytes, hex};
use jsonrpsee::types::ErrorObjectOwned;
use serde_json::json;

/// A JSON-RPC error object: code, message, data.
pub type RpcError = ErrorObjectOwned;

/// The text is no JSON (JSON-RPC 2.0, 5.1).
pub const PARSE_ERROR: i32 = -32700;
/// The JSON is no request, or a batch is empty (JSON-RPC 2.0, 5.1).
pub const INVALID_REQUEST: i32 = -32600;
/// No such method (JSON-RPC 2.0, 5.1).
pub const METHOD_NOT_FOUND: i32 = -32601;
/// A parameter is missing or is not what was expected (JSON-RPC 2.0, 5.1).
pub const INVALID_PARAMS: i32 = -32602;
/// The node failed, not the request (JSON-RPC 2.0, 5.1).
pub const INTERNAL_ERROR: i32 = -32603;
/// The request is understood and refused: what geth answers when the pool does not take a transaction.
pub const REFUSED: i32 = -32000;
/// An unknown block, transaction or filter (EIP-1474, "resource not found").
pub const NOT_FOUND: i32 = -32001;
/// Execution halted otherwise than by a revert: out of gas, foreign code, a panicking template (EIP-1474, "transaction rejected").
pub const HALTED: i32 = -32003;
/// The method is known and this node cannot do it (EIP-1474, "method not supported").
pub const UNSUPPORTED: i32 = -32004;
/// A documented bound is passed (EIP-1474, "limit exceeded").
pub const LIMIT_EXCEEDED: i32 = -32005;
/// The block or its state was pruned (EIP-4444, as geth answers it).
pub const PRUNED: i32 = 4444;
/// Execution reverted; `data` is the revert's bytes in hex (geth).
pub const REVERTED: i32 = 3;

/// An error with a message and no data.
pub fn error(code: i32, message: impl Into<String>) -> RpcError {
    RpcError::owned(code, message, None::<()>)
}

/// geth's answer to a method that is not there.
pub fn method_not_found(method: &str) -> RpcError {
    error(METHOD_NOT_FOUND, format!("the method {method} does not exist/is not available"))
}

/// A parameter that is not what was expected.
pub fn invalid_params(message: impl Into<String>) -> RpcError {
    error(INVALID_PARAMS, message)
}

/// A block that this chain does not have.
pub fn unknown_block(what: impl core::fmt::Display) -> RpcError {
    error(NOT_FOUND, format!("unknown block {what}"))
}

/// A transaction that this chain does not have.
pub fn unknown_transaction(hash: B256) -> RpcError {
    error(NOT_FOUND, format!("unknown transaction {hash}"))
}

/// The node's own failure; the cause chain is told, as the node is the developer's own.
pub fn internal(cause: &dyn std::error::Error) -> RpcError {
    let mut message = cause.to_string();
    let mut source = cause.source();
    while let Some(next) = source {
        message = format!("{message}: {next}");
        source = next.source();
    }
    error(INTERNAL_ERROR, message)
}

/// A revert: geth's words, the reason decoded when it is `Error(string)` or `Panic(uint256)`.
pub fn reverted(output: &Bytes) -> RpcError {
    let message = match revert_reason(output) {
        Some(reason) => format!("execution reverted: {reason}"),
        None => "execution reverted".to_owned(),
    };
    RpcError::owned(REVERTED, message, Some(json!(hex::encode_prefixed(output))))
}

/// What a revert says, when it says it in one of Solidity's built-in errors or an error of OpenZeppelin v5.
pub fn revert_reason(output: &[u8]) -> Option<String> {
    crate::server::decode::error_text(output)
}

#[cfg(test)]
mod tests {
    use alloy_sol_types::{Revert, SolError};

    use super::*;

    #[test]
    fn a_revert_carries_its_reason_and_its_bytes() {
        let output = Bytes::from(Revert::from("not enough").abi_encode());
        let error = reverted(&output);
        assert_eq!(error.code(), REVERTED);
        assert_eq!(error.message(), "execution reverted: not enough");
        assert_eq!(error.data().unwrap().get(), format!("\"{output}\""));
    }

    #[test]
    fn an_empty_revert_still_has_hex_data() {
        let error = reverted(&Bytes::new());
        assert_eq!((error.message(), error.data().unwrap().get()), ("execution reverted", "\"0x\""));
    }
}
