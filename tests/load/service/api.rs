//! Requests of the API, prepared, and what their responses must be.

use std::net::SocketAddr;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::connection::{Connection, Response, request};

/// Id of each call of `/v1/rpc`.
const CALL_ID: u64 = 1;

/// What a response of `/v1/rpc` is judged by.
#[derive(Debug, Deserialize)]
struct RpcAnswer {
    id: u64,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// A prepared request.
#[derive(Debug)]
pub(super) struct Request {
    /// Method and path, or the method of JSON-RPC.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    is_rpc: bool,
}

impl Request {
    /// Checks that it was answered by what it asked for.
    pub(super) fn check(&self, response: &Response<'_>) -> Result<(), String> {
        let is_success = match self.is_rpc {
            true => response.status == 200 && is_result(response.body),
            false => matches!(response.status, 200 | 201),
        };
        if is_success { Ok(()) } else { Err(self.refused(response)) }
    }

    /// Says what a response was that is not as it must be.
    pub(super) fn refused(&self, response: &Response<'_>) -> String {
        format!("{} is answered {}: {}", self.name, response.status, String::from_utf8_lossy(response.body))
    }
}

/// Returns whether a body is a result. Errors of JSON-RPC come with status 200.
fn is_result(body: &[u8]) -> bool {
    serde_json::from_slice::<RpcAnswer>(body)
        .is_ok_and(|answer| answer.id == CALL_ID && answer.result.is_some() && answer.error.is_none())
}

/// The API by the key of the first user, and a connection for what is not part of the load.
#[derive(Debug)]
pub(super) struct Api {
    host: SocketAddr,
    key: String,
    connection: Connection,
}

impl Api {
    pub(super) async fn connect(host: SocketAddr, key: String) -> Self {
        let connection = Connection::connect(host).await.expect("the service listens");
        Self { host, key, connection }
    }

    /// Takes a new connection, to a service that was started again.
    pub(super) async fn reconnect(&mut self) {
        self.connection = Connection::connect(self.host).await.expect("the service listens");
    }

    /// Prepares a request of REST; `null` is no body.
    pub(super) fn rest(&self, method: &str, path: &str, body: &Value) -> Request {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        let headers = format!("x-api-key: {}\r\n{kind}", self.key);
        let bytes = request(self.host, method, path, &headers, &body);
        Request { name: format!("{method} {path}"), bytes, is_rpc: false }
    }

    /// Prepares a call of JSON-RPC.
    pub(super) fn rpc(&self, method: &str, params: &Value) -> Request {
        let call = json!({ "jsonrpc": "2.0", "id": CALL_ID, "method": method, "params": params });
        Request { name: method.to_owned(), is_rpc: true, ..self.rest("POST", "/v1/rpc", &call) }
    }

    /// Sends a request beside the load and returns the body of its success.
    pub(super) async fn ask(&mut self, request: &Request) -> Result<Value, String> {
        let response = self.connection.send(&request.bytes).await;
        let response = response.map_err(|cause| format!("{}: {cause}", request.name))?;
        request.check(&response)?;
        serde_json::from_slice(response.body).map_err(|cause| format!("{}: {cause}", request.refused(&response)))
    }

    /// Makes a resource and returns it.
    pub(super) async fn make(&mut self, path: &str, body: &Value) -> Value {
        let request = self.rest("POST", path, body);
        self.ask(&request).await.unwrap_or_else(|failure| panic!("{failure}"))["data"].take()
    }
}

#[test]
fn a_result_is_told_from_an_error_of_status_200() {
    for (body, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"result":{"error":null}}"#, true),
        (r#"{"jsonrpc":"2.0","result":{},"id":1}"#, true),
        (r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, false),
        (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, false),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}"#, false),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#, false),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}"#, false),
    ] {
        assert_eq!(is_result(body.as_bytes()), expected, "{body}");
    }
}
