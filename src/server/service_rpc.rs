//! JSON-RPC of the service on `POST /v1/rpc`: seven methods with named parameters. Not REST: no envelope.

mod contract;
mod failure;
mod params;
mod query;
mod transaction;

use std::sync::Arc;

use axum::response::Response;
use jsonrpsee::{
    RpcModule,
    core::middleware::Request,
    server::{HttpBody as Body, MethodCallback, MethodResponse, Methods},
    types::{Extensions, Params},
};
use serde_json::Value;

pub(super) use self::failure::refused;

use self::{failure::RpcFailure, params::Call};
use super::{
    api_error::ApiError,
    chains::Chains,
    commands::{Cancellation, Length},
    eth::rpc::EthRpc,
    jsonrpc::{
        errors, framing,
        service::{Dispatch, JsonRpcService},
    },
};
use crate::platform::{Fields, PlatformError, Principal, Scope};

/// Bytes of one response.
const RESPONSE_BYTES_MAX: usize = 64 << 20;

/// The methods over a platform's chains.
#[derive(Clone, Debug)]
pub(super) struct ServiceRpc {
    service: JsonRpcService<ServiceDispatch>,
}

impl ServiceRpc {
    /// Executes the calls in a body for a principal.
    pub(super) async fn execute(&self, principal: Principal, body: &[u8]) -> Response<Body> {
        let mut extensions = Extensions::new();
        extensions.insert(principal);
        framing::http_response(self.service.execute(body, extensions).await)
    }

    /// Registers all methods over `chains`.
    pub(super) fn new(chains: Chains) -> Self {
        let counters = Arc::clone(chains.counters());
        let service = JsonRpcService::new(ServiceDispatch { methods: methods(chains.clone()), chains }, counters);
        Self { service }
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
