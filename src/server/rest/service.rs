//! What happens to every request, in order: concurrency, credentials, rate, scope, query, body, idempotency, the handler, the envelope.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use axum::{
    body::Bytes,
    http::{HeaderMap, Method, StatusCode, request::Parts},
    response::Response,
};
use hyper::body::Body as _;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::{
    App,
    answer::ApiResponse,
    body::parse_json,
    endpoint::{About, Access, Endpoint, Outcome, Runs},
    envelope::Rendered,
    idempotency::{self, Begin, KeptRequest},
    rate::Quota,
    request::{Request, RequestId, parse_query, refuse_repeated},
};
use crate::{
    platform::{
        Principal, Scope,
        records::{Accepted, Owner},
    },
    server::{
        api_error::ApiError,
        commands::{self, Length},
        counters::panic_text,
        credentials,
        jsonrpc::{
            aside::read_aside,
            batch::{entries, is_batch},
        },
        limits::REST_BODY_BYTES_MAX,
        service_rpc,
    },
};

/// Address of the client of a request, kept in its extensions: its peer's, or what a trusted proxy says.
#[derive(Clone, Copy, Debug)]
pub(in crate::server) struct PeerAddress(pub(in crate::server) IpAddr);

/// Who sends a request, and what its quota is.
pub(in crate::server) struct Admitted {
    pub(in crate::server) principal: Option<Principal>,
    quota: Option<Quota>,
    /// Whether an operator of the service sends it: no plan refuses it.
    is_operator: bool,
    /// Its place among the requests that are worked on at one time.
    _place: OwnedSemaphorePermit,
}

impl Admitted {
    /// Counts the bytes of request and response as used by the caller's workspace.
    pub(in crate::server) fn count_bytes(&self, app: &App, received: usize, sent: u64) {
        let Some(principal) = &self.principal else { return };
        let bytes = u64::try_from(received).unwrap_or(u64::MAX).saturating_add(sent);
        app.platform().metering().count_bytes(principal.workspace(), bytes);
    }

    /// Counts the calls of a batch of JSON-RPC as requests, the first of which is counted already: all of them, or none where the rate or the
    /// plan has no room for them. One with more calls than a batch may have is refused elsewhere.
    ///
    /// # Errors
    /// 429.
    pub(in crate::server) fn count_batch(&mut self, app: &App, body: &[u8]) -> Result<(), ApiError> {
        let Some(principal) = &self.principal else { return Ok(()) };
        let calls = calls_of(body, app.limits.batch_calls_max);
        if calls < 2 {
            return Ok(());
        }
        let more = calls.saturating_sub(1);
        let quota = app.rates.count_more(&caller(principal), more);
        self.quota = Some(quota);
        check_rate(&quota)?;
        self.count_requests(app, more, false)
    }

    /// Counts requests as used by the caller's workspace. Where its plan has no room for them they are refused, unless they are of an operator or
    /// `is_answered_past_plan`.
    fn count_requests(&self, app: &App, requests: u64, is_answered_past_plan: bool) -> Result<(), ApiError> {
        let Some(principal) = &self.principal else { return Ok(()) };
        let (metering, workspace) = (app.platform().metering(), principal.workspace());
        if self.is_operator || is_answered_past_plan {
            metering.count_past_plan(workspace, requests);
            return Ok(());
        }
        metering.count_requests(workspace, requests).map_err(|over| ApiError::plan_used_up(&over))
    }

    /// Adds what the caller is told of its quota.
    pub(in crate::server) fn tell(&self, headers: &mut HeaderMap) {
        if let Some(quota) = &self.quota {
            quota.tell(headers);
        }
    }
}

/// Calls in a body of JSON-RPC: those of a batch, else one. What is no JSON, or has more calls than a batch may, is refused as a whole by whoever
/// executes it, and is one.
fn calls_of(body: &[u8], calls_max: u32) -> u64 {
    if !is_batch(body) {
        return 1;
    }
    let calls = read_aside(body.len(), || entries(body, calls_max).map(|calls| calls.len()));
    calls.map_or(1, |calls| u64::try_from(calls).unwrap_or(u64::MAX))
}

/// The name by which the requests of a caller are counted.
fn caller(principal: &Principal) -> String {
    format!("{} {}", principal.owner().as_str(), principal.subject())
}

/// Refuses what is more than the rate allows: 429.
pub(super) fn check_rate(quota: &Quota) -> Result<(), ApiError> {
    if !quota.is_exceeded() {
        return Ok(());
    }
    let limit = quota.limit();
    Err(ApiError::rate_limited(limit.requests, limit.window, quota.resets_in_secs()))
}

/// A refused request, and what its caller is told of its quota.
pub(in crate::server) struct Refused {
    error: ApiError,
    /// `None` for one that was refused before it was counted.
    quota: Option<Quota>,
}

impl Refused {
    /// Why it was refused.
    pub(in crate::server) fn into_error(self) -> ApiError {
        self.error
    }

    fn tell(&self, headers: &mut HeaderMap) {
        if let Some(quota) = &self.quota {
            quota.tell(headers);
        }
    }

    /// Returns the response to the request that this one repeats under its key, where that one succeeded and may have ended the access for
    /// lack of which this one is refused. It is shown to the credentials that the first one had, though they are worth nothing any more.
    fn first_response(
        &self,
        app: &App,
        endpoint: &Endpoint,
        workspace: Option<&str>,
        (parts, body): (&Parts, &[u8]),
    ) -> Option<Rendered> {
        let lacks_access =
            matches!(self.error.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND);
        if !lacks_access || !endpoint.about.may_end_access {
            return None;
        }
        // What can't be read leaves the refusal as it is.
        let key = idempotency::key_of(&parts.headers).ok().flatten()?;
        let sender = credentials::identify(app.platform(), &parts.headers).ok().flatten()?;
        let (named, kept) = ((&*key, endpoint.about.operation), KeptRequest::of(parts, body));
        let first = idempotency::answered(app.platform(), &sender, workspace, named, &kept).ok().flatten()?;
        Some(first).filter(|first| first.status().is_success())
    }

    /// Answers with the response to the request that this one repeats.
    fn replay(&self, first: Rendered) -> Response {
        let mut response = first.into_response();
        self.tell(response.headers_mut());
        response
    }

    /// Returns the response of JSON-RPC.
    pub(super) fn into_json_rpc(self) -> Response {
        let mut response = service_rpc::refused(&self.error);
        self.tell(response.headers_mut());
        response
    }

    /// Returns the response.
    pub(in crate::server) fn into_response(self, id: &RequestId, now_ms: u64) -> Response {
        let mut response = Rendered::of(Err(self.error.clone()), id, now_ms).into_response();
        self.tell(response.headers_mut());
        response
    }
}

/// What a request of the router asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::server) struct Asked<'a> {
    /// Workspace that its path names.
    workspace: Option<&'a str>,
    is_answered_past_plan: bool,
    is_of_operators: bool,
}

/// Checks concurrency, credentials, rate, scopes and the workspace's plan: 503, 401, 429, 403, 429.
pub(in crate::server) fn admit(
    app: &App,
    access: Access,
    headers: &HeaderMap,
    peer: Option<PeerAddress>,
    asked: Option<Asked<'_>>,
) -> Result<Admitted, Refused> {
    let Asked { workspace, is_answered_past_plan, is_of_operators } = asked.unwrap_or_default();
    let place = Arc::clone(&app.admission).try_acquire_owned();
    let place =
        place.map_err(|_| Refused { error: ApiError::too_many_at_once(app.limits.rest_requests_max), quota: None })?;
    let authenticated = match access {
        Access::Public => Ok(None),
        Access::Optional if !credentials::are_given(headers) => Ok(None),
        _ => credentials::authenticate(app.platform(), headers, matches!(access, Access::Bearer(_))).map(Some),
    };
    let quota = match &authenticated {
        Ok(Some(principal)) => app.rates.count(&caller(principal)),
        // So is whoever guesses at credentials.
        Ok(None) | Err(_) => app.rates.count_stranger(peer.map(|PeerAddress(address)| address)),
    };
    let refuse = |error| Refused { error, quota: Some(quota) };
    check_rate(&quota).map_err(refuse)?;
    let principal = authenticated.map_err(refuse)?;
    let principal = principal.map(|principal| principal.with_client(peer.map(|PeerAddress(address)| address)));
    let is_operator = principal.as_ref().is_some_and(Principal::is_operator);
    let principal = match (principal, workspace) {
        (Some(principal), Some(workspace)) if !(is_of_operators && is_operator) => {
            Some(app.platform().workspaces().acting_in(&principal, workspace).map_err(|cause| refuse(cause.into()))?)
        }
        (principal, _) => principal,
    };
    if let Some(principal) = &principal {
        let has_all = access.scopes().iter().try_for_each(|scope| principal.require(*scope));
        has_all.map_err(|cause| refuse(cause.into()))?;
    }
    let admitted = Admitted { principal, quota: Some(quota), is_operator, _place: place };
    admitted.count_requests(app, 1, is_answered_past_plan).map_err(refuse)?;
    Ok(admitted)
}

/// Lets in who has the scope `admin`, to what is served beside the router.
pub(in crate::server) fn admit_admin(app: &App, parts: &Parts) -> Result<Principal, ApiError> {
    let peer = parts.extensions.get::<PeerAddress>().copied();
    let admitted =
        admit(app, Access::Scope(Scope::Admin), &parts.headers, peer, None).map_err(|refused| refused.error)?;
    admitted.principal.ok_or_else(|| ApiError::internal(&"no principal"))
}

/// Answers a request to an endpoint of the router.
pub(super) async fn serve(
    app: App,
    endpoint: Arc<Endpoint>,
    path: BTreeMap<String, String>,
    parts: Parts,
    body: Bytes,
) -> Response {
    let id = parts.extensions.get::<RequestId>().cloned().unwrap_or_else(|| app.request_ids.of(&parts.headers));
    let peer = parts.extensions.get::<PeerAddress>().copied();
    let About { access, is_answered_past_plan, is_of_operators, deprecation, .. } = endpoint.about;
    let workspace = path.get("workspaceId").map(String::as_str);
    let asked = Asked { workspace, is_answered_past_plan, is_of_operators };
    let mut response = match admit(&app, access, &parts.headers, peer, Some(asked)) {
        Ok(admitted) => serve_admitted(app, endpoint, path, parts, body, (id, admitted)).await,
        Err(refused) => match refused.first_response(&app, &endpoint, workspace, (&parts, &body[..])) {
            Some(first) => refused.replay(first),
            None => refused.into_response(&id, app.now_ms()),
        },
    };
    if let Some(deprecation) = deprecation {
        deprecation.tell(response.headers_mut());
    }
    response
}

/// Answers a request that is let in.
async fn serve_admitted(
    app: App,
    endpoint: Arc<Endpoint>,
    path: BTreeMap<String, String>,
    parts: Parts,
    body: Bytes,
    (id, admitted): (RequestId, Admitted),
) -> Response {
    let text = parts.uri.query().unwrap_or_default();
    let (query, is_once) = (parse_query(text), refuse_repeated(text));
    let request = Request { id: id.clone(), principal: admitted.principal.clone(), path, query, id_seed: None };
    let (received, bytes_max) = (body.len(), app.bytes_max(&endpoint));
    let prepared = match is_once {
        Ok(()) => prepare_anywhere(&endpoint, &request, &parts.headers, &body, bytes_max).await,
        Err(repeated) => Err(repeated),
    };
    let rendered = match prepared {
        Ok(value) => run(app.clone(), Arc::clone(&endpoint), request, parts, body, value).await,
        Err(error) => Err(error),
    };
    let rendered = rendered.unwrap_or_else(|error| Rendered::of(Err(error), &id, app.now_ms()));
    let mut response = rendered.into_response();
    admitted.count_bytes(&app, received, response.body().size_hint().lower());
    admitted.tell(response.headers_mut());
    response
}

/// Checks query and body; a long body on a thread that serves no connections.
async fn prepare_anywhere(
    endpoint: &Arc<Endpoint>,
    request: &Request,
    headers: &HeaderMap,
    body: &Bytes,
    bytes_max: usize,
) -> Result<Value, ApiError> {
    if body.len() <= REST_BODY_BYTES_MAX {
        return prepare(endpoint, request, headers, body, bytes_max);
    }
    let (endpoint, request, headers, body) = (Arc::clone(endpoint), request.clone(), headers.clone(), body.clone());
    let prepared = tokio::task::spawn_blocking(move || prepare(&endpoint, &request, &headers, &body, bytes_max)).await;
    prepared.unwrap_or_else(|cause| Err(ApiError::internal(&cause)))
}

/// Checks query and body: 400, 413, 415, 422.
fn prepare(
    endpoint: &Endpoint,
    request: &Request,
    headers: &HeaderMap,
    body: &[u8],
    bytes_max: usize,
) -> Result<Value, ApiError> {
    request.check_query(&endpoint.about.parameters, endpoint.about.simulates)?;
    let Some(body_type) = &endpoint.body else { return Ok(Value::Null) };
    if body.len() > bytes_max {
        return Err(ApiError::payload_too_large(bytes_max));
    }
    let value = parse_json(headers, body)?;
    body_type.validate(&value)?;
    Ok(value)
}

/// Runs a request where its work belongs.
async fn run(
    app: App,
    endpoint: Arc<Endpoint>,
    request: Request,
    parts: Parts,
    raw: Bytes,
    body: Value,
) -> Result<Rendered, ApiError> {
    let chain = match endpoint.about.runs {
        Runs::InTurnOf(chain_of) => chain_of(&request, &body).filter(|id| app.may_see(&request, id)),
        Runs::Long if endpoint.about.method == Method::GET => {
            request.path.get("blockchainId").cloned().filter(|id| app.may_see(&request, id))
        }
        Runs::Briefly if endpoint.about.method == Method::GET => {
            return begin_and_execute(&app, &endpoint, request, &parts, &raw, body);
        }
        Runs::Briefly | Runs::Long | Runs::Outbound => None,
    };
    let (runs, rpc) = (endpoint.about.runs, chain.and_then(|id| app.chains.rpc(&id)));
    let workers = app.chains.workers().clone();
    let workspace = request.principal.as_ref().map(Principal::owner);
    let work = move || begin_and_execute(&app, &endpoint, request, &parts, &raw, body);
    match (rpc, runs) {
        (Some(rpc), Runs::Long) => rpc.commands().read(Length::Long, |_| work()).await?,
        (Some(rpc), _) => rpc.commands().run(Length::Short, |_| work()).await?,
        (None, Runs::Long) => workers.read(Length::Long, |_| work()).await?,
        (None, Runs::Outbound) => {
            // Refused before it is accepted under its idempotency key: the same request may come again.
            let turn = workers.outbound_turn(workspace.as_ref().map_or("", Owner::as_str))?;
            commands::run_outbound(turn, work).await?
        }
        (None, Runs::Briefly | Runs::InTurnOf(_)) => workers.change(work).await?,
    }
}

/// Accepts the request under its idempotency key, and executes it unless it was executed before.
fn begin_and_execute(
    app: &App,
    endpoint: &Endpoint,
    mut request: Request,
    parts: &Parts,
    raw: &[u8],
    body: Value,
) -> Result<Rendered, ApiError> {
    let key = if endpoint.is_idempotent() { idempotency::key_of(&parts.headers)? } else { None };
    let accepted = match (key, &request.principal) {
        (Some(key), Some(principal)) => {
            let kept = KeptRequest::of(parts, raw);
            match idempotency::accept(app.platform(), principal, &key, endpoint.about.operation, &kept)? {
                Begin::Run(accepted) | Begin::Again(accepted) => Some(accepted),
                Begin::Replay(rendered) => return Ok(rendered),
            }
        }
        _ => None,
    };
    request.id_seed = accepted.as_deref().map(idempotency::id_seed);
    let rendered = execute(app, endpoint, &request, body, accepted.as_deref());
    if let Some(accepted) = accepted.as_deref().filter(|_| !rendered.status().is_success()) {
        idempotency::close(app.platform(), accepted, &rendered)?;
    }
    Ok(rendered)
}

/// Runs the handler; the response to an accepted request is written in the unit of work of its effect.
pub(super) fn execute(
    app: &App,
    endpoint: &Endpoint,
    request: &Request,
    body: Value,
    accepted: Option<&Accepted>,
) -> Rendered {
    let done = catch_unwind(AssertUnwindSafe(|| finish(app, endpoint, request, body, accepted)));
    let result = done.unwrap_or_else(|payload| {
        app.chains.counters().count_panic();
        Err(ApiError::internal(&format_args!("the handler panicked: {}", panic_text(payload.as_ref()))))
    });
    result.unwrap_or_else(|error| Rendered::of(Err(error), &request.id, app.now_ms()))
}

fn finish(
    app: &App,
    endpoint: &Endpoint,
    request: &Request,
    body: Value,
    accepted: Option<&Accepted>,
) -> Result<Rendered, ApiError> {
    let handler = endpoint.handler.as_ref();
    let handler = handler.ok_or_else(|| ApiError::internal(&"the endpoint is served elsewhere"))?;
    let render = |response: ApiResponse| Rendered::of(Ok(response), &request.id, app.now_ms());
    match handler(app, request, body)? {
        Outcome::Done(response) => Ok(render(response)),
        Outcome::Pending(change) => app.platform().records().unit(|unit| {
            let rendered = render(change.apply(unit)?);
            if let Some(accepted) = accepted {
                app.platform().idempotency().respond(unit, accepted, &rendered.kept())?;
            }
            Ok(rendered)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_within_the_bound_has_as_many_calls_as_entries_and_all_else_one() {
        for (body, calls) in [
            ("{}", 1),
            ("  [{}]", 1),
            ("\n[{}, {\"id\":1,\"params\":[1,[2]]}]", 2),
            ("[1,null,\"a\",[]]", 4),
            ("[]", 0),
            ("[1,2,3,4,5]", 1),
            ("[{}", 1),
            ("", 1),
        ] {
            assert_eq!(calls_of(body.as_bytes(), 4), calls, "{body}");
        }
    }
}
