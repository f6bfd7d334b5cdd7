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
    token::{Refused, answer},
};
use crate::platform::{ClientRegistration, OAuthClient, OAuthError, OAuthErrorCode, PlatformError, Principal};

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

/// `POST /oauth/register`.
pub(super) async fn register(State(server): State<AuthorizationServer>, request: Request<Body>) -> Response {
    registered(&server, request).await.unwrap_or_else(|refusal| refusal)
}

async fn registered(server: &AuthorizationServer, request: Request<Body>) -> Result<Response, Response> {
    let (parts, body) = request.into_parts();
    let principal = principal(server, &parts.headers)?;
    let refuse = |error: OAuthError| Refused(error).into_response();
    let unreadable = || refuse(OAuthError::new(OAuthErrorCode::InvalidClientMetadata, "expected a JSON object"));
    let bytes = body::to_bytes(body, FORM_BYTES_MAX).await.map_err(|_| unreadable())?;
    let metadata: Value = serde_json::from_slice(&bytes).map_err(|_| unreadable())?;
    let registration = ClientRegistration::read(&metadata).map_err(refuse)?;
    let oauth = server.platform.oauth();
    match server.platform.unit(|unit| oauth.register(unit, &principal, registration)) {
        Ok((client, secret)) => Ok(answer(StatusCode::CREATED, OAuthClient::information(&client, secret.as_ref()))),
        Err(cause @ PlatformError::MissingScope { .. }) => {
            Err(unauthorized(StatusCode::FORBIDDEN, "insufficient_scope", &cause.to_string()))
        }
        Err(cause @ (PlatformError::Forbidden { .. } | PlatformError::Conflict { .. })) => {
            Err(refuse(OAuthError::new(OAuthErrorCode::InvalidClientMetadata, cause.to_string())))
        }
        Err(cause) => Err(Refused::from(cause).into_response()),
    }
}
