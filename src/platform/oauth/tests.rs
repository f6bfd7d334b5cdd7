//! Tests of the authorization server's rules.

use core::{num::NonZeroUsize, time::Duration};

use base64ct::{Base64UrlUnpadded, Encoding as _};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::platform::{
    AccessToken, ApiKey, ApiKeySpec, AuthorizationRefusal, ClientCredentials, ClientRegistration, Grant, Member,
    OAuthClient, OAuthError, OAuthErrorCode, Parameters, Password, Platform, PlatformError, Principal, Role, Scope,
    ScopeSet, ShownRefusal, TokenResponse, User, Workspace,
    records::{AuditLine, Index, PageRequest, SortKey, Stored, WorkspaceId},
    users::tests::{PASSWORD, World, many, url},
};

const REDIRECT: &str = "https://app.example/cb";
const VERIFIER: &str = "a-verifier-of-43-characters-or-more-0123456789";

fn challenge() -> String {
    Base64UrlUnpadded::encode_string(&Sha256::digest(VERIFIER))
}

/// Two users, and a client of each kind.
struct Server {
    world: World,
    ann: Stored<User>,
    owner: Principal,
    public: Stored<OAuthClient>,
    confidential: Stored<OAuthClient>,
    secret: String,
}

fn register(
    platform: &Platform,
    principal: &Principal,
    metadata: Value,
) -> Result<(Stored<OAuthClient>, Option<String>), PlatformError> {
    let registration = ClientRegistration::read(&metadata).unwrap();
    let (client, secret) = platform.unit(|unit| platform.oauth().register(unit, principal, registration))?;
    Ok((client, secret.map(|secret| secret.text().to_owned())))
}

impl Server {
    fn new() -> Self {
        let world = World::new();
        let ann = world.user("ann@example.org");
        let home = ann.value.home.clone().unwrap();
        let owner = world.platform.workspaces().principal(ann.id(), &home).unwrap().unwrap();
        let body = |method: &str| {
            json!({
                "client_name": "App",
                "redirect_uris": [REDIRECT, "http://127.0.0.1/cb"],
                "token_endpoint_auth_method": method,
                "scope": "workspace:read blockchain:read blockchain:write",
            })
        };
        let (public, none) = register(&world.platform, &owner, body("none")).unwrap();
        let (confidential, secret) = register(&world.platform, &owner, body("client_secret_post")).unwrap();
        assert!(none.is_none());
        Self { world, ann, owner, public, confidential, secret: secret.unwrap() }
    }

    fn home(&self) -> WorkspaceId {
        self.ann.value.home.clone().unwrap()
    }

    /// A code for a query.
    fn code(&self, query: &str) -> String {
        let oauth = self.world.platform.oauth();
        let request = oauth.read_authorization(&Parameters::read(query.as_bytes()), &url()).unwrap();
        let location = oauth.authorize(&request, self.ann.id(), &self.home(), &url()).ok().unwrap().location;
        parameter(&location, "code").unwrap()
    }

    fn public_query(&self) -> String {
        let challenge = challenge();
        format!(
            "client_id={}&redirect_uri={REDIRECT}&response_type=code&scope=blockchain:read+blockchain:write&state=s\
             &code_challenge={challenge}&code_challenge_method=S256",
            self.public.id()
        )
    }

    fn token(&self, client: &Stored<OAuthClient>, form: &str) -> Result<TokenResponse, OAuthError> {
        self.world.platform.oauth().token(client, &Parameters::read(form.as_bytes()))
    }

    fn exchange(&self, code: &str) -> Result<TokenResponse, OAuthError> {
        let form = format!(
            "grant_type=authorization_code&code={code}&redirect_uri={REDIRECT}&code_verifier={VERIFIER}&client_id={}",
            self.public.id()
        );
        self.token(&self.public, &form)
    }

    fn refresh(&self, refresh_token: &str) -> Result<TokenResponse, OAuthError> {
        self.token(&self.public, &format!("grant_type=refresh_token&refresh_token={refresh_token}"))
    }

    fn principal(&self, token: &str) -> Option<Principal> {
        self.world.platform.oauth().authenticate(token).unwrap()
    }

    /// Makes the tokens of a new grant.
    fn tokens(&self) -> TokenResponse {
        self.exchange(&self.code(&self.public_query())).unwrap()
    }

    /// Makes an API key with an access token.
    fn key_by(&self, tokens: &TokenResponse) -> String {
        self.key_of(&self.principal(tokens.access_token.text()).unwrap())
    }

    fn key_of(&self, principal: &Principal) -> String {
        let (platform, scopes) = (&self.world.platform, scopes(&[Scope::BlockchainRead]));
        let spec = ApiKeySpec { name: "ci".to_owned(), scopes, lifetime_ms: None };
        let (value, _) = platform.unit(|unit| platform.api_keys().create(unit, principal, spec)).unwrap();
        value.text().to_owned()
    }

    fn key_principal(&self, key: &str) -> Option<Principal> {
        self.world.platform.api_keys().authenticate(key).unwrap()
    }

    fn is_key(&self, key: &str) -> bool {
        self.key_principal(key).is_some()
    }

    fn kept(&self) -> (u64, u64) {
        let records = self.world.platform.records();
        (records.verify::<Grant>().unwrap(), records.verify::<AccessToken>().unwrap())
    }
}

fn refresh_text(response: &TokenResponse) -> String {
    response.refresh_token.as_ref().unwrap().text().to_owned()
}

/// The value of a parameter of a URI.
fn parameter(location: &str, name: &str) -> Option<String> {
    let (_, query) = location.split_once('?')?;
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn code_of<T>(result: Result<T, OAuthError>) -> OAuthErrorCode {
    result.err().expect("must be refused").code
}

fn scopes(names: &[Scope]) -> ScopeSet {
    names.iter().copied().collect()
}

#[test]
fn a_code_becomes_tokens_that_act_for_the_user() {
    let server = Server::new();
    let oauth = server.world.platform.oauth();
    let request = oauth.read_authorization(&Parameters::read(server.public_query().as_bytes()), &url()).unwrap();
    assert_eq!((request.client().id(), request.redirect_uri()), (server.public.id(), REDIRECT));
    let address = "192.0.2.7".parse().unwrap();
    let there = oauth.of_address(Some(address));
    let location = there.authorize(&request, server.ann.id(), &server.home(), &url()).ok().unwrap().location;
    assert!(location.starts_with("https://app.example/cb?code=cbc_"));
    let lines = server.world.platform.records().of::<AuditLine>();
    let lines = lines.all(&Index::CREATED, &server.owner.owner(), &SortKey::new()).unwrap();
    let granted: Vec<_> = lines.iter().filter(|line| line.value.action == "oauth.grant").collect();
    assert_eq!(granted.iter().map(|line| line.value.client).collect::<Vec<_>>(), [Some(address)]);
    assert_eq!(parameter(&location, "state").unwrap(), "s");
    assert_eq!(parameter(&location, "iss").unwrap(), "https://chain.example");
    let code = parameter(&location, "code").unwrap();
    let response = server.exchange(&code).unwrap();
    assert_eq!(response.expires_in_secs, 3600);
    assert_eq!(response.scopes, scopes(&[Scope::BlockchainRead, Scope::BlockchainWrite]));
    let principal = server.principal(response.access_token.text()).unwrap();
    assert_eq!((principal.subject(), principal.workspace()), (server.owner.subject(), server.owner.workspace()));
    assert_eq!(*principal.scopes(), response.scopes);
    let bytes = server.world.bytes();
    for secret in [&code, response.access_token.text(), &refresh_text(&response), &server.secret] {
        assert!(!bytes.windows(20).any(|window| window == &secret.as_bytes()[4..24]), "{}", &secret[..4]);
    }
    let text = response.access_token.text();
    let mistyped = format!("{}{}", &text[..59], if text.ends_with('0') { '1' } else { '0' });
    assert_eq!((server.principal(&mistyped), server.principal("cbt_"), server.principal("")), (None, None, None));
    server.world.clock.advance(Duration::from_secs(3_599));
    assert!(server.principal(response.access_token.text()).is_some());
    server.world.clock.advance(Duration::from_secs(1));
    assert!(server.principal(response.access_token.text()).is_none());
}

#[test]
fn a_bad_client_or_redirect_uri_is_shown_and_never_redirects() {
    let server = Server::new();
    let public = server.public.id();
    for (query, want) in [
        ("response_type=code".to_owned(), "the parameter client_id is missing"),
        ("client_id=cli_none&response_type=code".to_owned(), "no application"),
        (format!("client_id={public}&client_id={public}&redirect_uri={REDIRECT}"), "more than once"),
        (format!("client_id={public}&redirect_uri={REDIRECT}&redirect_uri={REDIRECT}"), "more than once"),
        (format!("client_id={public}&response_type=code"), "has registered several"),
        (format!("client_id={public}&redirect_uri={REDIRECT}/"), "has not registered"),
        (format!("client_id={public}&redirect_uri=https://evil.example/cb"), "has not registered"),
        (format!("client_id={}&redirect_uri=http://127.0.0.1:9/cb", server.confidential.id()), "has not registered"),
    ] {
        let refused =
            server.world.platform.oauth().read_authorization(&Parameters::read(query.as_bytes()), &url()).unwrap_err();
        let AuthorizationRefusal::Shown(refusal) = refused else { panic!("{query} redirects") };
        assert!(refusal.to_string().contains(want), "{query}: {refusal}");
    }
}

#[test]
fn every_other_error_goes_to_the_client() {
    use OAuthErrorCode::*;
    let server = Server::new();
    let start = |client: &Stored<OAuthClient>| format!("client_id={}&redirect_uri={REDIRECT}&state=a%26b", client.id());
    let (public, confidential) = (start(&server.public), start(&server.confidential));
    let pkce = format!("code_challenge={}&code_challenge_method=S256", challenge());
    for (query, want) in [
        (public.clone(), InvalidRequest),
        (format!("{public}&response_type=token&{pkce}"), UnsupportedResponseType),
        (format!("{public}&response_type=code&response_type=code&{pkce}"), InvalidRequest),
        (format!("{public}&response_type=code&scope=magic&{pkce}"), InvalidScope),
        (format!("{public}&response_type=code&scope=+&{pkce}"), InvalidScope),
        (format!("{public}&response_type=code&scope=admin&{pkce}"), InvalidScope),
        (format!("{public}&response_type=code&scope=workspace:write&{pkce}"), InvalidScope),
        (format!("{public}&response_type=code"), InvalidRequest),
        (format!("{public}&response_type=code&code_challenge={}", challenge()), InvalidRequest),
        (format!("{confidential}&response_type=code&code_challenge=x&code_challenge_method=plain"), InvalidRequest),
    ] {
        let oauth = server.world.platform.oauth();
        let refused = oauth.read_authorization(&Parameters::read(query.as_bytes()), &url()).unwrap_err();
        let AuthorizationRefusal::Redirected { location, error } = refused else { panic!("{query} is shown") };
        assert_eq!(error.code, want, "{query}");
        assert!(location.starts_with("https://app.example/cb?"));
        let found = ["error", "state", "iss"].map(|name| parameter(&location, name).unwrap());
        assert_eq!(found, [want.name(), "a&b", "https://chain.example"], "{query}");
    }
    // A state that came twice is not echoed.
    let query = format!("{public}&state=c&response_type=code&{pkce}");
    let refused = server.world.platform.oauth().read_authorization(&Parameters::read(query.as_bytes()), &url());
    let Err(AuthorizationRefusal::Redirected { location, error }) = refused else { panic!("must redirect") };
    assert_eq!((error.code, parameter(&location, "state")), (InvalidRequest, None));
    // The user refuses.
    let query = format!("{confidential}&response_type=code");
    let request = server.world.platform.oauth().read_authorization(&Parameters::read(query.as_bytes()), &url());
    let denied = request.unwrap().denied(&url());
    assert_eq!(parameter(&denied, "error").unwrap(), "access_denied");
    assert_eq!(parameter(&denied, "state").unwrap(), "a&b");
}

#[test]
fn a_native_clients_port_may_change() {
    let server = Server::new();
    let query = server.public_query().replace(REDIRECT, "http://127.0.0.1:51234/cb");
    let code = server.code(&query);
    assert_eq!(code_of(server.exchange(&code)), OAuthErrorCode::InvalidGrant, "the token request's must be the same");
    let form = format!(
        "grant_type=authorization_code&code={code}&redirect_uri=http://127.0.0.1:51234/cb&code_verifier={VERIFIER}"
    );
    server.token(&server.public, &form).unwrap();
}

#[test]
fn a_confidential_client_works_with_the_specifications_parameters() {
    let server = Server::new();
    let id = server.confidential.id();
    let code = server.code(&format!("client_id={id}&redirect_uri={REDIRECT}&response_type=code&scope=blockchain:read"));
    let form = |code: &str| format!("grant_type=authorization_code&code={code}&redirect_uri={REDIRECT}");
    let with_verifier = format!("{}&code_verifier={VERIFIER}", form(&code));
    assert_eq!(
        code_of(server.token(&server.confidential, &with_verifier)),
        OAuthErrorCode::InvalidGrant,
        "a downgrade"
    );
    let other_client = server.token(&server.public, &form(&code));
    assert_eq!(code_of(other_client), OAuthErrorCode::InvalidGrant);
    let without_uri = format!("grant_type=authorization_code&code={code}");
    assert_eq!(code_of(server.token(&server.confidential, &without_uri)), OAuthErrorCode::InvalidGrant);
    let response = server.token(&server.confidential, &form(&code)).unwrap();
    assert_eq!(response.scopes, scopes(&[Scope::BlockchainRead]));
    // One that sends a challenge must show the verifier.
    let code = server.code(&server.public_query().replace(server.public.id(), id));
    assert_eq!(code_of(server.token(&server.confidential, &form(&code))), OAuthErrorCode::InvalidGrant);
    server.token(&server.confidential, &format!("{}&code_verifier={VERIFIER}", form(&code))).unwrap();
}

#[test]
fn a_left_out_redirect_uri_is_the_only_one() {
    let server = Server::new();
    let metadata = json!({ "client_name": "One", "redirect_uris": [REDIRECT], "grant_types": ["authorization_code"] });
    let (client, _) = register(&server.world.platform, &server.owner, metadata).unwrap();
    let query = format!("client_id={}&response_type=code&scope=blockchain:read", client.id());
    let code = server.code(&query);
    let form = format!("grant_type=authorization_code&code={code}");
    assert_eq!(
        code_of(server.token(&client, &format!("{form}&redirect_uri={REDIRECT}"))),
        OAuthErrorCode::InvalidGrant
    );
    let response = server.token(&client, &form).unwrap();
    assert!(response.refresh_token.is_none(), "it has not registered for any");
    server.world.clock.advance(Duration::from_secs(3_600));
    assert_eq!(server.world.platform.oauth().forget_expired(&many()).unwrap(), 2);
}

#[test]
fn clients_show_their_secret_if_they_have_one() {
    let server = Server::new();
    let (public, confidential, secret) = (server.public.id(), server.confidential.id(), server.secret.as_str());
    for (id, secret, known) in [
        (public, None, true),
        (public, Some("x"), false),
        (confidential, Some(secret), true),
        (confidential, None, false),
        (confidential, Some(&secret[1..]), false),
        ("cli_none", None, false),
        ("", Some(secret), false),
    ] {
        let found = server.world.platform.oauth().authenticate_client(ClientCredentials { id, secret });
        match found {
            Ok(client) => assert!(known && client.id() == id),
            Err(error) => assert!(!known && error.code == OAuthErrorCode::InvalidClient, "{id} {secret:?}"),
        }
    }
}

#[test]
fn a_code_is_for_ten_minutes_and_once() {
    let server = Server::new();
    let late = server.code(&server.public_query());
    server.world.clock.advance(Duration::from_secs(600));
    assert_eq!(code_of(server.exchange(&late)), OAuthErrorCode::InvalidGrant);
    assert_eq!(server.world.platform.oauth().forget_expired(&many()).unwrap(), 1);
    let code = server.code(&server.public_query());
    server.world.clock.advance(Duration::from_secs(599));
    let wrong = format!(
        "grant_type=authorization_code&code={code}&redirect_uri={REDIRECT}&code_verifier={}",
        VERIFIER.replace('a', "b")
    );
    assert_eq!(code_of(server.token(&server.public, &wrong)), OAuthErrorCode::InvalidGrant);
    let response = server.exchange(&code).unwrap();
    let refreshed = server.refresh(&refresh_text(&response)).unwrap();
    // A second use revokes all that the first has given, also later.
    server.world.clock.advance(Duration::from_secs(3_000));
    assert!(server.principal(refreshed.access_token.text()).is_some());
    assert_eq!(code_of(server.exchange(&code)), OAuthErrorCode::InvalidGrant);
    assert_eq!(server.principal(refreshed.access_token.text()), None);
    assert_eq!(code_of(server.refresh(&refresh_text(&refreshed))), OAuthErrorCode::InvalidGrant);
    assert_eq!(server.kept(), (0, 0));
    for (form, want) in [
        ("", OAuthErrorCode::InvalidRequest),
        ("grant_type=password", OAuthErrorCode::UnsupportedGrantType),
        ("grant_type=authorization_code", OAuthErrorCode::InvalidRequest),
        ("grant_type=authorization_code&code=cbc_x", OAuthErrorCode::InvalidGrant),
        ("grant_type=authorization_code&code=a&code=b", OAuthErrorCode::InvalidRequest),
        ("grant_type=refresh_token", OAuthErrorCode::InvalidRequest),
        ("grant_type=refresh_token&refresh_token=cbr_x", OAuthErrorCode::InvalidGrant),
        ("grant_type=refresh_token&refresh_token=x&scope=magic", OAuthErrorCode::InvalidScope),
    ] {
        assert_eq!(code_of(server.token(&server.public, form)), want, "{form}");
    }
}

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

#[test]
fn a_reset_password_and_a_deleted_client_end_all_tokens() {
    let server = Server::new();
    let (platform, tokens) = (&server.world.platform, server.tokens());
    let (key, own) = (server.key_by(&tokens), server.key_of(&server.owner));
    platform.users().request_reset("ann@example.org").unwrap();
    let mailbox = crate::platform::Mailbox::default();
    let mails = platform.mails().deliver_to(&mailbox, &url(), &many()).unwrap();
    let token = mails[0].body.split_once("?token=").unwrap().1.split_whitespace().next().unwrap().to_owned();
    platform.users().reset(&token, &Password::new("another long password")).unwrap();
    assert!(!server.is_key(&key) && server.is_key(&own), "a key that a token has made ends, too");
    let own = server.key_principal(&own).unwrap().subject().to_string().replace("key:", "");
    platform.unit(|unit| platform.api_keys().revoke(unit, &server.owner, &own)).unwrap();
    assert_eq!(server.principal(tokens.access_token.text()), None);
    assert_eq!(code_of(server.refresh(&refresh_text(&tokens))), OAuthErrorCode::InvalidGrant);
    assert_eq!(server.kept(), (0, 0));

    let tokens = server.tokens();
    let viewer = Principal::new(server.owner.subject().clone(), server.home(), Role::Viewer.cap());
    let delete = |who: &Principal| platform.unit(|unit| platform.oauth().delete_client(unit, who, server.public.id()));
    assert!(matches!(delete(&viewer), Err(PlatformError::MissingScope { .. })));
    assert!(matches!(delete(&platform.service_principal()), Err(PlatformError::NotFound { .. })), "it is another's");
    delete(&server.owner).unwrap();
    assert_eq!(server.principal(tokens.access_token.text()), None);
    assert_eq!(code_of(server.refresh(&refresh_text(&tokens))), OAuthErrorCode::InvalidGrant);
    let refused = platform.unit(|unit| platform.workspaces().delete(unit, &server.owner)).unwrap_err();
    assert!(refused.to_string().contains("still has 1 OAuth client: "), "{refused}");
    platform.unit(|unit| platform.oauth().delete_client(unit, &server.owner, server.confidential.id())).unwrap();
    platform.unit(|unit| platform.workspaces().delete(unit, &server.owner)).unwrap();
    assert_eq!(server.kept(), (0, 0));
    assert_eq!(platform.records().verify::<OAuthClient>().unwrap(), 0);
}

/// A client keeps a key that its token has made as it keeps its tokens: whoever ends its grant ends the key, and what the key was replaced by.
#[test]
fn a_key_ends_with_the_grant_that_it_was_made_under() {
    let server = Server::new();
    let (platform, oauth) = (&server.world.platform, server.world.platform.oauth());
    let bystander = server.tokens();
    let (others, own) = (server.key_by(&bystander), server.key_of(&server.owner));
    let made = || {
        let code = server.code(&server.public_query());
        let tokens = server.exchange(&code).unwrap();
        let key = server.key_by(&tokens);
        (code, tokens, key)
    };
    let ended = |key: &str| {
        assert!(server.is_key(&others) && server.is_key(&own), "other keys of the user are not concerned");
        !server.is_key(key)
    };
    let (_, tokens, key) = made();
    let rotating = server.key_principal(&key).unwrap();
    let id = rotating.subject().to_string().replace("key:", "");
    let successor = platform.unit(|unit| platform.api_keys().rotate(unit, &rotating, &id, 60_000)).unwrap().0;
    oauth.revoke(&server.public, tokens.access_token.text()).unwrap();
    assert!(!ended(&key) && !ended(successor.text()), "the access token alone was revoked");
    oauth.revoke(&server.public, &refresh_text(&tokens)).unwrap();
    assert!(ended(&key) && ended(successor.text()));
    let lines = platform.records().of::<AuditLine>();
    let lines = lines.all(&Index::CREATED, &server.owner.owner(), &SortKey::new()).unwrap();
    let revoked: Vec<_> = lines.iter().filter(|line| line.value.action == "key.revoke").collect();
    assert_eq!(revoked.len(), 2);
    assert!(revoked.iter().any(|line| line.value.target == format!("key {id}")));
    // A refresh token that comes again.
    let (_, tokens, key) = made();
    server.refresh(&refresh_text(&tokens)).unwrap();
    assert!(!ended(&key));
    assert_eq!(code_of(server.refresh(&refresh_text(&tokens))), OAuthErrorCode::InvalidGrant);
    assert!(ended(&key));
    // A code that comes again.
    let (code, _, key) = made();
    assert!(!ended(&key));
    assert_eq!(code_of(server.exchange(&code)), OAuthErrorCode::InvalidGrant);
    assert!(ended(&key));
    platform.unit(|unit| oauth.delete_client(unit, &server.owner, server.public.id())).unwrap();
    assert!(!server.is_key(&others) && server.is_key(&own), "the client is deleted");
    platform.records().verify::<ApiKey>().unwrap();
}

/// A key may be meant to live longer than any token; another password still ends it.
#[test]
fn a_key_outlives_a_grant_that_expires_and_ends_with_the_password() {
    let server = Server::new();
    let users = server.world.platform.users();
    let key = server.key_by(&server.tokens());
    server.world.clock.advance(Duration::from_secs(31 * 86_400));
    while server.world.platform.oauth().forget_expired(&many()).unwrap() > 0 {}
    assert_eq!(server.kept(), (0, 0));
    let (tokens, own) = (server.tokens(), server.key_of(&server.owner));
    let second = server.key_by(&tokens);
    assert!(server.is_key(&key) && server.is_key(&second));
    let session = users.start_session(server.ann.id()).unwrap();
    let session = users.session(session.text()).unwrap().unwrap();
    users.change_password(&session, &Password::new(PASSWORD), &Password::new("another long password")).unwrap();
    assert!(!server.is_key(&key) && !server.is_key(&second), "they were made with access tokens");
    assert!(server.is_key(&own), "it was not");
    assert_eq!(server.principal(tokens.access_token.text()), None);
    assert_eq!(code_of(server.refresh(&refresh_text(&tokens))), OAuthErrorCode::InvalidGrant);
    assert_eq!(server.kept(), (0, 0));
}

/// Token and key were let in, and the grant ended before the new key was written.
#[test]
fn no_key_is_made_under_a_grant_that_has_ended() {
    let server = Server::new();
    let (platform, tokens) = (&server.world.platform, server.tokens());
    let token = server.principal(tokens.access_token.text()).unwrap();
    let key = server.key_principal(&server.key_by(&tokens)).unwrap();
    platform.oauth().revoke(&server.public, &refresh_text(&tokens)).unwrap();
    for principal in [token, key] {
        let spec = ApiKeySpec { name: "ci".to_owned(), scopes: scopes(&[Scope::BlockchainRead]), lifetime_ms: None };
        let refused = platform.unit(|unit| platform.api_keys().create(unit, &principal, spec)).err().unwrap();
        assert!(
            matches!(&refused, PlatformError::Forbidden { message } if message.contains("revoked meanwhile")),
            "{refused}"
        );
    }
}

#[test]
fn a_client_looks_into_and_revokes_its_own_tokens_alone() {
    let server = Server::new();
    let (oauth, tokens) = (server.world.platform.oauth(), server.tokens());
    let (access, refresh) = (tokens.access_token.text().to_owned(), refresh_text(&tokens));
    let found = oauth.introspect(&server.public, &access).unwrap().unwrap();
    assert_eq!((found.client.as_str(), found.user.as_str()), (server.public.id(), server.ann.id()));
    assert_eq!((found.email.as_str(), &found.workspace), ("ann@example.org", &server.home()));
    assert_eq!((found.scopes, found.is_access_token), (tokens.scopes.clone(), true));
    assert_eq!(found.expires_at_ms - found.issued_at_ms, 3_600_000);
    let found = oauth.introspect(&server.public, &refresh).unwrap().unwrap();
    assert!(!found.is_access_token && found.expires_at_ms - found.issued_at_ms == 30 * 86_400_000);
    for token in [&access, &refresh] {
        assert_eq!(oauth.introspect(&server.confidential, token).unwrap(), None);
        oauth.revoke(&server.confidential, token).unwrap();
    }
    assert!(server.principal(&access).is_some(), "another client revokes nothing");
    oauth.revoke(&server.public, "unknown").unwrap();
    oauth.revoke(&server.public, &access).unwrap();
    oauth.revoke(&server.public, &access).unwrap();
    assert_eq!((server.principal(&access), oauth.introspect(&server.public, &access).unwrap()), (None, None));
    let next = server.refresh(&refresh).unwrap();
    oauth.revoke(&server.public, &refresh_text(&next)).unwrap();
    assert_eq!(server.principal(next.access_token.text()), None, "the refresh token's whole grant ends");
    assert_eq!(server.kept(), (0, 0));
}

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
