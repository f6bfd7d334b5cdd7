//! Sign-up, confirmation of the address, and the forgotten password.
//!
//! Whether an address has a user is told by the mail alone, never by a page.

use axum::{
    body::Body,
    extract::{RawQuery, State},
    http::{HeaderMap, Request, StatusCode},
    response::Response,
};
use maud::{Markup, html};

use super::{
    AuthorizationServer,
    account::signed_in,
    browser::Browser,
    failure::{Answer, sentence, status, with_retry_after},
    form,
    page::{Field, Page, alert, form as form_of, hidden, page},
};
use crate::platform::{Parameters, Password, PlatformError};

/// Returns a page with a form, again with the reason when it was refused.
fn form_page(
    server: &AuthorizationServer,
    browser: &Browser,
    title: &str,
    refusal: Option<&PlatformError>,
    form: Markup,
) -> Response {
    let message = refusal.map(sentence);
    let shown = Page { status: refusal.map_or(StatusCode::OK, status), ..Page::titled(title) };
    let response = page(server, browser, shown, html! { (alert(message.as_deref())) (form) });
    match refusal {
        Some(cause) => with_retry_after(response, cause),
        None => response,
    }
}

/// Returns whether the form is to be shown again with the reason.
const fn is_correctable(cause: &PlatformError) -> bool {
    matches!(
        cause,
        PlatformError::Validation { .. } | PlatformError::WrongCredentials | PlatformError::TooManyAttempts { .. }
    )
}

/// A page to which the link of a mail leads: its form sends the link's token back with a password.
struct LinkPage {
    title: &'static str,
    action: &'static str,
    text: &'static str,
    password: Field<'static>,
    button: &'static str,
}

const CONFIRMATION: LinkPage = LinkPage {
    title: "Confirm your address of e-mail",
    action: "/oauth/confirm",
    text: "Enter the password that you chose when you signed up.",
    password: Field::password(),
    button: "Confirm",
};

const RESET: LinkPage = LinkPage {
    title: "Choose another password",
    action: "/oauth/reset",
    text: "All sessions end, applications must ask for access again, and the API keys that they made are revoked.",
    password: Field::new_password("New password"),
    button: "Change",
};

impl LinkPage {
    /// Answers a request of the link, whose query has the token.
    fn open(&self, server: &AuthorizationServer, query: Option<String>, headers: &HeaderMap) -> Answer {
        let browser = Browser::of(server, headers)?;
        let parameters = Parameters::read(query.unwrap_or_default().as_bytes());
        Ok(self.show(server, &browser, parameters.first("token"), None))
    }

    fn show(
        &self,
        server: &AuthorizationServer,
        browser: &Browser,
        token: &str,
        refusal: Option<&PlatformError>,
    ) -> Response {
        let content = html! {
            p { (self.text) }
            (hidden("token", token))
            (self.password.render())
            div.actions { button { (self.button) } }
        };
        form_page(server, browser, self.title, refusal, form_of(server, browser, self.action, content))
    }
}

fn sign_up_page(
    server: &AuthorizationServer,
    browser: &Browser,
    email: &str,
    refusal: Option<&PlatformError>,
) -> Answer {
    // A development service shows mails to everybody, and no token.
    let is_first = server.mailbox.is_none() && !server.platform.users().has_administrator()?;
    let bootstrap = Field {
        label: "Token of the console",
        name: "bootstrap_token",
        kind: "password",
        autocomplete: "off",
        value: "",
        hint: "The service has no administrator yet. It shows a token when it starts: who has it becomes one, also with an account that is there already.",
    };
    let form = form_of(
        server,
        browser,
        "/oauth/signup",
        html! {
            (Field::email(email).render())
            (Field::new_password("Password").render())
            @if is_first { (bootstrap.render()) }
            div.actions { button { "Sign up" } }
        },
    );
    let links = html! { nav { a href="/oauth/login" { "Log in" } } };
    Ok(form_page(server, browser, "Sign up", refusal, html! { (form) (links) }))
}

/// `GET /oauth/signup`.
pub(super) async fn show(State(server): State<AuthorizationServer>, headers: HeaderMap) -> Answer {
    sign_up_page(&server, &Browser::of(&server, &headers)?, "", None)
}

/// `POST /oauth/signup`.
pub(super) async fn sign_up(State(server): State<AuthorizationServer>, request: Request<Body>) -> Answer {
    let (browser, form) = form::read_own(&server, request).await?;
    let (email, password) = (form.first("email").to_owned(), Password::new(form.first("new_password")));
    let (tried, bootstrap) = (email.clone(), form.first("bootstrap_token").to_owned());
    let client = browser.client();
    let done = server.hash(move |platform| match bootstrap.as_str() {
        "" => platform.users().of_client(client).sign_up(&tried, &password).map(|()| None),
        token => platform.users().of_client(client).sign_up_first(token, &tried, &password).map(Some),
    });
    match done.await {
        Ok(None) => Ok(mail_sent(&server, &browser, "To finish, follow the link in it within 24 hours.")),
        Ok(Some(user)) => signed_in(&server, &browser, user.id(), "/oauth/account"),
        Err(PlatformError::NotFound { .. }) => {
            let wrong = PlatformError::field("bootstrap_token", "the token that the console shows", "another");
            sign_up_page(&server, &browser, &email, Some(&wrong))
        }
        Err(cause) if is_correctable(&cause) => sign_up_page(&server, &browser, &email, Some(&cause)),
        Err(cause) => Err(cause.into()),
    }
}

/// The page after a mail was asked for, the same for every address.
fn mail_sent(server: &AuthorizationServer, browser: &Browser, next: &str) -> Response {
    let content = html! {
        p { "If the address can be used for this, a mail is on its way to it. " (next) }
        @if server.mailbox.is_some() { nav { a href="/oauth/mailbox" { "Mailbox of this development service" } } }
    };
    page(server, browser, Page::titled("Look into your mailbox"), content)
}

/// `GET /oauth/confirm`: the link of the mail.
pub(super) async fn show_confirm(
    State(server): State<AuthorizationServer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    CONFIRMATION.open(&server, query, &headers)
}

/// `POST /oauth/confirm`: makes the user and logs it in.
pub(super) async fn confirm(State(server): State<AuthorizationServer>, request: Request<Body>) -> Answer {
    let (browser, form) = form::read_own(&server, request).await?;
    let (token, password) = (form.first("token").to_owned(), Password::new(form.first("password")));
    let (tried, client) = (token.clone(), browser.client());
    match server.hash(move |platform| platform.users().of_client(client).confirm(&tried, &password)).await {
        Ok(user) => signed_in(&server, &browser, user.id(), "/oauth/account"),
        Err(PlatformError::WrongCredentials) => {
            let wrong = PlatformError::Forbidden { message: "it is not the password of the sign-up".to_owned() };
            Ok(CONFIRMATION.show(&server, &browser, &token, Some(&wrong)))
        }
        Err(cause) if is_correctable(&cause) => Ok(CONFIRMATION.show(&server, &browser, &token, Some(&cause))),
        Err(cause) => Err(cause.into()),
    }
}

fn forgot_page(server: &AuthorizationServer, browser: &Browser, refusal: Option<&PlatformError>) -> Response {
    let form = form_of(
        server,
        browser,
        "/oauth/forgot",
        html! {
            p { "A mail with a link to choose another password is sent to the address of your account." }
            (Field::email("").render())
            div.actions { button { "Send" } }
        },
    );
    form_page(server, browser, "Forgot the password", refusal, form)
}

/// `GET /oauth/forgot`.
pub(super) async fn show_forgot(State(server): State<AuthorizationServer>, headers: HeaderMap) -> Answer {
    Ok(forgot_page(&server, &Browser::of(&server, &headers)?, None))
}

/// `POST /oauth/forgot`.
pub(super) async fn forgot(State(server): State<AuthorizationServer>, request: Request<Body>) -> Answer {
    let (browser, form) = form::read_own(&server, request).await?;
    match server.platform.users().request_reset(form.first("email")) {
        Ok(()) => Ok(mail_sent(&server, &browser, "Its link holds for an hour.")),
        Err(cause) if is_correctable(&cause) => Ok(forgot_page(&server, &browser, Some(&cause))),
        Err(cause) => Err(cause.into()),
    }
}

/// `GET /oauth/reset`: the link of the mail.
pub(super) async fn show_reset(
    State(server): State<AuthorizationServer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    RESET.open(&server, query, &headers)
}

/// `POST /oauth/reset`.
pub(super) async fn reset(State(server): State<AuthorizationServer>, request: Request<Body>) -> Answer {
    let (browser, form) = form::read_own(&server, request).await?;
    let (token, password) = (form.first("token").to_owned(), Password::new(form.first("new_password")));
    let (tried, client) = (token.clone(), browser.client());
    match server.hash(move |platform| platform.users().of_client(client).reset(&tried, &password)).await {
        Ok(_) => {
            let content = html! { p { "Log in with it." } nav { a href="/oauth/login" { "Log in" } } };
            Ok(page(&server, &browser, Page::titled("The password is changed"), content))
        }
        Err(cause) if is_correctable(&cause) => Ok(RESET.show(&server, &browser, &token, Some(&cause))),
        Err(cause) => Err(cause.into()),
    }
}
