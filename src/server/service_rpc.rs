//! JSON-RPC of the service on `POST /v1/rpc`: seven methods with named parameters. Not REST: no envelope.

mod contract;
mod failure;
mod params;
mod query;
mod transaction;

use std::sync::Arc;

use axum::{
    body::{Body as AxumBody, Bytes},
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use jsonrpsee::{
    RpcModule,
    core::middleware::Request,
    server::{MethodCallback, MethodResponse, Methods, http::is_json},
    types::{Extensions, Params},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use self::{
    failure::{RpcFailure, auth_failure},
    params::Call,
};
use super::{
    api_error::ApiError,
    chains::Chains,
    commands::{Cancellation, Length},
    credentials,
    eth::rpc::EthRpc,
    jsonrpc::{
        errors, framing,
        service::{Dispatch, JsonRpcService},
    },
};
use crate::platform::{Fields, Platform, PlatformError, Principal, Scope};

/// Bytes of one response.
const RESPONSE_BYTES_MAX: usize = 64 << 20;

/// The methods over a platform's chains.
#[derive(Clone, Debug)]
pub(super) struct ServiceRpc {
    platform: Arc<Platform>,
    service: JsonRpcService<ServiceDispatch>,
}

impl ServiceRpc {
    /// Registers all methods over `chains`.
    pub(super) fn new(chains: Chains) -> Self {
        let platform = chains.platform().clone();
        let counters = Arc::clone(chains.counters());
        let service = JsonRpcService::new(ServiceDispatch { methods: methods(chains.clone()), chains }, counters);
        Self { platform, service }
    }
}

/// The methods by name, each where its work belongs: changes in the queue of their chain, simulations on the threads for reads.
#[derive(Clone, Debug)]
struct ServiceDispatch {
    methods: Methods,
    chains: Chains,
}

impl ServiceDispatch {
    /// Returns the Ethereum JSON-RPC of the chain that a call names; `None` where the method refuses the call.
    fn rpc_of(&self, params: Option<&str>) -> Option<EthRpc> {
        #[derive(serde::Deserialize)]
        struct Named {
            #[serde(rename = "blockchainId")]
            blockchain_id: String,
        }
        let named: Named = serde_json::from_str(params?).ok()?;
        self.chains.rpc(&named.blockchain_id)
    }
}

impl Dispatch for ServiceDispatch {
    fn response_bytes_max(&self) -> usize {
        RESPONSE_BYTES_MAX
    }

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let dispatch = self.clone();
        async move {
            let Some(MethodCallback::Sync(callback)) = dispatch.methods.method(&request.method) else {
                return MethodResponse::error(request.id, errors::method_not_found(&request.method));
            };
            let Request { id, method, params, extensions, .. } = request;
            let (id, callback) = (id.into_owned(), callback.clone());
            let params = params.map(|params| params.get().to_owned());
            let rpc = dispatch.rpc_of(params.as_deref());
            let refused_id = id.clone();
            let call =
                move |_: &Cancellation| callback(id, Params::new(params.as_deref()), RESPONSE_BYTES_MAX, extensions);
            let done = match (&*method, rpc) {
                ("transaction.send" | "contract.execute", Some(rpc)) => rpc.commands().run(Length::Short, call).await,
                ("transaction.simulate" | "contract.call", Some(rpc)) => {
                    rpc.commands().workers().read(Length::Short, call).await
                }
                _ => Ok(call(&Cancellation::default())),
            };
            done.unwrap_or_else(|cause| MethodResponse::error(refused_id, RpcFailure::busy(&ApiError::from(cause))))
        }
    }
}

/// A JSON-RPC call.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RpcRequest {
    /// `2.0`.
    #[schema(example = "2.0")]
    jsonrpc: String,
    /// blockchain.getBlock, blockchain.getTransaction, blockchain.getBalance, transaction.send, transaction.simulate, contract.call or
    /// contract.execute.
    #[schema(example = "blockchain.getBlock")]
    method: String,
    /// Parameters by name, as the method takes them.
    #[schema(value_type = Object, example = json!({ "blockchainId": "bc_default", "blockNumber": "latest" }))]
    params: Value,
    /// Id that the response repeats.
    #[schema(example = 1)]
    id: u64,
}

/// The response to a call: `result` or `error`.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RpcResponse {
    /// `2.0`.
    jsonrpc: String,
    /// Result of the method.
    #[schema(value_type = Option<Object>)]
    result: Value,
    /// `code`, `message`, and in `data` the REST `code` with its `details`. A revert has code 3 and `data.output`.
    #[schema(value_type = Option<Object>)]
    error: Value,
    /// Id of the call.
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
        (status = 200, description = "The method's result, or its error", body = RpcResponse), (status = 401, description = "No valid credentials", body = RpcResponse),
        (status = 413, description = "The body is too long", body = RpcResponse), (status = 415, description = "The body is not application/json"),
    ),
)]
pub(super) async fn post(
    State(rpc): State<ServiceRpc>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let principal = match credentials::authenticate(&rpc.platform, &headers) {
        Ok(principal) => principal,
        Err(error) => return auth_failure(&error),
    };
    let content_type = headers.get(header::CONTENT_TYPE);
    if !is_json(content_type) {
        let message = "expected a body of application/json: send the header content-type: application/json".to_owned();
        return framing::refusal((StatusCode::UNSUPPORTED_MEDIA_TYPE, message)).map(AxumBody::new);
    }
    let body = match body {
        Ok(body) => body,
        Err(rejection) => return framing::refusal((rejection.status(), rejection.body_text())).map(AxumBody::new),
    };
    let mut extensions = Extensions::new();
    extensions.insert(principal);
    framing::http_response(rpc.service.execute(&body, extensions).await).map(AxumBody::new)
}

fn methods(chains: Chains) -> Methods {
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

type Handler = fn(&Call<'_>, &mut Fields) -> Result<Value, RpcFailure>;

fn add(module: &mut RpcModule<Chains>, name: &'static str, scope: Scope, handler: Handler) {
    let registered = module.register_method(name, move |params, chains, extensions| {
        let principal = principal(extensions, scope)?;
        let mut fields = named(&params)?;
        handler(&Call { chains, principal }, &mut fields)
    });
    debug_assert!(registered.is_ok(), "{name} is registered twice");
}

fn principal(extensions: &Extensions, scope: Scope) -> Result<&Principal, RpcFailure> {
    let principal = extensions.get::<Principal>().filter(|principal| principal.may(scope));
    principal.ok_or_else(|| RpcFailure::forbidden(scope))
}

fn named(params: &Params<'_>) -> Result<Fields, RpcFailure> {
    let value: Value = serde_json::from_str(params.as_str().unwrap_or("{}"))
        .map_err(|cause| PlatformError::BadRequest { message: format!("params are not JSON: {cause}") })?;
    if value.is_array() {
        return Err(PlatformError::BadRequest {
            message: "params must be an object: parameters are passed by name".to_owned(),
        }
        .into());
    }
    Ok(Fields::read(value)?)
}
