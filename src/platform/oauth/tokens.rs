//! Tokens in use: authentication, introspection (RFC 7662), revocation (RFC 7009).

use subtle::ConstantTimeEq as _;

use super::{
    AccessToken, Grant, OAuth, OAuthClient, ending,
    grant::{self, GrantState},
};
use crate::platform::{
    PlatformError,
    principal::{Principal, Subject},
    records::{Owner, SortKey, Stored, WorkspaceId},
    scope::ScopeSet,
    token::{TokenKind, family_of},
    workspace::User,
};

/// What introspection tells of a token that is valid (RFC 7662, 2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Introspection {
    /// What it permits now.
    pub scopes: ScopeSet,
    /// Id of the client.
    pub client: String,
    /// Id of the user.
    pub user: String,
    /// Address of e-mail of the user.
    pub email: String,
    /// Workspace that it acts in.
    pub workspace: WorkspaceId,
    /// Time of its issue, in milliseconds since the Unix epoch.
    pub issued_at_ms: u64,
    /// Time from which it is not valid, in milliseconds since the Unix epoch.
    pub expires_at_ms: u64,
    /// Whether it is an access token; else it is a refresh token.
    pub is_access_token: bool,
}

/// A token that is valid, as far as its records say.
enum Found {
    Access(Stored<AccessToken>, Stored<Grant>),
    Refresh(Stored<Grant>),
}

impl Found {
    const fn grant(&self) -> &Stored<Grant> {
        match self {
            Self::Access(_, grant) | Self::Refresh(grant) => grant,
        }
    }
}

impl OAuth<'_> {
    /// Returns the principal of an access token, which reaches no further than its grant; `None` for one that is unknown, revoked or expired, or whose user is no member of the
    /// workspace any more.
    ///
    /// The token is found by its keyed hash, which tells nobody without the secret anything, and compared in constant time.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn authenticate(&self, token: &str) -> Result<Option<Principal>, PlatformError> {
        let Some((token, grant)) = self.find_access(token)? else { return Ok(None) };
        let Some(workspace) = grant.owner().workspace().cloned() else { return Ok(None) };
        let now_ms = self.context.records.clock().now_ms();
        let scopes = grant::present_scopes(self.context, &grant, &token.value.scopes, now_ms)?;
        let id = grant.id().to_owned();
        Ok(scopes.map(|scopes| Principal::new(Subject::User(grant.value.user), workspace, scopes).under_grant(id)))
    }

    /// Returns whose an access token is, or was before its client was deleted or its user left: a principal that may do nothing. `None` for
    /// one that is unknown or expired, or whose grant is gone, unless its own sender has ended that by leaving or deleting the workspace.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn identify(&self, token: &str) -> Result<Option<Principal>, PlatformError> {
        let (owner, user, grant) = match self.find_access(token)? {
            Some((_, grant)) => (grant.owner().clone(), grant.value.user.clone(), grant.id().to_owned()),
            None => match self.find_ended(token)? {
                Some(ended) => (ended.owner().clone(), ended.value.user.clone(), ended.value.grant.clone()),
                None => return Ok(None),
            },
        };
        let Some(workspace) = owner.workspace().cloned() else { return Ok(None) };
        Ok(Some(Principal::new(Subject::User(user), workspace, ScopeSet::default()).under_grant(grant)))
    }

    /// Returns what a client may know of a token: `None` for one that is not valid, and for every token of another client.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn introspect(
        &self,
        client: &Stored<OAuthClient>,
        token: &str,
    ) -> Result<Option<Introspection>, PlatformError> {
        let Some(found) = self.find(token)?.filter(|found| found.grant().value.client == client.id()) else {
            return Ok(None);
        };
        let grant = found.grant();
        let (scopes, issued_at_ms, expires_at_ms) = match &found {
            Found::Access(token, _) => (&token.value.scopes, token.created_at_ms(), token.value.expires_at_ms),
            Found::Refresh(grant) => (&grant.value.scopes, grant.updated_at_ms(), grant.value.expires_at_ms),
        };
        let records = &self.context.records;
        let present = grant::present_scopes(self.context, grant, scopes, records.clock().now_ms())?;
        let (Some(scopes), Some(workspace)) = (present, grant.owner().workspace().cloned()) else { return Ok(None) };
        let Some(user) = records.of::<User>().get(&Owner::Service, &grant.value.user)? else { return Ok(None) };
        Ok(Some(Introspection {
            scopes,
            client: grant.value.client.clone(),
            user: grant.value.user.clone(),
            email: user.value.email,
            workspace,
            issued_at_ms,
            expires_at_ms,
            is_access_token: matches!(found, Found::Access(..)),
        }))
    }

    /// Revokes a token of a client: an access token alone, a refresh token with its whole grant (RFC 7009, 2.1) and the API keys that were made
    /// under it. A token that is not valid,
    /// or another client's, changes nothing and is no error (RFC 7009, 2.2).
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn revoke(&self, client: &Stored<OAuthClient>, token: &str) -> Result<(), PlatformError> {
        match self.find(token)?.filter(|found| found.grant().value.client == client.id()) {
            None => Ok(()),
            Some(Found::Access(token, _)) => self.context.records.unit(|unit| {
                let present = unit.of::<AccessToken>().get(token.owner(), token.id())?;
                Ok(present.map_or(Ok(()), |present| unit.delete(&present))?)
            }),
            Some(Found::Refresh(grant)) => self.context.records.unit(|unit| {
                let present = unit.of::<Grant>().get(grant.owner(), grant.id())?;
                Ok(present.map_or(Ok(()), |present| ending::end(unit, &present))?)
            }),
        }
    }

    fn find(&self, token: &str) -> Result<Option<Found>, PlatformError> {
        if let Some((token, grant)) = self.find_access(token)? {
            return Ok(Some(Found::Access(token, grant)));
        }
        Ok(self.find_refresh(token)?.map(Found::Refresh))
    }

    fn find_access(&self, token: &str) -> Result<Option<(Stored<AccessToken>, Stored<Grant>)>, PlatformError> {
        if !TokenKind::Access.is_well_formed(token) {
            return Ok(None);
        }
        let (records, hash) = (&self.context.records, self.context.secret.hash(token.as_bytes()));
        let group = SortKey::new().bytes(&hash);
        let found = records.of::<AccessToken>().find(&AccessToken::BY_HASH, &Owner::Service, &group)?;
        let now_ms = records.clock().now_ms();
        let found = found.filter(|found| bool::from(found.value.hash.ct_eq(&hash)));
        let Some(token) = found.filter(|found| now_ms < found.value.expires_at_ms) else { return Ok(None) };
        let grant = records.of::<Grant>().get(token.owner(), &token.value.grant)?;
        Ok(grant.map(|grant| (token, grant)))
    }

    fn find_refresh(&self, token: &str) -> Result<Option<Stored<Grant>>, PlatformError> {
        let Some(family) = family_of(token) else { return Ok(None) };
        let (records, hash) = (&self.context.records, self.context.secret.hash(token.as_bytes()));
        let group = SortKey::new().bytes(&self.hash_of_family(family));
        let found = records.of::<Grant>().find(&Grant::BY_FAMILY, &Owner::Service, &group)?;
        let now_ms = records.clock().now_ms();
        Ok(found.filter(|grant| {
            let GrantState::Tokens { refresh: Some(newest) } = &grant.value.state else { return false };
            bool::from(newest.token.ct_eq(&hash)) && now_ms < grant.value.expires_at_ms
        }))
    }
}
