//! JSON-RPC: that of the service on `/v1/rpc`, and Ethereum's of each chain. Neither speaks the envelope.

use axum::{
    body::{Body as AxumBody, Bytes},
    extract::{Request as AxumRequest, State},
    http::{StatusCode, header},
    response::Response,
};
use jsonrpsee::server::http::is_json;
use serde_json::{Value, json};

use crate::{
    platform::Scope,
    server::{
        jsonrpc::framing,
        rest::{
            App, PeerAddress, RouteName,
            answer::Answer,
            endpoint::{Access, Endpoint, Tag},
            error_code::ErrorCode,
            service::admit,
        },
    },
};

const METHODS: &str = "\
| method | parameters | scope | result |
|---|---|---|---|
| blockchain.getBlock | blockchainId, blockNumber (number, hash or `latest`; default latest), fullTransactions (default false) | blockchain:read | number, hash, parentHash, timestamp, gasUsed, gasLimit, baseFeePerGas, miner, stateRoot, transactionsRoot, receiptsRoot, size, transactionCount, transactions |
| blockchain.getTransaction | blockchainId, transactionHash | blockchain:read | hash, status (pending, success, failed), blockNumber, blockHash, transactionIndex, confirmations, from, to, contractAddress, value, nonce, gasLimit, gasUsed, effectiveGasPrice, input, logs |
| blockchain.getBalance | blockchainId, address, blockNumber (default latest) | blockchain:read | address, balance, blockNumber |
| transaction.send | blockchainId, signedTransaction | blockchain:deploy | transactionHash, status, blockNumber |
| transaction.simulate | blockchainId, and signedTransaction or from, to, value, data, gasLimit; blockNumber | blockchain:read | success, gasUsed, returnData, error, revertReason |
| contract.call | blockchainId, contractAddress, method with args or data, from, blockNumber | blockchain:read | result (decoded), data |
| contract.execute | blockchainId, contractAddress, method with args or data, from, value, gasLimit | blockchain:deploy | transactionHash, status, blockNumber |

Single calls or batches, parameters by name. `blockchainId` may be left out by who can see one blockchain alone. A single call without the \
method's scope is 403; in a batch its element has the error. Amounts are decimal strings of the smallest unit. `error.data.code` is the REST code.";

const ETHEREUM: &str = "\
The methods of Ethereum JSON-RPC, single calls, batches and, on a WebSocket, subscriptions; the same as `/` for the default chain. Methods that \
send transactions need `blockchain:deploy`. Error codes beside those of JSON-RPC 2.0: -32000 for a refused transaction, -32001 for an unknown \
block, -32003 for a halt, 4444 for pruned data, and 3 with the revert data for a revert.";

/// Access to `/v1/blockchains/{blockchainId}/eth`.
pub(in crate::server) const ETHEREUM_ACCESS: Access = Access::Scope(Scope::BlockchainRead);

pub(super) fn endpoints() -> Vec<Endpoint> {
    let response =
        |description| Answer::Foreign { content_type: "application/json", schema: response_schema(), description };
    vec![
        Endpoint::post("/v1/rpc", "rpc", Tag::JsonRpc, Access::Authenticated, "JSON-RPC 2.0 of the service.")
            .described(METHODS)
            .fails_with(&[ErrorCode::PayloadTooLarge, ErrorCode::UnsupportedMediaType])
            .speaks(None, response("The method's result, or its error; empty for a notification")),
        Endpoint::post(
            "/v1/blockchains/{blockchainId}/eth",
            "ethereumRpc",
            Tag::JsonRpc,
            ETHEREUM_ACCESS,
            "Ethereum JSON-RPC of one blockchain, over POST and WebSocket.",
        )
        .described(ETHEREUM)
        .fails_with(&[ErrorCode::PayloadTooLarge, ErrorCode::UnsupportedMediaType])
        .speaks(None, response("The response; empty for a notification")),
    ]
}

/// A response of JSON-RPC 2.0, or an array of them.
fn response_schema() -> Value {
    let one = json!({
        "type": "object",
        "properties": { "jsonrpc": { "const": "2.0" }, "id": {}, "result": {}, "error": { "type": "object" } },
        "required": ["jsonrpc", "id"],
        "additionalProperties": false,
    });
    json!({ "oneOf": [one, { "type": "array", "items": one }] })
}

/// `POST /v1/rpc`.
pub(in crate::server::rest) async fn post_rpc(State(app): State<App>, request: AxumRequest) -> Response {
    let (parts, body) = request.into_parts();
    if let Some(route) = parts.extensions.get::<RouteName>() {
        route.set("/v1/rpc");
    }
    let peer = parts.extensions.get::<PeerAddress>().copied();
    let admitted = match admit(&app, Access::Authenticated, &parts.headers, peer, None) {
        Ok(admitted) => admitted,
        Err(refused) => return refused.into_json_rpc(),
    };
    let Some(principal) = admitted.principal.clone() else {
        return framing::refusal((StatusCode::UNAUTHORIZED, "no principal".to_owned())).map(AxumBody::new);
    };
    if !is_json(parts.headers.get(header::CONTENT_TYPE)) {
        let message = "expected a body of application/json: send the header content-type: application/json".to_owned();
        return framing::refusal((StatusCode::UNSUPPORTED_MEDIA_TYPE, message)).map(AxumBody::new);
    }
    let bytes_max = app.limits.rest_body_bytes_max;
    let body: Bytes = match axum::body::to_bytes(body, bytes_max).await {
        Ok(body) => body,
        Err(_) => {
            let message = format!("the body is longer than {bytes_max} bytes");
            return framing::refusal((StatusCode::PAYLOAD_TOO_LARGE, message)).map(AxumBody::new);
        }
    };
    let calls_max = app.limits.batch_calls_max;
    let mut response = app.service_rpc.execute(principal, calls_max, &body).await.map(AxumBody::new);
    admitted.count_bytes(&app, body.len(), &response);
    admitted.tell(response.headers_mut());
    response
}
