//! Tests of the authorization server's rules.

mod authorization;
mod bounds;
mod clients;
mod codes;
mod deleted_clients;
mod ends;
mod granted_keys;
mod reach;
mod refresh;
mod registration;

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
