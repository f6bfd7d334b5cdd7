//! How much is kept.

use super::*;

#[test]
fn what_is_kept_is_bounded() {
    let server = Server::new();
    let mut tokens = server.tokens();
    let oldest = tokens.access_token.text().to_owned();
    for _ in 0..20 {
        server.world.clock.advance(Duration::from_secs(1));
        tokens = server.refresh(&refresh_text(&tokens)).unwrap();
    }
    assert_eq!(server.kept(), (1, 20));
    assert_eq!(server.principal(&oldest), None, "a grant has twenty access tokens at most");
    let newest = tokens.access_token.text().to_owned();
    server.world.clock.advance(Duration::from_secs(1));
    for _ in 0..99 {
        server.code(&server.public_query());
    }
    assert!(server.principal(&newest).is_some());
    server.code(&server.public_query());
    assert_eq!(server.kept(), (100, 0), "a user has a hundred grants at most");
    for _ in 2..50 {
        let metadata = json!({ "client_name": "x", "redirect_uris": [REDIRECT] });
        register(&server.world.platform, &server.owner, metadata).unwrap();
    }
    let metadata = json!({ "client_name": "x", "redirect_uris": [REDIRECT] });
    assert!(matches!(
        register(&server.world.platform, &server.owner, metadata),
        Err(PlatformError::Conflict { message }) if message.contains("50 OAuth clients")
    ));
}
