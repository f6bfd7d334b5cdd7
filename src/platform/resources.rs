//! Everything that a caller may see as one list: what its workspace has in the store, what is on its chains, and the chains of others that it
//! may read.

mod on_chain;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use self::on_chain::OnChain;
use super::{
    ApiKey, BlockchainRecord, DappRecord, Dapps, DeploymentRecord, HostedModule, Invitation, Member, Modules,
    OAuthClient, PlatformError, Project, Projects, Wallet, WalletUse, Webhook, Workspace,
    blockchains::Blockchains,
    context::Context,
    principal::Principal,
    records::{
        Entries, Index, Owner, PageRequest, Record, RecordError, Records, SortKey, Stored, chained_page, merged_page,
    },
    scope::Scope,
};
use crate::store::Order;

/// Type of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    /// A workspace.
    Workspace,
    /// An API key.
    ApiKey,
    /// A blockchain: one of the workspace, and those of others that the caller may read.
    Blockchain,
    /// A validator of one of the workspace's chains that run.
    Validator,
    /// A proposal on one of the workspace's chains that run: of each the newest [`ResourceKind::PROPOSALS_OF_CHAIN_MAX`].
    Proposal,
    /// A contract that was deployed.
    Contract,
    /// A module of a chain that the service enabled.
    Module,
    /// A project.
    Project,
    /// A dApp.
    Dapp,
    /// A subscription to events.
    Webhook,
    /// A wallet that the service signs for.
    Wallet,
    /// A client of the authorization server.
    OAuthClient,
    /// A member of the workspace, by the id of its user.
    Member,
    /// An invitation to the workspace.
    Invitation,
}

impl ResourceKind {
    /// Every type.
    pub const ALL: [Self; 14] = [
        Self::Workspace,
        Self::ApiKey,
        Self::Blockchain,
        Self::Validator,
        Self::Proposal,
        Self::Contract,
        Self::Module,
        Self::Project,
        Self::Dapp,
        Self::Webhook,
        Self::Wallet,
        Self::OAuthClient,
        Self::Member,
        Self::Invitation,
    ];

    /// Proposals of one chain in the list; the chain's own list has the others.
    pub const PROPOSALS_OF_CHAIN_MAX: u64 = 100;

    /// Name of the type in the service.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::ApiKey => "api-key",
            Self::Blockchain => "blockchain",
            Self::Validator => "validator",
            Self::Proposal => "proposal",
            Self::Contract => "contract",
            Self::Module => "module",
            Self::Project => "project",
            Self::Dapp => "dapp",
            Self::Webhook => "webhook",
            Self::Wallet => "wallet",
            Self::OAuthClient => "oauth-client",
            Self::Member => "member",
            Self::Invitation => "invitation",
        }
    }

    /// Returns the type with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Scope of those who may see it: that of the list of its own.
    const fn scope(self) -> Scope {
        match self {
            Self::Workspace
            | Self::ApiKey
            | Self::Project
            | Self::Webhook
            | Self::Wallet
            | Self::OAuthClient
            | Self::Member
            | Self::Invitation => Scope::WorkspaceRead,
            Self::Blockchain | Self::Contract | Self::Module | Self::Dapp => Scope::BlockchainRead,
            Self::Validator => Scope::ValidatorRead,
            Self::Proposal => Scope::GovernanceRead,
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
    /// Its state, as its own route tells it; `unavailable` while the caller can't read the chain that knows it.
    pub status: String,
    /// Time of creation, in milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// Time of the last change, in milliseconds since the Unix epoch.
    pub updated_at_ms: u64,
}

/// Order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceSort {
    /// By time of creation.
    CreatedAt,
    /// By name; that of a contract is its template's, of a webhook its receiver, of an invitation the address of e-mail, of a proposal its title.
    /// A member has none.
    Name,
    /// By the name of the type.
    Kind,
    /// By time of the last change.
    UpdatedAt,
}

/// Counter of the sets of indices that have what was in the store before they were.
const INDEXED: &str = "resources-indexed";
/// Sets of indices that there are.
const INDEX_SETS: u64 = 2;

/// Completes the indices of the list in a store that was written before they were.
pub(super) fn complete_indices(records: &Records) -> Result<(), RecordError> {
    let complete = records.counter(&Owner::Service, INDEXED)?;
    if complete >= INDEX_SETS {
        return Ok(());
    }
    records.complete_indices::<Workspace>()?;
    records.complete_indices::<ApiKey>()?;
    records.complete_indices::<BlockchainRecord>()?;
    records.complete_indices::<DeploymentRecord>()?;
    records.complete_indices::<Webhook>()?;
    records.complete_indices::<Wallet>()?;
    records.complete_indices::<OAuthClient>()?;
    records.complete_indices::<Member>()?;
    records.complete_indices::<Invitation>()?;
    records.unit(|unit| unit.add(&Owner::Service, INDEXED, INDEX_SETS.saturating_sub(complete)).map(drop))
}

/// Resources of one type in order, and those of them that were read already, by their ids.
struct Source<'a> {
    kind: ResourceKind,
    entries: Entries<'a>,
    count: u64,
    read: BTreeMap<String, ResourceSummary>,
}

/// Returns a page of the resources that a principal may see, and the length of the whole list. Read are the entries of indices up to the
/// page, the page's records, and of what is on chains everything of the wanted types.
pub(super) fn page(
    blockchains: Blockchains<'_>,
    principal: &Principal,
    only: Option<ResourceKind>,
    sort: ResourceSort,
    request: &PageRequest,
) -> Result<(Vec<ResourceSummary>, u64), PlatformError> {
    let context = blockchains.context;
    let is_wanted = |kind: &ResourceKind| principal.may(kind.scope()) && only.is_none_or(|only| only == *kind);
    let mut kinds: Vec<ResourceKind> = ResourceKind::ALL.into_iter().filter(is_wanted).collect();
    kinds.sort_by_key(|kind| kind.name());
    if request.order == Order::Descending {
        kinds.reverse();
    }
    let (owner, mut sources) = (principal.owner(), Vec::new());
    for kind in kinds {
        if let Some((entries, count)) = kind.entries(context, &owner, sort, request.order)? {
            sources.push(Source { kind, entries, count, read: BTreeMap::new() });
        }
        let found = OnChain { blockchains, principal }.of(kind)?;
        if !found.is_empty() {
            sources.push(Source::of_read(context, kind, found, sort, request.order));
        }
    }
    let total = sources.iter().fold(0_u64, |total, source| total.saturating_add(source.count));
    let places = match sort {
        ResourceSort::Kind => {
            chained_page(sources.iter_mut().map(|source| (&mut source.entries, source.count)), request)?
        }
        _ => {
            let mut entries: Vec<&mut Entries<'_>> = sources.iter_mut().map(|source| &mut source.entries).collect();
            merged_page(&mut entries, request)?
        }
    };
    let mut found = Vec::with_capacity(places.len());
    for (number, id) in places {
        let Some(source) = sources.get_mut(number) else { continue };
        match source.read.remove(&id) {
            Some(read) => found.push(read),
            // One that was deleted meanwhile is left out.
            None => found.extend(Reader { blockchains, principal, kind: source.kind }.read(&owner, &id)?),
        }
    }
    Ok((found, total))
}

impl<'a> Source<'a> {
    /// Puts what was read in order.
    fn of_read(
        context: &'a Context,
        kind: ResourceKind,
        found: Vec<ResourceSummary>,
        sort: ResourceSort,
        order: Order,
    ) -> Self {
        let key_of = |one: &ResourceSummary| match sort {
            ResourceSort::CreatedAt => SortKey::new().number(one.created_at_ms),
            ResourceSort::UpdatedAt => SortKey::new().number(one.updated_at_ms),
            ResourceSort::Name => SortKey::new().text(&one.name),
            ResourceSort::Kind => SortKey::new(),
        };
        let listed = found.iter().map(|one| (key_of(one), one.workspace_id.as_str(), one.id.as_str()));
        let entries = context.records.listed(listed, order);
        let count = u64::try_from(found.len()).unwrap_or(u64::MAX);
        Self { kind, entries, count, read: found.into_iter().map(|one| (one.id.clone(), one)).collect() }
    }
}

impl ResourceKind {
    /// Returns an owner's resources of the type that the store has in order, and how many there are; `None` where it has none of the type.
    fn entries<'a>(
        self,
        context: &'a Context,
        owner: &Owner,
        sort: ResourceSort,
        order: Order,
    ) -> Result<Option<(Entries<'a>, u64)>, RecordError> {
        let all = Lister { context, owner, sort, order };
        let listed = match self {
            Self::Workspace => all.list(&Workspace::BY_NAME),
            Self::ApiKey => all.list(&ApiKey::BY_NAME),
            Self::Blockchain => all.list(&BlockchainRecord::BY_NAME),
            Self::Contract => all.list(&DeploymentRecord::BY_TEMPLATE),
            Self::Module => all.list(&HostedModule::BY_NAME),
            Self::Project => all.list(&Project::BY_NAME),
            Self::Dapp => all.list(&DappRecord::BY_NAME),
            Self::Webhook => all.list(&Webhook::BY_URL),
            Self::Wallet => all.list(&Wallet::BY_NAME),
            Self::OAuthClient => all.list(&OAuthClient::BY_NAME),
            Self::Member => all.list(&Member::BY_NAME),
            Self::Invitation => all.list(&Invitation::BY_NAME),
            Self::Validator | Self::Proposal => return Ok(None),
        };
        listed.map(Some)
    }
}

/// Reads the resources of a page, each with its state.
#[derive(Clone, Copy)]
struct Reader<'a> {
    blockchains: Blockchains<'a>,
    principal: &'a Principal,
    kind: ResourceKind,
}

impl Reader<'_> {
    fn read(self, owner: &Owner, id: &str) -> Result<Option<ResourceSummary>, PlatformError> {
        match self.kind {
            ResourceKind::Workspace => {
                self.of::<Workspace>(owner, id, |stored| Ok((stored.value.name.clone(), None, "active")))
            }
            ResourceKind::ApiKey => self.of::<ApiKey>(owner, id, |stored| {
                let records = &self.blockchains.context.records;
                let state = stored.value.state(records.clock().now_ms(), &records.of())?;
                Ok((stored.value.name.clone(), None, state.name()))
            }),
            ResourceKind::Blockchain => self.of::<BlockchainRecord>(owner, id, |stored| {
                let chain = stored.id().to_owned();
                Ok((stored.value.spec.name.clone(), Some(chain), self.blockchains.state(stored).name()))
            }),
            ResourceKind::Contract => self.of::<DeploymentRecord>(owner, id, |stored| self.contract(&stored.value)),
            ResourceKind::Module => self.of::<HostedModule>(owner, id, |stored| self.module(&stored.value)),
            ResourceKind::Project => self.of::<Project>(owner, id, |stored| {
                let state = Projects { blockchains: self.blockchains }.state(self.principal, stored)?;
                Ok((stored.value.name.clone(), Some(stored.value.blockchain_id.clone()), state.name()))
            }),
            ResourceKind::Dapp => self.of::<DappRecord>(owner, id, |stored| {
                let dapps = Dapps { blockchains: self.blockchains };
                let deployed = dapps.outcome(&dapps.sight(self.principal, &stored.value)?, &stored.value)?;
                let status = deployed.map_or(UNAVAILABLE, |deployed| deployed.state.of_deployment());
                Ok((stored.value.name.clone(), stored.value.blockchain_id.clone(), status))
            }),
            ResourceKind::Webhook => self.of::<Webhook>(owner, id, |stored| {
                let status = if stored.value.is_enabled { "enabled" } else { "disabled" };
                Ok((stored.value.url.clone(), stored.value.blockchain_id.clone(), status))
            }),
            ResourceKind::Wallet => self.of::<Wallet>(owner, id, |stored| {
                let chain = match &stored.value.purpose {
                    WalletUse::Managed => None,
                    WalletUse::Treasury(chain) | WalletUse::Operator(chain) => Some(chain.clone()),
                };
                Ok((stored.value.name.clone(), chain, "active"))
            }),
            ResourceKind::OAuthClient => {
                self.of::<OAuthClient>(owner, id, |stored| Ok((stored.value.name.clone(), None, "active")))
            }
            ResourceKind::Member => self.of::<Member>(owner, id, |_| Ok((String::new(), None, "active"))),
            ResourceKind::Invitation => self.of::<Invitation>(owner, id, |stored| {
                let now_ms = self.blockchains.context.records.clock().now_ms();
                let status = if stored.value.is_open(now_ms) { "open" } else { "expired" };
                Ok((stored.value.email.clone(), None, status))
            }),
            ResourceKind::Validator | ResourceKind::Proposal => Ok(None),
        }
    }

    fn contract(self, deployment: &DeploymentRecord) -> Result<Described, PlatformError> {
        let sight = self.blockchains.sight(self.principal, &deployment.blockchain_id)?;
        let status = match sight.chain() {
            Some(chain) => deployment.outcome(chain)?.state.of_deployment(),
            None => UNAVAILABLE,
        };
        Ok((deployment.template.clone(), Some(deployment.blockchain_id.clone()), status))
    }

    fn module(self, module: &HostedModule) -> Result<Described, PlatformError> {
        let (chain, name) = (&module.blockchain_id, module.kind.name());
        let found = Modules { blockchains: self.blockchains }.get(self.principal, chain, name);
        let status = found.map_or(UNAVAILABLE, |module| module.state.name());
        Ok((name.to_owned(), Some(chain.clone()), status))
    }

    /// Reads a record, and describes it by name, chain and state.
    fn of<T: Record>(
        self,
        owner: &Owner,
        id: &str,
        describe: impl FnOnce(&Stored<T>) -> Result<Described, PlatformError>,
    ) -> Result<Option<ResourceSummary>, PlatformError> {
        let Some(stored) = self.blockchains.context.records.of::<T>().get(owner, id)? else { return Ok(None) };
        let (name, blockchain_id, status) = describe(&stored)?;
        Ok(Some(ResourceSummary {
            id: stored.id().to_owned(),
            kind: self.kind,
            name,
            workspace_id: stored.owner().as_str().to_owned(),
            blockchain_id,
            status: status.to_owned(),
            created_at_ms: stored.created_at_ms(),
            updated_at_ms: stored.updated_at_ms(),
        }))
    }
}

/// Name, id of the chain and state of a resource.
type Described = (String, Option<String>, &'static str);

/// State of what is on a chain that the caller can't read at present.
const UNAVAILABLE: &str = "unavailable";

/// What a list of one type is read by.
struct Lister<'a, 'o> {
    context: &'a Context,
    owner: &'o Owner,
    sort: ResourceSort,
    order: Order,
}

impl<'a> Lister<'a, '_> {
    fn list<T: Record>(&self, by_name: &Index<T>) -> Result<(Entries<'a>, u64), RecordError> {
        let (records, owner) = (self.context.records.of::<T>(), self.owner);
        let count = records.count(&Index::CREATED, owner, &SortKey::new())?;
        let entries = match self.sort {
            ResourceSort::CreatedAt => records.entries(&Index::CREATED, owner, self.order),
            ResourceSort::UpdatedAt => records.entries(&Index::UPDATED, owner, self.order),
            ResourceSort::Name => records.entries(by_name, owner, self.order),
            ResourceSort::Kind => records.by_id(owner, self.order),
        };
        Ok((entries, count))
    }
}
