//! JSON-RPC: that of the service on `/v1/rpc`, and Ethereum's of each chain. Neither speaks the envelope.

use axum::{
    body::{Body as AxumBody, Bytes},
    extract::{Request as AxumRequest, State},
    http::{header, request::Parts},
    response::Response,
};
use hyper::body::Body as _;
use jsonrpsee::server::http::is_json;

use super::json_rpc_schema::{ethereum_body, ethereum_response, service_body, service_response};
use crate::{
    platform::Scope,
    server::{
        api_error::ApiError,
        rest::{
            Admitted, App, PeerAddress, RouteName,
            answer::Answer,
            endpoint::{Access, Endpoint, Tag},
            error_code::ErrorCode,
            request::refuse_query,
            rpc_request::{self, ETHEREUM_OPERATION, RPC_OPERATION},
            service::admit,
        },
        service_rpc,
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
| contract.execute | blockchainId, contractAddress, and signedTransaction or method with args or data, from, value, gasLimit | blockchain:deploy | transactionHash, status, blockNumber |

Single calls or batches, parameters by name. Each call of a batch counts as a request; one that does not fit the rate or the plan is 429, and \
nothing of it is executed. `blockchainId` may be left out by who can see one blockchain alone. A single call without the \
method's scope is 403; in a batch its element has the error. Amounts are decimal strings of the smallest unit. `error.data.code` is the REST code. Under an \
`Idempotency-Key` a body is executed once, whatever its calls: a repetition gets the first response, unless each call was refused before it \
began; a response of more than 1 MiB is not kept, and its repetition is 409.";

const ETHEREUM: &str = "\
The methods of Ethereum JSON-RPC, single calls, batches and, on a WebSocket, subscriptions; the same as `/` for the default chain. Methods that \
send transactions need `blockchain:deploy`. Error codes beside those of JSON-RPC 2.0: -32000 for a refused transaction, -32001 for an unknown \
block, -32003 for a halt, 4444 for pruned data, and 3 with the revert data for a revert. Under an `Idempotency-Key` a body is executed once, as \
on `/v1/rpc`. Each call of a batch counts as a request, as there. A call that changes nothing, and an estimate, has at most the service's bound of \
gas, 50,000,000 by default. Each message of a WebSocket is counted and let in as a request; a session ends with close code 1008 when its credentials, its \
right to read the chain, or the chain are gone.";

/// Access to `/v1/blockchains/{blockchainId}/eth`.
pub(in crate::server) const ETHEREUM_ACCESS: Access = Access::Scope(Scope::BlockchainRead);

pub(super) fn endpoints() -> Vec<Endpoint> {
    let response = |schema, description| Answer::Foreign { content_type: "application/json", schema, description };
    vec![
        Endpoint::post("/v1/rpc", RPC_OPERATION, Tag::JsonRpc, Access::Authenticated, "JSON-RPC 2.0 of the service.")
            .described(METHODS)
            .may_need(&[(Scope::BlockchainRead, "to read"), (Scope::BlockchainDeploy, "to send transactions")])
            .fails_with(&[ErrorCode::PayloadTooLarge, ErrorCode::UnsupportedMediaType, ErrorCode::RequestTimeout])
            .speaks(service_body(), response(service_response(), "The method's result, or its error")),
        Endpoint::post(
            "/v1/blockchains/{blockchainId}/eth",
            ETHEREUM_OPERATION,
            Tag::JsonRpc,
            ETHEREUM_ACCESS,
            "Ethereum JSON-RPC of one blockchain, over POST and WebSocket.",
        )
        .described(ETHEREUM)
        .may_need(&[(Scope::BlockchainDeploy, "to send transactions")])
        .fails_with(&[ErrorCode::PayloadTooLarge, ErrorCode::UnsupportedMediaType, ErrorCode::RequestTimeout])
        .speaks(ethereum_body(), response(ethereum_response(), "The response")),
    ]
}

/// `POST /v1/rpc`.
pub(in crate::server::rest) async fn post_rpc(State(app): State<App>, request: AxumRequest) -> Response {
    let (parts, body) = request.into_parts();
    if let Some(route) = parts.extensions.get::<RouteName>() {
        route.set("/v1/rpc");
    }
    let peer = parts.extensions.get::<PeerAddress>().copied();
    let mut admitted = match admit(&app, Access::Authenticated, &parts.headers, peer, None) {
        Ok(admitted) => admitted,
        Err(refused) => return refused.into_json_rpc(),
    };
    let (received, mut response) = match read(&app, &parts, body).await {
        Ok(body) => (body.len(), call(&app, &mut admitted, &parts, body).await),
        Err(refused) => (0, service_rpc::refused(&refused)),
    };
    admitted.count_bytes(&app, received, response.body().size_hint().lower());
    admitted.tell(response.headers_mut());
    response
}

/// Executes the calls of a body, if all of them fit the caller's quotas.
async fn call(app: &App, admitted: &mut Admitted, parts: &Parts, body: Bytes) -> Response {
    match admitted.count_batch(app, &body) {
        Ok(()) => rpc_request::execute(app, admitted, parts, rpc_request::Interface::Service, body).await,
        Err(refused) => service_rpc::refused(&refused),
    }
}

/// Reads the body of a request that asks for what this endpoint has: 400, 413, 415.
async fn read(app: &App, parts: &Parts, body: AxumBody) -> Result<Bytes, ApiError> {
    refuse_query(parts)?;
    if !is_json(parts.headers.get(header::CONTENT_TYPE)) {
        let given = parts.headers.get(header::CONTENT_TYPE).and_then(|given| given.to_str().ok());
        return Err(ApiError::unsupported_media_type(given.unwrap_or("nothing")));
    }
    let bytes_max = app.limits.rest_body_bytes_max;
    axum::body::to_bytes(body, bytes_max).await.map_err(|_| ApiError::payload_too_large(bytes_max))
}
