//! Requests that were accepted under an idempotency key when the process ended, run to their end at the next start.

use core::num::NonZeroUsize;

use axum::http::Method;

use super::{
    App,
    envelope::Rendered,
    idempotency::{KeptRequest, close, id_seed},
    request::{Request, RequestId, parse_query},
    service,
};
use crate::{
    platform::{
        PlatformError, Principal, Subject,
        records::{Accepted, IdempotentRequest, PageRequest},
    },
    server::api_error::ApiError,
};

/// Runs what was accepted before the process ended, each to its end.
///
/// # Errors
/// [`PlatformError`] of reading the records.
pub(super) fn resume(app: &App) -> Result<usize, PlatformError> {
    let mut resumed = 0_usize;
    let page = PageRequest::first(NonZeroUsize::MIN);
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
        Some(Rendered::of(Err(error), &RequestId("req_resumed".to_owned()), app.now_ms()))
    };
    let Ok(kept) = app.platform().idempotency().request(accepted) else { return gone() };
    let Ok(kept) = postcard::from_bytes::<KeptRequest>(&kept) else { return gone() };
    let Some(principal) = principal_of(accepted) else { return gone() };
    let Ok(method) = Method::from_bytes(kept.method.as_bytes()) else { return gone() };
    let (path, query) = kept.target.split_once('?').unwrap_or((&kept.target, ""));
    let Some((endpoint, variables)) = app.endpoints().find(&method, path) else { return gone() };
    let request = Request {
        id: RequestId("req_resumed".to_owned()),
        principal: Some(principal),
        path: variables,
        query: parse_query(query),
        id_seed: Some(id_seed(accepted)),
    };
    let body = serde_json::from_slice(&kept.body).unwrap_or_default();
    let rendered = service::execute(app, endpoint, &request, body, Some(accepted));
    // A response that is kept already is no failure.
    let is_kept = app.platform().records().of::<IdempotentRequest>();
    let still_open = is_kept.get(stored.owner(), stored.id()).ok().flatten().is_some_and(|now| !now.value.is_answered);
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
        server::{
            chains::Chains,
            clock::WallClock,
            limits::ServerLimits,
            rest::idempotency::{Begin, accept},
        },
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
}
