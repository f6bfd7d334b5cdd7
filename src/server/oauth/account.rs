//! Log-in, log-out, and the page of the one who is logged in.

use axum::{
    body::Body,
    extract::{RawQuery, State},
    http::{HeaderMap, Request, StatusCode},
    response::Response,
};
use maud::html;

use super::{
    AuthorizationServer,
    api_keys::key_form,
    browser::{Browser, no_cookie, session_cookie},
    failure::{Answer, Failure, sentence, status, with_retry_after},
    form,
    page::{Field, Page, alert, form as form_of, hidden, page, redirect, redirect_with},
};
use crate::platform::{Parameters, Password, PlatformError};

/// Where a log-in leads when it was asked for itself.
const ACCOUNT: &str = "/oauth/account";
/// Bytes of a place to return to.
const RETURN_TO_MAX: usize = 8_192;

/// Returns the place on this server that a log-in leads to: never another server's.
pub(super) fn return_to(parameters: &Parameters) -> &str {
    let wanted = parameters.first("return_to");
    let is_own = wanted.starts_with("/oauth/") && wanted.len() <= RETURN_TO_MAX;
    if is_own && wanted.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') { wanted } else { ACCOUNT }
}

/// Returns the redirect to the login page, which leads back to `place`.
pub(super) fn to_log_in(place: &str) -> Response {
    redirect(&format!("/oauth/login?return_to={}", encoded(place)))
}

/// Returns a text as the value of a query's parameter.
fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Begins the session of a user who has shown to be itself, in place of the one that the browser has.
pub(super) fn signed_in(server: &AuthorizationServer, browser: &Browser, user: &str, place: &str) -> Answer {
    browser.end_session(server)?;
    let token = server.platform.users().of_client(browser.client()).start_session(user)?;
    Ok(redirect_with(place, session_cookie(server, &token)))
}

fn log_in_page(
    server: &AuthorizationServer,
    browser: &Browser,
    place: &str,
    email: &str,
    refusal: Option<&PlatformError>,
) -> Response {
    let message = refusal.map(sentence);
    let content = html! {
        (alert(message.as_deref()))
        (form_of(server, browser, "/oauth/login", html! {
            (hidden("return_to", place))
            (Field::email(email).render())
            (Field::password().render())
            div.actions { button { "Log in" } }
        }))
        @if !server.links.is_empty() {
            ul {
                @for link in server.links.iter() {
                    li { a href={ (link.path) "?return_to=" (encoded(place)) } { "Log in with " (link.name) } }
                }
            }
        }
        nav { a href="/oauth/signup" { "Sign up" } a href="/oauth/forgot" { "Forgot the password?" } }
    };
    let shown = Page { status: refusal.map_or(StatusCode::OK, status), ..Page::titled("Log in") };
    let response = page(server, browser, shown, content);
    match refusal {
        Some(cause) => with_retry_after(response, cause),
        None => response,
    }
}

/// `GET /oauth/login`.
pub(super) async fn show_log_in(
    State(server): State<AuthorizationServer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let browser = Browser::of(&server, &headers)?;
    let parameters = Parameters::read(query.unwrap_or_default().as_bytes());
    if browser.session().is_some() {
        return Ok(redirect(return_to(&parameters)));
    }
    Ok(log_in_page(&server, &browser, return_to(&parameters), "", None))
}

/// `POST /oauth/login`.
pub(super) async fn log_in(State(server): State<AuthorizationServer>, request: Request<Body>) -> Answer {
    let (browser, form) = form::read_own(&server, request).await?;
    let (email, password) = (form.first("email").to_owned(), Password::new(form.first("password")));
    let (tried, client) = (email.clone(), browser.client());
    match server.hash(move |platform| platform.users().of_client(client).log_in(&tried, &password)).await {
        Ok(user) => signed_in(&server, &browser, user.id(), return_to(&form)),
        Err(cause @ (PlatformError::WrongCredentials | PlatformError::TooManyAttempts { .. })) => {
            Ok(log_in_page(&server, &browser, return_to(&form), &email, Some(&cause)))
        }
        Err(cause) => Err(cause.into()),
    }
}

/// `GET /oauth/logout`.
pub(super) async fn show_log_out(State(server): State<AuthorizationServer>, headers: HeaderMap) -> Answer {
    let browser = Browser::of(&server, &headers)?;
    let content = form_of(&server, &browser, "/oauth/logout", html! { div.actions { button { "Log out" } } });
    Ok(page(&server, &browser, Page::titled("Log out"), content))
}

/// `POST /oauth/logout`.
pub(super) async fn log_out(State(server): State<AuthorizationServer>, request: Request<Body>) -> Answer {
    let (browser, _) = form::read_own(&server, request).await?;
    browser.end_session(&server)?;
    Ok(redirect_with("/oauth/login", no_cookie(&server)))
}

fn account_page(server: &AuthorizationServer, browser: &Browser, refusal: Option<&PlatformError>) -> Answer {
    let Some(user) = browser.user(server)? else { return Ok(to_log_in(ACCOUNT)) };
    let memberships = server.platform.users().memberships(&user)?;
    let message = refusal.map(sentence);
    let content = html! {
        p { "You are logged in as " strong { (user.value.email) } "." }
        h2 { "Workspaces" }
        ul {
            @for place in &memberships {
                li { (place.name) " (" (place.role.name()) ") " code { (place.workspace.as_str()) } }
            }
        }
        @if !memberships.is_empty() {
            h2 { "Create an API key" }
            (key_form(server, browser, &memberships))
        }
        @if user.value.has_password() {
            h2 { "Change the password" }
            p { "Your other sessions end, applications must ask for access again, and the API keys that they made are revoked." }
            (alert(message.as_deref()))
            (form_of(server, browser, ACCOUNT, html! {
                (Field { label: "Present password", ..Field::password() }.render())
                (Field::new_password("New password").render())
                div.actions { button { "Change" } }
            }))
        }
        h2 { "Log out" }
        (form_of(server, browser, "/oauth/logout", html! { button.second { "Log out" } }))
    };
    let shown = Page { status: refusal.map_or(StatusCode::OK, status), ..Page::titled("Your account") };
    let response = page(server, browser, shown, content);
    Ok(match refusal {
        Some(cause) => with_retry_after(response, cause),
        None => response,
    })
}

/// `GET /oauth/account`.
pub(super) async fn show(State(server): State<AuthorizationServer>, headers: HeaderMap) -> Answer {
    account_page(&server, &Browser::of(&server, &headers)?, None)
}

/// `POST /oauth/account`: changes the password.
pub(super) async fn change_password(State(server): State<AuthorizationServer>, request: Request<Body>) -> Answer {
    let (browser, form) = form::read_own(&server, request).await?;
    let session = browser.session().ok_or(Failure::NoSession)?.clone();
    let [old, new] = ["password", "new_password"].map(|name| Password::new(form.first(name)));
    let client = browser.client();
    match server.hash(move |platform| platform.users().of_client(client).change_password(&session, &old, &new)).await {
        Ok(_) => {
            let content = html! {
                p { "Your other sessions have ended, applications must ask for access again, and the API keys that they made are revoked." }
                nav { a href=(ACCOUNT) { "Your account" } }
            };
            Ok(page(&server, &browser, Page::titled("The password is changed"), content))
        }
        Err(PlatformError::WrongCredentials) => {
            let wrong = PlatformError::Forbidden { message: "the present password is wrong".to_owned() };
            account_page(&server, &browser, Some(&wrong))
        }
        Err(cause @ (PlatformError::Validation { .. } | PlatformError::TooManyAttempts { .. })) => {
            account_page(&server, &browser, Some(&cause))
        }
        Err(cause) => Err(cause.into()),
    }
}
