//! Everything in a workspace as one list.

use super::{
    ApiKey, BlockchainRecord, DeploymentRecord, PlatformError, Workspace,
    context::Context,
    principal::Principal,
    records::{Index, Record, SortKey, Stored},
    scope::Scope,
};

/// Type of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    /// A workspace.
    Workspace,
    /// An API key.
    ApiKey,
    /// A blockchain.
    Blockchain,
    /// A contract that was deployed.
    Contract,
}

impl ResourceKind {
    /// Every type.
    pub const ALL: [Self; 4] = [Self::Workspace, Self::ApiKey, Self::Blockchain, Self::Contract];

    /// Name of the type in the service.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::ApiKey => "api-key",
            Self::Blockchain => "blockchain",
            Self::Contract => "contract",
        }
    }

    /// Returns the type with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Scope of those who may see it.
    const fn scope(self) -> Scope {
        match self {
            Self::Workspace | Self::ApiKey => Scope::WorkspaceRead,
            Self::Blockchain | Self::Contract => Scope::BlockchainRead,
        }
    }
}

/// A resource, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceSummary {
    /// Id of the resource.
    pub id: String,
    /// Its type.
    pub kind: ResourceKind,
    /// Its name; empty for one without.
    pub name: String,
    /// Id of its workspace.
    pub workspace_id: String,
    /// Id of the blockchain that it is on.
    pub blockchain_id: Option<String>,
    /// Its state, as its own route tells it.
    pub status: String,
    /// Time of creation, in milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// Time of the last change, in milliseconds since the Unix epoch.
    pub updated_at_ms: u64,
}

/// Returns the resources of a principal's workspace that it may see.
pub(super) fn of(
    context: &Context,
    principal: &Principal,
    only: Option<ResourceKind>,
) -> Result<Vec<ResourceSummary>, PlatformError> {
    let mut found = Vec::new();
    let now_ms = context.records.clock().now_ms();
    let is_wanted = |kind: ResourceKind| principal.may(kind.scope()) && only.is_none_or(|only| only == kind);
    for kind in ResourceKind::ALL.into_iter().filter(|kind| is_wanted(*kind)) {
        match kind {
            ResourceKind::Workspace => add::<Workspace>(context, principal, &mut found, |stored| {
                summary(stored, kind, &stored.value.name, None, "active")
            })?,
            ResourceKind::ApiKey => add::<ApiKey>(context, principal, &mut found, |stored| {
                summary(stored, kind, &stored.value.name, None, stored.value.status(now_ms))
            })?,
            ResourceKind::Blockchain => add::<BlockchainRecord>(context, principal, &mut found, |stored| {
                summary(stored, kind, &stored.value.spec.name, Some(stored.id()), stored.value.state.name())
            })?,
            ResourceKind::Contract => add::<DeploymentRecord>(context, principal, &mut found, |stored| {
                let deployment = &stored.value;
                summary(stored, kind, &deployment.template, Some(&deployment.blockchain_id), "sent")
            })?,
        }
    }
    Ok(found)
}

fn add<T: Record>(
    context: &Context,
    principal: &Principal,
    found: &mut Vec<ResourceSummary>,
    summary: impl Fn(&Stored<T>) -> ResourceSummary,
) -> Result<(), PlatformError> {
    let (all, owner) = (context.records.of::<T>(), principal.owner());
    all.for_each(&Index::CREATED, &owner, &SortKey::new(), |stored| {
        found.push(summary(&stored));
        Ok::<_, PlatformError>(())
    })
}

fn summary<T>(
    stored: &Stored<T>,
    kind: ResourceKind,
    name: &str,
    blockchain_id: Option<&str>,
    status: &str,
) -> ResourceSummary {
    ResourceSummary {
        id: stored.id().to_owned(),
        kind,
        name: name.to_owned(),
        workspace_id: stored.owner().as_str().to_owned(),
        blockchain_id: blockchain_id.map(str::to_owned),
        status: status.to_owned(),
        created_at_ms: stored.created_at_ms(),
        updated_at_ms: stored.updated_at_ms(),
    }
}
