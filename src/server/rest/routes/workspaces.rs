//! `/v1/workspaces`, their members and invitations.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{audit_lines::AuditView, view::Deleted};
use crate::{
    platform::{
        FieldError, Invitation, Member, PlatformError, Principal, Role, Scope, Usage, Workspace,
        records::{AuditLine, Index, SortKey, Stored, Unit},
    },
    primitives::Address,
    server::{
        api_error::ApiError,
        clock,
        rest::{
            App,
            answer::{Change, Located},
            body::Body,
            endpoint::{Access, Endpoint, Tag},
            page::Page,
            request::Request,
        },
    },
};

/// Characters of an address of e-mail that an error repeats.
const EMAIL_SHOWN: usize = 80;

/// A workspace to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CreateWorkspace {
    /// Name of the workspace.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "research")]
    name: String,
    /// What it is for.
    #[schema(max_length = 4096, default = "", example = "Experiments of the research team")]
    description: Option<String>,
    /// Settings, each with a default.
    settings: Option<Settings>,
    /// Members to invite, each by e-mail.
    #[schema(max_items = 50)]
    members: Option<Vec<Invitee>>,
}

/// Settings of a workspace.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Settings {
    /// What requests mean that name no network. For projects: `development`, `testnet` or `mainnet`. For dApps: the id or name of a blockchain
    /// that the workspace has, and so not of a new workspace; projects then have `development`. Anything else is refused.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "development")]
    default_network: Option<String>,
    /// A configured plan. One that allows more than `free`, the default, is given by operators of the service: callers with the scope `admin`
    /// in its default workspace.
    #[schema(min_length = 1, max_length = 64, default = "free", example = "free")]
    billing_plan: Option<String>,
}

/// Somebody to invite.
#[derive(Debug, Deserialize, ToSchema)]
struct Invitee {
    /// Address of e-mail.
    #[schema(
        min_length = 3,
        max_length = 254,
        pattern = r"^[^@\s\u0000-\u001f\u007f-\u009f]+@[^@\s\u0000-\u001f\u007f-\u009f]+$",
        example = "ada@example.org"
    )]
    email: String,
    /// Role in the workspace; developer by default.
    role: Option<RoleName>,
}

/// Role of a member.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum RoleName {
    Owner,
    Admin,
    Developer,
    Viewer,
}

impl From<RoleName> for Role {
    fn from(role: RoleName) -> Self {
        match role {
            RoleName::Owner => Self::Owner,
            RoleName::Admin => Self::Admin,
            RoleName::Developer => Self::Developer,
            RoleName::Viewer => Self::Viewer,
        }
    }
}

impl Body for CreateWorkspace {
    fn examples() -> Vec<(&'static str, Value)> {
        let all = json!({
            "name": "research",
            "description": "Experiments of the research team",
            "settings": { "defaultNetwork": "development", "billingPlan": "free" },
            "members": [{ "email": "ada@example.org", "role": "developer" }],
        });
        vec![("all fields", all), ("required fields", json!({ "name": "research" }))]
    }

    /// Nobody is invited twice: addresses are the same in whatever case.
    fn check(&self) -> Vec<FieldError> {
        let mut seen = BTreeSet::new();
        let members = self.members.iter().flatten().enumerate();
        let repeated = members.filter(|(_, invitee)| !seen.insert(invitee.email.to_lowercase()));
        let error = |(place, invitee): (usize, &Invitee)| FieldError {
            path: format!("members[{place}].email"),
            expected: "an address that no other member of the list has, in whatever case".to_owned(),
            got: invitee.email.chars().take(EMAIL_SHOWN).collect(),
        };
        repeated.map(error).collect()
    }
}

/// Changes of a workspace; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
struct UpdateWorkspace {
    /// Name of the workspace.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "research")]
    name: Option<String>,
    /// What it is for.
    #[schema(max_length = 4096)]
    description: Option<String>,
    /// Settings; what is left out stays.
    settings: Option<Settings>,
}

impl Body for UpdateWorkspace {
    fn examples() -> Vec<(&'static str, Value)> {
        let all = json!({ "name": "laboratory", "description": "", "settings": { "defaultNetwork": "testnet" } });
        vec![("all fields", all), ("required fields", json!({}))]
    }
}

impl Body for Invitee {
    fn examples() -> Vec<(&'static str, Value)> {
        vec![
            ("all fields", json!({ "email": "grace@example.org", "role": "viewer" })),
            ("required fields", json!({ "email": "alan@example.org" })),
        ]
    }
}

/// A new role of a member.
#[derive(Debug, Deserialize, ToSchema)]
struct ChangeRole {
    /// Role in the workspace.
    role: RoleName,
}

impl Body for ChangeRole {
    fn examples() -> Vec<(&'static str, Value)> {
        vec![("required fields", json!({ "role": "viewer" }))]
    }
}

/// A workspace.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WorkspaceView {
    /// Id of the workspace.
    #[schema(example = "ws_0123456789abcdef")]
    id: String,
    /// Name of the workspace.
    name: String,
    /// What it is for.
    description: String,
    /// Its settings.
    settings: SettingsView,
    /// Address of its managed wallet, which sends what the service signs for it, on every blockchain: to be funded. Null of a workspace that
    /// was made before there were wallets.
    #[schema(example = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")]
    wallet: Option<String>,
    /// Time of creation: ISO 8601, UTC.
    created_at: String,
    /// Time of the last change: ISO 8601, UTC.
    updated_at: String,
}

/// Settings of a workspace.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SettingsView {
    /// Network of projects that name none, or the blockchain, by id or name, of dApps that name none; null for neither.
    default_network: Option<String>,
    /// Name of its plan.
    billing_plan: String,
}

impl WorkspaceView {
    fn new(stored: &Stored<Workspace>, wallet: Option<Address>) -> Self {
        let workspace = &stored.value;
        Self {
            id: stored.id().to_owned(),
            name: workspace.name.clone(),
            description: workspace.description.clone(),
            settings: SettingsView {
                default_network: workspace.default_network.clone(),
                billing_plan: workspace.billing_plan.clone(),
            },
            wallet: wallet.map(|address| address.to_string()),
            created_at: clock::iso_8601(stored.created_at_ms()),
            updated_at: clock::iso_8601(stored.updated_at_ms()),
        }
    }
}

impl Located for WorkspaceView {
    fn location(&self) -> String {
        format!("/v1/workspaces/{}", self.id)
    }
}

/// A plan to give.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct GivenPlan {
    /// A configured plan.
    #[schema(min_length = 1, max_length = 64, example = "team")]
    billing_plan: String,
}

impl Body for GivenPlan {
    fn examples() -> Vec<(&'static str, Value)> {
        vec![("required fields", json!({ "billingPlan": "team" }))]
    }
}

/// The plan of a workspace.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WorkspacePlanView {
    /// Id of the workspace.
    #[schema(example = "ws_0123456789abcdef")]
    id: String,
    /// Name of its plan.
    #[schema(example = "team")]
    billing_plan: String,
}

/// A member of a workspace.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct MemberView {
    /// Id of the user.
    #[schema(example = "usr_0123456789abcdef")]
    id: String,
    /// Address of e-mail.
    email: String,
    /// Role in the workspace.
    #[schema(example = "developer")]
    role: &'static str,
    /// Time of joining: ISO 8601, UTC.
    created_at: String,
}

/// An invitation that was neither accepted nor withdrawn.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct InvitationView {
    /// Id of the invitation.
    #[schema(example = "inv_0123456789abcdef")]
    id: String,
    /// Id of the workspace.
    workspace_id: String,
    /// Address of e-mail.
    email: String,
    /// Role in the workspace.
    #[schema(example = "developer")]
    role: &'static str,
    /// Its state.
    #[schema(example = "open")]
    status: InvitationStatus,
    /// Time of the invitation: ISO 8601, UTC.
    created_at: String,
    /// Time until which it can be accepted: ISO 8601, UTC.
    expires_at: String,
}

/// State of an invitation: `open` leads to `expired` with its time. One that is accepted or withdrawn is gone.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum InvitationStatus {
    Open,
    Expired,
}

impl InvitationView {
    fn new(stored: &Stored<Invitation>, now_ms: u64) -> Self {
        let invitation = &stored.value;
        Self {
            id: stored.id().to_owned(),
            workspace_id: stored.owner().as_str().to_owned(),
            email: invitation.email.clone(),
            role: invitation.role.name(),
            status: match invitation.is_open(now_ms) {
                true => InvitationStatus::Open,
                false => InvitationStatus::Expired,
            },
            created_at: clock::iso_8601(stored.created_at_ms()),
            expires_at: clock::iso_8601(invitation.expires_at_ms),
        }
    }
}

impl Located for InvitationView {
    fn location(&self) -> String {
        format!("/v1/workspaces/{}/invitations/{}", self.workspace_id, self.id)
    }
}

/// What a workspace used of its plan in the present period of 30 days.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UsageView {
    /// What is counted.
    #[schema(example = "transactions")]
    id: &'static str,
    /// How much was used.
    used: u64,
    /// How much the plan allows; null without a bound.
    limit: Option<u64>,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let tag = Tag::Workspaces;
    let (read, write) = (Access::Scope(Scope::WorkspaceRead), Access::Scope(Scope::WorkspaceWrite));
    let (all, one) = ("/v1/workspaces", "/v1/workspaces/{workspaceId}");
    let (members, member) = ("/v1/workspaces/{workspaceId}/members", "/v1/workspaces/{workspaceId}/members/{userId}");
    let (invitations, invitation) =
        ("/v1/workspaces/{workspaceId}/invitations", "/v1/workspaces/{workspaceId}/invitations/{invitationId}");
    vec![
        Endpoint::post(all, "createWorkspace", tag, write, "Creates a workspace, and invites its members.")
            .described(
                "Its first owner is the user who sends the request, or who answers for the API key. Owners and admins are invited with the scope \
                 `admin` alone: 403 otherwise.",
            )
            .takes::<CreateWorkspace>()
            .creates(create),
        Endpoint::get(all, "listWorkspaces", tag, read, "Lists the workspaces of which the caller is a member.")
            .lists(&["createdAt"], list),
        Endpoint::get(one, "getWorkspace", tag, read, "Returns a workspace.").answered_past_plan().reads(get),
        Endpoint::patch(one, "updateWorkspace", tag, write, "Changes a workspace.")
            .answered_past_plan()
            .takes::<UpdateWorkspace>()
            .acts(update),
        Endpoint::delete(one, "deleteWorkspace", tag, write, "Deletes a workspace that has nothing left in it.")
            .described(
                "Blockchains, deployments, dApps, projects, webhooks, OAuth clients and live API keys must be gone: 409 says how many there are. \
                 Members, invitations and the managed wallet go with it. The audit log stays. The default workspace, `ws_default`, can't be deleted: \
                 409. The key of the wallet is destroyed: what others paid it on blockchains of other workspaces, where the service never signs \
                 for it, stays there.",
            )
            .may_end_access()
            .acts(delete),
        Endpoint::put("/v1/workspaces/{workspaceId}/plan", "setWorkspacePlan", tag, Access::Scope(Scope::Admin), "Gives a workspace a plan.")
            .described(
                "For operators of the service: callers with the scope `admin` in its default workspace. They give any workspace any plan that is \
                 configured, whoever made it. To members of the workspace it is 403, and 404 to all others. The new plan counts within seconds. \
                 The audit logs of the workspace and of the operators have a line of it.",
            )
            .of_operators()
            .takes::<GivenPlan>()
            .acts(give_plan),
        Endpoint::get("/v1/workspaces/{workspaceId}/usage", "getUsage", tag, read, "Lists what the workspace used in the present period of 30 days.")
            .answered_past_plan()
            .lists(&["id"], usage),
        Endpoint::get("/v1/workspaces/{workspaceId}/audit", "listAuditLines", tag, Access::Scope(Scope::Admin), "Lists who did what, the oldest first.")
            .lists(&["createdAt"], audit),
        Endpoint::get(members, "listMembers", tag, read, "Lists the members.")
            .answered_past_plan()
            .lists(&["createdAt"], list_members),
        Endpoint::patch(member, "changeMemberRole", tag, write, "Changes the role of a member.")
            .described("The credentials need all the scopes of the former and the new role: 403 names one that is missing.")
            .may_end_access()
            .takes::<ChangeRole>()
            .acts(change_role),
        Endpoint::delete(member, "removeMember", tag, read, "Removes a member, and revokes the API keys that it made.")
            .may_need(&[(Scope::WorkspaceWrite, "to remove another, and of an owner or admin who leaves")])
            .described(
                "The member and its keys take no part in the workspace's blockchains with the feature `privacy` any more: they are off the lists \
                 of participants, and a participant may put the member back as one from outside. Where it is the last participant, who removes \
                 it takes its place; a member who leaves by itself is refused with 409, which names the blockchains.",
            )
            .answered_past_plan()
            .may_end_access()
            .acts(remove_member),
        Endpoint::post(invitations, "inviteMember", tag, write, "Invites somebody by e-mail.")
            .described(
                "The credentials need all the scopes of the role: 403 names one that is missing. The invitation can be accepted for seven days. A \
                 workspace, and a user in all workspaces, sends a bounded number of invitations within any hour, 100 unless the operators say \
                 otherwise: 429 past it.",
            )
            .takes::<Invitee>()
            .creates(invite),
        Endpoint::get(invitations, "listInvitations", tag, read, "Lists the invitations, also those that have expired.")
            .described(
                "One that was accepted or withdrawn is gone. One that has expired stays for 30 days with the status `expired`, unless its address \
                 is invited again.",
            )
            .answered_past_plan()
            .lists(&["createdAt"], list_invitations),
        Endpoint::delete(invitation, "withdrawInvitation", tag, write, "Withdraws an invitation.")
            .answered_past_plan()
            .acts(withdraw),
    ]
}

fn create(app: &App, request: &Request, body: CreateWorkspace) -> Result<Change<WorkspaceView>, ApiError> {
    let settings = body.settings.unwrap_or_default();
    let mut workspace = Workspace::named(&body.name);
    workspace.description = body.description.unwrap_or_default();
    workspace.default_network = settings.default_network;
    if let Some(plan) = settings.billing_plan {
        workspace.billing_plan = plan;
    }
    let (platform, caller) = (app.platform().clone(), request.principal()?.clone());
    Ok(Change::unit(move |unit| {
        let workspaces = platform.workspaces();
        let (stored, owner) = workspaces.create_by(unit, &caller, workspace)?;
        for invitee in body.members.unwrap_or_default() {
            let role = invitee.role.map_or(Role::Developer, Role::from);
            workspaces.members().invite_to_new(unit, &owner, &invitee.email, role)?;
        }
        let wallet = workspaces.wallet_in(unit, &stored)?;
        Ok(WorkspaceView::new(&stored, wallet))
    }))
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<WorkspaceView>, u64), ApiError> {
    let (found, total) = app.platform().workspaces().page_of_caller(request.principal()?, &page.request())?;
    let views = found.iter().map(|stored| Ok(WorkspaceView::new(stored, wallet_of(app, stored)?)));
    Ok((views.collect::<Result<_, ApiError>>()?, total))
}

fn get(app: &App, request: &Request) -> Result<WorkspaceView, ApiError> {
    let stored = app.platform().workspaces().get(request.principal()?)?;
    Ok(WorkspaceView::new(&stored, wallet_of(app, &stored)?))
}

fn wallet_of(app: &App, workspace: &Stored<Workspace>) -> Result<Option<Address>, PlatformError> {
    Ok(app.platform().wallets().managed(workspace.owner())?.map(|wallet| wallet.value.address))
}

fn update(app: &App, request: &Request, body: UpdateWorkspace) -> Result<Change<WorkspaceView>, ApiError> {
    let (platform, principal) = (app.platform().clone(), request.principal()?.clone());
    Ok(Change::unit(move |unit| {
        let mut stored = unit.of::<Workspace>().require(&principal.owner(), principal.owner().as_str())?;
        let settings = body.settings.unwrap_or_default();
        let workspace = &mut stored.value;
        workspace.name = body.name.unwrap_or_else(|| workspace.name.clone());
        workspace.description = body.description.unwrap_or_else(|| workspace.description.clone());
        workspace.default_network = settings.default_network.or_else(|| workspace.default_network.clone());
        workspace.billing_plan = settings.billing_plan.unwrap_or_else(|| workspace.billing_plan.clone());
        let stored = platform.workspaces().update(unit, &principal, &stored)?;
        let wallet = platform.workspaces().wallet_in(unit, &stored)?;
        Ok(WorkspaceView::new(&stored, wallet))
    }))
}

fn delete(app: &App, request: &Request) -> Result<Change<Deleted>, ApiError> {
    let (platform, principal) = (app.platform().clone(), request.principal()?.clone());
    Ok(Change::unit(move |unit| {
        platform.workspaces().delete(unit, &principal)?;
        Ok(Deleted::of(principal.owner().as_str()))
    }))
}

fn give_plan(app: &App, request: &Request, body: GivenPlan) -> Result<Change<WorkspacePlanView>, ApiError> {
    let workspace = request.path("workspaceId").to_owned();
    in_workspace(app, request, move |workspaces, unit, principal| {
        let given = workspaces.give_plan(unit, principal, &workspace, &body.billing_plan)?;
        Ok(WorkspacePlanView { id: workspace, billing_plan: given.value.billing_plan })
    })
}

fn usage(app: &App, request: &Request, page: &Page) -> Result<(Vec<UsageView>, u64), ApiError> {
    let principal = request.principal()?;
    let all: Vec<UsageView> = app
        .platform()
        .usage(principal)?
        .into_iter()
        .map(|(usage, used, limit): (Usage, u64, Option<u64>)| UsageView { id: usage.name(), used, limit })
        .collect();
    let total = all.len() as u64;
    Ok((page.select(all), total))
}

fn audit(app: &App, request: &Request, page: &Page) -> Result<(Vec<AuditView>, u64), ApiError> {
    let (principal, lines) = (request.principal()?, app.platform().records().of::<AuditLine>());
    let found = lines.page(&Index::CREATED, &principal.owner(), &SortKey::new(), &page.request())?;
    AuditView::page(app, principal, &found)
}

fn list_members(app: &App, request: &Request, page: &Page) -> Result<(Vec<MemberView>, u64), ApiError> {
    let (workspaces, owner) = (app.platform().workspaces(), request.principal()?.owner());
    let found = workspaces.members().all().page(&Index::CREATED, &owner, &SortKey::new(), &page.request())?;
    let views = found.items.iter().map(|stored| member_view(stored, workspaces.email_of(stored.id())?));
    Ok((views.collect::<Result<_, ApiError>>()?, found.total))
}

fn member_view(stored: &Stored<Member>, email: String) -> Result<MemberView, ApiError> {
    let created_at = clock::iso_8601(stored.created_at_ms());
    Ok(MemberView { id: stored.id().to_owned(), email, role: stored.value.role.name(), created_at })
}

fn change_role(app: &App, request: &Request, body: ChangeRole) -> Result<Change<MemberView>, ApiError> {
    let user = request.path("userId").to_owned();
    in_workspace(app, request, move |workspaces, unit, principal| {
        let stored = workspaces.members().change_role(unit, principal, &user, body.role.into())?;
        let email = workspaces.email_of(&user)?;
        let created_at = clock::iso_8601(stored.created_at_ms());
        Ok(MemberView { id: user, email, role: stored.value.role.name(), created_at })
    })
}

fn remove_member(app: &App, request: &Request) -> Result<Change<Deleted>, ApiError> {
    let user = request.path("userId").to_owned();
    in_workspace(app, request, move |workspaces, unit, principal| {
        workspaces.members().remove(unit, principal, &user)?;
        Ok(Deleted::of(&user))
    })
}

fn invite(app: &App, request: &Request, body: Invitee) -> Result<Change<InvitationView>, ApiError> {
    in_workspace(app, request, move |workspaces, unit, principal| {
        let role = body.role.map_or(Role::Developer, Role::from);
        let (stored, _) = workspaces.members().invite(unit, principal, &body.email, role)?;
        Ok(InvitationView::new(&stored, unit.now_ms()))
    })
}

fn list_invitations(app: &App, request: &Request, page: &Page) -> Result<(Vec<InvitationView>, u64), ApiError> {
    let (invitations, owner) = (app.platform().records().of::<Invitation>(), request.principal()?.owner());
    let found = invitations.page(&Index::CREATED, &owner, &SortKey::new(), &page.request())?;
    let now_ms = app.now_ms();
    Ok((found.items.iter().map(|stored| InvitationView::new(stored, now_ms)).collect(), found.total))
}

fn withdraw(app: &App, request: &Request) -> Result<Change<Deleted>, ApiError> {
    let id = request.path("invitationId").to_owned();
    in_workspace(app, request, move |workspaces, unit, principal| {
        workspaces.members().withdraw(unit, principal, &id)?;
        Ok(Deleted::of(&id))
    })
}

/// A change by the rules of workspaces.
fn in_workspace<T: 'static>(
    app: &App,
    request: &Request,
    change: impl FnOnce(&crate::platform::Workspaces<'_>, &mut Unit<'_>, &Principal) -> Result<T, PlatformError>
    + Send
    + 'static,
) -> Result<Change<T>, ApiError> {
    let (platform, principal) = (app.platform().clone(), request.principal()?.clone());
    Ok(Change::unit(move |unit| change(&platform.workspaces(), unit, &principal)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_repeated_is_named_by_its_place() {
        let fields = |emails: &[&str]| {
            let members: Vec<Value> = emails.iter().map(|email| json!({ "email": email })).collect();
            let body: CreateWorkspace = serde_json::from_value(json!({ "name": "w", "members": members })).unwrap();
            body.check().into_iter().map(|field| field.path).collect::<Vec<_>>()
        };
        assert_eq!(fields(&["ann@example.org", "Ann@Example.org"]), ["members[1].email"]);
        assert_eq!(
            fields(&["a@b", "c@d", "A@b", "C@D", "a@B"]),
            ["members[2].email", "members[3].email", "members[4].email"]
        );
        assert!(fields(&["ann@example.org", "ben@example.org"]).is_empty() && fields(&[]).is_empty());
    }
}
