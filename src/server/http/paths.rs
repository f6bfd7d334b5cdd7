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

/// Whether a path begins or ends a log-in with an outside provider, which is more work than a page by whatever method.
pub(super) fn is_outside_log_in(path: &str) -> bool {
    path.strip_prefix("/v1").unwrap_or(path).starts_with("/oauth/openid/")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_ins_with_outside_providers_are_below_both_paths_of_the_authorization_server() {
        for (path, is_one) in [
            ("/oauth/openid/corp", true),
            ("/v1/oauth/openid/corp", true),
            ("/oauth/openid/corp/callback", true),
            ("/oauth/login", false),
            ("/oauth/openid", false),
            ("/v1/v1/oauth/openid/corp", false),
        ] {
            assert_eq!(is_outside_log_in(path), is_one, "{path}");
        }
    }
}
