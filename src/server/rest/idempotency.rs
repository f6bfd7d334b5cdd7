//! Idempotent requests: a request with an `Idempotency-Key` has its effect once, and its repetitions get the first response.
//!
//! The key and the accepted request are written before the operation; its effect and its response are one unit of work. What was accepted
//! when the process died is run to its end at the next start. See the IETF draft "The Idempotency-Key HTTP Header Field".

use axum::http::{HeaderMap, Method};
use serde::{Deserialize, Serialize};

use super::{App, envelope::Rendered, request::Request};
use crate::{
    platform::{
        PlatformError, Principal, Subject,
        records::{Acceptance, Accepted, IDEMPOTENCY_KEY_LEN_MAX},
    },
    server::api_error::ApiError,
};

/// Name of the header.
pub(super) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// A request as it is kept until it has its response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptRequest {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) body: Vec<u8>,
}

/// Reads the key of a request: a string of structured fields (RFC 9651, 3.3.3), or a bare token.
///
/// # Errors
/// 400 for a key that is neither, or too long.
pub(super) fn key_of(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
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
pub(super) enum Begin {
    /// It is to be run; with a key, its response is kept.
    Run(Option<Box<Accepted>>),
    /// It was run before: this is the response.
    Replay(Rendered),
}

/// Accepts a request under its key, or finds the response to the one that it repeats.
///
/// # Errors
/// 409 while the first one runs, 422 for another request under the same key.
pub(super) fn accept(
    app: &App,
    principal: &Principal,
    key: &str,
    operation: &str,
    kept: &KeptRequest,
) -> Result<Begin, ApiError> {
    let request = postcard::to_allocvec(kept).map_err(|cause| ApiError::internal(&cause))?;
    let acceptance = app.platform().unit(|unit| {
        let subject = principal.subject().to_string();
        Ok(unit.accept(&principal.owner(), &subject, principal.scopes(), key, operation, &request)?)
    })?;
    Ok(match acceptance {
        Acceptance::Run(accepted) => Begin::Run(Some(Box::new(accepted))),
        Acceptance::Replay(response) => Begin::Replay(Rendered::replayed(response)),
    })
}

/// Keeps the response to a request that failed, or forgets the request where nothing was begun, so that its key can be used again.
pub(super) fn close(app: &App, accepted: &Accepted, failed: &Rendered) -> Result<(), PlatformError> {
    let is_kept = matches!(failed.status().as_u16(), 409 | 410 | 500..=502);
    app.platform().unit(|unit| {
        if is_kept {
            unit.respond(accepted, failed.kept())?
        } else {
            unit.withdraw(accepted)?
        }
        Ok(())
    })
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

/// Runs what was accepted before the process ended, each to its end.
///
/// # Errors
/// [`PlatformError`] of reading the records.
pub(in crate::server) fn resume(app: &App) -> Result<usize, PlatformError> {
    let mut resumed = 0_usize;
    let page = crate::platform::records::PageRequest::first(core::num::NonZeroUsize::MIN);
    while let Some(accepted) = app.platform().records().unfinished_requests(&page)?.pop() {
        let rendered = rerun(app, &accepted);
        if let Some(failed) = rendered {
            close(app, &accepted, &failed)?;
        }
        resumed = resumed.saturating_add(1);
    }
    Ok(resumed)
}

/// Returns who sent an accepted request, with what it was permitted then.
fn principal_of(accepted: &Accepted) -> Option<Principal> {
    let stored = accepted.request();
    let subject = Subject::from_text(&stored.value.subject)?;
    Some(Principal::new(subject, stored.owner().workspace()?.clone(), stored.value.scopes.clone()))
}

/// Runs an accepted request again; returns the response that is still to be kept.
fn rerun(app: &App, accepted: &Accepted) -> Option<Rendered> {
    let stored = accepted.request();
    let gone = || {
        let error = ApiError::internal(&"the request was interrupted and this version has no such operation");
        Some(Rendered::of(Err(error), &super::request::RequestId("req_resumed".to_owned()), app.now_ms()))
    };
    let Ok(kept) = postcard::from_bytes::<KeptRequest>(&stored.value.request) else { return gone() };
    let Some(principal) = principal_of(accepted) else { return gone() };
    let Ok(method) = Method::from_bytes(kept.method.as_bytes()) else { return gone() };
    let (path, query) = kept.target.split_once('?').unwrap_or((&kept.target, ""));
    let Some((endpoint, variables)) = app.endpoints().find(&method, path) else { return gone() };
    let request = Request {
        id: super::request::RequestId("req_resumed".to_owned()),
        principal: Some(principal),
        path: variables,
        query: super::service::parse_query(query),
        id_seed: Some(id_seed(accepted)),
    };
    let body = serde_json::from_slice(&kept.body).unwrap_or_default();
    let rendered = super::service::execute(app, endpoint, &request, body, Some(accepted));
    // A response that is kept already is no failure.
    let is_kept = app.platform().records().of::<crate::platform::records::IdempotentRequest>();
    let still_open =
        is_kept.get(stored.owner(), stored.id()).ok().flatten().is_some_and(|now| now.value.response.is_none());
    still_open.then_some(rendered)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::{
        node::Node,
        platform::{Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, Platform},
        server::{chains::Chains, clock::WallClock, limits::ServerLimits},
    };

    fn app() -> App {
        let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
        let platform = Platform::builder(Arc::new(WallClock)).open(chain).unwrap();
        App::new(Chains::new(Arc::new(platform)), ServerLimits::default())
    }

    fn kept(method: &str, target: &str, body: Value) -> KeptRequest {
        KeptRequest { method: method.to_owned(), target: target.to_owned(), body: body.to_string().into_bytes() }
    }

    /// The process dies after the request was accepted and before its effect: at the next start it runs to its end, once.
    #[tokio::test]
    async fn what_was_accepted_is_run_to_its_end_at_the_next_start() {
        let app = app();
        let principal = app.platform().service_principal();
        let default = format!("/v1/workspaces/{}", principal.owner().as_str());
        let requests = [
            ("create", kept("POST", "/v1/workspaces", json!({ "name": "resumed" })), 201),
            ("delete", kept("DELETE", &default, Value::Null), 409),
            ("gone", kept("POST", "/v1/nothing", Value::Null), 500),
        ];
        let accepted = |key: &str, kept: &KeptRequest| accept(&app, &principal, key, "op", kept);
        for (key, kept, _) in &requests {
            assert!(matches!(accepted(key, kept), Ok(Begin::Run(Some(_)))));
            assert_eq!(accepted(key, kept).err().unwrap().status(), 409, "it still runs");
        }
        assert_eq!(resume(&app).unwrap(), 3);
        assert_eq!(resume(&app).unwrap(), 0);
        for (key, kept, status) in &requests {
            let Ok(Begin::Replay(rendered)) = accepted(key, kept) else { panic!("{key} has a response") };
            assert_eq!(rendered.status().as_u16(), *status, "{key}");
        }
        let names: Vec<String> = app
            .platform()
            .workspaces()
            .of_caller(&principal)
            .unwrap()
            .into_iter()
            .map(|found| found.value.name)
            .collect();
        assert_eq!(names, ["default", "resumed"]);
    }

    fn key(text: &str) -> Result<Option<String>, ApiError> {
        let mut headers = HeaderMap::new();
        headers.insert(IDEMPOTENCY_KEY, text.parse().unwrap());
        key_of(&headers)
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
