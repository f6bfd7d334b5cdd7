//! An `alloy` transport over a node in the same process: a provider without a socket.

use std::task::{Context, Poll};

use alloy_json_rpc::{RequestPacket, Response, ResponsePacket, SerializedRequest};
use alloy_transport::{TransportError, TransportErrorKind, TransportFut};
use jsonrpsee::{
    core::middleware::{Batch, BatchEntry, Request},
    server::{MethodResponse, middleware::rpc::RpcServiceT as _},
    types::Id,
};
use serde_json::value::RawValue;

use super::eth::rpc::{EthHttpService, EthRpc};
use crate::node::Node;

/// An `alloy` transport whose server is a [`Node`] in the same process.
///
/// Pass it to `alloy_rpc_client::RpcClient::new(transport, true)`. It has the methods that HTTP has;
/// subscriptions need a WebSocket.
#[derive(Clone, Debug)]
pub struct InProcess {
    service: EthHttpService,
}

impl InProcess {
    /// Creates a transport to `node`.
    pub fn new(node: Node) -> Self {
        EthRpc::new(node).into()
    }
}

impl From<EthRpc> for InProcess {
    fn from(rpc: EthRpc) -> Self {
        Self { service: rpc.http_service() }
    }
}

impl tower::Service<RequestPacket> for InProcess {
    type Response = ResponsePacket;
    type Error = TransportError;
    type Future = TransportFut<'static>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, packet: RequestPacket) -> Self::Future {
        let service = self.service.clone();
        Box::pin(async move {
            match packet {
                RequestPacket::Single(request) => {
                    Ok(ResponsePacket::Single(read_response(&service.call(to_request(&request)?).await)?))
                }
                RequestPacket::Batch(requests) => {
                    let entries: Result<Vec<_>, TransportError> =
                        requests.iter().map(|request| Ok(Ok(BatchEntry::Call(to_request(request)?)))).collect();
                    let response = service.batch(Batch::from(entries?)).await;
                    let text = response.as_json().get();
                    serde_json::from_str(text)
                        .map(ResponsePacket::Batch)
                        .map_err(|cause| TransportError::deser_err(cause, text))
                }
            }
        })
    }
}

fn to_request(request: &SerializedRequest) -> Result<Request<'static>, TransportError> {
    // Parsing the serialised form keeps the id as alloy wrote it.
    let text: &RawValue = request.serialized();
    let read: Request<'_> = serde_json::from_str(text.get()).map_err(TransportErrorKind::custom)?;
    Ok(Request {
        jsonrpc: Default::default(),
        id: Id::into_owned(read.id),
        method: read.method.into_owned().into(),
        params: read.params.map(|params| std::borrow::Cow::Owned(params.into_owned())),
        extensions: Default::default(),
    })
}

fn read_response(response: &MethodResponse) -> Result<Response, TransportError> {
    let text = response.as_json().get();
    serde_json::from_str(text).map_err(|cause| TransportError::deser_err(cause, text))
}
