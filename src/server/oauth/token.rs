//! The endpoints of clients: token, revocation, introspection. Their bodies are those of the standards, never the service's envelope.

use axum::{
    Json,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{AuthorizationServer, client_credentials::Shown, form};
use crate::platform::{
    Introspection, OAuthClient, OAuthError, OAuthErrorCode, Parameters, records::Stored, scope_text,
};

/// Parameters of the three endpoints; each may come once.
const PARAMETERS: [&str; 10] = [
    "grant_type",
    "code",
    "redirect_uri",
    "client_id",
    "client_secret",
    "code_verifier",
    "refresh_token",
    "scope",
    "token",
    "token_type_hint",
];

/// An error as the endpoints of clients send it (RFC 6749, 5.2).
pub(super) struct Refused(pub(super) OAuthError);

impl From<OAuthError> for Refused {
    fn from(error: OAuthError) -> Self {
        Self(error)
    }
}

impl From<crate::platform::PlatformError> for Refused {
    fn from(cause: crate::platform::PlatformError) -> Self {
        Self(cause.into())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = match self.0.code {
            OAuthErrorCode::InvalidClient => StatusCode::UNAUTHORIZED,
            OAuthErrorCode::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
            OAuthErrorCode::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        };
        let body = json!({ "error": self.0.code.name(), "error_description": self.0.description });
        let mut response = answer(status, body);
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"chainbox\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// Returns a JSON body that nobody keeps (RFC 6749, 5.1).
pub(super) fn answer(status: StatusCode, body: Value) -> Response {
    let mut response = (status, Json(body)).into_response();
    no_store(response.headers_mut());
    response
}

/// Answers another method than POST: in the form of an error of the endpoints, for a client that reads bodies.
pub(super) async fn only_post(method: Method) -> Response {
    let description = format!("{method} is not allowed here: send a POST");
    let error = OAuthErrorCode::InvalidRequest.name();
    let body = json!({ "error": error, "error_description": description });
    let mut response = answer(StatusCode::METHOD_NOT_ALLOWED, body);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

/// Says that nobody keeps the response.
pub(super) fn no_store(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Reads a form and the client that sends it.
async fn read(
    server: &AuthorizationServer,
    request: Request<Body>,
) -> Result<(Stored<OAuthClient>, Parameters), OAuthError> {
    let (headers, form) = form::read(request).await?;
    PARAMETERS.iter().try_for_each(|name| form.get(name).map(drop))?;
    let shown = Shown::read(&headers, &form)?;
    Ok((server.platform.oauth().authenticate_client(shown.credentials())?, form))
}

/// `POST /oauth/token` (RFC 6749, 3.2).
pub(super) async fn token(
    State(server): State<AuthorizationServer>,
    request: Request<Body>,
) -> Result<Response, Refused> {
    let (client, form) = read(&server, request).await?;
    let tokens = server.platform.oauth().token(&client, &form)?;
    let mut body = json!({
        "access_token": tokens.access_token.text(),
        "token_type": "Bearer",
        "expires_in": tokens.expires_in_secs,
        "scope": scope_text(&tokens.scopes),
    });
    if let Some(refresh_token) = &tokens.refresh_token {
        body["refresh_token"] = refresh_token.text().into();
    }
    Ok(answer(StatusCode::OK, body))
}

/// `POST /oauth/revoke` (RFC 7009).
pub(super) async fn revoke(
    State(server): State<AuthorizationServer>,
    request: Request<Body>,
) -> Result<Response, Refused> {
    let (client, form) = read(&server, request).await?;
    server.platform.oauth().revoke(&client, form.require("token")?)?;
    Ok(answer(StatusCode::OK, json!({})))
}

/// `POST /oauth/introspect` (RFC 7662). It needs a client with a secret: an id alone is no authorization (RFC 7662, 2.1).
pub(super) async fn introspect(
    State(server): State<AuthorizationServer>,
    request: Request<Body>,
) -> Result<Response, Refused> {
    let (client, form) = read(&server, request).await?;
    if client.value.is_public() {
        let message = "introspection needs a client with a secret";
        return Err(OAuthError::new(OAuthErrorCode::InvalidClient, message).into());
    }
    let found = server.platform.oauth().introspect(&client, form.require("token")?)?;
    let body = found.map_or_else(|| json!({ "active": false }), |found| described(&server, &found));
    Ok(answer(StatusCode::OK, body))
}

fn described(server: &AuthorizationServer, found: &Introspection) -> Value {
    let mut body = json!({
        "active": true,
        "scope": scope_text(&found.scopes),
        "client_id": found.client,
        "username": found.email,
        "sub": found.user,
        "iss": server.url.as_str(),
        "iat": found.issued_at_ms / 1000,
        "exp": found.expires_at_ms / 1000,
        "workspace_id": found.workspace.as_str(),
    });
    if found.is_access_token {
        body["token_type"] = "Bearer".into();
    }
    body
}
