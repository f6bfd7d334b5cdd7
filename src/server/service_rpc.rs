//! JSON-RPC of the service on `POST /v1/rpc`: seven methods with named parameters. Not REST: no envelope.

mod contract;
mod failure;
mod params;
mod query;
mod transaction;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use axum::http::StatusCode;
use jsonrpsee::{
    RpcModule,
    core::middleware::Request,
    server::{MethodCallback, MethodResponse, Methods},
    types::{Extensions, Params},
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub(super) use self::failure::{error_object, refused};

use self::{failure::RpcFailure, params::Call};
use super::{
    api_error::ApiError,
    chains::Chains,
    commands::{Cancellation, Length},
    eth::rpc::EthRpc,
    jsonrpc::{
        aside::read_aside,
        effect::Effect,
        errors,
        framing::Answered,
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
    /// Executes the calls in a body for a principal; a batch has at most so many. With a seed, what a call sends has an id that follows
    /// from the seed and the call's place: the body can be executed again, and sends nothing twice.
    pub(super) async fn execute(
        &self,
        principal: Principal,
        calls_max: u32,
        body: &[u8],
        seed: Option<String>,
    ) -> Answered {
        let scope = read_aside(body.len(), || scope_of_single(body));
        let is_forbidden = scope.is_some_and(|scope| !principal.may(scope));
        let (effect, mut extensions) = (Effect::default(), Extensions::new());
        extensions.insert(principal);
        extensions.insert(effect.clone());
        if let Some(seed) = seed {
            extensions.insert(SendIds { seed, calls: Arc::default() });
        }
        let json = self.service.execute_up_to(calls_max, body, extensions).await;
        let status = if is_forbidden { StatusCode::FORBIDDEN } else { StatusCode::OK };
        Answered { status, json, is_begun: effect.is_begun() }
    }

    /// Registers all methods over `chains`.
    pub(super) fn new(chains: Chains) -> Self {
        let counters = Arc::clone(chains.counters());
        let service = JsonRpcService::new(ServiceDispatch { methods: methods(chains.clone()), chains }, counters);
        Self { service }
    }
}

/// Ids of what the calls of one request send, in the order of the calls.
#[derive(Clone, Debug)]
struct SendIds {
    seed: String,
    /// Calls so far.
    calls: Arc<AtomicU64>,
}

impl SendIds {
    /// Returns the id of what the next call sends.
    fn next(&self) -> SendId {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let digest = Sha256::new().chain_update(&self.seed).chain_update(call.to_be_bytes()).finalize();
        SendId(format!("tx_{}", alloy_primitives::hex::encode(&digest[..8])))
    }
}

/// Id of what a call sends.
#[derive(Clone, Debug)]
struct SendId(String);

/// The methods by name, each where its work belongs: changes in the queue of their chain, reads and simulations on the threads for reads.
#[derive(Clone, Debug)]
struct ServiceDispatch {
    methods: Methods,
    chains: Chains,
}

impl ServiceDispatch {
    /// Returns the Ethereum JSON-RPC of the chain whose turn a call needs: the one that it names, or the only one that its caller can see. `None`
    /// where the method refuses the call.
    fn rpc_of(&self, params: Option<&str>, extensions: &Extensions) -> Option<EthRpc> {
        #[derive(serde::Deserialize)]
        struct Named {
            #[serde(rename = "blockchainId")]
            blockchain_id: Option<String>,
        }
        let named: Named = serde_json::from_str(params.unwrap_or("{}")).ok()?;
        let (principal, blockchains) = (extensions.get::<Principal>()?, self.chains.platform().blockchains());
        let id = match named.blockchain_id {
            Some(id) => id,
            None => blockchains.only_readable(principal).ok()?,
        };
        // Who may not see a chain takes no turn of it. The method looks again when its turn has come: access may have ended.
        blockchains.readable_record(principal, &id).ok()?;
        self.chains.rpc(&id)
    }
}

impl Dispatch for ServiceDispatch {
    fn response_bytes_max(&self) -> usize {
        RESPONSE_BYTES_MAX
    }

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let dispatch = self.clone();
        async move {
            let Request { id, method, params, mut extensions, .. } = request;
            if let Some(next) = extensions.get::<SendIds>().map(SendIds::next) {
                extensions.insert(next);
            }
            let Some(MethodCallback::Sync(callback)) = dispatch.methods.method(&method) else {
                return MethodResponse::error(id, errors::method_not_found(&method));
            };
            let (id, callback) = (id.into_owned(), callback.clone());
            let params = params.map(|params| params.get().to_owned());
            let (refused_id, length) = (id.clone(), read_length(&method, params.as_deref()));
            let rpc = match length {
                None | Some(Length::Long) => dispatch.rpc_of(params.as_deref(), &extensions),
                Some(Length::Short) => None,
            };
            let call =
                move |_: &Cancellation| callback(id, Params::new(params.as_deref()), RESPONSE_BYTES_MAX, extensions);
            let done = match (&*method, rpc, length) {
                // It is tried before it is sent.
                ("contract.execute", Some(rpc), _) => rpc.commands().run(Length::Long, call).await,
                (_, Some(rpc), None) => rpc.commands().run(Length::Short, call).await,
                (_, Some(rpc), Some(length)) => rpc.commands().read(length, call).await,
                (_, None, Some(length)) => dispatch.chains.workers().read(length, call).await,
                // It is refused for its chain, before anything is read or tried.
                (_, None, None) => Ok(call(&Cancellation::default())),
            };
            done.unwrap_or_else(|cause| MethodResponse::error(refused_id, RpcFailure::busy(&ApiError::from(cause))))
        }
    }
}

/// Bytes of the parameters of a short read.
const SHORT_PARAMS_BYTES_MAX: usize = 64 << 10;

/// Returns how long a call of a method that reads may take on the threads for reads; `None` for a method that sends.
fn read_length(method: &str, params: Option<&str>) -> Option<Length> {
    #[derive(Default, serde::Deserialize)]
    struct Asked {
        #[serde(default, rename = "blockNumber")]
        block: Value,
        #[serde(default, rename = "fullTransactions")]
        is_full: Value,
    }
    match method {
        // As long as its caller's gas lasts.
        "transaction.simulate" | "contract.call" => Some(Length::Long),
        "transaction.send" | "contract.execute" => None,
        _ => {
            let params = params.unwrap_or("{}");
            if params.len() > SHORT_PARAMS_BYTES_MAX {
                return Some(Length::Long);
            }
            // What can't be read is refused by the method.
            let Asked { block, is_full } = serde_json::from_str(params).unwrap_or_default();
            // Transactions in full are as long as the block; the pending block is executed when somebody first asks for it.
            Some(if is_full == true || block == "pending" { Length::Long } else { Length::Short })
        }
    }
}

type Handler = fn(&Call<'_>, &mut Fields) -> Result<Value, RpcFailure>;

/// The methods, each with the scope that it needs.
const METHODS: [(&str, Scope, Handler); 7] = [
    ("blockchain.getBlock", Scope::BlockchainRead, query::block),
    ("blockchain.getTransaction", Scope::BlockchainRead, query::transaction),
    ("blockchain.getBalance", Scope::BlockchainRead, query::balance),
    ("transaction.send", Scope::BlockchainDeploy, transaction::send),
    ("transaction.simulate", Scope::BlockchainRead, transaction::simulate),
    ("contract.call", Scope::BlockchainRead, contract::call),
    ("contract.execute", Scope::BlockchainDeploy, contract::execute),
];

fn methods(chains: Chains) -> Methods {
    let mut module = RpcModule::new(chains);
    METHODS.into_iter().for_each(|(name, scope, handler)| add(&mut module, name, scope, handler));
    module.into()
}

/// Returns the scope that a body's single call needs; `None` for a batch, and for what calls no method of the service.
fn scope_of_single(body: &[u8]) -> Option<Scope> {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        method: std::borrow::Cow<'a, str>,
    }
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return None;
    }
    let named: Named<'_> = serde_json::from_slice(body).ok()?;
    METHODS.iter().find(|(name, ..)| *name == named.method).map(|(_, scope, _)| *scope)
}

fn add(module: &mut RpcModule<Chains>, name: &'static str, scope: Scope, handler: Handler) {
    let registered = module.register_method(name, move |params, chains, extensions| {
        let principal = principal(extensions, scope)?;
        let mut fields = named(&params)?;
        let send_id = extensions.get::<SendId>().map(|SendId(id)| id.as_str());
        let done = handler(&Call { chains, principal, send_id }, &mut fields);
        if let (Err(_), Some(id), Some(effect)) = (&done, send_id, extensions.get::<Effect>()) {
            // What is kept will be sent, whatever the call is answered.
            let kept = chains.platform().blockchains().sent(principal, id);
            if !matches!(kept, Ok(None)) {
                effect.begin();
            }
        }
        done
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_short_but_for_whole_blocks_and_the_pending_one() {
        let long = format!("{{\"blockchainId\":\"{}\"}}", "x".repeat(SHORT_PARAMS_BYTES_MAX));
        for (method, params, expected) in [
            ("blockchain.getBlock", None, Some(Length::Short)),
            ("blockchain.getBlock", Some(r#"{"blockNumber":"latest","fullTransactions":false}"#), Some(Length::Short)),
            ("blockchain.getBlock", Some(r#"{"blockNumber":"latest","fullTransactions":true}"#), Some(Length::Long)),
            ("blockchain.getBlock", Some(r#"{"blockNumber":"\u0070ending"}"#), Some(Length::Long)),
            ("blockchain.getBlock", Some(&*long), Some(Length::Long)),
            ("blockchain.getBlock", Some("[true"), Some(Length::Short)),
            ("blockchain.getTransaction", Some(r#"{"transactionHash":"0x00"}"#), Some(Length::Short)),
            ("blockchain.getBalance", Some(r#"{"address":"0x00","blockNumber":"pending"}"#), Some(Length::Long)),
            ("transaction.simulate", None, Some(Length::Long)),
            ("contract.call", None, Some(Length::Long)),
            ("transaction.send", None, None),
            ("contract.execute", Some(r#"{"blockNumber":"pending"}"#), None),
        ] {
            assert_eq!(read_length(method, params), expected, "{method} {params:?}");
        }
        // Each method has its place: whoever adds one decides on it.
        let sending = METHODS.iter().filter(|(name, ..)| read_length(name, None).is_none());
        assert!(sending.clone().all(|(_, scope, _)| *scope == Scope::BlockchainDeploy) && sending.count() == 2);
    }
}
