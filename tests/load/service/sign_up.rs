//! The first user, who signs up at the service's pages as a browser would, and the API key that it makes there.

use std::net::SocketAddr;

use chainbox::platform::{DEFAULT_WORKSPACE_ID, Scope};
use url::form_urlencoded::Serializer;

use super::connection::{Connection, request};

const PASSWORD: &str = "correct horse battery";
const KEY_PREFIX: &str = "cbx_";

/// A browser that keeps the service's one cookie.
#[derive(Debug)]
struct Browser {
    host: SocketAddr,
    connection: Connection,
    cookie: String,
}

impl Browser {
    async fn load(&mut self, method: &str, path: &str, form: &str) -> String {
        let headers = format!(
            "accept: text/html\r\ncookie: {}\r\ncontent-type: application/x-www-form-urlencoded\r\n",
            self.cookie
        );
        let bytes = request(self.host, method, path, &headers, form);
        let response = self.connection.send(&bytes).await.unwrap_or_else(|cause| panic!("{method} {path}: {cause}"));
        let [head, body] = [response.head, response.body].map(|text| String::from_utf8_lossy(text).into_owned());
        assert!(response.status < 400, "{method} {path} is answered {}: {body}", response.status);
        if let Some(cookie) = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")) {
            self.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        }
        body
    }

    /// Loads a page, and sends its form to `action` with what is typed.
    async fn submit(&mut self, path: &str, action: &str, typed: &[(&str, &str)]) -> String {
        let page = self.load("GET", path, "").await;
        let token = between(&page, "name=\"form_token\" value=\"", "\"");
        let mut form = Serializer::new(String::new());
        form.append_pair("form_token", token);
        for (name, value) in typed {
            form.append_pair(name, value);
        }
        let form = form.finish();
        self.load("POST", action, &form).await
    }
}

fn between<'p>(page: &'p str, start: &str, end: &str) -> &'p str {
    let rest = page.split_once(start).and_then(|(_, rest)| rest.split_once(end));
    rest.unwrap_or_else(|| panic!("no {start}...{end} in: {page}")).0
}

/// Signs the first user up by the token of the console, and returns a key of its own with every scope.
pub(super) async fn first_key(host: SocketAddr, bootstrap: &str) -> String {
    let connection = Connection::connect(host).await.expect("the service listens");
    let mut ann = Browser { host, connection, cookie: String::new() };
    let typed = [("email", "ann@example.org"), ("new_password", PASSWORD), ("bootstrap_token", bootstrap)];
    ann.submit("/oauth/signup", "/oauth/signup", &typed).await;
    let typed = [("name", "first"), ("workspace", DEFAULT_WORKSPACE_ID), ("scope", Scope::Admin.name())];
    let page = ann.submit("/oauth/account", "/oauth/account/api-keys", &typed).await;
    format!("{KEY_PREFIX}{}", between(&page, &format!("<code>{KEY_PREFIX}"), "</code>"))
}
