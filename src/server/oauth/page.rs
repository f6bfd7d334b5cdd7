//! The frame of all pages, their headers, and the parts of forms.

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use maud::{DOCTYPE, Markup, html};

use super::{AuthorizationServer, browser::Browser};

/// What a page is beside its content.
pub(super) struct Page<'a> {
    pub(super) status: StatusCode,
    pub(super) title: &'a str,
    pub(super) wide: bool,
}

impl<'a> Page<'a> {
    /// A page that shows what was asked for.
    pub(super) const fn titled(title: &'a str) -> Self {
        Self { status: StatusCode::OK, title, wide: false }
    }
}

/// Returns a page for a browser; one without a cookie gets it with the page.
pub(super) fn page(server: &AuthorizationServer, browser: &Browser, page: Page<'_>, content: Markup) -> Response {
    let mut response = plain(page, content);
    response.headers_mut().extend(browser.new_cookie(server).map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

/// Returns a page.
pub(super) fn plain(page: Page<'_>, content: Markup) -> Response {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (page.title) " - chainbox" }
                link rel="stylesheet" href="/oauth/style.css";
            }
            body {
                p.service { "chainbox" }
                main.wide[page.wide] {
                    h1 { (page.title) }
                    (content)
                }
            }
        }
    };
    let mut response = (page.status, markup.into_string()).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    protect(headers, "");
    response
}

/// Sets the headers of all pages. `form_target` is where a form may lead beside this server: a browser counts the redirect that answers a
/// form (CSP 3, `form-action`).
pub(super) fn protect(headers: &mut HeaderMap, form_target: &str) {
    let policy = format!(
        "default-src 'none'; style-src 'self'; form-action 'self'{form_target}; frame-ancestors 'none'; base-uri 'none'"
    );
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Links in mails have tokens, which no other site may see. `no-referrer` would make the origin of forms `null`.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// Returns a redirect after a form or to a client: 303, so that no browser sends the form on (RFC 9700, 4.12).
pub(super) fn redirect(location: &str) -> Response {
    let Ok(location) = HeaderValue::try_from(location) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    protect(response.headers_mut(), "");
    response.headers_mut().insert(header::LOCATION, location);
    response
}

/// Returns a redirect that sets a cookie.
pub(super) fn redirect_with(location: &str, cookie: Option<HeaderValue>) -> Response {
    let mut response = redirect(location);
    response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

/// The page for a path that is none.
pub(super) async fn not_found() -> Response {
    let content = html! { p { "There is no page here." } };
    plain(Page { status: StatusCode::NOT_FOUND, title: "Not found", wide: false }, content)
}

/// Returns a form with the token that ties it to the browser.
pub(super) fn form(server: &AuthorizationServer, browser: &Browser, action: &str, content: Markup) -> Markup {
    html! {
        form method="post" action=(action) {
            input type="hidden" name="form_token" value=(browser.form_token(server));
            (content)
        }
    }
}

/// Returns a hidden field.
pub(super) fn hidden(name: &str, value: &str) -> Markup {
    html! { input type="hidden" name=(name) value=(value); }
}

/// A field that is typed in.
pub(super) struct Field<'a> {
    pub(super) label: &'a str,
    pub(super) name: &'a str,
    pub(super) kind: &'a str,
    /// What a browser may fill in (HTML, "autofill").
    pub(super) autocomplete: &'a str,
    pub(super) value: &'a str,
    pub(super) hint: &'a str,
}

impl<'a> Field<'a> {
    pub(super) const fn email(value: &'a str) -> Self {
        Self { label: "E-mail", name: "email", kind: "email", autocomplete: "username", value, hint: "" }
    }

    pub(super) const fn password() -> Self {
        let autocomplete = "current-password";
        Self { label: "Password", name: "password", kind: "password", autocomplete, value: "", hint: "" }
    }

    pub(super) const fn new_password(label: &'a str) -> Self {
        let hint = "At least 12 characters. A few words are better than one with signs.";
        Self { label, name: "new_password", kind: "password", autocomplete: "new-password", value: "", hint }
    }

    pub(super) fn render(&self) -> Markup {
        let hint_id = (!self.hint.is_empty()).then(|| format!("{}-hint", self.name));
        html! {
            label for=(self.name) { (self.label) }
            input id=(self.name) name=(self.name) type=(self.kind) autocomplete=(self.autocomplete) value=(self.value)
                aria-describedby=[hint_id.as_deref()] required;
            @if let Some(id) = &hint_id {
                p.hint id=(id) { (self.hint) }
            }
        }
    }
}

/// Returns why a form is shown again.
pub(super) fn alert(message: Option<&str>) -> Markup {
    html! { @if let Some(message) = message { p.alert role="alert" { (message) } } }
}
