//! dApps: contracts that know each other, deployed by one transaction, and a page that shows them. The page is served under a domain of
//! its own when its owner has proved it.

mod composing;
mod domain;
pub(super) mod record;
mod spec;
mod state;
mod templates;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use alloy_primitives::{Address, hex};

use self::record::{DappDeployment, DappRecord as Dapp};
pub use self::{
    composing::PlannedDapp,
    domain::domain_name,
    record::{CustomDomain, DappComponent, DappFrontend, DappRecord, DappTheme},
    spec::DappSpec,
    state::{ComponentState, DappFigure, DappState},
};
use super::{
    Blockchain, DEFAULT_BLOCKCHAIN_ID, Feature, PlatformError, Sight, TransactionOutcome, Workspace, Workspaces,
    blockchain::BlockchainRecord,
    blockchains::Blockchains,
    context::audit,
    entropy::random_bytes,
    principal::{Principal, Subject},
    records::{AuditLine, Collection, Index, Owner, Page, PageRequest, RecordError, Records, SortKey, Stored, Unit},
    scope::Scope,
};
use crate::node::Component;

/// Bytes of a domain's token, before they are written in hex.
const TOKEN_BYTES: usize = 16;

/// Counter that is 1 once the indices of claimed and proved domains have those that were in the store before they were.
const INDEXED: &str = "domains-indexed";

/// Completes the indices of domains in a store that was written before they were.
pub(super) fn complete_indices(records: &Records) -> Result<(), RecordError> {
    records.once(INDEXED, Records::complete_indices::<DappRecord>)
}

/// Changes of a dApp; what is `None` stays. Components can't be changed: their contracts are on the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DappChange {
    /// Another name.
    pub name: Option<String>,
    /// Other colours of the page.
    pub theme: Option<DappTheme>,
    /// Whether everybody may read the page.
    pub is_public: Option<bool>,
    /// Another domain, or none.
    pub domain: Option<Option<String>>,
}

/// Rules of dApps.
#[derive(Clone, Copy, Debug)]
pub struct Dapps<'a> {
    pub(super) blockchains: Blockchains<'a>,
}

impl<'a> Dapps<'a> {
    /// Makes a dApp under an id that was drawn for the request; with that of a dApp of the workspace it sends its transaction if no block
    /// has it, and returns it. `own_hosts` are the names under which the service is reached, which are nobody's domain.
    ///
    /// Without a chain it takes the workspace's default network, where a chain of the workspace has this id or name; else the service's
    /// default chain, if it is the workspace's; else the workspace's only chain.
    ///
    /// # Errors
    /// As [`Blockchains::writable`]; [`PlatformError::Validation`] with the paths of what is wrong; [`PlatformError::Conflict`] for a domain
    /// that another dApp of the workspace has, a full plan, a chain without `smart-contracts`.
    pub fn create(
        &self,
        principal: &Principal,
        id: &str,
        spec: &DappSpec,
        own_hosts: &[String],
    ) -> Result<Stored<DappRecord>, PlatformError> {
        if let Some(known) = self.all().get(&principal.owner(), id)? {
            if let Some(chain) = known.value.blockchain_id.as_ref().filter(|_| known.value.deployment.is_some()) {
                let chain = self.blockchains.writable(principal, chain)?;
                self.blockchains.send_or_take_back(&chain, &known)?;
            }
            return Ok(known);
        }
        let components = spec.components()?;
        let domain = spec.domain.as_deref().map(|name| domain::read(name, own_hosts)).transpose()?;
        self.index_domains()?;
        let domain = domain.map(|name| self.claim(&self.all(), principal, name)).transpose()?;
        let frontend = DappFrontend { theme: spec.theme, is_public: spec.is_public, domain };
        let (name, template) = (spec.name.clone(), spec.template.clone());
        let record = Dapp {
            name,
            template,
            blockchain_id: None,
            components: Vec::new(),
            frontend,
            deployment: None,
            changed_at_ms: 0,
        };
        if components.is_empty() {
            return self.create_page(principal, id, spec, record);
        }
        let chain = self.chain_of(principal, spec)?;
        check_publicity(&chain, spec.is_public)?;
        self.compose(principal, id, &chain, (spec, &components), |deployment: DappDeployment, addresses| Dapp {
            blockchain_id: Some(chain.id().to_owned()),
            components: components
                .iter()
                .zip(addresses)
                .map(|(component, address)| kept(component, *address))
                .collect(),
            deployment: Some(deployment),
            ..record
        })
    }

    /// Makes a dApp without components.
    fn create_page(
        &self,
        principal: &Principal,
        id: &str,
        spec: &DappSpec,
        record: DappRecord,
    ) -> Result<Stored<DappRecord>, PlatformError> {
        if spec.signed_transaction.is_some() {
            let expected = "no transaction of a dApp without components";
            return Err(PlatformError::field("signedTransaction", expected, "one"));
        }
        let blockchain_id = match &spec.blockchain_id {
            Some(named) => {
                let chain = self.blockchains.writable(principal, named)?;
                check_publicity(&chain, spec.is_public)?;
                Some(chain.id().to_owned())
            }
            None => None,
        };
        self.blockchains.context.records.unit(|unit| {
            let record = Dapp { blockchain_id, changed_at_ms: unit.now_ms(), ..record };
            let stored = unit.insert(&principal.owner(), id, record)?;
            audit(unit, principal, "dapp.create", format!("dapp {id}"))?;
            Ok(stored)
        })
    }

    /// Returns a dApp of the principal's workspace.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`].
    pub fn require(&self, principal: &Principal, id: &str) -> Result<Stored<DappRecord>, PlatformError> {
        Ok(self.all().require(&principal.owner(), id)?)
    }

    /// Returns a caller as it acts in the workspace of a dApp: its own, or another in which it may act.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`], also for a dApp of a workspace that is not the caller's.
    pub fn acting_on(&self, caller: &Principal, id: &str) -> Result<Principal, PlatformError> {
        let not_found = || PlatformError::not_found("dapp", id);
        let found = self.all().find(&Dapp::BY_ID, &Owner::Service, &SortKey::new().text(id))?.ok_or_else(not_found)?;
        let workspaces = Workspaces { context: self.blockchains.context };
        workspaces.acting_in(caller, found.owner().as_str()).map_err(|cause| match cause {
            PlatformError::NotFound { .. } => not_found(),
            other => other,
        })
    }

    /// Returns a page of the dApps of the principal's workspace, by the time of their making.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn page(&self, principal: &Principal, request: &PageRequest) -> Result<Page<DappRecord>, PlatformError> {
        Ok(self.all().page(&Index::CREATED, &principal.owner(), &SortKey::new(), request)?)
    }

    /// Changes a dApp. Another domain starts unproved; the dApp's own one stays as it is.
    ///
    /// # Errors
    /// As [`Dapps::require`]; [`PlatformError::Validation`] of the fields of `frontend`; [`PlatformError::Conflict`] for another domain that
    /// another dApp of the workspace has. [`Dapps::index_domains`] comes first.
    pub fn update(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
        change: DappChange,
        own_hosts: &[String],
    ) -> Result<Stored<DappRecord>, PlatformError> {
        let mut stored = unit.of::<DappRecord>().require(&principal.owner(), id)?;
        let DappChange { name, theme, is_public, domain } = change;
        let frontend = &mut stored.value.frontend;
        if let Some(domain) = domain {
            let name = domain.map(|name| domain::read(&name, own_hosts)).transpose()?;
            if name.as_ref() != frontend.domain.as_ref().map(|own| &own.name) {
                frontend.domain = name.map(|name| self.claim(&unit.of(), principal, name)).transpose()?;
            }
        }
        frontend.theme = theme.unwrap_or(frontend.theme);
        frontend.is_public = is_public.unwrap_or(frontend.is_public);
        stored.value.name = name.unwrap_or(stored.value.name);
        stored.value.changed_at_ms = unit.now_ms();
        if let Some(chain) = stored.value.blockchain_id.as_ref().filter(|_| is_public == Some(true)) {
            check_publicity(&*self.blockchains.readable(principal, chain)?, true)?;
        }
        let stored = unit.replace(&stored)?;
        audit(unit, principal, "dapp.update", format!("dapp {id}"))?;
        Ok(stored)
    }

    /// Deletes a dApp and its page. Its contracts stay on the chain.
    ///
    /// # Errors
    /// As [`Dapps::require`].
    pub fn delete(&self, unit: &mut Unit<'_>, principal: &Principal, id: &str) -> Result<(), PlatformError> {
        let stored = unit.of::<DappRecord>().require(&principal.owner(), id)?;
        unit.delete(&stored)?;
        audit(unit, principal, "dapp.delete", format!("dapp {id}"))
    }

    /// Returns the dApp whose page a reader asks for: a public one for everybody; another for its workspace, and for whom may read its
    /// chain and has the scope `blockchain:read`. A reader reads as itself, else as it acts in the dApp's workspace.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`], also for a page that is not the reader's to know of; [`PlatformError::MissingScope`].
    pub fn site(&self, reader: Option<&Principal>, id: &str) -> Result<Stored<DappRecord>, PlatformError> {
        let not_found = || PlatformError::not_found("dapp", id);
        let stored = self.all().find(&Dapp::BY_ID, &Owner::Service, &SortKey::new().text(id))?.ok_or_else(not_found)?;
        if stored.value.frontend.is_public {
            return Ok(stored);
        }
        let reader = reader.ok_or_else(not_found)?;
        if self.reads_page(reader, &stored) {
            reader.require(Scope::BlockchainRead)?;
            return Ok(stored);
        }
        let member = self.acting_on(reader, id)?;
        if !self.reads_page(&member, &stored) {
            return Err(not_found());
        }
        member.require(Scope::BlockchainRead)?;
        Ok(stored)
    }

    /// Whether a page that is not public is for a reader, if it has the scope.
    fn reads_page(&self, reader: &Principal, dapp: &Stored<DappRecord>) -> bool {
        match &dapp.value.blockchain_id {
            Some(chain) => self.blockchains.readable_record(reader, chain).is_ok(),
            None => *dapp.owner() == reader.owner(),
        }
    }

    /// Returns the dApp that has proved a domain, which is in lower case, if its page is public: that page is served there.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn site_of_domain(&self, domain: &str) -> Result<Option<Stored<DappRecord>>, PlatformError> {
        Ok(holder(&self.all(), domain)?.filter(|dapp| dapp.value.frontend.is_public))
    }

    /// Returns the state of a dApp's components at the head of their chain; `None` while that is not in memory, and of a dApp without a
    /// chain. It is for the page alone: who may know it is checked by [`Dapps::site`].
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the chain can't be read.
    pub fn state(&self, dapp: &DappRecord) -> Result<Option<DappState>, PlatformError> {
        self.running_chain(dapp).map(|chain| state::read(&chain, &dapp.components)).transpose()
    }

    /// Returns what became of the transaction of a dApp; `None` while its chain is not in memory. One without components has nothing left
    /// to deploy. It is for the page alone, as [`Dapps::state`]; [`Dapps::outcome`] is for others.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the chain can't be read.
    pub fn deployed(&self, dapp: &DappRecord) -> Result<Option<TransactionOutcome>, PlatformError> {
        outcome(dapp, self.running_chain(dapp).as_deref())
    }

    /// Returns what a principal may see of the chain of a dApp; that of one without a chain is away.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn sight(&self, principal: &Principal, dapp: &DappRecord) -> Result<Sight, PlatformError> {
        dapp.blockchain_id.as_deref().map_or(Ok(Sight::Away), |chain| self.blockchains.sight(principal, chain))
    }

    /// Returns what became of the transaction of a dApp, as far as a principal sees its chain; `None` while it does not. One without
    /// components has nothing left to deploy.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the chain can't be read.
    pub fn outcome(&self, sight: &Sight, dapp: &DappRecord) -> Result<Option<TransactionOutcome>, PlatformError> {
        outcome(dapp, sight.chain().map(|chain| &**chain))
    }

    /// The chain of a dApp, if it is in memory, whoever may read it.
    fn running_chain(&self, dapp: &DappRecord) -> Option<Arc<Blockchain>> {
        self.blockchains.hosted.get(dapp.blockchain_id.as_deref()?)
    }

    /// Completes the indices of domains of an older store, unless they were at the start: the disk may have been full then. Who claims or
    /// proves a name must see who has it. Not to be called in a unit of work.
    ///
    /// # Errors
    /// [`PlatformError::StorageFull`] while the disk is full; [`PlatformError::Internal`] when the store fails.
    pub fn index_domains(&self) -> Result<(), PlatformError> {
        Ok(complete_indices(&self.blockchains.context.records)?)
    }

    /// Returns a dApp with the domain that is to be proved. Not to be called in a unit of work.
    ///
    /// # Errors
    /// As [`Dapps::require`] and [`Dapps::index_domains`]; [`PlatformError::Conflict`] for a dApp without a domain, and for one whose page is
    /// not public.
    pub fn unproved(
        &self,
        principal: &Principal,
        id: &str,
    ) -> Result<(Stored<DappRecord>, CustomDomain), PlatformError> {
        self.index_domains()?;
        let stored = self.require(principal, id)?;
        let conflict = |message: String| PlatformError::Conflict { message };
        let Some(domain) = stored.value.frontend.domain.clone() else {
            return Err(conflict(format!("dapp {id} has no domain: set frontend.customDomain first")));
        };
        if !stored.value.frontend.is_public {
            let message =
                format!("the page of dapp {id} is not public, so {} can't serve it: set frontend.public", domain.name);
            return Err(conflict(message));
        }
        Ok((stored, domain))
    }

    /// Notes that a domain's token was found. The domain must be that of which [`Dapps::unproved`] read the token.
    ///
    /// A proof shows who controls the name now: another dApp that had proved it before has it no more.
    ///
    /// # Errors
    /// As [`Dapps::require`]; [`PlatformError::Conflict`] when it was changed meanwhile.
    pub fn note_proof(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
        proved: &CustomDomain,
    ) -> Result<Stored<DappRecord>, PlatformError> {
        let mut stored = unit.of::<DappRecord>().require(&principal.owner(), id)?;
        let former = holder(&unit.of(), &proved.name)?.filter(|holder| holder.id() != id);
        match &mut stored.value.frontend.domain {
            Some(domain) if domain.name == proved.name && domain.token == proved.token => domain.is_verified = true,
            _ => {
                let message = format!("the domain of dapp {id} was changed while {} was looked up", proved.name);
                return Err(PlatformError::Conflict { message });
            }
        }
        if let Some(former) = former {
            self.unprove(unit, former, &proved.name)?;
        }
        stored.value.changed_at_ms = unit.now_ms();
        let stored = unit.replace(&stored)?;
        audit(unit, principal, "dapp.verify-domain", format!("dapp {id}: {}", proved.name))?;
        Ok(stored)
    }

    /// Takes a domain from the dApp that had proved it. The dApp gets another token, so that neither the former one, which may still be
    /// published, nor a look-up that is under way takes the name back.
    fn unprove(&self, unit: &mut Unit<'_>, mut former: Stored<DappRecord>, name: &str) -> Result<(), PlatformError> {
        let domain = CustomDomain { name: name.to_owned(), token: self.token()?, is_verified: false };
        former.value.frontend.domain = Some(domain);
        former.value.changed_at_ms = unit.now_ms();
        unit.replace(&former)?;
        // Who has proved it may be of another workspace, and is not told.
        let line = AuditLine {
            subject: Subject::Service.to_string(),
            action: "dapp.lose-domain".to_owned(),
            target: format!("dapp {}: {name}", former.id()),
            client: None,
        };
        Ok(unit.audit(former.owner(), line)?)
    }

    fn all(&self) -> Collection<'a, DappRecord> {
        self.blockchains.context.records.of()
    }

    /// Claims a domain, with a token of its own. A claim keeps no other workspace from the name.
    fn claim(
        &self,
        dapps: &Collection<'_, DappRecord>,
        principal: &Principal,
        name: String,
    ) -> Result<CustomDomain, PlatformError> {
        let key = SortKey::new().text(&name);
        if let Some(own) = dapps.find(&Dapp::BY_CLAIMED_DOMAIN, &principal.owner(), &key)? {
            let message = format!("frontend.customDomain: dapp {} of the workspace has {name}", own.id());
            return Err(PlatformError::Conflict { message });
        }
        Ok(CustomDomain { name, token: self.token()?, is_verified: false })
    }

    /// Draws the token of a domain.
    fn token(&self) -> Result<String, PlatformError> {
        Ok(hex::encode(random_bytes::<TOKEN_BYTES>(&*self.blockchains.context.entropy)?))
    }

    /// Returns the chain of a new dApp.
    fn chain_of(&self, principal: &Principal, spec: &DappSpec) -> Result<Arc<Blockchain>, PlatformError> {
        let id = match &spec.blockchain_id {
            Some(named) => named.clone(),
            None => self.default_chain(principal)?,
        };
        self.blockchains.writable(principal, &id)
    }

    fn default_chain(&self, principal: &Principal) -> Result<String, PlatformError> {
        let (owner, records) = (principal.owner(), &self.blockchains.context.records);
        let network = records.of::<Workspace>().require(&owner, owner.as_str())?.value.default_network;
        let mut chains: Vec<(String, String)> = Vec::new();
        records.of::<BlockchainRecord>().for_each(&Index::CREATED, &owner, &SortKey::new(), |stored| {
            chains.push((stored.id().to_owned(), stored.value.spec.name));
            Ok::<_, RecordError>(())
        })?;
        let is_network = |(id, name): &&(String, String)| network.as_ref().is_some_and(|it| it == id || it == name);
        let is_default = |(id, _): &&(String, String)| id == DEFAULT_BLOCKCHAIN_ID;
        let found = chains.iter().find(is_network).or_else(|| chains.iter().find(is_default));
        match (found, chains.as_slice()) {
            (Some((id, _)), _) | (None, [(id, _)]) => Ok(id.clone()),
            (None, []) => {
                Err(PlatformError::field("blockchainId", "the id of a blockchain", "none, and the workspace has none"))
            }
            (None, several) => {
                let ids: Vec<&str> = several.iter().take(5).map(|(id, _)| id.as_str()).collect();
                let expected = format!("the id of one of the workspace's blockchains, such as {}", ids.join(", "));
                Err(PlatformError::field("blockchainId", expected, "none"))
            }
        }
    }
}

/// Returns the dApp of any workspace that has proved a domain.
fn holder(dapps: &Collection<'_, DappRecord>, domain: &str) -> Result<Option<Stored<DappRecord>>, RecordError> {
    dapps.find(&Dapp::BY_PROVED_DOMAIN, &Owner::Service, &SortKey::new().text(domain))
}

fn outcome(dapp: &DappRecord, chain: Option<&Blockchain>) -> Result<Option<TransactionOutcome>, PlatformError> {
    if dapp.deployment.is_none() {
        return Ok(Some(TransactionOutcome::NOTHING_LEFT));
    }
    chain.map(|chain| TransactionOutcome::of_sent(chain, dapp)).transpose()
}

/// Refuses a public page over a chain that only its participants read.
fn check_publicity(chain: &Blockchain, is_public: bool) -> Result<(), PlatformError> {
    if is_public && chain.spec().has(Feature::Privacy) {
        let expected = "false, as the blockchain has the feature privacy";
        return Err(PlatformError::field("frontend.public", expected, "true"));
    }
    Ok(())
}

fn kept(component: &Component, address: Address) -> DappComponent {
    DappComponent {
        kind: component.kind.name().to_owned(),
        name: component.name.clone(),
        config: serde_json::Value::Object(component.config.clone()).to_string(),
        address,
    }
}
