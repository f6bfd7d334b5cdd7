//! What a token permits, and where.

use super::*;

#[test]
fn a_token_permits_what_the_role_permits_now() {
    let server = Server::new();
    let (platform, owner) = (&server.world.platform, &server.owner);
    let bob = server.world.user("bob@example.org");
    let members = platform.workspaces().members();
    let (_, token) = platform.unit(|unit| members.invite(unit, owner, "bob@example.org", Role::Developer)).unwrap();
    platform.unit(|unit| members.accept(unit, bob.id(), token.text())).unwrap();
    let oauth = platform.oauth();
    let request = oauth.read_authorization(&Parameters::read(server.public_query().as_bytes()), &url()).unwrap();
    let stranger = WorkspaceId::new("ws_none").unwrap();
    let refused = oauth.authorize(&request, bob.id(), &stranger, &url()).err().unwrap();
    assert!(matches!(refused, AuthorizationRefusal::Shown(ShownRefusal::Failed(PlatformError::NotFound { .. }))));
    let authorize = || {
        let location = oauth.authorize(&request, bob.id(), owner.workspace(), &url()).ok().unwrap().location;
        server.exchange(&parameter(&location, "code").unwrap()).unwrap()
    };
    let tokens = authorize();
    let may_write =
        |token: &TokenResponse| server.principal(token.access_token.text()).map(|p| p.may(Scope::BlockchainWrite));
    assert_eq!(may_write(&tokens), Some(true));
    platform.unit(|unit| members.change_role(unit, owner, bob.id(), Role::Viewer)).unwrap();
    assert_eq!(may_write(&tokens), Some(false));
    assert_eq!(authorize().scopes, scopes(&[Scope::BlockchainRead]), "consent gives no more than the role");
    let only_write = server.public_query().replace("blockchain:read+", "");
    let request = oauth.read_authorization(&Parameters::read(only_write.as_bytes()), &url()).unwrap();
    let refused = oauth.authorize(&request, bob.id(), owner.workspace(), &url()).err().unwrap();
    assert!(
        matches!(refused, AuthorizationRefusal::Redirected { error, .. } if error.code == OAuthErrorCode::AccessDenied)
    );
    platform.unit(|unit| members.change_role(unit, owner, bob.id(), Role::Developer)).unwrap();
    assert_eq!(may_write(&tokens), Some(true));
    // Who leaves loses the tokens, also when it comes back.
    platform.unit(|unit| members.remove(unit, owner, bob.id())).unwrap();
    assert_eq!(may_write(&tokens), None);
    let (_, token) = platform.unit(|unit| members.invite(unit, owner, "bob@example.org", Role::Developer)).unwrap();
    platform.unit(|unit| members.accept(unit, bob.id(), token.text())).unwrap();
    assert_eq!(may_write(&tokens), None);
    assert_eq!(code_of(server.refresh(&refresh_text(&tokens))), OAuthErrorCode::InvalidGrant);
}

#[test]
fn a_grant_reaches_the_workspace_of_the_consent_and_what_was_made_under_it() {
    let server = Server::new();
    let platform = &server.world.platform;
    let workspaces = platform.workspaces();
    let home = server.home();
    let other = platform.unit(|unit| workspaces.create(unit, server.ann.id(), Workspace::named("other"))).unwrap();
    let is_unknown =
        |by: &Principal, id: &str| matches!(workspaces.acting_in(by, id), Err(PlatformError::NotFound { .. }));
    let reached = |by: &Principal| -> Vec<String> {
        let (page, total) = workspaces.page_of_caller(by, &many()).unwrap();
        assert_eq!((&page, total), (&workspaces.of_caller(by).unwrap(), page.len() as u64));
        page.iter().map(|found| found.id().to_owned()).collect()
    };
    let tokens = server.tokens();
    let token = server.principal(tokens.access_token.text()).unwrap();
    assert!(is_unknown(&token, other.id()));
    assert_eq!(reached(&token), [home.as_str()]);
    // The user acts in both.
    assert!(!is_unknown(&server.owner, other.id()));
    assert_eq!(reached(&server.owner).len(), 2);
    server.world.clock.advance(Duration::from_secs(1));
    let (made, _) = platform.unit(|unit| workspaces.create_by(unit, &token, Workspace::named("made"))).unwrap();
    let acting = workspaces.acting_in(&token, made.id()).unwrap();
    assert_eq!((acting.workspace(), acting.scopes()), (made.owner().workspace().unwrap(), token.scopes()));
    assert_eq!(reached(&token), [home.as_str(), made.id()]);
    // From there, too.
    assert!(is_unknown(&acting, other.id()) && !is_unknown(&acting, home.as_str()));
    let refreshed = server.refresh(&refresh_text(&tokens)).unwrap();
    let refreshed = server.principal(refreshed.access_token.text()).unwrap();
    assert_eq!(reached(&refreshed), [home.as_str(), made.id()], "it is of the same grant");
    // Another consent of the user is another grant.
    let another = server.tokens();
    let another = server.principal(another.access_token.text()).unwrap();
    assert!(is_unknown(&another, made.id()));
    assert_eq!(reached(&another), [home.as_str()]);
    // Nobody but a member acts there, also under the grant.
    let membership = platform.records().of::<Member>().require(made.owner(), server.ann.id()).unwrap();
    platform.unit(|unit| Ok(unit.delete(&membership)?)).unwrap();
    assert!(is_unknown(&token, made.id()));
    assert_eq!(reached(&token), [home.as_str()]);
}
