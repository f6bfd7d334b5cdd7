//! The provider, as this service talks to it.

use core::fmt;
use std::sync::Arc;

use base64ct::{Base64, Encoding as _};
use hyper::header::{self, HeaderValue};
use serde::Deserialize;
use subtle::ConstantTimeEq;
use url::{Url, form_urlencoded::Serializer};
use zeroize::Zeroizing;

use super::{
    Callback, IdTokenError, Identity, OpenIdConfig, OpenIdError, OpenIdLogin,
    discovery::{ClientAuthentication, DOCUMENT_BYTES_MAX, Metadata, decode, discover, get},
    id_token::{Claims, Expected, Profile, check},
    jws::{SignedToken, shortened},
    key_set::KeySet,
};
use crate::{
    node::Clock,
    server::outbound::{OutboundClient, OutboundRequest, OutboundResponse},
};

/// An outside OpenID provider whose description was read. Its methods may be called at the same time.
pub struct OpenIdProvider {
    config: OpenIdConfig,
    metadata: Metadata,
    keys: KeySet,
    client: OutboundClient,
    clock: Arc<dyn Clock>,
}

/// What the token endpoint answers (OpenID Connect Core 1.0, 3.1.3.3).
#[derive(Deserialize)]
struct Tokens {
    id_token: String,
    access_token: Option<String>,
}

/// What it answers otherwise (RFC 6749, 5.2).
#[derive(Deserialize)]
struct Refusal {
    error: String,
    error_description: Option<String>,
}

/// The user information (OpenID Connect Core 1.0, 5.3.2).
#[derive(Deserialize)]
struct UserInfo {
    sub: String,
    #[serde(flatten)]
    profile: Profile,
}

impl OpenIdProvider {
    /// Reads a provider's description and checks that it can do what this service needs. `clock` is the wall clock, by which the provider
    /// dates its tokens.
    ///
    /// # Errors
    /// [`OpenIdError::Request`], [`OpenIdError::Document`], [`OpenIdError::Issuer`], [`OpenIdError::Unsupported`].
    pub async fn discover(
        config: OpenIdConfig,
        client: OutboundClient,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenIdError> {
        let metadata = discover(&client, &config).await?;
        Ok(Self { config, metadata, keys: KeySet::default(), client, clock })
    }

    /// Issuer of the provider.
    pub fn issuer(&self) -> &str {
        &self.config.issuer
    }

    /// Returns the URL that the browser is sent to (OpenID Connect Core 1.0, 3.1.2.1).
    ///
    /// # Errors
    /// [`OpenIdError::Document`] when the provider's endpoint is no URL.
    pub fn authorization_url(&self, login: &OpenIdLogin) -> Result<String, OpenIdError> {
        let url = Url::parse(self.metadata.authorization.as_str());
        let mut url =
            url.map_err(|cause| OpenIdError::Document { what: "authorization endpoint", reason: cause.to_string() })?;
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.config.client_id)
            .append_pair("redirect_uri", &self.config.redirect_uri)
            .append_pair("scope", &self.config.scopes.join(" "))
            .append_pair("state", &login.state)
            .append_pair("nonce", &login.nonce)
            .append_pair("code_challenge", &login.challenge())
            .append_pair("code_challenge_method", "S256");
        Ok(url.into())
    }

    /// Checks what the browser came back with, exchanges the code, and returns who has logged in.
    ///
    /// The ID token says who it is; what it does not say of address and name is asked from the provider's user information. Dropping the
    /// future may leave the code used up: the login then starts again.
    ///
    /// # Errors
    /// [`OpenIdError`].
    pub async fn exchange(&self, login: &OpenIdLogin, callback: &Callback) -> Result<Identity, OpenIdError> {
        let code = self.check_callback(login, callback)?;
        let tokens = self.tokens(login, code).await?;
        let claims = self.claims(login, &tokens).await?;
        let Claims { sub, profile, .. } = claims;
        let profile = match (&self.metadata.user_info, &tokens.access_token) {
            (Some(_), Some(token)) if profile.email.is_none() => self.user_info(&sub, token, profile).await?,
            _ => profile,
        };
        let Profile { email, email_verified, name } = profile;
        let email_verified = email.is_some() && email_verified.is_some_and(|flag| flag.is_true());
        Ok(Identity { issuer: self.config.issuer.clone(), subject: sub, email, email_verified, name })
    }

    /// Returns the code of an answer that belongs to the login.
    fn check_callback<'c>(&self, login: &OpenIdLogin, callback: &'c Callback) -> Result<&'c str, OpenIdError> {
        let state = callback.state.as_deref().unwrap_or_default();
        if login.state.is_empty() || !bool::from(state.as_bytes().ct_eq(login.state.as_bytes())) {
            return Err(OpenIdError::State);
        }
        let is_issuer = match &callback.issuer {
            Some(issuer) => *issuer == self.config.issuer,
            None => !self.metadata.names_issuer,
        };
        if !is_issuer {
            let got = callback.issuer.as_deref().map(shortened).unwrap_or_default();
            return Err(OpenIdError::CallbackIssuer { want: self.config.issuer.clone(), got });
        }
        if let Some(error) = &callback.error {
            let description = callback.error_description.as_deref().map(shortened);
            return Err(OpenIdError::Refused { error: shortened(error), description });
        }
        callback.code.as_deref().map(String::as_str).ok_or(OpenIdError::NoCode)
    }

    /// Exchanges a code (OpenID Connect Core 1.0, 3.1.3.1; RFC 7636, 4.5).
    async fn tokens(&self, login: &OpenIdLogin, code: &str) -> Result<Tokens, OpenIdError> {
        let request = self.token_request(login, code)?;
        let failed = |source| OpenIdError::Request { what: TOKENS, source };
        let response = self.client.send(request).await.map_err(failed)?;
        if response.status.is_client_error()
            && let Ok(Refusal { error, error_description }) = serde_json::from_slice(&response.body)
        {
            let description = error_description.as_deref().map(shortened);
            return Err(OpenIdError::Exchange { error: shortened(&error), description });
        }
        let response = OutboundResponse::success(response).map_err(failed)?;
        decode(TOKENS, &response)
    }

    /// Returns the request for tokens, with the client's authentication.
    fn token_request(&self, login: &OpenIdLogin, code: &str) -> Result<OutboundRequest, OpenIdError> {
        let OpenIdConfig { client_id, client_secret, redirect_uri, .. } = &self.config;
        let secret = client_secret.as_deref().map(String::as_str).unwrap_or_default();
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("code_verifier", &login.verifier);
        let authorization = match self.metadata.authentication {
            ClientAuthentication::Basic => Some(basic(client_id, secret)?),
            ClientAuthentication::Post => {
                form.append_pair("client_id", client_id).append_pair("client_secret", secret);
                None
            }
            ClientAuthentication::None => {
                form.append_pair("client_id", client_id);
                None
            }
        };
        let request = OutboundRequest::post(self.metadata.token.clone(), form.finish())
            .with_header(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
            .with_header(header::ACCEPT, HeaderValue::from_static("application/json"))
            .with_response_bytes_max(DOCUMENT_BYTES_MAX);
        Ok(match authorization {
            Some(authorization) => request.with_header(header::AUTHORIZATION, authorization),
            None => request,
        })
    }

    /// Checks the ID token and returns its claims.
    async fn claims(&self, login: &OpenIdLogin, tokens: &Tokens) -> Result<Claims, OpenIdError> {
        let token = SignedToken::read(&tokens.id_token)?;
        let algorithm = token.algorithm;
        if !self.metadata.algorithms.contains(&algorithm) {
            return Err(IdTokenError::Algorithm { algorithm: algorithm.name().to_owned() }.into());
        }
        let now_ms = self.clock.now_ms();
        let payload = self.keys.verify(&token, &self.client, &self.metadata.keys, now_ms).await?;
        let expected = Expected {
            issuer: &self.config.issuer,
            client_id: &self.config.client_id,
            nonce: &login.nonce,
            access_token: tokens.access_token.as_deref(),
            algorithm,
            now_secs: now_ms / 1000,
            leeway_secs: self.config.leeway.as_secs(),
        };
        Ok(check(payload, &expected)?)
    }

    /// Asks for what the ID token does not say of the person.
    async fn user_info(&self, subject: &str, token: &str, known: Profile) -> Result<Profile, OpenIdError> {
        let Some(url) = self.metadata.user_info.clone() else { return Ok(known) };
        let authorization = secret_header(TOKENS, &Zeroizing::new(format!("Bearer {token}")))?;
        let info: UserInfo = get(&self.client, USER_INFO, url, Some(authorization)).await?;
        if info.sub != subject {
            return Err(OpenIdError::Subject);
        }
        Ok(Profile { name: known.name.or(info.profile.name), ..info.profile })
    }
}

/// Name of the tokens in messages.
const TOKENS: &str = "tokens";
/// Name of the user information in messages.
const USER_INFO: &str = "user information";

/// HTTP's basic authentication of a client, whose id and secret are form-encoded first (RFC 6749, 2.3.1).
fn basic(client_id: &str, secret: &str) -> Result<HeaderValue, OpenIdError> {
    let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = Zeroizing::new(format!("{}:{}", encode(client_id), encode(secret)));
    secret_header("client secret", &Zeroizing::new(format!("Basic {}", Base64::encode_string(pair.as_bytes()))))
}

fn secret_header(what: &'static str, value: &str) -> Result<HeaderValue, OpenIdError> {
    let value = HeaderValue::from_str(value);
    let mut value =
        value.map_err(|_| OpenIdError::Document { what, reason: "it has control characters".to_owned() })?;
    value.set_sensitive(true);
    Ok(value)
}

impl fmt::Debug for OpenIdProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config, metadata, .. } = self;
        f.debug_struct("OpenIdProvider").field("config", config).field("metadata", metadata).finish_non_exhaustive()
    }
}
