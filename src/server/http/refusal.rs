//! Refusals outside any handler, each in the format that its path answers in: a wrong host, a body that does not come, a missed deadline,
//! a panic.

use hyper::{
    HeaderMap, Response, StatusCode,
    header::{self, HeaderValue},
};
use serde_json::json;

use super::{Body, paths, plain};
use crate::server::{
    api_error::ApiError,
    jsonrpc::framing,
    rest::{self, RequestId},
    service_rpc,
};

/// Format in which a path answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// REST, in the envelope.
    Envelope,
    /// Ethereum JSON-RPC.
    Ethereum,
    /// JSON-RPC of the service.
    ServiceRpc,
    /// The bodies of RFC 6749, 5.2.
    OAuth,
    /// A line of text.
    Text,
}

impl Format {
    /// Returns the format of a path.
    pub(super) fn of(path: &str) -> Self {
        match path {
            "/" => Self::Ethereum,
            "/v1/rpc" => Self::ServiceRpc,
            _ if paths::chain_of(path).is_some() => Self::Ethereum,
            _ if paths::is_authorization(path) => Self::OAuth,
            _ if path == "/v1" || path.starts_with("/v1/") => Self::Envelope,
            _ => Self::Text,
        }
    }

    /// Says that no cache keeps an answer of REST or JSON-RPC, unless it says itself who may. Shared caches know that an answer is of one
    /// caller by `Authorization` alone (RFC 9111, 3.5), and there are other credentials.
    pub(super) fn keep_out_of_caches(self, headers: &mut HeaderMap) {
        if matches!(self, Self::Envelope | Self::Ethereum | Self::ServiceRpc) {
            headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        }
    }

    /// Returns the response to a refused request.
    pub(super) fn refusal(self, status: StatusCode, message: String, id: &RequestId, now_ms: u64) -> Response<Body> {
        match self {
            Self::Envelope => rest::refused(error(status, message), id, now_ms).map(Body::new),
            Self::Ethereum => framing::refusal((status, message)),
            Self::ServiceRpc => service_rpc::refused(&error(status, message)).map(Body::new),
            Self::OAuth => oauth(status, &message),
            Self::Text => plain(status, message),
        }
    }
}

/// Returns the error of the service with a status.
fn error(status: StatusCode, message: String) -> ApiError {
    let code = match status {
        StatusCode::FORBIDDEN => "FORBIDDEN",
        StatusCode::REQUEST_TIMEOUT => "REQUEST_TIMEOUT",
        StatusCode::PAYLOAD_TOO_LARGE => "PAYLOAD_TOO_LARGE",
        StatusCode::SERVICE_UNAVAILABLE => "UNAVAILABLE",
        StatusCode::INTERNAL_SERVER_ERROR => "INTERNAL_ERROR",
        _ => "BAD_REQUEST",
    };
    ApiError::new(status, code, message)
}

fn oauth(status: StatusCode, message: &str) -> Response<Body> {
    let code = match status {
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => "temporarily_unavailable",
        StatusCode::INTERNAL_SERVER_ERROR => "server_error",
        _ => "invalid_request",
    };
    let body = json!({ "error": code, "error_description": message }).to_string();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use serde_json::Value;

    use super::*;

    async fn refused(path: &str, status: StatusCode) -> (StatusCode, Option<String>, Value) {
        let id = RequestId("req_1".to_owned());
        let response = Format::of(path).refusal(status, "too \"late\"".to_owned(), &id, 0);
        let (status, of_id) = (response.status(), response.headers().get("x-request-id").cloned());
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&body).unwrap_or_else(|_| String::from_utf8_lossy(&body).into());
        (status, of_id.map(|id| id.to_str().unwrap().to_owned()), body)
    }

    #[test]
    fn no_cache_keeps_what_does_not_say_that_it_may() {
        for (path, own, wanted) in [
            ("/v1/workspaces", None, Some("no-store")),
            ("/v1/rpc", None, Some("no-store")),
            ("/v1/blockchains/bc_1/eth", None, Some("no-store")),
            ("/", None, Some("no-store")),
            ("/v1/workspaces", Some("max-age=60"), Some("max-age=60")),
            ("/oauth/authorize", None, None),
        ] {
            let own = own.map(|value| (header::CACHE_CONTROL, HeaderValue::from_static(value)));
            let mut headers: HeaderMap = own.into_iter().collect();
            Format::of(path).keep_out_of_caches(&mut headers);
            let got = headers.get(header::CACHE_CONTROL).map(|value| value.to_str().unwrap());
            assert_eq!(got, wanted, "{path}");
        }
    }

    #[tokio::test]
    async fn each_path_is_refused_in_its_own_format() {
        let late = StatusCode::SERVICE_UNAVAILABLE;
        let (status, id, body) = refused("/v1/workspaces", late).await;
        assert_eq!((status, id.as_deref()), (late, Some("req_1")));
        assert_eq!((&body["success"], &body["error"]["code"]), (&json!(false), &json!("UNAVAILABLE")));
        assert_eq!((&body["error"]["requestId"], &body["error"]["message"]), (&json!("req_1"), &json!("too \"late\"")));
        for (path, code) in [("/", -32005), ("/v1/blockchains/bc_1/eth", -32005), ("/v1/rpc", -32005)] {
            let (_, _, body) = refused(path, late).await;
            assert_eq!((&body["jsonrpc"], &body["error"]["code"]), (&json!("2.0"), &json!(code)), "{path}");
        }
        assert_eq!(refused("/v1/rpc", late).await.2["error"]["data"]["code"], "UNAVAILABLE");
        for path in ["/oauth/token", "/v1/oauth/token"] {
            let (_, _, body) = refused(path, StatusCode::INTERNAL_SERVER_ERROR).await;
            assert_eq!(body, json!({ "error": "server_error", "error_description": "too \"late\"" }), "{path}");
        }
        assert_eq!(refused("/metrics", late).await.2, "too \"late\"\n");
    }
}
