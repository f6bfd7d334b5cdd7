//! JSON-RPC 2.0 messages: reading calls and notifications, and writing responses with any id.
//!
//! jsonrpsee knows unsigned, string and null ids. As in geth, a call with a negative, fractional, large or boolean id is
//! executed too and its id is repeated as it came; an object or array is no id (JSON-RPC 2.0, 4).

use std::borrow::Cow;

use jsonrpsee::{
    core::middleware::Request,
    server::MethodResponse,
    types::{ErrorObjectOwned, Extensions, Id},
};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::errors::{INVALID_REQUEST, PARSE_ERROR, error};

/// One message of a body.
#[derive(Debug)]
pub(super) enum Message<'a> {
    /// A call, with its id where jsonrpsee has no type for it.
    Call(Request<'a>, Option<&'a RawValue>),
    /// A call without an id, which has no response.
    Notification(Request<'a>),
    /// The response to what is no call.
    Invalid(Box<RawValue>),
}

/// The members of a request object; unknown ones are ignored.
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(default)]
    jsonrpc: Option<Cow<'a, str>>,
    /// Kept as text: `null` is an id, its absence is none.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Message<'a> {
    /// Reads one JSON text.
    pub(super) fn read(text: &'a [u8], extensions: &Extensions) -> Self {
        if let Ok(mut call) = serde_json::from_slice::<Request<'a>>(text) {
            call.extensions = extensions.clone();
            return Self::Call(call, None);
        }
        let Ok(members) = serde_json::from_slice::<Members<'a>>(text) else {
            return Self::Invalid(match serde_json::from_slice::<&RawValue>(text) {
                Ok(_) => error_response(Id::Null, invalid_request()),
                Err(cause) => error_response(Id::Null, error(PARSE_ERROR, format!("parse error: {cause}"))),
            });
        };
        let id = members.id.filter(|id| !id.get().starts_with(['{', '[']));
        let is_valid = members.jsonrpc.as_deref() == Some("2.0") && members.id.is_some() == id.is_some();
        let Some(method) = members.method.filter(|method| is_valid && !method.is_empty()) else {
            return Self::Invalid(with_id(&error_response(Id::Null, invalid_request()), id));
        };
        let request = Request {
            jsonrpc: Default::default(),
            id: Id::Null,
            method,
            params: members.params.map(Cow::Borrowed),
            extensions: extensions.clone(),
        };
        match id {
            Some(_) => Self::Call(request, id),
            None => Self::Notification(request),
        }
    }
}

fn invalid_request() -> ErrorObjectOwned {
    error(INVALID_REQUEST, "invalid request: expected an object with jsonrpc \"2.0\", method, params and id")
}

/// Returns the response with an error.
pub(super) fn error_response(id: Id<'_>, error: ErrorObjectOwned) -> Box<RawValue> {
    MethodResponse::error(id, error).into_json()
}

/// Returns a response with its id replaced by `id`.
pub(super) fn with_id(response: &RawValue, id: Option<&RawValue>) -> Box<RawValue> {
    /// A response object; one of result and error is there.
    #[derive(Deserialize)]
    struct Response<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        result: Option<&'a RawValue>,
        #[serde(borrow, default)]
        error: Option<&'a RawValue>,
    }
    let Some(id) = id else { return response.to_owned() };
    let Ok(members) = serde_json::from_str::<Response<'_>>(response.get()) else { return response.to_owned() };
    let (name, value) = match (members.error, members.result) {
        (Some(error), _) => ("error", error.get()),
        (None, result) => ("result", result.map_or("null", RawValue::get)),
    };
    let text = format!(r#"{{"jsonrpc":"2.0","id":{},"{name}":{value}}}"#, id.get());
    RawValue::from_string(text).unwrap_or_else(|_| response.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Message<'_> {
        Message::read(text.as_bytes(), &Extensions::new())
    }

    #[test]
    fn ids_that_jsonrpsee_has_no_type_for_are_kept_as_text() {
        for id in ["-1", "1.5", "1e3", "18446744073709551616", "true", r#""a\u0041""#, "null", "7"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":[]}}"#);
            let Message::Call(request, raw) = read(&text) else { panic!("{id} is the id of a call") };
            assert_eq!(request.method, "m");
            assert!(raw.is_none_or(|raw| raw.get() == id), "{id}: {raw:?}");
        }
    }

    #[test]
    fn objects_and_arrays_are_no_ids() {
        for id in ["{}", "[1]"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            let Message::Invalid(response) = read(&text) else { panic!("{id} is no id") };
            assert!(response.get().contains(r#""id":null"#) && response.get().contains("-32600"), "{response}");
        }
    }

    #[test]
    fn what_is_no_call_has_an_error_with_its_id() {
        let invalid = |text| match read(text) {
            Message::Invalid(response) => response.get().to_owned(),
            other => panic!("{other:?}"),
        };
        assert!(invalid(r#"{"jsonrpc":"2.0","id":-4}"#).contains(r#""id":-4,"error":{"code":-32600"#));
        assert!(invalid(r#"{"jsonrpc":"1.0","id":"x","method":"m"}"#).contains(r#""id":"x""#));
        assert!(invalid("5").contains("-32600"));
        assert!(invalid("{").contains("-32700"));
    }

    #[test]
    fn a_message_without_an_id_is_a_notification_and_unknown_members_are_ignored() {
        assert!(matches!(read(r#"{"jsonrpc":"2.0","method":"m","params":{"a":1}}"#), Message::Notification(_)));
        assert!(matches!(read(r#"{"jsonrpc":"2.0","method":"m","id":1,"extra":1}"#), Message::Call(..)));
    }

    #[test]
    fn a_response_gets_the_id_that_came() {
        let id: &RawValue = serde_json::from_str("-1.50").unwrap();
        for (response, want) in [
            (r#"{"jsonrpc":"2.0","id":null,"result":{"a":[1]}}"#, r#"{"jsonrpc":"2.0","id":-1.50,"result":{"a":[1]}}"#),
            (r#"{"jsonrpc":"2.0","id":null,"result":null}"#, r#"{"jsonrpc":"2.0","id":-1.50,"result":null}"#),
            (
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#,
                r#"{"jsonrpc":"2.0","id":-1.50,"error":{"code":1,"message":"m"}}"#,
            ),
        ] {
            let response = RawValue::from_string(response.to_owned()).unwrap();
            assert_eq!(with_id(&response, Some(id)).get(), want);
        }
    }
}
