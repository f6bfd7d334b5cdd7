//! Records of users, workspaces, members and invitations.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::platform::{
    PlatformError,
    plan::Plans,
    principal::Subject,
    records::{Index, Reach, Record, SortKey, Stored, WorkspaceId},
    scope::Role,
    users::PasswordHash,
};

/// Characters of an address of e-mail (RFC 5321, 4.5.3.1.3).
const EMAIL_LEN_MAX: usize = 254;

/// Time for which an expired invitation is kept, in milliseconds: 30 days.
const EXPIRED_KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// A user of the service; its owner is the service. There is one only after it has shown that the address is its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Address of e-mail, in lower case.
    pub email: String,
    /// Hash of its password; none for a user who logs in with another provider.
    pub(in crate::platform) password: Option<PasswordHash>,
    /// The workspace that was made for it; it may have left or deleted it since.
    pub home: Option<WorkspaceId>,
}

impl User {
    pub(in crate::platform) const BY_EMAIL: Index<Self> =
        Index::unique("email", Reach::Service, |user| Some(SortKey::new().text(&user.value.email)));

    /// Creates a user with an address of e-mail, without password and workspace.
    ///
    /// # Errors
    /// [`PlatformError::Validation`].
    pub fn new(email: &str) -> Result<Self, PlatformError> {
        normalised_email(email).map(|email| Self { email, password: None, home: None })
    }

    /// Whether it can log in with a password.
    pub const fn has_password(&self) -> bool {
        self.password.is_some()
    }
}

/// The first version of [`User`], without password.
#[derive(Deserialize)]
struct UserV1 {
    email: String,
}

impl Record for User {
    const KIND: &'static str = "user";
    const VERSION: u16 = 2;
    const INDICES: &'static [Index<Self>] = &[Self::BY_EMAIL];

    fn upgrade(version: u16, bytes: &[u8]) -> Option<Self> {
        let UserV1 { email } = (version == 1).then(|| postcard::from_bytes(bytes).ok())??;
        Some(Self { email, password: None, home: None })
    }
}

/// Returns an address of e-mail in lower case. That it exists is shown by what is sent to it; here it has one `@` between two parts
/// without spaces and control characters.
pub(in crate::platform) fn normalised_email(email: &str) -> Result<String, PlatformError> {
    let is_part =
        |part: &str| !part.is_empty() && !part.chars().any(|c| c.is_whitespace() || c.is_control() || c == '@');
    let is_email = email.chars().count() <= EMAIL_LEN_MAX
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
    /// Who created it: the service for what its own keys of the default workspace did, the first of those that it follows by rotation for another
    /// API key.
    pub created_by: Subject,
    /// Id of the OAuth grant under which it was created, where it was by an access token: the grant reaches it.
    pub(in crate::platform) created_under: Option<String>,
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
            created_under: None,
        }
    }
}

impl Workspace {
    /// By name.
    pub(in crate::platform) const BY_NAME: Index<Self> = Index::ordered(
        "name",
        Reach::Owner,
        |_| Some(SortKey::new()),
        |workspace| SortKey::new().text(&workspace.value.name),
    );
}

/// The first version of [`Workspace`], without the grant.
#[derive(Deserialize)]
struct WorkspaceV1 {
    name: String,
    description: String,
    default_network: Option<String>,
    billing_plan: String,
    created_by: Subject,
}

impl Record for Workspace {
    const KIND: &'static str = "workspace";
    const VERSION: u16 = 2;
    const INDICES: &'static [Index<Self>] = &[Self::BY_CREATOR, Self::BY_NAME, Index::UPDATED];

    fn upgrade(version: u16, bytes: &[u8]) -> Option<Self> {
        let WorkspaceV1 { name, description, default_network, billing_plan, created_by } =
            (version == 1).then(|| postcard::from_bytes(bytes).ok())??;
        Some(Self { name, description, default_network, billing_plan, created_by, created_under: None })
    }
}

/// When a workspace was created, by whom and under which grant. Its members keep it, so that lists of memberships are lists of workspaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::platform) struct WorkspaceOrigin {
    created_at_ms: u64,
    created_by: Subject,
    created_under: Option<String>,
}

impl WorkspaceOrigin {
    pub(super) fn of(workspace: &Stored<Workspace>) -> Self {
        Self {
            created_at_ms: workspace.created_at_ms(),
            created_by: workspace.value.created_by.clone(),
            created_under: workspace.value.created_under.clone(),
        }
    }
}

/// A member of a workspace; its id is the user's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Role in the workspace.
    pub role: Role,
    /// The origin of the workspace.
    pub(in crate::platform) origin: WorkspaceOrigin,
}

impl Member {
    /// Members of a workspace by role, so that its last owner is known.
    pub(super) const BY_ROLE: Index<Self> = Index::ordered(
        "role",
        Reach::Owner,
        |member| Some(Self::with_role(member.value.role)),
        |member| SortKey::new().number(member.created_at_ms()),
    );
    /// A user's memberships in all workspaces, by when the workspaces were created.
    pub const BY_USER: Index<Self> =
        Index::ordered("user-origin", Reach::Service, |member| Some(Self::of_user(member.id())), by_origin);
    /// A user's memberships in the workspaces that one created under one grant or under none, by when it did.
    pub(super) const BY_CREATOR: Index<Self> = Index::ordered(
        "user-creator",
        Reach::Service,
        |member| {
            let WorkspaceOrigin { created_by, created_under, .. } = &member.value.origin;
            Some(Self::in_created_by(member.id(), created_by, created_under.as_deref()))
        },
        by_origin,
    );

    /// Members of a workspace by name: they have none of their own, their users have addresses of e-mail.
    pub(in crate::platform) const BY_NAME: Index<Self> =
        Index::ordered("name", Reach::Owner, |_| Some(SortKey::new()), |_| SortKey::new().text(""));

    /// Creates a member of a workspace.
    pub(in crate::platform) fn of(workspace: &Stored<Workspace>, role: Role) -> Self {
        Self { role, origin: WorkspaceOrigin::of(workspace) }
    }

    pub(super) fn with_role(role: Role) -> SortKey {
        SortKey::new().text(role.name())
    }

    /// Group of [`Self::BY_USER`].
    pub(in crate::platform) fn of_user(user: &str) -> SortKey {
        SortKey::new().text(user)
    }

    /// Group of [`Self::BY_CREATOR`].
    pub(super) fn in_created_by(user: &str, creator: &Subject, grant: Option<&str>) -> SortKey {
        let created = SortKey::new().text(user).text(&creator.to_string());
        created.flag(grant.is_some()).text(grant.unwrap_or_default())
    }
}

fn by_origin(member: &Stored<Member>) -> SortKey {
    SortKey::new().number(member.value.origin.created_at_ms)
}

/// The first version lacks the origin, which is another record's: a migration of the whole store writes all members anew.
impl Record for Member {
    const KIND: &'static str = "member";
    const VERSION: u16 = 2;
    const INDICES: &'static [Index<Self>] =
        &[Self::BY_ROLE, Self::BY_USER, Self::BY_CREATOR, Self::BY_NAME, Index::UPDATED];
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
    /// Invitations to a workspace by address of e-mail.
    pub(in crate::platform) const BY_NAME: Index<Self> = Index::ordered(
        "name",
        Reach::Owner,
        |_| Some(SortKey::new()),
        |invitation| SortKey::new().text(&invitation.value.email),
    );
    pub(super) const BY_TOKEN: Index<Self> =
        Index::unique("token", Reach::Service, |invitation| Some(SortKey::new().bytes(&invitation.value.token_hash)));
}

impl Invitation {
    /// Invitations of all workspaces by when they end.
    pub(super) const BY_END: Index<Self> = Index::ordered(
        "end",
        Reach::Service,
        |_| Some(SortKey::new()),
        |invitation| SortKey::new().number(invitation.value.expires_at_ms),
    );

    /// Returns from when on it is not kept any more. Until then it is listed as expired.
    pub(super) const fn forgotten_at_ms(&self) -> u64 {
        self.expires_at_ms.saturating_add(EXPIRED_KEPT_MS)
    }

    /// Returns whether it can be accepted at a time. It has expired otherwise.
    pub const fn is_open(&self, now_ms: u64) -> bool {
        self.expires_at_ms > now_ms
    }
}

impl Record for Invitation {
    const KIND: &'static str = "invitation";
    const INDICES: &'static [Index<Self>] =
        &[Self::BY_EMAIL, Self::BY_TOKEN, Self::BY_NAME, Self::BY_END, Index::UPDATED];
}

/// Leaves the hash out.
impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invitation").field("email", &self.email).field("role", &self.role).finish_non_exhaustive()
    }
}
