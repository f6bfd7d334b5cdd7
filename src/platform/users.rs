//! Users: sign-up, log-in, passwords, sessions of browsers, identities with other providers.
//!
//! A user exists from when it has shown that its address of e-mail is its own. What is answered to a stranger tells nobody which addresses
//! have users: a sign-up with a known address and a reset for an unknown one take the same steps, write as much and answer alike as the
//! others, and a log-in hashes a password for an unknown address too.
//!
//! | what | life | after use |
//! |---|---|---|
//! | token of a mail that confirms | 24 hours | gone |
//! | token of a mail that resets a password | 1 hour | gone, with all others for the address; also at a change of the password |
//! | session | 8 hours without use, 7 days at most | gone at log-out, and at a change or a reset of the password |
//! | bootstrap token | until the default workspace has an owner | gone |
//!
//! Passwords are hashed outside of any unit of work.

mod bootstrap;
mod identity;
mod log_in;
mod mailed_token;
mod password;
mod reset;
mod session;
mod sign_up;
#[cfg(test)]
pub(super) mod tests;

pub(super) use self::{
    bootstrap::Bootstrap,
    mailed_token::{MailedAct, MailedToken},
    password::PasswordHash,
};
pub use self::{
    identity::Identity,
    password::{Password, PasswordCost},
    session::Session,
};

use std::net::IpAddr;

use super::{
    PlatformError, attempts,
    context::Context,
    records::{AuditLine, Owner, PageRequest, SortKey, Stored, Unit, WorkspaceId},
    scope::Role,
    workspace::{Member, User, Workspace, Workspaces},
};

/// Memberships that are listed for a user.
const MEMBERSHIPS_LISTED_MAX: core::num::NonZeroUsize = core::num::NonZeroUsize::new(100).expect("not zero");
/// Characters of a workspace's name that is made from an address.
const HOME_NAME_MAX: usize = 64;

/// Rules of users.
#[derive(Clone, Copy, Debug)]
pub struct Users<'a> {
    pub(super) context: &'a Context,
    /// Address of the client that they are asked by.
    pub(super) client: Option<IpAddr>,
}

/// A workspace that a user is a member of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Id of the workspace.
    pub workspace: WorkspaceId,
    /// Name of the workspace.
    pub name: String,
    /// Role of the user.
    pub role: Role,
}

impl Users<'_> {
    /// Returns a user.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`].
    pub fn get(&self, id: &str) -> Result<Stored<User>, PlatformError> {
        Ok(self.context.records.of::<User>().require(&Owner::Service, id)?)
    }

    /// Returns the workspaces of a user, the one that was made for it first, then the oldest first; at most 100.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn memberships(&self, user: &Stored<User>) -> Result<Vec<Membership>, PlatformError> {
        let records = &self.context.records;
        let members = records.of::<Member>();
        let home = user.value.home.as_ref().map(Owner::from);
        let own = home.as_ref().map_or(Ok(None), |home| members.get(home, user.id()))?;
        let (group, request) = (Member::of_user(user.id()), PageRequest::first(MEMBERSHIPS_LISTED_MAX));
        let page = members.page(&Member::BY_USER, &Owner::Service, &group, &request)?;
        let others = page.items.into_iter().filter(|member| home.as_ref() != Some(member.owner()));
        let mut memberships = Vec::new();
        for member in own.into_iter().chain(others).take(MEMBERSHIPS_LISTED_MAX.get()) {
            let Some(workspace) = member.owner().workspace() else { continue };
            let Some(stored) = records.of::<Workspace>().get(member.owner(), workspace.as_str())? else { continue };
            memberships.push(Membership {
                workspace: workspace.clone(),
                name: stored.value.name,
                role: member.value.role,
            });
        }
        Ok(memberships)
    }

    /// Deletes what has expired of sessions, tokens of mails and bounds on attempts, at most as many of each as `request` takes; returns how
    /// many. What has expired has no effect before it is deleted either.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn forget_expired(&self, request: &PageRequest) -> Result<usize, PlatformError> {
        self.context.records.unit(|unit| {
            let sessions = session::forget_expired(unit, request)?;
            let tokens = mailed_token::forget_expired(self.context, unit, request)?;
            let attempts = attempts::forget_ended(unit, request)?;
            Ok(sessions.saturating_add(tokens).saturating_add(attempts))
        })
    }

    /// Returns the rules as the client at an address asks by them: it is in the lines of the audit log, and its attempts to log in are
    /// counted together.
    #[must_use]
    pub const fn of_client(self, client: Option<IpAddr>) -> Self {
        Self { client, ..self }
    }

    /// Adds a line about a user to the audit log of the service.
    fn audit(&self, unit: &mut Unit<'_>, user: &str, action: &str) -> Result<(), PlatformError> {
        let (subject, target) = (format!("user:{user}"), format!("user {user}"));
        let line = AuditLine { subject, action: action.to_owned(), target, client: self.client };
        Ok(unit.audit(&Owner::Service, line)?)
    }

    /// Returns the user with an address in its normal form.
    fn by_email(&self, unit: &Unit<'_>, email: &str) -> Result<Option<Stored<User>>, PlatformError> {
        Ok(unit.of::<User>().find(&User::BY_EMAIL, &Owner::Service, &SortKey::new().text(email))?)
    }

    /// Adds a user with a workspace of its own.
    fn insert(
        &self,
        unit: &mut Unit<'_>,
        email: &str,
        password: Option<PasswordHash>,
    ) -> Result<Stored<User>, PlatformError> {
        let id = self.context.id("usr")?;
        let mut user = unit.insert(&Owner::Service, &id, User { password, ..User::new(email)? })?;
        let name: String = email.split('@').next().unwrap_or(email).chars().take(HOME_NAME_MAX).collect();
        let workspace = Workspaces { context: self.context }.create(unit, &id, Workspace::named(&name))?;
        user.value.home = workspace.owner().workspace().cloned();
        Ok(unit.replace(&user)?)
    }
}
