//! The token endpoint's rules: codes and refresh tokens for access tokens (RFC 6749, 4.1.3 and 6).
//!
//! A code that comes a second time ends the grant that it was for, with its tokens (RFC 6749, 4.1.2). A refresh token that is not its
//! family's newest ends the family alike: client or thief has an old one, and which of them can't be known (RFC 9700, 4.14.2).

use subtle::ConstantTimeEq as _;

use super::{
    OAuth, OAuthClient, OAuthError, OAuthErrorCode, Parameters, ending,
    grant::{self, ACCESS_MS, Grant, GrantState, REFRESH_MS, RefreshHashes},
    pkce,
    registration::read_scopes,
};
use crate::platform::{
    records::{Owner, SortKey, Stored, Unit},
    scope::ScopeSet,
    token::{Token, TokenKind, family_of},
};

/// A successful answer of the token endpoint (RFC 6749, 5.1).
#[expect(missing_debug_implementations, reason = "it holds secrets")]
pub struct TokenResponse {
    /// The access token, of the type `Bearer`.
    pub access_token: Token,
    /// Life of the access token, in seconds.
    pub expires_in_secs: u64,
    /// The refresh token, when the client gets any.
    pub refresh_token: Option<Token>,
    /// What the access token permits now.
    pub scopes: ScopeSet,
}

fn invalid_grant(message: &str) -> OAuthError {
    OAuthError::new(OAuthErrorCode::InvalidGrant, message)
}

/// What a unit of work came to: an error that follows from what it wrote is not the unit's own.
type Outcome = Result<TokenResponse, OAuthError>;

impl OAuth<'_> {
    /// Answers a request for tokens of a client that has authenticated itself.
    ///
    /// # Errors
    /// [`OAuthError`] of RFC 6749, 5.2.
    pub fn token(&self, client: &Stored<OAuthClient>, parameters: &Parameters) -> Result<TokenResponse, OAuthError> {
        match parameters.require("grant_type")? {
            "authorization_code" => self.exchange_code(client, parameters),
            "refresh_token" => self.refresh(client, parameters),
            other => {
                let shown: String = other.chars().take(80).collect();
                let message = format!("grant_type: expected authorization_code or refresh_token, got {shown}");
                Err(OAuthError::new(OAuthErrorCode::UnsupportedGrantType, message))
            }
        }
    }

    fn exchange_code(&self, client: &Stored<OAuthClient>, parameters: &Parameters) -> Outcome {
        let (code, sent_uri) = (parameters.require("code")?, parameters.get("redirect_uri")?);
        let verifier = parameters.get("code_verifier")?;
        let unknown = || invalid_grant("the code is unknown, used, expired, or another client's");
        if !TokenKind::Code.is_well_formed(code) {
            return Err(unknown());
        }
        let hash = self.context.secret.hash(code.as_bytes());
        self.context.records.unit(|unit| {
            let found = unit.of::<Grant>().find(&Grant::BY_CODE, &Owner::Service, &SortKey::new().bytes(&hash))?;
            let found = found.filter(|found| bool::from(found.value.code_hash.ct_eq(&hash)));
            let grant = found.filter(|found| found.value.client == client.id()).ok_or_else(unknown)?;
            let GrantState::Code { redirect_uri, challenge } = &grant.value.state else {
                ending::end(unit, &grant)?;
                return Ok(Err(invalid_grant("the code was used before: the tokens that it gave are revoked")));
            };
            if unit.now_ms() >= grant.value.expires_at_ms {
                return Err(unknown());
            }
            if redirect_uri.as_deref() != sent_uri {
                return Err(invalid_grant("redirect_uri is not that of the authorization request"));
            }
            pkce::verify(challenge.as_deref(), verifier)?;
            let refresh = client.value.refreshes.then(|| Token::draw(&*self.context.entropy, TokenKind::Refresh));
            self.answer(unit, grant, refresh.transpose()?, None)
        })?
    }

    fn refresh(&self, client: &Stored<OAuthClient>, parameters: &Parameters) -> Outcome {
        let presented = parameters.require("refresh_token")?;
        let unknown = || invalid_grant("the refresh token is unknown, expired, revoked, or another client's");
        let narrowed = parameters.get("scope")?.map(|text| {
            read_scopes(text).ok_or_else(|| OAuthError::new(OAuthErrorCode::InvalidScope, "scope: unknown scopes"))
        });
        let narrowed = narrowed.transpose()?;
        let family = family_of(presented).ok_or_else(unknown)?;
        let (family_hash, hash) = (self.hash_of_family(family), self.context.secret.hash(presented.as_bytes()));
        self.context.records.unit(|unit| {
            let group = SortKey::new().bytes(&family_hash);
            let found = unit.of::<Grant>().find(&Grant::BY_FAMILY, &Owner::Service, &group)?;
            let grant = found.filter(|found| found.value.client == client.id()).ok_or_else(unknown)?;
            let GrantState::Tokens { refresh: Some(newest) } = &grant.value.state else { return Err(unknown()) };
            if unit.now_ms() >= grant.value.expires_at_ms {
                return Err(unknown());
            }
            if !bool::from(newest.token.ct_eq(&hash)) {
                ending::end(unit, &grant)?;
                return Ok(Err(invalid_grant(
                    "the refresh token was used before: all tokens of its grant are revoked",
                )));
            }
            let next = Token::draw_next(&*self.context.entropy, family)?;
            self.answer(unit, grant, Some(next), narrowed)
        })?
    }

    /// Keeps the hash of the next refresh token, and draws an access token.
    fn answer(
        &self,
        unit: &mut Unit<'_>,
        mut grant: Stored<Grant>,
        refresh: Option<Token>,
        narrowed: Option<ScopeSet>,
    ) -> Result<Outcome, OAuthError> {
        let scopes = narrowed.unwrap_or_else(|| grant.value.scopes.clone());
        if let [beyond, ..] = scopes.beyond(&grant.value.scopes)[..] {
            let message = format!("the scope {} was not granted", beyond.name());
            return Err(OAuthError::new(OAuthErrorCode::InvalidScope, message));
        }
        let present = grant::present_scopes(self.context, &grant, &scopes, unit.now_ms())?;
        let gone = || invalid_grant("the user is no longer a member of the workspace, or may do none of this there");
        let present = present.filter(|present| !present.is_empty()).ok_or_else(gone)?;
        let hashes = refresh.as_ref().map(|token| RefreshHashes {
            family: self.hash_of_family(family_of(token.text()).unwrap_or_default()),
            token: self.context.secret.hash(token.text().as_bytes()),
        });
        let life_ms = if hashes.is_some() { REFRESH_MS } else { ACCESS_MS };
        grant.value.expires_at_ms = unit.now_ms().saturating_add(life_ms);
        grant.value.state = GrantState::Tokens { refresh: hashes };
        let grant = unit.replace(&grant)?;
        let access_token = grant::issue(self.context, unit, &grant, scopes)?;
        let expires_in_secs = ACCESS_MS / 1000;
        Ok(Ok(TokenResponse { access_token, expires_in_secs, refresh_token: refresh, scopes: present }))
    }

    /// Returns the keyed hash under which a family of refresh tokens is found.
    pub(super) fn hash_of_family(&self, family: &str) -> [u8; 32] {
        self.context.secret.hash(format!("family\0{family}").as_bytes())
    }
}
