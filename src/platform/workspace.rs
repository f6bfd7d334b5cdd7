//! Workspaces, their members, and invitations: records and their rules.
//!
//! | act | needs |
//! |---|---|
//! | read | membership |
//! | change name, description, network; invite; change or remove a member | owner or admin |
//! | change the plan; make, change or remove an owner; delete the workspace | owner |
//! | give, change or take a role | also all the scopes of the role; to a workspace that is being made, `admin` for those of owner and admin |
//! | take a plan that allows more than the default one | owner who is an operator: has `admin` in the default workspace |
//! | give any workspace a plan | operator |
//!
//! A plan above the default one is an operator's to give. A workspace always has an owner. It is deleted only when it has no blockchain,
//! deployment, dApp, project, webhook, OAuth client or live API key left, so that nothing of value goes with it unasked. Its managed wallet
//! goes with it: on chains of other workspaces the service never signs for it, so that there is nothing to keep its key for.

mod behind;
mod default_network;
mod former;
mod members;
mod reach;
mod records;
mod sent_invitations;
#[cfg(test)]
mod tests;

pub(in crate::platform) use self::{
    behind::take_over_orphans,
    default_network::has_chain,
    former::members_with_origins,
    members::{INVITATION_MAIL, owners_of},
    records::normalised_email,
    sent_invitations::SentInvitations,
};
pub use self::{
    members::{InvitationToken, Members},
    records::{Invitation, Member, User, Workspace},
};

use alloy_primitives::Address;

use self::behind::{Behind, give_to_service};
use super::{
    DEFAULT_WORKSPACE_ID, PlatformError,
    api_key::{ApiKey, count_live},
    blockchain::BlockchainRecord,
    context::{Context, audit},
    dapps::record::DappRecord,
    deployment::DeploymentRecord,
    oauth::{self, OAuthClient},
    plan::Plans,
    principal::{Principal, Subject},
    projects::record::Project,
    records::{Index, Owner, Record, RecordError, SortKey, Stored, Unit, WorkspaceId},
    scope::Role,
    wallet,
    webhooks::Webhook,
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
    pub fn add_user(&self, unit: &mut Unit<'_>, email: &str) -> Result<Stored<User>, PlatformError> {
        let user = User::new(email)?;
        let id = self.context.id("usr")?;
        Ok(unit.insert(&Owner::Service, &id, user)?)
    }

    /// Creates a workspace, whose first owner is `user`.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] for an unknown user, [`PlatformError::Validation`] for an unknown plan or a default network that is none of
    /// projects, [`PlatformError::Conflict`] for a user who has as many workspaces as the service allows.
    pub fn create(
        &self,
        unit: &mut Unit<'_>,
        user: &str,
        workspace: Workspace,
    ) -> Result<Stored<Workspace>, PlatformError> {
        self.context.plans.named(&workspace.billing_plan)?;
        let id = WorkspaceId::drawn(self.context.id("ws")?);
        let owner = Owner::from(&id);
        let subject = Subject::User(user.to_owned());
        default_network::check(unit, &owner, workspace.default_network.as_deref())?;
        let workspace = Workspace { created_by: subject.clone(), ..workspace };
        let principal = Principal::new(subject, id, Role::Owner.cap());
        unit.of::<User>().require(&Owner::Service, user)?;
        self.check_workspaces_of(unit, user)?;
        let stored = unit.insert(&owner, owner.as_str(), workspace)?;
        unit.insert(&owner, user, Member::of(&stored, Role::Owner))?;
        wallet::create_managed(self.context, unit, &owner)?;
        audit(unit, &principal, "workspace.create", format!("workspace {}", owner.as_str()))?;
        Ok(stored)
    }

    /// Creates a workspace for the sender of a request, and returns the sender in it. Its first owner is the user who sends the request, or who
    /// made the API key; an API key may act in the workspaces that it created itself, and so may the access tokens of one grant. What a key of
    /// the service's own creates in the default workspace is the service's.
    ///
    /// # Errors
    /// As [`Workspaces::create`]; [`PlatformError::Forbidden`] for a plan that the sender may not give; [`PlatformError::NotFound`] for a key
    /// that is gone meanwhile.
    pub fn create_by(
        &self,
        unit: &mut Unit<'_>,
        caller: &Principal,
        workspace: Workspace,
    ) -> Result<(Stored<Workspace>, Principal), PlatformError> {
        self.check_plan(caller, &workspace.billing_plan)?;
        let id = WorkspaceId::drawn(self.context.id("ws")?);
        let owner = Owner::from(&id);
        let principal = caller.in_workspace(id, Role::Owner.cap().capped_by(caller.scopes()));
        default_network::check(unit, &owner, workspace.default_network.as_deref())?;
        let gone = || PlatformError::not_found("API key", &caller.subject().to_string());
        let Behind { answering, creator: created_by } = Behind::of(&unit.of(), caller)?.ok_or_else(gone)?;
        let created_under = caller.grant().map(str::to_owned);
        let stored = unit.insert(&owner, owner.as_str(), Workspace { created_by, created_under, ..workspace })?;
        if let Subject::User(user) = answering {
            self.check_workspaces_of(unit, &user)?;
            unit.insert(&owner, &user, Member::of(&stored, Role::Owner))?;
        }
        wallet::create_managed(self.context, unit, &owner)?;
        audit(unit, &principal, "workspace.create", format!("workspace {}", owner.as_str()))?;
        Ok((stored, principal))
    }

    /// Returns the sender of a request as it acts in the workspace that the request names: its own, or another that it reaches. An API key
    /// reaches the workspaces that it created, or that a key did which it was rotated from; the service's own keys of the default workspace reach
    /// those that any of them created; an access token those that were created under its grant, a user without one all. In each of them it may
    /// do what the role of the user permits, or of the user who made the key; who is no member any more may do nothing.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] for any other.
    pub fn acting_in(&self, caller: &Principal, workspace: &str) -> Result<Principal, PlatformError> {
        if caller.owner().as_str() == workspace {
            return Ok(caller.clone());
        }
        let unknown = || PlatformError::not_found("workspace", workspace);
        let id = WorkspaceId::new(workspace).ok_or_else(unknown)?;
        let owner = Owner::from(&id);
        let found = self.context.records.of::<Workspace>().get(&owner, workspace)?.ok_or_else(unknown)?;
        let behind = self.behind(caller)?.ok_or_else(unknown)?;
        if !behind.reaches(&self.context.records, caller, &found)? {
            return Err(unknown());
        }
        let role = match behind.answering {
            Subject::User(user) => {
                let member = self.context.records.of::<Member>().get(&owner, &user)?;
                member.ok_or_else(unknown)?.value.role
            }
            Subject::Service => Role::Owner,
            Subject::ApiKey(_) => return Err(unknown()),
        };
        Ok(caller.in_workspace(id, caller.scopes().capped_by(&role.cap())))
    }

    /// Returns who is behind the credentials of a caller; `None` for a key that is gone.
    fn behind(&self, caller: &Principal) -> Result<Option<Behind>, RecordError> {
        Behind::of(&self.context.records.of(), caller)
    }

    /// Returns the address of e-mail of a user; empty for one that is gone.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn email_of(&self, user: &str) -> Result<String, PlatformError> {
        let found = self.context.records.of::<User>().get(&Owner::Service, user)?;
        Ok(found.map(|user| user.value.email).unwrap_or_default())
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

    /// Replaces a workspace by a changed copy of it. A default network that stays is not looked at: its chain may be gone since.
    ///
    /// # Errors
    /// [`PlatformError::Forbidden`], also for a plan that the principal may not give; [`PlatformError::Conflict`] when it was changed
    /// meanwhile, [`PlatformError::Validation`] for an unknown plan and for a default network that is neither one of projects nor a chain of the
    /// workspace.
    pub fn update(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        changed: &Stored<Workspace>,
    ) -> Result<Stored<Workspace>, PlatformError> {
        self.context.plans.named(&changed.value.billing_plan)?;
        let present = unit.of::<Workspace>().require(&principal.owner(), changed.id())?;
        let is_plan_kept = present.value.billing_plan == changed.value.billing_plan;
        require_role(unit, principal, if is_plan_kept { Role::Admin } else { Role::Owner })?;
        if !is_plan_kept {
            self.check_plan(principal, &changed.value.billing_plan)?;
        }
        if present.value.default_network != changed.value.default_network {
            default_network::check(unit, &principal.owner(), changed.value.default_network.as_deref())?;
        }
        let stored = unit.replace(changed)?;
        audit(unit, principal, "workspace.update", format!("workspace {}", changed.id()))?;
        Ok(stored)
    }

    /// Gives a workspace a plan, whoever made it. The audit logs of the operators and of the workspace have a line of it.
    ///
    /// # Errors
    /// [`PlatformError::Forbidden`] to all but the operators; [`PlatformError::Validation`] of the field `billingPlan` for an unknown plan,
    /// [`PlatformError::NotFound`] for an unknown workspace.
    pub fn give_plan(
        &self,
        unit: &mut Unit<'_>,
        operator: &Principal,
        workspace: &str,
        plan: &str,
    ) -> Result<Stored<Workspace>, PlatformError> {
        if !operator.is_operator() {
            let message = format!(
                "an operator of the service gives plans, with the scope admin in its default workspace: an owner may change the workspace to a \
                 plan that allows no more than {}",
                Plans::DEFAULT
            );
            return Err(PlatformError::Forbidden { message });
        }
        require_role(unit, operator, Role::Admin)?;
        self.context.plans.named_by("billingPlan", plan)?;
        let unknown = || PlatformError::not_found("workspace", workspace);
        let id = WorkspaceId::new(workspace).ok_or_else(unknown)?;
        let owner = Owner::from(&id);
        let mut found = unit.of::<Workspace>().get(&owner, workspace)?.ok_or_else(unknown)?;
        let former = core::mem::replace(&mut found.value.billing_plan, plan.to_owned());
        let stored = unit.replace(&found)?;
        let target = format!("workspace {workspace}: plan {plan}, before {former}");
        audit(unit, operator, "workspace.plan", target.clone())?;
        if operator.owner() != owner {
            // Its members read who gave it, and not from where.
            let there = operator.in_workspace(id, operator.scopes().clone()).with_client(None);
            audit(unit, &there, "workspace.plan", target)?;
        }
        Ok(stored)
    }

    /// Refuses a plan that is not configured, and one that allows more than the default plan to all but the operators.
    fn check_plan(&self, principal: &Principal, name: &str) -> Result<(), PlatformError> {
        let (plan, default) = (self.context.plans.named(name)?, self.context.plans.named(Plans::DEFAULT)?);
        if plan.is_within(&default) || principal.is_operator() {
            return Ok(());
        }
        let message = format!(
            "the plan {name} allows more than {}, which everybody may take: an operator of the service gives it, with the scope admin in its \
             default workspace",
            Plans::DEFAULT
        );
        Err(PlatformError::Forbidden { message })
    }

    /// Refuses one more workspace of a user.
    fn check_workspaces_of(&self, unit: &Unit<'_>, user: &str) -> Result<(), PlatformError> {
        let has = unit.of::<Member>().count(&Member::BY_USER, &Owner::Service, &Member::of_user(user))?;
        let max = self.context.workspaces_max;
        if has < max {
            return Ok(());
        }
        let message = format!(
            "the user is a member of {has} workspaces, and the service allows {max}: leave or delete one first"
        );
        Err(PlatformError::Conflict { message })
    }

    /// Returns the address of the managed wallet of a workspace, as a unit of work sees it; `None` of one that was made before wallets were.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn wallet_in(&self, unit: &Unit<'_>, workspace: &Stored<Workspace>) -> Result<Option<Address>, PlatformError> {
        Ok(wallet::managed_in(unit, workspace.owner())?.map(|wallet| wallet.value.address))
    }

    /// Deletes the workspace that a principal acts in, with its members, invitations and its managed wallet. Its audit log stays.
    ///
    /// # Errors
    /// [`PlatformError::Forbidden`]; [`PlatformError::Conflict`] with what it still has, and for the default workspace.
    pub fn delete(&self, unit: &mut Unit<'_>, principal: &Principal) -> Result<(), PlatformError> {
        let owner = principal.owner();
        require_role(unit, principal, Role::Owner)?;
        check_is_empty(unit, &owner)?;
        if owner.as_str() == DEFAULT_WORKSPACE_ID {
            let message = format!("{DEFAULT_WORKSPACE_ID} is the workspace of the service's operators, and stays");
            return Err(PlatformError::Conflict { message });
        }
        all::<Invitation>(unit, &owner)?
            .iter()
            .try_for_each(|invitation| members::delete_invitation(self.context, unit, invitation))?;
        oauth::keep_own_tokens(unit, principal)?;
        oauth::delete_of_workspace(unit, &owner)?;
        all::<Member>(unit, &owner)?.iter().try_for_each(|member| unit.delete(member))?;
        for key in all::<ApiKey>(unit, &owner)? {
            unit.delete(&key)?;
            if key.value.created_by == Subject::Service {
                take_over(unit, key.id())?;
            }
        }
        wallet::delete_all(self.context, unit, &owner)?;
        let workspace = unit.of::<Workspace>().require(&owner, owner.as_str())?;
        unit.delete(&workspace)?;
        audit(unit, principal, "workspace.delete", format!("workspace {}", owner.as_str()))
    }
}

/// Group of [`Workspace::BY_CREATOR`].
fn made_by(creator: &Subject) -> SortKey {
    SortKey::new().text(&creator.to_string())
}

/// Keeps as the service's what a key for which it answers created, and which is gone with the key: keys of the service's own reach it, and have
/// it in their lists.
pub(super) fn take_over(unit: &mut Unit<'_>, key: &str) -> Result<(), RecordError> {
    let group = made_by(&Subject::ApiKey(key.to_owned()));
    let created = unit.of::<Workspace>().all(&Workspace::BY_CREATOR, &Owner::Service, &group)?;
    created.into_iter().try_for_each(|workspace| give_to_service(unit, workspace))
}

/// Refuses to lose what a workspace still has.
fn check_is_empty(unit: &Unit<'_>, owner: &Owner) -> Result<(), PlatformError> {
    let all = SortKey::new();
    let chains = unit.of::<BlockchainRecord>().count(&Index::CREATED, owner, &all)?;
    let deployments = unit.of::<DeploymentRecord>().count(&Index::CREATED, owner, &all)?;
    let dapps = unit.of::<DappRecord>().count(&Index::CREATED, owner, &all)?;
    let keys = count_live(unit, owner)?;
    let projects = unit.of::<Project>().count(&Index::CREATED, owner, &all)?;
    let webhooks = unit.of::<Webhook>().count(&Index::CREATED, owner, &all)?;
    let clients = unit.of::<OAuthClient>().count(&Index::CREATED, owner, &all)?;
    let has: Vec<String> = [
        ("blockchain", chains),
        ("deployment", deployments),
        ("dapp", dapps),
        ("project", projects),
        ("webhook", webhooks),
        ("OAuth client", clients),
        ("live API key", keys),
    ]
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

/// Returns the user who answers for a principal; `None` for the service itself.
fn user_of(unit: &Unit<'_>, principal: &Principal) -> Result<Option<String>, PlatformError> {
    let subject = match principal.subject() {
        Subject::ApiKey(id) => unit.of::<ApiKey>().require(&principal.home(), id)?.value.created_by,
        subject => subject.clone(),
    };
    Ok(match subject {
        Subject::User(id) => Some(id),
        Subject::ApiKey(_) | Subject::Service => None,
    })
}

/// Returns the role of a principal as it is now: that of the user, or of the user who made the API key.
pub(super) fn role_of(unit: &Unit<'_>, principal: &Principal) -> Result<Option<Role>, PlatformError> {
    match user_of(unit, principal) {
        Ok(None) => Ok(Some(Role::Owner)),
        Ok(Some(user)) => Ok(unit.of::<Member>().get(&principal.owner(), &user)?.map(|member| member.value.role)),
        // The key is gone.
        Err(PlatformError::NotFound { .. }) => Ok(None),
        Err(cause) => Err(cause),
    }
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
