//! Bodies of dApps.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::{
    platform::{DappChange, DappSpec, DappTheme, FieldError, PlatformError, domain_name},
    server::{
        api_error::ApiError,
        rest::{
            body::Body,
            routes::view::beside_signed,
            scalar::{AbiMembers, HexAddress, HexBytes},
        },
    },
};

/// A dApp to make. The name is required. Without components and template it is a page alone.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CreateDapp {
    /// Name of the dApp, the title of its page.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "Gold exchange")]
    name: String,
    /// Workspace that it is of; that of the credentials by default.
    #[schema(min_length = 1, max_length = 64, example = "ws_default")]
    workspace_id: Option<String>,
    /// A named list of components.
    #[schema(min_length = 1, max_length = 64, example = "defi")]
    template: Option<String>,
    /// Components, before those of the template.
    #[schema(max_items = 64)]
    components: Option<Vec<ComponentBody>>,
    /// Its page.
    frontend: Option<FrontendBody>,
    /// Id of the chain.
    #[schema(min_length = 1, max_length = 64, example = "bc_default")]
    blockchain_id: Option<String>,
    /// Account that deploys and owns the contracts. The service must be able to sign for it; by default the workspace's wallet.
    from: Option<HexAddress>,
    /// The planned transaction, signed by somebody else, in place of `from`.
    signed_transaction: Option<HexBytes>,
}

/// A dApp to plan. The components, or the template, and from are required.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlanDapp {
    /// Workspace that it is of; that of the credentials by default.
    #[schema(min_length = 1, max_length = 64, example = "ws_default")]
    workspace_id: Option<String>,
    /// A named list of components.
    #[schema(min_length = 1, max_length = 64, example = "defi")]
    template: Option<String>,
    /// Components, before those of the template.
    #[schema(max_items = 64)]
    components: Option<Vec<ComponentBody>>,
    /// Id of the chain.
    #[schema(min_length = 1, max_length = 64, example = "bc_default")]
    blockchain_id: Option<String>,
    /// Account that signs the transaction.
    from: HexAddress,
}

/// Changes of a dApp; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct UpdateDapp {
    /// Name of the dApp.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "Gold exchange")]
    name: Option<String>,
    /// Its page.
    frontend: Option<FrontendChange>,
}

/// A component: a contract of a template of its type.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
struct ComponentBody {
    /// What it is.
    #[serde(rename = "type")]
    kind: ComponentType,
    /// Name by which other components mean it, beside the symbol and the name in its configuration.
    #[schema(min_length = 1, max_length = 256, example = "gold")]
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Parameters of its template, at most 8 levels deep; of all components together at most 64 KiB.
    #[schema(value_type = Option<AbiMembers>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<Map<String, Value>>,
}

/// Type of a component.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum ComponentType {
    Token,
    Staking,
    LiquidityPool,
    Lending,
    Governance,
    NftMarketplace,
    Auction,
    Multisig,
}

/// The page of a dApp.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FrontendBody {
    /// Colours of the page; auto, which is as the reader's system has it, by default.
    theme: Option<Theme>,
    /// Domain for the page, to be proved; of one dApp of the workspace, and once it is proved of one in the service.
    #[schema(min_length = 1, max_length = 253, example = "gold.example.com")]
    custom_domain: Option<String>,
    /// Whether everybody may read the page, without credentials; false by default.
    public: Option<bool>,
}

/// Changes of the page of a dApp; what is left out stays.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FrontendChange {
    /// Colours of the page.
    theme: Option<Theme>,
    /// Domain for the page, to be proved; null for none.
    #[serde(default, deserialize_with = "crate::server::rest::body::present")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 253, example = "gold.example.com")]
    custom_domain: Option<Option<String>>,
    /// Whether everybody may read the page.
    public: Option<bool>,
}

/// Colours of a page.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Theme {
    Light,
    Dark,
    Auto,
}

impl From<Theme> for DappTheme {
    fn from(theme: Theme) -> Self {
        match theme {
            Theme::Light => Self::Light,
            Theme::Dark => Self::Dark,
            Theme::Auto => Self::Auto,
        }
    }
}

impl From<DappTheme> for Theme {
    fn from(theme: DappTheme) -> Self {
        match theme {
            DappTheme::Light => Self::Light,
            DappTheme::Dark => Self::Dark,
            DappTheme::Auto => Self::Auto,
        }
    }
}

fn values(components: Option<Vec<ComponentBody>>) -> Result<Vec<Value>, ApiError> {
    let values = components.unwrap_or_default().into_iter().map(serde_json::to_value);
    values.collect::<Result<_, _>>().map_err(|cause| ApiError::internal(&cause))
}

impl CreateDapp {
    pub(super) fn workspace_id(&self) -> Option<&str> {
        self.workspace_id.as_deref()
    }

    pub(super) fn spec(self) -> Result<DappSpec, ApiError> {
        let FrontendBody { theme, custom_domain, public } = self.frontend.unwrap_or_default();
        let mut spec = DappSpec::named(&self.name);
        spec.blockchain_id = self.blockchain_id;
        spec.template = self.template;
        spec.components = values(self.components)?;
        spec.theme = theme.map(DappTheme::from).unwrap_or_default();
        spec.is_public = public.unwrap_or(false);
        spec.domain = custom_domain;
        spec.from = self.from.map(|from| from.0);
        spec.signed_transaction = self.signed_transaction.map(|signed| signed.0);
        Ok(spec)
    }
}

impl PlanDapp {
    pub(super) fn workspace_id(&self) -> Option<&str> {
        self.workspace_id.as_deref()
    }

    pub(super) fn spec(self) -> Result<DappSpec, ApiError> {
        let mut spec = DappSpec::named("");
        spec.blockchain_id = self.blockchain_id;
        spec.template = self.template;
        spec.components = values(self.components)?;
        spec.from = Some(self.from.0);
        Ok(spec)
    }
}

impl UpdateDapp {
    pub(super) fn change(self) -> DappChange {
        let FrontendChange { theme, custom_domain, public } = self.frontend.unwrap_or_default();
        DappChange { name: self.name, theme: theme.map(DappTheme::from), is_public: public, domain: custom_domain }
    }
}

/// A token, and rewards for those who stake it.
fn components() -> Value {
    json!([
        {
            "type": "token",
            "config": {
                "name": "Gold", "symbol": "GLD", "totalSupply": "1000000", "decimals": 18,
                "features": ["burnable", "mintable", "pausable"],
            },
        },
        { "type": "staking", "config": { "stakingToken": "GLD", "rewardRate": "100", "lockPeriod": "30d" } },
    ])
}

impl Body for CreateDapp {
    fn examples() -> Vec<(&'static str, Value)> {
        let all = json!({
            "name": "Gold exchange", "workspaceId": "ws_default", "template": "nft", "components": components(),
            "frontend": { "theme": "dark", "customDomain": "gold.example.com" }, "blockchainId": "bc_default",
        });
        vec![("all fields", all), ("required fields", json!({ "name": "Gold exchange" }))]
    }

    fn check(&self) -> Vec<FieldError> {
        let mut fields = check_domain(self.frontend.as_ref().and_then(|page| page.custom_domain.as_deref()));
        if self.signed_transaction.is_some() {
            fields.extend(beside_signed(&[("from", self.from.is_some())]));
        }
        fields
    }
}

/// Returns what is wrong with a domain.
fn check_domain(name: Option<&str>) -> Vec<FieldError> {
    match name.map(domain_name) {
        Some(Err(PlatformError::Validation { fields })) => fields,
        _ => Vec::new(),
    }
}

impl Body for PlanDapp {
    fn examples() -> Vec<(&'static str, Value)> {
        let account = "0x1111111111111111111111111111111111111111";
        let all = json!({
            "workspaceId": "ws_default", "template": "nft", "components": components(), "blockchainId": "bc_default", "from": account,
        });
        vec![("all fields", all), ("required fields", json!({ "template": "dao", "from": account }))]
    }
}

impl Body for UpdateDapp {
    fn examples() -> Vec<(&'static str, Value)> {
        let all =
            json!({ "name": "Gold market", "frontend": { "theme": "light", "customDomain": null, "public": true } });
        vec![("all fields", all), ("required fields", json!({}))]
    }

    fn check(&self) -> Vec<FieldError> {
        check_domain(self.frontend.as_ref().and_then(|page| page.custom_domain.as_ref()?.as_deref()))
    }
}
