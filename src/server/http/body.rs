//! Reading request bodies: within a bound for each method, a budget for all of them, and a time for each part.

use http_body_util::BodyExt as _;
use hyper::{
    HeaderMap, StatusCode,
    body::{Body as _, Bytes},
    header,
};
use jsonrpsee::server::http::is_json;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};

use super::{
    budget::{BodyBudget, Reservation},
    request_body::RequestBody,
};
use crate::server::{
    jsonrpc::{aside::read_aside, framing::RefusedBody},
    limits::ServerLimits,
};

/// A body, with its share of the bytes that all clients may send at one time.
pub(super) type Received = (Bytes, Reservation);

/// Reads bodies for one server.
#[derive(Clone, Debug)]
pub(super) struct BodyReader {
    pub(super) limits: ServerLimits,
    pub(super) budget: BodyBudget,
}

impl BodyReader {
    /// Reads the body of a JSON-RPC request: of the length that its method may have.
    pub(super) async fn read_rpc(&self, headers: &HeaderMap, body: RequestBody) -> Result<Received, RefusedBody> {
        if !is_json(headers.get(header::CONTENT_TYPE)) {
            return Err((
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "expected a body of application/json: send the header content-type: application/json".to_owned(),
            ));
        }
        let declared = body.size_hint().lower();
        let longest = self.limits.body_bytes_max(Some("anvil_loadState"));
        if declared > longest as u64 {
            return Err(too_long(longest));
        }
        let most = self.limits.rpc_body_bytes_max;
        let mut bytes_max = most;
        let mut looked_at = 0;
        self.read(body, |received| {
            // The method decides on a body that is longer than most may be. It is looked for when twice as much has come.
            let is_long = declared > bytes_max as u64 && received.len() / 2 >= looked_at;
            if bytes_max == most && (is_long || received.len() > bytes_max) {
                looked_at = received.len();
                let method = read_aside(received.len(), || method_of(received));
                bytes_max = self.limits.body_bytes_max(method.as_deref());
                if method.is_some() && declared > bytes_max as u64 {
                    return Err(too_long(bytes_max));
                }
            }
            if received.len() > bytes_max { Err(too_long(bytes_max)) } else { Ok(true) }
        })
        .await
    }

    /// Reads the body of another request, up to the first part that is past `bytes_max`: the handler refuses that one.
    pub(super) async fn read_up_to(&self, body: RequestBody, bytes_max: usize) -> Result<Received, RefusedBody> {
        self.read(body, |received| Ok(received.len() <= bytes_max)).await
    }

    /// Reads parts while `goes_on` returns true for what has been received.
    async fn read(
        &self,
        mut body: RequestBody,
        mut goes_on: impl FnMut(&[u8]) -> Result<bool, RefusedBody>,
    ) -> Result<Received, RefusedBody> {
        let mut reservation = self.budget.empty();
        let mut first = Bytes::new();
        let mut joined = Vec::new();
        loop {
            let part = match tokio::time::timeout(self.limits.body_timeout, body.frame()).await {
                Err(_) => {
                    let message = format!("no part of the body came for {:?}", self.limits.body_timeout);
                    return Err((StatusCode::REQUEST_TIMEOUT, message));
                }
                Ok(None) => break,
                Ok(Some(Err(cause))) => {
                    return Err((StatusCode::BAD_REQUEST, format!("the body could not be read: {cause}")));
                }
                Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            };
            // A short body comes in one part, which is not copied.
            let received: &[u8] = if first.is_empty() {
                first = part;
                &first
            } else {
                if joined.is_empty() {
                    joined.extend_from_slice(&first);
                }
                joined.extend_from_slice(&part);
                &joined
            };
            if !reservation.grow_to(received.len()) {
                let message = "too many bytes of requests are being received: try again later".to_owned();
                return Err((StatusCode::SERVICE_UNAVAILABLE, message));
            }
            if !goes_on(received)? {
                break;
            }
        }
        Ok((if joined.is_empty() { first } else { joined.into() }, reservation))
    }
}

fn too_long(bytes_max: usize) -> RefusedBody {
    (StatusCode::PAYLOAD_TOO_LARGE, format!("the body is longer than {bytes_max} bytes"))
}

/// Returns the method of a single call of whose JSON only the beginning may be there; `None` when the method is not in it.
fn method_of(beginning: &[u8]) -> Option<String> {
    /// Keeps the method that it comes to before the JSON ends.
    struct Members<'a>(&'a mut Option<String>);

    impl<'de> Visitor<'de> for Members<'_> {
        type Value = ();

        fn expecting(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            formatter.write_str("a call")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
            while let Some(name) = members.next_key::<String>()? {
                if name == "method" {
                    *self.0 = Some(members.next_value()?);
                } else {
                    members.next_value::<IgnoredAny>()?;
                }
            }
            Ok(())
        }
    }

    let mut method = None;
    // It ends with an error where the JSON ends, which is no matter.
    let _ = serde_json::Deserializer::from_slice(beginning).deserialize_map(Members(&mut method));
    method
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_method_is_read_from_the_beginning_of_a_call() {
        for (beginning, method) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"anvil_loadState","params":["0x1f8b"#, Some("anvil_loadState")),
            (r#" { "method" : "a", "params" : [ "#, Some("a")),
            (r#"{"params":[{"method":"inner"}],"method":"outer"#, None),
            (r#"{"params":[{"method":"inner"}],"method":"outer""#, Some("outer")),
            (r#"{"params":["0x00000"#, None),
            (r#"[{"method":"a"}"#, None),
            ("", None),
        ] {
            assert_eq!(method_of(beginning.as_bytes()).as_deref(), method, "{beginning}");
        }
    }
}
