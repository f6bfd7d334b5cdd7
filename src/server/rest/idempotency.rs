//! Idempotent requests: a request with an `Idempotency-Key` has its effect once, and its repetitions get the first response.
//!
//! The key and the accepted request are written before the operation; its effect and its response are one unit of work. What was accepted
//! when the process died is run to its end at the next start; what could not be written to its end, as on a full disk, by the next request with
//! its key, or from time to time. See the IETF draft "The Idempotency-Key HTTP Header Field".

use axum::http::{HeaderMap, request::Parts};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::envelope::Rendered;
use crate::{
    platform::{
        Begun, Platform, PlatformError, Principal,
        records::{Accepted, IDEMPOTENCY_KEY_LEN_MAX},
    },
    server::api_error::ApiError,
};

/// Name of the header.
pub(in crate::server) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// A request as it is kept until it has its response. Its body may hold a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::server) struct KeptRequest {
    pub(in crate::server) method: String,
    /// Path and query.
    pub(in crate::server) target: String,
    pub(in crate::server) body: Vec<u8>,
}

impl KeptRequest {
    /// A request with this body.
    pub(super) fn of(parts: &Parts, body: &[u8]) -> Self {
        let target = parts.uri.path_and_query().map_or("", |target| target.as_str()).to_owned();
        Self { method: parts.method.to_string(), target, body: body.to_vec() }
    }

    /// Returns what the platform keeps of it.
    fn encoded(&self) -> Result<Zeroizing<Vec<u8>>, ApiError> {
        postcard::to_allocvec(self).map(Zeroizing::new).map_err(|cause| ApiError::internal(&cause))
    }
}

/// Reads the key of a request: a string of structured fields (RFC 9651, 3.3.3), or a bare token.
///
/// # Errors
/// 400 for a key that is neither, or too long.
pub(in crate::server) fn key_of(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let invalid = || {
        ApiError::bad_request(format!(
            "Idempotency-Key must be one string of 1 to {IDEMPOTENCY_KEY_LEN_MAX} printable ASCII characters, quoted or bare"
        ))
    };
    if values.next().is_some() {
        return Err(invalid());
    }
    let text = value.to_str().map_err(|_| invalid())?.trim();
    let key = match text.strip_prefix('"') {
        Some(quoted) => unquoted(quoted).ok_or_else(invalid)?,
        None if text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b',' | b';')) => {
            text.to_owned()
        }
        None => return Err(invalid()),
    };
    if (1..=IDEMPOTENCY_KEY_LEN_MAX).contains(&key.len()) { Ok(Some(key)) } else { Err(invalid()) }
}

/// Returns the content of a quoted string whose opening quote was taken off.
fn unquoted(quoted: &str) -> Option<String> {
    let mut content = String::new();
    let mut characters = quoted.chars();
    loop {
        match characters.next()? {
            '"' => return characters.next().is_none().then_some(content),
            '\\' => content.push(characters.next().filter(|escaped| matches!(escaped, '"' | '\\'))?),
            other if other.is_ascii_graphic() || other == ' ' => content.push(other),
            _ => return None,
        }
    }
}

/// What becomes of a request.
pub(in crate::server) enum Begin {
    /// It is to be run, and its response to be kept.
    Run(Box<Accepted>),
    /// It was run and its end could not be written: it is to be run again, as at a start.
    Again(Box<Accepted>),
    /// It was run before: this is the response.
    Replay(Rendered),
}

/// Accepts a request under its key, or finds the response to the one that it repeats.
///
/// # Errors
/// 409 while the first one runs, 422 for another request under the same key.
pub(in crate::server) fn accept(
    platform: &Platform,
    principal: &Principal,
    key: &str,
    operation: &str,
    kept: &KeptRequest,
) -> Result<Begin, ApiError> {
    let request = kept.encoded()?;
    let requests = platform.idempotency();
    Ok(match platform.unit(|unit| requests.accept(unit, principal, key, operation, &request))? {
        Begun::Run(accepted) => Begin::Run(accepted),
        Begun::Again(accepted) => Begin::Again(accepted),
        Begun::Replay(response) => Begin::Replay(Rendered::replayed(response)),
    })
}

/// Returns the response to the request that a sender repeats under its key, whatever the sender may do by now.
///
/// # Errors
/// 500.
pub(super) fn answered(
    platform: &Platform,
    sender: &Principal,
    workspace: Option<&str>,
    (key, operation): (&str, &str),
    kept: &KeptRequest,
) -> Result<Option<Rendered>, ApiError> {
    let answered = platform.idempotency().answered(sender, workspace, key, operation, &kept.encoded()?)?;
    Ok(answered.map(Rendered::replayed))
}

/// Keeps the response to a request that failed, or forgets the request where nothing was begun, so that its key can be used again. Where that
/// can't be written the request is left open, to be run again.
pub(in crate::server) fn close(
    platform: &Platform,
    accepted: &Accepted,
    failed: &Rendered,
) -> Result<(), PlatformError> {
    let is_kept = matches!(failed.status().as_u16(), 409 | 410 | 500..=502);
    let requests = platform.idempotency();
    let closed = platform.unit(|unit| {
        if is_kept { requests.respond(unit, accepted, &failed.kept()) } else { requests.withdraw(unit, accepted) }
    });
    if closed.is_err() {
        requests.leave_open(accepted);
    }
    closed
}

/// Returns a seed of the ids that an accepted request creates.
pub(super) fn id_seed(accepted: &Accepted) -> String {
    use sha2::{Digest as _, Sha256};
    let stored = accepted.request();
    let digest = Sha256::new()
        .chain_update(stored.owner().as_str())
        .chain_update(stored.id())
        .chain_update(stored.created_at_ms().to_be_bytes());
    alloy_primitives::hex::encode(digest.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Result<Option<String>, ApiError> {
        let mut headers = HeaderMap::new();
        headers.insert(IDEMPOTENCY_KEY, text.parse().unwrap());
        key_of(&headers)
    }

    /// A key that a route has shown is in no byte of the store, and a repetition of the request shows it again.
    #[tokio::test]
    async fn shown_keys_are_not_in_the_store() {
        use std::sync::Arc;

        use axum::{body::Body, http::Request};

        use crate::{
            platform::{Platform, Scope},
            server::{
                chains::Chains,
                clock::WallClock,
                limits::ServerLimits,
                rest::{App, Outside},
            },
            store::{MemoryStore, suite},
        };

        let store = Arc::new(MemoryStore::new());
        let platform = Platform::builder(Arc::new(WallClock)).with_store(store.clone()).open(None).unwrap();
        let admin = platform.create_api_key("admin", &[Scope::Admin]).unwrap().text().to_owned();
        let app = App::new(Chains::new(Arc::new(platform)), ServerLimits::default(), Outside::default());
        let routes = crate::server::rest::Routes::new(app);
        let post = async |path: &str, body: &str| -> serde_json::Value {
            let request = Request::post(path)
                .header("authorization", format!("Bearer {admin}"))
                .header("content-type", "application/json")
                .header("idempotency-key", "once");
            let request = request.body(Body::from(body.to_owned())).unwrap();
            let response = routes.answer(request).await;
            assert_eq!(response.status(), 201, "{path}");
            let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
            serde_json::from_slice::<serde_json::Value>(&body).unwrap()["data"].clone()
        };
        let (path, body) = ("/v1/auth/api-keys", r#"{"name":"ci","scopes":["blockchain:read"]}"#);
        let made = post(path, body).await;
        assert_eq!(post(path, body).await, made, "the replay answers the same key");
        let rotate = async || {
            let request = Request::post(format!("{path}/{}/rotate", made["id"].as_str().unwrap()))
                .header("authorization", format!("Bearer {admin}"))
                .header("content-type", "application/json")
                .header("idempotency-key", "twice");
            let response = routes.answer(request.body(Body::from("{}")).unwrap()).await;
            let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
            serde_json::from_slice::<serde_json::Value>(&body).unwrap()["data"].clone()
        };
        let successor = rotate().await;
        assert_eq!(rotate().await, successor);
        for shown in [&made, &successor] {
            let key = shown["key"].as_str().unwrap().as_bytes();
            assert_eq!(key.len(), admin.len());
            let found = |bytes: &[u8]| bytes.windows(key.len()).any(|window| window == key);
            assert!(suite::dump(&*store).iter().all(|(_, name, value)| !found(name) && !found(value)));
        }
    }

    #[test]
    fn keys_are_quoted_or_bare() {
        assert_eq!(key_of(&HeaderMap::new()).unwrap(), None);
        for (text, expected) in [("a-b", "a-b"), ("\"a b\"", "a b"), (r#""a\"b\\""#, r#"a"b\"#)] {
            assert_eq!(key(text).unwrap().as_deref(), Some(expected), "{text}");
        }
        assert_eq!(key(&"k".repeat(255)).unwrap().unwrap().len(), 255);
        for text in ["", "\"\"", "\"open", "\"a\" b", "a b", "a;q=1", "\"\\x\"", &"k".repeat(256)] {
            assert!(key(text).is_err(), "{text}");
        }
        let mut twice = HeaderMap::new();
        twice.append(IDEMPOTENCY_KEY, "a".parse().unwrap());
        twice.append(IDEMPOTENCY_KEY, "b".parse().unwrap());
        assert!(key_of(&twice).is_err());
    }
}
