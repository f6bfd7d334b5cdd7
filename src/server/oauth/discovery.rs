//! Metadata of the authorization server (RFC 8414).

use axum::{Json, extract::State};
use serde_json::{Value, json};

use super::AuthorizationServer;
use crate::platform::Scope;

/// `GET /.well-known/oauth-authorization-server`.
pub(super) async fn metadata(State(server): State<AuthorizationServer>) -> Json<Value> {
    let link = |path: &str| server.url.link(path);
    let of_clients = ["client_secret_basic", "client_secret_post", "none"];
    Json(json!({
        "issuer": server.url.as_str(),
        "authorization_endpoint": link("/oauth/authorize"),
        "token_endpoint": link("/oauth/token"),
        "revocation_endpoint": link("/oauth/revoke"),
        "introspection_endpoint": link("/oauth/introspect"),
        "registration_endpoint": link("/oauth/register"),
        "scopes_supported": Scope::ALL.map(Scope::name),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": of_clients,
        "revocation_endpoint_auth_methods_supported": of_clients,
        "introspection_endpoint_auth_methods_supported": of_clients[..2],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
    }))
}
