//! Everything in a workspace as one list.

use super::{
    ApiKey, BlockchainRecord, DappRecord, Dapps, DeploymentRecord, HostedModule, Invitation, Member, Modules,
    OAuthClient, PlatformError, Project, Projects, TransactionOutcome, Wallet, WalletUse, Webhook, Workspace,
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
    /// A blockchain.
    Blockchain,
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
    pub const ALL: [Self; 12] = [
        Self::Workspace,
        Self::ApiKey,
        Self::Blockchain,
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

    /// Name of the type in the service.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::ApiKey => "api-key",
            Self::Blockchain => "blockchain",
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

    /// Scope of those who may see it.
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
    /// By name; that of a contract is its template's, of a webhook its receiver, of an invitation the address of e-mail. A member has none.
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

/// Returns a page of the resources of a principal's workspace that it may see, and the length of the whole list. Read are the entries of
/// indices up to the page, and the page's records.
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
    let (owner, mut total, mut sources) = (principal.owner(), 0_u64, Vec::new());
    for kind in &kinds {
        let (entries, count) = kind.entries(context, &owner, sort, request.order)?;
        total = total.saturating_add(count);
        sources.push((entries, count));
    }
    let places = match sort {
        ResourceSort::Kind => chained_page(&mut sources, request)?,
        _ => {
            let mut entries: Vec<Entries<'_>> = sources.into_iter().map(|(entries, _)| entries).collect();
            merged_page(&mut entries, request)?
        }
    };
    let mut found = Vec::with_capacity(places.len());
    for (number, id) in places {
        if let Some(kind) = kinds.get(number) {
            // One that was deleted meanwhile is left out.
            found.extend(Reader { blockchains, principal, kind: *kind }.read(&owner, &id)?);
        }
    }
    Ok((found, total))
}

impl ResourceKind {
    /// Returns an owner's resources of the type in order, and how many there are.
    fn entries<'a>(
        self,
        context: &'a Context,
        owner: &Owner,
        sort: ResourceSort,
        order: Order,
    ) -> Result<(Entries<'a>, u64), RecordError> {
        let all = Lister { context, owner, sort, order };
        match self {
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
        }
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
                let now_ms = self.blockchains.context.records.clock().now_ms();
                Ok((stored.value.name.clone(), None, stored.value.status(now_ms)))
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
                Ok((stored.value.email.clone(), None, stored.value.status(now_ms)))
            }),
        }
    }

    fn contract(self, deployment: &DeploymentRecord) -> Result<Described, PlatformError> {
        let sight = self.blockchains.sight(self.principal, &deployment.blockchain_id)?;
        let status = match sight.chain() {
            Some(chain) => TransactionOutcome::of(chain, deployment.transaction_hash)?.state.of_deployment(),
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

#[cfg(test)]
mod tests {
    use core::{num::NonZeroUsize, time::Duration};
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::{
        node::ManualClock,
        platform::{
            ApiKeySpec, BlockchainSpec, ClientRegistration, DeploymentSpec, Platform, Role, records::Unit,
            vault::MasterKey,
        },
        primitives::Timestamp,
        store::{Batch, KeyValue, MemoryStore, Table, suite},
    };

    fn open(store: &Arc<MemoryStore>, clock: &Arc<ManualClock>) -> Platform {
        let store: Arc<dyn KeyValue> = store.clone();
        let key = MasterKey::new([7; 32].into());
        Platform::builder(clock.clone()).with_store(store).open_with(None, key, Vec::new()).unwrap()
    }

    /// A workspace with resources of every type, several of one name, some changed in another order than they were made in.
    fn filled() -> (Arc<MemoryStore>, Arc<ManualClock>, Platform) {
        let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(ManualClock::new(Timestamp::from_secs(1_000))));
        let platform = open(&store, &clock);
        let me = platform.service_principal();
        let mut keys = Vec::new();
        for number in 0..140_u32 {
            // Some at one moment.
            if number % 3 == 0 {
                clock.advance(Duration::from_secs(1));
            }
            let scopes = [Scope::BlockchainRead].into_iter().collect();
            let spec = ApiKeySpec { name: format!("n{}", number % 7), scopes, lifetime_ms: None };
            keys.push(platform.unit(|unit| platform.api_keys().create(unit, &me, spec)).unwrap().1.id().to_owned());
        }
        for name in ["n3", "n1"] {
            clock.advance(Duration::from_secs(1));
            let spec = BlockchainSpec::read(json!({ "name": name })).unwrap();
            let chain = platform.blockchains().create(&me, spec).unwrap();
            platform.blockchains().deploy(&me, DeploymentSpec::gold(chain.id())).unwrap();
        }
        for (number, name) in ["n2", "n0"].into_iter().enumerate() {
            clock.advance(Duration::from_secs(1));
            let client = json!({ "client_name": name, "redirect_uris": ["https://a.example/"] });
            let client = ClientRegistration::read(&client).unwrap();
            platform.unit(|unit| platform.oauth().register(unit, &me, client).map(drop)).unwrap();
            let (url, id) = (format!("https://{name}.example/"), format!("wh_{number}"));
            let webhook = Webhook { url, events: Vec::new(), is_enabled: number == 0, blockchain_id: None };
            platform.unit(|unit| platform.webhooks().create(unit, &me, &id, webhook, "0123456789abcdef")).unwrap();
            let invited = format!("{name}@example.org");
            platform.unit(|unit| platform.workspaces().members().invite(unit, &me, &invited, Role::Viewer)).unwrap();
        }
        let user = platform.unit(|unit| platform.workspaces().add_user(unit, "ann@example.org")).unwrap();
        let member = |unit: &mut Unit<'_>| Ok(unit.insert(&me.owner(), user.id(), Member { role: Role::Viewer })?);
        platform.unit(member).unwrap();
        for id in [&keys[90], &keys[10], &keys[50]] {
            clock.advance(Duration::from_secs(1));
            platform.unit(|unit| platform.api_keys().revoke(unit, &me, id)).unwrap();
        }
        (store, clock, platform)
    }

    fn request(number: usize, limit: usize, order: Order) -> PageRequest {
        let nonzero = |number| NonZeroUsize::new(number).unwrap();
        PageRequest::first(nonzero(limit)).with_number(nonzero(number)).in_order(order)
    }

    #[test]
    fn every_page_of_every_order_is_that_of_the_sorted_list() {
        let (_, _, platform) = filled();
        let me = platform.service_principal();
        let page = |kind, sort, request: &PageRequest| platform.resources(&me, kind, sort, request).unwrap();
        for kind in [None, Some(ResourceKind::ApiKey), Some(ResourceKind::Contract), Some(ResourceKind::Webhook)] {
            let (all, total) = page(kind, ResourceSort::CreatedAt, &request(1, 1_000, Order::Ascending));
            assert_eq!(all.len() as u64, total);
            let wallets = 1 + 2;
            assert!(kind.is_some() || total == 140 + 2 + 2 + 1 + wallets + 2 + 2 + 2 + 1, "{total}");
            for sort in [ResourceSort::CreatedAt, ResourceSort::Name, ResourceSort::Kind, ResourceSort::UpdatedAt] {
                let mut sorted = all.clone();
                sorted.sort_by_key(|one| {
                    let field = match sort {
                        ResourceSort::CreatedAt => format!("{:020}", one.created_at_ms),
                        ResourceSort::UpdatedAt => format!("{:020}", one.updated_at_ms),
                        ResourceSort::Name => one.name.clone(),
                        ResourceSort::Kind => one.kind.name().to_owned(),
                    };
                    (field, one.id.clone())
                });
                for order in [Order::Ascending, Order::Descending] {
                    for limit in [1, 7, 100] {
                        let pages = all.len().div_ceil(limit);
                        for number in [1, 2, pages / 2 + 1, pages, pages + 1] {
                            let (found, of) = page(kind, sort, &request(number, limit, order));
                            let wanted = sorted.iter().skip((number - 1) * limit).take(limit);
                            assert_eq!(of, total);
                            assert_eq!(
                                found.iter().collect::<Vec<_>>(),
                                wanted.collect::<Vec<_>>(),
                                "{kind:?} {sort:?} {order:?} {limit} {number}"
                            );
                        }
                    }
                    sorted.reverse();
                }
            }
        }
        assert_eq!(platform.records().verify::<ApiKey>().unwrap(), 140);
    }

    #[test]
    fn a_store_from_before_the_indices_gets_them() {
        let (store, clock, platform) = filled();
        let me = platform.service_principal();
        let names = |platform: &Platform| {
            platform.resources(&me, None, ResourceSort::Name, &request(1, 1_000, Order::Ascending)).unwrap()
        };
        let before = names(&platform);
        drop(platform);
        let mut batch = Batch::new();
        let prefix = |rest: &str| [b"\xffplatform/", rest.as_bytes()].concat();
        let mut removed = vec![prefix("c-\0resources-indexed")];
        let kinds = ["key", "workspace", "webhook", "wallet", "oauth-client", "member", "invitation"];
        let of_lists = kinds.iter().flat_map(|kind| ["name", "updated"].map(|index| format!("{kind}\0{index}\0")));
        for of in of_lists.chain(["key\0id\0".to_owned()]) {
            removed.extend([prefix(&format!("i{of}")), prefix(&format!("n{of}"))]);
        }
        for (_, key, _) in suite::dump(&*store) {
            if removed.iter().any(|prefix| key.starts_with(prefix)) {
                batch.delete(Table::Platform, key);
            }
        }
        store.write(batch).unwrap();
        let platform = open(&store, &clock);
        assert_eq!(platform.records().verify::<ApiKey>().unwrap(), 140);
        assert_eq!(platform.records().verify::<Workspace>().unwrap(), 1);
        assert_eq!(platform.records().verify::<Wallet>().unwrap(), 3);
        assert_eq!(platform.records().verify::<Invitation>().unwrap(), 2);
        assert_eq!(names(&platform), before);
    }
}
