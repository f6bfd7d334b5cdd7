//! The provider's own description (OpenID Connect Discovery 1.0, 3 and 4).

use hyper::{
    HeaderMap,
    header::{self, HeaderName, HeaderValue},
};
use serde::{Deserialize, de::DeserializeOwned};

use super::{OpenIdConfig, OpenIdError, jws::Algorithm, jws::shortened};
use crate::server::outbound::{OutboundClient, OutboundRequest, OutboundResponse, OutboundUrl};

/// Bytes of a document of the provider.
pub const DOCUMENT_BYTES_MAX: usize = 256 << 10;
/// Where a provider describes itself, below its issuer.
const WELL_KNOWN: &str = "/.well-known/openid-configuration";

/// How the client shows its secret at the token endpoint (OpenID Connect Core 1.0, 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientAuthentication {
    /// As the user and password of HTTP's basic authentication.
    Basic,
    /// In the body.
    Post,
    /// Not at all: the client is public.
    None,
}

/// A provider's endpoints, and what it supports of what this service needs.
#[derive(Clone, Debug)]
pub(super) struct Metadata {
    pub(super) authorization: OutboundUrl,
    pub(super) token: OutboundUrl,
    pub(super) keys: OutboundUrl,
    pub(super) user_info: Option<OutboundUrl>,
    pub(super) algorithms: Vec<Algorithm>,
    pub(super) authentication: ClientAuthentication,
    /// Whether every answer of the authorization endpoint has `iss` (RFC 9207).
    pub(super) names_issuer: bool,
}

/// The members of a discovery document that matter here.
#[derive(Debug, Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
    response_types_supported: Vec<String>,
    id_token_signing_alg_values_supported: Vec<String>,
    code_challenge_methods_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// Reads a provider's description.
///
/// # Errors
/// [`OpenIdError`].
pub(super) async fn discover(client: &OutboundClient, config: &OpenIdConfig) -> Result<Metadata, OpenIdError> {
    let url = document_url(client, config)?;
    let document: Document = get(client, DISCOVERY, url, None).await?;
    read(document, client, config)
}

/// Returns where a provider describes itself.
///
/// # Errors
/// [`OpenIdError::Request`] for an issuer that is no URL, or one that `client` may not ask.
pub(super) fn document_url(client: &OutboundClient, config: &OpenIdConfig) -> Result<OutboundUrl, OpenIdError> {
    let url = parsed("issuer", &format!("{}{WELL_KNOWN}", config.issuer.trim_end_matches('/')))?;
    client.check(&url).map_err(|source| OpenIdError::Request { what: DISCOVERY, source })?;
    Ok(url)
}

/// Name of the discovery document in messages.
const DISCOVERY: &str = "discovery document";

fn read(document: Document, client: &OutboundClient, config: &OpenIdConfig) -> Result<Metadata, OpenIdError> {
    if document.issuer != config.issuer {
        return Err(OpenIdError::Issuer { want: config.issuer.clone(), got: shortened(&document.issuer) });
    }
    let offers = |values: &[String], value: &str| values.iter().any(|offered| offered == value);
    let unsupported = |what, offered: &[String]| OpenIdError::Unsupported { what, offered: listed(offered) };
    if !offers(&document.response_types_supported, "code") {
        return Err(unsupported("the code flow (response type code)", &document.response_types_supported));
    }
    // A provider that says nothing of PKCE may know it all the same; one that lists methods must list this one.
    if let Some(methods) = &document.code_challenge_methods_supported
        && !offers(methods, "S256")
    {
        return Err(unsupported("PKCE with S256", methods));
    }
    let signing = &document.id_token_signing_alg_values_supported;
    let algorithms: Vec<_> = signing.iter().filter_map(|name| Algorithm::named(name)).collect();
    if algorithms.is_empty() {
        return Err(unsupported("ID tokens signed with RS256, ES256 or EdDSA", signing));
    }
    let endpoint = |what, text: &str| {
        let url = parsed(what, text)?;
        client.check(&url).map_err(|source| OpenIdError::Request { what, source })?;
        Ok::<_, OpenIdError>(url)
    };
    Ok(Metadata {
        // The browser goes there, not this service: it is checked for its form alone.
        authorization: parsed("authorization endpoint", &document.authorization_endpoint)?,
        token: endpoint("token endpoint", &document.token_endpoint)?,
        keys: endpoint("key set", &document.jwks_uri)?,
        user_info: document.userinfo_endpoint.map(|text| endpoint("user information", &text)).transpose()?,
        algorithms,
        authentication: authentication(config, document.token_endpoint_auth_methods_supported.as_deref())?,
        names_issuer: document.authorization_response_iss_parameter_supported,
    })
}

fn authentication(config: &OpenIdConfig, methods: Option<&[String]>) -> Result<ClientAuthentication, OpenIdError> {
    let offers = |method: &str| methods.is_some_and(|methods| methods.iter().any(|offered| offered == method));
    if config.client_secret.is_none() {
        // Providers that serve public clients don't all list "none".
        return Ok(ClientAuthentication::None);
    }
    // Without a list, the method is the basic one (Discovery, 3).
    if methods.is_none() || offers("client_secret_basic") {
        return Ok(ClientAuthentication::Basic);
    }
    if offers("client_secret_post") {
        return Ok(ClientAuthentication::Post);
    }
    let what = "a client secret at the token endpoint (client_secret_basic, client_secret_post)";
    Err(OpenIdError::Unsupported { what, offered: listed(methods.unwrap_or_default()) })
}

fn listed(offered: &[String]) -> String {
    let words: Vec<String> = offered.iter().take(16).map(|word| shortened(word)).collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}

fn parsed(what: &'static str, text: &str) -> Result<OutboundUrl, OpenIdError> {
    OutboundUrl::parse(text).map_err(|source| OpenIdError::Request { what, source })
}

/// Asks for a JSON document, as whom a token shows where there is one.
///
/// # Errors
/// [`OpenIdError::Request`], [`OpenIdError::Document`].
pub(super) async fn get<T: DeserializeOwned>(
    client: &OutboundClient,
    what: &'static str,
    url: OutboundUrl,
    authorization: Option<HeaderValue>,
) -> Result<T, OpenIdError> {
    let mut request = OutboundRequest::get(url)
        .with_header(header::ACCEPT, HeaderValue::from_static("application/json"))
        .with_response_bytes_max(DOCUMENT_BYTES_MAX);
    if let Some(authorization) = authorization {
        request = request.with_header(header::AUTHORIZATION, authorization);
    }
    let response = client.send(request).await.and_then(OutboundResponse::success);
    let response = response.map_err(|source| OpenIdError::Request { what, source })?;
    decode(what, &response)
}

/// Reads a JSON document.
///
/// # Errors
/// [`OpenIdError::Document`].
pub(super) fn decode<T: DeserializeOwned>(what: &'static str, response: &OutboundResponse) -> Result<T, OpenIdError> {
    serde_json::from_slice(&response.body).map_err(|cause| {
        let kind = text(&response.headers, &header::CONTENT_TYPE);
        let reason =
            format!("expected a JSON object, got {} bytes of {kind:?}: {}", response.body.len(), position(&cause));
        OpenIdError::Document { what, reason }
    })
}

/// What is wrong, without the document's own text, which may hold tokens.
fn position(cause: &serde_json::Error) -> String {
    let missing = cause.to_string();
    if missing.starts_with("missing field") {
        return missing;
    }
    format!("{:?} error at line {} column {}", cause.classify(), cause.line(), cause.column())
}

fn text(headers: &HeaderMap, name: &HeaderName) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).map(shortened).unwrap_or_default()
}
