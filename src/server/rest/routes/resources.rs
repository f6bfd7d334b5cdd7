//! `GET /v1/resources`: everything that the caller may see, in one list.

use serde::{Deserialize, Serialize, de::IntoDeserializer as _};
use utoipa::ToSchema;

use crate::{
    platform::{ResourceKind, ResourceSort, ResourceSummary},
    server::{
        api_error::ApiError,
        clock,
        rest::{
            App,
            endpoint::{Access, Endpoint, Runs, Tag},
            page::Page,
            parameter::Parameter,
            request::Request,
        },
    },
};

/// A resource, in short.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Resource {
    /// Id of the resource.
    #[schema(example = "bc_default")]
    id: String,
    /// Its type.
    #[serde(rename = "type")]
    #[schema(example = "blockchain")]
    kind: &'static str,
    /// Its name; empty for one without.
    name: String,
    /// Id of its workspace.
    workspace_id: String,
    /// Id of the blockchain that it is on; null for others.
    blockchain_id: Option<String>,
    /// Its state.
    #[schema(example = "active")]
    status: ResourceStatus,
    /// Time of creation: ISO 8601, UTC.
    created_at: String,
    /// Time of the last change: ISO 8601, UTC.
    updated_at: String,
}

/// State of a resource, as its own route tells it, which says what leads where: of a blockchain `created`, `provisioning`, `running`,
/// `paused`, `stopped`, `failed` or `deleting`; of an API key `active`, `expired` or `revoked`; of a contract and a dApp `pending`,
/// `deployed` or `failed`; of a module `pending`, `approved`, `enabled`, `disabled` or `failed`; of a project `provisioning`, `active`, `paused`,
/// `stopped` or `failed`; of a webhook `enabled` or `disabled`; of an invitation `open` or `expired`; of a validator
/// `joining`, `active`, `exiting`, `jailed`, `unbonding`, `left`, `tombstoned` or `removed`; of a proposal `pending`, `active`, `passed`,
/// `executed`, `failed`, `rejected`, `vetoed`, `expired` or `canceled`; others are `active`.
/// `unavailable` while the caller can't read the chain that knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ResourceStatus {
    Active,
    Canceled,
    Created,
    Deleting,
    Deployed,
    Disabled,
    Enabled,
    Executed,
    Exiting,
    Expired,
    Failed,
    Jailed,
    Joining,
    Left,
    Open,
    Passed,
    Paused,
    Pending,
    Provisioning,
    Rejected,
    Removed,
    Revoked,
    Running,
    Stopped,
    Tombstoned,
    Unavailable,
    Unbonding,
    Vetoed,
}

impl ResourceStatus {
    fn named(name: &str) -> Self {
        Self::deserialize(name.into_deserializer()).unwrap_or_else(|_: serde::de::value::Error| {
            debug_assert!(false, "the state {name} has no name here");
            Self::Unavailable
        })
    }
}

impl From<ResourceSummary> for Resource {
    fn from(resource: ResourceSummary) -> Self {
        Self {
            id: resource.id,
            kind: resource.kind.name(),
            name: resource.name,
            workspace_id: resource.workspace_id,
            blockchain_id: resource.blockchain_id,
            status: ResourceStatus::named(&resource.status),
            created_at: clock::iso_8601(resource.created_at_ms),
            updated_at: clock::iso_8601(resource.updated_at_ms),
        }
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let names = ResourceKind::ALL.map(|kind| kind.name().to_owned());
    vec![
        Endpoint::get(
            "/v1/resources",
            "listResources",
            Tag::Service,
            Access::Authenticated,
            "Lists the resources that the caller may see.",
        )
        .described(
            "Those of the workspace, the validators and proposals of its blockchains that run (of each the newest 100 proposals), and \
             blockchains of other workspaces that the caller may read. Resources of a type are listed to those who have the scope that reads it.",
        )
        .runs(Runs::Long)
        .parameter(Parameter::one_of("type", "Only resources of this type.", names, None))
        .lists(&["createdAt", "name", "type", "updatedAt"], list),
    ]
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<Resource>, u64), ApiError> {
    let kind = request.query("type").and_then(ResourceKind::from_name);
    let sort = match page.sort_field() {
        "name" => ResourceSort::Name,
        "type" => ResourceSort::Kind,
        "updatedAt" => ResourceSort::UpdatedAt,
        _ => ResourceSort::CreatedAt,
    };
    let (found, total) = app.platform().resources(request.principal()?, kind, sort, &page.request())?;
    Ok((found.into_iter().map(Resource::from).collect(), total))
}
