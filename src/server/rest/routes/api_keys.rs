//! `/v1/auth/api-keys`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::{
    platform::{
        ApiKey, ApiKeySpec, ApiKeyState, FieldError, OAuthClient, PlatformError, Scope,
        records::{Collection, Index, RecordError, SortKey, Stored},
    },
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
            scalar::Lifetime,
        },
    },
};

/// Longest lifetime of a key, in days.
const LIFE_DAYS_MAX: u64 = 3650;
/// Longest time for which a key goes on beside its successor, in days.
const OVERLAP_DAYS_MAX: u64 = 30;
const DAY_SECS: u64 = 86_400;

/// An API key to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CreateApiKey {
    /// Label.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "ci")]
    name: String,
    /// What it permits: at most its maker's scopes.
    #[schema(min_items = 1, max_items = 10, value_type = Vec<ScopeName>, example = json!(["blockchain:read"]))]
    scopes: Vec<String>,
    /// Time after which it expires: a number and s, h or d, at most 3650d. Without it the key does not expire.
    expires_in: Option<Lifetime>,
}

/// A scope.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the names of Scope")]
enum ScopeName {
    #[schema(rename = "workspace:read")]
    WorkspaceRead,
    #[schema(rename = "workspace:write")]
    WorkspaceWrite,
    #[schema(rename = "blockchain:read")]
    BlockchainRead,
    #[schema(rename = "blockchain:write")]
    BlockchainWrite,
    #[schema(rename = "blockchain:deploy")]
    BlockchainDeploy,
    #[schema(rename = "validator:read")]
    ValidatorRead,
    #[schema(rename = "validator:write")]
    ValidatorWrite,
    #[schema(rename = "governance:read")]
    GovernanceRead,
    #[schema(rename = "governance:write")]
    GovernanceWrite,
    #[schema(rename = "admin")]
    Admin,
}

impl Body for CreateApiKey {
    fn examples() -> Vec<(&'static str, Value)> {
        vec![
            (
                "all fields",
                json!({ "name": "ci", "scopes": ["blockchain:read", "workspace:read"], "expiresIn": "90d" }),
            ),
            ("required fields", json!({ "name": "reader", "scopes": ["blockchain:read"] })),
        ]
    }

    fn check(&self) -> Vec<FieldError> {
        bounded("expiresIn", self.expires_in, LIFE_DAYS_MAX)
    }
}

fn bounded(path: &str, lifetime: Option<Lifetime>, days_max: u64) -> Vec<FieldError> {
    let out_of_bounds = lifetime.filter(|lifetime| !(1..=days_max.saturating_mul(DAY_SECS)).contains(&lifetime.secs));
    let error = |lifetime: Lifetime| FieldError {
        path: path.to_owned(),
        expected: format!("a duration between 1s and {days_max}d"),
        got: format!("{} s", lifetime.secs),
    };
    out_of_bounds.map(error).into_iter().collect()
}

/// How a key is replaced.
#[derive(Debug, Deserialize, ToSchema)]
struct RotateApiKey {
    /// Time for which the old key goes on: a number and s, h or d, at most 30d; a day by default.
    overlap: Option<Lifetime>,
}

impl Body for RotateApiKey {
    fn examples() -> Vec<(&'static str, Value)> {
        vec![("all fields", json!({ "overlap": "1h" })), ("required fields", json!({}))]
    }

    fn check(&self) -> Vec<FieldError> {
        let overlap = self.overlap.filter(|overlap| overlap.secs > OVERLAP_DAYS_MAX.saturating_mul(DAY_SECS));
        bounded("overlap", overlap, OVERLAP_DAYS_MAX)
    }
}

/// An API key, without its value.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ApiKeyView {
    /// Id of the key.
    #[schema(example = "key_0123456789abcdef")]
    id: String,
    /// Label.
    name: String,
    /// Its first and last characters.
    #[schema(example = "cbx_...89ab")]
    masked: String,
    /// What it permits.
    scopes: Vec<&'static str>,
    /// Its state.
    #[schema(example = "active")]
    status: ApiKeyStatus,
    /// Who made it.
    #[schema(example = "user:usr_0123456789abcdef")]
    created_by: String,
    /// Id of the OAuth client with whose access token it was made, or the key that made it; null for none. With the client the key is revoked.
    #[schema(example = "cli_0123456789abcdef")]
    oauth_client_id: Option<String>,
    /// Time of creation: ISO 8601, UTC.
    created_at: String,
    /// Time from which it is not valid; null for none.
    expires_at: Option<String>,
    /// Time of its revocation; null for none, and until it is written down where an OAuth client with many keys was deleted.
    revoked_at: Option<String>,
}

/// State of a key: `active` leads to `expired` with its time, and to `revoked` by revocation or the end of its OAuth client; nothing leads back.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ApiKeyStatus {
    Active,
    Expired,
    Revoked,
}

impl From<ApiKeyState> for ApiKeyStatus {
    fn from(state: ApiKeyState) -> Self {
        match state {
            ApiKeyState::Active => Self::Active,
            ApiKeyState::Expired => Self::Expired,
            ApiKeyState::Revoked => Self::Revoked,
        }
    }
}

impl ApiKeyView {
    /// Shows a key as it is at a time, of the OAuth clients that there are then.
    fn new(stored: &Stored<ApiKey>, now_ms: u64, clients: &Collection<'_, OAuthClient>) -> Result<Self, RecordError> {
        let key = &stored.value;
        Ok(Self {
            id: stored.id().to_owned(),
            name: key.name.clone(),
            masked: key.masked(),
            scopes: key.scopes.iter().map(Scope::name).collect(),
            status: key.state(now_ms, clients)?.into(),
            created_by: key.created_by.to_string(),
            oauth_client_id: key.oauth_client().map(str::to_owned),
            created_at: clock::iso_8601(stored.created_at_ms()),
            expires_at: key.expires_at_ms.map(clock::iso_8601),
            revoked_at: key.revoked_at_ms.map(clock::iso_8601),
        })
    }
}

/// A new API key, with its value.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewApiKey {
    /// Id of the key.
    #[schema(example = "key_0123456789abcdef")]
    id: String,
    /// The key itself. It is shown this once.
    key: String,
    /// Label.
    name: String,
    /// What it permits.
    scopes: Vec<&'static str>,
    /// Time of creation: ISO 8601, UTC.
    created_at: String,
    /// Time from which it is not valid; null for none.
    expires_at: Option<String>,
}

impl NewApiKey {
    fn new(value: &str, stored: &Stored<ApiKey>) -> Self {
        Self {
            id: stored.id().to_owned(),
            key: value.to_owned(),
            name: stored.value.name.clone(),
            scopes: stored.value.scopes.iter().map(Scope::name).collect(),
            created_at: clock::iso_8601(stored.created_at_ms()),
            expires_at: stored.value.expires_at_ms.map(clock::iso_8601),
        }
    }
}

impl Located for NewApiKey {
    fn location(&self) -> String {
        format!("/v1/auth/api-keys/{}", self.id)
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let read = Access::Scope(Scope::WorkspaceRead);
    let write = Access::Scope(Scope::WorkspaceWrite);
    let (all, one) = ("/v1/auth/api-keys", "/v1/auth/api-keys/{apiKeyId}");
    vec![
        Endpoint::post(
            all,
            "createApiKey",
            Tag::ApiKeys,
            Access::Bearer(Scope::WorkspaceWrite),
            "Creates an API key. Its value is shown once.",
        )
        .takes::<CreateApiKey>()
        .creates(create),
        Endpoint::get(all, "listApiKeys", Tag::ApiKeys, read, "Lists the API keys of the workspace.")
            .answered_past_plan()
            .lists(&["createdAt"], list),
        Endpoint::get(one, "getApiKey", Tag::ApiKeys, read, "Returns an API key, without its value.").reads(get),
        Endpoint::post(
            "/v1/auth/api-keys/{apiKeyId}/rotate",
            "rotateApiKey",
            Tag::ApiKeys,
            write,
            "Makes a successor of an API key. Its value is shown once.",
        )
        .takes::<RotateApiKey>()
        .creates(rotate),
        Endpoint::delete(one, "revokeApiKey", Tag::ApiKeys, write, "Revokes an API key, at once.")
            .answered_past_plan()
            .may_end_access()
            .acts(revoke),
    ]
}

fn create(app: &App, request: &Request, body: CreateApiKey) -> Result<Change<NewApiKey>, ApiError> {
    let scopes = body.scopes.iter().filter_map(|name| Scope::from_name(name)).collect();
    let lifetime_ms = body.expires_in.map(|lifetime| lifetime.secs.saturating_mul(1000));
    let spec = ApiKeySpec { name: body.name, scopes, lifetime_ms };
    let (platform, principal) = (app.platform().clone(), request.principal()?.clone());
    Ok(Change::unit(move |unit| {
        let (value, stored) = platform.api_keys().create(unit, &principal, spec)?;
        Ok(NewApiKey::new(value.text(), &stored))
    }))
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<ApiKeyView>, u64), ApiError> {
    let owner = request.principal()?.owner();
    let found = app.platform().api_keys().all().page(&Index::CREATED, &owner, &SortKey::new(), &page.request())?;
    let (now_ms, clients) = (app.now_ms(), app.platform().oauth().clients());
    let views = found.items.iter().map(|stored| ApiKeyView::new(stored, now_ms, &clients));
    Ok((views.collect::<Result<_, RecordError>>()?, found.total))
}

fn get(app: &App, request: &Request) -> Result<ApiKeyView, ApiError> {
    let owner = request.principal()?.owner();
    let stored = app.platform().api_keys().all().require(&owner, request.path("apiKeyId"))?;
    Ok(ApiKeyView::new(&stored, app.now_ms(), &app.platform().oauth().clients())?)
}

fn rotate(app: &App, request: &Request, body: RotateApiKey) -> Result<Change<NewApiKey>, ApiError> {
    let overlap_ms = body.overlap.map_or(DAY_SECS, |overlap| overlap.secs).saturating_mul(1000);
    let (platform, principal) = (app.platform().clone(), request.principal()?.clone());
    let id = request.path("apiKeyId").to_owned();
    Ok(Change::unit(move |unit| {
        let (value, stored) = platform.api_keys().rotate(unit, &principal, &id, overlap_ms)?;
        Ok(NewApiKey::new(value.text(), &stored))
    }))
}

fn revoke(app: &App, request: &Request) -> Result<Change<ApiKeyView>, ApiError> {
    let (platform, principal) = (app.platform().clone(), request.principal()?.clone());
    let id = request.path("apiKeyId").to_owned();
    Ok(Change::unit(move |unit| {
        let stored = platform.api_keys().revoke(unit, &principal, &id)?;
        Ok::<_, PlatformError>(ApiKeyView::new(&stored, unit.now_ms(), &unit.of())?)
    }))
}
