//! What is at a path, as far as its text says.

/// Path of the authorization server's metadata (RFC 8414).
const AUTHORIZATION_METADATA: &str = "/.well-known/oauth-authorization-server";

/// Returns the id of the chain whose Ethereum JSON-RPC is at a path.
pub(super) fn chain_of(path: &str) -> Option<&str> {
    let id = path.strip_prefix("/v1/blockchains/")?.strip_suffix("/eth")?;
    (!id.contains('/')).then_some(id)
}

/// Whether the authorization server has a path.
pub(super) fn is_authorization(path: &str) -> bool {
    ["/oauth/", "/v1/oauth/", AUTHORIZATION_METADATA].iter().any(|prefix| path.starts_with(prefix))
}

/// Whether programs and not browsers send what is posted to the authorization server at a path.
pub(super) fn is_for_programs(path: &str) -> bool {
    let path = path.strip_prefix("/v1").unwrap_or(path);
    ["/oauth/token", "/oauth/revoke", "/oauth/introspect", "/oauth/register"].contains(&path)
}

/// Returns the name of the authorization server's endpoint at a path; one for all its other paths.
pub(super) fn authorization_route(path: &str) -> &'static str {
    let path = path.strip_prefix("/v1").unwrap_or(path);
    let all = [
        AUTHORIZATION_METADATA,
        "/oauth/authorize",
        "/oauth/token",
        "/oauth/revoke",
        "/oauth/introspect",
        "/oauth/register",
    ];
    all.into_iter().find(|known| path == *known).unwrap_or("/oauth/*")
}
