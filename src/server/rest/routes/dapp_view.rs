//! What is answered of a dApp.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{dapp_body::Theme, view::DeploymentStatus};
use crate::{
    platform::{CustomDomain, DappComponent, DappRecord, PlannedDapp, PlatformError, Principal, records::Stored},
    primitives::{Address, Height},
    server::{
        clock, domain_proof,
        rest::{App, answer::Located, scalar::AbiMembers},
    },
};

/// A dApp.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DappView {
    /// Id of the dApp.
    #[schema(example = "dapp_0123456789abcdef")]
    id: String,
    /// Name of the dApp.
    name: String,
    /// Id of its workspace.
    workspace_id: String,
    /// Id of the chain; null of a page without components that names none.
    blockchain_id: Option<String>,
    /// Template that it was made from.
    template: Option<String>,
    /// Its components; null for those who may not read the chain: with the feature privacy all but its participants.
    components: Option<Vec<ComponentView>>,
    /// Its page.
    frontend: FrontendView,
    /// Domain of the page; null without one.
    domain: Option<DomainView>,
    /// Path of the page.
    #[schema(example = "/v1/dapps/dapp_0123456789abcdef/site")]
    site: String,
    /// State of the contracts' deployment.
    status: DeploymentStatus,
    /// Account that deploys the contracts; null without any, and for those who may not read the chain.
    from: Option<String>,
    /// Hash of the transaction that deploys the contracts; null likewise.
    transaction_hash: Option<String>,
    /// Height of the block with the transaction; null where none has it, and while the status is unavailable.
    block_number: Option<u64>,
    /// Time of creation: ISO 8601, UTC.
    created_at: String,
    /// Time of the last change: ISO 8601, UTC.
    updated_at: String,
}

/// A component of a dApp.
#[derive(Debug, Serialize, ToSchema)]
struct ComponentView {
    /// What it is.
    #[serde(rename = "type")]
    #[schema(example = "token")]
    kind: String,
    /// Name by which other components mean it.
    name: Option<String>,
    /// Address of its contract, known before the transaction is mined.
    address: String,
    /// Parameters of its template.
    #[schema(value_type = AbiMembers)]
    config: Value,
}

/// The page of a dApp.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FrontendView {
    /// Its colours.
    theme: Theme,
    /// Domain of the page; null without one.
    custom_domain: Option<String>,
    /// Whether everybody may read it.
    public: bool,
}

/// State of a domain: `pending` leads to `verified`; another domain starts as `pending`, and so does one that another dApp has proved since.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum DomainStatus {
    Pending,
    Verified,
}

/// A domain, and what proves it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DomainView {
    /// Its name.
    name: String,
    /// Whether it is proved.
    status: DomainStatus,
    /// Name of the TXT record that proves it.
    #[schema(example = "_chainbox-challenge.gold.example.com")]
    record_name: String,
    /// URL of the file that proves it as well.
    file_url: String,
    /// Text of the record, or content of the file.
    token: String,
}

impl DomainView {
    fn new(domain: &CustomDomain) -> Self {
        Self {
            name: domain.name.clone(),
            status: if domain.is_verified { DomainStatus::Verified } else { DomainStatus::Pending },
            record_name: domain_proof::record_name(&domain.name),
            file_url: domain_proof::file_url(&domain.name, &domain.token),
            token: domain.token.clone(),
        }
    }
}

impl ComponentView {
    fn new(component: &DappComponent) -> Self {
        Self {
            kind: component.kind.clone(),
            name: component.name.clone(),
            address: component.address.to_string(),
            config: serde_json::from_str(&component.config).unwrap_or_default(),
        }
    }
}

impl DappView {
    pub(super) fn new(app: &App, principal: &Principal, stored: &Stored<DappRecord>) -> Result<Self, PlatformError> {
        let DappRecord { name, template, blockchain_id, components, frontend, deployment, changed_at_ms } =
            &stored.value;
        let sight = app.platform().dapps().sight(principal, &stored.value)?;
        let outcome = app.platform().dapps().outcome(&sight, &stored.value)?;
        let (is_shown, deployment) = (!sight.is_hidden(), deployment.as_ref().filter(|_| !sight.is_hidden()));
        Ok(Self {
            id: stored.id().to_owned(),
            name: name.clone(),
            workspace_id: stored.owner().as_str().to_owned(),
            blockchain_id: blockchain_id.clone(),
            template: template.clone(),
            components: is_shown.then(|| components.iter().map(ComponentView::new).collect()),
            frontend: FrontendView {
                theme: frontend.theme.into(),
                custom_domain: frontend.domain.as_ref().map(|domain| domain.name.clone()),
                public: frontend.is_public,
            },
            domain: frontend.domain.as_ref().map(DomainView::new),
            site: format!("/v1/dapps/{}/site", stored.id()),
            status: DeploymentStatus::of(outcome.as_ref()),
            from: deployment.map(|deployment| deployment.from.to_string()),
            transaction_hash: deployment.map(|deployment| deployment.transaction_hash.to_string()),
            block_number: outcome.and_then(|outcome| outcome.height).map(Height::get),
            created_at: clock::iso_8601(stored.created_at_ms()),
            updated_at: clock::iso_8601(*changed_at_ms),
        })
    }
}

impl Located for DappView {
    fn location(&self) -> String {
        format!("/v1/dapps/{}", self.id)
    }
}

/// The transaction that deploys a dApp's contracts, without fees and gas limit, which are the signer's.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlannedView {
    /// Id of the chain.
    blockchain_id: String,
    /// Sender.
    from: String,
    /// Nonce; the addresses follow from it.
    nonce: u64,
    /// Contract that is called.
    to: String,
    /// Value, always 0.
    value: &'static str,
    /// Call data.
    data: String,
    /// The components, own ones first.
    components: Vec<PlannedComponent>,
}

/// A component, and where its contract will be.
#[derive(Debug, Serialize, ToSchema)]
struct PlannedComponent {
    /// What it is.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Address of its contract.
    address: String,
}

impl PlannedView {
    pub(super) fn new(planned: &PlannedDapp) -> Self {
        let component =
            |(kind, address): &(&'static str, Address)| PlannedComponent { kind, address: address.to_string() };
        Self {
            blockchain_id: planned.blockchain_id.clone(),
            from: planned.from.to_string(),
            nonce: planned.nonce,
            to: planned.to.to_string(),
            value: "0",
            data: planned.data.to_string(),
            components: planned.components.iter().map(component).collect(),
        }
    }
}
