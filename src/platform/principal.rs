//! Who acts: the subject of a request, the workspace that it acts in, and what it may do there.

use core::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{
    PlatformError, default_workspace,
    records::{Accepted, Owner, Sender, WorkspaceId},
    scope::{Scope, ScopeSet},
};

/// Who sends a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Subject {
    /// The service itself, as when the development node makes its first key.
    Service,
    /// The user with this id.
    User(String),
    /// The API key with this id.
    ApiKey(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service => f.write_str("service"),
            Self::User(id) => write!(f, "user:{id}"),
            Self::ApiKey(id) => write!(f, "key:{id}"),
        }
    }
}

impl Subject {
    /// Reads the text of a subject.
    pub fn from_text(text: &str) -> Option<Self> {
        match text.split_once(':') {
            Some(("user", id)) => Some(Self::User(id.to_owned())),
            Some(("key", id)) => Some(Self::ApiKey(id.to_owned())),
            _ => (text == "service").then_some(Self::Service),
        }
    }
}

/// The authenticated sender of a request in one workspace. Whatever it looks up is looked up in that workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    subject: Subject,
    /// Workspace of its credentials.
    home: WorkspaceId,
    workspace: WorkspaceId,
    scopes: ScopeSet,
    /// Id of the OAuth grant that its credentials are of: they then reach no further than the grant.
    grant: Option<String>,
    /// Address that its request came from.
    client: Option<IpAddr>,
}

impl Principal {
    /// Creates a principal. `scopes` are those of its credentials, already capped by its role.
    pub fn new(subject: Subject, workspace: WorkspaceId, scopes: ScopeSet) -> Self {
        Self { subject, home: workspace.clone(), workspace, scopes, grant: None, client: None }
    }

    /// Returns the sender of a request that was accepted, with what it was permitted then; `None` for one that this build can't read.
    pub fn of_accepted(accepted: &Accepted) -> Option<Self> {
        let stored = accepted.request();
        let subject = Subject::from_text(&stored.value.subject)?;
        let owner = stored.owner().workspace()?;
        let workspace = stored.value.workspace.as_ref().unwrap_or(owner).clone();
        let home = stored.value.home.as_ref().unwrap_or(owner).clone();
        let (scopes, grant) = (stored.value.scopes.clone(), stored.value.grant.clone());
        Some(Self { subject, home, workspace, scopes, grant, client: None })
    }

    /// Returns what is kept of it with a request that is accepted.
    pub(super) fn sender(&self) -> Sender {
        Sender {
            subject: self.subject.to_string(),
            scopes: self.scopes.clone(),
            home: Some(self.home.clone()),
            grant: self.grant.clone(),
            workspace: Some(self.workspace.clone()),
        }
    }

    /// Confines it to what an OAuth grant reaches: the workspace that the user chose, and those that were made under the grant.
    #[must_use]
    pub(super) fn under_grant(self, grant: String) -> Self {
        Self { grant: Some(grant), ..self }
    }

    /// Id of the OAuth grant that its credentials are of, if they are of one.
    pub(super) fn grant(&self) -> Option<&str> {
        self.grant.as_deref()
    }

    /// Adds the address that its request came from, for the audit log.
    #[must_use]
    pub fn with_client(self, client: Option<IpAddr>) -> Self {
        Self { client, ..self }
    }

    /// The address that its request came from, where that is known.
    pub const fn client(&self) -> Option<IpAddr> {
        self.client
    }

    /// Returns the same sender in another workspace, with what it may do there.
    pub(super) fn in_workspace(&self, workspace: WorkspaceId, scopes: ScopeSet) -> Self {
        Self { workspace, scopes, ..self.clone() }
    }

    /// The workspace of its credentials as the owner of records: where its API key is, and what it sends under idempotency keys.
    pub(super) fn home(&self) -> Owner {
        Owner::from(&self.home)
    }

    /// Returns whether it operates the service: its credentials are of the default workspace, and permit everything there.
    pub fn is_operator(&self) -> bool {
        self.home == default_workspace() && self.may(Scope::Admin)
    }

    /// Who it is.
    pub const fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The workspace that it acts in.
    pub const fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    /// The workspace as the owner of records.
    pub fn owner(&self) -> Owner {
        Owner::from(&self.workspace)
    }

    /// What it may do.
    pub const fn scopes(&self) -> &ScopeSet {
        &self.scopes
    }

    /// Returns whether it may do what needs `scope`.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.allows(scope)
    }

    /// Checks that it may do what needs `scope`.
    ///
    /// # Errors
    /// [`PlatformError::MissingScope`].
    pub fn require(&self, scope: Scope) -> Result<(), PlatformError> {
        if self.may(scope) { Ok(()) } else { Err(PlatformError::MissingScope { scope }) }
    }
}
