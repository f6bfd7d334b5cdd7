//! Whether a request of JSON-RPC has begun anything: what decides whether its idempotency key may be used again.
//!
//! It is noted call by call, since the response of a whole body does not show it: notifications have none, and one error takes the place of a
//! batch's responses where these are too long.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use jsonrpsee::types::Extensions;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::errors::{
    FORBIDDEN, INVALID_PARAMS, INVALID_REQUEST, LIMIT_EXCEEDED, METHOD_NOT_FOUND, NOT_FOUND, PARSE_ERROR,
};

/// Whether a call of a request was begun. It is in the extensions of the request's calls; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effect(Arc<AtomicBool>);

impl Effect {
    /// Returns that of a call; `None` where nobody asks for it.
    pub(super) fn of(extensions: &Extensions) -> Option<Self> {
        extensions.get::<Self>().cloned()
    }

    /// Whether a call was begun.
    pub(crate) fn is_begun(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Notes that a call was begun.
    pub(crate) fn begin(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Notes that a call was begun unless its response is a refusal of the call itself. A notification has a response too, which is not sent.
    pub(super) fn note(&self, response: &RawValue) {
        if !self.is_begun() && !is_refusal(response) {
            self.begin();
        }
    }
}

/// Whether the response to a call is a refusal of the call itself, before it was begun.
fn is_refusal(response: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        error: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Failure {
        code: i32,
    }
    #[derive(Deserialize)]
    struct Coded {
        data: Data,
    }
    #[derive(Deserialize)]
    struct Data {
        code: String,
    }
    let Ok(Answer { error: Some(error) }) = serde_json::from_str::<Answer<'_>>(response.get()) else { return false };
    if let Ok(Coded { data: Data { code } }) = serde_json::from_str(error.get()) {
        return !matches!(&*code, "CONFLICT" | "INSUFFICIENT_BALANCE" | "PRUNED" | "INTERNAL_ERROR");
    }
    serde_json::from_str(error.get()).is_ok_and(|Failure { code }| {
        matches!(
            code,
            PARSE_ERROR | INVALID_REQUEST | METHOD_NOT_FOUND | INVALID_PARAMS | NOT_FOUND | LIMIT_EXCEEDED | FORBIDDEN
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_begun_unless_its_response_refuses_it() {
        let error = |code: i32, rest: &str| match rest {
            "" => format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"m"}}}}"#),
            rest => format!(
                r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"m","data":{{"code":"{rest}","details":{{}}}}}}}}"#
            ),
        };
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":null}"#.to_owned(), true),
            (r#"{"jsonrpc":"2.0","id":1,"result":{"error":{"code":-32602}}}"#.to_owned(), true),
            (error(-32_602, ""), false),
            (error(-32_602, "VALIDATION_ERROR"), false),
            (error(-32_601, ""), false),
            (error(-32_006, "FORBIDDEN"), false),
            (error(-32_000, "FORBIDDEN"), false),
            (error(-32_050, "UNAVAILABLE"), false),
            (error(-32_000, ""), true),
            (error(-32_000, "CONFLICT"), true),
            (error(3, "CONFLICT"), true),
            (error(-32_603, ""), true),
        ] {
            let effect = Effect::default();
            effect.note(&RawValue::from_string(text.clone()).unwrap());
            assert_eq!(effect.is_begun(), expected, "{text}");
        }
    }

    #[test]
    fn a_refusal_after_a_call_that_was_begun_takes_nothing_back() {
        let effect = Effect::default();
        effect.clone().begin();
        let refusal = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}"#;
        effect.note(&RawValue::from_string(refusal.to_owned()).unwrap());
        assert!(effect.is_begun());
    }
}
