//! An `alloy` transport over a node in the same process: a provider without a socket.

use std::task::{Context, Poll};

use alloy_json_rpc::{RequestPacket, ResponsePacket};
use alloy_transport::{TransportError, TransportFut};
use jsonrpsee::types::Extensions;

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
        Self { service: rpc.http_service().in_process() }
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
            // As over HTTP: the text that alloy wrote, ids included.
            let text = packet.serialize().map_err(TransportError::ser_err)?;
            let response = service.execute(text.get().as_bytes(), Extensions::new()).await;
            let text = response.as_ref().map_or("", |response| response.get());
            serde_json::from_str(text).map_err(|cause| TransportError::deser_err(cause, text))
        })
    }
}
