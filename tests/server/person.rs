//! A person with a browser that keeps one cookie and sends forms as the pages have them.

use serde_json::Value;

use crate::serving::{Answer, send};

/// The password with which a person signs up.
pub(crate) const PASSWORD: &str = "correct horse battery";

/// A person at the pages of a service.
pub(crate) struct Person {
    address: String,
    cookie: String,
}

/// Returns a text as a value of a form or a query.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect()
}

/// The value of an attribute of a tag.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

impl Person {
    pub(crate) fn at(address: &str) -> Self {
        Self { address: address.to_owned(), cookie: String::new() }
    }

    fn send(&mut self, method: &str, path: &str, form: &str) -> Answer {
        let headers = format!(
            "accept: text/html\r\norigin: http://{}\r\ncookie: {}\r\ncontent-type: application/x-www-form-urlencoded\r\n",
            self.address, self.cookie
        );
        let answer = send(&self.address, method, path, &headers, form).unwrap();
        if let Some(cookie) = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")) {
            cookie.split(';').next().unwrap().clone_into(&mut self.cookie);
        }
        answer
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, "")
    }

    /// Sends the form of a page that leads to `action`, with what it has and what is typed.
    pub(crate) fn submit(&mut self, page: &Answer, action: &str, typed: &[(&str, &str)]) -> Answer {
        let start = format!("action=\"{action}\"");
        let (_, form) = page.body.split_once(&start).unwrap_or_else(|| panic!("no form to {action}: {}", page.body));
        let form = form.split("</form>").next().unwrap();
        let mut fields: Vec<(String, String)> = Vec::new();
        let mut select = None;
        for tag in form.split('<') {
            let value = attribute(tag, "value").unwrap_or_default().replace("&amp;", "&").replace("&quot;", "\"");
            if let Some(name) = attribute(tag, "name").filter(|_| tag.starts_with("input")) {
                fields.push((name.to_owned(), value));
            } else if tag.starts_with("select") {
                select = attribute(tag, "name");
            } else if let Some(name) = select.filter(|_| tag.starts_with("option")) {
                fields.push((name.to_owned(), value));
                select = None;
            }
        }
        fields.retain(|(name, _)| typed.iter().all(|(typed, _)| typed != name));
        fields.extend(typed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let pairs: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        self.send("POST", action, &pairs.join("&"))
    }

    /// The link with this path in the newest mail to somebody, which the development service shows.
    pub(crate) fn mailed_link(&self, email: &str, path: &str) -> String {
        let mailbox = send(&self.address, "GET", "/oauth/mailbox", "accept: application/json\r\n", "").unwrap().json();
        let mails: &Vec<Value> = mailbox["mails"].as_array().unwrap();
        let links = mails.iter().filter(|mail| mail["to"] == email).filter_map(|mail| {
            let line = mail["body"].as_str()?.lines().find(|line| line.contains(&format!("{path}?")))?;
            Some((mail["receivedAtMs"].as_u64()?, line[line.find(path)?..].trim().to_owned()))
        });
        let (_, link) = links.max().unwrap_or_else(|| panic!("no mail to {email} with {path}: {mailbox}"));
        link
    }

    /// Signs up and follows the link of the mail.
    pub(crate) fn signs_up(&mut self, email: &str) {
        let page = self.get("/oauth/signup");
        let sent = self.submit(&page, "/oauth/signup", &[("email", email), ("new_password", PASSWORD)]);
        assert_eq!(sent.status, 200, "{}", sent.body);
        let link = self.mailed_link(email, "/oauth/confirm");
        let page = self.get(&link);
        let confirmed = self.submit(&page, "/oauth/confirm", &[("password", PASSWORD)]);
        assert!(matches!(confirmed.status, 302 | 303), "{}: {}", confirmed.status, confirmed.body);
    }
}
