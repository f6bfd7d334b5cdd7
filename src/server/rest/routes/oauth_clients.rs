//! `/v1/oauth-clients`: the clients of the authorization server. `POST /oauth/register` makes them.

use serde::Serialize;
use utoipa::ToSchema;

use super::view::Deleted;
use crate::{
    platform::{
        OAuthClient, Scope,
        records::{Index, SortKey, Stored},
    },
    server::{
        api_error::ApiError,
        clock,
        rest::{
            App,
            answer::Change,
            endpoint::{Access, Endpoint, Tag},
            page::Page,
            request::Request,
        },
    },
};

/// A client of the authorization server. Its secret was shown when it was registered, and is not kept.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct OAuthClientView {
    /// Its `client_id`.
    #[schema(example = "cli_0123456789abcdef")]
    id: String,
    /// Name that users are shown.
    name: String,
    /// Where users may be sent back to.
    redirect_uris: Vec<String>,
    /// Scopes that it may ask for.
    scopes: Vec<&'static str>,
    /// Whether it keeps no secret, so that it needs PKCE.
    public: bool,
    /// Whether it gets refresh tokens.
    refreshes: bool,
    /// Who registered it: `user:` or `key:` and an id, or `service`.
    created_by: String,
    /// Time of its registration: ISO 8601, UTC.
    created_at: String,
}

impl OAuthClientView {
    fn new(stored: &Stored<OAuthClient>) -> Self {
        let client = &stored.value;
        Self {
            id: stored.id().to_owned(),
            name: client.name.clone(),
            redirect_uris: client.redirect_uris.clone(),
            scopes: client.scopes.iter().map(Scope::name).collect(),
            public: client.is_public(),
            refreshes: client.refreshes,
            created_by: client.created_by.to_string(),
            created_at: clock::iso_8601(stored.created_at_ms()),
        }
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let (tag, all, one) = (Tag::OAuthClients, "/v1/oauth-clients", "/v1/oauth-clients/{clientId}");
    let (read, write) = (Access::Scope(Scope::WorkspaceRead), Access::Scope(Scope::WorkspaceWrite));
    vec![
        Endpoint::get(all, "listOAuthClients", tag, read, "Lists the OAuth clients of the workspace, oldest first.")
            .described("`POST /oauth/register` (RFC 7591) registers one.")
            .answered_past_plan()
            .lists(&["createdAt"], list),
        Endpoint::get(one, "getOAuthClient", tag, read, "Returns one OAuth client, without its secret.").reads(get),
        Endpoint::delete(one, "deleteOAuthClient", tag, write, "Deletes an OAuth client.")
            .described("Its codes and tokens end at once, whichever workspace a user gave them for.")
            .answered_past_plan()
            .may_end_access()
            .acts(delete),
    ]
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<OAuthClientView>, u64), ApiError> {
    let owner = request.principal()?.owner();
    let found = app.platform().oauth().clients().page(&Index::CREATED, &owner, &SortKey::new(), &page.request())?;
    Ok((found.items.iter().map(OAuthClientView::new).collect(), found.total))
}

fn get(app: &App, request: &Request) -> Result<OAuthClientView, ApiError> {
    let owner = request.principal()?.owner();
    Ok(OAuthClientView::new(&app.platform().oauth().clients().require(&owner, request.path("clientId"))?))
}

fn delete(app: &App, request: &Request) -> Result<Change<Deleted>, ApiError> {
    let (platform, principal) = (app.platform().clone(), request.principal()?.clone());
    let id = request.path("clientId").to_owned();
    Ok(Change::unit(move |unit| {
        platform.oauth().delete_client(unit, &principal, &id)?;
        Ok(Deleted::of(&id))
    }))
}
