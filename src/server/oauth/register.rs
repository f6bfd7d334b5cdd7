//! The client registration endpoint (RFC 7591, 3). Its initial access token is any credential with `workspace:write`.

use axum::{
    body::{self, Body},
    extract::State,
    http::{HeaderMap, HeaderValue, Request, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    AuthorizationServer,
    form::FORM_BYTES_MAX,
    token::{Refused, answer, no_store},
};
use crate::{
    platform::{
        ClientRegistration, OAuthClient, OAuthError, OAuthErrorCode, Platform, PlatformError, Principal, Scope,
        records::Accepted,
    },
    server::{
        api_error::ApiError,
        rest::{self, Begin, KeptRequest, PeerAddress, Rendered, RequestId},
    },
};

/// Returns the refusal of credentials (RFC 6750, 3).
fn unauthorized(status: StatusCode, error: &str, description: &str) -> Response {
    let mut response = answer(status, json!({ "error": error, "error_description": description }));
    let challenge = format!("Bearer realm=\"chainbox\", error=\"{error}\"");
    if let Ok(challenge) = HeaderValue::try_from(challenge) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

/// Returns the principal of an access token or an API key.
fn principal(server: &AuthorizationServer, headers: &HeaderMap) -> Result<Principal, Response> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text("authorization").and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let presented = match (bearer, text("x-api-key")) {
        (Some(_), Some(_)) => {
            let message = "both Authorization and X-API-Key were sent: choose one";
            return Err(Refused(OAuthError::new(OAuthErrorCode::InvalidRequest, message)).into_response());
        }
        (Some(token), None) | (None, Some(token)) => token,
        (None, None) => {
            let message = "registration needs an access token or an API key with the scope workspace:write";
            return Err(unauthorized(StatusCode::UNAUTHORIZED, "invalid_token", message));
        }
    };
    let by_token = || server.platform.oauth().authenticate(presented);
    let by_key = || server.platform.api_keys().authenticate(presented);
    let found = by_token().and_then(|found| found.map_or_else(by_key, |found| Ok(Some(found))));
    let found = found.map_err(|cause| Refused::from(cause).into_response())?;
    let message = "the access token or API key is unknown, revoked or expired";
    found.ok_or_else(|| unauthorized(StatusCode::UNAUTHORIZED, "invalid_token", message))
}

/// Operation of the endpoint, in records of idempotent requests.
const OPERATION: &str = "registerClient";

/// Whether a path is that of the endpoint.
pub(in crate::server) fn is_registration(path: &str) -> bool {
    matches!(path, "/oauth/register" | "/v1/oauth/register")
}

/// `POST /oauth/register`.
pub(super) async fn register(State(server): State<AuthorizationServer>, request: Request<Body>) -> Response {
    registered(&server, request).await.unwrap_or_else(|refusal| refusal)
}

async fn registered(server: &AuthorizationServer, request: Request<Body>) -> Result<Response, Response> {
    let (parts, body) = request.into_parts();
    let platform = &server.platform;
    let client = parts.extensions.get::<PeerAddress>().map(|PeerAddress(address)| *address);
    let principal = principal(server, &parts.headers)?.with_client(client);
    let bytes = body::to_bytes(body, FORM_BYTES_MAX).await.map_err(|_| refuse(unreadable()))?;
    let registration = read(&bytes).map_err(refuse)?;
    // Before a repetition is answered, too.
    principal.require(Scope::WorkspaceWrite).map_err(not_registered)?;
    let key = rest::key_of(&parts.headers).map_err(|refused| not_accepted(&refused))?;
    let id = parts.extensions.get::<RequestId>().cloned().unwrap_or_else(|| RequestId(String::new()));
    let Some(key) = key else { return insert(platform, &principal, registration, None, &id).map(nobody_keeps) };
    let target = parts.uri.path().to_owned();
    let kept = KeptRequest { method: parts.method.to_string(), target, body: bytes.to_vec() };
    match rest::accept(platform, &principal, &key, OPERATION, &kept).map_err(|refused| not_accepted(&refused))? {
        Begin::Replay(rendered) => Ok(nobody_keeps(rendered)),
        Begin::Run(accepted) | Begin::Again(accepted) => {
            match insert(platform, &principal, registration, Some(&accepted), &id) {
                Ok(rendered) => Ok(nobody_keeps(rendered)),
                Err(refusal) => {
                    forget(platform, &accepted, &refusal, &id).map_err(|cause| Refused::from(cause).into_response())?;
                    Err(refusal)
                }
            }
        }
    }
}

/// Runs a registration that was accepted under an idempotency key before the process ended.
///
/// # Errors
/// [`PlatformError`] where the response can't be kept.
pub(in crate::server) fn resume_registration(
    platform: &Platform,
    principal: &Principal,
    accepted: &Accepted,
    body: &[u8],
    id: &RequestId,
) -> Result<(), PlatformError> {
    let done = read(body).map_err(refuse).and_then(|read| insert(platform, principal, read, Some(accepted), id));
    done.map_or_else(|refusal| forget(platform, accepted, &refusal, id), |_| Ok(()))
}

fn read(body: &[u8]) -> Result<ClientRegistration, OAuthError> {
    let metadata: Value = serde_json::from_slice(body).map_err(|_| unreadable())?;
    ClientRegistration::read(&metadata)
}

fn unreadable() -> OAuthError {
    OAuthError::new(OAuthErrorCode::InvalidClientMetadata, "expected a JSON object")
}

fn refuse(error: OAuthError) -> Response {
    Refused(error).into_response()
}

/// Registers a client; the response to an accepted request is written in the same unit of work.
fn insert(
    platform: &Platform,
    principal: &Principal,
    registration: ClientRegistration,
    accepted: Option<&Accepted>,
    id: &RequestId,
) -> Result<Rendered, Response> {
    let done = platform.unit(|unit| {
        let (client, secret) = platform.oauth().register(unit, principal, registration)?;
        let body = OAuthClient::information(&client, secret.as_ref()).to_string();
        let rendered = Rendered::foreign(StatusCode::CREATED, body.into_bytes(), id);
        if let Some(accepted) = accepted {
            platform.idempotency().respond(unit, accepted, &rendered.kept())?;
        }
        Ok(rendered)
    });
    done.map_err(not_registered)
}

/// Returns the refusal of a registration by the platform's rules.
fn not_registered(cause: PlatformError) -> Response {
    match cause {
        PlatformError::MissingScope { .. } => {
            unauthorized(StatusCode::FORBIDDEN, "insufficient_scope", &cause.to_string())
        }
        PlatformError::Forbidden { .. } | PlatformError::Conflict { .. } => {
            refuse(OAuthError::new(OAuthErrorCode::InvalidClientMetadata, cause.to_string()))
        }
        cause => Refused::from(cause).into_response(),
    }
}

/// Forgets an accepted registration that was refused, so that its key can be used again; a failure of the service is its response.
fn forget(platform: &Platform, accepted: &Accepted, refusal: &Response, id: &RequestId) -> Result<(), PlatformError> {
    let body = json!({ "error": "server_error", "error_description": "the registration failed" }).to_string();
    rest::close(platform, accepted, &Rendered::foreign(refusal.status(), body.into_bytes(), id))
}

/// Returns the refusal of an idempotency key: 400, 403, 409, 422.
fn not_accepted(refused: &ApiError) -> Response {
    let error = if refused.status().is_server_error() { "server_error" } else { "invalid_request" };
    answer(refused.status(), json!({ "error": error, "error_description": refused.message() }))
}

/// Returns a response that nobody keeps (RFC 7591, 3.2.1).
fn nobody_keeps(rendered: Rendered) -> Response {
    let mut response = rendered.into_response();
    no_store(response.headers_mut());
    response
}
