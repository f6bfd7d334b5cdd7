//! Records of users, workspaces, members and invitations.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::platform::{
    PlatformError,
    plan::Plans,
    principal::Subject,
    records::{Index, Reach, Record, SortKey},
    scope::Role,
};

/// Characters of an address of e-mail (RFC 5321, 4.5.3.1.3).
const EMAIL_LEN_MAX: usize = 254;

/// A user of the service; its owner is the service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Address of e-mail, in lower case.
    pub email: String,
}

impl User {
    pub(super) const BY_EMAIL: Index<Self> =
        Index::unique("email", Reach::Service, |user| Some(SortKey::new().text(&user.value.email)));

    /// Creates a user with an address of e-mail.
    ///
    /// # Errors
    /// [`PlatformError::Validation`].
    pub fn new(email: &str) -> Result<Self, PlatformError> {
        normalised_email(email).map(|email| Self { email })
    }
}

impl Record for User {
    const KIND: &'static str = "user";
    const INDICES: &'static [Index<Self>] = &[Self::BY_EMAIL];
}

/// Returns an address of e-mail in lower case. That it exists is shown by what is sent to it; here it has one `@` between two parts
/// without spaces and control characters.
pub(super) fn normalised_email(email: &str) -> Result<String, PlatformError> {
    let is_part =
        |part: &str| !part.is_empty() && !part.chars().any(|c| c.is_whitespace() || c.is_control() || c == '@');
    let is_email = email.len() <= EMAIL_LEN_MAX
        && email.split_once('@').is_some_and(|(name, host)| is_part(name) && is_part(host));
    if is_email {
        return Ok(email.to_lowercase());
    }
    let shown: String = email.chars().take(80).collect();
    Err(PlatformError::field("email", "an address of e-mail of at most 254 characters", shown))
}

/// A workspace; it is its own owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// Name of the workspace.
    pub name: String,
    /// Description; may be empty.
    pub description: String,
    /// Network that requests without one mean.
    pub default_network: Option<String>,
    /// Name of its plan.
    pub billing_plan: String,
    /// Who created it.
    pub created_by: Subject,
}

impl Workspace {
    /// Workspaces by who created them.
    pub(super) const BY_CREATOR: Index<Self> = Index::ordered(
        "creator",
        Reach::Service,
        |workspace| Some(SortKey::new().text(&workspace.value.created_by.to_string())),
        |workspace| SortKey::new().number(workspace.created_at_ms()),
    );

    /// Creates a workspace with a name, on the default plan.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: String::new(),
            default_network: None,
            billing_plan: Plans::DEFAULT.to_owned(),
            created_by: Subject::Service,
        }
    }
}

impl Record for Workspace {
    const KIND: &'static str = "workspace";
    const INDICES: &'static [Index<Self>] = &[Self::BY_CREATOR];
}

/// A member of a workspace; its id is the user's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Role in the workspace.
    pub role: Role,
}

impl Member {
    /// Members of a workspace by role, so that its last owner is known.
    pub(super) const BY_ROLE: Index<Self> = Index::ordered(
        "role",
        Reach::Owner,
        |member| Some(Self::with_role(member.value.role)),
        |member| SortKey::new().number(member.created_at_ms()),
    );
    /// A user's memberships in all workspaces.
    pub const BY_USER: Index<Self> = Index::ordered(
        "user",
        Reach::Service,
        |member| Some(SortKey::new().text(member.id())),
        |member| SortKey::new().number(member.created_at_ms()),
    );

    pub(super) fn with_role(role: Role) -> SortKey {
        SortKey::new().text(role.name())
    }
}

impl Record for Member {
    const KIND: &'static str = "member";
    const INDICES: &'static [Index<Self>] = &[Self::BY_ROLE, Self::BY_USER];
}

/// An invitation to a workspace that was neither accepted nor withdrawn.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// Address of e-mail that it was sent to, in lower case.
    pub email: String,
    /// Role that the new member gets.
    pub role: Role,
    /// Keyed hash of its token.
    pub(super) token_hash: [u8; 32],
    /// Time from which it can't be accepted, in milliseconds since the Unix epoch.
    pub expires_at_ms: u64,
}

impl Invitation {
    pub(super) const BY_EMAIL: Index<Self> =
        Index::unique("email", Reach::Owner, |invitation| Some(SortKey::new().text(&invitation.value.email)));
    pub(super) const BY_TOKEN: Index<Self> =
        Index::unique("token", Reach::Service, |invitation| Some(SortKey::new().bytes(&invitation.value.token_hash)));
}

impl Record for Invitation {
    const KIND: &'static str = "invitation";
    const INDICES: &'static [Index<Self>] = &[Self::BY_EMAIL, Self::BY_TOKEN];
}

/// Leaves the hash out.
impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invitation").field("email", &self.email).field("role", &self.role).finish_non_exhaustive()
    }
}
