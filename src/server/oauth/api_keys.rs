//! The form on a user's page that makes an API key: the first credential of programs, as for registering a client.

use axum::{body::Body, extract::State, http::Request};
use maud::{Markup, html};

use super::{
    AuthorizationServer,
    browser::Browser,
    failure::{Answer, Failure},
    form,
    page::{Field, Page, form as form_of, page},
};
use crate::platform::{ApiKeySpec, Membership, PlatformError, Scope, ScopeSet, records::WorkspaceId, scope_text};

/// Where the form is sent to.
const API_KEYS: &str = "/oauth/account/api-keys";
/// Characters of a key's name.
const NAME_LEN_MAX: usize = 256;

/// Returns the form for the workspaces of a user.
pub(super) fn key_form(server: &AuthorizationServer, browser: &Browser, memberships: &[Membership]) -> Markup {
    let scopes = memberships.first().map(|first| scope_text(&first.role.cap())).unwrap_or_default();
    let hint = "Separated by spaces; at most those of your role. Programs may keep to what they need, such as blockchain:read.";
    let field = |label, name, value, hint| Field { label, name, kind: "text", autocomplete: "off", value, hint };
    form_of(
        server,
        browser,
        API_KEYS,
        html! {
            (field("Name of the key", "name", "", "").render())
            label for="workspace" { "Workspace" }
            select id="workspace" name="workspace" {
                @for place in memberships { option value=(place.workspace.as_str()) { (place.name) } }
            }
            (field("Scopes", "scope", &scopes, hint).render())
            div.actions { button { "Create" } }
        },
    )
}

/// `POST /oauth/account/api-keys`: creates a key and shows it this once.
pub(super) async fn create(State(server): State<AuthorizationServer>, request: Request<Body>) -> Answer {
    let (browser, form) = form::read_own(&server, request).await?;
    let user = browser.user(&server)?.ok_or(Failure::NoSession)?;
    let place = form.first("workspace");
    let platform = &server.platform;
    let unknown = || PlatformError::not_found("workspace", place);
    let workspace = WorkspaceId::new(place).ok_or_else(unknown)?;
    let principal = platform.workspaces().principal(user.id(), &workspace)?.ok_or_else(unknown)?;
    let principal = principal.with_client(browser.client());
    let name = form.first("name").trim();
    if name.is_empty() || name.chars().count() > NAME_LEN_MAX {
        return Err(PlatformError::field("name", "a name of 1 to 256 characters", name).into());
    }
    let spec = ApiKeySpec { name: name.to_owned(), scopes: scopes(form.first("scope"))?, lifetime_ms: None };
    let (value, _) = platform.unit(|unit| platform.api_keys().create(unit, &principal, spec))?;
    let content = html! {
        p { "Keep it now: it is not shown again." }
        p { code { (value.text()) } }
        p { "Send it as " code { "X-API-Key" } ", or as " code { "Authorization: Bearer" } "." }
        nav { a href="/oauth/account" { "Your account" } a href="/v1/docs" { "The service's endpoints" } }
    };
    Ok(page(&server, &browser, Page::titled("Your API key"), content))
}

fn scopes(text: &str) -> Result<ScopeSet, PlatformError> {
    let names: Vec<&str> = Scope::ALL.iter().map(|scope| scope.name()).collect();
    let read = |name: &str| {
        Scope::from_name(name)
            .ok_or_else(|| PlatformError::field("scope", format!("scopes of {}", names.join(", ")), name))
    };
    let found: ScopeSet = text.split_ascii_whitespace().map(read).collect::<Result<Vec<_>, _>>()?.into_iter().collect();
    if found.is_empty() {
        return Err(PlatformError::field("scope", "at least one scope", "none"));
    }
    Ok(found)
}
