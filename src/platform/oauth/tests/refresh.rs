//! Refresh tokens.

use super::*;

#[test]
fn refresh_tokens_rotate_and_an_old_one_ends_the_family() {
    let server = Server::new();
    let first = server.tokens();
    let second = server.refresh(&refresh_text(&first)).unwrap();
    let third = server.refresh(&refresh_text(&second)).unwrap();
    assert!(server.principal(first.access_token.text()).is_some(), "an access token goes on until it expires");
    let other_client =
        server.token(&server.confidential, &format!("grant_type=refresh_token&refresh_token={}", refresh_text(&third)));
    assert_eq!(code_of(other_client), OAuthErrorCode::InvalidGrant);
    // The first is long replaced: nothing is kept of it, and it is known for what it is.
    let bystander = server.tokens();
    assert_eq!(code_of(server.refresh(&refresh_text(&first))), OAuthErrorCode::InvalidGrant);
    assert_eq!(code_of(server.refresh(&refresh_text(&third))), OAuthErrorCode::InvalidGrant);
    assert_eq!(server.principal(third.access_token.text()), None);
    assert!(server.principal(bystander.access_token.text()).is_some(), "another family is not concerned");
    server.world.clock.advance(Duration::from_secs(30 * 86_400 - 1));
    let kept = server.refresh(&refresh_text(&bystander)).unwrap();
    server.world.clock.advance(Duration::from_secs(30 * 86_400));
    assert_eq!(code_of(server.refresh(&refresh_text(&kept))), OAuthErrorCode::InvalidGrant);
    while server.world.platform.oauth().forget_expired(&PageRequest::first(NonZeroUsize::MIN)).unwrap() > 0 {}
    assert_eq!(server.kept(), (0, 0));
}

#[test]
fn a_refresh_may_narrow_the_scope_and_never_widen_it() {
    let server = Server::new();
    let first = server.tokens();
    let narrow = |token: &str, scope: &str| {
        server.token(&server.public, &format!("grant_type=refresh_token&refresh_token={token}&scope={scope}"))
    };
    assert_eq!(code_of(narrow(&refresh_text(&first), "workspace:read")), OAuthErrorCode::InvalidScope);
    let narrowed = narrow(&refresh_text(&first), "blockchain:read").unwrap();
    assert_eq!(narrowed.scopes, scopes(&[Scope::BlockchainRead]));
    let principal = server.principal(narrowed.access_token.text()).unwrap();
    assert!(principal.may(Scope::BlockchainRead) && !principal.may(Scope::BlockchainWrite));
    let whole = server.refresh(&refresh_text(&narrowed)).unwrap();
    assert_eq!(whole.scopes, first.scopes, "the grant itself is not narrowed");
}
