//! WebSocket sessions (RFC 6455): Ethereum JSON-RPC with subscriptions.

mod frame;
mod session;
mod standing;

use std::sync::Arc;

use hyper::{
    Request, Response, StatusCode,
    header::{self, HeaderValue},
};
use hyper_util::rt::TokioIo;
use jsonrpsee::server::{
    BatchRequestConfig, ConnectionState, Methods, ServerConfig as RpcConfig, middleware::rpc::RpcServiceBuilder,
    stop_channel, ws,
};
use tokio::sync::{Semaphore, watch};

pub(super) use self::standing::Standing;
use super::{Body, budget::BodyBudget, request_body::RequestBody};
use crate::server::{eth::rpc::EthRpc, jsonrpc::framing, limits::ServerLimits};

/// Seconds after which a client past the bound of sessions may ask again.
const RETRY_AFTER_SECS: u64 = 1;

/// The WebSocket sessions of a server.
#[derive(Debug)]
pub(super) struct Sessions {
    permits: Arc<Semaphore>,
    limits: ServerLimits,
    budget: BodyBudget,
    stopped: watch::Sender<bool>,
}

impl Sessions {
    pub(super) fn new(limits: ServerLimits, budget: BodyBudget) -> Self {
        let permits = Arc::new(Semaphore::new(limits.websockets_max));
        Self { permits, limits, budget, stopped: watch::Sender::new(false) }
    }

    /// Ends every session after its running calls, and waits for them.
    pub(super) async fn stop(&self) {
        self.stopped.send_replace(true);
        let all = u32::try_from(self.limits.websockets_max).unwrap_or(u32::MAX);
        let _ = self.permits.acquire_many(all).await;
    }

    /// Answers an upgrade request and starts the session. `protocol` is the subprotocol to agree on; a session without `standing` is
    /// everybody's as long as it lasts. A refusal is an error of JSON-RPC, as all that is answered at its path.
    pub(super) async fn upgrade(
        &self,
        rpc: EthRpc,
        mut request: Request<RequestBody>,
        protocol: Option<HeaderValue>,
        standing: Option<Standing>,
    ) -> Response<Body> {
        let Ok(permit) = self.permits.clone().try_acquire_owned() else {
            rpc.counters().count_refused_connection();
            let max = self.limits.websockets_max;
            let message = format!("{max} WebSocket sessions are open, which is the maximum: close one first");
            let mut refused = framing::refusal((StatusCode::SERVICE_UNAVAILABLE, message));
            refused.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECS));
            return refused;
        };
        let mut response = match handshake(&request).await {
            Ok(response) => response,
            Err(refused) => return refused,
        };
        if let Some(protocol) = protocol {
            response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        let (limits, budget, stopped) = (self.limits, self.budget.clone(), self.stopped.subscribe());
        let upgraded = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let _permit = permit;
            // A client that leaves before the upgrade has no session.
            if let Ok(upgraded) = upgraded.await {
                session::run(TokioIo::new(upgraded), (rpc, standing), limits, budget, stopped).await;
            }
        });
        response
    }
}

/// Returns the response of the opening handshake (RFC 6455, 4.2.2), which jsonrpsee computes; its session is not used.
async fn handshake(request: &Request<RequestBody>) -> Result<Response<Body>, Response<Body>> {
    let mut copy = Request::new(());
    copy.headers_mut().clone_from(request.headers());
    // An extension would change the frames.
    copy.headers_mut().remove(header::SEC_WEBSOCKET_EXTENSIONS);
    let Ok(permit) = Arc::new(Semaphore::new(1)).try_acquire_owned() else {
        let message = "the handshake could not be made".to_owned();
        return Err(framing::refusal((StatusCode::INTERNAL_SERVER_ERROR, message)));
    };
    let (stop_handle, _stop) = stop_channel();
    let state = ConnectionState::new(stop_handle, 0, permit);
    let config = RpcConfig::builder().set_batch_request_config(BatchRequestConfig::Disabled).build();
    match ws::connect(copy, config, Methods::new(), state, RpcServiceBuilder::new()).await {
        Ok((response, _session)) => Ok(response),
        Err(_) => {
            let message =
                "the WebSocket handshake needs Sec-WebSocket-Key and Sec-WebSocket-Version: 13 (RFC 6455, 4.1)";
            let mut refused = framing::refusal((StatusCode::BAD_REQUEST, message.to_owned()));
            refused.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            Err(refused)
        }
    }
}
