//! The authorization endpoint (RFC 6749, 3.1): consent, and the redirect to the client.

use axum::{
    body::Body,
    extract::{RawQuery, State},
    http::{HeaderMap, Request},
};
use maud::{Markup, html};

use super::{
    AuthorizationServer,
    account::to_log_in,
    browser::Browser,
    failure::{Answer, Failure},
    form,
    page::{Page, form as form_of, hidden, page, protect, redirect},
};
use crate::platform::{
    AuthorizationRefusal, AuthorizationRequest, Membership, OAuth, Parameters, Scope, User,
    records::{Stored, WorkspaceId},
};

/// Parameters of the request that the consent page carries on.
const CARRIED: [&str; 7] =
    ["client_id", "redirect_uri", "response_type", "scope", "state", "code_challenge", "code_challenge_method"];

/// Sends a refusal to the client where that is safe, and shows it where it is not.
fn refused(refusal: AuthorizationRefusal) -> Answer {
    match refusal {
        AuthorizationRefusal::Shown(refusal) => Err(Failure::Refused(refusal)),
        AuthorizationRefusal::Redirected { location, .. } => Ok(redirect(&location)),
    }
}

/// `GET /oauth/authorize`. Who is not logged in does that first.
pub(super) async fn show(
    State(server): State<AuthorizationServer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let (browser, query) = (Browser::of(&server, &headers)?, query.unwrap_or_default());
    let parameters = Parameters::read(query.as_bytes());
    let request = match server.platform.oauth().read_authorization(&parameters, &server.url) {
        Ok(request) => request,
        Err(refusal) => return refused(refusal),
    };
    let Some(user) = browser.user(&server)? else { return Ok(to_log_in(&format!("/oauth/authorize?{query}"))) };
    let memberships = server.platform.users().memberships(&user)?;
    let content = consent(&server, &browser, &request, &parameters, &user, &memberships);
    let title = format!("{} asks for access", request.client().value.name);
    let mut response = page(&server, &browser, Page::titled(&title), content);
    protect(response.headers_mut(), &form_target(request.redirect_uri()));
    Ok(response)
}

/// Returns where the answer to the consent form redirects to: scheme and host, or a scheme.
fn destination(url: &url::Url) -> String {
    match url.origin() {
        origin @ url::Origin::Tuple(..) => origin.ascii_serialization(),
        url::Origin::Opaque(_) => format!("{}:", url.scheme()),
    }
}

/// Returns the same as a source of the content security policy. A source has no form for a host that is an address of IPv6 (CSP 3, 2.3.1), such
/// as the loopback address of a native app (RFC 8252, 7.3): its scheme stands for it.
fn form_target(redirect_uri: &str) -> String {
    let Ok(url) = url::Url::parse(redirect_uri) else { return String::new() };
    if matches!(url.host(), Some(url::Host::Ipv6(_))) {
        return format!(" {}:", url.scheme());
    }
    format!(" {}", destination(&url))
}

fn consent(
    server: &AuthorizationServer,
    browser: &Browser,
    request: &AuthorizationRequest,
    parameters: &Parameters,
    user: &Stored<User>,
    memberships: &[Membership],
) -> Markup {
    let target = url::Url::parse(request.redirect_uri()).map(|url| destination(&url)).unwrap_or_default();
    html! {
        p { "You are logged in as " strong { (user.value.email) } ". If you allow it, " strong { (request.client().value.name) }
            " may, in the workspace that you choose:" }
        ul { @for scope in request.scopes().iter() { li { (describe(scope)) " (" code { (scope.name()) } ")" } } }
        p.hint { "It may never do more than you may do there yourself. Your browser is then sent to " code { (target) } "." }
        (form_of(server, browser, "/oauth/authorize", html! {
            @for name in CARRIED {
                @let value = parameters.first(name);
                @if !value.is_empty() { (hidden(name, value)) }
            }
            label for="workspace" { "Workspace" }
            select id="workspace" name="workspace" {
                @for place in memberships {
                    option value=(place.workspace.as_str()) { (place.name) " (you are " (place.role.name()) ")" }
                }
            }
            div.actions {
                button name="decision" value="allow" { "Allow" }
                button.second name="decision" value="refuse" { "Refuse" }
            }
        }))
        nav { a href="/oauth/logout" { "Log in as somebody else" } }
    }
}

/// `POST /oauth/authorize`: the user's decision.
pub(super) async fn decide(State(server): State<AuthorizationServer>, request: Request<Body>) -> Answer {
    let (browser, form) = form::read_own(&server, request).await?;
    let session = browser.session().ok_or(Failure::NoSession)?;
    let request = match server.platform.oauth().read_authorization(&form, &server.url) {
        Ok(request) => request,
        Err(refusal) => return refused(refusal),
    };
    let oauth = server.platform.oauth().of_address(browser.client());
    answer((&server, oauth), &request, &session.value.user, &form)
}

fn answer(
    (server, oauth): (&AuthorizationServer, OAuth<'_>),
    request: &AuthorizationRequest,
    user: &str,
    form: &Parameters,
) -> Answer {
    if form.first("decision") != "allow" {
        return Ok(redirect(&request.denied(&server.url)));
    }
    let stranger = || crate::platform::PlatformError::not_found("workspace", form.first("workspace"));
    let workspace = WorkspaceId::new(form.first("workspace")).ok_or_else(stranger)?;
    match oauth.authorize(request, user, &workspace, &server.url) {
        Ok(authorized) => Ok(redirect(&authorized.location)),
        Err(refusal) => refused(refusal),
    }
}

/// Returns what a scope permits, in the words of the service specification, "Authentication".
const fn describe(scope: Scope) -> &'static str {
    match scope {
        Scope::WorkspaceRead => "read workspace data",
        Scope::WorkspaceWrite => "create and modify workspaces",
        Scope::BlockchainRead => "query blockchain data",
        Scope::BlockchainWrite => "deploy and manage blockchains",
        Scope::BlockchainDeploy => "deploy smart contracts and send transactions",
        Scope::ValidatorRead => "view validators",
        Scope::ValidatorWrite => "manage validators",
        Scope::GovernanceRead => "view governance proposals",
        Scope::GovernanceWrite => "create governance proposals and vote",
        Scope::Admin => "do everything that you may do",
    }
}

#[cfg(test)]
mod tests {
    use super::{destination, form_target};

    #[test]
    fn a_policy_names_the_clients_origin_or_scheme() {
        for (uri, want) in [
            ("https://app.example/cb?x=1", " https://app.example"),
            ("http://127.0.0.1:51234/cb", " http://127.0.0.1:51234"),
            ("com.example.app:/cb", " com.example.app:"),
            ("no URI", ""),
        ] {
            assert_eq!(form_target(uri), want);
        }
    }

    /// The policy that a browser is sent has no source with brackets, which it would pass over; the person is shown the whole address.
    #[test]
    fn a_policy_names_the_scheme_of_an_address_of_ipv6() {
        for (uri, want, shown) in [
            ("http://[::1]:51234/cb", " http:", "http://[::1]:51234"),
            ("https://[2001:db8::1]/cb", " https:", "https://[2001:db8::1]"),
        ] {
            assert_eq!(form_target(uri), want);
            assert_eq!(destination(&url::Url::parse(uri).unwrap()), shown);
        }
    }
}
