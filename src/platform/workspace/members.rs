//! Rules of members and invitations.

mod participations;

use std::net::IpAddr;

use alloy_primitives::hex;
use zeroize::Zeroizing;

use super::{
    Invitation, Member, User, Workspace, Workspaces, records::normalised_email, require_role, sent_invitations, user_of,
};
use crate::platform::{
    PlatformError,
    api_key::ApiKey,
    context::{Context, audit},
    expiry::expired,
    oauth,
    plan::check_quota,
    principal::{Principal, Subject},
    records::{Collection, Index, Owner, PageRequest, RecordError, SortKey, Stored, Unit, WorkspaceId},
    scope::{Role, Scope},
    vault::Purpose,
};

/// Time for which an invitation can be accepted, in milliseconds: a week.
const INVITATION_MS: u64 = 7 * 24 * 60 * 60 * 1000;
/// Topic of the outbox for mails with an invitation.
pub(in crate::platform) const INVITATION_MAIL: &str = "mail.invitation";
/// Random bytes of an invitation's token.
const TOKEN_BYTES: usize = 24;

/// What an invited person shows to accept. It is in the mail alone.
#[expect(missing_debug_implementations, reason = "it holds a secret")]
pub struct InvitationToken(Zeroizing<String>);

impl InvitationToken {
    /// Text of the token.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// Rules of the members of workspaces.
#[derive(Clone, Copy, Debug)]
pub struct Members<'a> {
    workspaces: Workspaces<'a>,
    /// Address of the client that they are asked by, where no principal has it.
    client: Option<IpAddr>,
}

impl<'a> Workspaces<'a> {
    /// Rules of the members.
    pub const fn members(self) -> Members<'a> {
        Members { workspaces: self, client: None }
    }
}

impl<'a> Members<'a> {
    /// Returns the rules as the client at an address asks by them: it is in the lines of the audit log about who accepts an invitation.
    #[must_use]
    pub const fn of_client(self, client: Option<IpAddr>) -> Self {
        Self { client, ..self }
    }

    /// The members, for reading.
    pub fn all(&self) -> Collection<'a, Member> {
        self.workspaces.context.records.of()
    }

    /// Invites somebody by e-mail to the workspace that a principal acts in. The mail is in the outbox when this returns. An invitation of
    /// the address that has expired is replaced.
    ///
    /// # Errors
    /// [`PlatformError::Forbidden`] for a role above the inviter's, [`PlatformError::MissingScope`] for one that permits more than the inviter's
    /// credentials, [`PlatformError::Conflict`] for one who is invited or a member, or a full plan, [`PlatformError::TooManyAttempts`] when the
    /// workspace, or the inviter in all workspaces, has sent as many within an hour as the service allows.
    pub fn invite(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        email: &str,
        role: Role,
    ) -> Result<(Stored<Invitation>, InvitationToken), PlatformError> {
        require_role(unit, principal, role.max(Role::Admin))?;
        require_scopes_of(principal, role)?;
        self.send(unit, principal, email, role)
    }

    /// As [`Members::invite`], to a workspace that the principal makes in the same unit of work. There is nothing in it that the inviter's
    /// credentials could not reach, so that they bound only who administers it: a role with the scope admin needs that scope.
    ///
    /// # Errors
    /// As [`Members::invite`].
    pub fn invite_to_new(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        email: &str,
        role: Role,
    ) -> Result<(Stored<Invitation>, InvitationToken), PlatformError> {
        require_role(unit, principal, role.max(Role::Admin))?;
        if role.cap().allows(Scope::Admin) {
            principal.require(Scope::Admin)?;
        }
        self.send(unit, principal, email, role)
    }

    /// Sends an invitation that the principal may send.
    fn send(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        email: &str,
        role: Role,
    ) -> Result<(Stored<Invitation>, InvitationToken), PlatformError> {
        let context = self.workspaces.context;
        let (email, owner, id) = (normalised_email(email)?, principal.owner(), context.id("inv")?);
        let mut random = Zeroizing::new([0; TOKEN_BYTES]);
        context.entropy.fill(&mut *random)?;
        let token = InvitationToken(Zeroizing::new(hex::encode(random.as_slice())));
        let token_hash = context.secret.hash(token.text().as_bytes());
        delete_expired(context, unit, &owner, &email)?;
        check_places(unit, &owner, context.plan(unit, &owner)?.members_max)?;
        let known = unit.of::<User>().find(&User::BY_EMAIL, &Owner::Service, &SortKey::new().text(&email))?;
        if let Some(user) = known
            && unit.of::<Member>().get(&owner, user.id())?.is_some()
        {
            return Err(PlatformError::Conflict { message: format!("{email} is a member already") });
        }
        count_invitation(context, unit, principal)?;
        let expires_at_ms = unit.now_ms().saturating_add(INVITATION_MS);
        let invitation = Invitation { email, role, token_hash, expires_at_ms };
        let stored = unit.insert(&owner, &id, invitation)?;
        // The mail is made from the record and the vault when it is sent: no token is in the store in clear.
        unit.publish(&owner, INVITATION_MAIL, id.clone().into_bytes())?;
        context.vault.seal(unit, &owner, &id, Purpose::InvitationToken, token.text().as_bytes())?;
        audit(unit, principal, "member.invite", format!("invitation {id}"))?;
        Ok((stored, token))
    }

    /// Withdraws an invitation.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`], [`PlatformError::Forbidden`].
    pub fn withdraw(&self, unit: &mut Unit<'_>, principal: &Principal, id: &str) -> Result<(), PlatformError> {
        require_role(unit, principal, Role::Admin)?;
        let invitation = unit.of::<Invitation>().require(&principal.owner(), id)?;
        delete_invitation(self.workspaces.context, unit, &invitation)?;
        audit(unit, principal, "member.withdraw", format!("invitation {id}"))
    }

    /// Makes a user a member of the workspace that a token invites to. Only the user with the invited address may accept: a mail that is
    /// passed on invites nobody else.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] for a token that was never sent, was used, withdrawn, has expired, or was sent to
    /// another address; [`PlatformError::Conflict`] for a user who is a member of as many workspaces as the service allows.
    pub fn accept(&self, unit: &mut Unit<'_>, user: &str, token: &str) -> Result<WorkspaceId, PlatformError> {
        let context = self.workspaces.context;
        let group = SortKey::new().bytes(&context.secret.hash(token.as_bytes()));
        let email = unit.of::<User>().require(&Owner::Service, user)?.value.email;
        let found = unit.of::<Invitation>().find(&Invitation::BY_TOKEN, &Owner::Service, &group)?;
        let now_ms = unit.now_ms();
        let unknown = || PlatformError::not_found("invitation", "with this token");
        let invitation = found.filter(|found| found.value.expires_at_ms > now_ms && found.value.email == email);
        let invitation = invitation.ok_or_else(unknown)?;
        let owner = invitation.owner().clone();
        let workspace = owner.workspace().ok_or_else(unknown)?.clone();
        let inviting = unit.of::<Workspace>().get(&owner, owner.as_str())?.ok_or_else(unknown)?;
        self.workspaces.check_workspaces_of(unit, user)?;
        unit.insert(&owner, user, Member::of(&inviting, invitation.value.role))?;
        delete_invitation(context, unit, &invitation)?;
        let principal = Principal::new(Subject::User(user.to_owned()), workspace.clone(), invitation.value.role.cap());
        let principal = principal.with_client(self.client);
        audit(unit, &principal, "member.accept", format!("invitation {}", invitation.id()))?;
        Ok(workspace)
    }

    /// Returns the invitation with this token, for showing it to the one who has it; `None` for one that can't be accepted any more.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn find_invitation(&self, token: &str) -> Result<Option<Stored<Invitation>>, PlatformError> {
        let context = self.workspaces.context;
        let group = SortKey::new().bytes(&context.secret.hash(token.as_bytes()));
        let found = context.records.of::<Invitation>().find(&Invitation::BY_TOKEN, &Owner::Service, &group)?;
        let now_ms = context.records.clock().now_ms();
        Ok(found.filter(|found| found.value.expires_at_ms > now_ms))
    }

    /// Changes the role of a member.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`]; [`PlatformError::Forbidden`] for an admin who changes or makes an owner;
    /// [`PlatformError::MissingScope`] where the former or the new role permits more than the credentials of the principal;
    /// [`PlatformError::Conflict`] for the last owner.
    pub fn change_role(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        user: &str,
        role: Role,
    ) -> Result<Stored<Member>, PlatformError> {
        let mut member = unit.of::<Member>().require(&principal.owner(), user)?;
        require_role(unit, principal, member.value.role.max(role).max(Role::Admin))?;
        require_scopes_of(principal, member.value.role.max(role))?;
        let former = core::mem::replace(&mut member.value.role, role);
        let stored = unit.replace(&member)?;
        check_has_owner(unit, &principal.owner(), former)?;
        audit(unit, principal, "member.change-role", format!("member {user} to {}", role.name()))?;
        Ok(stored)
    }

    /// Removes a member, and revokes the API keys that it made. It takes no part in the workspace's private chains any more, nor do its keys; of
    /// those that it alone took part in, who removes it becomes the participant. A member may remove itself: one whose role permits no changes of
    /// the workspace needs no scope for them.
    ///
    /// # Errors
    /// As [`Members::change_role`]; [`PlatformError::MissingScope`]; [`PlatformError::Conflict`] for a member who removes itself while it is the
    /// last participant of a chain.
    pub fn remove(&self, unit: &mut Unit<'_>, principal: &Principal, user: &str) -> Result<(), PlatformError> {
        let owner = principal.owner();
        let is_itself = user_of(unit, principal)?.as_deref() == Some(user);
        if !is_itself {
            principal.require(Scope::WorkspaceWrite)?;
        }
        let member = unit.of::<Member>().require(&owner, user)?;
        let may_write = member.value.role.cap().allows(Scope::WorkspaceWrite);
        if is_itself && may_write {
            principal.require(Scope::WorkspaceWrite)?;
        }
        if is_itself && (!may_write || matches!(principal.subject(), Subject::User(_))) {
            oauth::keep_own_tokens(unit, principal)?;
        } else {
            require_role(unit, principal, member.value.role.max(Role::Admin))?;
            require_scopes_of(principal, member.value.role)?;
        }
        unit.delete(&member)?;
        check_has_owner(unit, &owner, member.value.role)?;
        participations::end(unit, principal, user)?;
        oauth::delete_of_user(unit, user, Some(&owner))?;
        for key in keys_of(unit, &owner, user)? {
            let revoked = key.revoked(unit.now_ms());
            unit.replace(&revoked)?;
            audit(unit, principal, "key.revoke", format!("key {}", key.id()))?;
        }
        audit(unit, principal, "member.remove", format!("member {user}"))
    }

    /// Deletes invitations that have long expired, and counts of those that were sent an hour ago, at most as many of each as `request` takes;
    /// returns how many.
    pub(in crate::platform) fn forget_expired(&self, request: &PageRequest) -> Result<usize, PlatformError> {
        let context = self.workspaces.context;
        context.records.unit(|unit| {
            let ended = expired(unit, &Invitation::BY_END, request, Invitation::forgotten_at_ms)?;
            ended.iter().try_for_each(|invitation| delete_invitation(context, unit, invitation))?;
            let counts = sent_invitations::forget_ended(unit, request)?;
            Ok(ended.len().saturating_add(counts))
        })
    }
}

/// Checks that the credentials of a principal permit all that a role does: who holds credentials for a part of it neither gives the whole nor
/// takes it away, whoever answers for them.
fn require_scopes_of(principal: &Principal, role: Role) -> Result<(), PlatformError> {
    match role.cap().beyond(principal.scopes()).first() {
        Some(scope) => principal.require(*scope),
        None => Ok(()),
    }
}

/// Counts an invitation for the workspace that a principal acts in, and for the user who answers for it. Those of the service's own keys, which
/// are the operators', have no bound.
fn count_invitation(context: &Context, unit: &mut Unit<'_>, principal: &Principal) -> Result<(), PlatformError> {
    let Some(user) = user_of(unit, principal)? else { return Ok(()) };
    let max = context.invitations_max;
    sent_invitations::count(unit, principal.owner().as_str(), max)?;
    sent_invitations::count(unit, &user, max)
}

/// Deletes the invitation of an address when it has expired, so that another can be sent.
fn delete_expired(context: &Context, unit: &mut Unit<'_>, owner: &Owner, email: &str) -> Result<(), PlatformError> {
    let found = unit.of::<Invitation>().find(&Invitation::BY_EMAIL, owner, &SortKey::new().text(email))?;
    let now_ms = unit.now_ms();
    match found.filter(|found| !found.value.is_open(now_ms)) {
        Some(ended) => delete_invitation(context, unit, &ended),
        None => Ok(()),
    }
}

/// Checks that one more member is within the plan. Members have its places, and invitations that can be accepted.
fn check_places(unit: &Unit<'_>, owner: &Owner, max: u64) -> Result<(), PlatformError> {
    let all = SortKey::new();
    let members = unit.of::<Member>().count(&Index::CREATED, owner, &all)?;
    let kept = unit.of::<Invitation>().count(&Index::CREATED, owner, &all)?;
    if members.saturating_add(kept) < max {
        return Ok(());
    }
    // Those that have expired are among them.
    let mut open = 0_u64;
    unit.of::<Invitation>().for_each(&Index::CREATED, owner, &all, |invitation| {
        open = open.saturating_add(u64::from(invitation.value.is_open(unit.now_ms())));
        Ok::<_, RecordError>(())
    })?;
    check_quota("members", members.saturating_add(open), max)
}

/// Deletes an invitation with its token.
pub(super) fn delete_invitation(
    context: &Context,
    unit: &mut Unit<'_>,
    invitation: &Stored<Invitation>,
) -> Result<(), PlatformError> {
    context.vault.discard(unit, invitation.owner(), invitation.id())?;
    Ok(unit.delete(invitation)?)
}

/// Returns how many owners a workspace has.
pub(in crate::platform) fn owners_of(members: &Collection<'_, Member>, owner: &Owner) -> Result<u64, RecordError> {
    members.count(&Member::BY_ROLE, owner, &Member::with_role(Role::Owner))
}

/// Refuses a change of a member that takes the last owner from a workspace. One that the service's own key made has none.
fn check_has_owner(unit: &Unit<'_>, owner: &Owner, former: Role) -> Result<(), PlatformError> {
    if former != Role::Owner {
        return Ok(());
    }
    if owners_of(&unit.of(), owner)? > 0 {
        return Ok(());
    }
    let message = "the workspace would have no owner: make another member its owner first, or delete it".to_owned();
    Err(PlatformError::Conflict { message })
}

/// Returns the live API keys that a user made.
fn keys_of(unit: &Unit<'_>, owner: &Owner, user: &str) -> Result<Vec<Stored<ApiKey>>, RecordError> {
    let mut keys = Vec::new();
    let group = ApiKey::made_by(&Subject::User(user.to_owned()));
    unit.of::<ApiKey>().for_each(&ApiKey::BY_CREATOR, owner, &group, |key| {
        keys.extend(key.value.is_live(unit.now_ms()).then_some(key));
        Ok::<_, RecordError>(())
    })?;
    Ok(keys)
}
