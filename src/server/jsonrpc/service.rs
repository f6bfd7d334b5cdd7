//! The jsonrpsee service of every interface: notifications and batches over an interface's [`Dispatch`].

use jsonrpsee::{
    core::middleware::{Batch, BatchEntry, Notification, Request, ResponseFuture},
    server::{BatchResponseBuilder, MethodCallback, MethodResponse, Methods, middleware::rpc::RpcServiceT},
    types::{Id, Params},
};

use super::errors::{self, METHOD_NOT_FOUND, error};

/// Executes the calls of one interface.
pub(crate) trait Dispatch: Clone + Send + Sync + 'static {
    /// Bound of one response, single or batch, in bytes.
    fn response_bytes_max(&self) -> usize;

    /// Executes one call.
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a;

    /// Whether consecutive calls of a batch for which this holds go to [`Dispatch::call_group`] together.
    fn is_grouped(&self, _request: &Request<'_>) -> bool {
        false
    }

    /// Executes consecutive calls of a batch; one response for each, in the same order.
    fn call_group<'a>(&self, requests: Vec<Request<'a>>) -> impl Future<Output = Vec<MethodResponse>> + Send + 'a {
        let dispatch = self.clone();
        async move {
            let mut responses = Vec::with_capacity(requests.len());
            for request in requests {
                responses.push(dispatch.call(request).await);
            }
            responses
        }
    }
}

/// Calls, notifications and batches of one interface.
#[derive(Clone, Debug)]
pub(crate) struct JsonRpcService<D>(pub(crate) D);

impl<D: Dispatch> RpcServiceT for JsonRpcService<D> {
    type MethodResponse = MethodResponse;
    type NotificationResponse = MethodResponse;
    type BatchResponse = MethodResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        self.0.call(request)
    }

    fn batch<'a>(&self, batch: Batch<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let dispatch = self.0.clone();
        async move {
            let mut responses = BatchResponseBuilder::new_with_limit(dispatch.response_bytes_max());
            let mut entries = batch.into_iter().peekable();
            let mut notified = false;
            while let Some(entry) = entries.next() {
                let mut results = Vec::with_capacity(1);
                match entry {
                    Ok(BatchEntry::Call(request)) if dispatch.is_grouped(&request) => {
                        let mut group = vec![request];
                        while let Some(Ok(BatchEntry::Call(next))) = entries
                            .next_if(|next| matches!(next, Ok(BatchEntry::Call(next)) if dispatch.is_grouped(next)))
                        {
                            group.push(next);
                        }
                        results = dispatch.call_group(group).await;
                    }
                    Ok(BatchEntry::Call(request)) => results.push(dispatch.call(request).await),
                    Ok(BatchEntry::Notification(notification)) => {
                        notified = true;
                        dispatch.call(without_id(notification)).await;
                    }
                    Err(entry) => {
                        let (error, id) = entry.into_parts();
                        results.push(MethodResponse::error(id, error));
                    }
                }
                for response in results {
                    if let Err(too_long) = responses.append(response) {
                        return too_long;
                    }
                }
            }
            if responses.is_empty() && notified {
                return MethodResponse::notification();
            }
            // jsonrpsee turns an empty batch into one Invalid Request.
            MethodResponse::from_batch(responses.finish())
        }
    }

    fn notification<'a>(&self, notification: Notification<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        // JSON-RPC 2.0, 4.1: executed, without a response.
        let call = self.0.call(without_id(notification));
        async move {
            call.await;
            MethodResponse::notification()
        }
    }
}

fn without_id(notification: Notification<'_>) -> Request<'_> {
    Request {
        jsonrpc: Default::default(),
        id: Id::Null,
        method: notification.method,
        params: notification.params,
        extensions: notification.extensions,
    }
}

/// Dispatch by name to registered methods, without a connection to push to.
#[derive(Clone, Debug)]
pub(crate) struct MethodTable {
    pub(crate) methods: Methods,
    pub(crate) response_bytes_max: usize,
}

impl Dispatch for MethodTable {
    fn response_bytes_max(&self) -> usize {
        self.response_bytes_max
    }

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let Request { id, method, params, extensions, .. } = request;
        let params = Params::new(params.as_ref().map(|params| params.get()));
        match self.methods.method(&method) {
            Some(MethodCallback::Sync(callback)) => {
                ResponseFuture::ready(callback(id, params, self.response_bytes_max, extensions))
            }
            Some(MethodCallback::Async(callback)) => ResponseFuture::future(callback(
                id.into_owned(),
                params.into_owned(),
                0_usize.into(),
                self.response_bytes_max,
                extensions,
            )),
            Some(MethodCallback::Subscription(_) | MethodCallback::Unsubscription(_)) => {
                let message = "notifications not supported: subscribe over WebSocket, or use eth_newFilter";
                ResponseFuture::ready(MethodResponse::error(id, error(METHOD_NOT_FOUND, message)))
            }
            None => ResponseFuture::ready(MethodResponse::error(id, errors::method_not_found(&method))),
        }
    }
}
