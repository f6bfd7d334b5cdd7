//! What is kept of a dApp.

use alloy_primitives::{Address, B256, Bytes};
use serde::{Deserialize, Serialize};

use crate::{
    platform::{
        records::{Index, Reach, Record, SortKey},
        sent::SentRecord,
    },
    primitives::Transaction,
};

/// Colours of a dApp's page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum DappTheme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
    /// As the reader's system has it.
    #[default]
    Auto,
}

/// A domain under which a dApp's page is served, once it is proved. One dApp of each workspace may claim a name; at most one has proved it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomDomain {
    /// Name in lower case.
    pub name: String,
    /// Token that its owner publishes; of this dApp alone.
    pub token: String,
    /// Whether the token was found there.
    pub is_verified: bool,
}

/// A dApp's page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DappFrontend {
    /// Its colours.
    pub theme: DappTheme,
    /// Whether everybody may read it.
    pub is_public: bool,
    /// Domain of its own.
    pub domain: Option<CustomDomain>,
}

/// A component of a dApp: a contract of a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DappComponent {
    /// Name of its kind, such as `liquidity-pool`.
    pub kind: String,
    /// Name by which other components mean it.
    pub name: Option<String>,
    /// Its configuration, as JSON text.
    pub config: String,
    /// Address of its contract.
    pub address: Address,
}

/// The transaction that deploys a dApp's contracts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DappDeployment {
    /// Who sends it.
    pub from: Address,
    /// Its hash.
    pub transaction_hash: B256,
    /// The transaction (EIP-2718), to be sent again.
    pub transaction: Bytes,
    /// Whether a block is known to have it, or one to have another transaction with its nonce.
    pub is_settled: bool,
}

impl DappDeployment {
    pub(in crate::platform) fn new(transaction: &Transaction) -> Self {
        Self {
            from: transaction.sender(),
            transaction_hash: transaction.hash(),
            transaction: transaction.encoded(),
            is_settled: false,
        }
    }
}

/// A dApp: its page, and the contracts that one transaction deploys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DappRecord {
    /// Name of the dApp.
    pub name: String,
    /// Template that it was made from.
    pub template: Option<String>,
    /// Id of the chain; `None` of a dApp without components in a workspace where none was to be chosen.
    pub blockchain_id: Option<String>,
    /// Its components.
    pub components: Vec<DappComponent>,
    /// Its page.
    pub frontend: DappFrontend,
    /// What deploys the components; `None` without any.
    pub deployment: Option<DappDeployment>,
    /// Time of the last change by somebody, in milliseconds since the Unix epoch: the record's own is also that of its settlement.
    pub changed_at_ms: u64,
}

impl DappRecord {
    /// dApps of a workspace by name.
    pub(in crate::platform) const BY_NAME: Index<Self> =
        Index::ordered("name", Reach::Owner, |_| Some(SortKey::new()), |dapp| SortKey::new().text(&dapp.value.name));
    /// dApps of a workspace by chain.
    pub(in crate::platform) const BY_BLOCKCHAIN: Index<Self> = Index::ordered(
        "blockchain",
        Reach::Owner,
        |dapp| dapp.value.blockchain_id.as_ref().map(|chain| SortKey::new().text(chain)),
        |dapp| SortKey::new().number(dapp.created_at_ms()),
    );
    /// A dApp of any workspace by its id: pages are read by others than the workspace's members.
    pub(super) const BY_ID: Index<Self> =
        Index::unique("id", Reach::Service, |dapp| Some(SortKey::new().text(dapp.id())));
    /// A dApp of a workspace by its domain, proved or not.
    pub(super) const BY_CLAIMED_DOMAIN: Index<Self> = Index::unique("claimed-domain", Reach::Owner, |dapp| {
        dapp.value.frontend.domain.as_ref().map(|domain| SortKey::new().text(&domain.name))
    });
    /// The dApp of any workspace that has proved a domain. Claims are not in it: those of other workspaces block nobody. Stores of earlier versions have
    /// entries of an index `domain` of all claims, which nobody reads; its name is not used again.
    pub(super) const BY_PROVED_DOMAIN: Index<Self> = Index::unique("proved-domain", Reach::Service, |dapp| {
        let proved = dapp.value.frontend.domain.as_ref().filter(|domain| domain.is_verified);
        proved.map(|domain| SortKey::new().text(&domain.name))
    });
}

impl Record for DappRecord {
    const KIND: &'static str = "dapp";
    const VERSION: u16 = 1;
    const INDICES: &'static [Index<Self>] = &[
        Self::BY_NAME,
        Self::BY_BLOCKCHAIN,
        Self::BY_ID,
        Self::BY_CLAIMED_DOMAIN,
        Self::BY_PROVED_DOMAIN,
        Self::UNSETTLED,
        Index::UPDATED,
    ];
}

impl SentRecord for DappRecord {
    const UNSETTLED: Index<Self> = Index::ordered(
        "unsettled",
        Reach::Owner,
        |dapp| {
            let is_open = dapp.value.deployment.as_ref().is_some_and(|deployment| !deployment.is_settled);
            dapp.value.blockchain_id.as_ref().filter(|_| is_open).map(|chain| SortKey::new().text(chain))
        },
        |dapp| SortKey::new().number(dapp.created_at_ms()),
    );

    fn transaction(&self) -> (B256, Option<&Bytes>) {
        let deployment = self.deployment.as_ref();
        (
            deployment.map_or(B256::ZERO, |deployment| deployment.transaction_hash),
            deployment.map(|deployment| &deployment.transaction),
        )
    }

    fn settle(&mut self) {
        if let Some(deployment) = &mut self.deployment {
            deployment.is_settled = true;
        }
    }
}
