//! Registration of clients (RFC 7591), and their removal.

use serde_json::{Map, Value, json};

use super::{OAuth, OAuthClient, OAuthError, OAuthErrorCode, deleted_client, redirect_uri, scope_text};
use crate::platform::{
    PlatformError,
    context::audit,
    principal::Principal,
    records::{Index, SortKey, Stored, Unit},
    scope::{Scope, ScopeSet},
    token::{Token, TokenKind},
};

/// Clients of a workspace.
const CLIENTS_MAX: u64 = 50;
/// Redirect URIs of a client.
const REDIRECT_URIS_MAX: usize = 10;
/// Characters of a client's name.
const NAME_MAX: usize = 100;

/// A client that is to be registered: the metadata of RFC 7591, 2 that this server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRegistration {
    /// `client_name`: name that users are shown.
    pub name: String,
    /// `redirect_uris`.
    pub redirect_uris: Vec<String>,
    /// `scope`; those of the registrant when it is left out.
    pub scopes: Option<ScopeSet>,
    /// Whether `token_endpoint_auth_method` is `none`.
    pub is_public: bool,
    /// Whether `grant_types` has `refresh_token`; it has when it is left out.
    pub refreshes: bool,
}

impl ClientRegistration {
    /// Reads client metadata. What is unknown is ignored (RFC 7591, 2).
    ///
    /// # Errors
    /// `invalid_redirect_uri`, `invalid_client_metadata`.
    pub fn read(metadata: &Value) -> Result<Self, OAuthError> {
        let metadata = metadata.as_object().ok_or_else(|| invalid("expected a JSON object with client metadata"))?;
        let name = metadata.get("client_name").and_then(Value::as_str).map(str::trim).unwrap_or_default();
        if name.is_empty() || name.chars().count() > NAME_MAX || name.chars().any(char::is_control) {
            return Err(invalid(format!("client_name: expected a text of 1 to {NAME_MAX} characters")));
        }
        let method = metadata.get("token_endpoint_auth_method").map_or(Some("client_secret_basic"), Value::as_str);
        let is_public = match method {
            Some("none") => true,
            Some("client_secret_basic" | "client_secret_post") => false,
            _ => {
                let expected = "one of none, client_secret_basic, client_secret_post";
                return Err(invalid(format!("token_endpoint_auth_method: expected {expected}")));
            }
        };
        texts(metadata, "response_types", &["code"])?;
        let grants = texts(metadata, "grant_types", &["authorization_code", "refresh_token"])?;
        if grants.as_ref().is_some_and(|grants| !grants.iter().any(|grant| grant == "authorization_code")) {
            return Err(invalid("grant_types: expected authorization_code in it"));
        }
        let refreshes = grants.is_none_or(|grants| grants.iter().any(|grant| grant == "refresh_token"));
        let scopes = metadata.get("scope").map(|scope| scope.as_str().and_then(read_scopes)).map(|scopes| {
            let names = Scope::ALL.map(Scope::name).join(", ");
            scopes.ok_or_else(|| invalid(format!("scope: expected names with spaces between them, of {names}")))
        });
        Ok(Self {
            name: name.to_owned(),
            redirect_uris: read_redirect_uris(metadata, is_public)?,
            scopes: scopes.transpose()?,
            is_public,
            refreshes,
        })
    }
}

/// Reads scopes; `None` when one is unknown or there is none.
pub(super) fn read_scopes(text: &str) -> Option<ScopeSet> {
    let scopes: Option<ScopeSet> = text.split(' ').filter(|name| !name.is_empty()).map(Scope::from_name).collect();
    scopes.filter(|scopes| !scopes.is_empty())
}

fn invalid(message: impl AsRef<str>) -> OAuthError {
    OAuthError::new(OAuthErrorCode::InvalidClientMetadata, message)
}

/// Reads an optional array of some of `known`.
fn texts(metadata: &Map<String, Value>, name: &str, known: &[&str]) -> Result<Option<Vec<String>>, OAuthError> {
    let Some(value) = metadata.get(name) else { return Ok(None) };
    let read = |value: &Value| value.as_str().filter(|text| known.contains(text)).map(str::to_owned);
    let texts: Option<Vec<String>> = value.as_array().and_then(|values| values.iter().map(read).collect());
    match texts {
        Some(texts) if !texts.is_empty() => Ok(Some(texts)),
        _ => Err(invalid(format!("{name}: expected an array of {}", known.join(", ")))),
    }
}

fn read_redirect_uris(metadata: &Map<String, Value>, is_public: bool) -> Result<Vec<String>, OAuthError> {
    let refuse = |message: String| OAuthError::new(OAuthErrorCode::InvalidRedirectUri, message);
    let uris: Option<Vec<String>> = metadata
        .get("redirect_uris")
        .and_then(Value::as_array)
        .and_then(|uris| uris.iter().map(|uri| uri.as_str().map(str::to_owned)).collect());
    let uris = uris.filter(|uris| (1..=REDIRECT_URIS_MAX).contains(&uris.len()));
    let uris = uris.ok_or_else(|| refuse(format!("redirect_uris: expected 1 to {REDIRECT_URIS_MAX} URIs")))?;
    uris.iter().try_for_each(|uri| redirect_uri::check(uri, is_public)).map_err(refuse)?;
    Ok(uris)
}

impl OAuth<'_> {
    /// Registers a client in the workspace that a principal acts in, and returns it with its secret, which can't be read again.
    ///
    /// # Errors
    /// [`PlatformError::MissingScope`] without `workspace:write`, [`PlatformError::Forbidden`] for scopes that the principal lacks,
    /// [`PlatformError::Conflict`] when the workspace has too many clients.
    pub fn register(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        registration: ClientRegistration,
    ) -> Result<(Stored<OAuthClient>, Option<Token>), PlatformError> {
        principal.require(Scope::WorkspaceWrite)?;
        let scopes = registration.scopes.unwrap_or_else(|| principal.scopes().clone());
        if let [beyond, ..] = scopes.beyond(principal.scopes())[..] {
            let message = format!("a client has at most its registrant's scopes, without {}", beyond.name());
            return Err(PlatformError::Forbidden { message });
        }
        let (context, owner) = (self.context, principal.owner());
        let has = unit.of::<OAuthClient>().count(&Index::CREATED, &owner, &SortKey::new())?;
        let max = context.plan(unit, &owner)?.oauth_clients_max.min(CLIENTS_MAX);
        if has >= max {
            let message = format!("the workspace has {max} OAuth clients, the most that it may have: delete one first");
            return Err(PlatformError::Conflict { message });
        }
        let secret = (!registration.is_public).then(|| Token::draw(&*context.entropy, TokenKind::ClientSecret));
        let secret = secret.transpose()?;
        let client = OAuthClient {
            name: registration.name,
            redirect_uris: registration.redirect_uris,
            scopes,
            refreshes: registration.refreshes,
            created_by: principal.subject().clone(),
            secret_hash: secret.as_ref().map(|secret| context.secret.hash(secret.text().as_bytes())),
        };
        let id = context.id("cli")?;
        let stored = unit.insert(&owner, &id, client)?;
        audit(unit, principal, "oauth-client.register", format!("oauth-client {id}"))?;
        Ok((stored, secret))
    }

    /// Deletes a client. Its codes and tokens end at once, and so do API keys that its tokens have made: they count as revoked from then on.
    ///
    /// # Errors
    /// [`PlatformError::MissingScope`] without `workspace:write`, [`PlatformError::NotFound`].
    pub fn delete_client(&self, unit: &mut Unit<'_>, principal: &Principal, id: &str) -> Result<(), PlatformError> {
        principal.require(Scope::WorkspaceWrite)?;
        let client = unit.of::<OAuthClient>().require(&principal.owner(), id)?;
        // Its grants lie with their workspaces; without a client none of them, and no key made under one, is valid. Grants expire there.
        unit.delete(&client)?;
        deleted_client::begin(unit, id)?;
        audit(unit, principal, "oauth-client.delete", format!("oauth-client {id}"))
    }
}

impl OAuthClient {
    /// Returns the client information response of RFC 7591, 3.2.1. It has the secret of a new client.
    pub fn information(client: &Stored<Self>, secret: Option<&Token>) -> Value {
        let OAuthClient { name, redirect_uris, scopes, refreshes, .. } = &client.value;
        let grants: &[&str] =
            if *refreshes { &["authorization_code", "refresh_token"] } else { &["authorization_code"] };
        let method = if client.value.is_public() { "none" } else { "client_secret_basic" };
        let mut response = json!({
            "client_id": client.id(),
            "client_id_issued_at": client.created_at_ms() / 1000,
            "client_name": name,
            "redirect_uris": redirect_uris,
            "scope": scope_text(scopes),
            "grant_types": grants,
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
        });
        if let Some(secret) = secret {
            response["client_secret"] = secret.text().into();
            response["client_secret_expires_at"] = 0.into();
        }
        response
    }
}
