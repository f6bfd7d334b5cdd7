//! The published table of all endpoints.

use super::{
    catalogue::Catalogue,
    endpoint::{About, Access, Endpoint},
};
use crate::{platform::Scope, server::limits::PAGE_LIMIT_MAX};

/// Returns the table of all endpoints in Markdown, as `docs/service-api.md` shows it: route, credentials, codes of errors.
pub fn endpoint_table() -> String {
    let mut table =
        "| route | operation | needs | errors beside 400, 401, 403, 408, 429, 500, 503 |\n|---|---|---|---|\n"
            .to_owned();
    for endpoint in Catalogue::new(PAGE_LIMIT_MAX).iter() {
        table.push_str(&row(endpoint));
    }
    table
}

fn row(endpoint: &Endpoint) -> String {
    let about = &endpoint.about;
    let mut statuses: Vec<String> = endpoint.errors().iter().map(|code| code.status().as_str().to_owned()).collect();
    statuses.retain(|status| !matches!(status.as_str(), "400" | "401" | "403" | "408" | "429" | "500" | "503"));
    statuses.dedup();
    let needs = needs(about);
    format!("| {} `{}` | {} | {needs} | {} |\n", about.method, about.path, about.operation, statuses.join(", "))
}

/// What a request needs, and what some requests need beside.
fn needs(about: &About) -> String {
    let scopes = names(about.access.scopes());
    let always = match about.access {
        Access::Public => "nothing".to_owned(),
        Access::Optional => "nothing, or credentials".to_owned(),
        Access::Authenticated => "credentials".to_owned(),
        Access::Scope(_) | Access::Scopes(_) => scopes,
        Access::Bearer(_) => format!("{scopes}, Bearer"),
    };
    let more = about.may_need.iter().map(|(scope, what_for)| format!("; `{}` {what_for}", scope.name()));
    more.fold(always, |needs, more| needs + &more)
}

/// The names of scopes, in Markdown.
pub(super) fn names(scopes: &[Scope]) -> String {
    let names: Vec<String> = scopes.iter().map(|scope| format!("`{}`", scope.name())).collect();
    names.join(", ")
}
