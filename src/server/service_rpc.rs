//! `POST /v1/rpc`: the service's seven JSON-RPC methods, with named parameters.

mod contract;
mod failure;
mod query;
mod transaction;

use axum::{
    body::{Body as AxumBody, Bytes},
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use jsonrpsee::{
    RpcModule,
    core::middleware::{Batch, BatchEntry, Notification, Request as Call, ResponseFuture},
    server::{
        BatchResponseBuilder, MethodCallback, MethodResponse, Methods, http::is_json, middleware::rpc::RpcServiceT,
    },
    types::{Extensions, Params},
};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use self::failure::{RpcFailure, auth_failure};
use super::{
    chains::Chains,
    jsonrpc::{errors, framing as rpc_http},
    rest::App,
};
use crate::platform::{Caller, Fields, PlatformError, Scope};

/// Bytes of one answer.
const RESPONSE_BYTES_MAX: usize = 64 << 20;

/// A call.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RpcRequest {
    /// `2.0`.
    #[schema(example = "2.0")]
    jsonrpc: String,
    /// blockchain.getBlock, blockchain.getTransaction, blockchain.getBalance, transaction.send, transaction.simulate, contract.call or
    /// contract.execute.
    #[schema(example = "blockchain.getBlock")]
    method: String,
    /// By name; see the method.
    #[schema(value_type = Object, example = json!({ "blockchainId": "bc_default", "blockNumber": "latest" }))]
    params: Value,
    /// Echoed in the response.
    #[schema(example = 1)]
    id: u64,
}

/// The answer to a call: `result` or `error`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RpcResponse {
    /// `2.0`.
    jsonrpc: String,
    /// What the method answers.
    #[schema(value_type = Option<Object>)]
    result: Value,
    /// `code`, `message`, and in `data` the REST `code` with its `details`. A revert has code 3 and `data.output`.
    #[schema(value_type = Option<Object>)]
    error: Value,
    /// The call's.
    id: u64,
}

/// JSON-RPC 2.0 with named parameters, single calls or batches.
///
/// | method | parameters | scope | result |
/// |---|---|---|---|
/// | blockchain.getBlock | blockchainId, blockNumber (number, hash or `latest`; default latest), fullTransactions (default false) | blockchain:read | number, hash, parentHash, timestamp, gasUsed, gasLimit, baseFeePerGas, miner, stateRoot, transactionsRoot, receiptsRoot, size, transactionCount, transactions |
/// | blockchain.getTransaction | blockchainId, transactionHash | blockchain:read | hash, status (pending, success, failed), blockNumber, blockHash, transactionIndex, confirmations, from, to, contractAddress, value, nonce, gasLimit, gasUsed, effectiveGasPrice, input, logs |
/// | blockchain.getBalance | blockchainId, address, blockNumber (default latest) | blockchain:read | address, balance, blockNumber |
/// | transaction.send | blockchainId, signedTransaction | blockchain:deploy | transactionHash, status, blockNumber |
/// | transaction.simulate | blockchainId, and signedTransaction or from, to, value, data, gasLimit; blockNumber | blockchain:read | success, gasUsed, returnData, error, revertReason |
/// | contract.call | blockchainId, contractAddress, method with args or data, from, blockNumber | blockchain:read | result (decoded), data |
/// | contract.execute | blockchainId, contractAddress, method with args or data, from, value, gasLimit | blockchain:deploy | transactionHash, status, blockNumber |
///
/// Amounts are decimal strings of the smallest unit. `error.data.code` is the REST code.
#[utoipa::path(
    post, path = "/v1/rpc", tag = "JSON-RPC", operation_id = "rpc", request_body = RpcRequest,
    responses(
        (status = 200, description = "The method's answer, or its error", body = RpcResponse), (status = 401, description = "No valid credentials", body = RpcResponse),
        (status = 413, description = "The body is too long", body = RpcResponse), (status = 415, description = "The body is not application/json"),
    ),
)]
pub(crate) async fn post(State(app): State<App>, headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Response {
    let caller = match app.authenticate(&headers) {
        Ok(caller) => caller,
        Err(error) => return auth_failure(&error),
    };
    let content_type = headers.get(header::CONTENT_TYPE);
    if !is_json(content_type) {
        let message = "the body must be application/json".to_owned();
        return rpc_http::refusal((StatusCode::UNSUPPORTED_MEDIA_TYPE, message)).map(AxumBody::new);
    }
    let body = match body {
        Ok(body) => body,
        Err(rejection) => return rpc_http::refusal((rejection.status(), rejection.body_text())).map(AxumBody::new),
    };
    let mut extensions = Extensions::new();
    extensions.insert(caller);
    rpc_http::response(rpc_http::answer(&Service(app.rpc), &body, extensions).await).map(AxumBody::new)
}

/// The seven methods over the chains.
pub(crate) fn methods(chains: Chains) -> Methods {
    let mut module = RpcModule::new(chains);
    add(&mut module, "blockchain.getBlock", Scope::BlockchainRead, query::block);
    add(&mut module, "blockchain.getTransaction", Scope::BlockchainRead, query::transaction);
    add(&mut module, "blockchain.getBalance", Scope::BlockchainRead, query::balance);
    add(&mut module, "transaction.send", Scope::BlockchainDeploy, transaction::send);
    add(&mut module, "transaction.simulate", Scope::BlockchainRead, transaction::simulate);
    add(&mut module, "contract.call", Scope::BlockchainRead, contract::call);
    add(&mut module, "contract.execute", Scope::BlockchainDeploy, contract::execute);
    module.into()
}

type Handler = fn(&Chains, &mut Fields) -> Result<Value, RpcFailure>;

fn add(module: &mut RpcModule<Chains>, name: &'static str, scope: Scope, handler: Handler) {
    let registered = module.register_method(name, move |params, chains, extensions| {
        check_scope(extensions, scope)?;
        let mut fields = named(&params)?;
        handler(chains, &mut fields)
    });
    debug_assert!(registered.is_ok(), "{name} is registered twice");
}

fn check_scope(extensions: &Extensions, scope: Scope) -> Result<(), RpcFailure> {
    match extensions.get::<Caller>() {
        Some(caller) if caller.may(scope) => Ok(()),
        _ => Err(RpcFailure::forbidden(scope)),
    }
}

fn named(params: &Params<'_>) -> Result<Fields, RpcFailure> {
    let value: Value = serde_json::from_str(params.as_str().unwrap_or("{}"))
        .map_err(|cause| PlatformError::BadRequest { message: format!("params are not JSON: {cause}") })?;
    if value.is_array() {
        return Err(PlatformError::BadRequest {
            message: "params must be an object: parameters go by name".to_owned(),
        }
        .into());
    }
    Ok(Fields::read(value)?)
}

/// Calls and batches over the methods.
#[derive(Clone, Debug)]
struct Service(Methods);

impl RpcServiceT for Service {
    type MethodResponse = MethodResponse;
    type NotificationResponse = MethodResponse;
    type BatchResponse = MethodResponse;

    fn call<'a>(&self, call: Call<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let Call { id, method, params, extensions, .. } = call;
        let params = Params::new(params.as_ref().map(|params| params.get()));
        ResponseFuture::<std::future::Pending<MethodResponse>, _>::ready(match self.0.method(&method) {
            Some(MethodCallback::Sync(callback)) => callback(id, params, RESPONSE_BYTES_MAX, extensions),
            _ => MethodResponse::error(id, errors::method_not_found(&method)),
        })
    }

    fn batch<'a>(&self, batch: Batch<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let service = self.clone();
        async move {
            let mut responses = BatchResponseBuilder::new_with_limit(RESPONSE_BYTES_MAX);
            let mut notified = false;
            for entry in batch {
                let response = match entry {
                    Ok(BatchEntry::Call(call)) => service.call(call).await,
                    Ok(BatchEntry::Notification(notification)) => {
                        notified = true;
                        service.notification(notification).await;
                        continue;
                    }
                    Err(entry) => {
                        let (error, id) = entry.into_parts();
                        MethodResponse::error(id, error)
                    }
                };
                if let Err(too_long) = responses.append(response) {
                    return too_long;
                }
            }
            if responses.is_empty() && notified {
                return MethodResponse::notification();
            }
            MethodResponse::from_batch(responses.finish())
        }
    }

    fn notification<'a>(&self, notification: Notification<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let call = self.call(Call {
            jsonrpc: Default::default(),
            id: jsonrpsee::types::Id::Null,
            method: notification.method,
            params: notification.params,
            extensions: notification.extensions,
        });
        async move {
            call.await;
            MethodResponse::notification()
        }
    }
}

/// The status words of a sent transaction.
fn sent(chains: &Chains, chain_id: &str, hash: alloy_primitives::B256) -> Result<Value, RpcFailure> {
    let chain = chains.platform().require_blockchain(chain_id)?;
    let found = chain.node().view().transaction(hash).map_err(failure::query)?;
    let (status, block_number) = match &found {
        Some(crate::node::Located::Mined { block, index }) => {
            let success = block.receipts().get(*index as usize).is_some_and(|receipt| receipt.is_success());
            (if success { "success" } else { "failed" }, Some(block.height().get()))
        }
        _ => ("pending", None),
    };
    Ok(json!({ "transactionHash": hash, "status": status, "blockNumber": block_number }))
}
