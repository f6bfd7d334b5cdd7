//! A browser: its cookie, its session, and the token of its forms.
//!
//! There is one cookie. Before the log-in it ties the forms to the browser; with the log-in it gets a new value, the session's.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, header};

use super::AuthorizationServer;
use crate::{
    platform::{Parameters, PlatformError, Session, Token, User, records::Stored},
    server::rest::PeerAddress,
};

/// A browser that sends a request.
pub(super) struct Browser {
    /// Value of the cookie.
    token: String,
    /// Whether the cookie is yet to be set.
    is_new: bool,
    session: Option<Stored<Session>>,
    /// Address that the request came from.
    client: Option<IpAddr>,
}

impl Browser {
    /// Returns the browser of a request.
    pub(super) fn of(server: &AuthorizationServer, headers: &HeaderMap) -> Result<Self, PlatformError> {
        let users = server.platform.users();
        match cookie(headers, cookie_name(server)) {
            Some(token) => {
                let session = users.session(&token)?;
                Ok(Self { token, is_new: false, session, client: None })
            }
            None => Ok(Self {
                token: users.draw_browser_token()?.text().to_owned(),
                is_new: true,
                session: None,
                client: None,
            }),
        }
    }

    /// Adds the address that the request came from.
    pub(super) fn with_client(self, client: Option<PeerAddress>) -> Self {
        Self { client: client.map(|PeerAddress(address)| address), ..self }
    }

    /// Address that the request came from, where that is known.
    pub(super) const fn client(&self) -> Option<IpAddr> {
        self.client
    }

    /// The session, when somebody is logged in.
    pub(super) const fn session(&self) -> Option<&Stored<Session>> {
        self.session.as_ref()
    }

    /// Returns the user who is logged in.
    pub(super) fn user(&self, server: &AuthorizationServer) -> Result<Option<Stored<User>>, PlatformError> {
        self.session.as_ref().map(|session| server.platform.users().get(&session.value.user)).transpose()
    }

    /// Returns the text that ties a form to the browser.
    pub(super) fn form_token(&self, server: &AuthorizationServer) -> String {
        server.platform.users().form_token(&self.token)
    }

    /// Returns whether a form came from a page that this browser was given.
    pub(super) fn is_own_form(&self, server: &AuthorizationServer, form: &Parameters) -> bool {
        !self.is_new && server.platform.users().is_form_token(&self.token, form.first("form_token"))
    }

    /// Ends the session, as before another begins.
    pub(super) fn end_session(&self, server: &AuthorizationServer) -> Result<(), PlatformError> {
        server.platform.users().of_client(self.client).end_session(&self.token)
    }

    /// Returns the header that sets the cookie, when the browser has none yet.
    pub(super) fn new_cookie(&self, server: &AuthorizationServer) -> Option<HeaderValue> {
        self.is_new.then(|| set_cookie(server, &self.token)).flatten()
    }
}

/// Name of the cookie. The prefix binds it to this host and to TLS (RFC 6265bis, 4.1.3.2), so that no neighbour can plant one.
fn cookie_name(server: &AuthorizationServer) -> &'static str {
    if server.url.is_https() { "__Host-chainbox-session" } else { "chainbox-session" }
}

/// Returns the header that gives the browser the cookie of a new session.
pub(super) fn session_cookie(server: &AuthorizationServer, token: &Token) -> Option<HeaderValue> {
    set_cookie(server, token.text())
}

/// Returns the header that takes the cookie away.
pub(super) fn no_cookie(server: &AuthorizationServer) -> Option<HeaderValue> {
    set_cookie(server, "; Max-Age=0")
}

/// `Lax`, so that the cookie comes with the client's redirect to the consent page, and with no form of another site.
fn set_cookie(server: &AuthorizationServer, value: &str) -> Option<HeaderValue> {
    let secure = if server.url.is_https() { "; Secure" } else { "" };
    let text = format!("{}={value}; Path=/; HttpOnly; SameSite=Lax{secure}", cookie_name(server));
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Returns the cookie with this name (RFC 6265, 5.4); `None` when it is missing, comes twice, or is none of this server's.
fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut values = lines.flat_map(|line| line.split(';')).filter_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        (key.trim() == name).then(|| value.trim())
    });
    let value = values
        .next()
        .filter(|value| !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
    value.filter(|_| values.next().is_none()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cookie_is_read_among_others() {
        for (lines, want) in [
            (&["a=1; s=x_1; b=2"][..], Some("x_1")),
            (&["a=1", "s=x"], Some("x")),
            (&["s=x; s=y"], None),
            (&["s=x", "s=x"], None),
            (&["s="], None),
            (&["s=a b"], None),
            (&["xs=1"], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::COOKIE, line.parse().unwrap());
            }
            assert_eq!(cookie(&headers, "s").as_deref(), want, "{lines:?}");
        }
    }
}
