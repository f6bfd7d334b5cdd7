//! Workspaces, their members, and invitations: records and their rules.
//!
//! | act | needs |
//! |---|---|
//! | read | membership |
//! | change name, description, network; invite; change or remove a member | owner or admin |
//! | change the plan; make, change or remove an owner; delete the workspace | owner |
//!
//! A workspace always has an owner. It is deleted only when it has no blockchain, deployment or live API key left, so that nothing of
//! value goes with it unasked.

mod members;
mod records;
#[cfg(test)]
mod tests;

pub use self::{
    members::{InvitationToken, Members},
    records::{Invitation, Member, User, Workspace},
};

use super::{
    PlatformError,
    api_key::ApiKey,
    blockchain::BlockchainRecord,
    context::{Context, audit},
    deployment::DeploymentRecord,
    principal::{Principal, Subject},
    records::{Index, Owner, Record, RecordError, SortKey, Stored, Unit, WorkspaceId},
    scope::Role,
    wallet,
};

/// Rules of users and workspaces.
#[derive(Clone, Copy, Debug)]
pub struct Workspaces<'a> {
    pub(super) context: &'a Context,
}

impl Workspaces<'_> {
    /// Adds a user with an address of e-mail that nobody else has.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] for a taken address, [`PlatformError::Validation`] for one that is none.
    pub fn add_user(&self, email: &str) -> Result<Stored<User>, PlatformError> {
        let user = User::new(email)?;
        let id = self.context.id("usr")?;
        self.context.records.unit(|unit| Ok(unit.insert(&Owner::Service, &id, user)?))
    }

    /// Creates a workspace, whose first owner is `user`.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] for an unknown user, [`PlatformError::Validation`] for an unknown plan.
    pub fn create(&self, user: &str, workspace: Workspace) -> Result<Stored<Workspace>, PlatformError> {
        self.context.plans.named(&workspace.billing_plan)?;
        let id = WorkspaceId::drawn(self.context.id("ws")?);
        let owner = Owner::from(&id);
        let principal = Principal::new(Subject::User(user.to_owned()), id, Role::Owner.cap());
        self.context.records.unit(|unit| {
            unit.of::<User>().require(&Owner::Service, user)?;
            let stored = unit.insert(&owner, owner.as_str(), workspace)?;
            unit.insert(&owner, user, Member { role: Role::Owner })?;
            wallet::create_managed(self.context, unit, &owner)?;
            audit(unit, &principal, "workspace.create", format!("workspace {}", owner.as_str()))?;
            Ok(stored)
        })
    }

    /// Returns the principal that a user is in a workspace, with all that its role permits; `None` for somebody who is no member.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn principal(&self, user: &str, workspace: &WorkspaceId) -> Result<Option<Principal>, PlatformError> {
        let member = self.context.records.of::<Member>().get(&Owner::from(workspace), user)?;
        let principal = |member: Stored<Member>| {
            Principal::new(Subject::User(user.to_owned()), workspace.clone(), member.value.role.cap())
        };
        Ok(member.map(principal))
    }

    /// Returns the workspace that a principal acts in.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`].
    pub fn get(&self, principal: &Principal) -> Result<Stored<Workspace>, PlatformError> {
        let owner = principal.owner();
        Ok(self.context.records.of::<Workspace>().require(&owner, owner.as_str())?)
    }

    /// Replaces a workspace by a changed copy of it.
    ///
    /// # Errors
    /// [`PlatformError::Forbidden`], [`PlatformError::Conflict`] when it was changed meanwhile, [`PlatformError::Validation`] for an
    /// unknown plan.
    pub fn update(
        &self,
        principal: &Principal,
        changed: &Stored<Workspace>,
    ) -> Result<Stored<Workspace>, PlatformError> {
        self.context.plans.named(&changed.value.billing_plan)?;
        self.context.records.unit(|unit| {
            let present = unit.of::<Workspace>().require(&principal.owner(), changed.id())?;
            let is_plan_kept = present.value.billing_plan == changed.value.billing_plan;
            require_role(unit, principal, if is_plan_kept { Role::Admin } else { Role::Owner })?;
            let stored = unit.replace(changed)?;
            audit(unit, principal, "workspace.update", format!("workspace {}", changed.id()))?;
            Ok(stored)
        })
    }

    /// Deletes the workspace that a principal acts in, with its members and invitations. Its audit log stays.
    ///
    /// # Errors
    /// [`PlatformError::Forbidden`]; [`PlatformError::Conflict`] with what it still has.
    pub fn delete(&self, principal: &Principal) -> Result<(), PlatformError> {
        let owner = principal.owner();
        self.context.records.unit(|unit| {
            require_role(unit, principal, Role::Owner)?;
            check_is_empty(unit, &owner)?;
            all::<Invitation>(unit, &owner)?
                .iter()
                .try_for_each(|invitation| members::delete_invitation(self.context, unit, invitation))?;
            all::<Member>(unit, &owner)?.iter().try_for_each(|member| unit.delete(member))?;
            all::<ApiKey>(unit, &owner)?.iter().try_for_each(|key| unit.delete(key))?;
            wallet::delete_all(self.context, unit, &owner)?;
            let workspace = unit.of::<Workspace>().require(&owner, owner.as_str())?;
            unit.delete(&workspace)?;
            audit(unit, principal, "workspace.delete", format!("workspace {}", owner.as_str()))
        })
    }
}

/// Refuses to lose what a workspace still has.
fn check_is_empty(unit: &Unit<'_>, owner: &Owner) -> Result<(), PlatformError> {
    let all = SortKey::new();
    let chains = unit.of::<BlockchainRecord>().count(&Index::CREATED, owner, &all)?;
    let deployments = unit.of::<DeploymentRecord>().count(&Index::CREATED, owner, &all)?;
    let keys = unit.of::<ApiKey>().count(&ApiKey::BY_STATE, owner, &ApiKey::live())?;
    let has: Vec<String> = [("blockchain", chains), ("deployment", deployments), ("live API key", keys)]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {name}{}", if count == 1 { "" } else { "s" }))
        .collect();
    if has.is_empty() {
        return Ok(());
    }
    let message = format!("the workspace still has {}: delete or revoke them first", has.join(", "));
    Err(PlatformError::Conflict { message })
}

fn all<T: Record>(unit: &Unit<'_>, owner: &Owner) -> Result<Vec<Stored<T>>, RecordError> {
    let mut all = Vec::new();
    unit.of::<T>().for_each(&Index::CREATED, owner, &SortKey::new(), |stored| {
        all.push(stored);
        Ok::<_, RecordError>(())
    })?;
    Ok(all)
}

/// Returns the role of a principal as it is now: that of the user, or of the user who made the API key.
pub(super) fn role_of(unit: &Unit<'_>, principal: &Principal) -> Result<Option<Role>, PlatformError> {
    let owner = principal.owner();
    let user = match principal.subject() {
        Subject::Service => return Ok(Some(Role::Owner)),
        Subject::User(id) => id.clone(),
        Subject::ApiKey(id) => match unit.of::<ApiKey>().get(&owner, id)?.map(|key| key.value.created_by) {
            Some(Subject::User(creator)) => creator,
            Some(_) => return Ok(Some(Role::Owner)),
            None => return Ok(None),
        },
    };
    Ok(unit.of::<Member>().get(&owner, &user)?.map(|member| member.value.role))
}

/// Checks that a principal has at least a role.
fn require_role(unit: &Unit<'_>, principal: &Principal, least: Role) -> Result<Role, PlatformError> {
    match role_of(unit, principal)? {
        Some(role) if role >= least => Ok(role),
        _ => {
            Err(PlatformError::Forbidden { message: format!("this needs the role {} in the workspace", least.name()) })
        }
    }
}
