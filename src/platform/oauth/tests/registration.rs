//! Registration of clients.

use super::*;

#[test]
fn registration_follows_the_metadata() {
    use OAuthErrorCode::{InvalidClientMetadata, InvalidRedirectUri};
    let server = Server::new();
    let uris = json!([REDIRECT]);
    for (metadata, want) in [
        (json!([]), InvalidClientMetadata),
        (json!({ "redirect_uris": uris }), InvalidClientMetadata),
        (json!({ "client_name": "x\ny", "redirect_uris": uris }), InvalidClientMetadata),
        (json!({ "client_name": "x".repeat(101), "redirect_uris": uris }), InvalidClientMetadata),
        (json!({ "client_name": "x" }), InvalidRedirectUri),
        (json!({ "client_name": "x", "redirect_uris": [] }), InvalidRedirectUri),
        (json!({ "client_name": "x", "redirect_uris": vec![REDIRECT; 11] }), InvalidRedirectUri),
        (json!({ "client_name": "x", "redirect_uris": ["http://app.example"] }), InvalidRedirectUri),
        (json!({ "client_name": "x", "redirect_uris": ["com.example.app:/cb"] }), InvalidRedirectUri),
        (json!({ "client_name": "x", "redirect_uris": uris, "scope": "magic" }), InvalidClientMetadata),
        (json!({ "client_name": "x", "redirect_uris": uris, "scope": 7 }), InvalidClientMetadata),
        (json!({ "client_name": "x", "redirect_uris": uris, "grant_types": ["implicit"] }), InvalidClientMetadata),
        (json!({ "client_name": "x", "redirect_uris": uris, "grant_types": ["refresh_token"] }), InvalidClientMetadata),
        (json!({ "client_name": "x", "redirect_uris": uris, "response_types": ["token"] }), InvalidClientMetadata),
        (
            json!({ "client_name": "x", "redirect_uris": uris, "token_endpoint_auth_method": "private_key_jwt" }),
            InvalidClientMetadata,
        ),
    ] {
        assert_eq!(code_of(ClientRegistration::read(&metadata)), want, "{metadata}");
    }
    let whole = json!({
        "client_name": "App", "redirect_uris": uris, "scope": "blockchain:read", "response_types": ["code"],
        "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "client_secret_basic",
        "logo_uri": "https://app.example/logo.png",
    });
    let registration = ClientRegistration::read(&whole).unwrap();
    let oauth = server.world.platform.oauth();
    let (client, secret) =
        server.world.platform.unit(|unit| oauth.register(unit, &server.owner, registration.clone())).unwrap();
    let information = OAuthClient::information(&client, secret.as_ref());
    assert_eq!(information["client_id"], client.id());
    assert_eq!(information["client_secret"].as_str(), secret.as_ref().map(|secret| secret.text()));
    assert_eq!(
        (&information["client_secret_expires_at"], &information["scope"]),
        (&json!(0), &json!("blockchain:read"))
    );
    assert_eq!(OAuthClient::information(&client, None).get("client_secret"), None);
    let read_only = Principal::new(server.owner.subject().clone(), server.home(), scopes(&[Scope::WorkspaceRead]));
    let refused = server.world.platform.unit(|unit| oauth.register(unit, &read_only, registration.clone()));
    assert!(matches!(refused, Err(PlatformError::MissingScope { .. })));
    let low = Principal::new(server.owner.subject().clone(), server.home(), scopes(&[Scope::WorkspaceWrite]));
    let refused = server.world.platform.unit(|unit| oauth.register(unit, &low, registration));
    assert!(matches!(refused, Err(PlatformError::Forbidden { .. })), "a client has no more than its registrant");
    // The password is not part of any of it.
    assert!(!server.world.bytes().windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes()));
}
