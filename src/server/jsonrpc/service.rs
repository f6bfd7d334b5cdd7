//! The JSON-RPC service of every interface: calls, notifications and batches over an interface's [`Dispatch`].

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use jsonrpsee::{
    core::middleware::Request,
    server::MethodResponse,
    types::{Extensions, Id},
};
use serde_json::value::RawValue;

use super::{
    aside::read_aside,
    batch::{BatchError, entries, is_batch},
    effect::Effect,
    errors::{INTERNAL_ERROR, INVALID_REQUEST, LIMIT_EXCEEDED, PARSE_ERROR, RpcError, error},
    message::{Message, error_response, with_id},
};
use crate::server::{
    counters::{Counters, panic_text},
    limits::{BATCH_CALLS_MAX, BATCH_RESPONSE_BYTES_MAX},
};

/// Executes the calls of one interface.
pub(crate) trait Dispatch: Clone + Send + Sync + 'static {
    /// Bound of one response, single or batch, in bytes.
    fn response_bytes_max(&self) -> usize;

    /// Executes one call. Parameters that may be long are read before the future is returned: other connections go on meanwhile, and may have to
    /// wait for a poll.
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a;

    /// Whether consecutive calls of a batch for which this holds go to [`Dispatch::call_group`] together.
    fn is_grouped(&self, _request: &Request<'_>) -> bool {
        false
    }

    /// Executes consecutive calls of a batch; one response for each, in the same order. Parameters are read as in [`Dispatch::call`].
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

/// Calls, notifications and batches of one interface. A handler that panics is answered with an internal error and counted.
#[derive(Clone, Debug)]
pub(crate) struct JsonRpcService<D> {
    dispatch: D,
    counters: Arc<Counters>,
    /// Whether its callers are in this process: texts are read on their own thread, whatever its runtime is.
    is_in_process: bool,
}

/// The part of a response by which the id is matched to a call.
type CallId<'a> = (Id<'a>, Option<&'a RawValue>);

impl<D: Dispatch> JsonRpcService<D> {
    /// Creates a service that counts panics in `counters`.
    pub(crate) const fn new(dispatch: D, counters: Arc<Counters>) -> Self {
        Self { dispatch, counters, is_in_process: false }
    }

    /// The same for callers in this process.
    pub(crate) fn in_process(self) -> Self {
        Self { is_in_process: true, ..self }
    }

    /// Runs `read`, whose work grows with so many bytes of JSON, and holds up no other connection.
    fn read<T>(&self, bytes: usize, read: impl FnOnce() -> T) -> T {
        if self.is_in_process { read() } else { read_aside(bytes, read) }
    }

    /// Executes the call, notification or batch in a body and returns the response; `None` for notifications (JSON-RPC 2.0, 4.1).
    /// Every call gets `extensions`.
    pub(crate) async fn execute(&self, body: &[u8], extensions: Extensions) -> Option<Box<RawValue>> {
        self.execute_up_to(BATCH_CALLS_MAX, body, extensions).await
    }

    /// As [`JsonRpcService::execute`], of a batch with at most so many calls.
    pub(crate) async fn execute_up_to(
        &self,
        calls_max: u32,
        body: &[u8],
        extensions: Extensions,
    ) -> Option<Box<RawValue>> {
        if is_batch(body) {
            return self.execute_batch(calls_max, body, &extensions).await;
        }
        match self.read(body.len(), || Message::read(body, &extensions)) {
            Message::Call(request, raw_id) => Some(self.call(request, raw_id).await),
            Message::Notification(request) => {
                self.call(request, None).await;
                None
            }
            Message::Invalid(response) => Some(response),
        }
    }

    async fn execute_batch(&self, calls_max: u32, body: &[u8], extensions: &Extensions) -> Option<Box<RawValue>> {
        let messages = match self.read(body.len(), || read_batch(body, calls_max, extensions)) {
            Ok(messages) => messages,
            Err(refused) => return Some(error_response(Id::Null, refused)),
        };
        let mut responses = BatchResponses::new(self.dispatch.response_bytes_max().min(BATCH_RESPONSE_BYTES_MAX));
        let mut messages = messages.into_iter().peekable();
        while let Some(message) = messages.next() {
            // Other connections of the same thread are served between two calls.
            tokio::task::yield_now().await;
            match message {
                Message::Call(request, raw_id) if self.dispatch.is_grouped(&request) => {
                    let (mut group, mut ids) = (vec![request], vec![raw_id]);
                    while let Some(Message::Call(request, raw_id)) = messages
                        .next_if(|next| matches!(next, Message::Call(request, _) if self.dispatch.is_grouped(request)))
                    {
                        group.push(request);
                        ids.push(raw_id);
                    }
                    for response in self.call_group(group, &ids).await {
                        responses.push(&response);
                    }
                }
                Message::Call(request, raw_id) => responses.push(&self.call(request, raw_id).await),
                Message::Notification(request) => drop(self.call(request, None).await),
                Message::Invalid(response) => responses.push(&response),
            }
            if let Some(too_long) = responses.too_long() {
                return Some(too_long);
            }
        }
        responses.finish()
    }

    async fn call(&self, request: Request<'_>, raw_id: Option<&RawValue>) -> Box<RawValue> {
        let (id, effect) = (request.id.clone(), Effect::of(&request.extensions));
        let params_bytes = params_bytes(&request);
        // What is answered at once reads its parameters before there is anything to wait for.
        let called = async { self.read(params_bytes, || self.dispatch.call(request)).await };
        let response = match self.caught(called).await {
            Ok(response) => finished(response, raw_id),
            Err(message) => self.panicked((id, raw_id), &message),
        };
        if let Some(effect) = effect {
            effect.note(&response);
        }
        response
    }

    async fn call_group(&self, group: Vec<Request<'_>>, raw_ids: &[Option<&RawValue>]) -> Vec<Box<RawValue>> {
        let ids: Vec<Id<'_>> = group.iter().map(|request| request.id.clone()).collect();
        let effect = group.first().and_then(|request| Effect::of(&request.extensions));
        let params_bytes = group.iter().map(params_bytes).sum::<usize>();
        let called = async { self.read(params_bytes, || self.dispatch.call_group(group)).await };
        let responses: Vec<Box<RawValue>> = match self.caught(called).await {
            Ok(responses) => {
                responses.into_iter().zip(raw_ids).map(|(response, raw_id)| finished(response, *raw_id)).collect()
            }
            Err(message) => {
                let ids = ids.into_iter().zip(raw_ids.iter().copied());
                ids.map(|id| self.panicked(id, &message)).collect()
            }
        };
        if let Some(effect) = effect {
            responses.iter().for_each(|response| effect.note(response));
        }
        responses
    }

    /// Runs `work`; a panic is counted, and its text is the error.
    async fn caught<T>(&self, work: impl Future<Output = T> + Send) -> Result<T, String> {
        AssertUnwindSafe(work).catch_unwind().await.map_err(|payload| {
            self.counters.count_panic();
            panic_text(payload.as_ref()).to_owned()
        })
    }

    fn panicked(&self, (id, raw_id): CallId<'_>, message: &str) -> Box<RawValue> {
        let error = error(INTERNAL_ERROR, format!("internal error: the method panicked: {message}"));
        with_id(&error_response(id, error), raw_id)
    }
}

/// Bytes of a call's parameters.
fn params_bytes(request: &Request<'_>) -> usize {
    request.params.as_ref().map_or(0, |params| params.get().len())
}

/// Reads the messages of a batch with at most so many.
fn read_batch<'a>(body: &'a [u8], calls_max: u32, extensions: &Extensions) -> Result<Vec<Message<'a>>, RpcError> {
    let entries = entries(body, calls_max).map_err(|cause| match cause {
        BatchError::TooMany => error(LIMIT_EXCEEDED, format!("batch too large: more than {calls_max} calls")),
        BatchError::NoJson(cause) => error(PARSE_ERROR, format!("parse error: {cause}")),
    })?;
    if entries.is_empty() {
        return Err(error(INVALID_REQUEST, "empty batch"));
    }
    Ok(entries.into_iter().map(|entry| Message::read(entry.get().as_bytes(), extensions)).collect())
}

/// Returns the JSON of a response, with the id that came where jsonrpsee has no type for it.
fn finished(response: MethodResponse, raw_id: Option<&RawValue>) -> Box<RawValue> {
    let response = response.into_json();
    if raw_id.is_some() { with_id(&response, raw_id) } else { response }
}

/// The responses of a batch, up to a bound in bytes.
struct BatchResponses {
    text: String,
    bytes_max: usize,
}

impl BatchResponses {
    fn new(bytes_max: usize) -> Self {
        Self { text: "[".to_owned(), bytes_max }
    }

    fn push(&mut self, response: &RawValue) {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text.push_str(response.get());
    }

    /// Returns the response in place of all once they are longer than the bound.
    fn too_long(&self) -> Option<Box<RawValue>> {
        let Self { text, bytes_max } = self;
        (text.len() >= *bytes_max).then(|| {
            let message = format!("response too large: the batch's responses are longer than {bytes_max} bytes");
            error_response(Id::Null, error(LIMIT_EXCEEDED, message))
        })
    }

    /// Returns the array of responses; `None` when there is none.
    fn finish(mut self) -> Option<Box<RawValue>> {
        if self.text.len() == 1 {
            return None;
        }
        self.text.push(']');
        RawValue::from_string(self.text).ok()
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::sync::{Mutex, mpsc};

    use jsonrpsee::types::ResponsePayload;
    use serde_json::{Value, json};

    use super::*;
    use crate::server::jsonrpc::{aside::INLINE_BYTES_MAX, errors::method_not_found};

    /// Records the methods of each dispatch; `group` is grouped, `unknown` is refused.
    #[derive(Clone, Default)]
    struct Recorder(Arc<Mutex<Vec<String>>>);

    impl Recorder {
        fn respond(request: Request<'_>) -> MethodResponse {
            if request.method == "unknown" {
                return MethodResponse::error(request.id, method_not_found(&request.method));
            }
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
            assert!(request.method != "panic", "as asked");
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
        run_with(methods, Extensions::new()).await
    }

    async fn run_with(methods: &[&str], extensions: Extensions) -> (Recorder, Value) {
        let texts: Vec<String> = methods
            .iter()
            .enumerate()
            .map(|(id, method)| match method.strip_prefix('!') {
                Some(method) => json!({ "jsonrpc": "2.0", "method": method }).to_string(),
                None => json!({ "jsonrpc": "2.0", "id": id, "method": method }).to_string(),
            })
            .collect();
        let recorder = Recorder::default();
        let service = JsonRpcService::new(recorder.clone(), Arc::default());
        let response = service.execute(format!("[{}]", texts.join(",")).as_bytes(), extensions).await;
        let value = response.map_or(Value::Null, |response| serde_json::from_str(response.get()).unwrap());
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
        assert_eq!(response["error"]["code"], INVALID_REQUEST);
    }

    #[tokio::test]
    async fn a_batch_past_the_bound_of_a_response_is_one_error() {
        let (_, response) = run(&["read"; 5]).await;
        assert_eq!(response.as_array().map(Vec::len), Some(5));
        let (_, response) = run(&["read"; 20]).await;
        assert!(response["error"]["code"].is_i64(), "{response}");
    }

    #[tokio::test]
    async fn a_batch_with_too_many_calls_is_one_error_whatever_comes_behind_them() {
        let service = JsonRpcService::new(Recorder::default(), Arc::default());
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"read"}"#;
        let too_large = json!({ "code": LIMIT_EXCEEDED, "message": "batch too large: more than 2 calls" });
        for (body, refusal) in [
            (format!("[{call},{call}]"), None),
            (format!("[{call},{call},1]"), Some(&too_large)),
            (format!("[{call},{call},1,no JSON"), Some(&too_large)),
        ] {
            let response = service.execute_up_to(2, body.as_bytes(), Extensions::new()).await.unwrap();
            let response: Value = serde_json::from_str(response.get()).unwrap();
            assert_eq!(response.get("error"), refusal, "{body}: {response}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn long_bodies_are_answered_as_short_ones() {
        let service = JsonRpcService::new(Recorder::default(), Arc::default());
        let padding = " ".repeat(2 * INLINE_BYTES_MAX);
        for service in [service.clone(), service.in_process()] {
            for (body, want) in [
                (
                    r#"{"jsonrpc":"2.0","id":1,"method":"read","params":[PADDING1]}"#,
                    r#"{"jsonrpc":"2.0","id":1,"result":"ok"}"#,
                ),
                (r#"[PADDING{"jsonrpc":"2.0","id":1,"method":"read"}]"#, r#"[{"jsonrpc":"2.0","id":1,"result":"ok"}]"#),
            ] {
                let body = body.replace("PADDING", &padding);
                let response = service.execute(body.as_bytes(), Extensions::new()).await.unwrap();
                assert_eq!(response.get(), want);
            }
        }
    }

    /// Answers whether another task of the same thread goes on while parameters are read. `group` is grouped.
    #[derive(Clone)]
    struct SlowReader;

    impl SlowReader {
        fn others_go_on() -> bool {
            let (sender, receiver) = mpsc::channel();
            tokio::spawn(async move { sender.send(()) });
            receiver.recv_timeout(Duration::from_secs(10)).is_ok()
        }

        fn respond(request: Request<'_>, others_go_on: bool) -> MethodResponse {
            MethodResponse::response(request.id, ResponsePayload::success(others_go_on).into(), 1024)
        }
    }

    impl Dispatch for SlowReader {
        fn response_bytes_max(&self) -> usize {
            256
        }

        fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
            std::future::ready(Self::respond(request, Self::others_go_on()))
        }

        fn is_grouped(&self, request: &Request<'_>) -> bool {
            request.method == "group"
        }

        fn call_group<'a>(&self, requests: Vec<Request<'a>>) -> impl Future<Output = Vec<MethodResponse>> + Send + 'a {
            let others_go_on = Self::others_go_on();
            std::future::ready(requests.into_iter().map(|request| Self::respond(request, others_go_on)).collect())
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_go_on_while_long_parameters_are_read() {
        // Two calls that are long together, and one that is long alone.
        for (method, calls, bytes) in [("group", 2, INLINE_BYTES_MAX * 2 / 3), ("read", 1, INLINE_BYTES_MAX + 1)] {
            let padding = "0".repeat(bytes);
            let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":["{padding}"]}}"#);
            let body = format!("[{}]", vec![call; calls].join(","));
            let service = JsonRpcService::new(SlowReader, Arc::default());
            let executed = tokio::spawn(async move { service.execute(body.as_bytes(), Extensions::new()).await });
            let response = executed.await.unwrap().unwrap();
            let want = format!("[{}]", vec![r#"{"jsonrpc":"2.0","id":1,"result":true}"#; calls].join(","));
            assert_eq!(response.get(), want, "{method}");
        }
    }

    #[tokio::test]
    async fn what_was_begun_is_noted_also_of_calls_whose_responses_are_not_sent() {
        for (methods, expected) in [
            (vec!["unknown", "unknown"], false),
            (vec!["unknown", "!unknown"], false),
            (vec!["unknown", "!note"], true),
            (vec!["!note", "unknown"], true),
            (vec!["unknown", "group", "group"], true),
            (vec!["read"; 20], true),
            (vec![], false),
        ] {
            let (effect, mut extensions) = (Effect::default(), Extensions::new());
            extensions.insert(effect.clone());
            let (_, response) = run_with(&methods, extensions).await;
            assert_eq!(effect.is_begun(), expected, "{methods:?}: {response}");
        }
    }

    #[tokio::test]
    async fn a_panic_is_an_internal_error_of_its_call_and_is_counted() {
        let counters = Arc::new(Counters::default());
        let service = JsonRpcService::new(Recorder::default(), counters.clone());
        let body = br#"[{"jsonrpc":"2.0","id":-1,"method":"panic"},{"jsonrpc":"2.0","id":2,"method":"read"}]"#;
        let response = service.execute(body, Extensions::new()).await.unwrap();
        let response: Value = serde_json::from_str(response.get()).unwrap();
        assert_eq!((&response[0]["id"], &response[0]["error"]["code"]), (&json!(-1), &json!(INTERNAL_ERROR)));
        assert!(response[0]["error"]["message"].as_str().unwrap().contains("as asked"), "{response}");
        assert_eq!((&response[1]["result"], counters.panics()), (&json!("ok"), 1));
    }

    #[tokio::test]
    async fn every_kind_of_id_comes_back() {
        let service = JsonRpcService::new(Recorder::default(), Arc::default());
        for id in ["1", "-1", "0.5", "null", "\"a\"", "18446744073709551616", "false"] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"read"}}"#);
            let response = service.execute(body.as_bytes(), Extensions::new()).await.unwrap();
            assert_eq!(response.get(), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"ok"}}"#));
        }
    }
}
