//! Authorization requests (RFC 6749, 4.1.1), and their responses.
//!
//! A refusal says by its type where it goes: a request whose client or redirect URI is not known to be right is shown on a page and never
//! redirects (RFC 6749, 4.1.2.1); every other error is for the client.

use super::{
    OAuth, OAuthClient, OAuthError, OAuthErrorCode, Parameters,
    grant::{self, CODE_MS, Grant, GrantState},
    pkce, redirect_uri,
    registration::read_scopes,
};
use crate::platform::{
    PlatformError, PublicUrl,
    context::audit,
    principal::{Principal, Subject},
    records::{Owner, Stored, WorkspaceId},
    scope::ScopeSet,
    token::{Token, TokenKind},
    workspace::Member,
};

/// Parameters of an authorization request that are read.
const PARAMETERS: [&str; 7] =
    ["client_id", "redirect_uri", "response_type", "scope", "state", "code_challenge", "code_challenge_method"];

/// An authorization request whose parameters are right.
#[derive(Clone, Debug)]
pub struct AuthorizationRequest {
    client: Stored<OAuthClient>,
    redirect_uri: String,
    /// Whether the request named it; else it is the client's only one.
    has_redirect_uri: bool,
    state: Option<String>,
    scopes: ScopeSet,
    challenge: Option<String>,
}

impl AuthorizationRequest {
    /// The client that asks.
    pub const fn client(&self) -> &Stored<OAuthClient> {
        &self.client
    }

    /// What it asks for.
    pub const fn scopes(&self) -> &ScopeSet {
        &self.scopes
    }

    /// Where the user is sent back to.
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Returns what the consent of a user in a role gives at most.
    pub fn scopes_for(&self, role: crate::platform::Role) -> ScopeSet {
        self.scopes.capped_by(&role.cap())
    }

    /// Returns the response to a refusal, for the client.
    pub fn refused(&self, error: &OAuthError, issuer: &PublicUrl) -> String {
        let (code, description) = (error.code.name(), error.description.as_str());
        self.response(&[("error", code), ("error_description", description)], issuer)
    }

    /// Returns the response when the user refuses (RFC 6749, 4.1.2.1, `access_denied`).
    pub fn denied(&self, issuer: &PublicUrl) -> String {
        self.refused(&OAuthError::new(OAuthErrorCode::AccessDenied, "the user refused"), issuer)
    }

    fn response(&self, parameters: &[(&str, &str)], issuer: &PublicUrl) -> String {
        response(&self.redirect_uri, parameters, self.state.as_deref(), issuer)
    }
}

/// Returns a redirect URI with parameters, `state` and `iss` (RFC 9207, 2).
fn response(uri: &str, parameters: &[(&str, &str)], state: Option<&str>, issuer: &PublicUrl) -> String {
    let echoed = state.map(|state| ("state", state));
    let all: Vec<_> = parameters.iter().copied().chain(echoed).chain([("iss", issuer.as_str())]).collect();
    redirect_uri::with_parameters(uri, &all)
}

/// The redirect of a user who has consented.
#[expect(missing_debug_implementations, reason = "it holds the code")]
pub struct Authorized {
    /// The redirect URI with code, state and issuer.
    pub location: String,
}

/// Why a request is answered by a page: it is not known where its error may be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShownRefusal {
    /// The parameters `client_id` or `redirect_uri` are missing or come twice.
    #[error("{message}")]
    Unreadable {
        /// What is wrong.
        message: String,
    },
    /// No client has this id.
    #[error("no application with the client_id {client_id:?} is registered here")]
    UnknownClient {
        /// Presented id, shortened.
        client_id: String,
    },
    /// The client has not registered this URI.
    #[error(
        "the application {client:?} has not registered the redirect_uri {redirect_uri:?}: it must match character by character"
    )]
    UnknownRedirectUri {
        /// Name of the client.
        client: String,
        /// Presented URI, shortened.
        redirect_uri: String,
    },
    /// The client has several redirect URIs, and the request names none.
    #[error("the parameter redirect_uri is missing: the application {client:?} has registered several")]
    MissingRedirectUri {
        /// Name of the client.
        client: String,
    },
    /// The service failed before the request was read.
    #[error(transparent)]
    Failed(#[from] PlatformError),
}

/// A refused authorization request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorizationRefusal {
    /// To be shown on a page: it must not redirect.
    Shown(ShownRefusal),
    /// To be sent to the client.
    Redirected {
        /// The redirect URI with error, description, state and issuer.
        location: String,
        /// The error.
        error: OAuthError,
    },
}

fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

impl OAuth<'_> {
    /// Reads an authorization request.
    ///
    /// # Errors
    /// [`AuthorizationRefusal`], which says whether it may be sent to the client.
    pub fn read_authorization(
        &self,
        parameters: &Parameters,
        issuer: &PublicUrl,
    ) -> Result<AuthorizationRequest, AuthorizationRefusal> {
        let (client, redirect_uri, has_redirect_uri) =
            self.read_client(parameters).map_err(AuthorizationRefusal::Shown)?;
        // A state that came twice is none.
        let state = parameters.get("state").ok().flatten().map(str::to_owned);
        match read_rest(parameters, &client) {
            Ok((scopes, challenge)) => {
                Ok(AuthorizationRequest { client, redirect_uri, has_redirect_uri, state, scopes, challenge })
            }
            Err(error) => {
                let sent = [("error", error.code.name()), ("error_description", error.description.as_str())];
                let location = response(&redirect_uri, &sent, state.as_deref(), issuer);
                Err(AuthorizationRefusal::Redirected { location, error })
            }
        }
    }

    /// Reads client and redirect URI, on which it depends where errors may go.
    fn read_client(&self, parameters: &Parameters) -> Result<(Stored<OAuthClient>, String, bool), ShownRefusal> {
        let unreadable = |error: OAuthError| ShownRefusal::Unreadable { message: error.description };
        let id = parameters.require("client_id").map_err(unreadable)?;
        let client = self.client(id)?.ok_or_else(|| ShownRefusal::UnknownClient { client_id: shortened(id) })?;
        let name = || client.value.name.clone();
        match (parameters.get("redirect_uri").map_err(unreadable)?, &client.value.redirect_uris[..]) {
            (Some(uri), _) if client.value.accepts(uri) => {
                let uri = uri.to_owned();
                Ok((client, uri, true))
            }
            (Some(uri), _) => Err(ShownRefusal::UnknownRedirectUri { client: name(), redirect_uri: shortened(uri) }),
            (None, [only]) => {
                let only = only.clone();
                Ok((client, only, false))
            }
            (None, _) => Err(ShownRefusal::MissingRedirectUri { client: name() }),
        }
    }

    /// Grants what a request asks for, as far as the user's role in a workspace permits, and returns the redirect with the code.
    ///
    /// # Errors
    /// [`AuthorizationRefusal::Redirected`]: `access_denied` when the role permits nothing of it, `server_error` when the service fails.
    /// [`AuthorizationRefusal::Shown`] with [`PlatformError::NotFound`] for a workspace that the user is no member of: the user, not the
    /// client, has chosen it.
    pub fn authorize(
        &self,
        request: &AuthorizationRequest,
        user: &str,
        workspace: &WorkspaceId,
        issuer: &PublicUrl,
    ) -> Result<Authorized, AuthorizationRefusal> {
        let redirected = |error: OAuthError| {
            let location = request.refused(&error, issuer);
            AuthorizationRefusal::Redirected { location, error }
        };
        let owner = Owner::from(workspace);
        let member = self.context.records.of::<Member>().get(&owner, user).map_err(|cause| redirected(cause.into()))?;
        let Some(member) = member else {
            let stranger = PlatformError::not_found("workspace", workspace.as_str());
            return Err(AuthorizationRefusal::Shown(stranger.into()));
        };
        let scopes = request.scopes_for(member.value.role);
        if scopes.is_empty() {
            let message =
                format!("the role {} in the workspace permits none of these scopes", member.value.role.name());
            return Err(redirected(OAuthError::new(OAuthErrorCode::AccessDenied, message)));
        }
        let code = self.insert_grant(request, user, workspace, scopes).map_err(redirected)?;
        Ok(Authorized { location: request.response(&[("code", code.text())], issuer) })
    }

    fn insert_grant(
        &self,
        request: &AuthorizationRequest,
        user: &str,
        workspace: &WorkspaceId,
        scopes: ScopeSet,
    ) -> Result<Token, OAuthError> {
        let context = self.context;
        let (code, id) = (Token::draw(&*context.entropy, TokenKind::Code)?, context.id("gnt")?);
        let state = GrantState::Code {
            redirect_uri: request.has_redirect_uri.then(|| request.redirect_uri.clone()),
            challenge: request.challenge.clone(),
        };
        let principal = Principal::new(Subject::User(user.to_owned()), workspace.clone(), scopes.clone());
        let principal = principal.with_client(self.client_address);
        context.records.unit(|unit| {
            let grant = Grant {
                client: request.client.id().to_owned(),
                user: user.to_owned(),
                scopes,
                code_hash: context.secret.hash(code.text().as_bytes()),
                state,
                expires_at_ms: unit.now_ms().saturating_add(CODE_MS),
            };
            let target = format!("oauth-client {}", grant.client);
            grant::insert(unit, &principal.owner(), &id, grant)?;
            audit(unit, &principal, "oauth.grant", target)
        })?;
        Ok(code)
    }
}

/// Reads what does not decide where errors go.
fn read_rest(parameters: &Parameters, client: &Stored<OAuthClient>) -> Result<(ScopeSet, Option<String>), OAuthError> {
    PARAMETERS.iter().try_for_each(|name| parameters.get(name).map(drop))?;
    match parameters.require("response_type")? {
        "code" => {}
        other => {
            let message = format!("response_type: expected code, got {}", shortened(other));
            return Err(OAuthError::new(OAuthErrorCode::UnsupportedResponseType, message));
        }
    }
    let scopes = match parameters.get("scope")? {
        None => client.value.scopes.clone(),
        Some(text) => read_scopes(text).ok_or_else(|| {
            let message = format!("scope: {} is not a list of scopes of this service", shortened(text));
            OAuthError::new(OAuthErrorCode::InvalidScope, message)
        })?,
    };
    if let [beyond, ..] = scopes.beyond(&client.value.scopes)[..] {
        let message = format!("the client is not registered for the scope {}", beyond.name());
        return Err(OAuthError::new(OAuthErrorCode::InvalidScope, message));
    }
    let challenge = pkce::read_challenge(parameters)?;
    if challenge.is_none() && client.value.is_public() {
        // RFC 7636, 4.4.1.
        let message = "code challenge required: a public client sends code_challenge and code_challenge_method=S256";
        return Err(OAuthError::new(OAuthErrorCode::InvalidRequest, message));
    }
    Ok((scopes, challenge))
}
