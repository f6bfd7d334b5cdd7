//! An invitation to a workspace, from the link of its mail.

use axum::{
    body::Body,
    extract::{RawQuery, State},
    http::{HeaderMap, Request},
};
use maud::html;

use super::{
    AuthorizationServer,
    account::to_log_in,
    browser::Browser,
    failure::{Answer, Failure},
    form,
    page::{Page, form as form_of, hidden, page, redirect},
};
use crate::platform::{
    Parameters, Workspace,
    records::{Owner, Stored},
};

const PATH: &str = "/oauth/invitations/accept";

/// `GET /oauth/invitations/accept`: the link of the mail. Who is not logged in does that first.
pub(super) async fn show(
    State(server): State<AuthorizationServer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let browser = Browser::of(&server, &headers)?;
    let parameters = Parameters::read(query.unwrap_or_default().as_bytes());
    let token = parameters.first("token");
    let found = server.platform.workspaces().members().find_invitation(token)?;
    let invitation = found.ok_or(Failure::DeadLink)?;
    let Some(user) = browser.user(&server)? else { return Ok(to_log_in(&format!("{PATH}?token={token}"))) };
    let owner = invitation.owner();
    let workspace: Option<Stored<Workspace>> = server
        .platform
        .records()
        .of::<Workspace>()
        .get(owner, owner.as_str())
        .map_err(crate::platform::PlatformError::from)?;
    let name = workspace.map_or_else(|| Owner::as_str(owner).to_owned(), |workspace| workspace.value.name);
    let content = if user.value.email == invitation.value.email {
        html! {
            p { "You are invited to the workspace " strong { (name) } " as " strong { (invitation.value.role.name()) } "." }
            (form_of(&server, &browser, PATH, html! {
                (hidden("token", token))
                div.actions { button { "Accept" } a href="/oauth/account" { "Not now" } }
            }))
        }
    } else {
        html! {
            p { "This invitation is for " strong { (invitation.value.email) } ", and you are logged in as " strong { (user.value.email) } "." }
            p { "Log out, log in or sign up with the invited address, and follow the link again." }
            (form_of(&server, &browser, "/oauth/logout", html! { div.actions { button { "Log out" } } }))
        }
    };
    Ok(page(&server, &browser, Page::titled("Invitation"), content))
}

/// `POST /oauth/invitations/accept`.
pub(super) async fn accept(State(server): State<AuthorizationServer>, request: Request<Body>) -> Answer {
    let (browser, form) = form::read_own(&server, request).await?;
    let session = browser.session().ok_or(Failure::NoSession)?;
    let members = server.platform.workspaces().members().of_client(browser.client());
    let token = form.first("token");
    server.platform.unit(|unit| members.accept(unit, &session.value.user, token))?;
    Ok(redirect("/oauth/account"))
}
