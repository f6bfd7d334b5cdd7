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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use jsonrpsee::types::ResponsePayload;
    use serde_json::{Value, json};

    use super::*;

    /// Records the methods of each dispatch; `group` is grouped.
    #[derive(Clone, Default)]
    struct Recorder(Arc<Mutex<Vec<String>>>);

    impl Recorder {
        fn respond(request: Request<'_>) -> MethodResponse {
            MethodResponse::response(request.id, ResponsePayload::success("ok").into(), 1024)
        }

        fn recorded(&self) -> Vec<String> {
            self.0.lock().unwrap().clone()
        }
    }

    impl Dispatch for Recorder {
        fn response_bytes_max(&self) -> usize {
            256
        }

        fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
            self.0.lock().unwrap().push(request.method.to_string());
            std::future::ready(Self::respond(request))
        }

        fn is_grouped(&self, request: &Request<'_>) -> bool {
            request.method == "group"
        }

        fn call_group<'a>(&self, requests: Vec<Request<'a>>) -> impl Future<Output = Vec<MethodResponse>> + Send + 'a {
            self.0.lock().unwrap().push(format!("group of {}", requests.len()));
            std::future::ready(requests.into_iter().map(Self::respond).collect())
        }
    }

    /// Runs a batch of calls (methods) and notifications (methods after `!`), numbered from 0.
    async fn run(methods: &[&str]) -> (Recorder, Value) {
        let texts: Vec<String> = methods
            .iter()
            .enumerate()
            .map(|(id, method)| match method.strip_prefix('!') {
                Some(method) => json!({ "jsonrpc": "2.0", "method": method }).to_string(),
                None => json!({ "jsonrpc": "2.0", "id": id, "method": method }).to_string(),
            })
            .collect();
        let entries = texts.iter().zip(methods).map(|(text, method)| {
            Ok(match method.starts_with('!') {
                true => BatchEntry::Notification(serde_json::from_str(text).unwrap()),
                false => BatchEntry::Call(serde_json::from_str(text).unwrap()),
            })
        });
        let recorder = Recorder::default();
        let response = JsonRpcService(recorder.clone()).batch(Batch::from(entries.collect::<Vec<_>>())).await;
        let value = if response.is_notification() {
            Value::Null
        } else {
            serde_json::from_str(response.as_json().get()).unwrap()
        };
        (recorder, value)
    }

    #[tokio::test]
    async fn consecutive_grouped_calls_go_together() {
        let (recorder, response) = run(&["group", "group", "read", "group", "!note", "group"]).await;
        assert_eq!(recorder.recorded(), ["group of 2", "read", "group of 1", "note", "group of 1"]);
        let ids: Vec<u64> = response.as_array().unwrap().iter().map(|each| each["id"].as_u64().unwrap()).collect();
        assert_eq!(ids, [0, 1, 2, 3, 5], "notifications have no response");
    }

    #[tokio::test]
    async fn a_batch_of_notifications_has_no_response_and_an_empty_one_an_error() {
        let (recorder, response) = run(&["!note", "!note"]).await;
        assert_eq!((recorder.recorded().len(), response), (2, Value::Null));
        let (_, response) = run(&[]).await;
        assert_eq!(response["error"]["code"], errors::INVALID_REQUEST);
    }

    #[tokio::test]
    async fn a_batch_past_the_bound_of_a_response_is_one_error() {
        let (_, response) = run(&["read"; 5]).await;
        assert_eq!(response.as_array().map(Vec::len), Some(5));
        let (_, response) = run(&["read"; 20]).await;
        assert!(response["error"]["code"].is_i64(), "{response}");
    }
}
